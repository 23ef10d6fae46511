"""The texts of all prompts: variables, changes, checks, and earlier versions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from html import escape

import streamlit as st

from lectern.db.prompt_versions import EDITABLE, PromptVersion, WordingError, fits
from lectern.ui import resources
from lectern.ui.i18n import _, day_and_time, ngettext
from lectern.ui.state import fill_widget, session, widget
from lectern.ui.widgets.problem import problem
from ragcore.errors import Problem
from ragcore.text.word_diff import legible, word_differences

CONTEXT_CHARS = 60  # of unchanged text around a change
LINE_PIXELS = 21
MAX_LINES = 12  # in a field; a longer message scrolls, so that the page fits a screen


def titles() -> Mapping[str, tuple[str, str]]:
    """The title of each prompt, and where it is used."""
    return {
        "text_qa": (
            _("Answer from passages"),
            _(
                "The first request of “All together” and “One after another”, and each of “Short summary” "
                "and “Each by itself”."
            ),
        ),
        "refine": (
            _("Improve an answer"),
            _(
                "Every further request of “One after another” and “All together”, for single questions "
                "and in chats."
            ),
        ),
        "tree_summarize": (
            _("Summarise"),
            _("Each request of “Summary of summaries”, and of “Read everything”."),
        ),
        "context_chat": (
            _("Answer in a chat"),
            _("Each message of “Documents each time” and “Follow-ups and documents”."),
        ),
        "condense_question": (
            _("Understand a follow-up"),
            _("Rewrites a follow-up as a standalone question before your documents are searched."),
        ),
        "table_query": (
            _("Ask a table"),
            _(
                "Turns a question about all rows of a table into a query (SQL). The query is checked before "
                "it is used."
            ),
        ),
        "simple_chat": (_("Just talk"), _("Each message of “Just talk”.")),
        "generation": (_("Answer without documents"), _("Each question to “Without documents”.")),
        "react": (
            _("Work with tools"),
            _("Each request of “Step by step”. Keep the format after Thought, Action and Answer."),
        ),
        "questions": (_("Write questions"), _("Writes the questions on the Evaluate page.")),
        "faithfulness": (
            _("Judge: is it in the passages?"),
            _("Judges answers on the Evaluate page. The reply must begin with YES or NO."),
        ),
        "relevancy": (
            _("Judge: does it answer?"),
            _("Judges answers on the Evaluate page. The reply must begin with YES or NO."),
        ),
    }


def variables() -> Mapping[str, str]:
    return {
        "context_str": _("the passages found, each with its number"),
        "query_str": _("the question"),
        "question": _("the latest message"),
        "info_str": _("the table: its columns and their values"),
        "existing_answer": _("the answer so far"),
        "chat_history": _("the conversation so far"),
        "system_prompt": _("the instructions for every chat, from Settings"),
        "tools": _("the tools, and what each is for"),
        "tool_names": _("the names of the tools"),
        "num_questions": _("how many questions to write"),
        "response": _("the answer to be judged"),
    }


def prompt_settings(opened: str, open_prompt: Callable[[str], None]) -> None:
    """The list, or the prompt `opened`. `open_prompt` is a callback; "" opens the list."""
    if opened in EDITABLE:
        st.button(
            _("All instructions"),
            icon=":material/arrow_back:",
            type="tertiary",
            on_click=open_prompt,
            args=("",),
        )
        _prompt(opened)
    else:
        _list(open_prompt)


def _list(open_prompt: Callable[[str], None]) -> None:
    st.markdown(
        _(
            "You never need this page to use Lectern. It shows the exact instructions for the language "
            "model (prompts)."
        )
    )
    st.caption(_("Click a name to read or change its text. Every version is kept."))
    if len(resources.all_indexes().all()) > 1:
        st.caption(_("Each index has its own prompts. These belong to the one that is open."))
    changed, drafts = resources.library().prompts.current(), session().settings.prompt_drafts
    with st.container(key="prompt_list", gap=None):
        for name, (title, used_for) in titles().items():
            with st.container(key=f"prompt_row_{name}", horizontal=True, vertical_alignment="center"):
                st.button(
                    title, key=f"open_prompt_{name}", icon=":material/edit:", type="tertiary", width=230,
                    on_click=open_prompt, args=(name,),
                )  # fmt: skip
                states = [_("Not saved yet")] * (name in drafts) + [_("changed")] * (name in changed)
                st.caption(" · ".join([*(f"**{state}**" for state in states), used_for]))


def _prompt(name: str) -> None:
    state = session().settings
    history = resources.library().prompts.history(name)
    title, used_for = titles()[name]
    st.header(title, anchor=False)
    st.caption(f"{used_for} ({name})")
    _list_variables(name)
    _texts(name, history[0])
    if state.prompt_problem is not None:
        problem(state.prompt_problem, key="prompt")
    dirty = name in state.prompt_drafts
    with st.container(key="prompt_buttons", horizontal=True, vertical_alignment="center"):
        st.button(_("Save the prompt"), key="save_prompt", on_click=_save, args=(name,))
        if dirty:
            st.button(_("Discard"), key="discard_prompt", type="tertiary", on_click=_discard, args=(name,))
            st.caption(_("Not saved yet"))
        if not history[0].built_in:
            st.button(
                _("Use the built-in wording"),
                key="reset_prompt",
                type="tertiary",
                on_click=_reset,
                args=(name,),
            )
    if len(history) > 1:
        earlier = ngettext("{number} version", "{number} versions", len(history)).format(number=len(history))
        with st.expander(earlier, key="prompt_versions", on_change="rerun") as versions:
            if versions.open:
                for version, before in zip(history, [*history[1:], None], strict=True):
                    _version(version, before, used=version is history[0])


def is_prompt_unsaved() -> bool:
    return bool(session().settings.prompt_drafts)


def _list_variables(name: str) -> None:
    meanings = variables()
    lines = [
        "- " + _("{name}: {what}").format(name=f"`{{{variable}}}`", what=meanings[variable])
        for variable in sorted(EDITABLE[name].variables)
    ]
    st.markdown(_("Filled in for each call; all are required:") + "\n" + "\n".join(lines))


def _texts(name: str, used: PromptVersion) -> None:
    draft = session().settings.prompt_drafts.get(name, used.texts)
    messages = EDITABLE[name].messages
    for number, message in enumerate(messages):
        text = draft[number] if number < len(draft) else ""
        key = f"prompt_{name}_{number}"
        fill_widget(key, text)
        role = _("System message") if message.role.value == "system" else _("The message")
        lines = min(MAX_LINES, sum(1 + len(line) // 85 for line in text.split("\n")) + 1)
        st.text_area(role, key=key, height=LINE_PIXELS * lines + 24, on_change=_draft, args=(name,))


def _draft(name: str) -> None:
    state = session().settings
    typed = tuple(
        str(widget(f"prompt_{name}_{number}") or "") for number in range(len(EDITABLE[name].messages))
    )
    state.prompt_problem = None
    if typed == resources.library().prompts.in_use(name).texts:
        state.prompt_drafts.pop(name, None)
    else:
        state.prompt_drafts[name] = typed


def _save(name: str) -> None:
    state = session().settings
    if name not in state.prompt_drafts:
        session().notice = _("The prompt has not changed")
        return
    try:
        resources.library().prompts.save(name, state.prompt_drafts[name])
    except WordingError as error:
        state.prompt_problem = Problem.of(error)
        return
    _discard(name)
    session().notice = _("Saved. The next answer uses it.")


def _discard(name: str) -> None:
    state = session().settings
    state.prompt_drafts.pop(name, None)
    state.prompt_problem = None


def _reset(name: str) -> None:
    resources.library().prompts.reset(name)
    _discard(name)
    session().notice = _("The built-in wording is back in use. Yours is kept among the versions.")


def _restore(version: PromptVersion) -> None:
    if version.number == 0:
        _reset(version.name)
        return
    resources.library().prompts.restore(version)
    _discard(version.name)
    session().notice = _("The earlier wording is back in use.")


def _version(version: PromptVersion, before: PromptVersion | None, *, used: bool) -> None:
    with st.container(key=f"version_{version.name}_{version.number}", border=True):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(_headline(version, used=used))
            if not used and fits(version):
                st.button(
                    _("Use it again"),
                    key=f"restore_{version.name}_{version.number}",
                    on_click=_restore,
                    args=(version,),
                )
        if before is None:
            st.caption(_("The wording that Lectern came with."))
        else:
            st.html(f'<div class="wording">{_changes_html(before, version)}</div>')


def _headline(version: PromptVersion, *, used: bool) -> str:
    title = _("Version {number}").format(number=version.number) if version.number else _("Built in")
    when = [day_and_time(version.saved)] if version.number else []
    what = [_("the built-in wording")] if version.built_in and version.number else []
    return " · ".join([f"**{title}**", *when, *what, *([_("in use")] if used else [])])


def _changes_html(before: PromptVersion, after: PromptVersion) -> str:
    """The changes as HTML, with some unchanged text around them."""
    tags = {"removed": "del", "added": "ins"}
    parts = []
    pieces = legible(word_differences("\n\n".join(before.texts), "\n\n".join(after.texts)))
    if all(piece.kind == "same" for piece in pieces):
        return escape(_("Same as the previous version."))
    for position, piece in enumerate(pieces):
        text = piece.text
        if piece.kind != "same":
            parts.append(f"<{tags[piece.kind]}>{escape(text)}</{tags[piece.kind]}>")
        elif len(text) > 2 * CONTEXT_CHARS:
            head = text[:CONTEXT_CHARS] if position else ""
            tail = text[-CONTEXT_CHARS:] if position < len(pieces) - 1 else ""
            parts.append(f"{escape(head)} … {escape(tail)}")
        else:
            parts.append(escape(text))
    return "".join(parts)
