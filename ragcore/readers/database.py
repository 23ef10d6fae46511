"""The rows of a database query, one document each."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Protocol

from ragcore.errors import ConfigError, InputError, MissingPackageError
from ragcore.schema import Document

if TYPE_CHECKING:
    from sqlalchemy import Connection, Dialect, Engine
    from sqlalchemy.exc import SQLAlchemyError

FETCHED_ROWS = 1_000  # fetched at a time if the driver supports it
SECONDS = 120  # maximum time of a read-only query
SILENT_SECONDS = SECONDS + 10  # maximum time without a byte from the server
STEPS_PER_CHECK = 100_000  # of SQLite's virtual machine between two checks of the time, about a millisecond
READ_ONLY = {  # statements for a read-only transaction with a time limit; SQLite's limit is in `_read_only`
    "postgresql": ("SET TRANSACTION READ ONLY", f"SET LOCAL statement_timeout = {1000 * SECONDS}"),
    "mysql": ("SET TRANSACTION READ ONLY", f"SET SESSION max_execution_time = {1000 * SECONDS}"),
    "mariadb": ("SET TRANSACTION READ ONLY", f"SET SESSION max_statement_time = {SECONDS}"),
    "sqlite": ("PRAGMA query_only = ON",),
}
_TIMEOUTS = {  # the connection parameters of each driver for timeouts in seconds
    "pg8000": ("timeout",),
    "psycopg": ("connect_timeout", "keepalives_idle"),
    "psycopg2": ("connect_timeout", "keepalives_idle"),
    "pymysql": ("connect_timeout", "read_timeout"),
    "mysqldb": ("connect_timeout", "read_timeout"),
    "mysqlconnector": ("connection_timeout",),
    "mariadbconnector": ("connect_timeout", "read_timeout"),
}
_SCALARS = (str, int, float, bool, type(None))
# to SQLAlchemy, even in a string such as '{"a":1}'
_LIKE_A_PLACEHOLDER = re.compile(r"(?<![:\w\\]):(?=\w+(?!:))")


class HasEngine(Protocol):
    @property
    def engine(self) -> Engine: ...


class DatabaseReader:
    """Reads the database at a `uri`, such as "sqlite:///example.db", or at the address from `scheme` to
    `dbname`. An open database is an `engine` of SQLAlchemy or any object that has one (`sql_database`).

    >>> documents = DatabaseReader(uri="sqlite://").load_data("SELECT 'red' AS colour, 3 AS boats")
    >>> [document.text for document in documents]
    ['colour: red, boats: 3']

    ValueError without an address, ConfigError for an invalid URI or a missing driver, MissingPackageError
    without SQLAlchemy. The database is opened when rows are read.
    """

    def __init__(
        self,
        sql_database: HasEngine | None = None,
        engine: Engine | None = None,
        uri: str | None = None,
        scheme: str | None = None,
        host: str | None = None,
        port: int | str | None = None,
        user: str | None = None,
        password: str | None = None,
        dbname: str | None = None,
    ) -> None:
        if sql_database is not None:
            engine = sql_database.engine
        self.engine = engine or _create_engine(uri, scheme, host, port, user, password, dbname)

    def load_data(
        self, query: str, key_columns: Sequence[str] = (), metadata_cols: Sequence[str] = ()
    ) -> list[Document]:
        """All documents of `lazy_load_data`."""
        return list(self.lazy_load_data(query, key_columns, metadata_cols))

    def lazy_load_data(
        self, query: str, key_columns: Sequence[str] = (), metadata_cols: Sequence[str] = ()
    ) -> Iterator[Document]:
        """One document per row, in the order of the query: "column: value, column: value". Reads a thousand
        rows at a time.

        A document's id is a hash of the database, the query's columns and the row's `key_columns`, or the
        whole row without them. So a row always has the same id, and two equal rows are one document. The
        `metadata_cols` are also in the metadata; values that are not text, numbers or booleans are converted
        to text. ValueError for an empty query or an unknown column, InputError with the error of the
        database.
        """
        for name, given in {"key_columns": key_columns, "metadata_cols": metadata_cols}.items():
            if isinstance(given, str):
                raise ValueError(f"{name} is {given!r}; it must be a list.")
        if not query:
            raise ValueError("A query is needed to read from a database, such as SELECT * FROM notes.")
        return self._rows(query, key_columns, metadata_cols)

    def rows(self, query: str, *, read_only: bool = False) -> Iterator[tuple[list[str], list[object]]]:
        """(names of the columns, values) of each row, read a thousand at a time. InputError with the error of
        the database.

        Changes are never committed. With `read_only` the database refuses changes, and stops a query after
        SECONDS.
        """
        from sqlalchemy import text
        from sqlalchemy.exc import SQLAlchemyError

        try:
            with (
                self.engine.connect() as connection,
                _read_only(connection) if read_only else nullcontext(),
            ):
                statement = text(_LIKE_A_PLACEHOLDER.sub(r"\:", query))
                # Only this statement has rows to fetch in steps.
                result = connection.execute(statement, execution_options={"yield_per": FETCHED_ROWS})
                columns = list(result.keys())
                for row in result:
                    yield columns, list(row)
        except TimeoutError as error:  # some drivers do not translate it
            raise InputError(
                f"The database did not respond for {SILENT_SECONDS} seconds.",
                hint="Check its address, and that it is running.",
            ) from error
        except SQLAlchemyError as error:
            raise InputError(
                f"The database could not answer the query: {_message(error)}",
                hint="Check the query, and that its tables are in there.",
            ) from error

    def _rows(
        self, query: str, key_columns: Sequence[str], metadata_cols: Sequence[str]
    ) -> Iterator[Document]:
        place = self.engine.url.render_as_string(hide_password=True)
        for columns, row in self.rows(query):
            if unknown := [name for name in (*key_columns, *metadata_cols) if name not in columns]:
                raise ValueError(
                    f"The query returns no column {unknown[0]!r}; it returns {', '.join(columns)}."
                )
            entries = list(zip(columns, row, strict=True))
            key = [
                None if value is None else str(value)
                for name, value in entries
                if not key_columns or name in key_columns
            ]
            yield Document(
                ", ".join(f"{name}: {value}" for name, value in entries),
                hashlib.sha256(json.dumps([place, columns, key]).encode()).hexdigest()[:32],
                {
                    name: value if isinstance(value, _SCALARS) else str(value)
                    for name, value in entries
                    if name in metadata_cols
                },
            )


@contextmanager
def _read_only(connection: Connection) -> Iterator[None]:
    """Inside, the database refuses changes and stops a query after SECONDS. Later users of the engine have no
    such limits."""
    from sqlalchemy import text

    for order in READ_ONLY.get(connection.dialect.name, ()):
        connection.execute(text(order))
    if connection.dialect.name != "sqlite":
        connection.detach()  # closed at its end, and not given to others
        yield
        return
    end = time.monotonic() + SECONDS
    driver: Any = connection.connection.driver_connection
    driver.set_progress_handler(lambda: time.monotonic() > end, STEPS_PER_CHECK)
    try:
        yield
    finally:
        driver.set_progress_handler(None, 0)
        driver.execute("PRAGMA query_only = OFF")


def limit_connections(engine: Engine, address: str | None) -> None:
    """End connections of the engine after SILENT_SECONDS without a byte. With an `address` it connects only
    to this IP address, even if the server's name changes in DNS."""
    import sqlalchemy

    def set_limits(dialect: Dialect, _record: object, _arguments: object, parameters: dict[str, Any]) -> None:
        parameters.update(dict.fromkeys(_TIMEOUTS.get(dialect.driver, ()), SILENT_SECONDS))
        if address is not None:
            # PostgreSQL's own library needs the name too, to check the server's certificate.
            parameters["hostaddr" if dialect.driver.startswith("psycopg") else "host"] = address

    sqlalchemy.event.listen(engine, "do_connect", set_limits)


