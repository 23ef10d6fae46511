"""What a click does is done whole, whatever is clicked in the middle of it."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from lectern.library import Library
from lectern.ui import resources
from lectern.ui.state import AddressState, AskState, EvaluateState, IndexesState, Session

LOOKS = ["session", "widget", "fill_widget", "fill_new_widget", "forget_widgets", "event", "open_index"]


def screen() -> None:
    """Two buttons; the second is clicked while what the first does looks at the session, or while the screen
    is drawn."""
    import streamlit as st
    from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates
    from streamlit.runtime.scriptrunner import RerunData, get_script_run_ctx

    from lectern.ui import state

    looks = {
        "session": state.session,
        "widget": lambda: state.widget("one"),
        "fill_widget": lambda: state.fill_widget("one", 1),
        "fill_new_widget": lambda: state.fill_new_widget("another", 1),
        "forget_widgets": lambda: state.forget_widgets("one", "other"),
        "event": lambda: state.event("one", "act"),
        "open_index": lambda: state.open_index("main"),
    }
    told: list[str] = st.session_state.told
    ids: list[str] = st.session_state.ids
    chosen: str = st.session_state.look

    def click_second() -> None:
        context = get_script_run_ctx()
        assert context
        assert context.script_requests
        clicked = WidgetStates(widgets=[WidgetState(id=each, trigger_value=True) for each in ids])
        context.script_requests.request_rerun(
            RerunData(page_script_hash=context.page_script_hash, widget_states=clicked)
        )

    def first() -> None:
        told.append("first begins")
        for _twice in range(2):
            click_second()
            looks[chosen]()
        told.append("first ends")

    def second() -> None:
        told.append("second")

    told.append("drawing")
    st.button("First", on_click=first)
    st.button("Second", on_click=second)
    if st.session_state.drawing:
        st.session_state.drawing = False
        click_second()
        looks[chosen]()
    told.append("drawn")


def opened(look: str) -> AppTest:
    page = AppTest.from_function(screen, default_timeout=60)
    page.session_state.told, page.session_state.ids, page.session_state.look, page.session_state.drawing = (
        [],
        [],
        look,
        False,
    )
    page.run()
    page.session_state.ids.append(page.button[1].proto.id)
    page.session_state.told.clear()
    return page


@pytest.mark.parametrize("look", LOOKS)
def test_a_click_in_the_middle_of_what_another_does_waits(look: str) -> None:
    page = opened(look)
    page.button[0].click().run()
    assert not page.exception
    assert page.session_state.told == ["first begins", "first ends", "second", "drawing", "drawn"]


# which is looked up once in a run
@pytest.mark.parametrize("look", [look for look in LOOKS if look != "session"])
def test_a_click_while_the_screen_is_drawn_ends_the_drawing(look: str) -> None:
    page = opened(look)
    page.session_state.drawing = True
    page.run()
    assert not page.exception
    assert page.session_state.told == ["drawing", "second", "drawing", "drawn"]


def test_a_click_does_not_stop_what_another_does() -> None:
    """With fast reruns it would: Streamlit then stops the script at its next look at the session, callback or
    not."""
    configuration = Path(__file__).parents[3] / ".streamlit" / "config.toml"
    assert tomllib.loads(configuration.read_text("utf-8"))["runner"]["fastReruns"] is False


def settings_page() -> None:
    """A field of the settings, whose value arrives from the browser."""
    import streamlit as st

    from lectern.ui.state import session
    from lectern.ui.widgets.settings_field import save_field

    st.session_state.set_top_k = st.session_state.arriving
    save_field("answers", "top_k", "set_top_k")
    st.session_state.notice = session().notice


@pytest.mark.parametrize(("arriving", "notice"), [(6, ""), (7, "Saved.")])
def test_only_a_changed_setting_is_saved(
    arriving: int, notice: str, open_library: Callable[..., Library], monkeypatch: pytest.MonkeyPatch
) -> None:
    library = open_library()
    monkeypatch.setattr(resources, "library", lambda: library)
    page = AppTest.from_function(settings_page, default_timeout=60)
    page.session_state.arriving = arriving
    page.run()
    assert not page.exception
    assert page.session_state.notice == notice
    assert library.settings.answers.top_k == arriving


def another_index() -> None:
    """Opens one after something was done on every page."""
    import streamlit as st

    from lectern.ui.state import open_index, session

    state = session()
    state.language, state.notice, state.panel = "fr", "It is made.", "passage.1"
    state.address.last, state.address.page = {"c": "a"}, "chat"
    state.ask.readings, state.ask.to_read = 2, {"chat_reading": "everything"}
    state.indexes.forms, state.indexes.creation, state.indexes.document_page = 4, "a copy", 3
    state.evaluate.uploads, state.evaluate.question_set = 6, "a set"
    state.chat.conversation = state.query.conversation = state.replay.conversation = "a"
    state.answers.form, state.viewer.document, state.documents.adding = "edit.1", "a file", "link"
    state.settings.prompt_drafts["refine"] = ("Improve it.",)
    open_index("other")
    st.session_state.opened = session()


def test_changing_the_index_closes_all_and_empties_forms() -> None:
    page = AppTest.from_function(another_index, default_timeout=60).run()
    assert not page.exception
    assert page.session_state.opened == Session(
        language="fr",
        index="other",
        notice="It is made.",
        address=AddressState(last={"c": "a"}),
        ask=AskState(readings=3),
        indexes=IndexesState(forms=5, creation="a copy"),
        evaluate=EvaluateState(uploads=7),
    )
