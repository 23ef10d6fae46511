"""How every error is drawn: what happened, what to do, one or two buttons, and details in an expander."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import streamlit as st

from lectern.library import Library
from lectern.ui import resources
from lectern.ui.i18n import _, translate
from lectern.ui.safetext import label
from lectern.ui.state import session
from ragcore.errors import Problem, RagError, StoreError

POLL_SECONDS = 2.0  # between two attempts to reach the library


@dataclass(frozen=True, slots=True)
class Choice:
    """A button below an error. `key` is unique on the page."""

    label: str
    key: str
    primary: bool = False


def problem(error: Problem, choices: Sequence[Choice] = (), *, key: str) -> str | None:
    """Draws an error. Returns the key of the clicked button."""
    pressed = None
    with st.container(key=f"problem_{key}"):
        st.markdown(
            f"**{label(translate(error.what))}**"
            + (f"  \n{label(translate(error.hint))}" if error.hint else "")
        )
        if choices:
            with st.container(horizontal=True, gap="small"):
                for choice in choices:
                    if st.button(
                        choice.label,
                        key=f"{key}_{choice.key}",
                        type="primary" if choice.primary else "secondary",
                    ):
                        pressed = choice.key
        if ": " in error.details:  # the name of an error alone explains nothing
            with st.expander(_("Details"), type="compact"):
                st.code(error.details, language=None, wrap_lines=True)
    return pressed


def try_again() -> Choice:
    return Choice(_("Try again"), "again", primary=True)


def session_problem(key: str) -> None:
    """The error of the session, until the person dismisses it."""
    state = session()
    if state.problem is not None and problem(state.problem, [Choice(_("Dismiss"), "dismiss")], key=key):
        state.problem = None
        st.rerun()


def damage(library: Library) -> None:
    """The damage that is known in the library, above every page."""
    for number, error in enumerate(library.damage()):
        problem(Problem.of(error), key=f"damage_{number}")


def draw_screen_failure(error: BaseException) -> None:
    """The error of a failing screen, instead of a traceback."""
    if isinstance(error, RagError):
        failure = Problem.of(error)
    else:
        failure = Problem(
            _("This screen could not be shown."),
            _("Nothing in your library was changed. Try again; if it happens again, please report it."),
            details=f"{type(error).__name__}: {error}",
        )
        with suppress(RagError):  # the library cannot be opened
            failure = resources.library().integrity.explain(failure)
    problem(failure, [try_again()], key="unexpected")
    if isinstance(error, StoreError) and error.retryable:
        _retry_until_available()


def _retry_until_available() -> None:
    """Reruns the page as soon as the library is available again."""
    is_first_run = True

    @st.fragment(run_every=POLL_SECONDS)
    def retry() -> None:
        nonlocal is_first_run  # the one that has just failed
        if is_first_run:
            is_first_run = False
            return
        with suppress(RagError):
            resources.library().files.all(limit=1)
            st.rerun()

    retry()
