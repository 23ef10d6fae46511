"""What a page shows and what its address says, each of which may be ahead of the other."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from lectern.indexes import Indexes
from lectern.ui import navigation, resources


def page() -> None:
    import streamlit as st

    from lectern.ui.navigation import id_from_address, record_page, write_address

    record_page("documents")
    if st.button("Open"):
        st.session_state.shown = "a"
    st.session_state.shown = id_from_address("d", st.session_state.get("shown"))
    write_address("d", st.session_state.shown, "")


@pytest.fixture
def browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    indexes = Indexes(tmp_path)
    monkeypatch.setattr(resources, "all_indexes", lambda: indexes)
    monkeypatch.setattr(navigation, "ADDRESS_DELAY_SECONDS", 60)  # however slow this machine is
    return AppTest.from_function(page, default_timeout=60)


def read_open_item(browser: AppTest) -> str | None:
    assert not browser.exception
    opened: str | None = browser.session_state["shown"]
    return opened


def go_back(browser: AppTest) -> None:
    browser.query_params.clear()
    browser.run()


def test_going_back_right_after_a_reload_is_followed(browser: AppTest) -> None:
    browser.query_params["d"] = "a"
    assert read_open_item(browser.run()) == "a"
    go_back(browser)
    assert read_open_item(browser) is None
    assert "d" not in browser.query_params


def test_click_from_an_outdated_address_closes_nothing(browser: AppTest) -> None:
    browser.run().button[0].click().run()
    assert browser.query_params["d"] == "a"
    go_back(browser)  # which looks the same
    assert read_open_item(browser) == "a"
    assert browser.query_params["d"] == "a"
