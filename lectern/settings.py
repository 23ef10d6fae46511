"""Settings in a library's `settings.json` or its database server. Keys are in another file, `keys.json`.

A person may edit both files. An invalid value is a ConfigError with its name.
"""

from __future__ import annotations

import os
import secrets
import time
from codecs import BOM_UTF8
from pathlib import Path
from typing import Annotated, Literal, Protocol
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, GetPydanticSchema, ValidationError
from pydantic_core.core_schema import literal_schema

from lectern.retrieval import Retrieval
from ragcore.errors import ConfigError
from ragcore.response_synthesizers.response_mode import ResponseMode
from ragcore.sql.base import Database
from ragcore.storage.atomic_file import replace_file

DATABASE = "LECTERN_DATABASE"  # environment variable: the address of a library on a server
HOME = "LECTERN_HOME"  # environment variable: the folder of a person's library
FOLDERS = "LECTERN_FOLDERS"  # environment variable: the folders of this server that may be added
MODEL = "LECTERN_MODEL"  # environment variable: the path of a language model anywhere on this computer
# Environment variables with paths: lists of paths, and single ones.
_PATH_LISTS = (FOLDERS, "PYTHONPATH")
_SINGLE_PATHS = (HOME, MODEL, "TESSDATA_PREFIX")
READ_SECONDS = 1.0  # between two reads of settings on a server
INDEXES = "indexes"  # folder of a person's other libraries, in that of the first
ABOUT = "index.json"  # in the folder of each other library

SCHEMA = """
CREATE TABLE IF NOT EXISTS shared (
    name TEXT PRIMARY KEY,           -- a value for all processes of a library: settings, secret
    value TEXT NOT NULL
);
"""

Provider = Literal["none", "llama_cpp", "ollama", "openai", "openai_compatible"]
RESPONSE_MODES = [mode.value for mode in ResponseMode]
# Pydantic accepts only these names.
ResponseModeName = Annotated[str, GetPydanticSchema(lambda _type, _handler: literal_schema(RESPONSE_MODES))]
SplitterName = Literal["sentence", "token", "section"]  # see lectern.jobs.chunking
ChatMode = Literal[
    "simple", "condense_question", "context", "condense_plus_context", "react", "openai", "best"
]


class _Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class LLMSettings(_Settings):
    """The language model that answers. For its key, see `lectern.keys`."""

    provider: Provider = "none"
    base_url: str = ""  # "" is the provider's usual address
    model: str = ""  # of llama_cpp: a file in the folder `models`, or the path in LECTERN_MODEL
    context_window: int = Field(default=8192, ge=512)  # tokens
    num_output: int = Field(default=768, ge=16)  # tokens reserved for the answer
    temperature: float = Field(default=0.1, ge=0, le=2)
    timeout: float = Field(default=120.0, gt=0)  # seconds without a byte
    calls_functions: bool = False  # whether the model and its server accept tools; OpenAI's do
    calls_at_once: int | None = Field(default=None, ge=1)  # None: as the server reports
    idle_minutes: float = Field(default=10.0, gt=0)  # before a model on this computer is removed from memory

    @property
    def on_this_computer(self) -> bool:
        """Whether prompts stay on this machine."""
        if self.provider in ("none", "llama_cpp"):
            return True
        host = urlsplit(self.base_url if "//" in self.base_url else f"//{self.base_url}").hostname
        if not self.base_url.strip():
            return self.provider == "ollama"  # with a usual address on this machine
        return host in ("localhost", "::1") or str(host).startswith("127.")


class AnswerSettings(_Settings):
    top_k: int = Field(default=6, ge=1, le=100)  # maximum number of passages
    weaker: bool = False  # also passages far weaker than the best
    response_mode: ResponseModeName = "compact"
    chat_mode: ChatMode = "condense_plus_context"
    system_prompt: str = ""

    @property
    def retrieval(self) -> Retrieval:
        """The options of a retrieval that are settings; the others have their defaults."""
        return Retrieval(weaker=self.weaker)


