"""What all sessions share: the open indexes with their libraries and answers."""

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
    """The chosen display language, stored in the first index; "" for the browser's, or if that index cannot
    be opened."""
    try:
        return get_index().library.settings.language
    except RagError:
        return ""


def all_indexes() -> Indexes:
    return open_indexes().indexes


def get_index(index_id: str = MAIN) -> OpenIndex:
    """An open index, for code outside a browser tab. InputError if it does not exist."""
    return open_indexes().get(index_id)


def current_index() -> OpenIndex:
    return get_index(session().index)


def library() -> Library:
    return current_index().library


def home() -> Path:
    """The folder of the first library on this computer, which has the language models of all."""
    return home_of(library().folder)


def model_downloads() -> ModelDownloads:
    """The downloads of language models, shared by all sessions."""
    return _model_downloads(models_folder(home()))


@st.cache_resource(show_spinner=False)
def _model_downloads(folder: Path) -> ModelDownloads:
    from lectern.model_download import ModelDownloads

    return ModelDownloads(folder)


def warm_embedder() -> None:
    """Loads the embedder of this tab's index in the background, once, shortly after the first screen. A new
    index gets the one for its first reader's language."""
    index = current_index()
    if index.warm_up_timer is None:
        index.library.suit_reader(chosen_language() or st.context.locale or "")
        index.warm_up_timer = threading.Timer(WARM_AFTER, index.library.embedder_loader.load)
        index.warm_up_timer.daemon = True
        index.warm_up_timer.start()
