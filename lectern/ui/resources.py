"""What all sessions of the process share: the indexes that are open, each with its library and the answers being given."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from lectern.indexes import MAIN, Indexes
from lectern.library import Library
from lectern.local_models import models_folder
from lectern.settings import default_library, home_of
from lectern.ui.open_indexes import OpenIndex, OpenIndexes
from lectern.ui.state import session
from ragcore.errors import RagError

if TYPE_CHECKING:
    from lectern.model_download import ModelDownloads

WARM_AFTER = 1.0  # seconds; loading the embedder at once would slow the first screen


@st.cache_resource(show_spinner=False)
def open_indexes() -> OpenIndexes:
    return OpenIndexes(Indexes(default_library()))


def chosen_language() -> str:
    """The language that was chosen for the screens, kept with the first index; "" for the browser's, and while that index
    cannot be opened."""
    try:
        return get_index().library.settings.language
    except RagError:
        return ""


def all_indexes() -> Indexes:
    """All indexes, open or not."""
    return open_indexes().all


def get_index(index_id: str = MAIN) -> OpenIndex:
    """One index, open, for whoever is not drawn in a browser tab. InputError when it is not there."""
    return open_indexes().get(index_id)


def current_index() -> OpenIndex:
    """The index which this browser tab has open."""
    return get_index(session().index)


def library() -> Library:
    """That of the current index, with a worker reading what is added."""
    return current_index().library


def home() -> Path:
    """The folder of the person's first library on this computer, which has the models of all."""
    return home_of(library().folder)


def model_downloads() -> ModelDownloads:
    """Of language models, for all sessions."""
    return _model_downloads(models_folder(home()))


@st.cache_resource(show_spinner=False)
def _model_downloads(folder: Path) -> ModelDownloads:
    from lectern.model_download import ModelDownloads

    return ModelDownloads(folder)


def warm_embedder() -> None:
    """Load the embedder of this tab's index in the background, once, shortly after the first screen is drawn: the one that
    suits its first reader where it is new."""
    index = current_index()
    if index.warming is None:
        index.library.suit_reader(chosen_language() or st.context.locale or "")
        index.warming = threading.Timer(WARM_AFTER, index.library.embedder_loader.load)
        index.warming.daemon = True
        index.warming.start()
