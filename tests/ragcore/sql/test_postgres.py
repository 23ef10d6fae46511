"""What the database on a PostgreSQL server promises, on a real server."""

from __future__ import annotations

import re
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from enum import Enum
from pathlib import Path

import pytest

from ragcore.errors import ConfigError, MissingPackageError, StoreError
from ragcore.sql.base import BusyError
from ragcore.sql.postgres import SILENT_SECONDS, PostgresConnection, PostgresDatabase, _socket_to
from ragcore.sql.postgres_address import address_of
from ragcore.sql.postgres_errors import LostConnectionError
from tests import postgres
from tests.needs import needs_program

SCHEMA = """
CREATE TABLE IF NOT EXISTS things (
    place INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,  -- of the thing: what it is called
    weight REAL,
    data BLOB
);
CREATE TABLE IF NOT EXISTS parts (
    thing INTEGER REFERENCES things (place), part TEXT, PRIMARY KEY (thing, part)
) WITHOUT ROWID;
"""


@pytest.fixture
def url() -> str:
    return postgres.fresh()


@pytest.fixture
def database(url: str) -> Iterator[PostgresDatabase]:
    opened = PostgresDatabase(url, SCHEMA)
    yield opened
    opened.close()


def names(database: PostgresDatabase) -> list[str]:
    with database.snapshot() as db:
        return [row["name"] for row in db.execute("SELECT name FROM things ORDER BY name")]


def add(connection: PostgresConnection, name: str) -> None:
    connection.execute("INSERT INTO things (name) VALUES (?)", (name,))


def backends(database: PostgresDatabase) -> int:
    with database.snapshot() as db:
        count: int = db.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'lectern'"
        ).fetchone()[0]
        return count


def test_values_are_read_as_they_were_written(database: PostgresDatabase) -> None:
    class Kind(str, Enum):
        PLAIN = "plain 'text'"

    escapes = 'Ünï 東京 🎉 \\ " ? :x \0 \uffff0 \uffff'
    given = [(Kind.PLAIN, 1 / 3, bytes(range(256))), (escapes, -0.0, b""), ("", None, None)]
    with database.transaction() as db:
        for name, weight, data in given:
            db.execute("INSERT INTO things (name, weight, data) VALUES (?, ?, ?)", (name, weight, data))
    with database.snapshot() as db:
        rows = db.execute("SELECT name, weight, data FROM things ORDER BY place").fetchall()
    assert [tuple(row) for row in rows] == given
    assert rows[0][0] == rows[0]["name"] == "plain 'text'"
    with database.snapshot() as db:
        found = db.execute(
            "SELECT name FROM things WHERE name = ANY(?) ORDER BY place", ([name for name, *_ in given],)
        )
        assert [row["name"] for row in found] == [name for name, *_ in given]
        assert len(db.execute("SELECT place FROM things WHERE place = ANY(?)", ([1, 3, 7],)).fetchall()) == 2
    assert rows[0].keys() == ["name", "weight", "data"]


def test_settings_by_an_administrator_change_nothing() -> None:
    url = postgres.separate(
        "arranged",
        "SQL_ASCII",
        "bytea_output = 'escape'",
        "extra_float_digits = 0",
        "default_transaction_isolation = 'serializable'",
        "statement_timeout = '5s'",
    )
    one, other = PostgresDatabase(url, SCHEMA), PostgresDatabase(url, SCHEMA)
    test_values_are_read_as_they_were_written(one)

    def count(database: PostgresDatabase) -> None:
        for _ in range(20):
            with database.transaction() as db:
                (weight,) = db.execute("SELECT weight FROM things WHERE name = ''").fetchall()[0]
                db.execute("UPDATE things SET weight = ? WHERE name = ''", ((weight or 0) + 1,))

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(count, (one, other)))
    with one.snapshot() as db:
        assert db.execute("SELECT weight FROM things WHERE name = ''").fetchall()[0][0] == 40
        assert db.execute("SHOW statement_timeout").fetchall()[0][0] == "0"
    one.close()
    other.close()


