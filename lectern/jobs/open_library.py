"""Opens the parts of a library that the application and its workers share: in a folder, or on a PostgreSQL
server that any number of machines share."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lectern.jobs.file_storage import SCHEMA as BYTES_SCHEMA
from lectern.jobs.file_storage import FolderBytes, ServerBytes
from lectern.jobs.files import SCHEMA as FILES_SCHEMA
from lectern.jobs.files import Files
from lectern.jobs.index_versions import SCHEMA as VERSIONS_SCHEMA
from lectern.jobs.index_versions import CurrentStore, IndexVersions
from lectern.settings import SCHEMA as SETTINGS_SCHEMA
from lectern.settings import KeptSettings, SettingsFile, SettingsTable, on_server
from ragcore.errors import DamagedStoreError
from ragcore.sql.sqlite import SQLiteDatabase

if TYPE_CHECKING:
    from ragcore.sql.postgres import PostgresDatabase


# Large tables whose rows are compared with checksums of their own when they are read.
WITH_OWN_CHECKSUMS = ("texts", "passages", "drafts")


@dataclass(frozen=True, slots=True)
class Parts:
    """`name` is the place of the library, without a password."""

    name: str
    database: SQLiteDatabase | PostgresDatabase
    files: Files
    store: CurrentStore
    settings: KeptSettings
    clock: Callable[[], float]  # seconds since the epoch, the same for all machines that share the library


def open_parts(where: Path | str, local: Path, *schemas: str) -> Parts:
    """Open the library at `where`: a folder, or postgresql://user:password@host:port/database.

    `local` is the folder for local files. `schemas`: further tables in the same database. ConfigError.
    """
    return _on_server(str(where), local, schemas) if on_server(where) else _in_folder(Path(where), schemas)


def _in_folder(folder: Path, schemas: tuple[str, ...]) -> Parts:
    from ragcore.vector_stores.disk import SCHEMA, DiskStore

    refuse_empty(folder)
    database = SQLiteDatabase(
        folder / "library.db",
        *(FILES_SCHEMA, VERSIONS_SCHEMA, SCHEMA, SETTINGS_SCHEMA, *schemas),
        without_checksums=WITH_OWN_CHECKSUMS,
    )
    files = Files(database, FolderBytes(folder))
    store = CurrentStore(
        IndexVersions(database),
        lambda name: DiskStore(database, index=name, vectors=folder / "vectors"),
        heal=files.queue.heal,
    )
    return Parts(str(folder), database, files, store, SettingsFile(folder), time.time)


def refuse_empty(folder: Path) -> None:
    """DamagedStoreError for a folder with the files of a library whose database is empty or missing: a new
    database would know none of them, and have their vectors deleted."""
    database = folder / "library.db"
    # Before the size is read: another process that creates the library writes to its database first.
    has_documents = any(True for name in ("vectors/*", "files/*/*") for _ in folder.glob(name))
    if has_documents and not (database.exists() and database.stat().st_size):
        raise DamagedStoreError(
            f"The library file {database} is empty or missing, but there are documents beside it. Nothing "
            "was changed.",
            hint=(
                "Restore the library's folder from a backup. If there is none, move the folder away and add "
                "the documents in its folder files again."
            ),
        )


def _on_server(address: str, local: Path, schemas: tuple[str, ...]) -> Parts:
    from ragcore.sql.postgres import PostgresDatabase
    from ragcore.vector_stores.postgres import PostgresStore
    from ragcore.vector_stores.postgres_schema import SCHEMA

    database = PostgresDatabase(
        address, FILES_SCHEMA, VERSIONS_SCHEMA, BYTES_SCHEMA, SCHEMA, SETTINGS_SCHEMA, *schemas
    )
    files = Files(database, ServerBytes(database, local / "cache"), clock=database.clock)
    versions = IndexVersions(database, clock=database.clock)
    store = CurrentStore(versions, lambda name: PostgresStore(database, index=name), heal=files.queue.heal)
    return Parts(
        database.address.without_password, database, files, store, SettingsTable(database), database.clock
    )
