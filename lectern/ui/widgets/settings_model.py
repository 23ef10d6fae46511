"""Settings for the language model: provider, connection test, key. Saved with the Save button."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import streamlit as st
from pydantic import ValidationError

from lectern.keys import bind_keys, mask, read_key, stored_keys, write_key
from lectern.local_models import model_name
from lectern.settings import LLMSettings, Provider, models_are_locked
from lectern.ui import labels, resources
from lectern.ui.i18n import _, translate
from lectern.ui.safetext import label
from lectern.ui.state import fill_new_widget, fill_widget, session, widget
from lectern.ui.widgets.local_models import local_models
from lectern.ui.widgets.problem import Choice, problem
from lectern.ui.widgets.settings_price import token_prices
from ragcore.errors import Problem, RagError

if TYPE_CHECKING:
    from lectern.models import ConnectionReport

MAX_MODELS = 12  # of a server, as pills; another name can be typed
FIELDS = {  # of LLMSettings, by widget
    "llm_provider": "provider",
    "llm_url": "base_url",
    "llm_model": "model",
    "llm_window": "context_window",
    "llm_timeout": "timeout",
    "llm_room": "num_output",
    "llm_temperature": "temperature",
    "llm_functions": "calls_functions",
    "llm_calls": "calls_at_once",
    "llm_idle": "idle_minutes",
}


def model_settings() -> bool:
    """Draws the section. Returns whether it has unsaved changes."""
    library, state = resources.library(), session().settings
    if models_are_locked():
        _draw_locked(library.settings.llm)
        return False
    bind_keys(library.folder, library.settings)
    _fill(library.settings.llm, fill_new_widget)
    st.markdown(
        _(
            "A language model writes answers from the passages found. Without one, Lectern quotes the "
            "passages themselves."
        )
    )
    provider = _provider()
    if provider == "llama_cpp":
        local_models(use_local_model)
        if not widget("llm_model"):
            return False
        _more(provider)
    elif provider != "none":
        if provider != "openai":
            _address(provider)
        _model()
        if provider != "ollama":
            _key(provider)
        _more(provider)
    draft, typed_key = _read_draft(), str(widget("llm_key") or "").strip()
    dirty = is_model_unsaved()
    # a model without a name cannot answer
    nameless = provider != "none" and not str(widget("llm_model") or "").strip()
    test = _buttons(provider, draft, dirty=dirty, nameless=nameless)
    if state.report is not None and provider != "none":
        test = _report(state.report, to_save=dirty and not nameless, test=test)
    if test and draft is not None:
        local = provider == "llama_cpp"
        with st.spinner(
            _("Loading the model and asking it one sentence…") if local else _("Testing the server…")
        ):
            state.report = _test_draft(
                draft, typed_key or read_key(library.folder, draft.provider, draft.base_url), ask=True
            )
        st.rerun()
    return dirty


def is_model_unsaved() -> bool:
    """Whether there are unsaved changes, also while another page of the settings is open."""
    if models_are_locked() or widget("llm_provider") is None:
        return False
    if widget("llm_provider") == "llama_cpp" and not widget("llm_model"):
        return False
    return _read_draft() != resources.library().settings.llm or bool(str(widget("llm_key") or "").strip())


def _draw_locked(llm: LLMSettings) -> None:
    """The settings for a person who may not change them."""
    name = provider_names()[llm.provider][0]
    st.markdown(f"**{label(name)}**" + (f" · {label(model_name(llm.model))}" if llm.model else ""))
    locked = _("The administrator of this server has locked the language model (LECTERN_MODEL_SETTINGS).")
    st.caption(f":material/lock: {label(locked)}")
    if llm.provider != "llama_cpp":
        with st.expander(_("More"), type="compact"):
            token_prices()


def provider_names() -> Mapping[Provider, tuple[str, str]]:
    """The title and description of each provider."""
    return {
        "none": (_("None"), _("Answers quote your documents word for word. Nothing to install.")),
        "llama_cpp": (
            _("On this computer"),
            _("A language model that Lectern runs itself. Nothing leaves this computer."),
        ),
        "ollama": (
            "Ollama",
            _(
                "Language models on this computer or another one in your network. Nothing leaves your "
                "network."
            ),
        ),
        "openai": ("OpenAI", _("Questions and the passages found for them are sent to OpenAI. Needs a key.")),
        "openai_compatible": (
            _("Other"),
            _("Any server that works like OpenAI's: LM Studio, vLLM, llama.cpp, or your company's own."),
        ),
    }


def _provider() -> Provider:
    names = provider_names()
    provider: Provider = (
        st.segmented_control(
            _("Who writes the answers"),
            list(names),
            key="llm_provider",
            format_func=lambda name: names[name][0],
            required=True,
            label_visibility="collapsed",
            on_change=_change_provider,
            persist_state="session",
        )
        or "none"
    )
    st.caption(names[provider][1])
    return provider


def _address(provider: Provider) -> None:
    from ragcore.llms.server_address import OLLAMA_URL

    default = OLLAMA_URL if provider == "ollama" else "http://127.0.0.1:1234/v1"
    st.text_input(
        _("Address"),
        key="llm_url",
        placeholder=default,
        persist_state="session",
        help=_("The server’s address. Leave empty for the usual one.")
        if provider == "ollama"
        else _("The server’s address, up to and including /v1."),
    )


def _model() -> None:
    report = session().settings.report
    models = report.models if report else ()
    if len(models) == 1 and not widget("llm_model"):
        fill_widget("llm_model", models[0])
    known = list(dict.fromkeys([*models, str(widget("llm_model") or "")]))
    st.selectbox(
        _("Model"),
        [name for name in known if name],
        key="llm_model",
        index=None,
        accept_new_options=True,
        placeholder=_("Type a name, or press Test to see the server’s models"),
        persist_state="session",
    )
    if models:
        offered = list(models[:MAX_MODELS])
        model = widget("llm_model")
        fill_widget("llm_offered", model if model in offered else None)
        st.pills(_("On this server"), offered, key="llm_offered", on_change=_choose_offered_model)


def _key(provider: Provider) -> None:
    folder, address = resources.library().folder, str(widget("llm_url") or "").strip()
    stored, other = read_key(folder, provider, address), stored_keys(folder).get(provider)
    st.text_input(
        _("Key"),
        type="password",
        key="llm_key",
        autocomplete="off",
        placeholder=_("Saved: {key}. Type a new one to replace it.").format(key=mask(stored))
        if stored
        else _("Only if the server requires one")
        if provider == "openai_compatible"
        else "sk-…",
        help=_("Saved in a file that only you can read. It is sent only to this server and never shown."),
        persist_state="session",
    )
    if other is not None and not stored:
        text = _(
            "The saved key belongs to {address} and is sent nowhere else. Type the key for the address above."
        )
        st.caption(text.format(address=label(other.origin)))
    if stored or other is not None:
        st.button(
            _("Remove the saved key"),
            key="forget_key",
            type="tertiary",
            on_click=forget_key,
            args=(provider,),
        )


def _more(provider: Provider) -> None:
    with st.expander(_("More"), type="compact"):
        st.number_input(
            labels.with_field_name(_("Text it can read at once"), _("context window, in tokens")),
            512,
            2_000_000,
            step=512,
            key="llm_window",
            persist_state="session",
            help=_(
                "How many tokens (about ¾ of a word each) the model can read at once. Its maker states "
                "the number."
            ),
        )
        st.number_input(
            labels.with_field_name(_("Room for the answer"), _("tokens")),
            16,
            100_000,
            step=64,
            key="llm_room",
            persist_state="session",
            help=_("The most tokens an answer may use. They are reserved in the context window."),
        )
        st.number_input(
            labels.with_field_name(_("Freedom of wording"), _("temperature")),
            0.0,
            2.0,
            step=0.1,
            key="llm_temperature",
            persist_state="session",
            help=_(
                "0 gives nearly the same answer each time. Higher values vary the wording and stray "
                "further from the documents."
            ),
        )
        st.number_input(
            labels.with_field_name(_("Longest wait, in seconds"), _("time-out")),
            1,
            3600,
            step=10,
            key="llm_timeout",
            persist_state="session",
            help=_("How long to wait for the server before giving up on an answer."),
        )
        _calls(provider)
        if provider != "openai":
            st.toggle(
                labels.with_field_name(_("The model can search by itself"), _("function calling")),
                key="llm_functions",
                persist_state="session",
                help=_(
                    "Some models can ask for a search themselves. You can then choose “Documents when "
                    "needed” in a chat."
                ),
            )
        if provider != "llama_cpp":
            token_prices()


def _calls(provider: Provider) -> None:
    st.number_input(
        labels.with_field_name(_("Requests at the same time"), _("parallel calls")),
        1,
        64,
        step=1,
        key="llm_calls",
        placeholder=_("Automatic"),
        persist_state="session",
        help=_(
            "How many requests are sent at the same time; the rest wait their turn. Leave empty for as "
            "many as the server can take."
        ),
    )
    if provider == "llama_cpp":
        st.number_input(
            _("Minutes in memory"),
            1.0,
            1440.0,
            step=5.0,
            format="%g",
            key="llm_idle",
            persist_state="session",
            help=_(
                "After this many minutes without a question, the model is unloaded from memory. The "
                "next question loads it again."
            ),
        )


def _buttons(provider: Provider, draft: LLMSettings | None, *, dirty: bool, nameless: bool) -> bool:
    """Draws Save, Test and Discard. Returns whether Test was clicked."""
    with st.container(horizontal=True, vertical_alignment="center"):
        if dirty or provider != "none":  # text that is still being typed may not differ yet
            st.button(
                _("Save"),
                key="save_llm",
                type="primary" if dirty else "secondary",
                on_click=_save,
                disabled=draft is None or nameless,
            )
        test = provider != "none" and st.button(_("Test"), key="test_llm", icon=":material/network_check:")
        if dirty:
            st.button(_("Discard"), key="discard_llm", type="tertiary", on_click=_discard)
            st.caption(
                _("Press Test to see the server’s models, then choose one.")
                if nameless
                else _("Not saved yet")
            )
    return test


def _report(report: ConnectionReport, *, to_save: bool, test: bool) -> bool:
    """Draws the result of the last test. Returns whether to test now, because of `test` or the button in the
    error."""
    if report.ok:
        with st.container(key="report_ok"):
            st.markdown(
                f":material/check_circle: {label(translate(report.message))}"
                + (" " + _("Save to use it.") if to_save else "")
            )
    elif not test:
        again = Choice(_("Try again"), "again")
        return problem(Problem(report.message, report.hint), [again], key="report") is not None
    return test


def _read_draft() -> LLMSettings | None:
    """The settings in the fields; None if they are invalid."""
    values = {field: widget(key) for key, field in FIELDS.items()}
    values |= {field: str(values[field] or "").strip() for field in ("base_url", "model")}
    try:
        typed = LLMSettings.model_validate(values | {"calls_functions": bool(values["calls_functions"])})
    except ValidationError:
        return None
    return resources.library().settings.llm.model_copy(update=typed.model_dump(exclude_unset=True))


def _fill(settings: LLMSettings, fill: Callable[[str, object], None]) -> None:
    for key, field in FIELDS.items():
        value = getattr(settings, field)
        fill(key, int(value) if field == "timeout" else value)
    fill("llm_key", "")


def _test_draft(draft: LLMSettings, key: str, *, ask: bool) -> ConnectionReport:
    """Tests the server and its model. If no model is chosen and the server has only one, tests that one if
    `ask` is true."""
    from lectern.models import check_connection

    if (refused := _check_address(draft)) is not None:
        return refused
    report = check_connection(draft, key, home=resources.home())
    if draft.model or not report.models:
        return report
    if len(report.models) == 1 and not ask:
        return replace(report, ok=True, message=_("The server answers."))
    if len(report.models) == 1:
        return check_connection(
            draft.model_copy(update={"model": report.models[0]}), key, home=resources.home()
        )
    return replace(report, ok=True, message=_("The server answers. Choose one of its models."))


def _check_address(draft: LLMSettings) -> ConnectionReport | None:
    """A report if nothing may be sent to that address. The saved address is allowed: it may be from the
    settings file."""
    from lectern.models import ConnectionReport, check_address

    saved = resources.library().settings.llm
    if (draft.provider, draft.base_url) == (saved.provider, saved.base_url):
        return None
    try:
        check_address(draft)
    except RagError as error:
        return ConnectionReport(False, error.what, error.hint)
    return None


def _find_ollama() -> None:
    """Lists the models of an Ollama at its default address. No error without an answer: it may be elsewhere,
    and Test reports errors."""
    draft = _read_draft()
    report = _test_draft(draft, "", ask=False) if draft else None
    session().settings.report = report if report and report.models else None


def _choose_offered_model() -> None:
    """A callback that chooses a model of the server."""
    fill_widget("llm_model", widget("llm_offered") or "")
    state = session().settings
    state.report = state.report and replace(state.report, ok=True, message=_("The server answers."))


def _save() -> None:
    library, draft, key = resources.library(), _read_draft(), str(widget("llm_key") or "").strip()
    if draft is None:
        return
    if (refused := _check_address(draft)) is not None:
        session().settings.report = refused
        return
    if key:
        write_key(library.folder, draft.provider, key, draft.base_url)
    _save_and_use(draft)


def use_local_model(setting: str) -> None:
    """Makes a model on this computer write the answers, with the last settings for one."""
    settings = resources.library().settings
    known = (
        settings.llm
        if settings.llm.provider == "llama_cpp"
        else settings.connected.get("llama_cpp", LLMSettings())
    )
    _save_and_use(known.model_copy(update={"provider": "llama_cpp", "model": setting}))


def _save_and_use(llm: LLMSettings) -> None:
    library = resources.library()
    library.update_settings(library.settings.with_model(llm))
    _fill(llm, fill_widget)
    session().settings.report, session().notice = None, _("Saved. The next answer uses it.")


def _discard() -> None:
    _fill(resources.library().settings.llm, fill_widget)
    session().settings.report = None


def forget_key(provider: Provider) -> None:
    write_key(resources.library().folder, provider, "")
    session().notice = _("The key has been removed.")


def _change_provider() -> None:
    session().settings.report = None
    fill_widget("llm_key", "")
    settings, provider = resources.library().settings, widget("llm_provider")
    known = settings.llm if settings.llm.provider == provider else settings.connected.get(provider)
    if known:
        _fill(known, fill_widget)
        return
    fill_widget("llm_url", "")
    fill_widget("llm_model", "")
    if provider == "ollama":
        _find_ollama()