def _message(error: SQLAlchemyError) -> str:
    """The message of the database. pg8000 has all fields of the error by their type (PostgreSQL, 54.8)."""
    original = getattr(error, "orig", None) or error
    fields = original.args[0] if original.args else None
    return str(fields.get("M", fields)) if isinstance(fields, dict) else str(original)


def _create_engine(
    uri: str | None,
    scheme: str | None,
    host: str | None,
    port: int | str | None,
    user: str | None,
    password: str | None,
    dbname: str | None,
) -> Engine:
    if not uri and not scheme:
        raise ValueError(
            "Say which database: give a uri, an engine, or the scheme, host, port, user, password and dbname."
        )
    try:
        import sqlalchemy
    except ImportError as error:
        raise MissingPackageError("sqlalchemy", extra="database") from error
    try:
        url = sqlalchemy.make_url(
            uri
            or sqlalchemy.URL.create(
                scheme or "", user, password, host, int(port) if port is not None else None, dbname
            )
        )
        try:
            return sqlalchemy.create_engine(url)
        except ImportError:
            if url.drivername != "postgresql":
                raise
            return sqlalchemy.create_engine(url.set(drivername="postgresql+pg8000"))  # our own driver
    except (sqlalchemy.exc.ArgumentError, ValueError) as error:  # ValueError for a port that is not a number
        # An unknown type of database is an ArgumentError too. The message omits the URI, which may have a
        # password.
        raise ConfigError(
            f"The address of the database cannot be understood: {error}",
            hint="Write it like sqlite:///example.db.",
        ) from error
    except ImportError as error:
        raise ConfigError(
            f"The driver of this database is not installed: {error}", hint=f"pip install {error.name}"
        ) from error
