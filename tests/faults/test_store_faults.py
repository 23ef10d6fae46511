"""What the disk store does when it is killed, damaged, out of room, or changed by another process."""

from __future__ import annotations

import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ragcore.errors import DamagedStoreError, DimensionError, StoreError, UnknownDocumentError
from ragcore.schema import Document, TextNode
from ragcore.sql.sqlite import SQLiteDatabase
from ragcore.vector_stores import disk, sql_store
from ragcore.vector_stores.base import Scope
from ragcore.vector_stores.disk import SCHEMA, DiskStore
from ragcore.vector_stores.disk_vectors import IndexVectors, sweep
from ragcore.vector_stores.filters import MetadataFilter, MetadataFilters

WIDTH = 16


def direction(number: int) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    return np.random.default_rng(number).normal(size=WIDTH).astype(np.float32)


def item(number: int, passages: int = 3, version: str = "") -> tuple[Document, list[TextNode]]:
    """Document `number`: its passages have its number as a word, and vectors that follow from it."""
    texts = [f"word{number} part{i} {version}" for i in range(passages)]
    nodes = [
        TextNode(text, f"d{number}/{i}", ref_doc_id=f"d{number}", embedding=direction(100 * number + i))
        for i, text in enumerate(texts)
    ]
    return Document("\n".join(texts), id_=f"d{number}"), nodes


def check(store: DiskStore, folder: Path) -> set[int]:
    """That every document there is whole, by every way of finding it; gives their numbers."""
    numbers = set()
    for stored in store.documents():
        number = int(stored.id_[1:])
        numbers.add(number)
        source, nodes = item(number, stored.passages)
        assert store.document(stored.id_).text == source.text
        assert [node.text for node in store.passages(stored.id_)] == [node.text for node in nodes]
        for node in nodes:
            assert node.embedding is not None
            hit = store.search(node.embedding, 1)[0]
            assert hit.node.id_ == node.id_
            assert hit.score == pytest.approx(1.0)
        found = store.keyword_search(f"word{number}", 99)
        assert {hit.node.id_ for hit in found} == {node.id_ for node in nodes}
    assert len(store) == sum(stored.passages for stored in store.documents())
    integrity = store._database.connection().execute("PRAGMA integrity_check").fetchone()[0]
    assert integrity == "ok"
    return numbers


@contextmanager
def opened(folder: Path, index: str = "documents") -> Iterator[DiskStore]:
    database = SQLiteDatabase(folder / "library.db", SCHEMA)
    store = DiskStore(database, index=index, vectors=folder / "vectors")
    yield store
    store.close()
    database.close()


WRITER = """
import sys
from pathlib import Path
from tests.faults.test_store_faults import item, opened
with opened(Path(sys.argv[1])) as store:
    present = {stored.id_ for stored in store.documents()}
    print("ready", flush=True)
    number = 0
    while True:
        number += 1
        store.upsert(*item(number % 7))
        if number % 3 == 0:
            gone = f"d{(number + 3) % 7}"
            if gone in {stored.id_ for stored in store.documents()}:
                store.delete(gone)
"""


def test_a_writer_killed_at_any_moment_leaves_whole_documents(tmp_path: Path) -> None:
    chance = random.Random(7)
    with opened(tmp_path) as store:
        store.upsert(*item(50))
        for _ in range(6):
            writer = subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE)
            assert writer.stdout is not None
            assert writer.stdout.readline() == b"ready\n"
            time.sleep(chance.uniform(0.0, 0.12))
            writer.kill()
            writer.wait()
            writer.stdout.close()
            assert 50 in check(store, tmp_path)
        with opened(tmp_path) as reopened:
            assert check(reopened, tmp_path) == check(store, tmp_path)
            reopened.upsert(*item(60))
        assert 60 in check(store, tmp_path)
        store.compact()
        assert len(list((tmp_path / "vectors").iterdir())) == 1


