"""The rows that a query of a database gives, one document each."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from ragcore.errors import ConfigError, InputError, MissingPackageError
from ragcore.schema import Document, Scalar

if TYPE_CHECKING:
    from sqlalchemy import URL, Connection, Dialect, Engine
    from sqlalchemy.exc import SQLAlchemyError

ROWS = 1_000  # fetched at a time, where the driver can
SECONDS = 120  # for a query of somebody who is to read only
SILENT_SECONDS = SECONDS + 10  # without a byte of a server
STEPS = 100_000  # of SQLite's machine between two looks at the clock, about a millisecond
READ_ONLY = {  # what makes a transaction so, and ends it in time; SQLite is ended by `_ends_in_time`
    "postgresql": ("SET TRANSACTION READ ONLY", f"SET LOCAL statement_timeout = {1000 * SECONDS}"),
    "mysql": ("SET TRANSACTION READ ONLY", f"SET SESSION max_execution_time = {1000 * SECONDS}"),
    "mariadb": ("SET TRANSACTION READ ONLY", f"SET SESSION max_statement_time = {SECONDS}"),
    "sqlite": ("PRAGMA query_only = ON",),
}
_PATIENCE = {  # what each driver calls the seconds that it waits for a server
    "pg8000": ("timeout",),
    "psycopg": ("connect_timeout", "keepalives_idle"),
    "psycopg2": ("connect_timeout", "keepalives_idle"),
    "pymysql": ("connect_timeout", "read_timeout"),
    "mysqldb": ("connect_timeout", "read_timeout"),
    "mysqlconnector": ("connection_timeout",),
    "mariadbconnector": ("connect_timeout", "read_timeout"),
}
_LIKE_A_PLACEHOLDER = re.compile(r"(?<![:\w\\]):(?=\w+(?!:))")  # to SQLAlchemy, in texts too, such as '{"a":1}'


class HasEngine(Protocol):
    @property
    def engine(self) -> Engine: ...


class DatabaseReader:
    """A database by its `uri`, such as "sqlite:///example.db"; by the parts of one, `scheme` to `dbname`; or an open one, as
    SQLAlchemy's `engine` or anything that has one (`sql_database`).

    ValueError where none is given, ConfigError for a URI that cannot be understood or whose driver is missing,
    MissingPackageError without SQLAlchemy. The database is opened when rows are read.
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
        self.engine = engine or _opened(uri, scheme, host, port, user, password, dbname)

    def load_data(self, query: str, key_columns: Sequence[str] = (), metadata_cols: Sequence[str] = ()) -> list[Document]:
        """Every row, as `lazy_load_data` gives it."""
        return list(self.lazy_load_data(query, key_columns, metadata_cols))

    def lazy_load_data(
        self, query: str, key_columns: Sequence[str] = (), metadata_cols: Sequence[str] = ()
    ) -> Iterator[Document]:
        """One document per row, in the order of the query, read a thousand at a time: "column: value, column: value".

        A document's id follows from the database, the query's columns and the row's `key_columns`, or without those the
        whole row. So a row that is read again has its id again, and two equal rows are one document. The `metadata_cols` are
        in the metadata too; what is no text, number or truth there is written out. ValueError for no query or a column that
        the query does not give; InputError with what the database said against it.
        """
        for name, given in {"key_columns": key_columns, "metadata_cols": metadata_cols}.items():
            if isinstance(given, str):
                raise ValueError(f"{name} is {given!r}; it must be a list.")
        if not query:
            raise ValueError("A query is needed to read from a database, such as SELECT * FROM notes.")
        return self._rows(query, key_columns, metadata_cols)

    def rows(self, query: str, *, read_only: bool = False) -> Iterator[tuple[list[str], list[object]]]:
        """(names of the columns, values) of each row, read a thousand at a time. InputError with what the database said.

        Nothing that the query does is committed; `read_only`: the database is told to refuse it, goes on refusing, and ends
        what takes longer than SECONDS.
        """
        from sqlalchemy import text
        from sqlalchemy.exc import SQLAlchemyError

        try:
            with self.engine.connect() as connection:
                if read_only:
                    for order in READ_ONLY.get(self.engine.dialect.name, ()):
                        connection.execute(text(order))
                    _ends_in_time(connection)
                statement = text(_LIKE_A_PLACEHOLDER.sub(r"\:", query))
                # Of this alone: an order that is no query cannot have its rows fetched by and by.
                result = connection.execute(statement, execution_options={"yield_per": ROWS})
                columns = list(result.keys())
                for row in result:
                    yield columns, list(row)
        except TimeoutError as error:  # which some drivers let through
            raise InputError(
                f"The database did not respond for {SILENT_SECONDS} seconds.", hint="Check its address, and that it is running."
            ) from error
        except SQLAlchemyError as error:
            raise InputError(
                f"The database could not answer the query: {_said(error)}",
                hint="Check the query, and that its tables are in there.",
            ) from error

    def _rows(self, query: str, key_columns: Sequence[str], metadata_cols: Sequence[str]) -> Iterator[Document]:
        place = self.engine.url.render_as_string(hide_password=True)
        for columns, row in self.rows(query):
            if unknown := [name for name in (*key_columns, *metadata_cols) if name not in columns]:
                raise ValueError(f"The query returns no column {unknown[0]!r}; it returns {', '.join(columns)}.")
            entries = list(zip(columns, row, strict=True))
            key = [None if value is None else str(value) for name, value in entries if not key_columns or name in key_columns]
            yield Document(
                ", ".join(f"{name}: {value}" for name, value in entries),
                _row_id(place, columns, key),
                {name: _scalar(value) for name, value in entries if name in metadata_cols},
            )


