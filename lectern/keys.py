"""The keys of language-model providers, in `keys.json`, apart from the settings. Only the file's owner may read it, and each
key is for one server: a person who changes a server's address is asked for the key of the other one."""

from __future__ import annotations

import json
import logging
import os
import sqlite3
from codecs import BOM_UTF8
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from lectern.settings import AppSettings, Provider, home_of
from ragcore.errors import ConfigError, StoreError
from ragcore.storage.atomic_file import replace_file

logger = logging.getLogger(__name__)

DAMAGED = "keys.damaged"  # what a file that cannot be read is called from then on, with a number and .json


class StoredKey(BaseModel):
    """A key, and the origin (scheme, host and port) that it was given for; "" where that is not known yet."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    key: str
    origin: str


def read_key(folder: Path, provider: Provider, address: str = "") -> str:
    """The key that was stored for the server at `address`, "" being the provider's usual one; or the environment's
    OPENAI_API_KEY for OpenAI; or "". No other server is given it."""
    from ragcore.llms.server_address import OPENAI_URL, openai_base_url

    origin = key_origin(provider, address)
    stored = _keys(folder).get(provider)
    if stored is not None and stored.origin == origin:
        return stored.key
    if stored is None and provider == "openai" and origin in (_origin(OPENAI_URL), _origin(openai_base_url())):
        return os.environ.get("OPENAI_API_KEY", "")
    return ""


def write_key(folder: Path, provider: Provider, key: str, address: str = "") -> None:
    """Keep the key of the server at `address` in a file that only its owner may read; "" forgets it."""
    with _changed(folder) as keys:
        keys.pop(provider, None)
        if key:
            keys[provider] = StoredKey(key=key, origin=key_origin(provider, address))


def bind_keys(folder: Path, settings: AppSettings) -> None:
    """Have keys whose origin is not known yet be for the servers that are set now. Former versions of Lectern stored none."""
    unbound = [name for name, stored in _keys(folder).items() if not stored.origin]
    if unbound:
        servers = [settings.llm, *settings.connected.values()]
        origins: dict[str, str] = {llm.provider: key_origin(llm.provider, llm.base_url) for llm in reversed(servers)}
        with suppress(StoreError), _changed(folder) as keys:  # on a full disk they stay as they are
            for name in filter(origins.get, unbound):
                keys[name] = StoredKey(key=keys[name].key, origin=origins[name])


def stored_keys(folder: Path) -> dict[str, StoredKey]:
    """All keys in the file, whichever server each is for."""
    return _keys(folder)


def key_origin(provider: str, address: str) -> str:
    """Scheme, host and port of the server of `provider` at `address`; "" for what is no address."""
    from ragcore.llms.server_address import OPENAI_URL

    return _origin(address or (OPENAI_URL if provider == "openai" else ""))


def _origin(address: str) -> str:
    from ragcore.llms.server_address import api_address, origin_of

    try:
        return origin_of(api_address(address))
    except ConfigError:
        return ""


@contextmanager
def _changed(folder: Path) -> Iterator[dict[str, StoredKey]]:
    """The keys, to be changed and then written."""
    home = home_of(folder)
    with _alone(home / "keys.lock"):
        keys = _keys(folder)
        yield keys
        text = json.dumps({name: stored.model_dump() for name, stored in keys.items()})
        replace_file(home / "keys.json", text, mode=0o600)


def mask(key: str) -> str:
    """A key as a screen may show it: enough to recognise, too little to use."""
    return f"{key[:3]}…{key[-4:]}" if len(key) >= 16 else "•" * min(len(key), 8)


def _keys(folder: Path) -> dict[str, StoredKey]:
    path = home_of(folder) / "keys.json"
    if not path.exists():
        return {}
    try:
        keys = TypeAdapter(dict[str, StoredKey | str]).validate_json(path.read_bytes().removeprefix(BOM_UTF8))
    except ValidationError:
        _set_aside(path)
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
    """That the stored keys were damaged, until keys are stored anew or the damaged file is deleted."""
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


def _set_aside(path: Path) -> None:
    """Give a damaged file another name, so that nothing is written over what may still be read in it."""
    number = 1
    while (aside := path.with_name(f"{DAMAGED}-{number}.json")).exists():
        number += 1
    try:
        path.replace(aside)
    except FileNotFoundError:  # another process was quicker
        return
    except OSError:
        # Not raised from the cause, whose context would hold the keys.
        raise ConfigError(f"The keys in {path} cannot be read.", hint="Delete the file and enter the keys again.") from None
    logger.warning("the keys in %s cannot be read; the file is called %s now", path, aside.name)


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """One process at a time, by SQLite's lock, which every system has. A folder that takes no lock takes no file, and says so;
    who has held it for seconds hangs, and is not waited for."""
    with ExitStack() as held:
        with suppress(sqlite3.Error, OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            lock = held.enter_context(closing(sqlite3.connect(path, isolation_level=None)))
            lock.execute("BEGIN EXCLUSIVE")
        yield
