"""An offer, with its price, to read every passage or to ask each document separately, and the progress of
such an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from lectern.ask.read_everything import MODES
from lectern.runs.answer_runs import Run
from lectern.schema import Ask, Message, Price, Reading
from lectern.ui import labels, resources
from lectern.ui.asking import start_answer
from lectern.ui.i18n import _, numeral
from lectern.ui.pricing import price_of
from lectern.ui.safetext import label
from lectern.ui.state import Offer, fill_new_widget, fill_widget, forget_widgets, menu_value, session, widget
from lectern.ui.widgets.price import price_tag
from ragcore.errors import Problem, RagError

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from lectern.ui.widgets.panel import Opened


def reading_title(opened: Opened) -> str:
    """The title of the side panel with the offer; "" if the message is not an answer."""
    return labels.readings()[_reading_of(opened)].label if opened.message.ask is not None else ""


def draw_offer_panel(opened: Opened) -> None:
    """The side panel's offer to read more for the question of an answer."""
    message = opened.message
    conversation = resources.library().conversations.get(message.conversation_id)
    if message.ask is None or conversation is None:
        return
    offered = Offer(
        message.standalone_question,
        _reading_of(opened),
        message.ask.file_ids,
        chat=conversation.kind == "chat",
    )
    _offer(offered, key=f"{opened.kind}_{message.id}")


def draw_offer(*, chat: bool) -> None:
    state = session()
    offered = state.ask.offer
    if offered is None or offered.chat != chat:
        return
    if offered.conversation != (state.chat.conversation if chat else None):
        state.ask.offer = None  # another conversation is open now
        return
    with st.container(key="offer", border=True):
        st.markdown(f"**{label(labels.readings()[offered.reading].label)}**")
        _offer(offered, key="offered")


def _reading_of(opened: Opened) -> Reading:
    return "each_file" if opened.kind == "each_file" else "everything"


def _offer(offered: Offer, *, key: str) -> None:
    files = {file.id: file for file in resources.library().files.all() if file.ready}
    st.markdown(label(offered.question))
    fill_new_widget(f"{key}_files", [file_id for file_id in offered.file_ids or () if file_id in files])
    st.multiselect(
        _("Only these documents"),
        list(files),
        key=f"{key}_files",
        format_func=lambda file_id: files[file_id].name if file_id in files else _("a deleted document"),
        placeholder=_("All documents"),
    )
    chosen = [files[file_id] for file_id in widget(f"{key}_files") or files if file_id in files]
    response_mode = "compact"
    if offered.reading == "everything":
        response_mode = st.radio(
            _("How to read"),
            [mode.value for mode in MODES],
            key=f"{key}_way",
            format_func=_way_name,
            captions=[labels.response_modes()[mode.value].sentence for mode in MODES],
        )
    answers = resources.library().settings.answers
    ask = Ask(
        offered.question,
        chat_mode=None,
        response_mode=response_mode,
        top_k=answers.top_k,
        file_ids=tuple(file.id for file in chosen) if len(chosen) < len(files) else None,
        retrieval=answers.retrieval,
        reading=offered.reading,
    )
    st.markdown(f"**{_describe(offered.reading, len(chosen), sum(file.passages for file in chosen))}**")
    price_tag(ask, mode_label=labels.plain_mode_label)
    price = price_of(ask)
    known = price.result() if price.done() and price.exception() is None else None
    with st.container(horizontal=True, gap="small"):
        st.button(
            _("Ask each document") if offered.reading == "each_file" else _("Read everything"),
            key=f"{key}_agree",
            type="primary",
            disabled=known is None or not chosen,
            on_click=_agree,
            args=(ask, known, offered.chat),
        )
        st.button(_("Cancel"), key=f"{key}_cancel", on_click=_cancel, args=(offered,))


def _way_name(mode: str) -> str:
    return labels.with_field_name(labels.plain_response_modes()[mode].label, labels.field_name(mode))


def _describe(reading: Reading, files: int, passages: int) -> str:
    documents = labels.count(files, "document")
    if reading == "each_file":
        return _("Asks {documents}, one by one.").format(documents=documents)
    return _("Reads {passages} of {documents}.").format(
        passages=labels.count(passages, "passage"), documents=documents
    )


def _agree(ask: Ask, price: Price | None, chat: bool) -> None:
    """Starts the answer in the open conversation, or as a single question."""
    state, conversations = session(), resources.library().conversations
    opened = conversations.get(state.chat.conversation) if chat and state.chat.conversation else None
    try:
        id_ = start_answer(opened.id if opened else None, ask, price, kind="chat" if chat else "query")
    except RagError as error:
        state.problem = Problem.of(error)
        return
    state.problem, state.panel, state.ask.offer = None, "", None
    state.ask.to_read, state.ask.readings = {}, state.ask.readings + 1
    if chat:
        state.chat.conversation = id_
    else:
        state.query.conversation = id_


def _cancel(offered: Offer) -> None:
    state = session()
    state.panel = ""
    if state.ask.offer is offered:
        state.ask.offer = None
        if offered.chat:
            fill_widget("ask", offered.question)


def can_read_more(message: Message) -> bool:
    return message.ask is not None and message.ask.has_sources


def make_offer(question: str, *, chat: bool) -> bool:
    """A callback that makes an offer if the menu of the page says that this question reads more. Returns
    whether it did."""
    reading = session().ask.to_read.get("chat_reading" if chat else "query_reading", "best")
    if reading == "best" or (chat and menu_value("chat_mode") == "simple") or not question.strip():
        session().ask.offer = None
        return False
    files = menu_value("chat_files") if chat else widget("query_files")
    forget_widgets("offered_files", "offered_way")
    conversation = session().chat.conversation if chat else None
    session().ask.offer = Offer(
        question, reading, tuple(files or ()) or None, chat=chat, conversation=conversation
    )
    return True


def choose_reading(key: str, *, disabled: bool) -> None:
    """The menu for how much the next question reads. It resets after each question that read more."""
    state = session()
    menu_key = f"{key}_{state.ask.readings}"
    fill_new_widget(menu_key, state.ask.to_read.get(key, "best"))

    def choose() -> None:
        state.ask.to_read[key] = widget(menu_key)

    chosen = labels.readings()[widget(menu_key)].label
    with st.popover(
        chosen, type="tertiary", icon=":material/menu_book:", key=f"{key}_popover", disabled=disabled
    ):
        st.radio(
            _("What to read"),
            list(labels.readings()),
            key=menu_key,
            format_func=lambda name: labels.readings()[name].label,
            captions=[mode.sentence for mode in labels.readings().values()],
            on_change=choose,
            persist_state="session",
        )


def draw_progress(run: Run, message: Message, place: DeltaGenerator) -> None:
    progress = run.progress
    if progress is None or progress.of < 2:
        return
    current = min(progress.done + 1, progress.of)
    by_document = message.ask is not None and message.ask.reading == "each_file"
    text = _("Document {at} of {of}") if by_document else _("Step {at} of {of}")
    place.progress(progress.done / progress.of, text.format(at=numeral(current), of=numeral(progress.of)))
