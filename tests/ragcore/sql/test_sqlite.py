import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from ragcore.errors import DamagedStoreError, StoreError
from ragcore.sql.base import BusyError
from ragcore.sql.sqlite import SQLiteDatabase

SCHEMA = "CREATE TABLE IF NOT EXISTS things (name TEXT PRIMARY KEY);"


def names(database: SQLiteDatabase) -> list[str]:
    return [row["name"] for row in database.connection().execute("SELECT name FROM things ORDER BY name")]


def add(connection: sqlite3.Connection, name: str) -> None:
    connection.execute("INSERT INTO things VALUES (?)", (name,))


@pytest.fixture
def database(tmp_path: Path) -> Iterator[SQLiteDatabase]:
    opened = SQLiteDatabase(tmp_path / "deep" / "library.db", SCHEMA)
    yield opened
    opened.close()


def test_no_file_is_created_before_its_first_use(database: SQLiteDatabase) -> None:
    assert not database.path.parent.exists()
    assert names(database) == []
    assert database.path.exists()


@pytest.mark.smoke
def test_a_transaction_is_stored_whole_or_not_at_all(database: SQLiteDatabase) -> None:
    with database.transaction() as connection:
        add(connection, "a")
    with pytest.raises(sqlite3.IntegrityError), database.transaction() as connection:
        connection.executemany("INSERT INTO things VALUES (?)", [("b",), ("a",)])
    assert names(database) == ["a"]


def test_a_transaction_inside_another_is_part_of_it(database: SQLiteDatabase) -> None:
    def nested() -> None:
        with database.transaction():
            with database.transaction() as connection:
                add(connection, "a")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        nested()
    assert names(database) == []


def test_work_before_commit_runs_once_inside_the_transaction(database: SQLiteDatabase) -> None:
    done: list[int] = []

    def work() -> None:
        assert database.connection().in_transaction
        done.append(len(names(database)))

    with database.transaction() as connection:
        with database.transaction():
            database.before_commit("work", work)
        add(connection, "a")
        database.before_commit("work", work)
        assert done == []
    assert done == [1]
    with database.transaction() as connection:
        add(connection, "b")
    with database.transaction() as connection:
        add(connection, "c")
    assert done == [1]


def test_change_is_undone_if_work_before_the_commit_fails(database: SQLiteDatabase) -> None:
    def fails() -> None:
        raise ZeroDivisionError

    def change() -> None:
        with database.transaction() as connection:
            add(connection, "a")
            database.before_commit("work", fails)

    with pytest.raises(ZeroDivisionError):
        change()
    assert names(database) == []


def test_a_snapshot_sees_one_moment(database: SQLiteDatabase) -> None:
    other = SQLiteDatabase(database.path)
    with database.snapshot():
        assert names(database) == []
        with other.transaction() as connection:
            add(connection, "a")
        assert names(database) == []
    assert names(database) == ["a"]
    other.close()


def test_each_thread_has_its_connection_which_ends_with_it(database: SQLiteDatabase) -> None:
    seen: list[sqlite3.Connection] = [database.connection()]
    for _ in range(3):
        thread = threading.Thread(target=lambda: seen.append(database.connection()))
        thread.start()
        thread.join()
    assert len(set(map(id, seen))) == 4
    assert names(database) == []
    for connection in seen[1:]:
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            connection.execute("SELECT 1")


def test_closing_closes_the_connections_of_all_threads(database: SQLiteDatabase) -> None:
    begun, done = threading.Event(), threading.Event()
    seen: list[sqlite3.Connection] = []

    def hold() -> None:
        seen.append(database.connection())
        begun.set()
        done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    begun.wait()
    database.close()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        seen[0].execute("SELECT 1")
    done.set()
    thread.join()


def test_work_on_a_database_that_another_thread_closes_says_so(database: SQLiteDatabase) -> None:
    def closed_meanwhile() -> None:
        with database.snapshot() as db:
            database.close()
            db.execute("SELECT 1")

    with pytest.raises(StoreError, match="was closed"):
        closed_meanwhile()


def test_a_file_deleted_while_in_use_is_not_created_again(database: SQLiteDatabase) -> None:
    names(database)
    database.close()
    shutil.rmtree(database.path.parent)
    with pytest.raises(StoreError, match="no longer there"), database.transaction() as connection:
        add(connection, "a")
    assert not database.path.parent.exists()


