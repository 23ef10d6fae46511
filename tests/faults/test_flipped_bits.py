"""Every stored file of a library with a bit that a disk has turned, cut short or emptied: what is read is
right, is healed from the originals and says so, or a sentence says what is damaged and what to do."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lectern.keys import read_key, write_key
from lectern.library import Library
from lectern.schema import Ask, Source
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.errors import DamagedStoreError, RagError
from tests.lectern.jobs.libraries import add, paragraphs, small_passages, worker_of

TEXTS = {f"{word}.txt": paragraphs(40, word) for word in ("kettle", "barrel", "wheel")}
QUESTIONS = ("kettle number 7", "barrel lit for 31 nights", "wheel")
FLIPS = 60  # bits of the database that are turned, one after another


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    with closing(opened(folder)) as library:
        small_passages(library)
        for name, text in TEXTS.items():
            add(library, text, name)
        work(library)
        library.store.keyword_search("kettle", 1)
        for number in range(5):
            conversation = library.conversations.create(title=f"Conversation {number}")
            answer = library.conversations.begin(conversation.id, Ask(f"What is told of wheel {number}?"))
            node = library.store.keyword_search(f"wheel {number}", 1)[0].node
            source = Source(1, node.id_, node.ref_doc_id or "", "wheel.txt", 0, 20, node.text)
            library.conversations.write(
                answer.id, text=f"It was lit {number} times. [1]", state="done", sources=[source]
            )
    write_key(folder, "openai", "sk-secret")
    with closing(sqlite3.connect(folder / "library.db")) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return folder


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    return shutil.copytree(whole, tmp_path / "library")


def opened(folder: Path) -> Library:
    return Library(folder, embedder=HashEmbedding())


def work(library: Library) -> None:
    """What a worker does."""
    worker = worker_of(library)
    for _ in range(len(TEXTS) + 1):  # a damaged text interrupts the check of the others
        while worker.run_once():
            pass
        worker.check_texts()
    while worker.run_once() or worker.heal():
        pass


def read_all(library: Library) -> dict[str, Any]:
    """What a person sees of the library."""
    seen: dict[str, Any] = {}
    embedder = HashEmbedding()
    for question in QUESTIONS:
        by_words = library.store.keyword_search(question, 5)
        by_meaning = library.store.search(embedder.embed_query(question), 5)
        # The order of equal scores is that of the documents, which healing changes.
        seen[question] = sorted(
            (hit.node.text, hit.node.metadata["file_name"], hit.node.start_char_idx, round(hit.score or 0, 4))
            for hits in (by_words, by_meaning)
            for hit in hits
            if (hit.score or 0) > (hits[-1].score or 0) + 1e-6
        )
    for file in library.files.all():
        document = library.store.document(file.id)
        passages = [(node.text, node.start_char_idx) for node in library.store.passages(file.id)]
        seen[file.name] = (document.text, document.metadata["file_name"], passages)
        seen[f"bytes of {file.name}"] = library.files.location(file).read_bytes()
    for conversation in library.conversations.all():
        messages = library.conversations.messages(conversation.id)
        seen[f"conversation {conversation.id}"] = (
            conversation.title,
            [(message.text, message.state, message.sources) for message in messages],
        )
    seen["key"] = read_key(library.folder, "openai")
    return seen


def outcome(folder: Path, expected: dict[str, Any]) -> str:
    """What becomes of a damaged library: "right", "healed", "said", or what must never be."""
    before = {path.relative_to(folder) for path in folder.glob("files/*/*")}
    sentences: list[str] = []
    seen: dict[str, Any] = {}
    rows, failed = [], []
    try:
        with closing(opened(folder)) as library:
            library.integrity.start()
            library.integrity.wait(60)
            damage = library.damage()
            sentences += [error.what for error in damage if error.hint]
            try:
                work(library)
                seen = read_all(library)
                rows = [problem.what for file in library.files.all() for problem in file.left_out]
                failed = [file.problem.what for file in library.files.all() if file.problem is not None]
            except RagError as error:
                sentences.append(error.what if error.hint else "report: no hint")
            except Exception as error:  # noqa: BLE001 - explained by damage, or a failure of this test
                explained = library.integrity.look()
                sentences.append(explained.what if explained else f"please report it: {error!r}")
    except RagError as error:
        sentences.append(error.what if error.hint else "report: no hint")
    lost = before - {path.relative_to(folder) for path in folder.glob("files/*/*")}
    if lost:
        return f"deleted {sorted(map(str, lost))}"
    if reports := [sentence for sentence in sentences if "report" in sentence]:
        return reports[0]
    if sentences or [problem for problem in failed if problem not in rows]:
        return "said"
    if seen == expected:
        return "healed" if rows else "right"
    return f"silently different: {[name for name in expected if seen.get(name) != expected[name]]}"


@pytest.fixture(scope="module")
def expected(whole: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    copy = shutil.copytree(whole, tmp_path_factory.mktemp("expected") / "library")
    with closing(opened(copy)) as library:
        return read_all(library)


def turn_bit(path: Path, position: int, bit: int) -> None:
    with path.open("r+b") as file:
        file.seek(position)
        (byte,) = file.read(1)
        file.seek(position)
        file.write(bytes([byte ^ 1 << bit]))


def turn_any_bit(path: Path, seed: int) -> None:
    """Turn a random bit where something is stored."""
    random_numbers = random.Random(seed)
    data = path.read_bytes()
    used = [position for position in range(0, len(data), 16) if any(data[position : position + 16])]
    turn_bit(path, random_numbers.choice(used) + random_numbers.randrange(16), random_numbers.randrange(8))


@pytest.mark.parametrize("seed", range(FLIPS))
def test_a_turned_bit_of_the_database_changes_nothing_unsaid(
    seed: int, folder: Path, expected: dict[str, Any]
) -> None:
    turn_any_bit(folder / "library.db", seed)
    assert outcome(folder, expected) in ("right", "healed", "said")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"row INTEGER PRIM", b"ARY KEY,\n    document "),
        (b"in the folder of vectors", b"\n    slots INTEGER"),  # the column is a part of the comment
    ],
)
def test_a_turned_bit_in_the_definition_of_a_table_is_said(
    before: bytes, after: bytes, folder: Path, expected: dict[str, Any]
) -> None:
    data = (folder / "library.db").read_bytes()
    turn_bit(folder / "library.db", data.index(before + after) + len(before), 1)
    assert outcome(folder, expected) == "said"


def columns(folder: Path, table: str, column: str) -> list[Any]:
    with closing(sqlite3.connect(folder / "library.db")) as db:
        return [value for (value,) in db.execute(f"SELECT {column} FROM {table}")]


@pytest.mark.parametrize("seed", range(6))
def test_a_turned_bit_in_stored_text_is_healed_and_said(
    seed: int, folder: Path, expected: dict[str, Any]
) -> None:
    block = random.Random(seed).choice(columns(folder, "texts", "data"))
    position = (folder / "library.db").read_bytes().find(block[:60])
    if position < 0:  # it is on several pages
        position = (folder / "library.db").read_bytes().find(block[-60:])
    turn_bit(folder / "library.db", position + seed + 4, seed)
    assert outcome(folder, expected) == "healed"


@pytest.mark.parametrize("column", ["metadata", "layout"])
def test_a_turned_bit_in_a_documents_row_is_said(column: str, folder: Path, expected: dict[str, Any]) -> None:
    value = columns(folder, "documents", column)[1].encode()
    turn_bit(folder / "library.db", (folder / "library.db").read_bytes().find(value) + len(value) // 2, 2)
    assert outcome(folder, expected) in ("healed", "said")


@pytest.mark.parametrize(("table", "column"), [("keyword_blocks", "gaps"), ("keyword_passages", "lengths")])
def test_damaged_words_are_collected_again(
    table: str, column: str, folder: Path, expected: dict[str, Any]
) -> None:
    value = columns(folder, table, column)[0]
    turn_bit(folder / "library.db", (folder / "library.db").read_bytes().find(value[:40]) + 12, 3)
    with closing(opened(folder)) as library:
        assert read_all(library) == expected
        work(library)
        assert read_all(library) == expected


def test_a_changed_answer_and_citation_are_reported(folder: Path) -> None:
    data = (folder / "library.db").read_bytes()
    turn_bit(folder / "library.db", data.find(b"It was lit 3 times") + 11, 0)
    with closing(opened(folder)) as library:
        library.integrity.start()
        library.integrity.wait(60)
        (error,) = library.damage()
        assert isinstance(error, DamagedStoreError)
        assert "backup" in error.hint


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def zero(path: Path) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def turn_middle(path: Path) -> None:
    turn_bit(path, path.stat().st_size // 2, 4)


@pytest.mark.parametrize("damage", [cut, empty, zero, turn_middle, Path.unlink])
@pytest.mark.parametrize("name", ["library.db", "vectors/*.f32", "files/*/*", "keys.json", "settings.json"])
def test_a_damaged_file_of_any_kind_loses_nothing_unsaid(
    damage: Callable[[Path], None], name: str, folder: Path, expected: dict[str, Any]
) -> None:
    path = sorted(folder.glob(name))[0]
    damage(path)
    if (damage, name) == (Path.unlink, "settings.json"):
        return  # the defaults, as before the first change
    if (damage, name) == (Path.unlink, "keys.json"):
        with closing(opened(folder)) as library:
            assert read_all(library) == expected | {"key": ""}
        return
    found = outcome(folder, expected)
    if (damage, name) == (Path.unlink, "files/*/*"):
        assert found.startswith(("said", "please report it: FileNotFoundError"))
        return
    assert found in ("right", "healed", "said")


@pytest.mark.parametrize("damage", [empty, Path.unlink])
@pytest.mark.parametrize("log", [b"", b"changes " * 1000], ids=["closed", "killed"])
def test_an_empty_database_beside_documents_is_no_new_library(
    log: bytes, damage: Callable[[Path], None], folder: Path
) -> None:
    vectors = {path: path.read_bytes() for path in (folder / "vectors").iterdir()}
    damage(folder / "library.db")
    (folder / "library.db-wal").write_bytes(log)
    for _ in range(2):
        with pytest.raises(DamagedStoreError, match=r"library\.db is empty or missing") as caught:
            opened(folder)
        assert "backup" in caught.value.hint
    assert {path: path.read_bytes() for path in (folder / "vectors").iterdir()} == vectors


def test_a_damaged_original_is_not_shown_or_read_as_the_file(folder: Path) -> None:
    original = next(folder.glob("files/*/*"))
    turn_bit(original, 100, 1)
    with closing(opened(folder)) as library:
        file = next(file for file in library.files.all() if file.path == str(original.relative_to(folder)))
        library.files.queue.read_again(file.id)
        work(library)
        failed = library.files.get(file.id)
        assert failed is not None
        assert failed.problem is not None
        assert f"The original of {file.name} is damaged" in failed.problem.what
        assert library.store.document(file.id).text == TEXTS[file.name]


@pytest.mark.parametrize("seed", range(8))
def test_a_turned_bit_in_the_keys_never_makes_another_key(seed: int, folder: Path) -> None:
    size = (folder / "keys.json").stat().st_size
    random_numbers = random.Random(seed)
    position = random_numbers.randrange(size)
    turn_bit(folder / "keys.json", position, random_numbers.randrange(7))
    assert read_key(folder, "openai") in ("", "sk-secret")


def test_keys_of_an_earlier_version_and_changed_by_one_are_read(folder: Path) -> None:
    path = folder / "keys.json"
    stored = json.loads(path.read_text())
    checksum = stored.pop("checksum")
    path.write_text(json.dumps(stored))
    assert read_key(folder, "openai") == "sk-secret"
    stored["openai"]["key"] = "sk-other"
    path.write_text(json.dumps({**stored, "checksum": {"key": checksum, "origin": ""}}))
    assert read_key(folder, "openai") == "sk-other"


def test_damaged_drafts_are_computed_again(folder: Path) -> None:
    with closing(opened(folder)) as library:
        drafts = library.files.drafts
        drafts.keep("a", {"x": np.ones(4, np.float32), "y": np.ones(4, np.float32)})
        with library.database.transaction() as db:
            db.execute("UPDATE drafts SET vector = ? WHERE content = 'x'", (np.zeros(4, "<f4").tobytes(),))
        assert list(drafts.vectors("a")) == ["y"]


def test_rows_that_an_earlier_version_changed_are_no_damage(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "library.db")) as db:
        db.execute("PRAGMA foreign_keys = ON")
        db.execute("UPDATE conversations SET title = 'Renamed' WHERE title = 'Conversation 1'")
        db.execute("DELETE FROM conversations WHERE title = 'Conversation 2'")
        db.commit()
    with closing(opened(folder)) as library:
        library.integrity.start()
        library.integrity.wait(60)
        assert library.damage() == []


def test_a_library_without_checksums_is_valid(folder: Path, expected: dict[str, Any]) -> None:
    with closing(sqlite3.connect(folder / "library.db")) as db:
        db.execute("UPDATE passages SET checksum = NULL")
        db.execute("UPDATE documents SET content = NULL")
        db.execute("DELETE FROM row_checksums")
        db.commit()
    assert outcome(folder, expected) == "right"
