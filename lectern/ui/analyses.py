"""Runs analyses of an answer, such as the search for missed passages, in threads. The screen appears at once,
and is drawn again when the result is ready. Results belong to the browser tab."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

import streamlit as st

from lectern.ui.state import session
from lectern.ui.widgets.problem import problem, try_again
from ragcore.errors import Problem, RagError

T = TypeVar("T")

MAX_THREADS = 2  # more would only slow each other down
MAX_ANALYSES = 12  # stored per tab
WAIT_SECONDS = 0.25  # before the screen says that it is waiting


@st.cache_resource(show_spinner=False)
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(MAX_THREADS, thread_name_prefix="analysis")


def start_analysis(key: str, work: Callable[[], T]) -> Future[T]:
    """Runs `work` in a thread, once per key and tab. It must not use the session."""
    analyses: dict[str, Future[Any]] = session().answers.analyses
    if key not in analyses:
        for old in list(analyses)[: max(len(analyses) - MAX_ANALYSES + 1, 0)]:
            del analyses[old]
        analyses[key] = _threads().submit(work)
    return analyses[key]


def analysis_result(key: str, work: Callable[[], T], waiting: str, *, name: str) -> T | None:
    """The result of `work`. Until it is ready, returns None and draws `waiting`. An error is drawn under this
    name."""
    analysis = start_analysis(key, work)
    wait([analysis], WAIT_SECONDS)
    if not analysis.done():
        _wait(key, waiting)
        return None
    try:
        return analysis.result()
    except RagError as error:
        if problem(Problem.of(error), [try_again()], key=name):
            discard_analysis(key)
            st.rerun()
        return None


def discard_analysis(key: str) -> None:
    session().answers.analyses.pop(key, None)


@st.fragment(run_every=0.3)
def _wait(key: str, waiting: str) -> None:
    st.markdown(f":shimmer[{waiting}]")
    analysis = session().answers.analyses.get(key)
    if analysis is None or analysis.done():
        st.rerun()