def keep_to(engine: Engine, address: str | None) -> None:
    """From now on a server that is silent for SILENT_SECONDS is given up. Where there is an `address`, that alone is connected
    to, whatever the server's name stands for by then."""
    import sqlalchemy

    def limited(dialect: Dialect, _record: object, _arguments: object, parameters: dict[str, Any]) -> None:
        parameters.update(dict.fromkeys(_PATIENCE.get(dialect.driver, ()), SILENT_SECONDS))
        if address is not None:
            # PostgreSQL's own library takes the name besides, for the server's certificate.
            parameters["hostaddr" if dialect.driver.startswith("psycopg") else "host"] = address

    sqlalchemy.event.listen(engine, "do_connect", limited)


def _said(error: SQLAlchemyError) -> str:
    """In the database's words; pg8000 gives all that the server says of an error, by its kind (PostgreSQL, 54.8)."""
    told = getattr(error, "orig", None) or error
    fields = told.args[0] if told.args else None
    return str(fields.get("M", fields)) if isinstance(fields, dict) else str(told)


def _opened(
    uri: str | None,
    scheme: str | None,
    host: str | None,
    port: int | str | None,
    user: str | None,
    password: str | None,
    dbname: str | None,
) -> Engine:
    if not uri and not scheme:
        raise ValueError("Say which database: give a uri, an engine, or the scheme, host, port, user, password and dbname.")
    try:
        import sqlalchemy
    except ImportError as error:
        raise MissingPackageError("sqlalchemy", extra="database") from error
    try:
        url = sqlalchemy.make_url(
            uri or sqlalchemy.URL.create(scheme or "", user, password, host, int(port) if port is not None else None, dbname)
        )
        return _engine(url)
    except (sqlalchemy.exc.ArgumentError, ValueError) as error:  # ValueError for a port that is no number
        # NoSuchModuleError, for an unknown kind of database, is one of them. The URI may hold a password: it is not shown.
        raise ConfigError(
            f"The address of the database cannot be understood: {error}", hint="Write it like sqlite:///example.db."
        ) from error
    except ImportError as error:
        raise ConfigError(f"The driver of this database is not installed: {error}", hint=f"pip install {error.name}") from error


def _engine(url: URL) -> Engine:
    import sqlalchemy

    try:
        return sqlalchemy.create_engine(url)
    except ImportError:
        if url.drivername != "postgresql":
            raise
        return sqlalchemy.create_engine(url.set(drivername="postgresql+pg8000"))  # the driver that the library uses itself


def _ends_in_time(connection: Connection) -> None:
    if connection.dialect.name != "sqlite":
        return
    end = time.monotonic() + SECONDS
    driver: Any = connection.connection.driver_connection
    driver.set_progress_handler(lambda: time.monotonic() > end, STEPS)


def _row_id(place: str, columns: Sequence[str], key: Sequence[str | None]) -> str:
    return hashlib.sha256(json.dumps([place, list(columns), list(key)]).encode()).hexdigest()[:32]


def _scalar(value: object) -> Scalar:
    return value if isinstance(value, str | int | float | bool) or value is None else str(value)