class IngestSettings(_Settings):
    """How files are read and split. 200 tokens fit the bundled embedder's window of 256."""

    chunk_size: int = Field(default=200, ge=16)  # tokens
    chunk_overlap: int = Field(default=0, ge=0)  # tokens
    splitter: SplitterName = "sentence"
    max_file_mb: int = Field(default=500, ge=1)
    max_text_mb: int = Field(default=50, ge=1)  # text in one file, after reading
    read_timeout: float = Field(default=600.0, gt=0)  # seconds for reading one file
    read_memory_mb: int = Field(default=2048, ge=256)

    @property
    def max_query_mb(self) -> int:
        """Of the rows of a database: they become one text file."""
        return min(self.max_file_mb, self.max_text_mb)


class PriceSettings(_Settings):
    """The price of tokens, and the limits above which an answer needs a confirmation."""

    prompt_million: float = Field(default=0.0, ge=0)  # money for a million tokens that the model reads
    completion_million: float = Field(default=0.0, ge=0)  # money for a million tokens that it writes
    currency: str = Field(default="$", max_length=5)
    ask_above_calls: int = Field(default=50, ge=0)  # 0 never asks
    ask_above_tokens: int = Field(default=100_000, ge=0)  # 0 never asks

    def money(self, prompt_tokens: int, completion_tokens: int) -> float | None:
        """None if tokens have no price."""
        if not (self.prompt_million or self.completion_million):
            return None
        return (prompt_tokens * self.prompt_million + completion_tokens * self.completion_million) / 1e6


class AppSettings(_Settings):
    llm: LLMSettings = LLMSettings()
    connected: dict[Provider, LLMSettings] = {}  # the last settings of other providers
    answers: AnswerSettings = AnswerSettings()
    ingest: IngestSettings = IngestSettings()
    price: PriceSettings = PriceSettings()
    language: Literal["", "en", "de", "es", "fr", "zh"] = ""  # of the screens; "" is the browser's
    stage: bool = False  # recordings answer their questions, see lectern.runs.recorded_demo

    def with_model(self, llm: LLMSettings) -> AppSettings:
        """Let `llm` answer, and store the settings of the model before."""
        before = {} if self.llm.provider == "none" else {self.llm.provider: self.llm}
        return self.model_copy(update={"llm": llm, "connected": {**self.connected, **before}})

    def without_model(self, provider: Provider, model: str) -> AppSettings:
        """Delete the settings of a model, which may be the current one."""
        connected = {
            name: llm for name, llm in self.connected.items() if (name, llm.model) != (provider, model)
        }
        is_current = (self.llm.provider, self.llm.model) == (provider, model)
        return self.model_copy(
            update={"llm": LLMSettings() if is_current else self.llm, "connected": connected}
        )


class AllowedSources(_Settings):
    """The sources, other than uploads, that the administrator of this server allows."""

    folders: tuple[Path, ...] = ()  # with their subfolders
    storage: tuple[str, ...] = ()  # prefixes of addresses, such as s3://reports/
    private_network: bool = False  # links, databases and model servers in the local network


def allowed_sources() -> AllowedSources:
    """From the environment: LECTERN_FOLDERS and LECTERN_STORAGE are lists, LECTERN_PRIVATE_NETWORK is "allow"
    or not."""
    return AllowedSources(
        folders=tuple(
            absolute_path(folder)
            for folder in os.environ.get(FOLDERS, "").split(os.pathsep)
            if folder.strip()
        ),
        storage=tuple(os.environ.get("LECTERN_STORAGE", "").replace(",", " ").split()),
        private_network=os.environ.get("LECTERN_PRIVATE_NETWORK", "").strip().lower() == "allow",
    )


def models_are_locked() -> bool:
    """Whether the administrator forbids to change language models: LECTERN_MODEL_SETTINGS is "locked"."""
    return os.environ.get("LECTERN_MODEL_SETTINGS", "").strip().lower() == "locked"


