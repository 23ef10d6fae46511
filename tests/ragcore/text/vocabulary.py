"""Where the tests find tiktoken's vocabulary: llama-index-core carries it in its wheel."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path


def find_vocabulary() -> None:
    """Point tiktoken at it, unless a folder is named already."""
    if "TIKTOKEN_CACHE_DIR" in os.environ or importlib.util.find_spec("llama_index") is None:
        return
    core = importlib.util.find_spec("llama_index.core")
    if core is not None and core.origin is not None:
        os.environ["TIKTOKEN_CACHE_DIR"] = str(Path(core.origin).parent / "_static" / "tiktoken_cache")
