"""Groups of documents: created with a button, and marked where one is chosen."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from lectern.library import Library
from lectern.ui import resources
from tests.lectern.jobs.libraries import add, worker_of


def form() -> None:
    import streamlit as st

    from lectern.ui.widgets.groups import groups_form

    groups_form(st.session_state.file_ids)


def menu() -> None:
    from lectern.ui.widgets.chat_options import scope_menu

    scope_menu(disabled=False)


@pytest.fixture
def library(open_library: Callable[..., Library], monkeypatch: pytest.MonkeyPatch) -> Library:
    """With two documents that have been read."""
    library = open_library()
    monkeypatch.setattr(resources, "library", lambda: library)
    for name in ("roof.txt", "stairs.txt"):
        add(library, f"The {name} is red.", name)
    while worker_of(library).run_once():
        pass
    return library


def test_a_button_creates_the_group(library: Library) -> None:
    file_ids = [file.id for file in library.files.all()]
    page = AppTest.from_function(form, default_timeout=60)
    page.session_state.file_ids = file_ids
    page.run()
    page.text_input(key="new_group").input("House")
    page.button(key="create_group").click().run()
    assert not page.exception
    assert {name: sorted(ids) for name, ids in library.groups.all().items()} == {"House": sorted(file_ids)}
    assert page.text_input(key="new_group").value == ""


def test_the_menu_marks_the_chosen_group(library: Library) -> None:
    first, second = (file.id for file in library.files.all())
    library.groups.replace(first, ["House"])
    library.groups.replace(second, ["Yard"])
    page = AppTest.from_function(menu, default_timeout=60).run()

    def icons() -> list[str]:
        assert not page.exception
        return [page.button(key=f"scope_group_{number}").proto.icon for number in range(2)]

    assert icons() == [":material/label:", ":material/label:"]
    page.button(key="scope_group_1").click().run()
    assert icons() == [":material/label:", ":material/check_circle:"]
