"""Notes: saved answers and quotes with the passages that they cite."""

from __future__ import annotations

import streamlit as st

from lectern.ui import navigation
from lectern.ui.i18n import _
from lectern.ui.state import session
from lectern.ui.widgets.notes import (
    draw_notes,
    export_notes,
    opened_note_id,
    opened_source,
    search_notes,
    undo_line,
)
from lectern.ui.widgets.panel import source_panel
from lectern.ui.widgets.passage import citation_clicks

state = session()
# The address names the note whose passage is open, so that a reload shows the same.
opened = opened_source(navigation.id_from_address("n", opened_note_id()))
navigation.write_address("n", opened_note_id() if opened else None, state.panel if opened else "")

with st.container(key="notes_head", horizontal=True, vertical_alignment="center"):
    st.title(_("Notes"), anchor=False)
    exporting = st.container(width="content")
undo_line()
notes = search_notes()
with exporting:
    export_notes(notes)
citation_clicks(answering=False)
if opened is not None:
    note, source = opened
    source_panel(source, note.text)
draw_notes(notes)
