"""The language models on this computer, with a row to download, use and delete each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import streamlit as st

from lectern.local_models import (
    CatalogueModel,
    InstalledModel,
    catalogue_model,
    create_models_folder,
    delete_model,
    installed_models,
    memory_for_models,
    memory_of,
    model_name,
    suggested_model,
)
from lectern.ui import labels, resources
from lectern.ui.i18n import _, numeral, translate
from lectern.ui.live_fragments import rerun_page
from lectern.ui.safetext import label
from lectern.ui.state import fill_widget, session, widget
from lectern.ui.widgets.problem import Choice, problem
from ragcore.errors import Problem, RagError

if TYPE_CHECKING:
    from lectern.model_download import Download

MAX_MODELS = 3  # in the list, to fit on a screen. Installed models and downloads are always in it.
POLL_SECONDS = 1.0  # between two updates of a download

Use = Callable[[str], None]  # takes the name of a model in the settings


def local_models(use: Use) -> None:
    """The list. `use` is a callback that makes the model write the answers."""
    free = memory_for_models()
    installed = {model.setting: model for model in installed_models(resources.home())}
    st.caption(
        _("Free memory: {size}. A model uses memory only while it answers.").format(
            size=labels.gigabytes(free)
        )
    )
    if (error := session().settings.model_problem) is not None:
        problem(error, key="model_list")
    catalogue = resources.model_downloads().catalogue
    first = suggested_model(free, catalogue)
    with st.container(key="local_models"):
        for local_model in installed.values():
            with st.container(key=f"local_{local_model.setting}"):
                _installed_row(local_model, use, free)
        available = sorted(
            (model for model in catalogue if model.file not in installed),
            key=lambda model: model.memory > free,
        )
        started = [model for model in available if resources.model_downloads().state(model) is not None]
        listed = list(dict.fromkeys([*started, *available[: max(0, MAX_MODELS - len(installed))]]))
        for model in listed:
            _catalogue_row(model, free, primary=model is first and not installed)
        if len(listed) < len(available):
            with st.expander(_("Other models"), type="compact"):
                for model in available:
                    if model not in listed:
                        _catalogue_row(model, free, primary=False)
    if folder := create_models_folder(resources.home()):
        own = _("You can also put a model of your own into {folder} (a GGUF file).")
        st.caption(own.format(folder=label(str(folder))))
    st.fragment(_watch_folder, run_every=POLL_SECONDS)(set(installed.values()))


def _catalogue_row(model: CatalogueModel, free: int, *, primary: bool) -> None:
    with st.container(key=f"local_{model.file}"):
        _download_row(model, free, primary=primary)


def _watch_folder(drawn: set[InstalledModel]) -> None:
    """Draws the list again when a file of the models folder comes, grows or goes."""
    if set(installed_models(resources.home())) != drawn:
        rerun_page()


def download_bar(model: CatalogueModel) -> None:
    """The progress of a download with a Stop button. Reruns the page at the end. Nothing without a
    download."""
    state = resources.model_downloads().state(model)
    if state is not None and state.state in ("running", "checking"):
        st.fragment(_bar, run_every=POLL_SECONDS)(model)


def download_problem(model: CatalogueModel, state: Download) -> None:
    """Why a download failed, with a button to try again. Nothing without a failure."""
    again = Choice(_("Resume") if state.done else _("Try again"), "again", primary=True)
    if state.problem is not None and problem(state.problem, [again], key=f"download_{model.file}"):
        start_download(model)
        st.rerun()


def start_download(model: CatalogueModel) -> None:
    """A callback that starts or resumes a download. Its errors appear above the list."""
    state = session()
    state.settings.model_problem = None
    try:
        resources.model_downloads().start(model)
    except RagError as error:
        state.settings.model_problem = Problem.of(error)


def _descriptions() -> Mapping[str, str]:
    return {
        "qwen2.5-1.5b-instruct-q4_k_m.gguf": _("Short answers on almost any computer. A good first choice."),
        "Qwen3-1.7B-Q4_K_M.gguf": _("A newer model of the same size that knows more languages."),
        "Qwen3-4B-Q4_K_M.gguf": _("Longer answers from several passages. Slow without a graphics card."),
        "gemma-3-4b-it-Q4_K_M.gguf": _("Fluent answers in most languages. Slow without a graphics card."),
        "qwen2.5-3b-instruct-q4_k_m.gguf": _("Medium-sized. Not for commercial use."),
        "gemma-3-1b-it-Q4_K_M.gguf": _("For English documents on a computer with little memory."),
    }


def _facts(model: CatalogueModel, free: int) -> str:
    """The line below a model's name: size, memory, languages, licence."""
    many = (
        _("{number} languages").format(number=numeral(model.languages))
        if model.languages > 1
        else _("English only")
    )
    return " · ".join(
        [
            labels.gigabytes(model.size),
            _memory(model.memory, free),
            many,
            f"[{model.licence}]({model.licence_url})",
        ]
    )


