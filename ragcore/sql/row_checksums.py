"""Checksums of the rows of a SQLite file, which show that a row is no longer what was written, and of the
definitions of its tables, without which rows would be read as something else.

Triggers of our own connections compute the checksum of every row that changes. Other programs, such as an
earlier version, cannot compute it: triggers in the file delete the checksum of each row that they change. A
row without checksum counts as undamaged.
"""

from __future__ import annotations

import sqlite3
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

SCHEMA = """
CREATE TABLE IF NOT EXISTS row_checksums (
    of_table TEXT NOT NULL,
    row_key TEXT NOT NULL,
    columns INTEGER NOT NULL,       -- the first columns of the table, because a later version may add some
    checksum INTEGER NOT NULL,
    PRIMARY KEY (of_table, row_key)
) WITHOUT ROWID;
"""
_DEFINITIONS = "sqlite_master"  # of_table; row_key is the name of a table


@dataclass(frozen=True, slots=True)
class _Table:
    name: str
    columns: list[tuple[str, str]]  # with their types
    key: list[str]

    def key_of(self, row: str) -> str:
        """The expression for the key of a row that SQL calls `row`."""
        return " || ',' || ".join(f'quote({row}."{column}")' for column in self.key)

    def checksum_of(self, row: str, columns: int) -> str:
        # A text may have become invalid, which a function of Python cannot be called with.
        values = [
            f'CAST({row}."{name}" AS BLOB)' if kind in ("TEXT", "BLOB") else f'{row}."{name}"'
            for name, kind in self.columns[:columns]
        ]
        return f"row_checksum({', '.join(values)})"


def forget_changed_rows(connection: sqlite3.Connection, tables: Iterable[str]) -> None:
    """Add the triggers that delete the checksums of changed rows."""
    query = "SELECT name FROM main.sqlite_master WHERE type = 'trigger'"
    present = {name for (name,) in connection.execute(query)}
    missing = [table for table in tables if f"checksum_{table}_DELETE" not in present]
    for table in _tables(connection, missing):
        for event in ("UPDATE", "DELETE"):
            connection.execute(
                f'CREATE TRIGGER IF NOT EXISTS "checksum_{table.name}_{event}" BEFORE {event} ON '
                f"\"{table.name}\" BEGIN DELETE FROM row_checksums WHERE of_table = '{table.name}' AND "
                f"row_key = {table.key_of('old')}; END"
            )


def keep_definitions(connection: sqlite3.Connection, changed: Iterable[str]) -> None:
    """Keep the checksums of the definitions of tables that have none yet, and of those that we changed."""
    for table in changed:
        connection.execute(
            "DELETE FROM row_checksums WHERE of_table = ? AND row_key = ?", (_DEFINITIONS, table)
        )
    for table, checksum in _checksums_of_definitions(connection).items():
        connection.execute(
            "INSERT OR IGNORE INTO row_checksums (of_table, row_key, columns, checksum) VALUES (?, ?, 0, ?)",
            (_DEFINITIONS, table, checksum),
        )


def find_changed_definition(connection: sqlite3.Connection) -> str:
    """The name of a table that is no longer defined as it was; "" if there is none."""
    query = "SELECT row_key, checksum FROM row_checksums WHERE of_table = ?"
    present = _checksums_of_definitions(connection)
    for table, checksum in connection.execute(query, (_DEFINITIONS,)):
        if present.get(table) != checksum:
            return str(table)
    return ""


def _checksums_of_definitions(connection: sqlite3.Connection) -> dict[str, int]:
    query = "SELECT CAST(name AS TEXT), CAST(sql AS BLOB) FROM main.sqlite_master WHERE type = 'table'"
    others = ("sqlite_", "keywords_")  # SQLite's own, and those of earlier versions that are dropped
    return {name: row_checksum(sql) for name, sql in connection.execute(query) if not name.startswith(others)}


def compute_checksums(connection: sqlite3.Connection, tables: Iterable[str]) -> None:
    """From now on, rows that this connection writes get a checksum."""
    connection.create_function("row_checksum", -1, row_checksum, deterministic=True)
    for table in _tables(connection, tables):
        count = len(table.columns)
        for event in ("INSERT", "UPDATE"):
            connection.execute(
                f'CREATE TEMP TRIGGER IF NOT EXISTS "compute_{table.name}_{event}" AFTER {event} ON '
                f'main."{table.name}" BEGIN INSERT INTO row_checksums (of_table, row_key, columns, '
                f"checksum) VALUES ('{table.name}', {table.key_of('new')}, {count}, "
                f"{table.checksum_of('new', count)}) "
                "ON CONFLICT (of_table, row_key) DO UPDATE SET columns = excluded.columns, checksum = "
                "excluded.checksum; END"
            )


def find_changed_table(
    connection: sqlite3.Connection, tables: Iterable[str], stopped: Callable[[], bool] = lambda: False
) -> str:
    """The name of the first table with a row that is not what was written, or lacks one; "" if there is none,
    or once it is `stopped`."""
    connection.create_function("row_checksum", -1, row_checksum, deterministic=True)
    for table in _tables(connection, tables):
        query = "SELECT row_key, columns, checksum FROM row_checksums WHERE of_table = ?"
        written = {row[0]: (row[1], row[2]) for row in connection.execute(query, (table.name,))}
        for columns in {count for count, _ in written.values()}:
            for key, checksum in _read_checksums(connection, table, columns):
                if stopped():
                    return ""
                if key in written and written[key][0] == columns and written.pop(key)[1] != checksum:
                    return table.name
        if written:
            return table.name
    return ""


def _read_checksums(connection: sqlite3.Connection, table: _Table, columns: int) -> Iterator[tuple[str, int]]:
    query = f'SELECT {table.key_of("t")}, {table.checksum_of("t", columns)} FROM "{table.name}" t'
    yield from connection.execute(query)


def row_checksum(*values: float | bytes | str | None) -> int:
    """CRC-32 of the values of a row."""
    total = 0
    for value in values:
        if value is None:
            data = b"n"
        elif isinstance(value, bytes):
            data = b"b%d:" % len(value) + value
        elif isinstance(value, float):
            data = b"f" + struct.pack("<d", value)
        else:
            data = f"{type(value).__name__}{value};".encode("utf-8", "surrogatepass")
        total = zlib.crc32(data, total)
    return total


def _tables(connection: sqlite3.Connection, names: Iterable[str]) -> Iterator[_Table]:
    """Those of these tables that the file has."""
    for name in names:
        rows = connection.execute(f'PRAGMA main.table_info("{name}")').fetchall()
        key = [row[1] for row in sorted(rows, key=lambda row: row[5]) if row[5]]
        if rows:
            yield _Table(name, [(row[1], row[2].upper()) for row in rows], key or ["rowid"])
