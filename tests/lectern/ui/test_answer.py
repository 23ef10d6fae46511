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


def versions_screen() -> None:
    import streamlit as st

    from lectern.schema import AnswerFacts, Ask, Message, Source
    from lectern.ui.widgets.answer import answer

    facts = AnswerFacts("compact", "compact", 1, 0.1, 2, 2, 0, 0, extractive=True)
    sources = (
        Source(1, "a", "f", "rules v2.txt", 0, 9, "No dogs.", version="1 May 2025"),
        Source(2, "b", "g", "rules v1.txt", 0, 9, "No dogs.", version="3 May 2023", leader="rules v2.txt"),
    )
    ask, text = Ask("Are dogs allowed?", chat_mode=None), st.session_state.text
    answer(Message("m", "c", "assistant", text, "done", 0.0, ask, facts, sources), last=False)


@pytest.mark.parametrize(("text", "folded"), [("No dogs. [1]", 1), ("No dogs. [1] Cats. [2]", 0), ("No.", 0)])
def test_other_versions_of_what_is_cited_are_folded_with_their_dates(
    text: str, folded: int, open_library: Callable[..., Library], monkeypatch: pytest.MonkeyPatch
) -> None:
    library = open_library()
    monkeypatch.setattr(resources, "library", lambda: library)
    page = AppTest.from_function(versions_screen, default_timeout=60)
    page.session_state.text = text
    page.run()
    assert not page.exception
    assert [expander.label for expander in page.expander] == ["1 other version"] * folded
    for expander in page.expander:
        line = str(expander.markdown[0].value)
        assert line.startswith("[rules v1")
        assert line.endswith(":small[3 May 2023]")
