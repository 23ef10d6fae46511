"""DatabaseReader: rows as documents, the same ids when they are read again, and what the database says
against a query."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import parse_qs, urlsplit

import pytest
import sqlalchemy

from ragcore.errors import ConfigError, InputError, MissingPackageError
from ragcore.readers import DatabaseReader, database
from tests import postgres

QUERY = "SELECT id, name, height FROM peaks ORDER BY id"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[sqlalchemy.Engine]:
    engine = sqlalchemy.create_engine(f"sqlite:///{tmp_path / 'peaks.db'}")
    with engine.begin() as connection:
        connection.execute(sqlalchemy.text("CREATE TABLE peaks (id INT, name TEXT, height REAL, noted DATE)"))
        for row in ("(1, 'Tarn Hill', 411.5, '2020-01-02')", "(2, 'Black Fell', NULL, NULL)"):
            connection.execute(sqlalchemy.text(f"INSERT INTO peaks VALUES {row}"))
    yield engine
    engine.dispose()


def change(engine: sqlalchemy.Engine, statement: str) -> None:
    with engine.begin() as connection:
        connection.execute(sqlalchemy.text(statement))


def test_each_row_is_a_document_with_the_columns_names(engine: sqlalchemy.Engine) -> None:
    documents = DatabaseReader(engine=engine).load_data(query=QUERY)
    assert [document.text for document in documents] == [
        "id: 1, name: Tarn Hill, height: 411.5",
        "id: 2, name: Black Fell, height: None",
    ]
    assert [dict(document.metadata) for document in documents] == [{}, {}]


def test_database_may_be_a_uri_parts_an_engine_or_a_wrapper(
    engine: sqlalchemy.Engine, tmp_path: Path
) -> None:
    path = str(tmp_path / "peaks.db")
    readers = [
        DatabaseReader(engine=engine),
        DatabaseReader(sql_database=SimpleNamespace(engine=engine)),
        DatabaseReader(uri=f"sqlite:///{path}"),
        DatabaseReader(scheme="sqlite", dbname=path),
    ]
    rows = [[(document.id_, document.text) for document in reader.load_data(QUERY)] for reader in readers]
    for reader in readers:
        reader.engine.dispose()
    assert rows[0] == rows[1] == rows[2] == rows[3]


def test_the_parts_of_an_address_all_count() -> None:
    parts = {
        "scheme": "postgresql",
        "host": "example.org",
        "port": "5433",
        "user": "ann",
        "password": "hush",
        "dbname": "peaks",
    }
    url = DatabaseReader(**parts).engine.url  # type: ignore[arg-type]
    assert (url.get_backend_name(), url.host, url.port) == ("postgresql", "example.org", 5433)
    assert (url.username, url.password, url.database) == ("ann", "hush", "peaks")


def test_nothing_is_another_key_than_the_word_none(engine: sqlalchemy.Engine) -> None:
    change(engine, "INSERT INTO peaks VALUES (3, NULL, 1, NULL), (4, 'None', 2, NULL)")
    documents = DatabaseReader(engine=engine).load_data(QUERY, key_columns=["name"])
    assert len({document.id_ for document in documents}) == 4


def test_a_row_that_is_read_again_has_its_id_again(engine: sqlalchemy.Engine) -> None:
    reader = DatabaseReader(engine=engine)
    before = [document.id_ for document in reader.load_data(QUERY)]
    keys = [document.id_ for document in reader.load_data(QUERY, key_columns=["id"])]
    assert len({*before, *keys}) == 4
    change(engine, "UPDATE peaks SET name = 'Black Peak' WHERE id = 2")
    after = [document.id_ for document in reader.load_data(QUERY)]
    # the whole row is the key: a changed one is another
    assert (after[0], after[1] == before[1]) == (before[0], False)
    assert [document.id_ for document in reader.load_data(QUERY, key_columns=["id"])] == keys
    narrower = reader.load_data("SELECT id, name, height FROM peaks WHERE id = 2", key_columns=["id"])
    assert narrower[0].id_ == keys[1]


def test_a_new_password_makes_no_new_documents(engine: sqlalchemy.Engine) -> None:
    def ids(password: str) -> list[str]:
        url = sqlalchemy.make_url(f"postgresql://ann:{password}@host/peaks")
        reader = DatabaseReader(engine=SimpleNamespace(url=url, connect=engine.connect))  # type: ignore[arg-type]
        return [document.id_ for document in reader.load_data(QUERY)]

    assert (
        ids("old")
        == ids("new")
        != [document.id_ for document in DatabaseReader(engine=engine).load_data(QUERY)]
    )


def test_the_same_key_in_another_table_is_another_document(engine: sqlalchemy.Engine) -> None:
    change(engine, "CREATE TABLE lakes (id INT, depth INT)")
    change(engine, "INSERT INTO lakes VALUES (1, 30)")
    reader = DatabaseReader(engine=engine)
    peak = reader.load_data(QUERY, key_columns=["id"])[0]
    lake = reader.load_data("SELECT * FROM lakes", key_columns=["id"])[0]
    assert peak.id_ != lake.id_


def test_columns_may_be_in_the_metadata_too_as_plain_values(engine: sqlalchemy.Engine) -> None:
    change(engine, "CREATE TABLE odd (n INT, b BLOB)")
    change(engine, "INSERT INTO odd VALUES (7, x'4142')")
    reader = DatabaseReader(engine=engine)
    assert dict(reader.load_data("SELECT * FROM odd", metadata_cols=["n", "b"])[0].metadata) == {
        "n": 7,
        "b": "b'AB'",
    }
    assert dict(reader.load_data(QUERY, metadata_cols=["height"])[1].metadata) == {"height": None}


def test_rows_are_read_as_the_query_selects_them(engine: sqlalchemy.Engine) -> None:
    many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"  # never ends
    fetched: list[object] = []
    sqlalchemy.event.listen(
        engine,
        "before_cursor_execute",
        lambda *call: fetched.append(call[4].execution_options.get("yield_per")),
    )
    rows = DatabaseReader(engine=engine).lazy_load_data(many)
    assert [next(rows).text for _ in range(3)] == ["i: 1", "i: 2", "i: 3"]
    assert fetched == [1_000]  # rows at a time, for drivers that would fetch all
    rows.close()  # type: ignore[attr-defined]
    assert engine.pool.checkedout() == 0  # type: ignore[attr-defined]


@pytest.fixture
def server() -> Iterator[DatabaseReader]:
    """A real one, with two rows."""
    (folder,) = parse_qs(urlsplit(postgres.fresh()).query)["host"]
    socket = next(path for path in Path(folder).glob(".s.PGSQL.*") if path.is_socket())
    reader = DatabaseReader(uri=f"postgresql+pg8000://postgres@/postgres?unix_sock={socket}")
    change(reader.engine, "DROP TABLE IF EXISTS peaks")
    change(reader.engine, "CREATE TABLE peaks (id SERIAL, name TEXT, height REAL)")
    change(reader.engine, "INSERT INTO peaks VALUES (1, 'Tarn Hill', 411.5), (2, 'Black: Fell; 5%', NULL)")
    yield reader
    change(reader.engine, "DROP TABLE peaks")
    reader.engine.dispose()


@pytest.mark.parametrize(
    "sql", [QUERY, "TABLE peaks ORDER BY id", "SELECT * FROM peaks WHERE name LIKE '%l%' ORDER BY id"]
)
@pytest.mark.parametrize("read_only", [False, True])
def test_server_rows_are_readable_with_read_permission_only(
    server: DatabaseReader, read_only: bool, sql: str
) -> None:
    columns = ["id", "name", "height"]
    rows = [(columns, [1, "Tarn Hill", 411.5]), (columns, [2, "Black: Fell; 5%", None])]
    assert list(server.rows(sql, read_only=read_only)) == rows


def test_server_refuses_writes_and_its_error_is_quoted(server: DatabaseReader) -> None:
    for sql, said in (
        ("SELECT nextval('peaks_id_seq')", "cannot execute nextval() in a read-only transaction"),
        ("SELECT * FROM lakes", 'relation "lakes" does not exist'),
    ):
        with pytest.raises(InputError) as caught:
            list(server.rows(sql, read_only=True))
        assert caught.value.what == f"The database could not answer the query: {said}"


def test_no_rows_are_no_documents(engine: sqlalchemy.Engine) -> None:
    assert DatabaseReader(engine=engine).load_data(f"SELECT * FROM ({QUERY}) WHERE id > 9") == []


def test_wrong_arguments_are_reported(engine: sqlalchemy.Engine) -> None:
    reader = DatabaseReader(engine=engine)
    for nothing in (None, ""):
        with pytest.raises(ValueError, match="A query is needed"):
            reader.load_data(nothing)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no column 'key'; it returns id, name, height"):
        reader.load_data(QUERY, key_columns=["key"])
    for name in ("key_columns", "metadata_cols"):
        with pytest.raises(ValueError, match=f"{name} is 'id'; it must be a list"):
            reader.load_data(QUERY, **{name: "id"})
    with pytest.raises(InputError, match="no such table: lakes") as caught:
        reader.load_data("SELECT * FROM lakes")
    assert caught.value.hint
    with pytest.raises(ValueError, match="give a uri, an engine"):
        DatabaseReader()


def test_invalid_address_is_reported_without_its_password() -> None:
    for uri in (
        "peaks.db",
        "nosuch://u:hush@host/db",
        "mysql://u:hush@host:x/db",
        "postgresql+psycopg2://u:hush@host/db",
    ):
        with pytest.raises(ConfigError) as caught:
            DatabaseReader(uri=uri)
        assert "hush" not in f"{caught.value} {caught.value.hint}"
    assert caught.value.hint == "pip install psycopg2"


def test_a_database_that_cannot_be_opened_is_an_error_in_words(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="unable to open database file"):
        DatabaseReader(uri=f"sqlite:///{tmp_path}/none/x.db").load_data("SELECT 1")


def test_without_sqlalchemy_its_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    with pytest.raises(MissingPackageError) as caught:
        DatabaseReader(uri="sqlite://")
    assert "lectern[database]" in caught.value.hint


def test_readers_import_without_optional_packages() -> None:
    code = (
        "import sys; from ragcore.readers import DatabaseReader, SimpleDirectoryReader, StringIterableReader;"
        "print({'sqlalchemy', 'fsspec', 'pypdfium2', 'lxml', 'torch'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_limits_of_a_read_only_query_end_with_it(
    engine: sqlalchemy.Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "SECONDS", -1)
    monkeypatch.setattr(database, "STEPS_PER_CHECK", 1)
    with pytest.raises(InputError):
        list(DatabaseReader(engine=engine).rows(QUERY, read_only=True))
    change(engine, "INSERT INTO peaks VALUES (3, 'Grey Knott', 697, NULL)")
    assert len(list(DatabaseReader(engine=engine).rows(QUERY))) == 3
