"""Documents: drop files in, watch them being read, and ask as soon as the first is ready."""

from __future__ import annotations

import json
from pathlib import Path

import streamlit as st

from ragcore.errors import Problem, RagError
from ragcore.library import SAMPLE
from ragcore.schema import new_id
from ui import places, resources
from ui.asking import ask_in_chat
from ui.safetext import label
from ui.state import fill_widget, session, widget
from ui.web import safe_name
from ui.widgets.files import dropzone, file_rows
from ui.widgets.lights import lights
from ui.widgets.problem import problem

library, state = resources.library(), session()


def add_sample() -> None:
    try:
        library.add_sample()
    except RagError as error:
        state.problem = Problem.of(error)
    library.start_worker()


def keep_pasted() -> None:
    text, title = str(widget("pasted") or ""), str(widget("pasted_title") or "").strip()
    if not text.strip():
        state.notice = "Nothing was added: the text was empty."
        return
    name = safe_name(title or " ".join(text.split())[:50])
    draft = library.incoming / f"{new_id()}.txt"
    draft.write_text(text, "utf-8")
    try:
        added = library.add(draft, f"{name}.txt")
    except RagError as error:
        state.notice = f"{error.what} {error.hint}"
    else:
        state.notice = f"{added.file.name} is in your library already." if added.outcome == "duplicate" else ""
    fill_widget("pasted", "")
    fill_widget("pasted_title", "")
    library.start_worker()


@st.dialog("Paste text")
def paste_text() -> None:
    st.text_input("Name", key="pasted_title", placeholder="Notes from Tuesday")
    st.text_area("Text", key="pasted", height=260, placeholder="Paste or type here")
    if st.button("Add to my documents", type="primary", key="keep_pasted", on_click=keep_pasted):
        st.rerun()


def ask() -> None:
    state.asked = ask_in_chat(str(widget("home_ask") or ""), box="home_ask", new=True)


def suggested() -> list[str]:
    """Questions for the sample, while it is in the library."""
    names = {file.name for file in files if file.ready}
    path = Path(SAMPLE).parent / "questions.jsonl"
    if not path.exists():
        return []
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
    return [str(line["question"]) for line in lines if line.get("suggested") and names.issuperset(line["files"])]


files = library.files.all()
ready = sum(file.ready for file in files)

if state.asked:
    state.asked = False
    places.go_to_chat(state.conversation)

with st.container(key="hero"):
    st.title(
        "Ask your documents. Nothing\N{NO-BREAK SPACE}leaves this computer." if not files else "Your documents", anchor=False
    )
    if not files:
        st.markdown("Drop in files, ask a question, and get an answer that shows the page it came from.")

if state.problem is not None:
    problem(state.problem, key="home")

if ready:
    with st.container(key="ask_here"):
        st.chat_input("Ask your documents", key="home_ask", on_submit=ask)
    if questions := suggested():
        chosen = st.pills("Try asking", questions, key="suggested", format_func=label, label_visibility="collapsed")
        if chosen and ask_in_chat(chosen, box="home_ask", new=True):
            places.go_to_chat(state.conversation)

if dropzone(small=bool(files)):
    paste_text()

if not files:
    with st.container(key="try_sample", horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown("Nothing at hand?")
        st.button("Try it with a sample", icon=":material/auto_stories:", key="sample", on_click=add_sample)

file_rows()

lights()
