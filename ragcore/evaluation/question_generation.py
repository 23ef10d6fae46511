"""Questions for evaluation, written from passages by a language model or by rules.

A rule turns a sentence into a question. For a passage without such a sentence, it asks about the most distinctive words, as a
person would who searches for a document seen before (known-item queries, Azzopardi, de Rijke & Balog 2007,
https://doi.org/10.1145/1277741.1277821).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ragcore.evaluation.dataset import generate_question_context_pairs
from ragcore.evaluation.question_sets import ExpectedSource, Question
from ragcore.extractive.question_generation import language_of, questions_of_sentences
from ragcore.llms.base import LLM
from ragcore.prompts.prompt import Prompt
from ragcore.schema import TextNode
from ragcore.text.key_phrases import is_distinctive, keywords
from ragcore.text.keywords import content_words

DISTINCTIVE = 3  # words of a passage in a question about it
MAX_TRIED = 12  # keywords of a passage
MIN_WORDS = 2  # content words in a question

_ABOUT = {
    "en": "What is said about {}?",
    "de": "Was wird über {} gesagt?",
    "fr": "Que dit-on sur {} ?",
    "es": "¿Qué se dice sobre {}?",
    "zh": "关于{}说了什么？",
}


def generate_questions(nodes: Iterable[TextNode], llm: LLM, wording: Prompt) -> Iterator[Question]:
    """The model writes at most one question per passage. LLMErrors."""
    for node in nodes:
        pairs = generate_question_context_pairs([node], llm, num_questions_per_chunk=1, qa_generate_prompt=wording, workers=1)
        yield from (Question(text, expected=(_source_of(node),)) for text in pairs.queries.values())


def generate_questions_by_rule(nodes: Iterable[TextNode]) -> Iterator[Question]:
    """At most one question per passage: first the questions about a sentence, then those about words."""
    others = []
    for node in nodes:
        questions = (each for each in questions_of_sentences(node.text) if len(content_words(each)) >= MIN_WORDS)
        question = next(questions, None)
        if question is None:
            others.append(node)
        else:
            yield Question(question, expected=(_source_of(node),))
    for node in others:
        words = [word for word in keywords(node.text, MAX_TRIED) if is_distinctive(word)][:DISTINCTIVE]
        if len(words) == DISTINCTIVE:
            yield Question(_ABOUT[language_of(node.text)].format(", ".join(words)), expected=(_source_of(node),))


def _source_of(node: TextNode) -> ExpectedSource:
    page = node.metadata.get("page_label")
    start, end = node.start_char_idx or 0, node.end_char_idx or 0
    return ExpectedSource(str(node.metadata["file_name"]), () if page is None else (str(page),), start, end)