@pytest.mark.parametrize(
    ("owner", "stage"), [(DiskStore, "_insert"), (DiskStore, "_add_terms"), (IndexVectors, "append")]
)
def test_an_upsert_that_fails_half_way_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: type, stage: str
) -> None:
    real = getattr(owner, stage)

    def fails(*given: object) -> object:
        real(*given)
        raise KeyboardInterrupt

    with opened(tmp_path) as store:
        for number in (1, 2):
            store.upsert(*item(number))
        with monkeypatch.context() as broken:
            broken.setattr(owner, stage, fails)
            for number in (2, 3):
                with pytest.raises(KeyboardInterrupt):
                    store.upsert(*item(number, 5))
        assert check(store, tmp_path) == {1, 2}
        store.upsert(*item(4))
        assert check(store, tmp_path) == {1, 2, 4}


def test_store_forgets_a_change_that_is_rolled_back(tmp_path: Path) -> None:
    def replaced_and_then_not(store: DiskStore) -> None:
        with store._database.transaction():
            store.upsert(*item(2, 4))
            store.delete("d1")
            assert store.search(direction(201), 1)[0].node.id_ == "d2/1"
            raise ZeroDivisionError

    with opened(tmp_path) as store:
        store.upsert(*item(1))
        with pytest.raises(ZeroDivisionError):
            replaced_and_then_not(store)
        assert check(store, tmp_path) == {1}
        store.upsert(*item(3, 4))
        assert check(store, tmp_path) == {1, 3}


def test_vectors_longer_than_committed_are_written_over(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        store.upsert(*item(1))
        (file,) = (tmp_path / "vectors").iterdir()
        with file.open("ab") as out:
            out.write(b"\x7f" * 1000)
        assert check(store, tmp_path) == {1}
        store.upsert(*item(2))
        assert check(store, tmp_path) == {1, 2}
        assert file.stat().st_size == 6 * WIDTH * 4


def vectors_of(number: int) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    return np.stack([node.embedding for node in item(number)[1] if node.embedding is not None])


def cut_short(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: 4 * WIDTH * 5 - 2])  # into the second document


