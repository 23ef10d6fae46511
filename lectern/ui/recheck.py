"""Looking into an answer for a moment, such as finding out what it missed: done in a thread, and kept with the browser tab.

The screen that wants it is drawn at once, and anew when it is there.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

import streamlit as st

from lectern.ui.state import session

T = TypeVar("T")

AT_ONCE = 2  # looks; more would only slow each other
MOST_LOOKS = 12  # of one tab
AT_LEAST = 0.25  # seconds that a screen waits before it says that it is looking


@st.cache_resource(show_spinner=False)
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(AT_ONCE, thread_name_prefix="look")


def begin_look(key: str, work: Callable[[], T]) -> Future[T]:
    """`work` in a thread, once for each key of this tab; it must look at nothing of the session."""
    looks: dict[str, Future[Any]] = session().answers.looks
    if key not in looks:
        for old in list(looks)[: len(looks) - MOST_LOOKS + 1]:
            del looks[old]
        looks[key] = _threads().submit(work)
    return looks[key]


def look_result(key: str, work: Callable[[], T], waiting: str) -> T | None:
    """What `work` found; until it has, None, and the text `waiting` is shown. Raises what it raised."""
    look = begin_look(key, work)
    wait([look], AT_LEAST)
    if look.done():
        return look.result()
    _wait(key, waiting)
    return None


def look_again(key: str) -> None:
    session().answers.looks.pop(key, None)


@st.fragment(run_every=0.3)
def _wait(key: str, waiting: str) -> None:
    st.markdown(f":shimmer[{waiting}]")
    look = session().answers.looks.get(key)
    if look is None or look.done():
        st.rerun()
