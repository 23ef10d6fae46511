"""The privacy page deletes everything, and says before what goes and what stays."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from lectern.indexes import Indexes
from lectern.ui import resources
from lectern.ui.open_indexes import OpenIndexes
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.errors import StoreError
from tests.lectern.test_indexes import TOWER, opened, take_in


def privacy_page() -> None:
    import streamlit as st

    from lectern.ui.state import session
    from lectern.ui.widgets.settings_privacy import library_place

    library_place()
    st.session_state.notice, st.session_state.page = session().notice, session().settings.page


@pytest.fixture
def indexes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OpenIndexes:
    indexes = OpenIndexes(Indexes(tmp_path, opened), HashEmbedding())
    monkeypatch.setattr(resources, "open_indexes", lambda: indexes)
    return indexes


@pytest.mark.smoke
def test_one_button_deletes_everything_and_says_what_goes(indexes: OpenIndexes) -> None:
    library = indexes.get("main").library
    take_in(library, TOWER, "tower.txt")
    page = AppTest.from_function(privacy_page, default_timeout=60).run()
    question = next(each.value for each in page.markdown if each.value.startswith("Delete the documents"))
    for word in ("all indexes", "conversations", "comparisons", "notes", "Evaluate", "Settings", "keys"):
        assert word in question
    assert library.files.all()
    page.button(key="delete_everything").click().run()
    assert not page.exception
    assert not library.files.all()
    assert page.session_state.notice.startswith("Everything is deleted.")
    assert page.session_state.page == "privacy"
    indexes.close()


def test_what_could_not_be_deleted_is_reported(indexes: OpenIndexes, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise StoreError("The disk is full.", hint="Free some space.")

    monkeypatch.setattr(indexes, "delete_everything", fail)
    page = AppTest.from_function(privacy_page, default_timeout=60).run()
    page.button(key="delete_everything").click().run()
    assert not page.exception
    assert page.session_state.notice == "The disk is full. Free some space."
    indexes.close()
