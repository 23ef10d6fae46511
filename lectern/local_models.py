"""Language models as files on this computer: GGUF files in the folder `models` of a person's first library, or the file that
the environment's LECTERN_MODEL names."""

from __future__ import annotations

import os
from pathlib import Path

from ragcore.errors import ConfigError

NAMED_BY_SERVER = "LECTERN_MODEL"  # the environment's name for the path of a model anywhere on this computer


def models_folder(home: Path) -> Path:
    return home / "models"


def model_file(setting: str, home: Path) -> Path:
    """The file of a model that the settings name: in the models folder, or the one of LECTERN_MODEL. ConfigError."""
    named = Path(setting.strip())
    path = models_folder(home) / named
    if named.is_absolute() or named.name != str(named):
        path = named
        if str(path) != os.environ.get(NAMED_BY_SERVER, "").strip():
            raise ConfigError(
                f"The language model {setting} is not in the library's folder of models.",
                hint=f"Put the file into {models_folder(home)}, or name it in the environment's {NAMED_BY_SERVER}.",
            )
    if not path.is_file():
        raise ConfigError(
            f"The language model {path.name} is no longer on this computer.",
            hint="Choose another one in Settings, or download it again.",
        )
    return path