def test_closing_lets_the_transaction_of_another_thread_end(database: SQLiteDatabase) -> None:
    """SQLite would crash the process."""
    begun, ended, closed = threading.Event(), threading.Event(), threading.Event()

    def count() -> None:
        with database.transaction() as connection:
            begun.set()
            for _ in range(20):
                connection.execute(
                    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000) "
                    "SELECT sum(i) FROM n"
                )
            ended.wait()
            with database.transaction():  # part of the one around it, closed or not
                add(database.connection(), "a")
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            connection.execute("SELECT 1")
        closed.set()

    thread = threading.Thread(target=count)
    thread.start()
    begun.wait()
    for _ in range(100):
        database.close()
    ended.set()
    thread.join()
    assert closed.is_set()
    assert names(database) == ["a"]


def test_a_second_writer_waits_for_the_first(database: SQLiteDatabase) -> None:
    other = SQLiteDatabase(database.path)
    order = []

    def write() -> None:
        with other.transaction() as connection:
            order.append("second")
            add(connection, "b")
        other.close()

    with database.transaction() as connection:
        thread = threading.Thread(target=write)
        thread.start()
        add(connection, "a")
        thread.join(0.2)
        order.append("first")
    thread.join()
    assert order == ["first", "second"]
    assert names(database) == ["a", "b"]


def test_reading_waits_for_no_writer(database: SQLiteDatabase) -> None:
    other = SQLiteDatabase(database.path, SCHEMA)
    names(database)
    with database.transaction() as connection:
        add(connection, "a")
        assert names(other) == []
    other.close()


