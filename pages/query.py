"""Query: one question, answered in a chosen way from chosen passages, which are listed with their scores."""

from __future__ import annotations

from functools import partial

import streamlit as st

from ragcore.conversations import Ask, Conversation, Message
from ui import places, resources, words
from ui.asking import ask_once
from ui.safetext import label, plain_md
from ui.state import fill_new_widget, fill_widget, session, widget
from ui.widgets import answer
from ui.widgets.panel import opened_panel, side_panel
from ui.widgets.passage import address, citation_clicks
from ui.widgets.problem import Choice, problem
from ui.widgets.stage import offer, recorded_questions

SNIPPET = 160  # characters of a passage in the list
RECENT = 12

library, runs, state = resources.library(), resources.runs(), session()

asked_for = places.from_address("q", state.query)
query = library.conversations.get(asked_for) if asked_for else None
state.query = query.id if query else None
opened = opened_panel(state.query)
places.to_address("q", state.query, state.panel if opened else "")

run = runs.get(query.id) if query else None
messages = library.conversations.messages(query.id) if query else []
reply = next((message for message in messages if message.role == "assistant"), None)
if reply is not None and reply.ask is not None:  # a result opened anew brings its question and settings with it
    fill_new_widget("query_text", reply.ask.question)
    fill_new_widget("query_mode", reply.ask.response_mode)
    fill_new_widget("query_top_k", reply.ask.top_k)
    fill_new_widget("query_files", list(reply.ask.file_ids or ()))
fill_new_widget("query_mode", library.settings.answers.response_mode)
fill_new_widget("query_top_k", library.settings.answers.top_k)


def ask() -> None:
    question = str(widget("query_text") or "")
    ask_once(
        question,
        Ask(
            question,
            chat_mode=None,
            response_mode=str(widget("query_mode")),
            top_k=int(widget("query_top_k")),
            file_ids=tuple(widget("query_files") or ()) or None,
        ),
    )


def asked_in(query_id: str) -> Ask | None:
    return next((message.ask for message in library.conversations.messages(query_id) if message.ask), None)


def earlier(one: Conversation) -> str:
    """The question and the way it was answered, which tells the same question asked twice apart."""
    asked = asked_in(one.id)
    return label(f"{one.title} · {words.mode_label(asked.response_mode)}" if asked else one.title)


def open_query(query_id: str) -> None:
    """Show an earlier result with the question and the settings it had."""
    state.query, state.panel, state.problem = query_id, "", None
    if (asked := asked_in(query_id)) is not None:
        fill_widget("query_text", asked.question)
        fill_widget("query_mode", asked.response_mode)
        fill_widget("query_top_k", asked.top_k)
        fill_widget("query_files", list(asked.file_ids or ()))


def passages(message: Message) -> None:
    st.subheader("Passages", anchor=False)
    top = max((source.score or 0.0 for source in message.sources), default=0.0)
    for source in message.sources:
        with st.container(key=f"hit_{message.id}_{source.number}", border=True):
            score = f" · score {source.score:.3f}" if source.score is not None else ""
            share = f" · {round(100 * source.score / top)} % of the best" if source.score is not None and top > 0 else ""
            st.markdown(f"[{source.number} · {label(words.place(source))}]({address(message, source)})")
            shown = " ".join(source.text.split())
            if len(shown) <= SNIPPET:
                st.markdown(label(shown))
            else:
                st.markdown(label(shown[:SNIPPET].rsplit(" ", 1)[0]) + " …")
                with st.expander("The whole passage", type="compact"):
                    st.markdown(plain_md(source.text))
            st.caption(label(f"{words.count(len(source.text), 'character')}{score}{share}"))


files = {file.id: file.name for file in library.files.all() if file.ready}
recent = library.conversations.all("query")

with st.container(horizontal=True, vertical_alignment="center"):
    st.title("Query", anchor=False)
    if recent:
        # A key of its own for each result: choosing one closes the list, which would cover it.
        with st.popover("Earlier questions", type="tertiary", icon=":material/history:", key=f"earlier_{state.query}"):
            for number, one in enumerate(recent[:RECENT]):
                st.button(earlier(one), key=f"recent_{number}", type="tertiary", on_click=open_query, args=(one.id,))
st.markdown("One question on its own. Choose how the answer is made, and compare.")

if not files and reply is None:
    st.page_link(places.HOME, label="Add a document first", icon=":material/upload_file:")

st.text_area("Question", key="query_text", height=90, placeholder="What do you want to know?", persist_state="session")
offer(recorded_questions(chat=False), partial(fill_widget, "query_text"), key="query")
with st.container(key="query_options", horizontal=True, vertical_alignment="bottom"):
    st.selectbox(
        "Way of answering",
        list(words.RESPONSE_MODES),
        key="query_mode",
        format_func=lambda name: words.RESPONSE_MODES[name].label,
        persist_state="session",
        width=230,
    )
    st.number_input(
        "Passages", 1, 100, key="query_top_k", help="How many passages are looked at.", persist_state="session", width=130
    )
    st.multiselect(
        "Only in these documents",
        list(files),
        key="query_files",
        format_func=lambda file_id: files.get(file_id, "a deleted document"),
        placeholder="All documents",
        persist_state="session",
        width=260,
    )
st.caption(words.RESPONSE_MODES[str(widget("query_mode"))].sentence)
with st.container(horizontal=True):
    st.button("Ask", key="query_ask", type="primary", icon=":material/arrow_forward:", on_click=ask, disabled=run is not None)
    if run is not None:
        st.button("Stop", key="query_stop", icon=":material/stop:", on_click=run.stop)

if state.problem is not None and problem(state.problem, [Choice("Dismiss", "dismiss")], key="query"):
    state.problem = None
    st.rerun()

citation_clicks(answering=run is not None)
if opened is not None:
    side_panel(opened)

if reply is not None:
    st.divider()
    st.markdown(f"**{label(messages[0].text)}**")
    if run is not None:
        answer.growing_answer(run, reply)
        st.rerun()
    if reply.state == "writing":
        answer.answer_elsewhere(reply)
        st.rerun()
    if reply.ask is not None and reply.ask.response_mode == "no_text" and reply.state == "done":
        answer.facts_line(reply)
    else:
        answer.answer(reply, last=True)
    if reply.sources and not (reply.ask is not None and reply.ask.response_mode == "generation"):
        passages(reply)
