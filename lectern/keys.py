"""The keys of language-model providers, in `keys.json`, apart from the settings. Only the file's owner may read it."""

from __future__ import annotations

import json
import os
import sqlite3
from codecs import BOM_UTF8
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from lectern.settings import Provider, home_of
from ragcore.errors import ConfigError
from ragcore.storage.atomic_file import replace_file


def read_key(folder: Path, provider: Provider) -> str:
    """The stored key, or the environment's OPENAI_API_KEY for OpenAI, or ""."""
    stored = _keys(folder).get(provider, "")
    if not stored and provider == "openai":
        return os.environ.get("OPENAI_API_KEY", "")
    return stored


def write_key(folder: Path, provider: Provider, key: str) -> None:
    """Keep the key in a file that only its owner may read; "" forgets it."""
    home = home_of(folder)
    with _alone(home / "keys.lock"):
        keys = {name: value for name, value in _keys(folder).items() if name != provider}
        if key:
            keys[provider] = key
        replace_file(home / "keys.json", json.dumps(keys), mode=0o600)


def mask(key: str) -> str:
    """A key as a screen may show it: enough to recognise, too little to use."""
    return f"{key[:3]}…{key[-4:]}" if len(key) >= 16 else "•" * min(len(key), 8)


def _keys(folder: Path) -> dict[str, str]:
    path = home_of(folder) / "keys.json"
    if not path.exists():
        return {}
    try:
        keys: dict[str, str] = TypeAdapter(dict[str, str]).validate_json(path.read_bytes().removeprefix(BOM_UTF8))
    except ValidationError:
        # Not raised from the cause: its words would hold the keys.
        raise ConfigError(f"The keys in {path} cannot be read.", hint="Delete the file and enter the keys again.") from None
    return keys


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
