"""Settings, typed, in a library's `settings.json` or in its database server. Keys live apart from them, in `keys.json`.

Both files may be edited by hand; a value that cannot work is a ConfigError that names it.
"""

from __future__ import annotations

import os
import secrets
import time
from codecs import BOM_UTF8
from pathlib import Path
from typing import Literal, Protocol
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ragcore.errors import ConfigError
from ragcore.sql.base import Database
from ragcore.storage.atomic_file import replace_file

DATABASE = "LECTERN_DATABASE"  # the environment's name for the address of a library on a server
READ_SECONDS = 1.0  # between two looks at the settings that a server keeps
INDEXES = "indexes"  # in the folder of a person's first library: where the others are
ABOUT = "index.json"  # in the folder of each of those others

SCHEMA = """
CREATE TABLE IF NOT EXISTS shared (
    name TEXT PRIMARY KEY,           -- what all processes of a library agree on: settings, secret
    value TEXT NOT NULL
);
"""

Provider = Literal["none", "llama_cpp", "ollama", "openai", "openai_compatible"]
ResponseMode = Literal[
    "refine", "compact", "simple_summarize", "tree_summarize", "generation", "no_text", "accumulate", "compact_accumulate"
]
SplitterName = Literal["sentence", "token", "section"]  # see lectern.jobs.chunking
ChatMode = Literal["simple", "condense_question", "context", "condense_plus_context", "react", "openai", "best"]


class _Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class LLMSettings(_Settings):
    """Which language model answers. The key is not here: see `lectern.keys`."""

    provider: Provider = "none"
    base_url: str = ""  # "" is the provider's usual address
    model: str = ""  # of llama_cpp: a file in the folder `models`, or the path in LECTERN_MODEL
    context_window: int = Field(default=8192, ge=512)  # tokens
    num_output: int = Field(default=768, ge=16)  # tokens kept free for the answer
    temperature: float = Field(default=0.1, ge=0, le=2)
    timeout: float = Field(default=120.0, gt=0)  # seconds without a sign of life
    calls_functions: bool = False  # whether the model and its server take tools; OpenAI's do
    calls_at_once: int | None = Field(default=None, ge=1)  # None: found out from the server
    idle_minutes: float = Field(default=10.0, gt=0)  # without a question, until a model on this computer leaves memory

    @property
    def on_this_computer(self) -> bool:
        """Whether what is sent to the model stays on this machine."""
        if self.provider in ("none", "llama_cpp"):
            return True
        host = urlsplit(self.base_url if "//" in self.base_url else f"//{self.base_url}").hostname
        if not self.base_url.strip():
            return self.provider == "ollama"  # whose usual address is here
        return host in ("localhost", "::1") or str(host).startswith("127.")


class AnswerSettings(_Settings):
    top_k: int = Field(default=6, ge=1, le=100)  # passages, at most
    weaker: bool = False  # passages far weaker than the best, too
    response_mode: ResponseMode = "compact"
    chat_mode: ChatMode = "condense_plus_context"
    system_prompt: str = ""


class IngestSettings(_Settings):
    """How files become passages. 200 tokens fit the bundled embedder's window of 256."""

    chunk_size: int = Field(default=200, ge=16)  # tokens
    chunk_overlap: int = Field(default=0, ge=0)  # tokens
    splitter: SplitterName = "sentence"
    max_file_mb: int = Field(default=500, ge=1)
    max_text_mb: int = Field(default=50, ge=1)  # text in one file, after reading
    read_timeout: float = Field(default=600.0, gt=0)  # seconds for reading one file
    read_memory_mb: int = Field(default=2048, ge=256)


