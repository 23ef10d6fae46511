"""Language models as files on this computer: a catalogue for downloads, and the installed ones.

They are GGUF files, the format of llama.cpp, in the folder `models` of a person's first library. All GGUF
files of the folder are listed, and the file of LECTERN_MODEL.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from lectern.settings import MODEL, absolute_path
from ragcore.errors import ConfigError
from ragcore.llms.gguf_header import COMPUTE, ModelFileError, read_header

SUFFIX = ".gguf"
CONTEXT_TOKENS = 8192  # in `CatalogueModel.memory`

_APACHE = "Apache-2.0"
_GEMMA = "Gemma Terms of Use"
_HUB = "https://huggingface.co"


@dataclass(frozen=True, slots=True)
class CatalogueModel:
    """A model on the hub. `size` and `sha256` are those published for `file` at `revision`, a commit of
    `repository`.

    `languages`: their number; 1 is English. `token_bytes`: the memory for one token of context: 4 bytes ×
    layers × key-value heads × head size.
    """

    name: str
    repository: str
    revision: str
    file: str
    size: int  # bytes
    sha256: str
    licence: str
    licence_url: str
    languages: int
    token_bytes: int

    @property
    def memory(self) -> int:
        """Bytes of memory while it answers, with `CONTEXT_TOKENS` of context."""
        return self.size + CONTEXT_TOKENS * self.token_bytes + COMPUTE


# The screens suggest the first one that fits into memory.
CATALOGUE = (
    CatalogueModel(
        "Qwen2.5 1.5B Instruct",
        "Qwen/Qwen2.5-1.5B-Instruct-GGUF",
        "91cad51170dc346986eccefdc2dd33a9da36ead9",
        "qwen2.5-1.5b-instruct-q4_k_m.gguf",
        1_117_320_736,
        "6a1a2eb6d15622bf3c96857206351ba97e1af16c30d7a74ee38970e434e9407e",
        _APACHE,
        f"{_HUB}/Qwen/Qwen2.5-1.5B-Instruct-GGUF/blob/main/LICENSE",
        languages=29,
        token_bytes=4 * 28 * 2 * 128,
    ),
    CatalogueModel(
        "Qwen3 1.7B",
        "ggml-org/Qwen3-1.7B-GGUF",
        "daeb8e2d528a760970442092f6bf1e55c3b659eb",
        "Qwen3-1.7B-Q4_K_M.gguf",
        1_282_439_264,
        "d2387ca2dbfee2ffabce7120d3770dadca0b293052bc2f0e138fdc940d9bc7b5",
        _APACHE,
        f"{_HUB}/Qwen/Qwen3-1.7B/blob/main/LICENSE",
        languages=119,
        token_bytes=4 * 28 * 8 * 128,
    ),
    CatalogueModel(
        "Qwen3 4B",
        "Qwen/Qwen3-4B-GGUF",
        "bc640142c66e1fdd12af0bd68f40445458f3869b",
        "Qwen3-4B-Q4_K_M.gguf",
        2_497_280_256,
        "7485fe6f11af29433bc51cab58009521f205840f5b4ae3a32fa7f92e8534fdf5",
        _APACHE,
        f"{_HUB}/Qwen/Qwen3-4B-GGUF/blob/main/LICENSE",
        languages=119,
        token_bytes=4 * 36 * 8 * 128,
    ),
    CatalogueModel(
        "Gemma 3 4B",
        "ggml-org/gemma-3-4b-it-GGUF",
        "d0976223747697cb51e056d85c532013931fe52e",
        "gemma-3-4b-it-Q4_K_M.gguf",
        2_489_757_856,
        "882e8d2db44dc554fb0ea5077cb7e4bc49e7342a1f0da57901c0802ea21a0863",
        _GEMMA,
        "https://ai.google.dev/gemma/terms",
        languages=140,
        token_bytes=4 * 34 * 4 * 256,
    ),
    CatalogueModel(
        "Qwen2.5 3B Instruct",
        "Qwen/Qwen2.5-3B-Instruct-GGUF",
        "7dabda4d13d513e3e842b20f0d435c732f172cbe",
        "qwen2.5-3b-instruct-q4_k_m.gguf",
        2_104_932_768,
        "626b4a6678b86442240e33df819e00132d3ba7dddfe1cdc4fbb18e0a9615c62d",
        "Qwen Research License",
        f"{_HUB}/Qwen/Qwen2.5-3B-Instruct-GGUF/blob/main/LICENSE",
        languages=29,
        token_bytes=4 * 36 * 2 * 128,
    ),
    CatalogueModel(
        "Gemma 3 1B",
        "ggml-org/gemma-3-1b-it-GGUF",
        "f9c28bcd85737ffc5aef028638d3341d49869c27",
        "gemma-3-1b-it-Q4_K_M.gguf",
        806_058_240,
        "8ccc5cd1f1b3602548715ae25a66ed73fd5dc68a210412eea643eb20eb75a135",
        _GEMMA,
        "https://ai.google.dev/gemma/terms",
        languages=1,
        token_bytes=4 * 26 * 1 * 256,
    ),
)


@dataclass(frozen=True, slots=True)
class InstalledModel:
    """A GGUF file. `setting` is its name in the settings; `deletable`: it is in the library's folder."""

    path: Path
    size: int  # bytes
    deletable: bool = True

    @property
    def setting(self) -> str:
        return self.path.name if self.deletable else str(self.path)


