from __future__ import annotations

import re

import pytest

from ragcore.embeddings.hashing import HashEmbedding
from ragcore.extractive.answerer import ExtractiveLLM
from ragcore.extractive.fixed_replies import (
    CLOSEST,
    GREETED,
    NO_MODEL,
    NO_TOOL,
    NOTHING_FOUND,
    THANKED,
    best_replies,
    closest_passages,
    in_language_of,
    is_refusal,
    nothing_about,
    without_heading,
)
from ragcore.extractive.sentence_support import claims_nothing
from ragcore.llms.base import LLMCall
from ragcore.prompts import wording
from ragcore.prompts.prompt import Passage
from ragcore.response_synthesizers.synthesizer import get_response_synthesizer
from ragcore.schema import NodeWithScore, Outcome, TextNode
from ragcore.text.language import language_of
from ragcore.text.quotable_sentences import quotes_in

QUESTIONS = {
    "en": "What is the name of the director?",
    "de": "Wie ist der Name des Direktors?",
    "es": "¿Cuál es el nombre del director?",
    "fr": "Quel est le nom du directeur ?",
    "zh": "院长叫什么名字？",
}
WORDINGS = (CLOSEST, NOTHING_FOUND, NO_MODEL, NO_TOOL, GREETED, THANKED)
ALL = [text for wordings in WORDINGS for text in wordings.values()]


@pytest.mark.parametrize("language", QUESTIONS)
def test_fixed_replies_are_in_the_language_of_the_question(language: str) -> None:
    question, reader = QUESTIONS[language], ExtractiveLLM(HashEmbedding())
    passage = Passage("Rain fell on Tuesday.", number=1)
    found = reader.generate(LLMCall(wording.TEXT_QA, {"query_str": question, "context_str": (passage,)}))
    without = reader.generate(LLMCall(wording.GENERATION, {"query_str": question})).text
    nothing = str(get_response_synthesizer(reader).synthesize(question, []))
    assert (found.outcome, found.text) == ("nothing", nothing_about(question))
    assert found.text.startswith(NOTHING_FOUND[language])
    assert (without, nothing) == (NO_MODEL[language], NOTHING_FOUND[language])


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("Wie viel Geld gibt PerksPlus?", "de"),
        ("Combien paie PerksPlus ?", "fr"),
        ("¿Cuánto paga PerksPlus?", "es"),
        ("Hoeveel betaalt PerksPlus?", "nl"),
    ],
)
def test_a_short_question_tells_its_language(question: str, language: str) -> None:
    assert language_of(question) == language


@pytest.mark.parametrize("language", QUESTIONS)
def test_the_words_are_of_that_language(language: str) -> None:
    said = " ".join(wordings[language] for wordings in WORDINGS)
    assert language_of(said) == language


@pytest.mark.parametrize("question", ["Mercury 2?", "", "Где находится директор?"])
def test_english_where_the_language_is_another_or_unknown(question: str) -> None:
    assert in_language_of(question, NOTHING_FOUND) == NOTHING_FOUND["en"]


@pytest.mark.parametrize("text", ALL)
def test_such_words_are_known_again_everywhere(text: str) -> None:
    assert is_refusal(f" {text}\n")
    assert claims_nothing(text, "")
    # whole, so that no part of it is ever quoted
    assert [quote.text for quote in quotes_in(text, number=1)] == [text]


@pytest.mark.parametrize("language", QUESTIONS)
def test_what_was_looked_for_is_named_and_known_again(language: str) -> None:
    text = nothing_about(QUESTIONS[language])
    assert is_refusal(text)
    assert is_refusal(text.removeprefix(NOTHING_FOUND[language]).strip())
    assert re.findall(r"\w+", QUESTIONS[language])[-1] in text
    assert not is_refusal(f"{text}\nBut it stands here.")


def test_small_words_are_not_among_what_was_looked_for() -> None:
    assert nothing_about("Wie hoch ist die Kaution?").endswith("Gesucht habe ich nach: hoch, Kaution.")


@pytest.mark.parametrize("language", QUESTIONS)
def test_the_closest_passages_stand_below_their_heading(language: str) -> None:
    text = closest_passages(QUESTIONS[language], "Dogs need consent. [1]")
    assert text == f"{CLOSEST[language]}\n\nDogs need consent. [1]"
    assert is_refusal(text)
    assert without_heading(text) == "Dogs need consent. [1]"
    assert without_heading("Dogs need consent. [1]") == "Dogs need consent. [1]"


def test_answering_replies_rank_first_else_the_closest_merge() -> None:
    nothing: tuple[str, Outcome] = (nothing_about("Pets?"), "nothing")
    dogs: tuple[str, Outcome] = (closest_passages("Pets?", "Dogs. [1]"), "closest")
    cats: tuple[str, Outcome] = (closest_passages("Pets?", "Cats. [2]"), "closest")
    assert best_replies([nothing, dogs, ("It is red. [3]", "answer")]) == ["It is red. [3]"]
    assert best_replies([nothing, dogs, cats]) == [dogs[0], "Cats. [2]"]
    assert best_replies([nothing, nothing]) == [nothing[0]]
    assert best_replies([]) == []


def test_other_words_are_no_refusal() -> None:
    assert not is_refusal("Ich habe in Ihren Dokumenten nichts dazu gefunden. Aber hier steht es.")
    assert not is_refusal("")


@pytest.mark.parametrize("language", QUESTIONS)
def test_refining_goes_on_from_a_refusal_in_any_language(language: str) -> None:
    """The first passage says nothing, the second does: the refusal is no part of the answer."""
    reader = ExtractiveLLM(HashEmbedding())
    node = NodeWithScore(TextNode(text="The name of the director is Ruth Alder.", id_="a"), 1.0)
    answer = get_response_synthesizer(reader, "refine").synthesize(
        "What is the name of the director?", [node], prev_response=nothing_about(QUESTIONS[language])
    )
    assert "Ruth Alder" in str(answer)
    assert NOTHING_FOUND[language] not in str(answer)


@pytest.mark.parametrize("language", QUESTIONS)
def test_a_refusal_among_the_passages_is_never_quoted(language: str) -> None:
    """As when the answers to parts are summed up: its own words answer this question best."""
    passages = (
        Passage(nothing_about(QUESTIONS[language]), number=1),
        Passage(NOTHING_FOUND[language], number=2),
    )
    call = LLMCall(wording.TREE_SUMMARIZE, {"query_str": NOTHING_FOUND[language], "context_str": passages})
    assert "[" not in ExtractiveLLM(HashEmbedding()).generate(call).text
