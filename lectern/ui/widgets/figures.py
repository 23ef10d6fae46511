"""Four figures about the open index, and its rebuild with other settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import streamlit as st

from lectern.jobs.embedders import BUILT_IN, HASHING
from lectern.jobs.file_rows import ACTIVE
from lectern.settings import SplitterName
from lectern.ui import labels, resources
from lectern.ui.i18n import _, numeral, translate
from lectern.ui.live_fragments import rerun_page
from lectern.ui.safetext import label, plain_md
from lectern.ui.state import fill_new_widget, session, widget
from lectern.ui.widgets.empty_state import empty_state
from lectern.ui.widgets.rebuild_status import rebuild_status
from ragcore.embeddings import multilingual_e5
from ragcore.errors import RagError

if TYPE_CHECKING:
    from lectern.jobs.rebuild import RebuildPlan
    from lectern.library import Library

POLL_SECONDS = 2.0  # between two updates while files are read


def figures() -> None:
    """Updates itself while files are read."""
    busy = _is_reading()
    st.fragment(_figures, run_every=POLL_SECONDS if busy else None)(busy)


def _is_reading() -> bool:
    return bool(resources.library().files.all(*ACTIVE, limit=1))


def _figures(was_reading: bool) -> None:
    if was_reading and not _is_reading():
        rerun_page()
    status = resources.library().status()
    tokens, exact = resources.current_index().maps.tokens()
    with st.container(key="index_figures", horizontal=True, gap="medium"):
        st.metric(_("Documents"), numeral(status.files), width="content")
        st.metric(_("Passages"), numeral(status.passages), width="content")
        st.metric(
            labels.with_field_name(_("Text"), _("tokens")),
            numeral(tokens) if exact else _("about {number}").format(number=numeral(tokens)),
            width="content",
            help=_(
                "All passages together. A token is about ¾ of a word, the unit that language models count in."
            ),
        )
        st.metric(_("On disk"), labels.size(status.bytes_on_disk), width="content")


def rebuild() -> None:
    """The form to rebuild the index, with a preview of the changes."""
    library = resources.library()
    if library.store.versions.next_version() is not None:
        rebuild_status()
        return
    if not len(library.store):
        empty_state(_("There are no passages yet."))
        return
    try:
        plan = _plan_from_fields(library)
    except RagError as error:
        st.markdown(f"**{label(translate(error.what))}** {plain_md(translate(error.hint))}")
        return
    if not plan.changes:
        st.caption(_("Change a setting to see what a rebuild involves."))
        return
    changes = "; ".join(map(translate, plan.changes))
    st.markdown(
        _("{changes}. That makes about {passages} instead of {now}, and takes {time}.").format(
            changes=label(changes[:1].upper() + changes[1:]),
            passages=labels.count(plan.passages, "passage"),
            now=numeral(plan.passages_now),
            time=labels.duration(plan.seconds),
        )
    )
    st.button(
        _("Rebuild the index"),
        key="rebuild_now",
        type="primary",
        on_click=_rebuild,
        args=(session().index,),
        help=_("You can keep asking questions meanwhile."),
    )


def _plan_from_fields(library: Library) -> RebuildPlan:
    """Draws the fields and plans the rebuild. RagError if such an index is impossible."""
    ingest, model = library.settings.ingest, library.store.versions.current().embed_model
    index_id = session().index
    fill_new_widget(f"rebuild_size_{index_id}", ingest.chunk_size)
    fill_new_widget(f"rebuild_overlap_{index_id}", ingest.chunk_overlap)
    fill_new_widget(f"rebuild_splitter_{index_id}", ingest.splitter)
    fill_new_widget(f"rebuild_embedder_{index_id}", model)
    with st.container(horizontal=True, vertical_alignment="bottom", key="rebuild_fields"):
        size = st.number_input(
            labels.with_field_name(_("Length of a passage"), _("in tokens")),
            16,
            2048,
            step=10,
            key=f"rebuild_size_{index_id}",
            help=_(
                "Longer passages give more context; shorter ones are found more precisely. 200 "
                "works well with the built-in search."
            ),
            width=220,
        )
        overlap = st.number_input(
            labels.with_field_name(_("Repeated by the next one"), _("overlap, in tokens")),
            0,
            1024,
            step=5,
            key=f"rebuild_overlap_{index_id}",
            help=_("How much of a passage the next one repeats."),
            width=220,
        )
        splitters = _splitter_names()
        splitter = st.selectbox(
            _("Where to split"),
            list(splitters),
            key=f"rebuild_splitter_{index_id}",
            format_func=splitters.__getitem__,
            help=_(
                "Where a passage may end. Whole sentences read best; equal lengths suit lists "
                "and logs; headings keep the sections of Markdown files apart."
            ),
            width=230,
        )
        chosen = st.selectbox(
            labels.with_field_name(_("Search by meaning"), _("embedding model")),
            list(dict.fromkeys([BUILT_IN, multilingual_e5.available(), HASHING, model])),
            key=f"rebuild_embedder_{index_id}",
            format_func=labels.embedder,
            accept_new_options=True,
            help=_(
                "What finds passages by their meaning: the built-in model, or the folder or name of another."
            ),
            width=230,
        )
    return library.rebuilds.plan(
        chunk_size=int(size), chunk_overlap=int(overlap), embed_model=str(chosen or ""), splitter=splitter
    )


def _splitter_names() -> dict[SplitterName, str]:
    return {
        "sentence": _("After whole sentences"),
        "token": _("At equal lengths"),
        "section": _("At headings, then sentences"),
    }


def _rebuild(index: str) -> None:
    library = resources.library()
    library.rebuilds.start(
        chunk_size=int(widget(f"rebuild_size_{index}")),
        chunk_overlap=int(widget(f"rebuild_overlap_{index}")),
        embed_model=str(widget(f"rebuild_embedder_{index}") or ""),
        splitter=cast("SplitterName", widget(f"rebuild_splitter_{index}")),
    )
    library.worker.start()
