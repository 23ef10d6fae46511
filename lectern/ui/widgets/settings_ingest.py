"""Settings for passages and for limits of files. A change is saved at once."""

from __future__ import annotations

import streamlit as st

from lectern.ui import labels, navigation, resources
from lectern.ui.i18n import _
from lectern.ui.safetext import label
from lectern.ui.state import fill_widget
from lectern.ui.widgets.rebuild_status import rebuild_status
from lectern.ui.widgets.settings_field import saved_field


def passage_settings() -> None:
    st.markdown(
        _(
            "Documents are split into passages, and answers are based on the ones that fit. Changes "
            "here apply to files added from now on."
        )
    )
    library = resources.library()
    ingest = library.settings.ingest
    with st.container(horizontal=True):
        st.number_input(
            labels.with_field_name(_("Length of a passage"), _("in tokens")),
            16,
            2048,
            step=10,
            width=220,
            **saved_field("ingest", "chunk_size"),
            help=_(
                "A token is about ¾ of a word. 200 works well with the built-in search; longer passages "
                "give more context."
            ),
        )
        st.number_input(
            labels.with_field_name(_("Repeated by the next one"), _("overlap, in tokens")),
            0,
            ingest.chunk_size // 2,
            step=5,
            width=220,
            **saved_field("ingest", "chunk_overlap"),
            help=_("How much of a passage the next one repeats."),
        )
    with st.container(key="embedder", horizontal=True, vertical_alignment="center"):
        embedder = labels.embedder(library.store.versions.current().embed_model)
        st.caption(
            _("The search uses “{name}” (embedding model).").format(name=label(embedder)),
            width="content",
            help=_(
                "Finds passages by their meaning. Changing it means preparing all documents for the search "
                "again: see “Rebuild” on the Indexes page."
            ),
        )
        st.page_link(navigation.INDEXES, label=_("Choose another one"))
    rebuild_status()


def limit_settings() -> None:
    st.markdown(
        _("Files over a limit are not read; the list says so. Changes apply to files read from now on.")
    )
    ingest = resources.library().settings.ingest
    with st.container(key="limits", horizontal=True, vertical_alignment="bottom"):
        for field, name, least, most, step, meaning in _limits():
            saved = saved_field("ingest", field)
            fill_widget(saved["key"], int(getattr(ingest, field)))
            st.number_input(name, least, most, step=step, width=300, help=meaning, **saved)


def _limits() -> tuple[tuple[str, str, int, int, int, str], ...]:
    """Field, label, minimum, maximum, step, help text."""
    return (
        ("max_file_mb", _("Largest file, in MB"), 1, 100_000, 50, _("Larger files are not accepted.")),
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
            _("Longest wait for a page, in seconds"),
            10,
            86_400,
            60,
            _(
                "A file is given up if no page is read for this long, or after 40 times this long in "
                "total. Indexing is not counted."
            ),
        ),
        (
            "read_memory_mb",
            _("Memory for reading one file, in MB"),
            256,
            1_000_000,
            256,
            _("Protects the computer from files made to fill its memory."),
        ),
    )
