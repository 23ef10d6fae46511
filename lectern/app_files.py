"""Finds the files of the application that are in no package: app.py, pages, .streamlit and sample."""

from __future__ import annotations

from pathlib import Path


def app_folder() -> Path:
    """The folder `bundled`, into which the build of a wheel puts them, or else the top of the checkout."""
    package = Path(__file__).resolve().parent
    bundled = package / "bundled"
    return bundled if bundled.is_dir() else package.parent