def models_folder(home: Path) -> Path:
    """The models of the library in `home`. The folder may not exist yet."""
    return home / "models"


def create_models_folder(home: Path) -> Path | None:
    """The folder, created if it is missing. None if this is not possible."""
    folder = models_folder(home)
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
    return folder if folder.is_dir() else None


def installed_models(home: Path) -> list[InstalledModel]:
    """The models of the folder by name, then the file of LECTERN_MODEL if it is elsewhere."""
    folder = models_folder(home)
    paths = (
        sorted(path for path in folder.iterdir() if path.suffix.lower() == SUFFIX) if folder.is_dir() else []
    )
    models = [InstalledModel(path, path.stat().st_size) for path in paths if path.is_file()]
    named = _named_by_server()
    if named is not None and named.is_file() and named.parent != folder:
        models.append(InstalledModel(named, named.stat().st_size, deletable=False))
    return models


def model_file(setting: str, home: Path) -> Path:
    """The file of a model in the settings: in the models folder, or that of LECTERN_MODEL. ConfigError."""
    named = Path(setting.strip())
    path = models_folder(home) / named
    if named.is_absolute() or named.name != str(named):
        path = named
        if path != _named_by_server():
            raise ConfigError(
                f"The language model {setting} is not in the library's models folder.",
                hint=(
                    f"Put the file into {models_folder(home)}, or name it in LECTERN_MODEL before "
                    "Lectern starts."
                ),
            )
    if not path.is_file():
        raise ConfigError(
            f"The language model {path.name} is no longer on this computer.",
            hint="Choose another one in Settings, or download it again.",
        )
    return path


def delete_model(setting: str, home: Path) -> int:
    """Delete a file of the models folder; returns the bytes that are free now. ConfigError."""
    from ragcore.llms.llama_cpp_runtime import drop_runtimes

    path = model_file(Path(setting).name, home)
    size = path.stat().st_size
    drop_runtimes(path)
    try:
        path.unlink()
    except OSError as error:
        raise ConfigError(
            f"The language model {path.name} could not be deleted: {error.strerror}.",
            hint="Close whatever is using it, and try again.",
        ) from error
    return size


def memory_of(model: InstalledModel) -> int:
    """Bytes of memory while a model answers, with `CONTEXT_TOKENS` of context. ModelFileError."""
    return _memory_of(model.path, model.path.stat().st_mtime_ns)


def first_usable_model(home: Path) -> InstalledModel | None:
    """The first of `installed_models` with a valid header, or None."""
    for model in installed_models(home):
        with suppress(ModelFileError):
            memory_of(model)
            return model
    return None


@lru_cache(maxsize=64)
def _memory_of(path: Path, modified: int) -> int:
    header = read_header(path)
    return header.memory(min(CONTEXT_TOKENS, header.trained_context))


def memory_for_models() -> int:
    """Bytes of free memory for a language model."""
    from ragcore.llms.llama_cpp_runtime import RESERVE
    from ragcore.llms.local_resources import free_memory

    return max(0, free_memory() - RESERVE)


def catalogue_model(file: str) -> CatalogueModel | None:
    return next((model for model in CATALOGUE if model.file == file), None)


def model_name(setting: str) -> str:
    """The name of a model in the catalogue, or else of its file."""
    known = catalogue_model(setting)
    return known.name if known else Path(setting).name


def suggested_model(memory: int, catalogue: Sequence[CatalogueModel] = CATALOGUE) -> CatalogueModel | None:
    """The first model that fits into so many bytes of memory, or None."""
    return next((model for model in catalogue if model.memory <= memory), None)


def _named_by_server() -> Path | None:
    named = os.environ.get(MODEL, "").strip()
    return absolute_path(named) if named else None
