"""What every reader promises, checked with a small real file of each format."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragcore.errors import EmptyFileError, TooLargeError, UnreadableFileError, UnsupportedFileError
from ragcore.readers.base import ReadOptions
from ragcore.readers.registry import read_file, reader_for, supported_suffixes
from ragcore.schema import Document
from tests.making import MAKERS, make_any

SENTENCES = (
    "The cliff railway opened in 1871 above the harbour.",
    "Grüße aus Köln: der Preis beträgt 5 % für Übergrößen.",
    "Ada Penrose built its tower & the engine house.",
)
# Type 1 fonts, which made PDFs use, have no letters beyond Latin-1.
FAR = {suffix: "Łódź, Ωμέγα, русский, 漢字 and 🚋." for suffix in MAKERS if suffix != ".pdf"}
PAGED = {
    ".pdf": "page",
    ".pptx": "slide",
    ".xlsx": "sheet",
    ".ods": "sheet",
    ".epub": "chapter",
    ".mbox": "message",
}

every_format = pytest.mark.parametrize("suffix", sorted(MAKERS))


def read(path: Path, password: str | None = None) -> Document:
    return read_file(path, ReadOptions(path.name, password))


def assert_sound(document: Document) -> None:
    """Nothing in it that breaks a database or a screen, and pages that are stretches of it."""
    assert document.text.strip()
    assert not set(document.text) & set("\0\f\r")
    document.text.encode("utf-8")
    end = 0
    for page in document.pages:
        assert end <= page.start <= page.end <= len(document.text)
        assert not document.text[end : page.start].strip(), "text between two pages belongs to none"
        end = page.end
    assert not document.pages or not document.text[end:].strip()


@every_format
def test_sentences_are_read_whole_and_in_order(suffix: str, tmp_path: Path) -> None:
    document = read(make_any(tmp_path / f"given{suffix}", SENTENCES))
    places = [document.text.find(sentence) for sentence in SENTENCES]
    assert -1 not in places
    assert places == sorted(places)
    assert document.metadata["file_name"] == f"given{suffix}"
    assert_sound(document)


@pytest.mark.parametrize("suffix", sorted(FAR))
def test_every_script_survives(suffix: str, tmp_path: Path) -> None:
    document = read(make_any(tmp_path / f"given{suffix}", [FAR[suffix], SENTENCES[0]]))
    assert FAR[suffix] in document.text


@pytest.mark.parametrize("suffix", sorted(PAGED))
def test_pages_say_what_they_are_and_hold_their_own_text(suffix: str, tmp_path: Path) -> None:
    document = read(make_any(tmp_path / f"given{suffix}", SENTENCES))
    assert document.page_word == PAGED[suffix]
    if PAGED[suffix] == "sheet":
        assert [page.label for page in document.pages] == ["Sheet one"]
        return
    assert len(document.pages) == len(SENTENCES)
    assert len({page.label for page in document.pages}) == len(SENTENCES)
    for page, sentence in zip(document.pages, SENTENCES, strict=True):
        assert sentence in document.text[page.start : page.end]


@pytest.mark.parametrize("suffix", supported_suffixes())
def test_an_empty_file_is_reported_as_empty(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"nothing{suffix}"
    path.touch()
    with pytest.raises(EmptyFileError, match="nothing"):
        read(path)


@every_format
@pytest.mark.parametrize("kept", [0.1, 0.5, 0.9])
def test_half_a_file_gives_partial_text_or_a_damage_error(suffix: str, kept: float, tmp_path: Path) -> None:
    path = make_any(tmp_path / f"given{suffix}", SENTENCES * 5)
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * kept)])
    try:
        assert_sound(read(path))
    except UnreadableFileError as error:
        assert f"given{suffix}" in error.what  # noqa: PT017 - either outcome is right
        assert error.hint  # noqa: PT017


@every_format
def test_the_file_is_closed_and_as_it_was(suffix: str, tmp_path: Path) -> None:
    path = make_any(tmp_path / f"given{suffix}", SENTENCES)
    before = path.read_bytes()
    read(path)
    assert path.read_bytes() == before
    open_files = Path("/proc/self/fd")
    if open_files.exists():
        assert str(path) not in {str(link.resolve()) for link in open_files.iterdir()}
    path.unlink()
    assert list(tmp_path.iterdir()) == []


@every_format
def test_a_text_over_the_limit_is_refused_by_name(suffix: str, tmp_path: Path) -> None:
    path = make_any(tmp_path / f"long{suffix}", SENTENCES)
    with pytest.raises(TooLargeError, match=r"long.*100"):
        read_file(path, ReadOptions(path.name, max_text_chars=100))


@every_format
def test_the_same_file_reads_the_same_twice(suffix: str, tmp_path: Path) -> None:
    path = make_any(tmp_path / f"given{suffix}", SENTENCES)
    first, second = read(path), read(path)
    assert (first.hash, first.pages) == (second.hash, second.pages)


def test_every_reader_is_covered_here() -> None:
    # tests/ragcore/readers: ocr/test_tesseract.py, test_formats.py (old Office files),
    # test_calendars_and_cards.py
    covered = {id(reader_for(f"x{suffix}")) for suffix in (*MAKERS, ".png", ".doc", ".ics", ".vcf")}
    assert {suffix for suffix in supported_suffixes() if id(reader_for(f"x{suffix}")) not in covered} == set()


def test_file_endings_ignore_case_and_unknown_ones_are_named(tmp_path: Path) -> None:
    assert reader_for("REPORT.PDF") is reader_for("report.pdf")
    (tmp_path / "plan.dwg").write_bytes(b"AC1032" + bytes(range(250)))
    with pytest.raises(UnsupportedFileError, match=r"plan\.dwg is a \.dwg file"):
        read(tmp_path / "plan.dwg")


@pytest.mark.parametrize(
    "name",
    [
        "gadget.kt",
        "gadget.tsx",
        "gadget.ps1",
        "LICENSE",
        "Makefile",
        "Dockerfile",
        "pyproject.toml",
        ".env",
        "x.zig",
        "a.b.c.lock",
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "cp1252"])
def test_any_text_is_read_whatever_it_is_called(name: str, encoding: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes("fn größe() -> Löwe // Überführung\n".encode(encoding))
    assert read(tmp_path / name).text == "fn größe() -> Löwe // Überführung\n"


@pytest.mark.parametrize(
    "start", ["ID3 tags are read.", "BM25 ranks.", "GIF89a has frames.", "II*", "MZ was an engineer.", "BZh"]
)
def test_a_text_that_begins_as_another_kind_of_file_does_is_text(start: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(start)
    assert read(tmp_path / "a.txt").text == start


@pytest.mark.parametrize("name", ["a.unknown", "noending", "a.kt"])
@pytest.mark.parametrize(
    "data",
    [
        b"\0" * 40 + b"abc",
        bytes(range(256)) * 50,
        b"P5\n640 480\n255\n" + b"x" * 20_000 + bytes(range(40)) * 2_000,
    ],
)
def test_what_is_no_text_is_refused_whatever_it_is_called(name: str, data: bytes, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(UnsupportedFileError, match=name):
        read(tmp_path / name)