def turn_a_bit(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[4 * WIDTH * 4 + 17] ^= 4
    file.write_bytes(data)


@pytest.mark.parametrize(
    ("damage", "damaged"),
    [(cut_short, ["d2", "d3"]), (turn_a_bit, ["d2"]), (Path.unlink, ["d1", "d2", "d3"])],
    ids=["truncated", "bit-flipped", "missing"],
)
def test_damaged_vectors_are_detected_skipped_and_repaired(
    tmp_path: Path, damage: Callable[[Path], None], damaged: list[str]
) -> None:
    with opened(tmp_path) as store:
        for number in (1, 2, 3):
            store.upsert(*item(number))
        assert store.verify() == []
    (file,) = (tmp_path / "vectors").iterdir()
    damage(file)
    with opened(tmp_path) as store, opened(tmp_path) as other:
        assert len(store.keyword_search("word2", 5)) == 3
        assert other.verify() == damaged
        assert other.verify() == damaged
        sound = [id_ for id_ in ("d1", "d2", "d3") if id_ not in damaged]
        everything = store.search(direction(1), 99)
        assert {str(hit.node.ref_doc_id) for hit in everything} == set(sound)
        assert {
            str(hit.node.ref_doc_id) for hit in store.search(direction(1), 99, Scope(["d1", "d2", "d3"]))
        } == set(sound)
        assert len(store.candidates().ids) == 3 * len(sound)
        assert [node.embedding is None for node in store.nodes(["d1/0", "d2/0"])] == ["d1" in damaged, True]
        assert {hit.node.ref_doc_id for hit in store.keyword_search("part0", 5)} == {"d1", "d2", "d3"}
        store.upsert(*item(4))
        for id_ in damaged:
            store.replace_vectors(id_, vectors_of(int(id_[1:])))
        assert other.verify() == []
        assert check(store, tmp_path) == {1, 2, 3, 4}
        ties = [hit.node.id_ for hit in store.search(np.zeros(WIDTH, np.float32), 12)]
        assert ties == [f"d{number}/{i}" for number in (1, 2, 3, 4) for i in range(3)]


@pytest.mark.parametrize(
    ("damage", "words"), [(cut_short, "holds 318 bytes, but 576 bytes"), (Path.unlink, "is missing")]
)
def test_missing_vectors_are_damaged_until_verified(
    tmp_path: Path, damage: Callable[[Path], None], words: str
) -> None:
    with opened(tmp_path) as store:
        for number in (1, 2, 3):
            store.upsert(*item(number))
    (file,) = (tmp_path / "vectors").iterdir()
    damage(file)
    with opened(tmp_path) as store:
        for call in (lambda: store.search(direction(1), 1), lambda: store.nodes(["d1/0"])):
            with pytest.raises(DamagedStoreError, match=f"{file.name}.*{words}") as caught:
                call()
            assert "Keyword search still works" in caught.value.hint
        with pytest.raises(DamagedStoreError, match=r"shorter than|is missing"):
            store.upsert(*item(4))
        assert [stored.id_ for stored in store.documents()] == ["d1", "d2", "d3"]
        store.delete("d2")
        assert len(store.keyword_search("word1", 5)) == 3


def test_damaged_documents_can_be_replaced_deleted_and_compacted(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        for number in range(6):
            store.upsert(*item(number))
        (file,) = (tmp_path / "vectors").iterdir()
        file.unlink()
        assert len(store.verify()) == 6
        store.upsert(*item(1))
        store.delete("d2")
        store.compact()
        assert {str(hit.node.ref_doc_id) for hit in store.search(direction(1), 99)} == {"d1"}
        assert store.verify() == ["d0", "d3", "d4", "d5"]
        for number in (0, 3, 4, 5):
            store.replace_vectors(f"d{number}", vectors_of(number))
        assert check(store, tmp_path) == {0, 1, 3, 4, 5}


def test_vectors_that_do_not_fit_repair_nothing(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        store.upsert(*item(1))
        store.replace_vectors("d1", vectors_of(2))  # not damaged: another process was quicker
        assert check(store, tmp_path) == {1}
        (file,) = (tmp_path / "vectors").iterdir()
        file.unlink()
        store.verify()
        with pytest.raises(ValueError, match="has 3 passages, but was given 2 vectors"):
            store.replace_vectors("d1", vectors_of(1)[:2])
        with pytest.raises(DimensionError):
            store.replace_vectors("d1", np.ones((3, 5), np.float32))
        with pytest.raises(UnknownDocumentError):
            store.replace_vectors("d2", vectors_of(2))
        assert store.verify() == ["d1"]


def test_dropping_an_index_removes_it_and_leaves_others_whole(tmp_path: Path) -> None:
    with opened(tmp_path) as store, opened(tmp_path, index="next") as following:
        store.upsert(*item(1))
        store._database.shrink()
        small = store._database.path.stat().st_size
        for number in range(300):
            following.upsert(*item(number, 5))
        following.delete("d7")
        assert following.search(direction(1), 1)
        following.drop()
        assert len(following) == 0
        assert (
            following.documents()
            == following.search(direction(1), 1)
            == following.keyword_search("word1", 1)
            == []
        )
        assert check(store, tmp_path) == {1}
        assert len(list((tmp_path / "vectors").iterdir())) == 1
        assert store._database.path.stat().st_size < small + 20_000
        following.drop()
        following.upsert(*item(2))
        assert check(following, tmp_path) == {2}


def test_an_index_dropped_in_a_transaction_comes_back_with_it(tmp_path: Path) -> None:
    def dropped_and_then_not(store: DiskStore) -> None:
        with store._database.transaction():
            store.drop()
            assert store.documents() == []
            raise ZeroDivisionError

    with opened(tmp_path) as store:
        store.upsert(*item(1))
        with pytest.raises(ZeroDivisionError):
            dropped_and_then_not(store)
        assert check(store, tmp_path) == {1}
        with store._database.transaction():
            store.drop()
        store.reclaim()
        assert list((tmp_path / "vectors").iterdir()) == []


def test_unwritable_vector_folder_is_an_error_without_changes(tmp_path: Path) -> None:
    (tmp_path / "vectors").write_text("a file where the folder should be")
    with opened(tmp_path) as store:
        with pytest.raises(StoreError, match=r"vectors cannot be written to .*vectors"):
            store.upsert(*item(1))
        assert store.documents() == []


FILLER = """
import resource, sys
from pathlib import Path
from ragcore.errors import StoreError
from tests.faults.test_store_faults import opened, wide
resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
with opened(Path(sys.argv[1])) as store:
    for number in range(1000):
        try:
            store.upsert(*wide(number, int(sys.argv[2]), int(sys.argv[3])))
        except StoreError as error:
            print(number, error.what, error.hint, sep="|")
            break
    print(sorted(int(stored.id_[1:]) for stored in store.documents()) == list(range(number)))
"""


def wide(number: int, width: int, characters: int) -> tuple[Document, list[TextNode]]:
    text = " ".join(f"{number}x{i * i % 9973}" for i in range(characters // 6))
    vector = np.random.default_rng(number).normal(size=width).astype(np.float32)
    return Document(text, id_=f"d{number}"), [
        TextNode(text, f"d{number}/0", ref_doc_id=f"d{number}", embedding=vector)
    ]


@pytest.mark.skipif(sys.platform == "win32", reason="the size of files is limited as Unix does")
@pytest.mark.parametrize(
    ("width", "characters", "words"),
    [
        (30_000, 60, "The vectors cannot be written to"),
        (8, 9000, "no room on the disk|cannot be opened or written"),
    ],
    ids=["vectors", "database"],
)
def test_a_disk_that_is_full_loses_nothing_that_was_stored(
    tmp_path: Path, width: int, characters: int, words: str
) -> None:
    arguments = [sys.executable, "-c", FILLER, str(tmp_path), str(width), str(characters)]
    said = subprocess.run(arguments, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    stored, what, hint = said[0].split("|")
    assert re.search(words, what)
    assert hint
    assert said[1] == "True"  # the documents that it said were stored, and no other
    count = int(stored)
    assert count > 1
    with opened(tmp_path) as store:
        assert store.verify() == []
        for number in (count, *range(0, count, 5)):
            document, (node,) = wide(number, width, characters)
            if number == count:
                store.upsert(document, [node])  # there is room again
            assert node.embedding is not None
            assert store.search(node.embedding, 1)[0].node.id_ == node.id_
            assert store.document(document.id_).text == document.text
            assert [hit.node.id_ for hit in store.keyword_search(f"{number}x1", 1)] == [node.id_]
        assert len(store) == count + 1


READER = """
import os, sys
from pathlib import Path
from ragcore.errors import StoreError
from tests.faults.test_store_faults import check, direction, item, opened
with opened(Path(sys.argv[2])) as store:  # everything is imported while it may be read
    store.upsert(*item(1))
    check(store, Path(sys.argv[2]))
    store.delete("d1")
if os.getuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
with opened(Path(sys.argv[1])) as store:
    assert [stored.id_ for stored in store.documents()] == ["d1", "d2"]
    assert store.search(direction(201), 1)[0].node.id_ == "d2/1"
    assert len(store.keyword_search("word1", 5)) == 3
    assert store.verify() == []
    for change in (lambda: store.upsert(*item(3)), lambda: store.delete("d1"), store.drop):
        try:
            change()
        except StoreError as error:
            assert "written" in error.what, error.what
            assert "you may write" in error.hint
        else:
            raise AssertionError("it was written")
    assert store.search(direction(101), 1)[0].node.id_ == "d1/1"
"""


@pytest.mark.skipif(sys.platform == "win32", reason="rights are those of Unix")
@pytest.mark.parametrize("written_by_another", [False, True])
def test_a_library_that_cannot_be_written_still_answers(tmp_path: Path, written_by_another: bool) -> None:
    with tempfile.TemporaryDirectory() as name:  # which another user may enter, unlike that of the tests
        folder = Path(name)
        folder.chmod(0o755)
        with opened(folder) as store:
            store.upsert(*item(1))
        with opened(folder) as store:
            store.upsert(*item(2))
            if not written_by_another:
                store.close()
                store._database.close()
            paths = [folder, *folder.rglob("*")]
            for path in paths:
                path.chmod(0o555 if path.is_dir() else 0o444)
            try:
                subprocess.run([sys.executable, "-c", READER, str(folder), str(tmp_path)], check=True)
            finally:
                for path in paths:
                    path.chmod(0o755 if path.is_dir() else 0o644)


PUTTER = """
import sys
from pathlib import Path
from tests.faults.test_store_faults import item, opened
with opened(Path(sys.argv[1])) as store:
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(int(sys.argv[2]), 40, 2):
        store.upsert(*item(number))
        store.upsert(*item(99, 1 + number % 4))
        if number >= 20:
            store.delete(f"d{number}")
"""


def test_two_processes_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", PUTTER, str(tmp_path), str(first)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for first in (0, 1)
    ]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"ready\n"
    for writer in writers:
        writer.communicate(b"go\n")
        assert writer.returncode == 0
    with opened(tmp_path) as store:
        assert check(store, tmp_path) == {*range(20), 99}
        assert store.verify() == []
        store.compact()
        assert check(store, tmp_path) == {*range(20), 99}


def test_documents_keep_order_when_the_clock_goes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(range(1_000_000, 0, -1000))
    monkeypatch.setattr(time, "time", lambda: float(next(clock)))
    with opened(tmp_path) as store:
        for number in (1, 2, 3, 1):
            store.upsert(*item(number))
        assert [stored.id_ for stored in store.documents()] == ["d2", "d3", "d1"]
        ties = store.search(np.zeros(WIDTH, np.float32), 9)
        assert [hit.node.ref_doc_id for hit in ties[::3]] == ["d2", "d3", "d1"]
        assert check(store, tmp_path) == {1, 2, 3}


def test_what_another_process_changes_is_seen_at_the_next_search(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from tests.faults.test_store_faults import item, opened\n"
    )
    program += "with opened(Path(sys.argv[1])) as store: "

    def elsewhere(statement: str) -> None:
        subprocess.run([sys.executable, "-c", program + statement, str(tmp_path)], check=True)

    with opened(tmp_path) as store:
        store.upsert(*item(1))
        assert check(store, tmp_path) == {1}
        elsewhere("store.upsert(*item(2, 9)); store.upsert(*item(3))")
        assert check(store, tmp_path) == {1, 2, 3}
        elsewhere("store.delete('d2'); store.upsert(*item(4, 2))")
        assert check(store, tmp_path) == {1, 3, 4}
        assert len(list((tmp_path / "vectors").iterdir())) == 1
        with pytest.raises(UnknownDocumentError):
            store.delete("d2")
        elsewhere("[store.delete(f'd{i}') for i in (1, 3, 4)]")
        assert check(store, tmp_path) == set()
        assert store.search(direction(1), 3) == []
        store.upsert(*item(5))
        assert check(store, tmp_path) == {5}


def test_a_reader_goes_on_while_another_object_compacts(tmp_path: Path) -> None:
    failures: list[BaseException] = []
    done = threading.Event()
    with opened(tmp_path) as store, opened(tmp_path) as other:
        store.upsert(*item(1))

        def read() -> None:
            try:
                while not done.is_set():
                    assert [hit.node.id_ for hit in store.search(direction(101), 1)] == ["d1/1"]
                    assert [node.id_ for node in store.nodes(["d1/0", "d1/2"])] == ["d1/0", "d1/2"]
            except BaseException as error:  # noqa: BLE001 - told by the test's own thread
                failures.append(error)

        thread = threading.Thread(target=read)
        thread.start()
        for _ in range(15):
            other.upsert(*item(2, 20))
            other.delete("d2")
        done.set()
        thread.join()
        assert not failures
        assert check(store, tmp_path) == {1}


def test_two_indexes_of_one_library_know_nothing_of_each_other(tmp_path: Path) -> None:
    with opened(tmp_path) as first, opened(tmp_path, index="other '\" index") as second:
        first.upsert(*item(1))
        source, _ = item(1)
        second.upsert(source, [TextNode("word1 elsewhere", "d1/0", embedding=np.ones(2, np.float32))])
        second.upsert(Document("x", id_="only"), [TextNode("x", "x", embedding=np.ones(2, np.float32))])
        assert check(first, tmp_path) == {1}
        assert [hit.node.text for hit in second.keyword_search("word1", 5)] == ["word1 elsewhere"]
        assert [hit.node.id_ for hit in second.search(np.ones(2, np.float32), 5, Scope(["d1"]))] == ["d1/0"]
        first.delete("d1")
        assert len(second) == 2
        assert len(second.search(np.ones(2, np.float32), 5)) == 2


def test_deleting_everything_gives_the_disk_back(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        empty = None
        for number in range(10):
            text = " ".join(f"word{number}x{i}" for i in range(4000))
            nodes = [
                TextNode(text[i * 400 : (i + 1) * 400], f"{number}/{i}", embedding=direction(i))
                for i in range(len(text) // 400)
            ]
            store.upsert(Document(text, id_=str(number)), nodes)
            empty = empty or store.bytes_on_disk()
        store._database.shrink()
        full = store.bytes_on_disk()
        for number in range(10):
            store.delete(str(number))
        assert full > 500_000
        assert store.bytes_on_disk() < 100_000
        assert list((tmp_path / "vectors").iterdir()) == []


def test_deleting_most_gives_most_of_the_vectors_back(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        for number in range(10):
            store.upsert(*item(number, 10))
        for number in range(6):
            store.delete(f"d{number}")
        (file,) = (tmp_path / "vectors").iterdir()
        assert file.stat().st_size == 40 * WIDTH * 4
        assert check(store, tmp_path) == {6, 7, 8, 9}


def test_replacing_a_document_repeatedly_does_not_grow_vectors(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        store.upsert(*item(1, 2))
        for _ in range(30):
            store.upsert(*item(2, 4))
        (file,) = (tmp_path / "vectors").iterdir()
        assert file.stat().st_size <= 2 * 6 * WIDTH * 4 + 4 * WIDTH * 4
        assert check(store, tmp_path) == {1, 2}


def test_a_keyword_index_of_other_rules_is_rebuilt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as earlier, opened(tmp_path) as store:
        earlier.setattr(disk, "terms_version", lambda: "an earlier version")
        earlier.setattr(sql_store, "passage_terms", lambda node: ["nothing", "like", "today's", "words"])
        for number in range(4):
            store.upsert(*item(number))
        assert store.keyword_search("word1", 5) == []
    with opened(tmp_path) as store:
        assert [hit.node.id_ for hit in store.keyword_search("word1", 5)] == ["d1/0", "d1/1", "d1/2"]
        assert store.keyword_search("nothing", 5) == []
        store.delete("d2")
        assert check(store, tmp_path) == {0, 1, 3}


def test_postponed_keywords_are_indexed_at_the_first_search(tmp_path: Path) -> None:
    database = SQLiteDatabase(tmp_path / "library.db", SCHEMA)
    store = DiskStore(database, vectors=tmp_path / "vectors", words_when_asked=True)
    for number in (1, 2, 3):
        store.upsert(*item(number))
    store.delete("d2")
    store.upsert(*item(3, 5))
    assert database.connection().execute("SELECT count(*) FROM keyword_segments").fetchone()[0] == 0
    assert check(store, tmp_path) == {1, 3}
    store.upsert(*item(4))
    store.delete("d1")
    assert check(store, tmp_path) == {3, 4}
    store.close()
    database.close()


def test_opening_reads_nothing_and_has_constant_cost(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        for number in range(30):
            store.upsert(*item(number, 30))
    with opened(tmp_path) as store:
        steps = 0

        def count() -> int:
            nonlocal steps
            steps += 1
            return 0

        store._database.connection().set_progress_handler(count, 1)
        assert len(store) == 900
        assert len(store.search(direction(1), 5)) == 5
        store._database.connection().set_progress_handler(None, 1)
        assert steps < 900  # of SQLite's virtual machine: a scan of the passages would need several for each


def test_closing_during_the_vector_file_search_waits_for_it(tmp_path: Path) -> None:
    """Outside of a snapshot the two threads would wait for each other for ever."""
    with opened(tmp_path) as store:
        store.upsert(*item(1))
        database = store._database
        closers: list[threading.Thread] = []

        def close_meanwhile() -> int:
            closers.append(threading.Thread(target=database.close))
            closers[-1].start()
            closers[-1].join()
            return 0

        database.connection().set_progress_handler(close_meanwhile, 1)
        sweep(database, store._vectors.files)
        assert len(closers) > 1
        assert check(store, tmp_path) == {1}


def test_earlier_version_opens_with_vectors_of_length_1(tmp_path: Path) -> None:
    source, nodes = item(1)
    with opened(tmp_path) as store:
        store.upsert(source, nodes)
        store._database.connection().execute("ALTER TABLE passages DROP COLUMN length")
    with opened(tmp_path) as store:
        assert store.candidates().lengths.tolist() == [1.0] * 3
        assert [
            float(np.linalg.norm(node.embedding)) for node in store.nodes(["d1/0", "d1/1"])
        ] == pytest.approx([1.0, 1.0])
        store.upsert(*item(2))
        assert store.candidates(Scope(document_ids=["d2"])).lengths == pytest.approx(
            [np.linalg.norm(direction(200 + i)) for i in range(3)]
        )


def test_a_filter_reads_no_text_of_a_passage_that_it_leaves_out(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        for number in range(5):
            source, nodes = item(number)
            metadata = {"number": number}
            store.upsert(
                replace(source, metadata=metadata), [replace(node, metadata=metadata) for node in nodes]
            )
        database = store._database.connection()
        database.execute(
            "UPDATE texts SET data = x'00' WHERE document != (SELECT seq FROM documents WHERE id = 'd3')"
        )
        only = MetadataFilters([MetadataFilter("number", 3)])
        for found in (
            store.search(direction(1), 9, Scope(filters=only)),
            store.keyword_search("part0 part1 part2", 9, Scope(filters=only)),
        ):
            assert {hit.node.id_ for hit in found} == {"d3/0", "d3/1", "d3/2"}
        assert store.candidates().ids == [f"d{number}/{i}" for number in range(5) for i in range(3)]


def test_candidates_of_few_passages_are_looked_up_directly(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        for number in range(40):
            store.upsert(*item(number, passages=50))
        steps = [0]

        def count() -> int:
            steps[0] += 10
            return 0

        store._database.connection().set_progress_handler(count, 10)
        found = store.candidates(Scope(node_ids=["d7/3", "d31/49"]))
        store._database.connection().set_progress_handler(None, 0)
    assert found.ids == ["d7/3", "d31/49"]
    # of SQLite's virtual machine; to look at every passage takes more than 10 for each
    assert steps[0] < 2000
