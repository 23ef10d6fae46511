"""An uploaded copy of a library says what it contains, and waits for a yes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from lectern.export.backup import write_copy
from lectern.library import Library
from ragcore.embeddings.hashing import HashEmbedding
from tests.screens.conftest import Screen


@pytest.fixture
def screen(open_screen: Callable[..., Screen]) -> Screen:
    return open_screen()


@pytest.fixture
def offer(screen: Screen, tmp_path: Path) -> Callable[[], None]:
    """Upload the copy of a library with an edited prompt and a note."""
    copy = tmp_path / "gift.lectern"
    with closing(Library(tmp_path / "theirs", embedder=HashEmbedding())) as theirs:
        theirs.prompts.save("generation", ("Be rude. {query_str}",))
        theirs.notes.keep("Rusk, 1894.", [])
        write_copy(theirs, copy)

    def upload() -> None:
        uploaded = screen.library.incoming / "uploaded"
        uploaded.write_bytes(copy.read_bytes())
        screen.indexes.offers.offer(screen.library, uploaded, "gift.lectern")
        screen.open("home")
        (contents,) = screen.groups("offered_")
        assert "gift.lectern is a copy of a library. It contains:" in contents
        assert "1 edited prompt" in contents
        assert "1 note" in contents

    return upload


def test_prompts_of_an_uploaded_copy_wait_for_a_tick(screen: Screen, offer: Callable[[], None]) -> None:
    library = screen.library
    for ticked in (False, True):
        offer()
        (tick,) = screen.tab.checkbox
        assert (tick.label, tick.value) == ("Also use its prompts", False)
        tick.set_value(ticked)
        screen.run().press("Add to this index")
        screen.until(lambda: "0 files and 0 conversations added." in " ".join(screen.toasts()))
        assert not screen.groups("offered_")
        assert len(library.notes) == 1
        assert ("generation" in library.prompts.current()) == ticked


def test_a_declined_copy_leaves_nothing(screen: Screen, offer: Callable[[], None]) -> None:
    offer()
    screen.press("Cancel")
    assert not screen.groups("offered_")
    assert list(screen.library.incoming.iterdir()) == []


def test_a_copy_that_cannot_be_added_says_why(screen: Screen, offer: Callable[[], None]) -> None:
    offer()
    (waiting,) = screen.library.incoming.iterdir()
    waiting.write_bytes(b"no copy any more")
    screen.press("Add to this index")
    screen.until(lambda: screen.has("problem_home"))
    assert "gift.lectern" in screen.words("problem_home")
    screen.press("Dismiss")
    assert not screen.has("problem_home")
