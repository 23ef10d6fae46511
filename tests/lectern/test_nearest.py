"""Where no answer is found to quote, what comes nearest to one is told below that, and it counts as no answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from lectern import cli
from lectern.library import Library
from lectern.schema import Ask
from ragcore.embeddings.huggingface import HuggingFaceEmbedding
from ragcore.llms.scripted import ScriptedLLM
from ragcore.questions.fixed_replies import NEAREST, NOT_FOUND, is_refusal, with_nearest
from tests.lectern.explain.test_missed_passages import answered
from tests.lectern.test_library import take_in

FLAT = """Rental agreement

§ 2 Rent
The rent is 950 euros per month. It is due on the third working day of each month.

§ 4 Pets
Small animals such as hamsters may be kept. Dogs and cats need the landlord's consent.
"""
NEAR = f"{NOT_FOUND['en']} {NEAREST['en']}\n\n"
ALONE = Ask("Can I keep a dog?", chat_mode=None)
IN_CHAT = Ask(ALONE.question)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    opened = Library(tmp_path_factory.mktemp("flat"), embedder=HuggingFaceEmbedding())
    take_in(opened, FLAT, "flat.txt")
    yield opened
    opened.close()


@pytest.mark.parametrize("mode", ["compact", "refine", "tree_summarize", "simple_summarize"])
def test_the_nearest_is_quoted_with_its_citation_and_counts_as_no_answer(library: Library, mode: str) -> None:
    message = answered(library, replace(ALONE, response_mode=mode))
    assert message.text.startswith(NEAR)
    assert "Dogs and cats need the landlord's consent. [1]" in message.text
    assert is_refusal(message.text)
    assert [source.file_name for source in message.cited] == ["flat.txt"]


def test_nothing_is_told_where_nothing_comes_near_or_an_answer_is_found(library: Library) -> None:
    assert answered(library, replace(ALONE, question="Who won the cup final in 1998?")).text == NOT_FOUND["en"]
    assert answered(library, replace(ALONE, question="How high is the rent?")).text.startswith(
        "The rent is 950 euros per month. [1]"
    )


def test_a_follow_up_is_held_against_the_question_that_it_was_made_into(library: Library) -> None:
    first = answered(library, IN_CHAT)
    message = answered(library, Ask("Is it forbidden?"), first.conversation_id)
    assert message.facts is not None
    assert "dog" in (message.facts.condensed or "")
    assert message.text.startswith(f"{NEAR}Dogs and cats need the landlord's consent. [1]")


def test_what_a_language_model_says_is_left_as_it_is(tmp_path: Path) -> None:
    library = Library(tmp_path / "library", embedder=HuggingFaceEmbedding(), llm=ScriptedLLM([NOT_FOUND["en"]]))
    take_in(library, FLAT, "flat.txt")
    message = answered(library, ALONE)
    assert (message.state, message.text) == ("done", NOT_FOUND["en"])
    library.close()


def test_a_terminal_is_told_as_well(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "flat.txt").write_text(FLAT, "utf-8")
    there = ["--library", str(tmp_path / "library")]
    assert cli.main([*there, "add", str(tmp_path / "flat.txt")]) == 0
    capsys.readouterr()
    assert cli.main([*there, "ask", ALONE.question]) == 0
    told = capsys.readouterr().out
    assert told.startswith(NEAR)
    assert told.endswith("  [1] flat.txt\n")


@pytest.mark.parametrize("language", sorted(NOT_FOUND))
def test_a_refusal_is_known_with_the_nearest_below_it_in_every_language(language: str) -> None:
    told = with_nearest(NOT_FOUND[language], "Dogs need consent. [1]")
    assert is_refusal(told)
    assert told.startswith(NOT_FOUND[language])
    assert told.endswith("\n\nDogs need consent. [1]")
    assert not is_refusal(f"{NOT_FOUND[language]} Dogs need consent. [1]")
