"""Compare: one question in one or several response modes, with the list of passages and their scores."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import streamlit as st

from lectern.schema import Ask, Conversation, Message, Reading
from lectern.ui import labels, navigation, resources
from lectern.ui.asking import ask_outside_chat
from lectern.ui.i18n import _, ngettext, numeral
from lectern.ui.pricing import calls_a_model
from lectern.ui.safetext import label, plain_md
from lectern.ui.state import fill_new_widget, fill_widget, session, widget
from lectern.ui.widgets import answer, answer_columns
from lectern.ui.widgets.differences import pinned_answers, pinned_line
from lectern.ui.widgets.live_typing import follow_typing
from lectern.ui.widgets.panel import opened_panel, side_panel
from lectern.ui.widgets.passage import citation_clicks
from lectern.ui.widgets.price import price_tag, total_tag
from lectern.ui.widgets.problem import session_problem
from lectern.ui.widgets.read_everything import choose_reading, draw_offer, make_offer
from lectern.ui.widgets.recorded_demo import recorded_question_buttons, recorded_questions
from lectern.ui.widgets.search_options import chosen_ask, fill_search_options, search_options
from lectern.ui.widgets.sentence_support import read_checks
from lectern.ui.widgets.source_links import source_address
from lectern.ui.widgets.thumbs import read_verdicts, verdict_line
from ragcore.response_synthesizers.response_mode import ResponseMode

SNIPPET = 160  # characters of a passage in the list
MAX_EARLIER = 12  # questions in the list

library, runs, state = resources.library(), resources.current_index().runs, session()

asked_for = navigation.id_from_address("q", state.query.conversation)
query = library.conversations.get(asked_for) if asked_for else None
state.query.conversation = query.id if query else None
opened = opened_panel(state.query.conversation)
navigation.write_address("q", state.query.conversation, state.panel if opened else "")

read_verdicts(state.query.conversation)
read_checks(state.query.conversation)
messages = library.conversations.messages(query.id) if query else []
answers = [message for message in messages if message.role == "assistant"]
answering = any(message.state == "writing" for message in answers)


def asks_of(answers: list[Message]) -> list[Ask]:
    return [message.ask for message in answers if message.ask]


def fill_form(asks: list[Ask], fill: Callable[[str, object], None]) -> None:
    """Fills the form with the question and settings of a result."""
    if asks:
        fill("query_text", asks[0].question)
        fill("query_modes", [ask.response_mode for ask in asks])
        fill_search_options(asks[0], fill)


fill_form(asks_of(answers), fill_new_widget)
default = library.settings.answers
default_ask = Ask("", response_mode=default.response_mode, top_k=default.top_k, retrieval=default.retrieval)
fill_form([default_ask], fill_new_widget)


def chosen_asks() -> list[Ask]:
    question = str(widget("query_text") or "")
    return [
        chosen_ask(question, mode)
        for mode in labels.response_modes()
        if mode in (widget("query_modes") or ())
    ]


def chosen_reading() -> Reading:
    """How much the next question reads. The response modes apply only to the best passages."""
    return state.ask.to_read.get("query_reading", "best")


def ask() -> None:
    question = str(widget("query_text") or "")
    if not make_offer(question, chat=False):
        ask_outside_chat(chosen_asks() or [chosen_ask(question, default.response_mode)])


def question_label(one: Conversation) -> str:
    """The question and its response modes, which tell repeated questions apart."""
    ways = [labels.mode_label(ask.response_mode) for ask in asks_of(library.conversations.messages(one.id))]
    return label(" · ".join([one.title, ", ".join(ways)]))


def open_query(query_id: str) -> None:
    state.query.conversation, state.panel, state.problem = query_id, "", None
    fill_form(asks_of(library.conversations.messages(query_id)), fill_widget)


def ask_to_delete(query_id: str) -> None:
    state.query.deleting = query_id


def delete_query(query_id: str) -> None:
    for run in runs.all(query_id):
        run.stop()
    library.conversations.delete(query_id)
    if state.query.conversation == query_id:
        state.query.conversation, state.panel = None, ""


def earlier_question(number: int, one: Conversation) -> None:
    if state.query.deleting == one.id:
        st.markdown(_("Delete this question and its answers?"), width="stretch")
        st.button(_("Delete"), key="delete_question", type="primary", on_click=delete_query, args=(one.id,))
        st.button(_("Keep"), key="keep_question", on_click=ask_to_delete, args=("",))
        return
    st.button(
        question_label(one),
        key=f"recent_{number}",
        type="tertiary",
        on_click=open_query,
        args=(one.id,),
        width="stretch",
    )
    st.button(
        "", key=f"drop_{number}", help=_("Delete"), icon=":material/delete:", type="tertiary",
        on_click=ask_to_delete, args=(one.id,),
    )  # fmt: skip


def earlier_questions() -> None:
    conversations = [*library.conversations.all("query"), *library.conversations.all("compare")]
    if not conversations:
        return
    # A new key closes the list after a choice.
    key = f"earlier_{state.query.conversation}"
    # Not on_change="rerun": a click on another page closes the list too, and that run would lead back to this
    # page.
    with st.popover(_("Earlier questions"), type="tertiary", icon=":material/history:", key=key):
        for number, one in enumerate(sorted(conversations, key=lambda one: -one.updated)[:MAX_EARLIER]):
            with st.container(
                key=f"earlier_row_{number}", horizontal=True, vertical_alignment="center", gap="small"
            ):
                earlier_question(number, one)


def gives_similar_quote(ask: Ask) -> bool:
    """Whether, without a language model, the answer often is the same quote as in other modes."""
    mode = ResponseMode(ask.response_mode)
    return mode.reads_passages and mode.gives_one_answer


def response_modes() -> list[Ask]:
    """The choice of response modes with their descriptions and prices. It is disabled if the question reads
    more."""
    st.pills(
        _("Response modes"),
        list(labels.response_modes()),
        selection_mode="multi",
        key="query_modes",
        format_func=lambda name: labels.response_modes()[name].label,
        help=_("Choose several to compare. They answer at the same time, from the same passages."),
        persist_state="session",
        disabled=chosen_reading() != "best",
    )
    asks, priced = chosen_asks(), calls_a_model()
    with st.container(key="query_ways", gap="xxsmall"):
        if chosen_reading() != "best":
            st.caption(labels.readings()[chosen_reading()].sentence)
            return []
        if not asks:
            st.caption(_("Choose at least one response mode."))
        if len(asks) == 1:
            st.caption(labels.response_modes()[asks[0].response_mode].sentence)
        for one in asks:
            if len(asks) == 1 or (one.question.strip() and priced):
                price_tag(one)
            else:
                mode = labels.response_modes()[one.response_mode]
                st.caption(_("{mode}: {sentence}").format(mode=mode.label, sentence=mode.sentence))
        if len(asks) > 1 and asks[0].question.strip() and priced:
            total_tag(asks)
        if not priced and sum(gives_similar_quote(one) for one in asks) > 1:
            st.caption(labels.quotes_are_similar())
    return asks


def form() -> None:
    files = library.files.ready_names()
    with st.container(key="query_head", horizontal=True, vertical_alignment="center"):
        st.title(_("Compare"), anchor=False)
        earlier_questions()
    st.markdown(_("Ask one question in several ways, and see what each makes of the same passages."))
    if not files and not answers:
        st.page_link(navigation.HOME, label=_("Add a document first"), icon=":material/upload_file:")
    st.text_area(
        _("Question"),
        key="query_text",
        height=80,
        placeholder=_("What do you want to know?"),
        persist_state="session",
    )
    follow_typing("query_text", now=not answering)
    recorded_question_buttons(recorded_questions(chat=False), partial(fill_widget, "query_text"), key="query")
    asks = response_modes()
    with st.container(key="query_buttons", horizontal=True, vertical_alignment="center"):
        compare_them = ngettext("Compare {number} answer", "Compare {number} answers", len(asks)).format(
            number=len(asks)
        )
        st.button(
            compare_them if len(asks) > 1 else _("Ask"),
            key="query_ask",
            type="primary",
            icon=":material/arrow_forward:",
            on_click=ask,
            disabled=answering or (not asks and chosen_reading() == "best"),
        )
        choose_reading("query_reading", disabled=answering)
        search_options(files)
        if answering:  # last, so that it does not move the others
            stop = _("Stop") if len(answers) == 1 else _("Stop all")
            st.button(
                stop,
                key="query_stop",
                icon=":material/stop:",
                on_click=answer_columns.stop_all,
                args=(answers,),
            )
    draw_offer(chat=False)
    session_problem("query")


def passages(message: Message) -> None:
    st.header(
        _("Passages"),
        anchor=False,
        help=_("A score from 0 to 1 says how well a passage matches the question."),
    )
    top = max((source.score or 0.0 for source in message.sources), default=0.0)
    for source in message.sources:
        with st.container(key=f"hit_{message.id}_{source.number}", border=True):
            st.markdown(
                f"[{source.number} · {label(labels.place(source))}]({source_address(message.id, source)})"
            )
            text = " ".join(source.text.split())
            st.markdown(label(labels.cut_at_word(text, SNIPPET)))
            if len(text) > SNIPPET:
                with st.expander(_("The whole passage"), type="compact"):
                    st.markdown(plain_md(source.text))
            facts = [labels.count(len(source.text), "character")]
            if source.score is not None:
                facts.append(_("score {score}").format(score=numeral(source.score, 3)))
                if top > 0:
                    facts.append(
                        _("{percent}% of the best score").format(percent=round(100 * source.score / top))
                    )
            st.caption(label(" · ".join(facts)))


def one_answer(reply: Message) -> None:
    run = runs.get(reply.conversation_id)
    if run is not None:
        answer.stream_answer(run, reply)
        st.rerun()
    if reply.state == "writing":
        answer.follow_answer_elsewhere(reply)
        st.rerun()
    if reply.ask is not None and not reply.ask.writes and reply.state == "done":
        answer.answer_without_text(reply)
    else:
        answer.answer(reply, last=True)
        verdict_line(reply)
    if reply.sources and (reply.ask is None or reply.ask.has_sources):
        with st.container(key="query_passages"):
            passages(reply)


def several_answers(question: Message) -> None:
    with st.container(key="query_common"):
        answer_columns.common_line(question, answers)
        pinned_line(pinned_answers(answers, opened))
    unfinished = answer_columns.draw_columns(answers, runs.all(question.conversation_id))
    if question.sources:
        with st.container(key="query_passages"):
            passages(question)
    if unfinished:
        answer_columns.stream_columns(unfinished, passages_known=bool(question.sources))


with st.container(key="query_form"):
    form()
citation_clicks(
    answering=answering,
    conversation_id=state.query.conversation or "",
    ended=labels.end_message([message.state for message in answers]),
    reveal=messages[0].id if answers else "",
)
if opened is not None:
    side_panel(opened)
if answers:
    with st.container(key="query_question"):
        st.divider()
        st.markdown(f"**{label(messages[0].text)}**")
    if query is not None and query.kind == "compare":
        several_answers(messages[0])
    else:
        one_answer(answers[0])