def _memory(needed: int, free: int) -> str:
    """ "needs 1.7 GB of memory", in orange if that is more than is free."""
    if needed <= free:
        return _("needs {size} of memory").format(size=labels.gigabytes(needed))
    text = _("needs {size} of memory, more than is free").format(size=labels.gigabytes(needed))
    return f":orange[{text}]"


def _download_row(model: CatalogueModel, free: int, *, primary: bool) -> None:
    downloads = resources.model_downloads()
    state, running = downloads.state(model), downloads.current
    with st.container(key=f"row_{model.file}", horizontal=True, vertical_alignment="center"):
        st.markdown(
            f"**{model.name}**  \n{_descriptions().get(model.file, '')}  \n:small[{_facts(model, free)}]"
        )
        if state is None:
            st.button(
                _("Download"),
                key=f"get_{model.file}",
                type="primary" if primary else "secondary",
                disabled=running is not None,
                on_click=start_download,
                args=(model,),
            )
    if state is None:
        return
    if state.state in ("running", "checking"):
        download_bar(model)
        return
    download_problem(model, state)
    if not state.done:
        return
    with st.container(key=f"stopped_{model.file}", horizontal=True, vertical_alignment="center"):
        st.caption(
            _("Stopped at {done} of {all}.").format(
                done=labels.size(state.done), all=labels.size(state.total)
            )
        )
        st.button(_("Delete"), key=f"discard_{model.file}", type="tertiary", on_click=_discard, args=(model,))
        if state.state == "stopped":
            disabled = running is not None
            st.button(
                _("Resume"),
                key=f"get_{model.file}",
                disabled=disabled,
                on_click=start_download,
                args=(model,),
            )


def _bar(model: CatalogueModel) -> None:
    downloads = resources.model_downloads()
    state = downloads.state(model)
    if state is None or state.state not in ("running", "checking"):
        if state is None:
            session().notice = _("{name} is now on this computer.").format(name=model.name)
        rerun_page()
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.progress(min(1.0, state.done / state.total), _progress_text(state))
        st.button(
            _("Stop"),
            key=f"stop_{model.file}",
            icon=":material/stop:",
            type="tertiary",
            on_click=downloads.stop,
        )


def _progress_text(state: Download) -> str:
    if state.state == "checking":
        return _("Checking the download…")
    parts = [_("{done} of {all}").format(done=labels.size(state.done), all=labels.size(state.total))]
    if state.seconds_left is not None:
        parts.append(labels.time_left(state.seconds_left))
    return " · ".join(parts)


def _installed_row(model: InstalledModel, use: Use, free: int) -> None:
    llm, known = resources.library().settings.llm, catalogue_model(model.setting)
    in_use = llm.provider == "llama_cpp" and llm.model == model.setting
    name, usable = label(model_name(model.setting)), True
    if known is not None:
        about, facts = _descriptions().get(known.file, ""), _facts(known, free)
    else:
        about = (
            _("A file in the models folder.")
            if model.deletable
            else _("Set by the administrator of this server.")
        )
        facts = labels.size(model.size)
    try:
        needed = memory_of(model)
    except RagError as error:
        about, facts, usable = label(translate(error.what)), labels.size(model.size), False
    else:
        facts += "" if known is not None else f" · {_memory(needed, free)}"
    with st.container(key=f"row_{model.setting}", horizontal=True, vertical_alignment="center"):
        st.markdown(f"**{name}**  \n{about}  \n:small[{facts}]")
        if model.deletable:
            with st.popover(_("Delete"), type="tertiary", key=f"delete_{model.setting}"):
                sure = _("Delete **{name}**? This frees {size}.")
                sentences = [sure.format(name=name, size=labels.size(model.size))]
                if in_use:
                    sentences.append(
                        _("This model writes your answers now. Without it, answers quote your documents.")
                    )
                st.markdown(" ".join(sentences))
                st.button(
                    _("Delete this model"),
                    key=f"sure_{model.setting}",
                    type="primary",
                    on_click=_delete,
                    args=(model.setting,),
                )
        if in_use:
            st.markdown(f":green[:material/check_circle: {_('In use')}]", width="content")
        elif usable:
            st.button(
                _("Use"), key=f"use_{model.setting}", type="primary", on_click=use, args=(model.setting,)
            )


def _discard(model: CatalogueModel) -> None:
    freed = resources.model_downloads().discard(model)
    session().notice = _("Deleted; {size} freed.").format(size=labels.size(freed))


def _delete(setting: str) -> None:
    """Deletes the file, and removes the model from the settings."""
    library, state = resources.library(), session()
    state.settings.model_problem = None
    try:
        freed = delete_model(setting, resources.home())
    except RagError as error:
        state.settings.model_problem = Problem.of(error)
        return
    state.notice = _("Deleted; {size} freed.").format(size=labels.size(freed))
    if widget("llm_model") == setting:
        fill_widget("llm_model", "")
    settings = library.settings
    if settings.llm.provider == "llama_cpp" and settings.llm.model == setting:
        state.notice += " " + _("Answers quote your documents until you choose another model.")
    library.update_settings(settings.without_model("llama_cpp", setting))
