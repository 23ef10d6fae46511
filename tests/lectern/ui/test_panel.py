"""The side panel that the address of a page names."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from lectern.library import Library
from lectern.schema import AnswerFacts, Ask
from lectern.ui import resources
from ragcore.embeddings.hashing import HashEmbedding


def page() -> None:
    import streamlit as st

    from lectern.ui.state import session
    from lectern.ui.widgets.panel import opened_panel

    session().panel = st.query_params["p"]
    opened = opened_panel(st.query_params["c"])
    st.session_state.number = opened.number if opened else None


@pytest.mark.parametrize(
    ("number", "opened"), [("7", 7), ("", 0), ("x", 0), ("-1", 0), ("²", 0), ("9" * 20, 0), ("9" * 5000, 0)]
)
def test_number_in_an_address_opens_a_panel_whatever_it_is(
    number: str, opened: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(Library(tmp_path, embedder=HashEmbedding())) as library:
        monkeypatch.setattr(resources, "library", lambda: library)
        conversation = library.conversations.create()
        message = library.conversations.begin(conversation.id, Ask("What?"))
        facts = AnswerFacts("generation", "generation", 1, 1.0, 1, 1)
        library.conversations.write(message.id, text="That.", state="done", facts=facts)
        tab = AppTest.from_function(page, default_timeout=60)
        tab.query_params["c"], tab.query_params["p"] = conversation.id, f"calls.{message.id}.{number}"
        tab.run()
        assert not tab.exception
        assert tab.session_state["number"] == opened