def test_database_of_a_narrow_encoding_says_how_to_make_another() -> None:
    database = PostgresDatabase(postgres.separate("latin", "LATIN1"), SCHEMA)
    with database.transaction() as db:
        add(db, "Straße")
    with (
        pytest.raises(StoreError, match="stores text in an encoding that lacks a character") as caught,
        database.transaction() as db,
    ):
        add(db, "東京")
    assert "--encoding UTF8" in caught.value.hint
    assert names(database) == ["Straße"]
    database.close()


def test_placeholders_are_those_outside_of_texts_and_names(database: PostgresDatabase) -> None:
    with database.snapshot() as db:
        row = db.execute(
            "SELECT '?:a''?' AS \"b:c?\", ?::bigint + CAST(? AS BIGINT) AS sum -- ? :d\n", (1, 2)
        ).fetchone()
        assert row is not None
        assert list(row) == ["?:a'?", 3]
        twice = db.execute("SELECT :x::bigint * :x::bigint, :y::text", {"y": "z", "x": 7}).fetchone()
        assert twice is not None
        assert list(twice) == [49, "z"]
        assert db.execute("SELECT '?'").fetchone()[0] == "?"  # type: ignore[index]
        assert db.execute("SELECT sum(n), avg(n), count(*) FROM (VALUES (1), (2)) AS v (n)").fetchall()[0][
            :
        ] == [3, 1.5, 2]


