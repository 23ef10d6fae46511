"""The keys of language-model providers, in `keys.json`, which only its owner may read.

Each key is for one server: after a change of the server's address, the key must be entered again.
"""

from __future__ import annotations

import json
import logging
import os
import sqlite3
import zlib
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

from pydantic import BaseModel, ConfigDict, TypeAdapter

from lectern.settings import AppSettings, Provider, home_of
from ragcore.errors import ConfigError, StoreError
from ragcore.storage.atomic_file import replace_file

logger = logging.getLogger(__name__)

CHECKSUM = "checksum"  # Its name in the file. Earlier versions take it for the key of another provider.
DAMAGED = "keys.damaged"  # new name of a file that cannot be read, with a number and .json


class StoredKey(BaseModel):
    """A key, and the origin (scheme, host and port) of its server; "" while it is unknown."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    key: str
    origin: str


def read_key(folder: Path, provider: Provider, address: str = "") -> str:
    """The stored key of the server at `address`, by default the provider's usual one; or OPENAI_API_KEY for
    OpenAI; or ""."""
    from ragcore.llms.server_address import OPENAI_URL, openai_base_url

    origin = key_origin(provider, address)
    stored = _keys(folder).get(provider)
    if stored is not None and stored.origin == origin:
        return stored.key
    if (
        stored is None
        and provider == "openai"
        and origin in (_origin(OPENAI_URL), _origin(openai_base_url()))
    ):
        return os.environ.get("OPENAI_API_KEY", "")
    return ""


def write_key(folder: Path, provider: Provider, key: str, address: str = "") -> None:
    """Store the key of the server at `address`; "" deletes it."""
    with _change_keys(folder) as keys:
        keys.pop(provider, None)
        if key:
            keys[provider] = StoredKey(key=key, origin=key_origin(provider, address))


def bind_keys(folder: Path, settings: AppSettings) -> None:
    """Set the origin of keys that earlier versions stored without one to that of the current servers."""
    unbound = [name for name, stored in _keys(folder).items() if not stored.origin]
    if unbound:
        servers = [settings.llm, *settings.connected.values()]
        origins: dict[str, str] = {
            llm.provider: key_origin(llm.provider, llm.base_url) for llm in reversed(servers)
        }
        with suppress(StoreError), _change_keys(folder) as keys:  # on a full disk they do not change
            for name in filter(origins.get, unbound):
                keys[name] = StoredKey(key=keys[name].key, origin=origins[name])


def stored_keys(folder: Path) -> dict[str, StoredKey]:
    """All keys in the file, by provider."""
    return _keys(folder)


def key_origin(provider: str, address: str) -> str:
    """Scheme, host and port of the server of `provider` at `address`; "" for an invalid address."""
    from ragcore.llms.server_address import OPENAI_URL

    return _origin(address or (OPENAI_URL if provider == "openai" else ""))


def _origin(address: str) -> str:
    from ragcore.llms.server_address import api_address, origin_of

    try:
        return origin_of(api_address(address))
    except ConfigError:
        return ""


@contextmanager
def _change_keys(folder: Path) -> Iterator[dict[str, StoredKey]]:
    """The keys as a dictionary, which is written at the end."""
    home = home_of(folder)
    with _lock(home / "keys.lock"):
        keys = _keys(folder)
        yield keys
        text = json.dumps(
            {name: stored.model_dump() for name, stored in keys.items()} | {CHECKSUM: _checksum(keys)}
        )
        replace_file(home / "keys.json", text, mode=0o600)


def _checksum(keys: Mapping[str, StoredKey | str]) -> str:
    """CRC-32 of the keys with their names and origins."""
    entries = sorted(
        (name, stored.key, stored.origin) if isinstance(stored, StoredKey) else (name, stored)
        for name, stored in keys.items()
    )
    return f"{zlib.crc32(json.dumps(entries).encode()):08x}"


def mask(key: str) -> str:
    """A part of a key that is enough to recognise it, and too little to use it."""
    return f"{key[:3]}…{key[-4:]}" if len(key) >= 16 else "•" * min(len(key), 8)


def _keys(folder: Path) -> dict[str, StoredKey]:
    path = home_of(folder) / "keys.json"
    if not path.exists():
        return {}
    try:
        keys = TypeAdapter(dict[str, StoredKey | str]).validate_json(path.read_bytes().removeprefix(BOM_UTF8))
        # An earlier version that changed the keys has made an object of it.
        checksum = keys.pop(CHECKSUM, None)
        if isinstance(checksum, str) and checksum != _checksum(keys):
            raise ValueError("another checksum")
    except ValueError:  # of which a ValidationError is one
        _rename_damaged(path)
        return {}
    except OSError as error:
        raise ConfigError(
            f"The keys in {path} cannot be read: {error.strerror}.",
            hint="Check that the file is yours and that you may read it.",
        ) from error
    return {
        name: stored if isinstance(stored, StoredKey) else StoredKey(key=stored, origin=key_origin(name, ""))
        for name, stored in keys.items()
    }


def damaged_keys(folder: Path) -> ConfigError | None:
    """The error of a damaged file, until keys are stored again or the damaged file is deleted."""
    home = home_of(folder)
    try:
        _keys(folder)
    except ConfigError as error:
        return error
    aside = max(home.glob(f"{DAMAGED}*.json"), key=lambda path: path.stat().st_mtime_ns, default=None)
    if aside is None or (home / "keys.json").exists():
        return None
    return ConfigError(
        f"The stored keys of language models are damaged. Their file was kept as {aside}.",
        hint="Enter the keys again in Settings, or delete that file if you need none.",
    )


def _rename_damaged(path: Path) -> None:
    """Rename a damaged file, so that it is not overwritten."""
    number = 1
    while (aside := path.with_name(f"{DAMAGED}-{number}.json")).exists():
        number += 1
    try:
        path.replace(aside)
    except FileNotFoundError:  # another process was faster
        return
    except OSError:
        # Without the cause, because its context has the keys.
        raise ConfigError(
            f"The keys in {path} cannot be read.", hint="Delete the file and enter the keys again."
        ) from None
    logger.warning("the keys in %s cannot be read; the file is called %s now", path, aside.name)


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    """Exclude other processes with a lock of SQLite, which works on every system. After some seconds, go on
    without the lock: its process hangs. If the folder is read-only, the write of the keys raises the
    error."""
    with ExitStack() as stack:
        with suppress(sqlite3.Error, OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            lock = stack.enter_context(closing(sqlite3.connect(path, isolation_level=None)))
            lock.execute("BEGIN EXCLUSIVE")
        yield
