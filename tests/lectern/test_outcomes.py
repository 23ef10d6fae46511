"""The three outcomes of an answer that quotes: an answer, the closest passages, nothing about this."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from lectern import cli
from lectern.library import Library
from lectern.schema import Ask
from ragcore.embeddings.huggingface import HuggingFaceEmbedding
from ragcore.extractive.fixed_replies import CLOSEST, NOTHING_FOUND, is_refusal, nothing_about
from ragcore.llms.scripted import ScriptedLLM
from tests.lectern.explain.test_missed_passages import answered
from tests.lectern.test_library import take_in

FLAT = """Rental agreement

§ 2 Rent
The rent is 950 euros per month. It is due on the third working day of each month.

§ 4 Pets
Small animals such as hamsters may be kept. Dogs and cats need the landlord's consent.
"""
HEADING = f"{CLOSEST['en']}\n\n"
ALONE = Ask("Are parrots allowed?", chat_mode=None)
IN_CHAT = Ask(ALONE.question)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    opened = Library(tmp_path_factory.mktemp("flat"), embedder=HuggingFaceEmbedding())
    take_in(opened, FLAT, "flat.txt")
    yield opened
    opened.close()


@pytest.mark.parametrize("mode", ["compact", "refine", "tree_summarize", "simple_summarize", "accumulate"])
def test_closest_passages_have_a_heading_that_claims_nothing(library: Library, mode: str) -> None:
    message = answered(library, replace(ALONE, response_mode=mode))
    assert message.facts is not None
    assert message.facts.outcome == "closest"
    assert HEADING in message.text
    assert "Dogs and cats need the landlord's consent. [1]" in message.text
    assert [source.file_name for source in message.cited] == ["flat.txt"]


def test_answers_below_each_other_have_an_outcome_each(library: Library) -> None:
    for mode in ("accumulate", "compact_accumulate"):
        message = answered(library, replace(ALONE, response_mode=mode))
        assert message.facts is not None
        assert [part.outcome for part in message.facts.parts] == ["closest"]
        (part,) = message.facts.parts
        assert message.text[: part.start] == "Response 1: "
        assert message.text[part.start : part.end].startswith(HEADING)
        assert part.end == len(message.text)
    for ask in (ALONE, replace(ALONE, response_mode="accumulate", reading="everything")):
        message = answered(library, ask)
        assert message.facts is not None
        assert message.facts.parts == ()


def test_answer_has_no_heading_and_a_refusal_names_its_words(library: Library) -> None:
    rent = answered(library, replace(ALONE, question="How high is the rent?"))
    assert rent.facts is not None
    assert (rent.facts.outcome, rent.text[:42]) == ("answer", "The rent is 950 euros per month. [1] It is")
    cup = answered(library, replace(ALONE, question="Who won the cup final in 1998?"))
    assert cup.facts is not None
    assert (cup.facts.outcome, cup.text) == ("nothing", nothing_about("Who won the cup final in 1998?"))


def test_follow_up_is_read_as_its_standalone_question(library: Library) -> None:
    first = answered(library, Ask("Can I keep a dog?"))
    message = answered(library, Ask("Is it forbidden?"), first.conversation_id)
    assert message.facts is not None
    assert "dog" in (message.facts.condensed or "")
    assert "Dogs and cats need the landlord's consent. [1]" in message.text


def test_a_language_models_text_does_not_change(tmp_path: Path) -> None:
    text = NOTHING_FOUND["en"]
    library = Library(tmp_path / "library", embedder=HuggingFaceEmbedding(), llm=ScriptedLLM([text]))
    take_in(library, FLAT, "flat.txt")
    message = answered(library, ALONE)
    assert message.facts is not None
    assert (message.state, message.text, message.facts.outcome) == ("done", text, "nothing")
    library.close()


def test_response_of_library_and_conversation_has_an_outcome(library: Library) -> None:
    for ask in (ALONE, IN_CHAT):
        stream = library.answer(ask)
        assert is_refusal(str(stream))
        assert stream.outcome == "closest"
    assert library.answer(ALONE).whole().outcome == "closest"
    assert library.answer(replace(ALONE, question="How high is the rent?")).whole().outcome == "answer"


def test_a_terminal_gets_the_same_as_text_and_as_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "flat.txt").write_text(FLAT, "utf-8")
    there = ["--library", str(tmp_path / "library")]
    assert cli.main([*there, "add", str(tmp_path / "flat.txt")]) == 0
    capsys.readouterr()
    assert cli.main([*there, "ask", ALONE.question]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith(HEADING)
    assert printed.endswith("  [1] flat.txt\n")
    assert cli.main([*there, "ask", ALONE.question, "--json"]) == 0
    reply = json.loads(capsys.readouterr().out)
    assert (reply["outcome"], reply["text"]) == ("closest", printed.partition("\n  [1]")[0])
    assert [(source["file"], source["place"]) for source in reply["sources"]] == [("flat.txt", "flat.txt")]
    assert 0 < reply["sources"][0]["score"] <= 1
    assert reply["seconds"] > 0


def test_a_place_is_a_paragraph_and_a_heading_begins_a_line(library: Library) -> None:
    _, *places = answered(library, ALONE).text.split("\n\n")
    assert len(places) == 1  # of the one passage
    pets, rent = places[0].split("  \n")
    assert "Dogs and cats" in pets
    assert "950 euros" in rent