def test_many_rows_are_written_with_few_statements_and_counted(
    database: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[str] = []
    execute = PostgresConnection.execute

    def noted(connection: PostgresConnection, sql: str, parameters: Sequence[object] = ()) -> object:
        if sql.startswith("INSERT INTO things"):
            sent.append(sql)
        return execute(connection, sql, parameters)

    monkeypatch.setattr(PostgresConnection, "execute", noted)
    with database.transaction() as db:
        assert (
            db.executemany(
                "INSERT INTO things (name) VALUES (?)", ((f"{i:05}",) for i in range(40_000))
            ).rowcount
            == 40_000
        )
        assert not sent, "each row went alone"
        assert (
            db.executemany(
                "UPDATE things SET weight = ? WHERE name = ?", [(1.0, "00007"), (2.0, "gone")]
            ).rowcount
            == 1
        )
        insert = (
            "INSERT INTO things (name, weight) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET weight = "
            "excluded.weight"
        )
        db.executemany(insert, [("00007", 3.0), ("00007", 4.0)])
        assert (
            db.executemany(
                "INSERT INTO things (name) VALUES (?) ON CONFLICT (name) DO NOTHING", [("00007",)]
            ).rowcount
            == 0
        )
        assert db.execute("SELECT weight FROM things WHERE name = '00007'").fetchone()["weight"] == 4.0  # type: ignore[index]
    assert names(database) == [f"{i:05}" for i in range(40_000)]


def test_text_is_compared_and_sorted_by_its_characters(database: PostgresDatabase) -> None:
    with database.transaction() as db:
        db.executemany("INSERT INTO things (name) VALUES (?)", [("a",), ("B",), ("ä",), ("-c",)])
    assert names(database) == ["-c", "B", "a", "ä"]


def test_a_transaction_is_stored_whole_or_not_at_all(database: PostgresDatabase) -> None:
    from pg8000.exceptions import DatabaseError

    with database.transaction() as db:
        add(db, "a")
    with pytest.raises(DatabaseError, match="things_name_key"), database.transaction() as db:
        db.executemany("INSERT INTO things (name) VALUES (?)", [("b",), ("a",)])
    assert names(database) == ["a"]


def test_a_transaction_inside_another_is_part_of_it(database: PostgresDatabase) -> None:
    def nested() -> None:
        with database.transaction():
            with database.transaction() as db:
                add(db, "a")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        nested()
    assert names(database) == []


def test_a_snapshot_sees_one_moment_and_waits_for_nobody(url: str, database: PostgresDatabase) -> None:
    other = PostgresDatabase(url, SCHEMA)
    with database.snapshot() as db:
        assert db.execute("SELECT name FROM things").fetchall() == []
        with other.transaction() as writer:
            add(writer, "a")
            assert db.execute("SELECT name FROM things").fetchall() == []
        assert db.execute("SELECT name FROM things").fetchall() == []
    assert names(database) == ["a"]
    other.close()


def test_nobody_else_writes_during_a_transaction(url: str) -> None:
    """Each adds one to what it read; without a lock, some would read the same number."""
    databases = [PostgresDatabase(url, SCHEMA) for _ in range(4)]

    def count(database: PostgresDatabase) -> None:
        for _ in range(25):
            with database.transaction() as db:
                (last,) = db.execute("SELECT coalesce(max(place), 0) FROM things").fetchall()[0]
                db.execute("INSERT INTO things (place, name) VALUES (?, ?)", (last + 1, f"{last + 1}"))

    threads = [threading.Thread(target=count, args=(database,)) for database in databases]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(names(databases[0])) == 100
    for database in databases:
        database.close()


def test_transaction_before_its_first_statement_blocks_nobody(url: str, database: PostgresDatabase) -> None:
    other = PostgresDatabase(url, SCHEMA)
    with database.transaction() as db:
        with other.transaction() as writer:
            add(writer, "a")
        assert len(db.execute("SELECT name FROM things").fetchall()) == 1
        add(db, "b")
    assert names(database) == ["a", "b"]
    other.close()


def test_the_clock_is_the_servers(database: PostgresDatabase) -> None:
    with database.transaction() as db:
        asked = "SELECT extract(epoch FROM clock_timestamp())::float8"
        before, shown, after = (
            db.execute(asked).fetchone()[0],
            database.clock(),
            db.execute(asked).fetchone()[0],
        )
    assert before <= shown <= after


def test_callbacks_run_after_a_committed_transaction(database: PostgresDatabase) -> None:
    done: list[list[str]] = []
    with database.transaction():
        with database.transaction() as db:
            add(db, "a")
            database.after_commit(lambda: done.append(names(database)))
        assert done == []
    assert done == [["a"]]
    with suppress(ZeroDivisionError), database.transaction() as db:
        add(db, "b")
        database.after_commit(lambda: done.append(names(database)))
        raise ZeroDivisionError
    names(database)
    assert done == [["a"]]


def test_libraries_in_one_database_do_not_wait_for_each_other(database: PostgresDatabase) -> None:
    other = PostgresDatabase(postgres.fresh(), SCHEMA)
    with database.transaction() as db:
        add(db, "a")
        with other.transaction() as writer:
            add(writer, "b")
    assert (names(database), names(other)) == (["a"], ["b"])
    other.close()


def test_each_thread_has_its_connection_which_ends_with_it(database: PostgresDatabase) -> None:
    seen = [database.connection()]
    before = backends(database)
    for _ in range(3):
        thread = threading.Thread(target=lambda: seen.append(database.connection()))
        thread.start()
        thread.join()
    assert len(set(map(id, seen))) == 4
    for connection in seen[1:]:
        with pytest.raises(LostConnectionError):
            connection.execute("SELECT 1")
    eventually(lambda: backends(database) == before)


def eventually(happens: Callable[[], bool]) -> None:
    give_up = time.monotonic() + 10
    while not happens():
        assert time.monotonic() < give_up
        time.sleep(0.02)


def test_a_connection_that_the_server_ended_is_opened_again(url: str, database: PostgresDatabase) -> None:
    def end_all() -> None:
        others = "FROM pg_stat_activity WHERE application_name = 'lectern' AND pid != pg_backend_pid()"
        postgres.admin(url, f"SELECT pg_terminate_backend(pid) {others}")

    with database.transaction() as db:
        add(db, "before")
    end_all()
    with database.transaction() as db:
        add(db, "after")

    def cut_short() -> None:
        with database.transaction() as db:
            add(db, "never")
            end_all()
            add(db, "never either")

    with pytest.raises(LostConnectionError):
        cut_short()
    database.connection().execute("SELECT 1")
    assert names(database) == ["after", "before"]


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="signals")
@pytest.mark.parametrize("begun", ["snapshot", "transaction", "connection"])
def test_interrupted_statement_answers_no_later_one(database: PostgresDatabase, begun: str) -> None:
    def break_off(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    def broken_off() -> None:
        with (
            getattr(database, begun)() if begun != "connection" else nullcontext(database.connection()) as db
        ):
            db.execute("SELECT 1 WHERE ? = 1", (1,))
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            db.execute("SELECT 'of the statement that was broken off', pg_sleep(1) WHERE ? = 1", (1,))

    with database.transaction() as db:
        add(db, "before")
    earlier = signal.signal(signal.SIGALRM, break_off)
    try:
        with pytest.raises(KeyboardInterrupt):
            broken_off()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, earlier)
    for _ in range(3):
        with database.transaction() as db:
            assert [list(row) for row in db.execute("SELECT name, ?::bigint FROM things", (7,))] == [
                ["before", 7]
            ]


