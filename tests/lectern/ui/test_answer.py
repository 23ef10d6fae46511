"""What stands below an answer."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from lectern.library import Library
from lectern.schema import AnswerFacts, Ask, Message
from lectern.ui import resources
from lectern.ui.widgets import answer
from ragcore.extractive.fixed_replies import closest_passages


@pytest.mark.parametrize(
    ("names", "line"),
    [
        (("notes {draft}.txt",), r"Searched only in notes \{draft\}\.txt."),
        (("a.txt", "b.txt"), "Searched only in 2 documents."),
    ],
)
def test_searched_documents_are_named_or_counted(
    names: tuple[str, ...], line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[str] = []
    monkeypatch.setattr(st, "caption", drawn.append)
    monkeypatch.setattr(st, "container", lambda **options: nullcontext())
    monkeypatch.setattr(st, "button", lambda text, **options: None)
    files = SimpleNamespace(ready_names=lambda: {name: name for name in names})
    monkeypatch.setattr(resources, "library", lambda: SimpleNamespace(files=files))
    facts = AnswerFacts("compact", "compact", 0, 0.1, 0, 3, 0, 0, outcome="nothing")
    ask = Ask("Why?", chat_mode="context", file_ids=names)
    answer._narrow_scope_line(Message("m", "c", "assistant", "?", "done", 0.0, ask, facts))
    assert drawn == [line]


def closest_screen() -> None:
    import streamlit as st

    from lectern.schema import AnswerFacts, Ask, Message
    from lectern.ui.widgets.answer import answer

    facts = AnswerFacts("compact", "compact", 1, 0.1, 3, 3, 0, 0, extractive=True, outcome="closest")
    ask = Ask("When does the old ferry of Oldport leave?", chat_mode=None)
    answer(Message("m", "c", "assistant", st.session_state.text, "done", 0.0, ask, facts), last=False)


@pytest.mark.parametrize("place", [1, 2, 3])
def test_line_with_most_words_of_the_question_is_not_folded(
    place: int, open_library: Callable[..., Library], monkeypatch: pytest.MonkeyPatch
) -> None:
    library = open_library()
    monkeypatch.setattr(resources, "library", lambda: library)
    matching = "The old ferry of Oldport sank."
    places = [f"{'Nothing of note happened in that week. ' * 20}{number}." for number in range(1, 4)]
    places[place - 1] += f" {matching}"
    page = AppTest.from_function(closest_screen, default_timeout=60)
    page.session_state.text = closest_passages("Who?", "\n\n".join(places))
    page.run()
    assert not page.exception
    folded = "\n".join(str(block.value) for block in page.expander[0].markdown) if page.expander else ""
    assert matching not in folded
    assert matching in "\n".join(str(block.value) for block in page.markdown)
    assert ("3." in folded) == (place < 3)
