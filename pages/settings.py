"""Settings: which language model writes the answers, how answers and passages are made, and where everything is kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import streamlit as st
from pydantic import ValidationError

from lectern.keys import mask, read_key, write_key
from lectern.settings import AppSettings, LLMSettings, Provider
from lectern.ui import labels, places, resources
from lectern.ui.i18n import _, said
from lectern.ui.safetext import label
from lectern.ui.state import fill_new_widget, fill_widget, session, widget
from lectern.ui.widgets.component import component
from lectern.ui.widgets.library_copy import library_copy
from lectern.ui.widgets.page_language import language_choice
from lectern.ui.widgets.price_settings import price_settings
from lectern.ui.widgets.problem import Choice, problem
from lectern.ui.widgets.prompt_settings import prompt_settings, unsaved
from lectern.ui.widgets.rebuilding import rebuilding
from lectern.ui.widgets.recorded_demo import stage_switch
from lectern.ui.widgets.search_settings import weaker_help
from ragcore.errors import Problem

if TYPE_CHECKING:
    from lectern.models import ConnectionReport

library, state = resources.library(), session()

PROVIDERS: dict[Provider, tuple[str, str]] = {
    "none": (_("None"), _("Answers quote your documents word for word. Nothing to install.")),
    "ollama": ("Ollama", _("Language models on this computer, or another one in your network. Nothing leaves it.")),
    "openai": ("OpenAI", _("Questions and the passages found for them are sent to OpenAI. Needs a key.")),
    "openai_compatible": (
        _("Other"),
        _("Any server that speaks OpenAI's language: LM Studio, vLLM, llama.cpp, a company's own."),
    ),
}
LIMITS = (  # field, name, least, most, step, what it means
    ("max_file_mb", _("Largest file, in MB"), 1, 100_000, 50, _("A larger file is not taken in.")),
    (
        "max_text_mb",
        _("Most text in one file, in MB"),
        1,
        10_000,
        10,
        _("Counted after reading. 1 MB is about 500 printed pages."),
    ),
    (
        "read_timeout",
        _("Longest time without a page read, in seconds"),
        10,
        86_400,
        60,
        _("Then reading the file is given up, at the latest after 40 times as long. Indexing takes its own time."),
    ),
    (
        "read_memory_mb",
        _("Memory for reading one file, in MB"),
        256,
        1_000_000,
        256,
        _("Protects the computer from files made to fill it."),
    ),
)
MOST_OFFERED = 12  # models of a server; any other one can be typed
_UNSAVED = component("unsaved", "<span hidden></span>")


def drafted() -> LLMSettings | None:
    """The connection as it stands in the fields; None while a field cannot work."""
    try:
        return library.settings.llm.model_copy(
            update=LLMSettings(
                provider=widget("llm_provider"),
                base_url=str(widget("llm_url") or "").strip(),
                model=str(widget("llm_model") or "").strip(),
                context_window=int(widget("llm_window") or 0),
                timeout=float(widget("llm_timeout") or 0),
                num_output=int(widget("llm_room") or 0),
                temperature=float(widget("llm_temperature") or 0),
                calls_functions=bool(widget("llm_functions")),
            ).model_dump()
        )
    except ValidationError:
        return None


def fill(settings: LLMSettings, put: Callable[[str, object], None]) -> None:
    put("llm_provider", settings.provider)
    put("llm_url", settings.base_url)
    put("llm_model", settings.model)
    put("llm_window", settings.context_window)
    put("llm_timeout", int(settings.timeout))
    put("llm_room", settings.num_output)
    put("llm_temperature", settings.temperature)
    put("llm_functions", settings.calls_functions)
    put("llm_key", "")


def tested(draft: LLMSettings, key: str, *, ask: bool) -> ConnectionReport:
    """Whether the server and its model answer. Where no model is named yet, its only one is taken, and asked with `ask`."""
    from lectern.models import check_connection

    report = check_connection(draft, key)
    if draft.model or not report.models:
        return report
    if len(report.models) == 1 and not ask:
        return replace(report, ok=True, message=_("The server answers."))
    if len(report.models) == 1:
        return check_connection(draft.model_copy(update={"model": report.models[0]}), key)
    return replace(report, ok=True, message=_("The server answers. Choose one of its models."))


def look_for_ollama() -> None:
    """Show the models of an Ollama that runs where one usually does. One that does not answer is not spoken of: it may be
    elsewhere, and Test says what is wrong."""
    draft = drafted()
    report = tested(draft, "", ask=False) if draft else None
    state.settings.report = report if report and report.models else None


def take_model() -> None:
    """Take the model that was pressed among those of the server."""
    fill_widget("llm_model", widget("llm_offered") or "")
    state.settings.report = state.settings.report and replace(state.settings.report, ok=True, message=_("The server answers."))


def save_llm() -> None:
    draft, key = drafted(), str(widget("llm_key") or "").strip()
    if draft is None:
        return
    if key:
        write_key(library.folder, draft.provider, key)
    before = library.settings
    connected = before.connected if before.llm.provider == "none" else {**before.connected, before.llm.provider: before.llm}
    library.update_settings(before.model_copy(update={"llm": draft, "connected": connected}))
    fill(draft, fill_widget)
    state.settings.report, state.notice = None, _("Saved. The next answer uses it.")


def discard_llm() -> None:
    fill(library.settings.llm, fill_widget)
    state.settings.report = None


def forget_key(provider: Provider) -> None:
    write_key(library.folder, provider, "")
    state.notice = _("The key is forgotten.")


def what_leaves() -> str:
    """What is sent where, as a list; of the model in use, not of what is typed above."""
    llm = library.settings.llm
    where = {
        "none": "",
        "ollama": llm.base_url or "localhost:11434",
        "openai": "OpenAI",
        "openai_compatible": llm.base_url,
    }[llm.provider]
    lines = [
        _(
            "Your documents are kept on the server that is named under *Where things are kept*, and are read and cut into"
            " passages on this computer, or on another one that works for the same library. For that nothing is sent anywhere"
            " else."
        )
        if library.shared
        else _("Your documents are read, cut into passages and searched on this computer. For that nothing is sent anywhere."),
        _("No figures about how Lectern is used are collected, and the pages load nothing from elsewhere."),
    ]
    if where:
        lines.append(
            _(
                "A language model is set: for each answer the question, the passages found for it, what was said before in the"
                " chat, and the prompts above are sent to **{where}**. Whole documents are not, unless everything is read."
            ).format(where=label(where))
        )
    elif library.shared:
        lines.append(_("There is no language model, so nothing is sent to one."))
    else:
        lines.append(_("There is no language model, so nothing at all leaves this computer."))
    lines.append(_("A web link or a storage that you add is fetched from where it is, and nothing else is told about it."))
    return "\n".join(f"- {line}" for line in lines)


def keep(part: str, field: str, key: str) -> None:
    """Keep one value as soon as it is changed."""
    old: AppSettings = library.settings
    group = getattr(old, part)
    made = type(group).model_validate({**group.model_dump(), field: widget(key)})
    library.update_settings(old.model_copy(update={part: made}))
    state.notice = _("Saved.")


def changed_provider() -> None:
    state.settings.report = None
    fill_widget("llm_key", "")
    saved = library.settings.llm
    provider = widget("llm_provider")
    known = saved if saved.provider == provider else library.settings.connected.get(provider)
    if known:
        fill(known, fill_widget)
        return
    fill_widget("llm_url", "")
    fill_widget("llm_model", "")
    if provider == "ollama":
        look_for_ollama()


fill(library.settings.llm, fill_new_widget)

SECTIONS = {
    "model": _("Language model"),
    "answers": _("Answers"),
    "prompts": _("Prompts"),
    "price": _("What answers may take"),
    "passages": _("Passages"),
    "limits": _("Limits"),
    "language": _("Language"),
    "privacy": _("Privacy"),
    "demonstrations": _("Demonstrations"),
    "storage": _("Where things are kept"),
    "copy": _("A copy of the library"),
}


def section(name: str) -> None:
    """Begin a section, to which the contents at the top lead."""
    if name != "model":
        st.divider()
    st.header(SECTIONS[name], anchor=name)


st.title(_("Settings"), anchor=False)
with st.container(key="contents"):
    st.markdown(" ".join(f"[{title}](#{name})" for name, title in SECTIONS.items()))

section("model")
st.markdown(_("Writes answers from the passages that are found. Without one, Lectern quotes the passages themselves."))
provider: Provider = (
    st.segmented_control(
        _("Who writes the answers"),
        list(PROVIDERS),
        key="llm_provider",
        format_func=lambda name: PROVIDERS[name][0],
        required=True,
        label_visibility="collapsed",
        on_change=changed_provider,
        persist_state="session",
    )
    or "none"
)
st.caption(PROVIDERS[provider][1])

if provider != "none":
    if provider != "openai":
        usual = "http://localhost:11434" if provider == "ollama" else "http://localhost:1234/v1"
        st.text_input(
            _("Address"),
            key="llm_url",
            placeholder=usual,
            persist_state="session",
            help=_("Where the server listens. Empty: the usual address.")
            if provider == "ollama"
            else _("Where the server listens, up to and with /v1."),
        )
    if state.settings.report and len(state.settings.report.models) == 1 and not widget("llm_model"):
        fill_widget("llm_model", state.settings.report.models[0])
    known = list(
        dict.fromkeys([*(state.settings.report.models if state.settings.report else ()), str(widget("llm_model") or "")])
    )
    st.selectbox(
        _("Model"),
        [name for name in known if name],
        key="llm_model",
        index=None,
        accept_new_options=True,
        placeholder=_("Type a name, or press Test to see what the server has"),
        persist_state="session",
    )
    if state.settings.report and state.settings.report.models:
        offered = list(state.settings.report.models[:MOST_OFFERED])
        model = widget("llm_model")
        fill_widget("llm_offered", model if model in offered else None)
        st.pills(_("On this server"), offered, key="llm_offered", on_change=take_model)
    if provider != "ollama":
        stored = read_key(library.folder, provider)
        st.text_input(
            _("Key"),
            type="password",
            key="llm_key",
            autocomplete="off",
            placeholder=_("Stored: {key}. Type a new one to replace it.").format(key=mask(stored))
            if stored
            else _("Only if the server wants one")
            if provider == "openai_compatible"
            else "sk-…",
            help=_("Kept in a file that only you can read. It is sent to this server and shown to nobody."),
            persist_state="session",
        )
        if stored:
            st.button(_("Forget the stored key"), key="forget_key", type="tertiary", on_click=forget_key, args=(provider,))
    with st.expander(_("More"), type="compact"):
        st.number_input(
            _("Context window"),
            512,
            2_000_000,
            step=512,
            key="llm_window",
            persist_state="session",
            help=_("How many tokens (about ¾ of a word each) the model can take in at once. Its maker says how many."),
        )
        st.number_input(
            _("Room for the answer"),
            16,
            100_000,
            step=64,
            key="llm_room",
            persist_state="session",
            help=_("How many tokens an answer may have. They are kept free in the context window."),
        )
        st.number_input(
            _("Temperature"),
            0.0,
            2.0,
            step=0.1,
            key="llm_temperature",
            persist_state="session",
            help=_(
                "0 gives nearly the same answer each time. Higher values vary the wording, and stray from the documents more."
            ),
        )
        st.number_input(
            _("Time-out in seconds"),
            1,
            3600,
            step=10,
            key="llm_timeout",
            persist_state="session",
            help=_("How long the server may be silent before an answer is given up."),
        )
        if provider != "openai":
            st.toggle(
                _("The model calls functions"),
                key="llm_functions",
                persist_state="session",
                help=_("Some models can ask for a search by themselves. Then chats can be answered “By functions”."),
            )

draft = drafted()
typed_key = str(widget("llm_key") or "").strip()
dirty = draft != library.settings.llm or bool(typed_key)
nameless = provider != "none" and not str(widget("llm_model") or "").strip()  # no question could be answered
with st.container(horizontal=True, vertical_alignment="center"):
    if dirty or provider != "none":  # what is still being typed is not known to differ yet
        st.button(_("Save"), key="save_llm", type="primary", on_click=save_llm, disabled=draft is None or nameless)
    test = provider != "none" and st.button(_("Test"), key="test_llm", icon=":material/network_check:")
    if dirty:
        st.button(_("Discard"), key="discard_llm", type="tertiary", on_click=discard_llm)
        st.caption(_("Test shows the models of the server: choose one.") if nameless else _("Not saved yet"))
if state.settings.report is not None and provider != "none":
    if state.settings.report.ok:
        with st.container(key="report_ok"):
            st.markdown(
                f":material/check_circle: {label(said(state.settings.report.message))}"
                + (" " + _("Save to use it.") if dirty and not nameless else "")
            )
    elif not test:
        again = Choice(_("Try again"), "again")
        test = problem(Problem(state.settings.report.message, state.settings.report.hint), [again], key="report") is not None
if test and draft is not None:
    with st.spinner(_("Asking the server for a few words…")):
        state.settings.report = tested(draft, typed_key or read_key(library.folder, draft.provider), ask=True)
    st.rerun()

section("answers")
answers = library.settings.answers
fill_widget("set_top_k", answers.top_k)
fill_widget("set_weaker", answers.weaker)
fill_widget("set_chat_mode", answers.chat_mode)
fill_widget("set_response_mode", answers.response_mode)
fill_widget("set_system_prompt", answers.system_prompt)
st.number_input(
    _("Passages per answer"),
    1,
    100,
    key="set_top_k",
    on_change=keep,
    args=("answers", "top_k", "set_top_k"),
    help=_("At most how many passages are looked at for each answer. More see more of your documents, and take longer."),
)
st.toggle(
    _("Weaker passages, too"),
    key="set_weaker",
    on_change=keep,
    args=("answers", "weaker", "set_weaker"),
    help=weaker_help(),
)
st.selectbox(
    _("In a chat"),
    list(labels.chat_modes()),
    key="set_chat_mode",
    format_func=lambda name: labels.chat_modes()[name].label,
    on_change=keep,
    args=("answers", "chat_mode", "set_chat_mode"),
    help="  \n".join(f"**{mode.label}**: {mode.sentence}" for mode in labels.chat_modes().values()),
)
st.caption(labels.caption(answers.chat_mode))
st.selectbox(
    _("For a single question"),
    list(labels.response_modes()),
    key="set_response_mode",
    format_func=lambda name: labels.response_modes()[name].label,
    on_change=keep,
    args=("answers", "response_mode", "set_response_mode"),
    help="  \n".join(f"**{mode.label}**: {mode.sentence}" for mode in labels.response_modes().values()),
)
st.caption(labels.response_modes()[answers.response_mode].sentence)
st.text_area(
    _("Say this to the language model in every chat"),
    key="set_system_prompt",
    placeholder=_("For example: Answer in French."),
    on_change=keep,
    args=("answers", "system_prompt", "set_system_prompt"),
    height=80,
)

section("prompts")
st.markdown(
    _(
        "What is said to the language model, word for word. Every version is kept, and an answer's calls show which words were"
        " used. Without a language model your documents are quoted, whatever is said here."
    )
)
prompt_settings()
price_settings()

section("passages")
st.markdown(
    _(
        "Documents are cut into passages, and answers are made from the passages that fit. A change here applies to files "
        "added from now on."
    )
)
ingest = library.settings.ingest
fill_widget("set_chunk_size", ingest.chunk_size)
fill_widget("set_chunk_overlap", ingest.chunk_overlap)
with st.container(horizontal=True):
    st.number_input(
        _("Length in tokens"),
        16,
        2048,
        step=10,
        key="set_chunk_size",
        on_change=keep,
        width=220,
        args=("ingest", "chunk_size", "set_chunk_size"),
        help=_("A token is about ¾ of a word. 200 suits the built-in search; longer passages give more context."),
    )
    st.number_input(
        _("Overlap in tokens"),
        0,
        ingest.chunk_size // 2,
        step=5,
        key="set_chunk_overlap",
        on_change=keep,
        width=220,
        args=("ingest", "chunk_overlap", "set_chunk_overlap"),
        help=_("How much of a passage the next one repeats."),
    )
with st.container(key="embedder", horizontal=True, vertical_alignment="center"):
    embedder = labels.embedder(library.store.versions.current()[1])
    st.caption(
        _("Passages are searched with the embedder “{name}”.").format(name=label(embedder)),
        width="content",
        help=_("What turns texts into vectors. Another one needs new vectors of all passages: “Rebuild” on the page Indexes."),
    )
    st.page_link(places.INDEXES, label=_("Choose another one"))
rebuilding()

section("limits")
st.markdown(_("A file over a limit is not read, and says so in the list. A change applies to files read from now on."))
with st.container(key="limits", horizontal=True, vertical_alignment="bottom"):
    for field, name, least, most, step, meaning in LIMITS:
        fill_widget(f"set_{field}", int(getattr(ingest, field)))
        st.number_input(
            name,
            least,
            most,
            step=step,
            key=f"set_{field}",
            on_change=keep,
            width=300,
            args=("ingest", field, f"set_{field}"),
            help=meaning,
        )

section("language")
language_choice()

section("privacy")
st.markdown(what_leaves())

section("demonstrations")
stage_switch()

section("storage")
status = library.status()
if library.shared:
    kept = _(
        "Documents, passages, conversations and settings are in one database on a server, {size} so far. "
        "Models' keys are on this computer alone."
    )
else:
    kept = _(
        "Documents, passages, conversations and settings are in one folder on this computer, {size} so far. "
        "Delete the folder and everything is gone."
    )
st.markdown(kept.format(size=labels.size(status.bytes_on_disk)))
st.code(status.name, language=None, wrap_lines=True)

section("copy")
st.markdown(
    _(
        "All documents, passages, conversations, prompts and question sets in one file, to keep or to take to another computer."
        " Keys and passwords are left out. Drop the file where you drop documents, and all that is in it is added."
    )
)
library_copy()
_UNSAVED(key="unsaved", data={"dirty": dirty or unsaved()})