class PriceSettings(_Settings):
    """What tokens cost where they cost something, and how much an answer may take before the person is asked first."""

    prompt_million: float = Field(default=0.0, ge=0)  # money for a million tokens that the model reads
    completion_million: float = Field(default=0.0, ge=0)  # money for a million tokens that it writes
    currency: str = Field(default="$", max_length=5)
    ask_above_calls: int = Field(default=50, ge=0)  # 0 never asks
    ask_above_tokens: int = Field(default=100_000, ge=0)  # 0 never asks

    def money(self, prompt_tokens: int, completion_tokens: int) -> float | None:
        """None where tokens have no price."""
        if not (self.prompt_million or self.completion_million):
            return None
        return (prompt_tokens * self.prompt_million + completion_tokens * self.completion_million) / 1e6


class AppSettings(_Settings):
    llm: LLMSettings = LLMSettings()
    connected: dict[Provider, LLMSettings] = {}  # what was last set for the providers that do not answer now
    answers: AnswerSettings = AnswerSettings()
    ingest: IngestSettings = IngestSettings()
    price: PriceSettings = PriceSettings()
    language: Literal["", "en", "de", "es", "fr", "zh"] = ""  # of the screens; "" is the browser's
    stage: bool = False  # questions that were recorded are answered by their recordings, see lectern.runs.recorded_demo

    def with_model(self, llm: LLMSettings) -> AppSettings:
        """With `llm` to answer, and what answered before among those that can be taken up again."""
        before = {} if self.llm.provider == "none" else {self.llm.provider: self.llm}
        return self.model_copy(update={"llm": llm, "connected": {**self.connected, **before}})

    def without_model(self, provider: Provider, model: str) -> AppSettings:
        """After a model of `provider` is gone: where it answered, nothing does now, and it cannot be taken up again."""
        connected = {name: llm for name, llm in self.connected.items() if (name, llm.model) != (provider, model)}
        gone = (self.llm.provider, self.llm.model) == (provider, model)
        return self.model_copy(update={"llm": LLMSettings() if gone else self.llm, "connected": connected})


class AllowedSources(_Settings):
    """What whoever runs this server lets people add from beside their own files. Not among the settings on the screens."""

    folders: tuple[Path, ...] = ()  # whose files, and those below, may be added
    storage: tuple[str, ...] = ()  # what addresses such as s3://reports/ begin with
    private_network: bool = False  # links, databases and model servers may be in the network around this machine


def allowed_sources() -> AllowedSources:
    """As the environment says: LECTERN_FOLDERS and LECTERN_STORAGE are lists, LECTERN_PRIVATE_NETWORK is "allow" or not."""
    return AllowedSources(
        folders=tuple(Path(each) for each in os.environ.get("LECTERN_FOLDERS", "").split(os.pathsep) if each.strip()),
        storage=tuple(os.environ.get("LECTERN_STORAGE", "").replace(",", " ").split()),
        private_network=os.environ.get("LECTERN_PRIVATE_NETWORK", "").strip().lower() == "allow",
    )


def models_are_locked() -> bool:
    """Whether whoever runs this server lets the screens change nothing about language models: LECTERN_MODEL_SETTINGS is
    "locked"."""
    return os.environ.get("LECTERN_MODEL_SETTINGS", "").strip().lower() == "locked"


class KeptSettings(Protocol):
    def read(self) -> AppSettings:
        """As they are now, whichever process changed them. The defaults where nothing is kept. ConfigError."""

    def write(self, settings: AppSettings) -> None: ...


