"""A library whose file of vectors is cut short, altered or gone: it answers by words meanwhile, and mends
itself."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from lectern.library import Library
from lectern.schema import Ask
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.llms.scripted import ScriptedLLM
from tests.faults.test_kill_anywhere import is_sound
from tests.lectern.jobs.libraries import add, paragraphs, small_passages, worker_of

TEXTS = {f"{word}.txt": paragraphs(30, word) for word in ("kettle", "barrel", "wheel")}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with_files = opened(tmp_path)
    small_passages(with_files)
    for name, text in TEXTS.items():
        add(with_files, text, name)
    worker = worker_of(with_files)
    while worker.run_once():
        pass
    with_files.close()
    return tmp_path


@pytest.fixture
def library(folder: Path) -> Iterator[Library]:
    """As it is opened after the damage, which a test does first."""
    library = opened(folder)
    yield library
    library.close()


def opened(folder: Path) -> Library:
    return Library(folder, embedder=HashEmbedding(), llm=ScriptedLLM(lambda call: "It was lit. [1]"))


def cut_short(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-5000])


def turn_a_bit(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 0x10
    file.write_bytes(data)


def find_answering_file(library: Library) -> str:
    """The file that answers. A summary is given of what can be compared."""
    assert library.answer(Ask("Summarize everything.", chat_mode=None)).response
    answer = library.answer(Ask("What is told of wheel number 7?", chat_mode=None))
    assert answer.response == "It was lit. [1]"
    return str(answer.source_nodes[0].node.metadata["file_name"])


@pytest.mark.parametrize(
    "damage", [cut_short, turn_a_bit, Path.unlink], ids=["truncated", "bit-flipped", "missing"]
)
def test_keyword_search_answers_until_a_worker_repairs_vectors(
    damage: Callable[[Path], None], library: Library
) -> None:
    (file,) = (library.folder / "vectors").iterdir()
    damage(file)
    assert find_answering_file(library) == "wheel.txt"
    worker = worker_of(library)
    assert worker.find_damaged()
    assert find_answering_file(library) == "wheel.txt"
    while worker.heal():
        pass
    assert is_sound(library) == (TEXTS, 16)
    assert find_answering_file(library) == "wheel.txt"


@pytest.mark.parametrize("damage", [cut_short, Path.unlink], ids=["truncated", "missing"])
def test_files_are_added_replaced_and_deleted_meanwhile(
    damage: Callable[[Path], None], library: Library
) -> None:
    (file,) = (library.folder / "vectors").iterdir()
    damage(file)
    worker = worker_of(library)
    assert worker.find_damaged()
    changed = {"crane.txt": paragraphs(12, "crane"), "kettle.txt": paragraphs(50, "kettle")}
    for name, text in changed.items():
        add(library, text, name)
    while worker.run_once():
        pass
    barrel = next(file for file in library.files.all() if file.name == "barrel.txt")
    library.delete_file(barrel.id)
    while worker.heal():
        pass
    assert is_sound(library) == ({"wheel.txt": TEXTS["wheel.txt"], **changed}, 16)


@pytest.mark.parametrize("value", [np.nan, np.inf, 100.0, 1e30], ids=str)
@pytest.mark.parametrize("checksum", ["of these", "missing"])
def test_invalid_vectors_are_not_searched_and_are_embedded_again(
    value: float, checksum: str, library: Library
) -> None:
    """As an embedder that failed on a graphics card wrote them, or a library without checksums has them."""
    (path,) = (library.folder / "vectors").iterdir()
    with library.database.transaction() as db:
        document, first, count = db.execute(
            "SELECT seq, first_slot, passages FROM documents ORDER BY seq"
        ).fetchone()
        rows = np.fromfile(path, np.float32).reshape(-1, HashEmbedding().dimension)
        rows[first : first + count : 2] = value
        rows.tofile(path)
        known = zlib.crc32(rows[first : first + count].tobytes()) if checksum == "of these" else None
        db.execute("UPDATE documents SET checksum = ? WHERE seq = ?", (known, document))
    assert find_answering_file(library) == "wheel.txt"
    worker = worker_of(library)
    assert len(worker.find_damaged()) == 1
    while worker.heal():
        pass
    assert is_sound(library) == (TEXTS, 16)
    assert np.allclose(np.linalg.norm(np.fromfile(path, np.float32).reshape(rows.shape), axis=1), 1)
    assert find_answering_file(library) == "wheel.txt"
