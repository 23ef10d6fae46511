"""Stage mode: recorded questions are answered by their recordings, on a library with no document."""

from __future__ import annotations

from collections.abc import Callable

from lectern.runs.recorded_demo import recordings
from ragcore.text.citations import MARKS
from tests.screens.conftest import Screen, plain

FIRST, SECOND = "In what wind does the railway stop?", "And what did Dr Greaves recommend?"
ALONE = "May I bring a large dog?"
AS_RECORDED = {(one.ask.chat_mode, len(one.before)): one for one in recordings()}
USUAL = AS_RECORDED["condense_plus_context", 0], AS_RECORDED["condense_plus_context", 1]


def switch(screen: Screen, *, on: bool) -> None:
    screen.open("settings", s="answers").tab.toggle(key="stage_mode").set_value(on)
    screen.run()


def test_recordings_answer_in_a_chat(open_screen: Callable[..., Screen]) -> None:
    screen = open_screen()
    switch(screen, on=True)
    screen.open("home").press(FIRST).press(SECOND)
    _, first, _, second = screen.transcript()
    for shown, recorded in zip((first, second), USUAL, strict=True):
        assert plain(MARKS.sub("", recorded.text)).strip()[:200] in plain(MARKS.sub("", shown))
    for number in (0, 1):
        assert screen.facts(number).startswith("Recorded on ")
        assert str(USUAL[0].facts.model) in screen.facts(number)
    chat = screen.tab.query_params["c"]
    screen.open("chat", c=chat, p=f"calls.{screen.message_id(1)}")
    assert f"Searched for: {USUAL[1].facts.condensed}" in screen.words()
    screen.open("chat", c=chat, p=f"passage.{screen.message_id(0)}.1")
    assert "This is how the passage read when the answer was recorded." in screen.words()
    assert "38 miles per hour" in str(screen.own_data())
    # not recorded: answered from this library, which has nothing
    screen.open("chat", c=chat).ask("How tall is the tower?")
    assert not screen.facts(2).startswith("Recorded")


def test_recordings_are_compared_and_name_their_model(open_screen: Callable[..., Screen]) -> None:
    screen = open_screen()
    switch(screen, on=True)
    screen.open("query").tab.button_group(key="query_modes").set_value(["generation", "no_text"])
    screen.run().press(ALONE)
    assert screen.tab.text_area(key="query_text").value == ALONE
    screen.press("Compare 2 answers")
    columns = screen.groups("column_")
    assert len(columns) == 2
    assert all("Recorded on" in column for column in columns)
    assert "1 call" in columns[0]
    assert str(USUAL[0].facts.model) in screen.words("compare_common")
    (link,) = (one for one in screen.tab.get("page_link") if one.value == "Stage mode is on")
    assert link.proto.query_string == "s=answers"
    assert "Each answer names the model that wrote it." in screen.open("settings", s="answers").words()
    switch(screen, on=False)
    screen.open("home")
    assert "Try it with a sample" in screen.buttons()
    assert not screen.has("recorded_home")