class KeptSettings(Protocol):
    def read(self) -> AppSettings:
        """The current settings, with the changes of all processes. The defaults if nothing is stored.
        ConfigError."""

    def write(self, settings: AppSettings) -> None: ...


class SettingsFile:
    """`settings.json` in a library's folder, read again after a change. Of a person's other libraries, only
    `ingest` is read there; the rest is in that of the first, see `home_of`."""

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
    """Settings in the database of a library, read again after READ_SECONDS."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._read: tuple[float, AppSettings] | None = None

    def read(self) -> AppSettings:
        if self._read is None or time.monotonic() - self._read[0] > READ_SECONDS:
            began = time.monotonic()
            with self._database.snapshot() as db:
                row = db.execute("SELECT value FROM shared WHERE name = 'settings'").fetchone()
            hint = "They were saved by another version of Lectern: start the same one on every machine."
            text = row["value"].encode() if row else b"{}"
            self._read = (began, _parse(text, "The settings of this library", hint))
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
    """Random bytes that all processes of a library share; created by the first call."""
    query = "SELECT value FROM shared WHERE name = 'secret'"
    with database.snapshot() as db:
        if row := db.execute(query).fetchone():
            return bytes.fromhex(row["value"])
    with database.transaction() as db:
        insert = "INSERT INTO shared (name, value) VALUES ('secret', ?) ON CONFLICT (name) DO NOTHING"
        db.execute(insert, (secrets.token_hex(32),))
        return bytes.fromhex(db.execute(query).fetchone()["value"])


def read_settings(folder: Path) -> AppSettings:
    """The settings of the library in `folder`; the defaults without a file."""
    path = folder / "settings.json"
    if not path.exists():
        return AppSettings()
    hint = "Correct the value, or delete the file to go back to the defaults."
    return _parse(path.read_bytes().removeprefix(BOM_UTF8), f"The settings in {path}", hint)


def write_settings(folder: Path, settings: AppSettings) -> None:
    replace_file(folder / "settings.json", settings.model_dump_json(indent=2))


def default_folder() -> Path:
    """The folder of a person's library: LECTERN_HOME, or this system's folder for application data."""
    import platformdirs

    home = os.environ.get(HOME)
    return absolute_path(home or platformdirs.user_data_dir("lectern", appauthor=False))


def absolute_path(path: Path | str) -> Path:
    """The path as it is seen from the current folder, for processes in other folders; ~ is the home folder.
    ConfigError if the current folder was deleted."""
    path = Path(path)
    if path.parts[:1] == ("~",):
        path = path.expanduser()
    try:
        return path.absolute()
    except FileNotFoundError as error:
        raise ConfigError(
            "The current folder was deleted.", hint="Change to another folder, and try again."
        ) from error


def absolute_environment() -> dict[str, str]:
    """The environment for a process in another folder: the paths in it are absolute. ConfigError as for
    `absolute_path`."""
    environment = dict(os.environ)
    for name in _SINGLE_PATHS:
        if environment.get(name):
            environment[name] = str(absolute_path(environment[name]))
    for name in _PATH_LISTS:
        if environment.get(name):
            paths = filter(None, environment[name].split(os.pathsep))
            environment[name] = os.pathsep.join(str(absolute_path(path)) for path in paths)
    return environment


def home_of(folder: Path) -> Path:
    """The folder with the keys and settings of a library: its own, or that of the person's first library, see
    lectern.indexes."""
    return folder.parents[1] if folder.parent.name == INDEXES and (folder / ABOUT).exists() else folder


def default_library(database: str | None = None) -> Path | str:
    """The library on the server `database` or LECTERN_DATABASE, or else the default folder.

    ConfigError for an invalid address, without the address, which may have a password.
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
    """Whether this is the address of a server, not a folder."""
    return str(where).startswith(("postgresql://", "postgres://"))


def _parse(text: bytes, which: str, hint: str) -> AppSettings:
    try:
        return AppSettings.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the file"
        raise ConfigError(f"{which} cannot be used: {place}: {first['msg']}.", hint=hint) from error
