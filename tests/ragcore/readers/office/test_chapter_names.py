"""The names of an e-book's chapters, and the titles of Markdown, are words of the text and never those that
stand for a picture."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from ragcore.readers.base import ReadOptions
from ragcore.readers.registry import read_file
from ragcore.schema import Document
from tests import making

ALT = '<p><img src="gate.jpg" alt="A gate in the rain"/></p>'


def read(path: Path) -> Document:
    return read_file(path, ReadOptions(path.name))


def book(tmp_path: Path, body: str) -> Document:
    """A book whose first chapter has this body."""
    whole = making.make_epub(tmp_path / "whole.epub", [("One", "Lamps."), ("Two", "Ferries.")])
    with zipfile.ZipFile(whole) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts["OEBPS/text/c0.xhtml"] = f"<html><body>{body}</body></html>".encode()
    return read(making.make_zip(tmp_path / "book.epub", parts))


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ("<p>[Image unavailable.]</p><h2>The Cliff</h2><p>It was steep.</p>", "The Cliff"),
        ("<p>[Illustration: a gate]</p><p>[Image unavailable.]</p><h2>The Cliff</h2>", "The Cliff"),
        (f"{ALT}<h2>The Cliff</h2><p>It was steep.</p>", "The Cliff"),
        (f"<h2>{ALT}</h2><p>{'It was steep. ' * 9}</p>", "1"),
        (f"{ALT}", "1"),
        ("<p>[Image unavailable.]</p>", "1"),
        ("<h2>The Cliff</h2><p>It was steep.</p>", "The Cliff"),
        ("<h2>[1] The Cliff</h2><p>It was steep.</p>", "[1] The Cliff"),
    ],
)
def test_a_chapter_is_not_named_after_a_picture(tmp_path: Path, body: str, name: str) -> None:
    assert [page.label for page in book(tmp_path, body).pages] == [name, "Two"]


def test_what_a_picture_shows_stays_in_the_text(tmp_path: Path) -> None:
    assert "A gate in the rain" in book(tmp_path, f"{ALT}<h2>The Cliff</h2>").text


def test_a_markdown_title_is_not_that_of_a_picture(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("# ![Logo](logo.png)\n\n# ![Badge](b.svg) The Cliff\n\nIt was steep.\n", "utf-8")
    assert read(path).metadata["title"] == "The Cliff"