def test_a_database_of_a_newer_version_is_refused(url: str) -> None:
    postgres.admin(url, "CREATE TABLE lectern (version BIGINT NOT NULL)", "INSERT INTO lectern VALUES (999)")
    database = PostgresDatabase(url, SCHEMA)
    with pytest.raises(StoreError, match="newer version of Lectern"), database.snapshot():
        pass
    database.close()


def test_tables_of_an_earlier_version_get_the_columns_they_lack(url: str) -> None:
    earlier = PostgresDatabase(
        url, "CREATE TABLE IF NOT EXISTS things (place INTEGER PRIMARY KEY, name TEXT NOT NULL)"
    )
    with earlier.transaction() as db:
        add(db, "old")
    with earlier.snapshot() as db:
        every = "SELECT * FROM things WHERE place > ?"
        assert len(db.execute(every, (0,)).fetchall()) == 1
    later = PostgresDatabase(
        url,
        """
        CREATE EXTENSION IF NOT EXISTS vector;
        CREATE TABLE IF NOT EXISTS things (
            place INTEGER PRIMARY KEY,
            name TEXT NOT NULL,
            kind TEXT NOT NULL DEFAULT 'plain',
            weight REAL,
            turns INTEGER NOT NULL DEFAULT 0
        );
        CREATE INDEX IF NOT EXISTS things_by_kind ON things (kind);
        """,
    )
    with later.transaction() as db:
        db.execute("INSERT INTO things (name, kind) VALUES (?, ?)", ("new", "Ä"))
        found = db.execute("SELECT name, kind, weight, turns FROM things ORDER BY kind DESC")
        assert [list(row) for row in found] == [["new", "Ä", None, 0], ["old", "plain", None, 0]]
    # an application that still runs
    with pytest.raises(LostConnectionError) as caught, earlier.snapshot() as db:
        db.execute(every, (0,))
    assert caught.value.retryable
    with earlier.snapshot() as db:
        assert [row["name"] for row in db.execute(every, (0,))] == ["old", "new"]
    earlier.close()
    later.close()


def test_a_table_that_cannot_be_migrated_is_reported(url: str, database: PostgresDatabase) -> None:
    names(database)
    other = PostgresDatabase(url, SCHEMA.replace("weight REAL", "weight REAL, colour TEXT NOT NULL"))
    with pytest.raises(
        StoreError, match="made by another version of Lectern: its table things has no colour"
    ):
        names(other)
    other.close()


