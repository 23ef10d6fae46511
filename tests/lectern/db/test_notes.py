"""Notes: kept once, found, edited, deleted and put back, part of a copy, and still there when what they come
from is gone."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lectern.db.notes import SCHEMA, Note, Notes
from lectern.export import backup, restore
from lectern.library import Library
from lectern.runs.answer_runs import AnswerRuns
from lectern.schema import Ask, Source
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.errors import InputError
from ragcore.sql.base import Database
from tests.databases import KINDS, opening
from tests.lectern.test_library import TOWER, finished, take_in

QUOTE = Source(1, "n1", "f1", "Türme.pdf", 10, 37, "The tower was built by Ada.", 0.5, "4", "page", 3)


@pytest.fixture(params=KINDS)
def open_database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], Database]]:
    yield from opening(request.param, tmp_path, SCHEMA)


@pytest.fixture
def notes(open_database: Callable[[], Database]) -> Notes:
    return Notes(open_database(), clock=itertools.count(1).__next__)


def texts(notes: Notes, search: str = "") -> list[str]:
    return [note.text for note in notes.all(search)]


def test_newest_note_comes_first_and_other_processes_see_it(open_database: Callable[[], Database]) -> None:
    notes = Notes(open_database(), clock=itertools.count(1).__next__)
    assert len(notes) == 0
    assert notes.keep(" It was **Ada** [1].\n", [QUOTE], question="Who built it?")
    assert notes.keep("> The ferry a\ud800 [1]", [])
    newest, oldest = Notes(open_database()).all()
    assert (newest.text, newest.question, newest.sources) == ("> The ferry a\ufffd [1]", "", ())
    assert oldest == Note(oldest.id, "Who built it?", "It was **Ada** [1].", (QUOTE,), 1.0, None)
    assert notes.get(oldest.id) == oldest
    assert len(notes) == 2


def test_the_same_note_is_saved_once_even_after_an_edit(notes: Notes) -> None:
    assert notes.keep("Ada [1].", [QUOTE], question="Who?")
    assert not notes.keep("Ada [1].", [QUOTE], question="Who?")
    notes.edit(notes.all()[0].id, "Ada, in 1890 [1].")
    assert not notes.keep("Ada [1].", [QUOTE], question="Who?")
    assert notes.keep("Ada [1].", [QUOTE], question="Who else?")
    assert texts(notes) == ["Ada [1].", "Ada, in 1890 [1]."]


@pytest.mark.parametrize(
    ("search", "found"),
    [("ada 1890", 1), ("WHO", 1), ("türme", 1), ("ada ferry", 0), ("100%", 0), ("", 2), ("t", 2)],
)
def test_note_search_covers_question_text_and_file_names(notes: Notes, search: str, found: int) -> None:
    notes.keep("Ada, 1890 [1].", [QUOTE], question="Who built it?")
    notes.keep("The ferry.", [])
    assert len(notes.all(search)) == found


def test_note_edit_changes_only_text_and_refuses_empty_or_gone(notes: Notes) -> None:
    notes.keep("Ada [1].", [QUOTE])
    kept = notes.all()[0]
    notes.edit(kept.id, "  # Ada\n\nin 1890 [1] ")
    assert notes.all() == [Note(kept.id, "", "# Ada\n\nin 1890 [1]", (QUOTE,), kept.created, 2.0)]
    with pytest.raises(InputError, match="cannot be empty"):
        notes.edit(kept.id, " \n")
    notes.delete(kept.id)
    with pytest.raises(InputError, match="has been deleted"):
        notes.edit(kept.id, "Ada")


def test_a_deleted_note_is_restored_in_its_position(notes: Notes) -> None:
    for text in ("one", "two", "three"):
        notes.keep(text, [QUOTE])
    two = notes.all()[1]
    notes.delete(two.id)
    assert texts(notes) == ["three", "one"]
    notes.put_back(two)
    notes.put_back(two)
    assert texts(notes) == ["three", "two", "one"]
    assert notes.get(two.id) == two


@pytest.fixture
def libraries(tmp_path: Path) -> Iterator[tuple[Library, Library]]:
    here, there = (Library(tmp_path / name, embedder=HashEmbedding(8)) for name in ("here", "there"))
    yield here, there
    here.close()
    there.close()


def keep_answer(library: Library) -> str:
    """Keep the answer to a question about the tower; gives its conversation."""
    take_in(library, TOWER, "tower.txt")
    answer = library.conversations.message(
        finished(library, AnswerRuns(library), Ask("Who built the tower?"))
    )
    assert answer is not None
    assert library.notes.keep(answer.text, answer.cited, question="Who built the tower?")
    return answer.conversation_id


def test_it_outlives_its_conversation_and_its_document(libraries: tuple[Library, Library]) -> None:
    library, _ = libraries
    talk = keep_answer(library)
    before = library.notes.all()
    assert [source.file_name for source in before[0].sources] == ["tower.txt"]
    library.conversations.delete(talk)
    library.delete_file(before[0].sources[0].file_id)
    assert library.notes.all() == before


def test_library_copy_has_notes_with_citations_and_replaces_none(
    libraries: tuple[Library, Library], tmp_path: Path
) -> None:
    here, there = libraries
    keep_answer(here)
    here.notes.edit(here.notes.all()[0].id, "Ada [1].")
    backup.write_copy(here, tmp_path / "copy.lectern")
    restore.read_copy(there, tmp_path / "copy.lectern")
    (note,) = there.notes.all()
    assert (note.text, note.question, note.edited) == (
        "Ada [1].",
        "Who built the tower?",
        here.notes.all()[0].edited,
    )
    assert {source.file_id for source in note.sources} == {file.id for file in there.files.all()}
    there.notes.edit(note.id, "Mine.")
    restore.read_copy(there, tmp_path / "copy.lectern")
    assert texts(there.notes) == ["Mine."]
