"""The address of a PostgreSQL server."""

from __future__ import annotations

import getpass
import ssl
from dataclasses import dataclass
from urllib.parse import parse_qs, unquote, urlsplit

from ragcore.errors import ConfigError


@dataclass(frozen=True, slots=True, repr=False)
class Address:
    """The parts of an address."""

    user: str
    password: str | None
    host: str
    port: int
    database: str
    options: str | None  # for the server, such as -csearch_path=team
    # None: optional; True: required; a context: with a certificate check
    encryption: ssl.SSLContext | bool | None

    @property
    def local(self) -> bool:
        """Whether the host is the folder of a Unix socket."""
        return self.host.startswith("/")

    @property
    def without_password(self) -> str:
        where = self.host if self.local else f"{self.host}:{self.port}"
        return f"{self.database} on {where}"


def address_of(url: str) -> Address:
    """The parts of postgresql://user:password@host:port/database?sslmode=...&options=... ConfigError for
    anything else.

    `?host=/folder` names the folder of a server's Unix socket. sslmode is disable, prefer (the default),
    require, or verify-full, which checks the server's certificate, with sslrootcert=FILE against the
    authorities in that file.
    """
    example = "Write it as postgresql://user:password@host:5432/database."
    try:
        parts = urlsplit(url)
        options = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        port = int(options.get("port") or parts.port or 5432)
    except ValueError as error:
        raise ConfigError("The address of the PostgreSQL server cannot be read.", hint=example) from error
    if parts.scheme not in ("postgresql", "postgres"):
        raise ConfigError(
            f"A PostgreSQL address begins with postgresql://, not with {parts.scheme}://.", hint=example
        )
    if unknown := sorted(options.keys() - {"host", "port", "sslmode", "sslrootcert", "options"}):
        known = "It may have host, port, sslmode, sslrootcert and options."
        raise ConfigError(
            f"The address of the PostgreSQL server has {unknown[0]}=, which is not supported.", hint=known
        )
    user = unquote(parts.username) if parts.username else getpass.getuser()
    return Address(
        user=user,
        password=unquote(parts.password) if parts.password is not None else None,
        host=options.get("host") or parts.hostname or "127.0.0.1",
        port=port,
        database=unquote(parts.path[1:]) or user,
        options=options.get("options"),
        encryption=_encryption(options.get("sslmode", "prefer"), options.get("sslrootcert")),
    )


def _encryption(mode: str, authorities: str | None) -> ssl.SSLContext | bool | None:
    if mode == "verify-full":
        try:
            return ssl.create_default_context(cafile=authorities)
        except OSError as error:
            raise ConfigError(
                f"The certificates in {authorities} cannot be read: {error.strerror or error}.",
                hint=(
                    "Set sslrootcert= to a file of certificates in PEM format, or leave it out to use "
                    "those of this system."
                ),
            ) from error
    known = {"disable": False, "prefer": None, "require": True}
    if mode not in known:
        choices = ", ".join([*known, "verify-full"])
        raise ConfigError(
            f"The address of the PostgreSQL server has sslmode={mode}.", hint=f"It may be one of {choices}."
        )
    return known[mode]