def test_parallel_creation_of_the_same_tables_succeeds(url: str) -> None:
    databases = [PostgresDatabase(url, SCHEMA) for _ in range(4)]
    failures: list[Exception] = []

    def open_(database: PostgresDatabase) -> None:
        try:
            names(database)
        except Exception as error:  # noqa: BLE001 - told by the test's own thread
            failures.append(error)

    threads = [threading.Thread(target=open_, args=(database,)) for database in databases]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    for database in databases:
        database.close()


def test_a_writer_that_waits_too_long_says_so(
    url: str, database: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragcore.sql.postgres.SESSION", {"lock_timeout": "100ms"})
    other = PostgresDatabase(url)
    other.connection()
    with database.transaction() as db:
        add(db, "first")
        with (
            pytest.raises(BusyError, match="being written by another program"),
            other.transaction() as waiting,
        ):
            add(waiting, "too late")
    with other.transaction() as db:
        add(db, "later")
    assert names(database) == ["first", "later"]
    other.close()


# --- addresses and refusals ---------------------------------------------------------------------------------


def test_the_parts_of_an_address() -> None:
    address = address_of(
        "postgresql://me:s%40crt@db.example:6543/my%20library?sslmode=require&options=-csearch_path%3Dx"
    )
    assert (address.user, address.password, address.host, address.port) == ("me", "s@crt", "db.example", 6543)
    assert (address.database, address.options, address.encryption) == ("my library", "-csearch_path=x", True)
    assert address.without_password == "my library on db.example:6543"
    local = address_of("postgres://me@/notes?host=/run/postgresql")
    assert (local.host, local.port, local.database, local.password) == (
        "/run/postgresql",
        5432,
        "notes",
        None,
    )


def test_address_without_a_host_is_a_number_of_this_computer() -> None:
    """Another account may listen where `localhost` leads first, and would receive the password."""
    assert address_of("postgresql://me:pw@/notes").host == "127.0.0.1"
    assert address_of("postgresql:///notes").host == "127.0.0.1"
    assert address_of("postgresql://me@localhost/notes").host == "localhost"  # which a person has chosen


@pytest.mark.parametrize(
    "url",
    [
        "mysql://localhost/x",
        "postgresql://me:pw@host:port/x",
        "postgresql://me:pw@host/x?sslmode=perhaps",
        "postgresql://me:pw@host/x?sslmod=require",
        "postgresql://me:pw@host/x?port=several",
        "postgresql://me:pw@host/x?sslmode=verify-full&sslrootcert=/nowhere.pem",
    ],
)
def test_impossible_address_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        address_of(url)
    assert "pw" not in caught.value.what + caught.value.hint
    assert caught.value.hint


def refused(url: str) -> StoreError:
    database = PostgresDatabase(url)
    with pytest.raises(StoreError) as caught, database.transaction():
        pass
    assert (
        "s3cret"
        not in f"{caught.value.what} {caught.value.hint} {caught.value.__cause__} {address_of(url)!r}"
    )
    assert caught.value.hint
    return caught.value


def test_an_absent_server_is_reported(tmp_path: Path) -> None:
    for place in ("127.0.0.1:1/notes", f"/notes?host={tmp_path}"):
        error = refused(f"postgresql://me:s3cret@{place}")
        assert error.what.startswith("The PostgreSQL server of notes on ")
        assert error.what.endswith(" does not answer.")
        assert error.retryable


@pytest.mark.skipif(
    not hasattr(socket, "TCP_USER_TIMEOUT"), reason="what is sent cannot be timed on this system"
)
def test_dead_server_is_abandoned_even_during_a_statement() -> None:
    with socket.create_server(("127.0.0.1", 0)) as there:
        wire = _socket_to(address_of(f"postgresql://me@127.0.0.1:{there.getsockname()[1]}/notes"))
        idle = wire.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE)
        assert (
            wire.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)
            == 1000 * SILENT_SECONDS
            == 2000 * idle
        )
        wire.close()


