"""Why wasn't it found, and the sentences of an answer: what the panel says, and what its buttons do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from lectern.settings import AnswerSettings
from tests.screens.conftest import Screen, plain
from tests.scripted_server import ScriptedServer

SECOND = "mercury-2-september-2022.pdf"  # has the second best passage about the steps
STAIR = "How many steps has the Herring Stair?"
SAID = (
    "There are 214 steps from Fish Street to Windle Terrace. [1]\n"
    "- A **brass band** of elephants played there in 1777. [1]\n\n| Year | Band |\n|---|---|"
)


def write_reply(messages: Sequence[Mapping[str, Any]]) -> str:
    return SAID


@pytest.fixture(params=["quotes", "a model"])
def one_passage(request: pytest.FixtureRequest, sample_screen: Screen) -> Iterator[Screen]:
    """Looks at one passage, without a language model and with a scripted one."""
    library = sample_screen.library
    library.update_settings(library.settings.model_copy(update={"answers": AnswerSettings(top_k=1)}))
    with ScriptedServer(write_reply) as server:
        if request.param == "a model":
            sample_screen.connect(server)
        yield sample_screen


def last_sources(screen: Screen) -> list[str]:
    messages = screen.library.conversations.messages(screen.tab.query_params["c"])
    return [source.file_name for source in messages[-1].sources]


def open_why(screen: Screen) -> Screen:
    return screen.act("why").until(lambda: screen.has("why_cause"))


def expect(screen: Screen, words: str, said: str) -> None:
    """Say what should have been found, and wait for the verdict."""
    (field,) = [field for field in screen.tab.text_input if field.label == "What did you expect to find?"]
    field.set_value(words)
    screen.run().until(lambda: said in screen.words("panel"))


def test_too_few_passages_is_diagnosed_and_one_button_fixes_it(one_passage: Screen) -> None:
    screen = one_passage.open("chat").ask(STAIR)
    assert SECOND not in last_sources(screen)
    cause = open_why(screen).words("why_cause")
    assert "Lectern read only the first passage." in cause
    assert "number 2" in cause
    assert SECOND in screen.words("why_passage")
    assert "214 steps" in screen.words("why_passage")
    assert f"Searched for: {STAIR}" in screen.words("panel")
    (missed,) = [
        button for button in screen.tab.get_by_key("why_passage").button if SECOND in plain(button.label)
    ]
    missed.click()
    assert screen.run().data("passage")["kind"] == "page"
    assert screen.press("Back").has("why_cause")
    screen.press("Read 3 passages")
    assert "3 of 117 passages" in screen.facts()
    assert SECOND in last_sources(screen)
    assert screen.library.settings.answers.top_k == 3


def test_expected_text_is_searched_and_reported_if_absent(sample_screen: Screen) -> None:
    screen = open_why(sample_screen.open("chat").ask(STAIR))
    expect(screen, "214 steps from Fish Street", "It was found.")
    expect(screen, "A submarine landed on Jupiter", "No passage seems to say it.")
    screen.press("Add a document")
    assert screen.has("dropzone")


def test_a_supported_and_an_invented_sentence_are_told_apart(sample_screen: Screen) -> None:
    with ScriptedServer(write_reply) as server:
        sample_screen.connect(server)
        screen = sample_screen.open("chat").ask(STAIR).act("check")
        screen.until(lambda: screen.has("sentences_"))
    assert "1 of 2 sentences are supported" in screen.words("panel")
    supported, invented, table = screen.data("sentences_")["sentences"]
    assert supported["verdict"] == "supported"
    assert invented["verdict"] == "absent"
    assert invented["text"] == "A brass band of elephants played there in 1777."
    assert table["text"] == "Year · Band"
    (marked,) = [text.value for text in screen.tab.markdown if "(#check-" in text.value]
    assert '"Not in the passages' in marked


def test_quotes_are_all_supported(sample_screen: Screen) -> None:
    screen = sample_screen.open("chat").ask("Why is the station clock never corrected?").act("check")
    screen.until(lambda: screen.has("sentences_"))
    verdicts = [sentence["verdict"] for sentence in screen.data("sentences_")["sentences"]]
    assert "supported" in verdicts
    # A question that was quoted with its answer claims nothing.
    assert {*verdicts} <= {"supported", None, "unjudged", ""}
