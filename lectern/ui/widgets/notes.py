"""Notes: adding answers and quotes, and the list of notes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from lectern.db.notes import TEXT_CHARS, Note
from lectern.export.markdown import quoted_markdown
from lectern.export.notes import notes_markdown
from lectern.export.word import MEDIA_TYPE, as_word
from lectern.schema import Message, Source
from lectern.ui import labels, resources
from lectern.ui.i18n import _, day, ngettext, numeral, translate
from lectern.ui.safetext import answer_md, label
from lectern.ui.state import fill_widget, session, widget
from lectern.ui.widgets.search_field import search_field
from lectern.ui.widgets.source_links import source_address, source_links
from ragcore.errors import RagError
from ragcore.text.citations import renumber
from ragcore.text.quote_places import quoted_places

MIN_SEARCHABLE = 8  # notes; a shorter list has no search field
BATCH = 20  # notes at first, and with each click on "Show more"


def can_be_kept(message: Message) -> bool:
    return bool(message.text) and message.state in ("done", "stopped")


def keep_answer(message: Message) -> None:
    """Adds an answer with its cited passages as sources. An unsure answer begins with "Not sure"."""
    numbers = {source.number: number for number, source in enumerate(message.cited, 1)}
    sources = [replace(source, number=numbers[source.number]) for source in message.cited]
    mark = f"*{_('Not sure')}*\n\n" if message.facts is not None and message.facts.is_unsure else ""
    _keep(
        mark + renumber(message.text, numbers), sources, question=message.ask.question if message.ask else ""
    )


def keep_quote(source: Source, answer: str) -> None:
    """Adds the quoted parts of a passage, or all of it."""
    quotes = "\n".join(
        source.text[start:end] for start, end in quoted_places(answer, source.number, source.text)
    )
    _keep(f"{quoted_markdown(quotes or source.text)} [1]", [replace(source, number=1)])


def _keep(text: str, sources: Sequence[Source], *, question: str = "") -> None:
    try:
        note = resources.library().notes.keep(text, sources, question=question)
    except RagError as error:
        session().notice = f"{translate(error.what)} {translate(error.hint)}"
    else:
        session().notice = _("Added to your notes.") if note else _("This is already in your notes.")


# The page.


def opened_note_id() -> str | None:
    """The note whose passage is in the side panel, if any."""
    kind, _dot, rest = session().panel.partition(".")
    return rest.partition(".")[0] if kind == "passage" else None


def opened_source(note_id: str | None) -> tuple[Note, Source] | None:
    note = resources.library().notes.get(note_id) if note_id and note_id == opened_note_id() else None
    number = session().panel.rpartition(".")[2]
    source = next((source for source in note.sources if str(source.number) == number), None) if note else None
    return (note, source) if note and source else None


def search_notes() -> list[Note]:
    """Draws the search field if there are many notes. Returns the matching ones."""
    store, search = resources.library().notes, str(widget("notes_search") or "")
    notes = store.all(search)
    if search or len(notes) >= MIN_SEARCHABLE:
        search_field(_("Search notes"), "notes_search", live=True)
    if search and not notes:
        st.caption(_("No note contains these words."))
    elif not notes:
        st.caption(
            _(
                "There are no notes yet. To keep an answer, choose “Keep as a note” in the menu "
                "below it; to keep a passage, use the button above it. Notes stay even if the "
                "conversation or document is deleted."
            )
        )
    return notes


def export_notes(notes: Sequence[Note]) -> None:
    if not notes:
        return
    with st.popover(_("Export"), icon=":material/download:", type="tertiary", key="notes_export"):
        st.checkbox(_("Choose notes"), key="notes_choosing", persist_state="session")
        chosen = (
            [note for note in notes if widget(_checkbox_key(note))] if widget("notes_choosing") else notes
        )
        count = ngettext("{number} note", "{number} notes", len(chosen)).format(number=numeral(len(chosen)))
        st.caption(count if chosen else _("Select notes in the list."))
        title = _("Notes")
        place, passages = labels.place, _("Passages")

        def markdown() -> str:
            return notes_markdown(chosen, title=title, passages=passages, place=place)

        created = max((note.created for note in chosen), default=0.0)
        with st.container(horizontal=True, gap="small"):
            st.download_button(
                "Word", lambda: as_word(markdown(), title=title, created=created), file_name=f"{title}.docx",
                mime=MEDIA_TYPE, key="notes_word", on_click="ignore", disabled=not chosen,
            )  # fmt: skip
            st.download_button(
                "Markdown", markdown, file_name=f"{title}.md", mime="text/markdown", key="notes_markdown",
                on_click="ignore", disabled=not chosen,
            )  # fmt: skip


def undo_line() -> None:
    """Undo after a deletion, until the next action on notes."""
    if (deleted := session().notes.deleted) is None:
        return
    with st.container(key="note_deleted", horizontal=True, vertical_alignment="center", gap="small"):
        st.caption(_("Note deleted."), width="content")
        st.button(
            _("Undo"),
            key="note_undo",
            type="tertiary",
            icon=":material/undo:",
            on_click=_put_back,
            args=(deleted,),
        )


def draw_notes(notes: Sequence[Note]) -> None:
    state = session().notes
    for note in notes[: BATCH + state.more]:
        with st.container(key=f"note_{note.id}", border=True):
            _question(note)
            if state.editing == note.id:
                _draw_editor(note)
            else:
                _note(note)
    if len(notes) > BATCH + state.more:
        more = _("Show more notes ({number})").format(number=numeral(len(notes) - BATCH - state.more))
        st.button(more, key="more_notes", type="tertiary", on_click=_show_more)


def _question(note: Note) -> None:
    if widget("notes_choosing"):
        st.checkbox(
            label(labels.excerpt(note.question)) or _("This note"),
            key=_checkbox_key(note),
            persist_state="session",
        )
    elif note.question:
        st.markdown(f"**{label(labels.excerpt(note.question))}**")


def _note(note: Note) -> None:
    links = {source.number: source_address(note.id, source) for source in note.sources}
    st.markdown(answer_md(note.text, links))
    if note.sources:
        with st.container(key=f"chips_{note.id}"):
            st.markdown(" ".join(source_links(note.sources, note.id)))
    with st.container(key=f"note_foot_{note.id}", horizontal=True, vertical_alignment="center", gap="small"):
        text = _("Kept on {day}") if note.edited is None else _("Kept on {day}, edited")
        st.caption(text.format(day=day(note.created)), width="stretch")
        st.button(
            _("Edit"), key=f"edit_{note.id}", type="tertiary", icon=":material/edit:", on_click=_edit,
            args=(note,)
        )  # fmt: skip
        st.button(
            _("Delete"), key=f"delete_{note.id}", type="tertiary", icon=":material/delete:", on_click=_delete,
            args=(note,)
        )  # fmt: skip


def _draw_editor(note: Note) -> None:
    st.text_area(
        _("Note text"), key=_editor_key(note), height="content", max_chars=TEXT_CHARS, persist_state="session"
    )
    with st.container(horizontal=True, gap="small"):
        st.button(_("Save"), key=f"save_{note.id}", type="primary", on_click=_save, args=(note,))
        st.button(_("Cancel"), key=f"cancel_{note.id}", type="tertiary", on_click=_stop_editing)


def _editor_key(note: Note) -> str:
    return f"note_text_{note.id}"


def _checkbox_key(note: Note) -> str:
    return f"note_chosen_{note.id}"


def _edit(note: Note) -> None:
    state = session().notes
    state.editing, state.deleted = note.id, None
    fill_widget(_editor_key(note), note.text)


def _stop_editing() -> None:
    session().notes.editing = ""


def _save(note: Note) -> None:
    try:
        resources.library().notes.edit(note.id, str(widget(_editor_key(note)) or ""))
    except RagError as error:
        session().notice = f"{translate(error.what)} {translate(error.hint)}"
    else:
        _stop_editing()


def _delete(note: Note) -> None:
    resources.library().notes.delete(note.id)
    session().notes.deleted = note


def _put_back(note: Note) -> None:
    resources.library().notes.put_back(note)
    session().notes.deleted = None


def _show_more() -> None:
    session().notes.more += BATCH
