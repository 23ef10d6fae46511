"""The failures of the server and the driver, as errors that a person can act on."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager

from ragcore.errors import DamagedStoreError, MissingPackageError, StoreError
from ragcore.sql.base import BusyError
from ragcore.sql.postgres_address import Address


class LostConnectionError(StoreError):
    """The server does not answer, or has stopped answering."""

    retryable = True


class MissingTableError(DamagedStoreError):
    """A table does not exist, or no longer."""


@contextmanager
def explain_failures(address: Address) -> Iterator[None]:
    """Translates the driver's failures. An error in one of our statements passes unchanged."""
    try:
        from pg8000.exceptions import DatabaseError, InterfaceError
    except ImportError as error:
        raise MissingPackageError("pg8000", extra="postgres") from error
    try:
        yield
    except (InterfaceError, DatabaseError, OSError) as error:
        # After a refused connection the driver fails to say goodbye; the refusal is in the context of that
        # failure.
        refusal: BaseException | None = error
        while refusal is not None and not isinstance(refusal, DatabaseError):
            refusal = refusal.__context__
        if refusal is None:
            raise no_answer(error, address) from error
        fields = refusal.args[0] if refusal.args and isinstance(refusal.args[0], dict) else {}
        explained = _explain(fields.get("C", ""), fields.get("M", ""), address)
        if explained is None:
            raise
        raise explained from error


def no_answer(error: Exception, address: Address) -> StoreError:
    if "password" in str(error):
        return _access_denied(address, str(error))
    where = address.without_password
    if "refuses SSL" in str(error):
        return StoreError(
            f"The PostgreSQL server of {where} does not encrypt connections, but the address asks for it.",
            hint="Ask its administrator to set up SSL, or leave sslmode= out of the address.",
        )
    if isinstance(error, ssl.SSLCertVerificationError):
        return StoreError(
            f"The certificate of the PostgreSQL server of {where} is not accepted: {error.verify_message}.",
            hint=(
                "Name the server as its certificate does, and set sslrootcert= to a file with the "
                "certificate of its issuer."
            ),
        )
    return LostConnectionError(
        f"The PostgreSQL server of {where} does not answer.",
        hint="Check that it is running and can be reached from this machine, then try again.",
    )


def _access_denied(address: Address, detail: str) -> StoreError:
    where = address.without_password
    return StoreError(
        f"The PostgreSQL server of {where} does not let {address.user} in: {detail}.",
        hint="Check the user and the password in the address.",
    )


def _explain(code: str, detail: str, address: Address) -> StoreError | None:
    """The error for a code of https://www.postgresql.org/docs/current/errcodes-appendix.html; None for a
    wrong statement."""
    return (
        _refusal(code, detail, address)
        or _no_vectors(code, detail, address)
        or _failure(code, detail, address)
    )


def _refusal(code: str, detail: str, address: Address) -> StoreError | None:
    """Failures of access, room and schemas."""
    where = address.without_password
    if code in ("28P01", "28000"):
        return _access_denied(address, detail)
    if code == "3D000":
        return StoreError(
            f"There is no database {address.database} on the PostgreSQL server at {address.host}.",
            hint=f"Make it with: createdb {address.database}",
        )
    if code == "53300":
        return StoreError(
            f"The PostgreSQL server of {where} has no free connections.",
            hint="Close other programs that use it, or raise max_connections in its settings.",
        )
    if code in ("53100", "53200", "54000"):
        return StoreError(
            f"The PostgreSQL server of {where} has no room left: {detail}. Nothing was changed.",
            hint="Free some space on the server's disk and try again.",
        )
    if code == "22P05":
        return StoreError(
            f"The library in {where} stores text in an encoding that lacks a character of this text: "
            f"{detail}.",
            hint="Move it into a database made with createdb --encoding UTF8 --locale C --template "
            "template0, which has them all.",
        )
    if code == "3F000":
        return StoreError(
            f"There is no schema on the PostgreSQL server of {where} to keep a library in: {detail}.",
            hint=(
                "Create the schema that search_path names, with CREATE SCHEMA, or leave search_path out "
                "of the address."
            ),
        )
    if code == "55P03":
        return BusyError(f"The library in {where}")
    return None


def _no_vectors(code: str, detail: str, address: Address) -> StoreError | None:
    where = address.without_password
    if code == "42704" and 'type "vector"' in detail:
        return StoreError(
            f"The PostgreSQL server of {where} has no extension for vectors in a schema that is "
            f"searched: {detail}.",
            hint="Also name the extension's schema in the address, as in ?options=-csearch_path=team,public.",
        )
    if "extension" in detail and ("vector" in detail or code == "42501"):
        return StoreError(
            f"The PostgreSQL server of {where} has no extension for vectors: {detail}.",
            hint="Have its administrator install pgvector (on Debian: apt install "
            "postgresql-18-pgvector, with the number of "
            f"the server's version) and run, in the database {address.database}: CREATE EXTENSION vector",
        )
    return None


def _failure(code: str, detail: str, address: Address) -> StoreError | None:
    """Failures while a statement ran."""
    where = address.without_password
    if code in ("42501", "25006"):
        return StoreError(
            f"The PostgreSQL server of {where} does not let {address.user} write: {detail}.",
            hint=f"Have its administrator run: GRANT ALL ON DATABASE {address.database} TO {address.user}",
        )
    if code.startswith("57P") or code == "25P03":
        return LostConnectionError(
            f"The PostgreSQL server of {where} ended the connection: {detail}.",
            hint="Try again once it has restarted.",
        )
    if code == "0A000" and "cached plan" in detail:
        return LostConnectionError(
            f"The tables of the library in {where} were changed by another version of Lectern.",
            hint="Try again. If it happens again, start Lectern again with that version.",
        )
    if code == "42P01":
        return MissingTableError(
            f"The library in {where} lacks a table: {detail}.",
            hint="Restore the database from a backup, or open another library.",
        )
    if code.startswith(("XX", "58")):
        return DamagedStoreError(
            f"The PostgreSQL server of {where} reports an internal error: {detail}.",
            hint="Check the server's log. If its files are damaged, restore the database from a backup.",
        )
    return None
