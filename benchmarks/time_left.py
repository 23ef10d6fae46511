"""The error of the time left on the screens while a queue of files is read.

    python -m benchmarks.time_left [MIX ...] [--load idle|busy]

Each mix is added to a new library in a temporary folder, whose worker then starts as in the application,
without any knowledge of the machine. Each is read once on the machine as it is (`idle`), and once with a
process that keeps one core busy (`busy`). The time left is read five times a second. A row of the table is
about the readings after the first tenth of the whole time and before the last second: their number, the share
within a factor of two of the true time left, and the largest error, as a factor (under 1: too low) and at
what part of the whole time. The files are of ../shared/data. A mix without its files, and one of scans
without tesseract, is skipped.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from lectern.jobs.file_rows import seconds_left
from lectern.library import Library
from ragcore.readers.ocr import tesseract

DATA = Path(__file__).parents[2] / "shared" / "data"
HANDBOOK = DATA / "azure_northwind" / "data"
BENEFITS = HANDBOOK / "Northwind_Standard_Benefits_Details.pdf"
KINDS = (
    "pdf_ok/tracemonkey.pdf", "docx_ok/test.docx", "docx_ok/word_sample.docx", "pptx_ok/prs-notes.pptx",
    "text_md/wiki.md", "rtf_odf_epub/testEPUB.epub", "rtf_odf_epub/testRTFVarious.rtf",
    "rtf_odf_epub/fake.odt", "xlsx_csv_ok/stanley-cups.xlsx",
    "xlsx_csv_ok/2023-half-year-analyses-by-segment.xlsx", "xlsx_csv_ok/csv-with-long-lines.csv",
    "email/testGroupWiseEml.eml", "html_xml/tika434.html", "html_xml/fake-html-pre.htm",
)  # fmt: skip
SCANS = 10  # pages
POLL_SECONDS = 0.2
IGNORED_SECONDS = 1.0  # at the end. The screens say "a few seconds" for the last five.
LOADS = ("idle", "busy")
# Ends when its standard input closes, as it does when this process ends for any reason.
BUSY = """
import os, sys, threading
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0))).start()
while True: pass
"""

Samples = list[tuple[float, float]]  # seconds since the beginning, and the estimated seconds left


def cold(_: Path) -> list[Path]:
    """Files of all kinds."""
    nasty = [DATA / "nasty" / name for name in KINDS]
    return [*sorted(HANDBOOK.glob("*.pdf")), *nasty, DATA / "paul_graham" / "paul_graham_essay.txt"]


def long(folder: Path) -> list[Path]:
    """One text of abstracts, 700,000 characters."""
    source, text = DATA / "scifact" / "corpus.jsonl", folder / "long.txt"
    if source.exists():
        abstracts = [json.loads(line) for line in source.read_text("utf-8").splitlines()[:450]]
        text.write_text("\n\n".join(f"{each['title']}\n\n{each['text']}" for each in abstracts), "utf-8")
    return [text]


def scripts(_: Path) -> list[Path]:
    """The same text in 40 languages: the smallest in bytes first, which are in Latin letters or Chinese."""
    return sorted((DATA / "udhr" / "txt").glob("*.txt"), key=lambda path: path.stat().st_size)


def scans(folder: Path, *, first: bool) -> list[Path]:
    """A PDF of typed pages, with pictures of some of them before or after."""
    path = folder / "scanned.pdf"
    if BENEFITS.exists() and tesseract.is_installed():
        import pypdfium2

        text_pages, document, file = (
            pypdfium2.PdfDocument(BENEFITS),
            pypdfium2.PdfDocument.new(),
            io.BytesIO(),
        )
        pages = [
            text_pages[index].render(scale=2.0, grayscale=True).to_pil() for index in range(3, 3 + SCANS)
        ]
        pages[0].save(file, "PDF", save_all=True, append_images=pages[1:], resolution=144)
        pictures = pypdfium2.PdfDocument(file.getvalue())
        for part in (pictures, text_pages) if first else (text_pages, pictures):
            document.import_pages(part)
        document.save(path)
    return [path]


MIXES: dict[str, Callable[[Path], list[Path]]] = {
    "cold": cold,
    "long": long,
    "scans-first": partial(scans, first=True),
    "scans-last": partial(scans, first=False),
    "scripts": scripts,
    "reindex": cold,  # once they are read
}


def measure(mix: str, load: str) -> Samples:
    """Empty if the files do not exist."""
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as ending:
        folder = Path(name)
        files = [path for path in MIXES[mix](folder) if path.exists()]
        if not files:
            return []
        if load == "busy":
            ending.enter_context(subprocess.Popen([sys.executable, "-c", BUSY], stdin=subprocess.PIPE))
        library = Library.open(folder / "library")
        ending.callback(library.close)
        samples = read(library, files)
        return reindex(library) if mix == "reindex" else samples


def read(library: Library, files: list[Path]) -> Samples:
    for path in files:
        library.intake.add(path, path.name)
    library.worker.start()
    return poll(lambda: seconds_left(library.files.all()))


def reindex(library: Library) -> Samples:
    """Rebuilds the index with passages of three quarters of their length."""

    def estimate_left() -> float | None:
        next_version = library.store.versions.next_version()
        return (
            None
            if next_version is None or next_version.state != "building"
            else next_version.seconds_left or 0.0
        )

    library.rebuilds.start(chunk_size=library.settings.ingest.chunk_size * 3 // 4)
    return poll(estimate_left)


def poll(estimate_left: Callable[[], float | None]) -> Samples:
    """Reads the estimate until the work has ended."""
    began, samples = time.monotonic(), Samples()
    while (estimate := estimate_left()) is not None:
        samples.append((time.monotonic() - began, estimate))
        time.sleep(POLL_SECONDS)
    return [*samples, (time.monotonic() - began, 0.0)]


def row(mix: str, load: str, samples: Samples) -> str:
    whole = samples[-1][0]
    counted = [
        (at, estimate / (whole - at))
        for at, estimate in samples
        if whole / 10 <= at < whole - IGNORED_SECONDS
    ]
    right = sum(0.5 <= ratio <= 2 for _, ratio in counted) / len(counted)
    at, worst = max(counted, key=lambda look: max(look[1], 1 / max(look[1], 1e-9)))
    return (
        f"| {mix} | {load} | {whole:.0f} | {len(counted)} | {right:.1%} | {worst:.2f} at {at / whole:.0%} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("mix", nargs="*", help=f"of {', '.join(MIXES)}; all, unless some are named")
    parser.add_argument("--load", choices=LOADS)
    options = parser.parse_args()
    print(
        "| mix | load | seconds | looks | within a factor of two | furthest off |\n"
        "|---|---|---:|---:|---:|---:|"
    )
    for mix in options.mix or MIXES:
        for load in [options.load] if options.load else LOADS:
            if samples := measure(mix, load):
                print(row(mix, load, samples), flush=True)


if __name__ == "__main__":
    main()
