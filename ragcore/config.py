"""Settings, typed, read from a library's `settings.json` once, at the edge. Keys live apart from them, in `keys.json`.

Both files may be edited by hand; a value that cannot work is a ConfigError that names it.
"""

from __future__ import annotations

import json
import os
from codecs import BOM_UTF8
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from ragcore.errors import ConfigError

Provider = Literal["none", "ollama", "openai", "openai_compatible"]
ResponseMode = Literal[
    "refine", "compact", "simple_summarize", "tree_summarize", "generation", "no_text", "accumulate", "compact_accumulate"
]
ChatMode = Literal["simple", "condense_question", "context", "condense_plus_context"]


class _Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class LLMSettings(_Settings):
    """Which language model answers. The key is not here: see `read_key`."""

    provider: Provider = "none"
    base_url: str = ""  # "" is the provider's usual address
    model: str = ""
    context_window: int = Field(default=8192, ge=512)  # tokens
    num_output: int = Field(default=768, ge=16)  # tokens kept free for the answer
    temperature: float = Field(default=0.1, ge=0, le=2)
    timeout: float = Field(default=120.0, gt=0)  # seconds without a sign of life


class AnswerSettings(_Settings):
    top_k: int = Field(default=6, ge=1, le=100)  # passages
    response_mode: ResponseMode = "compact"
    chat_mode: ChatMode = "condense_plus_context"
    system_prompt: str = ""


class IngestSettings(_Settings):
    """How files become passages. 200 tokens fit the bundled embedder's window of 256."""

    chunk_size: int = Field(default=200, ge=16)  # tokens
    chunk_overlap: int = Field(default=0, ge=0)  # tokens
    max_file_mb: int = Field(default=500, ge=1)
    max_text_mb: int = Field(default=50, ge=1)  # text in one file, after reading
    read_timeout: float = Field(default=600.0, gt=0)  # seconds for reading one file
    read_memory_mb: int = Field(default=2048, ge=256)


class Settings(_Settings):
    llm: LLMSettings = LLMSettings()
    answers: AnswerSettings = AnswerSettings()
    ingest: IngestSettings = IngestSettings()


def read_settings(folder: Path) -> Settings:
    """The settings of the library in `folder`; the defaults where there is no file."""
    path = folder / "settings.json"
    if not path.exists():
        return Settings()
    try:
        return Settings.model_validate_json(path.read_bytes().removeprefix(BOM_UTF8))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the file"
        raise ConfigError(
            f"The settings in {path} cannot be used: {place}: {first['msg']}.",
            hint="Correct the value, or delete the file to go back to the defaults.",
        ) from error


def write_settings(folder: Path, settings: Settings) -> None:
    _write(folder / "settings.json", settings.model_dump_json(indent=2), mode=0o644)


def read_key(folder: Path, provider: Provider) -> str:
    """The stored key, or the environment's OPENAI_API_KEY for OpenAI, or ""."""
    stored = _keys(folder).get(provider, "")
    if not stored and provider == "openai":
        return os.environ.get("OPENAI_API_KEY", "")
    return stored


def write_key(folder: Path, provider: Provider, key: str) -> None:
    """Keep the key in a file that only its owner may read; "" forgets it."""
    keys = {name: value for name, value in _keys(folder).items() if name != provider}
    if key:
        keys[provider] = key
    _write(folder / "keys.json", json.dumps(keys), mode=0o600)


def mask(key: str) -> str:
    """A key as a screen may show it: enough to recognise, too little to use."""
    return f"{key[:3]}…{key[-4:]}" if len(key) >= 16 else "•" * min(len(key), 8)


def default_folder() -> Path:
    """Where a person's library is: LECTERN_HOME, or this system's place for application data."""
    import platformdirs

    home = os.environ.get("LECTERN_HOME")
    return Path(home) if home else Path(platformdirs.user_data_dir("lectern", appauthor=False))


def _keys(folder: Path) -> dict[str, str]:
    path = folder / "keys.json"
    if not path.exists():
        return {}
    try:
        keys: dict[str, str] = TypeAdapter(dict[str, str]).validate_json(path.read_bytes().removeprefix(BOM_UTF8))
    except ValidationError:
        # Not raised from the cause: its words would hold the keys.
        raise ConfigError(f"The keys in {path} cannot be read.", hint="Delete the file and enter the keys again.") from None
    return keys


def _write(path: Path, text: str, *, mode: int) -> None:
    """Replace the file as a whole; it never exists with a wider mode than `mode`, not even for a moment."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".new")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())  # or a power cut might leave an empty file in the place of the old one
    draft.replace(path)
