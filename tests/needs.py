"""What some tests need beyond Python and the package index. Tests without it are skipped and say so."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from ragcore.readers.ocr import rapidocr, tesseract
from ragcore.text.tokens import has_vocabulary

SHARED = Path(__file__).parents[2] / "shared"  # documents that are not part of the project

needs_tesseract = pytest.mark.skipif(
    not tesseract.is_installed(), reason="tesseract is not installed: apt install tesseract-ocr"
)
needs_rapidocr = pytest.mark.skipif(
    not rapidocr.is_installed(), reason="rapidocr is not installed: pip install 'lectern[ocr]'"
)
needs_vocabulary = pytest.mark.skipif(
    not has_vocabulary("cl100k_base"),
    reason="tiktoken's vocabulary is missing: pip install llama-index-core, whose package carries it",
)


def needs_program(name: str) -> pytest.MarkDecorator:
    """Skips a test where the program is not installed. The name is also that of its Debian package."""
    return pytest.mark.skipif(
        shutil.which(name) is None, reason=f"{name} is not installed: apt install {name}"
    )


def needs_documents(*paths: Path) -> pytest.MarkDecorator:
    """Skips a test where one of the paths below `SHARED` is missing."""
    missing = [path.relative_to(SHARED.parent).as_posix() for path in paths if not path.exists()]
    reason = f"documents that are not part of the project are missing: put them in ../{', ../'.join(missing)}"
    return pytest.mark.skipif(bool(missing), reason=reason)


def texts(folder: Path) -> list[Any]:
    """The text files in a folder below `SHARED`, as parameters of a test; where it is missing, one that is
    skipped."""
    return sorted(folder.glob("*.txt")) or [pytest.param(folder, marks=needs_documents(folder))]
