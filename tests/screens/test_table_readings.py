"""The buttons below the closest passages that say what an unclear question over rows may mean."""

from __future__ import annotations

from collections.abc import Callable

from tests.screens.conftest import Screen

NORTH = "Room,Seats,Projector\nAspen,12,yes\nBirch,8,no\nCedar,30,yes\n"
SOUTH = "Room,Seats,Projector\nDogwood,6,no\nElm,20,yes\nFir,16,no\n"


def test_a_reading_is_asked_with_one_press(open_screen: Callable[..., Screen]) -> None:
    screen = open_screen({"north.csv": NORTH, "south.csv": SOUTH}).open("chat")
    screen.ask("Which rooms have no projector?")
    assert "Which do you mean?" in screen.words()
    screen.press("Which rooms have no projector in south.csv?")
    screen.until(lambda: len(screen.tab.chat_message) == 4)
    assert screen.transcript()[-1].startswith("2 of 3 rows where Projector is no")
    assert "Which do you mean?" not in screen.words()


def test_nothing_is_offered_below_what_was_computed(open_screen: Callable[..., Screen]) -> None:
    screen = open_screen({"north.csv": NORTH}).open("chat").ask("Which rooms have no projector?")
    assert screen.transcript()[-1].startswith("1 of 3 rows")
    assert "Which do you mean?" not in screen.words()
