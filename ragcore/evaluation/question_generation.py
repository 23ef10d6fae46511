"""Questions for evaluation, written from passages by a language model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ragcore.evaluation.dataset import generate_question_context_pairs
from ragcore.evaluation.question_sets import ExpectedSource, Question
from ragcore.llms.base import LLM
from ragcore.prompts.prompt import Prompt
from ragcore.schema import TextNode


def generate_questions(nodes: Iterable[TextNode], llm: LLM, wording: Prompt) -> Iterator[Question]:
    """The model writes at most one question per passage. LLMErrors."""
    for node in nodes:
        pairs = generate_question_context_pairs(
            [node], llm, num_questions_per_chunk=1, qa_generate_prompt=wording, workers=1
        )
        yield from (Question(text, expected=(source_of(node),)) for text in pairs.queries.values())


def source_of(node: TextNode) -> ExpectedSource:
    """The place of a passage in its document."""
    page = node.metadata.get("page_label")
    start, end = node.start_char_idx or 0, node.end_char_idx or 0
    return ExpectedSource(str(node.metadata["file_name"]), () if page is None else (str(page),), start, end)
