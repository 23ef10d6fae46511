"""The cost of many files that are added at once: thousands of one passage, a folder of real files of all
kinds, a mailbox.

    python -m benchmarks.bulk [WORK ...] [--files 8000] [--mails 5000] [--mixed 200]

Each work is a folder that `lectern add` adds to a new library. The figure is the processor time of all
processes together, minus that for one small file, which is mostly the start. It is compared with reading the
same files and embedding their texts in one batch, in this process and the same run. The ratio of both is the
cost of a queue that loses nothing.

`files`: texts of one passage each, from sentences of the sample documents. `mixed`: real files of
../shared/data, if it exists. `mailbox`: one file of generated mails. `lengths`: one worker in this process
reads the first 100 files of a queue of 100, and of one of `--files`.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from lectern.jobs.chunking import passages_of
from lectern.jobs.embedders import Embedders
from lectern.jobs.intake import SAMPLE
from lectern.jobs.sandbox import end_readers, start_reader
from lectern.jobs.worker import Worker
from lectern.library import Library
from lectern.settings import IngestSettings
from ragcore.embeddings.base import Embedder
from ragcore.embeddings.huggingface import HuggingFaceEmbedding
from ragcore.errors import RagError
from ragcore.readers.base import ReadOptions
from ragcore.readers.registry import read_file, supported_suffixes

ROOT = Path(__file__).parents[1]
DATA = ROOT.parent / "shared" / "data"
FEW = 100  # files whose cost is compared at two lengths of the queue
# Folders of broken or hostile files.
HOSTILE = {"archives", "bombs", "docx_broken", "pdf_broken", "pdf_scanned", "pptx_broken", "xlsx_csv_broken"}
MAX_BYTES = 60_000  # of a file of the mix
CHUNK_SIZE = IngestSettings().chunk_size
POLL_SECONDS = 0.2
MIN_WORDS = 30  # of a text
TICKS = os.sysconf("SC_CLK_TCK")  # a second


@dataclass(frozen=True, slots=True)
class Cost:
    """Processor seconds of `lectern add` and all its processes, of its own while it waited, and how long that
    was. The library chose `embed_model` by its first file."""

    total: float
    waiting_cpu: float
    waiting_seconds: float
    embed_model: str


def sentences() -> list[str]:
    texts = " ".join(path.read_text("utf-8") for path in sorted(SAMPLE.glob("*.[mt][dx]*")))
    return [
        sentence
        for sentence in re.split(r"(?<=[.!?])\s+", re.sub(r"[#*|>_-]+|\s+", " ", texts))
        if 30 < len(sentence) < 300
    ]


def text(number: int, known: Sequence[str]) -> str:
    chance, words = random.Random(number), f"Note {number}."
    while len(words.split()) < MIN_WORDS:
        words += " " + chance.choice(known)
    return words


def make_files(folder: Path, count: int) -> None:
    known = sentences()
    for number in range(count):
        (folder / f"note {number}.txt").write_text(text(number, known), "utf-8")


def make_mailbox(folder: Path, count: int) -> None:
    known = sentences()
    with (folder / "mails.mbox").open("w", encoding="utf-8") as file:
        for number in range(count):
            head = (
                f"From: Ada {number % 50} <ada{number % 50}@example.org>\nTo: Bo <bo@example.org>\n"
                f"Subject: Note {number}"
            )
            sent = f"Date: Mon, 02 Nov 2026 08:{number // 60 % 60:02}:{number % 60:02} +0000"
            file.write(f"From - Mon Nov  2 08:00:00 2026\n{head}\n{sent}\n\n{text(number, known)}\n\n")


def make_mix(folder: Path, count: int) -> None:
    """A random sample of the real files that a reader accepts."""
    every = (
        path for path in sorted(DATA.rglob("*")) if path.is_file() and 0 < path.stat().st_size < MAX_BYTES
    )
    readable = [
        path
        for path in every
        if path.suffix.lower() in supported_suffixes() and not HOSTILE & set(path.parts)
    ]
    chosen = random.Random(1).sample(readable, min(count, len(readable)))
    for number, path in enumerate(chosen):
        shutil.copyfile(path, folder / f"{number}-{path.name}")


def reference(folder: Path, embedder: Embedder) -> tuple[float, int]:
    """Processor seconds for reading the files and embedding their passages in one batch, and the number of
    passages. Unreadable files take time too; equal passages are embedded once."""
    began, documents = time.process_time(), []
    for path in sorted(folder.iterdir()):
        with suppress(RagError):
            documents.append(read_file(path, ReadOptions(path.name)))
    reading, passages = (
        time.process_time() - began,
        [node for each in documents for node in passages_of(each, CHUNK_SIZE, 0)],
    )
    began = time.process_time()
    embedder.embed_passages(list(dict.fromkeys(node.text for node in passages)))
    return reading + time.process_time() - began, len(passages)


def processor_seconds(root: int) -> tuple[float, float]:
    """Processor seconds of a process alone, and together with all its descendants, including ended ones."""
    parents: dict[int, list[int]] = {}
    times: dict[int, list[float]] = {}  # user, system, and both of those that have ended
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended
            fields = stat.read_text("utf-8", "replace").rpartition(") ")[2].split()
            number = int(stat.parent.name)
            parents.setdefault(int(fields[1]), []).append(number)
            times[number] = [int(field) / TICKS for field in fields[11:15]]
    total, todo = 0.0, [root]
    while todo:
        number = todo.pop()
        total += sum(times.get(number, ()))
        todo += parents.get(number, [])
    return sum(times.get(root, ())[:2]), total


def add(folder: Path) -> Cost:
    """`lectern add` of the folder into a new library."""
    count, total, own = len(list(folder.iterdir())), 0.0, 0.0
    queued: tuple[float, float] | None = None  # when, and the processor seconds of the command by then
    with tempfile.TemporaryDirectory() as place:
        command = [sys.executable, "-m", "lectern.cli", "--library", place, "add", str(folder)]
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while process.poll() is None:
            now = processor_seconds(process.pid)
            own, total = max(own, now[0]), max(total, now[1])
            if queued is None and files_in(Path(place)) >= count:
                queued = time.monotonic(), own
            time.sleep(POLL_SECONDS)
        ended = time.monotonic()
        with closing(Library.open(Path(place))) as library:
            embed_model = library.store.versions.current().embed_model
    began, before = queued or (ended, own)
    return Cost(total, own - before, ended - began, embed_model)


def files_in(place: Path) -> int:
    """The number of rows of a library, including the files of archives."""
    with (
        suppress(sqlite3.Error),
        closing(sqlite3.connect(f"file:{place}/library.db?mode=ro", uri=True)) as db,
    ):
        return int(db.execute("SELECT count(*) FROM files").fetchone()[0])
    return 0


def at_length(length: int) -> float:
    """Processor seconds that one worker takes for each of the first FEW files of a queue of this length."""
    with tempfile.TemporaryDirectory() as name, closing(Library.open(Path(name) / "library")) as library:
        (folder := Path(name) / "files").mkdir()
        make_files(folder, length)
        for path in folder.iterdir():
            library.intake.add(path, path.name)
        worker = Worker(library.files, library.store, library.embedder, lambda: library.settings.ingest)
        worker.warm()
        start_reader()
        _, began = processor_seconds(os.getpid())
        while library.files.ready_and_bytes()[0] < FEW and worker.run_once():
            pass
        each = (processor_seconds(os.getpid())[1] - began) / library.files.ready_and_bytes()[0]
        end_readers()
        return each


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("work", nargs="*", help=f"of {', '.join(WORKS)}, lengths; all, unless some are named")
    parser.add_argument("--files", type=int, default=8000)
    parser.add_argument("--mails", type=int, default=5000)
    parser.add_argument("--mixed", type=int, default=200)
    options = parser.parse_args()
    counts = {"files": options.files, "mixed": options.mixed, "mailbox": options.mails}
    embedders, chosen = Embedders(HuggingFaceEmbedding()), options.work or [*WORKS, "lengths"]
    print(
        "| work | files | passages | reading and embedding, s | lectern add, s | ratio | waiting took "
        "of a core |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as name:
        (one := Path(name) / "one").mkdir()
        make_files(one, 1)
        start = add(one).total
        for work in (each for each in WORKS if each in chosen):
            (folder := Path(name) / work).mkdir()
            WORKS[work](folder, counts[work])
            if files := len(list(folder.iterdir())):
                cost = add(folder)
                embedder = embedders.of(cost.embed_model)
                embedder.embed_query("ready")  # loads it
                least, passages = reference(folder, embedder)
                ratio, share = (
                    (cost.total - start) / least,
                    cost.waiting_cpu / max(cost.waiting_seconds, 1e-9),
                )
                print(
                    f"| {work} | {files} | {passages} | {least:.1f} | {cost.total - start:.1f} | "
                    f"{ratio:.2f} | {share:.2%} |"
                )
    if "lengths" in chosen:
        costs = ", ".join(
            f"{1000 * at_length(length):.1f} ms in a queue of {length:,}" for length in (FEW, options.files)
        )
        print(f"\nA file costs {costs}.")


WORKS: dict[str, Callable[[Path, int], None]] = {
    "files": make_files,
    "mixed": make_mix,
    "mailbox": make_mailbox,
}

if __name__ == "__main__":
    main()
