"""What all sessions of the process share: the open library, and the answers being given."""

from __future__ import annotations

import threading

import streamlit as st

from ragcore.config import default_library
from ragcore.library import Library
from ragcore.runs import AnswerRuns
from ui.fetching import Fetching

WARM_AFTER = 1.0  # seconds; loading the embedder at once would slow the first screen


@st.cache_resource(show_spinner=False)
def library() -> Library:
    """The library, open, with a worker reading what is added."""
    opened = Library.open(default_library())
    opened.start_worker()
    return opened


@st.cache_resource(show_spinner=False)
def runs() -> AnswerRuns:
    return AnswerRuns(library())


@st.cache_resource(show_spinner=False)
def fetching() -> Fetching:
    return Fetching(library())


@st.cache_resource(show_spinner=False)
def warm_embedder() -> None:
    """Load the embedder in the background, once, shortly after the first screen is drawn."""
    timer = threading.Timer(WARM_AFTER, library().warm)
    timer.daemon = True
    timer.start()
