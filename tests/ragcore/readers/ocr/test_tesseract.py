"""Text in pictures and scanned pages, by the real tesseract; and what is said where it is not installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont

from lectern.jobs.sandbox import Cancelled, end_readers, read_isolated
from ragcore.errors import DamagedFileError, NoTextError, TooLargeError
from ragcore.readers.base import ReadOptions
from ragcore.readers.ocr import rapidocr, tesseract
from ragcore.readers.registry import read_file
from ragcore.schema import Document
from tests.needs import needs_tesseract

SENTENCES = ["The cliff railway opened in spring.", "Ada Penrose built its tower."]

with_tesseract = needs_tesseract

only_tesseract = pytest.mark.skipif(rapidocr.is_installed(), reason="the extra ocr is installed, too")


def drawn(*sentences: str) -> Image.Image:
    """A page of A5 at 150 dots per inch."""
    picture = Image.new("RGB", (874, 600), "white")
    pen = ImageDraw.Draw(picture)
    for number, sentence in enumerate(sentences):
        pen.text((60, 80 + 120 * number), sentence, fill="black", font=ImageFont.load_default(28))
    return picture


def read(path: Path) -> Document:
    return read_file(path, ReadOptions(path.name))


def scanned(path: Path, *pages: str) -> Path:
    """A PDF with a picture of each text; a page that begins with = is text itself."""
    from reportlab.lib.utils import ImageReader
    from reportlab.pdfgen.canvas import Canvas

    canvas = Canvas(str(path), pagesize=(420, 288))
    for page in pages:
        if page.startswith("="):
            canvas.drawString(50, 200, page[1:])
        elif page:
            canvas.drawImage(ImageReader(drawn(page)), 0, 0, 420, 288)
        canvas.showPage()
    canvas.save()
    return path


@with_tesseract
@pytest.mark.parametrize("suffix", [".png", ".jpg", ".tif", ".bmp", ".webp", ".gif"])
def test_the_text_of_a_picture_is_read(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"photo{suffix}"
    drawn(*SENTENCES).save(path)
    text = read(path).text
    assert [sentence in text for sentence in SENTENCES] == [True, True]


@with_tesseract
def test_the_short_last_line_of_a_paragraph_stays_with_it(tmp_path: Path) -> None:
    """tesseract begins a paragraph at "KX21", because it had room at the end of the line above."""
    lines = [
        "Thank you for your application of 22 April 2025. We",
        "have granted you a resident parking permit for zone D.",
        "The yearly fee is 78 pounds. Please pay it by 6 June",
        "2025, quoting the reference above. The permit is valid",
        "from 1 July 2025 to 30 June 2026 for the vehicle",
        "KX21 RTB.",
        "",
        "The second permit of a household costs 130 pounds.",
    ]
    picture = Image.new("RGB", (1240, 900), "white")
    pen = ImageDraw.Draw(picture)
    for number, line in enumerate(lines):
        pen.text((100, 80 + 46 * number), line, fill="black", font=ImageFont.load_default(28))
    picture.save(tmp_path / "letter.png")
    paragraphs = read(tmp_path / "letter.png").text.split("\n\n")
    assert paragraphs[0].endswith(
        "The permit is valid from 1 July 2025 to 30 June 2026 for the vehicle KX21 RTB."
    )
    assert paragraphs[1:] == [lines[-1]]


@with_tesseract
def test_picture_is_detected_by_its_bytes_and_read_as_rotated(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned clockwise to stand upright
    drawn(SENTENCES[0]).rotate(90, expand=True).save(tmp_path / "photo.jpg", exif=exif)
    (tmp_path / "photo.jpg").rename(tmp_path / "photo.png")
    assert SENTENCES[0] in read(tmp_path / "photo.png").text


@with_tesseract
def test_each_page_of_a_fax_is_a_page(tmp_path: Path) -> None:
    first, second = (drawn(sentence) for sentence in SENTENCES)
    first.save(tmp_path / "fax.tif", save_all=True, append_images=[second])
    document = read(tmp_path / "fax.tif")
    assert [document.text[page.start : page.end] for page in document.pages] == SENTENCES


@with_tesseract
def test_only_the_pages_of_a_pdf_without_text_are_recognised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    real = tesseract.read_lines
    monkeypatch.setattr(
        tesseract, "read_lines", lambda picture, name: asked.append(picture.size) or real(picture, name)
    )
    path = scanned(tmp_path / "mixed.pdf", "=This page is text.", SENTENCES[0], "", f"={SENTENCES[1]}")
    seen = list[tuple[int, int]]()  # pages
    document = read_file(
        path,
        ReadOptions(
            "mixed.pdf",
            progress=lambda done, total: seen.append((done, total)),
        ),
    )
    texts = [document.text[page.start : page.end] for page in document.pages]
    assert texts == ["This page is text.", SENTENCES[0], "", SENTENCES[1]]
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert asked == [(1751, 1200)]  # 300 dots per inch; the empty page is not asked for


@with_tesseract
@pytest.mark.parametrize("inside", [False, True], ids=["on the page", "in a form"])
def test_scan_with_a_stamp_is_recognised_and_retains_the_stamp(inside: bool, tmp_path: Path) -> None:
    from reportlab.lib.utils import ImageReader
    from reportlab.pdfgen.canvas import Canvas

    canvas = Canvas(str(tmp_path / "filed.pdf"), pagesize=(420, 288))
    for number, sentence in enumerate(SENTENCES):
        if inside:
            canvas.beginForm(f"scan{number}", 0, 0, 420, 288)
        canvas.drawImage(ImageReader(drawn(sentence)), 0, 0, 420, 288)
        if inside:
            canvas.endForm()
            canvas.doForm(f"scan{number}")
        canvas.setFont("Helvetica", 4)  # too small to be recognised
        canvas.drawString(300, 10, f"NORTH {number:06}")
        canvas.showPage()
    canvas.save()
    document = read(tmp_path / "filed.pdf")
    texts = [document.text[page.start : page.end] for page in document.pages]
    assert [text.splitlines()[0] for text in texts] == SENTENCES
    assert [text.count(f"NORTH {number:06}") for number, text in enumerate(texts)] == [1, 1]


@with_tesseract
def test_text_page_and_title_over_a_picture_are_not_recognised(tmp_path: Path) -> None:
    from reportlab.lib.utils import ImageReader
    from reportlab.pdfgen.canvas import Canvas

    sky = Image.radial_gradient("L").point(lambda shade: 192 + shade // 4).resize((1_600, 1_200))
    words = [f"Line {number} of a page that was typed and not scanned." for number in range(12)]
    canvas = Canvas(str(tmp_path / "talk.pdf"), pagesize=(420, 288))
    canvas.drawImage(ImageReader(sky), 0, 0, 420, 288)
    canvas.setFont("Helvetica", 30)
    canvas.drawString(60, 150, "Über uns")  # which is recognised as Uber uns
    canvas.showPage()
    canvas.drawImage(ImageReader(drawn(SENTENCES[0])), 0, 0, 420, 288)
    for number, line in enumerate(words):
        canvas.drawString(20, 260 - 20 * number, line)
    canvas.showPage()
    canvas.drawImage(ImageReader(drawn(SENTENCES[0])), 100, 170, 150, 100)  # a figure
    canvas.drawString(60, 150, "Figure 1")
    canvas.save()
    document = read(tmp_path / "talk.pdf")
    first, second, third = (document.text[page.start : page.end] for page in document.pages)
    assert (first, third) == ("Über uns", "Figure 1")
    assert second == " ".join(words)


@with_tesseract
def test_picture_without_text_or_too_large_is_reported(tmp_path: Path) -> None:
    Image.radial_gradient("L").resize((900, 900)).save(tmp_path / "sun.png")
    with pytest.raises(NoTextError, match=r"sun\.png is a picture, and no text"):
        read(tmp_path / "sun.png")
    for side in (7_000, 14_000):  # Pillow refuses the second by itself
        Image.new("1", (side, side)).save(tmp_path / "vast.png")
        with pytest.raises(TooLargeError, match=r"vast\.png"):
            read(tmp_path / "vast.png")
    (tmp_path / "half.png").write_bytes((tmp_path / "sun.png").read_bytes()[:500])
    with pytest.raises(DamagedFileError, match=r"half\.png"):
        read(tmp_path / "half.png")


@only_tesseract
def test_scan_and_picture_say_what_to_install_without_tesseract(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn(SENTENCES[0]).save(tmp_path / "photo.png")
    scanned(tmp_path / "scan.pdf", SENTENCES[0])
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in ("photo.png", "scan.pdf"):
        with pytest.raises(
            NoTextError, match=rf"{name} .*no text recognition \(OCR\) is installed"
        ) as caught:
            read(tmp_path / name)
        assert "tesseract-ocr" in caught.value.hint
        assert "[ocr]" in caught.value.hint


@with_tesseract
@only_tesseract
def test_running_process_uses_tesseract_once_it_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, folder = scanned(tmp_path / "scan.pdf", SENTENCES[0]), tmp_path / "bin"
    folder.mkdir()
    real = shutil.which("tesseract")
    monkeypatch.setenv("PATH", str(folder))

    def text() -> str:
        return read_isolated(
            path, ReadOptions("scan.pdf"), timeout=60, memory_mb=2_000, cancelled=lambda: False
        ).text

    end_readers()
    try:
        with pytest.raises(NoTextError, match="is installed"):
            text()
        (folder / "tesseract").symlink_to(str(real))
        assert text() == SENTENCES[0]
    finally:
        end_readers()


@with_tesseract
@pytest.mark.skipif(not Path("/proc").exists(), reason="looks for processes in /proc")
def test_no_tesseract_goes_on_when_the_reading_is_stopped(tmp_path: Path) -> None:
    words = " ".join(SENTENCES * 4)
    picture = Image.new("L", (4_000, 6_000), 255)
    pen = ImageDraw.Draw(picture)
    for row in range(180):
        pen.text((50, 30 + 33 * row), words, fill=0, font=ImageFont.load_default(26))
    picture.save(tmp_path / "dense.png")
    seen = []

    def stop_once_it_runs() -> bool:
        seen.extend(_tesseracts())
        return bool(seen)

    with pytest.raises(Cancelled):
        read_isolated(
            tmp_path / "dense.png",
            ReadOptions("dense.png"),
            timeout=60,
            memory_mb=2048,
            cancelled=stop_once_it_runs,
        )
    end = time.monotonic() + 2
    while set(seen) & set(_tesseracts()) and time.monotonic() < end:
        time.sleep(0.05)
    assert not set(seen) & set(_tesseracts())


def _tesseracts() -> list[int]:
    """Those that read a picture, of this test's children's children."""
    found = subprocess.run(["ps", "-eo", "pid,stat,args"], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 2) for line in found.splitlines()[1:]]
    return [
        int(pid)
        for pid, state, args in rows
        if "tesseract stdin" in args and "Z" not in state and int(pid) != os.getpid()
    ]


def test_a_photograph_of_many_pixels_is_read_at_half_its_size(tmp_path: Path) -> None:
    from ragcore.readers.ocr.image import _upright

    for name in ("a.jpg", "a.png"):
        Image.new("L", (8000, 6000), 255).save(tmp_path / name)
    with Image.open(tmp_path / "a.jpg") as photograph:
        assert _upright(photograph, "a.jpg").size == (4000, 3000)
    with (
        Image.open(tmp_path / "a.png") as picture,
        pytest.raises(TooLargeError, match=r"a\.png is too large"),
    ):
        _upright(picture, "a.png")
