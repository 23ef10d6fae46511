"""Analyses of an answer, such as what it missed. Each runs in a thread; the result belongs to the browser tab.

The screen appears at once, and again when the result is ready.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

import streamlit as st

from lectern.ui.state import session
from lectern.ui.widgets.problem import problem, try_again
from ragcore.errors import Problem, RagError

T = TypeVar("T")

AT_ONCE = 2  # analyses; more would only slow each other down
MOST_LOOKS = 12  # per tab
AT_LEAST = 0.25  # seconds before the screen says that it is waiting


@st.cache_resource(show_spinner=False)
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(AT_ONCE, thread_name_prefix="look")


def begin_look(key: str, work: Callable[[], T]) -> Future[T]:
    """Runs `work` in a thread, once per key and tab. It must not use the session."""
    looks: dict[str, Future[Any]] = session().answers.looks
    if key not in looks:
        for old in list(looks)[: len(looks) - MOST_LOOKS + 1]:
            del looks[old]
        looks[key] = _threads().submit(work)
    return looks[key]


def look_result(key: str, work: Callable[[], T], waiting: str, *, name: str) -> T | None:
    """The result of `work`. Until it is ready, returns None and draws `waiting`. An error is drawn under this name."""
    look = begin_look(key, work)
    wait([look], AT_LEAST)
    if not look.done():
        _wait(key, waiting)
        return None
    try:
        return look.result()
    except RagError as error:
        if problem(Problem.of(error), [try_again()], key=name):
            look_again(key)
            st.rerun()
        return None


def look_again(key: str) -> None:
    session().answers.looks.pop(key, None)


@st.fragment(run_every=0.3)
def _wait(key: str, waiting: str) -> None:
    st.markdown(f":shimmer[{waiting}]")
    look = session().answers.looks.get(key)
    if look is None or look.done():
        st.rerun()