class SettingsFile:
    """`settings.json` in a library's folder, read again when it has changed. One of several libraries of a person has only
    `ingest` to itself; the rest is that of their first, see `home_of`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._home = home_of(folder)
        self._known: dict[Path, tuple[tuple[int, ...], AppSettings]] = {}

    def read(self) -> AppSettings:
        own = self._read(self._folder)
        if self._home == self._folder:
            return own
        return self._read(self._home).model_copy(update={"ingest": own.ingest})

    def write(self, settings: AppSettings) -> None:
        if self._home != self._folder:
            ingest = self._read(self._home).ingest
            write_settings(self._home, settings.model_copy(update={"ingest": ingest}))
        write_settings(self._folder, settings)

    def _read(self, folder: Path) -> AppSettings:
        try:
            now = (folder / "settings.json").stat()
        except FileNotFoundError:
            return AppSettings()
        stamp = (now.st_ino, now.st_mtime_ns, now.st_size)
        known = self._known.get(folder)
        if known is None or known[0] != stamp:
            known = self._known[folder] = (stamp, read_settings(folder))
        return known[1]


class SettingsTable:
    """Settings in the database of a library, looked at again every second."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._read: tuple[float, AppSettings] | None = None

    def read(self) -> AppSettings:
        if self._read is None or time.monotonic() - self._read[0] > READ_SECONDS:
            began = time.monotonic()
            with self._database.snapshot() as db:
                kept = db.execute("SELECT value FROM shared WHERE name = 'settings'").fetchone()
            self._read = (began, _of_server(kept["value"]) if kept else AppSettings())
        return self._read[1]

    def write(self, settings: AppSettings) -> None:
        with self._database.transaction() as db:
            db.execute(
                "INSERT INTO shared (name, value) VALUES ('settings', ?)"
                " ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                (settings.model_dump_json(),),
            )
        self._read = (time.monotonic(), settings)


def shared_secret(database: Database) -> bytes:
    """Random bytes that all processes of a library know; made by the first that asks."""
    known = "SELECT value FROM shared WHERE name = 'secret'"
    with database.snapshot() as db:
        if kept := db.execute(known).fetchone():
            return bytes.fromhex(kept["value"])
    with database.transaction() as db:
        made = "INSERT INTO shared (name, value) VALUES ('secret', ?) ON CONFLICT (name) DO NOTHING"
        db.execute(made, (secrets.token_hex(32),))
        return bytes.fromhex(db.execute(known).fetchone()["value"])


def read_settings(folder: Path) -> AppSettings:
    """The settings of the library in `folder`; the defaults where there is no file."""
    path = folder / "settings.json"
    if not path.exists():
        return AppSettings()
    hint = "Correct the value, or delete the file to go back to the defaults."
    return _parsed(path.read_bytes().removeprefix(BOM_UTF8), f"The settings in {path}", hint)


def write_settings(folder: Path, settings: AppSettings) -> None:
    replace_file(folder / "settings.json", settings.model_dump_json(indent=2))


def default_folder() -> Path:
    """Where a person's library is: LECTERN_HOME, or this system's place for application data."""
    import platformdirs

    home = os.environ.get("LECTERN_HOME")
    return Path(home) if home else Path(platformdirs.user_data_dir("lectern", appauthor=False))


def home_of(folder: Path) -> Path:
    """The folder that holds the keys and settings of the library in `folder`: its own, or that of the person's first library
    where this is another one of theirs, see lectern.indexes."""
    return folder.parents[1] if folder.parent.name == INDEXES and (folder / ABOUT).exists() else folder


def default_library(database: str | None = None) -> Path | str:
    """The library on the server `database`, by default that of LECTERN_DATABASE; where neither is given, the default folder.

    ConfigError for what is not the address of a server; the address, which may hold a password, is not shown.
    """
    address = database or os.environ.get(DATABASE)
    if not address:
        return default_folder()
    if not on_server(address):
        raise ConfigError(
            "The library's database is not the address of a PostgreSQL server.",
            hint="Write it as postgresql://user:password@host:5432/database.",
        )
    return address


def on_server(where: Path | str) -> bool:
    """Whether this is the address of a server, and not a folder."""
    return str(where).startswith(("postgresql://", "postgres://"))


def _of_server(text: str) -> AppSettings:
    hint = "They were saved by another version of Lectern: start the same one on every machine."
    return _parsed(text.encode(), "The settings of this library", hint)


def _parsed(text: bytes, which: str, hint: str) -> AppSettings:
    try:
        return AppSettings.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the file"
        raise ConfigError(f"{which} cannot be used: {place}: {first['msg']}.", hint=hint) from error