@pytest.mark.parametrize("mode", ["require", "verify-full"])
def test_a_server_without_encryption_is_reported(mode: str) -> None:
    with answering(lambda wire: wire.sendall(b"N")) as port:
        error = refused(f"postgresql://me:s3cret@127.0.0.1:{port}/notes?sslmode={mode}")
    assert error.what == (
        f"The PostgreSQL server of notes on 127.0.0.1:{port} does not encrypt connections, but the "
        "address asks for it."
    )
    assert "sslmode" in error.hint


@needs_program("openssl")
def test_an_untrusted_certificate_is_reported(tmp_path: Path) -> None:
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    made = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-subj",
        "/CN=other",
        "-out",
        certificate,
        "-keyout",
        key,
    ]
    subprocess.run(made, check=True, capture_output=True)
    shown = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    shown.load_cert_chain(certificate, key)

    def encrypted(wire: socket.socket) -> None:
        wire.sendall(b"S")
        with suppress(OSError):  # the other side hangs up
            shown.wrap_socket(wire, server_side=True)

    for authorities, why in (
        ("", "self-signed certificate"),
        (f"&sslrootcert={certificate}", "IP address mismatch"),
    ):
        with answering(encrypted) as port:
            error = refused(f"postgresql://me:s3cret@127.0.0.1:{port}/notes?sslmode=verify-full{authorities}")
        assert error.what.startswith(
            f"The certificate of the PostgreSQL server of notes on 127.0.0.1:{port} is not accepted: "
        )
        assert why in error.what
        assert "sslrootcert" in error.hint


@contextmanager
def answering(answer: Callable[[socket.socket], None]) -> Iterator[int]:
    """The port of something that takes a request for encryption, and answers so."""
    with socket.create_server(("127.0.0.1", 0)) as there:

        def once() -> None:
            wire, _ = there.accept()
            with wire:
                wire.recv(8)
                answer(wire)

        thread = threading.Thread(target=once)
        thread.start()
        yield there.getsockname()[1]
        thread.join()


def test_a_missing_database_is_reported() -> None:
    error = refused(postgres.server().replace("/postgres?", "/nowhere?"))
    assert error.what.startswith("There is no database nowhere on the PostgreSQL server at ")
    assert error.hint == "Make it with: createdb nowhere"


def test_a_wrong_password_is_reported_and_not_displayed() -> None:
    url = postgres.with_password("guarded", "the right one")
    for given in (":s3cret", ""):
        error = refused(url.replace(":the%20right%20one", given))
        assert "does not let guarded in" in error.what
        assert "password" in error.hint
    database = PostgresDatabase(url)
    with suppress(StoreError), database.transaction():  # it may not make tables there, but it was let in
        pass
    database.close()


def test_a_missing_extension_is_reported_with_the_command(url: str) -> None:
    database = PostgresDatabase(url, "CREATE EXTENSION IF NOT EXISTS vector_of_another_name")
    with pytest.raises(StoreError, match="no extension for vectors") as caught, database.transaction():
        pass
    assert "CREATE EXTENSION vector" in caught.value.hint
    database.close()


def test_pgvector_outside_the_search_path_is_reported(url: str) -> None:
    (schema,) = re.findall("test_[0-9]+", url)
    database = PostgresDatabase(
        url.replace(f"{schema}%2Cpublic", schema), "CREATE TABLE IF NOT EXISTS rows (v vector(3))"
    )
    with pytest.raises(StoreError, match="no extension for vectors") as caught, database.transaction():
        pass
    assert "search_path" in caught.value.hint
    database.close()


def test_a_missing_schema_is_reported() -> None:
    error = refused(f"{postgres.server()}&options=-csearch_path%3Dnowhere")
    assert "no schema" in error.what
    assert "CREATE SCHEMA" in error.hint


def test_a_missing_package_is_reported_with_its_extra(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pg8000.exceptions", None)
    with pytest.raises(MissingPackageError) as caught, PostgresDatabase(url).transaction():
        pass
    assert caught.value.hint == 'Install it with: pip install "lectern[postgres]"'
