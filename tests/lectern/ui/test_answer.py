"""What stands below an answer."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace

import pytest
import streamlit as st

from lectern.schema import AnswerFacts, Ask, Message
from lectern.ui import resources
from lectern.ui.widgets import answer


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