def test_a_writer_that_waits_too_long_says_so(
    database: SQLiteDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragcore.sql.sqlite.BUSY_SECONDS", 0.05)
    other = SQLiteDatabase(database.path)
    with (
        database.transaction(),
        pytest.raises(BusyError, match="being written by another program"),
        other.transaction(),
    ):
        pass
    other.close()


def test_many_processes_can_make_the_same_new_library(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from ragcore.sql.sqlite import SQLiteDatabase\n"
        f"database = SQLiteDatabase(Path(sys.argv[1]), {SCHEMA!r})\n"
        "with database.transaction() as c: c.execute('INSERT INTO things VALUES (?)', (sys.argv[2],))\n"
    )
    path = tmp_path / "library.db"
    started = [subprocess.Popen([sys.executable, "-c", program, str(path), str(i)]) for i in range(4)]
    assert [process.wait() for process in started] == [0] * 4
    database = SQLiteDatabase(path)
    assert names(database) == ["0", "1", "2", "3"]
    database.close()


@pytest.mark.parametrize(
    "content", [b"no database, but long enough to be one" * 100, b"SQLite format 3\0" + b"\1" * 5000]
)
def test_a_file_that_is_no_library_is_called_damaged(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "library.db"
    path.write_bytes(content)
    database = SQLiteDatabase(path, SCHEMA)
    with pytest.raises(DamagedStoreError, match=r"library\.db is damaged") as caught:
        names(database)
    assert "backup" in caught.value.hint
    assert path.read_bytes() == content


def test_a_folder_in_the_place_of_the_file_cannot_be_opened(tmp_path: Path) -> None:
    (tmp_path / "library.db").mkdir()
    database = SQLiteDatabase(tmp_path / "library.db", SCHEMA)
    with pytest.raises(StoreError, match="cannot be opened"):
        names(database)


def test_a_full_disk_changes_nothing_and_says_so(database: SQLiteDatabase) -> None:
    names(database)
    connection = database.connection()
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {pages}").fetchall()
    with (
        pytest.raises(StoreError, match="not enough space on the disk"),
        database.transaction() as connection,
    ):
        add(connection, "x" * 100_000)
    connection.execute("PRAGMA max_page_count = 1000000").fetchall()
    with database.transaction() as connection:
        add(connection, "a")
    assert names(database) == ["a"]


def test_the_space_of_deleted_rows_goes_back_to_the_disk(database: SQLiteDatabase) -> None:
    with database.transaction() as connection:
        for i in range(50):
            add(connection, f"{i}" + "x" * 20_000)
    database.shrink()
    full = database.path.stat().st_size
    with database.transaction() as connection:
        connection.execute("DELETE FROM things")
    database.shrink()
    assert full > 1_000_000
    assert database.path.stat().st_size < 50_000
    assert database.path.with_name("library.db-wal").stat().st_size == 0


def test_shrinking_is_postponed_while_another_writes(
    database: SQLiteDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragcore.sql.sqlite.SHRINK_SECONDS", 0.01)
    with database.transaction() as connection:
        add(connection, "x" * 100_000)
        add(connection, "b")
    with database.transaction() as connection:
        connection.execute("DELETE FROM things WHERE name != 'b'")
    other = SQLiteDatabase(database.path)
    with other.transaction():
        database.shrink()
    other.close()
    assert names(database) == ["b"]


def test_file_of_an_earlier_version_gets_its_missing_columns(tmp_path: Path) -> None:
    path = tmp_path / "library.db"
    earlier = SQLiteDatabase(path, SCHEMA)
    with earlier.transaction() as db:
        db.execute("INSERT INTO things VALUES ('kept')")
    earlier.close()
    columns = "word TEXT NOT NULL DEFAULT 'page', note TEXT"
    later = SQLiteDatabase(path, "CREATE TABLE IF NOT EXISTS things (name TEXT, " + columns + ")")
    assert [tuple(row) for row in later.connection().execute("SELECT name, word, note FROM things")] == [
        ("kept", "page", None)
    ]
    later.close()


def test_missing_tables_of_an_old_file_are_empty_on_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, earlier, new = (
        tmp_path / "library.db",
        "CREATE TABLE IF NOT EXISTS a (id TEXT)",
        "CREATE TABLE IF NOT EXISTS b (id TEXT)",
    )
    database = SQLiteDatabase(path, earlier)
    with database.transaction() as db:
        db.execute("INSERT INTO a VALUES ('one')")
    database.close()
    monkeypatch.setattr("ragcore.sql.sqlite.ROOM", sys.maxsize)
    database = SQLiteDatabase(path, earlier, new)
    with database.snapshot() as db:
        assert [row["id"] for row in db.execute("SELECT id FROM a UNION ALL SELECT id FROM b")] == ["one"]
    for table in ("a", "b"):
        with pytest.raises(StoreError, match="not enough space"), database.transaction() as db:
            db.execute(f"INSERT INTO {table} VALUES ('two')")
    with pytest.raises(StoreError, match="made by an earlier version"):
        SQLiteDatabase(path, "CREATE TABLE IF NOT EXISTS a (id TEXT, more TEXT)").connection()
    monkeypatch.undo()
    with database.transaction() as db:
        db.execute("INSERT INTO b VALUES ('two')")
    database.close()


def test_file_that_cannot_be_upgraded_names_the_right_version(tmp_path: Path) -> None:
    path = tmp_path / "library.db"
    earlier = SQLiteDatabase(path, SCHEMA)
    names(earlier)
    earlier.close()
    later = SQLiteDatabase(path, "CREATE TABLE IF NOT EXISTS things (name TEXT, owner TEXT NOT NULL)")
    with pytest.raises(
        StoreError, match="another version of Lectern: its table things has no owner"
    ) as caught:
        later.connection()
    assert "version that made it" in caught.value.hint


def test_missing_folder_is_reported_and_is_no_full_disk(database: SQLiteDatabase) -> None:
    with pytest.raises(StoreError, match="cannot be opened or written"), database._translate_errors():
        # what SQLite says when its folder is deleted under it
        raise sqlite3.OperationalError("disk I/O error")
    assert not database.path.parent.exists()


def test_a_transaction_succeeds_after_a_failed_preparation(tmp_path: Path) -> None:
    schema = "CREATE TABLE IF NOT EXISTS words (word TEXT PRIMARY KEY)"
    database = SQLiteDatabase(tmp_path / "a.db", schema, without_checksums=())
    triggers = []

    def refuse_the_second(action: int, name: str | None, *_about: str | None) -> int:
        if action == sqlite3.SQLITE_CREATE_TEMP_TRIGGER:
            triggers.append(name)
        return sqlite3.SQLITE_DENY if len(triggers) == 2 else sqlite3.SQLITE_OK

    database.connection().set_authorizer(refuse_the_second)
    with pytest.raises(DamagedStoreError), database.transaction():
        pass
    database.connection().set_authorizer(None)
    with database.transaction() as db:
        db.execute("INSERT INTO words VALUES ('kettle')")
    with database.snapshot() as db:
        query = "SELECT count(*) FROM row_checksums WHERE of_table <> 'sqlite_master'"
        assert db.execute(query).fetchone()[0] == 1
    database.close()


def test_a_process_ends_while_another_thread_reads(tmp_path: Path) -> None:
    """Closing the connection then would wait for its statement, or crash."""
    code = """
import sys, threading, time
from pathlib import Path
from ragcore.sql.sqlite import SQLiteDatabase
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT sum(i) FROM n"
begun = threading.Event()
def count(database):
    with database.snapshot() as connection:
        begun.set()
        connection.execute(ENDLESS).fetchall()
database = SQLiteDatabase(Path(sys.argv[1]))
threading.Thread(target=count, args=(database,), daemon=True).start()
begun.wait()
time.sleep(0.1)
"""
    ended = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "a.db")], capture_output=True, text=True, timeout=60
    )
    assert (ended.returncode, ended.stderr) == (0, "")
