"""How the disk store grows, from a thousand passages to a million. Draws docs/scaling.svg and prints the
table.

    OMP_NUM_THREADS=1 python -m benchmarks.scaling [--embeddings ROWS.npy] [--words] [--sizes 1000 10000 ...]

The first vectors are embeddings of real passages, from a file or by the bundled model. The others are
mixtures of two of these with a little noise; the questions are real ones that are not in the store. One
library grows through all sizes: one process builds it, and at each size another opens it, searches, and ends.
`--words` also indexes and searches keywords, which takes most of the time of building. Needs about 3 kB of
disk per passage.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.chart import Line, Panel, chart
from benchmarks.passages import DIMENSION, EACH, documents, texts
from benchmarks.stores import Clock, memory
from ragcore.sql.sqlite import SQLiteDatabase
from ragcore.vector_stores.disk import SCHEMA, DiskStore
from ragcore.vector_stores.search import nearest

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "scaling.svg"
SIZES = (1_000, 10_000, 100_000, 300_000, 1_000_000)
BLOCK = 1_000  # vectors that are generated at a time
REAL = 2_000  # passages that are embedded if there is no file
QUESTIONS = 200
RECALL_QUESTIONS = 50
TOP = 10
BATCH = 50  # documents in one transaction
WORDS = "what is the effect of treatment on growth", "patients with acute disease", "pressure at high speed"


def embed_texts() -> Any:
    from ragcore.embeddings.huggingface import HuggingFaceEmbedding

    return HuggingFaceEmbedding().embed_passages(list(texts(REAL + QUESTIONS)))


def rows_of(real: Any, first: int, count: int) -> Any:
    """Rows [first, first + count), whole blocks, the same in every process."""
    return np.concatenate(
        [_block(real, number) for number in range(first // BLOCK, (first + count) // BLOCK)]
    )


def _block(real: Any, number: int) -> Any:
    if (number + 1) * BLOCK <= len(real):
        return real[number * BLOCK : (number + 1) * BLOCK]
    chance = np.random.default_rng(number)
    one, other = real[chance.integers(len(real), size=(2, BLOCK))]
    share = chance.uniform(0.6, 1.0, size=(BLOCK, 1))
    rows = share * one + (1 - share) * other + chance.normal(scale=0.01, size=(BLOCK, DIMENSION))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def _store(folder: Path, words: bool) -> DiskStore:
    return DiskStore(
        SQLiteDatabase(folder / "library.db", SCHEMA), vectors=folder / "vectors", words_when_asked=not words
    )


def build(folder: Path, real: Any, first: int, count: int, words: bool) -> dict[str, float]:
    """Stores `count` more passages. Returns the seconds, and the size on disk."""
    store, seconds = _store(folder, words), 0.0
    for start in range(first, first + count, BLOCK):
        batch = list(_documents(start, rows_of(real, start, BLOCK)))
        for at in range(0, len(batch), BATCH):
            began = time.process_time()
            with store._database.transaction():
                for document, nodes in batch[at : at + BATCH]:
                    store.upsert(document, nodes)
            seconds += time.process_time() - began
    store._database.shrink()
    return {"build s": seconds, "disk MB": store.bytes_on_disk() / 1e6}


def _documents(first: int, rows: Any) -> Iterator[tuple[Any, list[Any]]]:
    yield from documents(rows, first // EACH)


def serve(folder: Path, questions: Any, words: bool) -> dict[str, float]:
    clock = Clock()

    def open_store() -> Any:
        store = _store(folder, words)
        store.search(questions[0], TOP)
        return store

    before = memory()["VmRSS"]
    store = clock.time("open", open_store)
    seconds = sorted(
        _seconds(lambda question=question: store.search(question, TOP)) for question in questions
    )
    figures = {
        "open + first ms": 1e3 * clock.figures["open"],
        "p50 ms": 1e3 * statistics.median(seconds),
        "p95 ms": 1e3 * seconds[int(0.95 * len(seconds))],
        "memory MB": memory()["VmHWM"] / 1e6,
        "of it imports MB": before / 1e6,
    }
    if words:
        store.keyword_search(WORDS[0], TOP)
        times = sorted(
            _seconds(lambda question=question: store.keyword_search(question, TOP)) for question in 7 * WORDS
        )
        figures |= {
            "words p50 ms": 1e3 * statistics.median(times),
            "words p95 ms": 1e3 * times[int(0.95 * len(times))],
        }
    return figures


def _seconds(work: Any) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def recall(folder: Path, questions: Any, words: bool) -> dict[str, float]:
    """The share of the ten nearest of an exact search that the store finds."""
    (file,) = (folder / "vectors").glob("*.f32")
    rows = np.memmap(file, np.float32, "r").reshape(-1, DIMENSION)
    store, hits = _store(folder, words), 0
    for question in questions[:RECALL_QUESTIONS]:
        _, exact = nearest(rows, question, TOP)
        hits += sum((hit.score or 0) >= exact[-1] - 1e-6 for hit in store.search(question, TOP))
    return {"recall@10": hits / RECALL_QUESTIONS / TOP}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument(
        "--embeddings", type=Path, help="rows of 384 numbers, of length 1; the last 200 are the questions"
    )
    parser.add_argument("--words", action="store_true")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--step", nargs="+", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        print(
            json.dumps(
                _step(
                    options.folder, np.load(options.embeddings, mmap_mode="r"), options.words, *options.step
                )
            )
        )
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = np.load(options.embeddings) if options.embeddings else embed_texts()
        real = folder / "real.npy"
        np.save(real, rows)
        table: list[dict[str, float]] = []
        for last, size in zip((0, *options.sizes), options.sizes, strict=False):
            figures: dict[str, float] = {"passages": size}
            for step in (["build", str(last), str(size - last)], ["serve"], ["recall"]):
                figures |= _run_in_process(step, folder, real, options.words)
            figures["build s"] += table[-1]["build s"] if table else 0
            table.append(figures)
            print(
                ", ".join(f"{name} {value:,.4g}" for name, value in figures.items()),
                file=sys.stderr,
                flush=True,
            )
        _print(table, len(rows) - QUESTIONS)
    PICTURE.write_text(_draw(table), "utf-8")


def _step(folder: Path, rows: Any, words: bool, name: str, *numbers: str) -> dict[str, float]:
    real, questions = rows[:-QUESTIONS], np.array(rows[-QUESTIONS:])
    library = folder / "library"
    if name == "build":
        first, count = map(int, numbers)
        return build(library, real, first, count, words)
    return {"serve": serve, "recall": recall}[name](library, questions, words)


def _print(table: Sequence[dict[str, float]], real: int) -> None:
    print(f"{DIMENSION} numbers a vector; {real:,} real embeddings, the rest mixes of them; CPU time\n")
    print("| " + " | ".join(table[0]) + " |")
    print("|" + " ---: |" * len(table[0]))
    for figures in table:
        print(
            "| "
            + " | ".join(f"{value:,.0f}" if value >= 100 else f"{value:.3g}" for value in figures.values())
            + " |"
        )


def _draw(table: Sequence[dict[str, float]]) -> str:
    sizes = [figures["passages"] for figures in table]

    def line(label: str, column: str, colour: str) -> Line:
        return Line(label, colour, [figures[column] for figures in table])

    times = [
        line("open + first query", "open + first ms", "#b45309"),
        line("query, 95th of 100", "p95 ms", "#2563eb"),
        line("query, median", "p50 ms", "#60a5fa"),
    ]
    if "words p50 ms" in table[0]:
        times.append(line("query by words, median", "words p50 ms", "#15803d"))
    sizes_on_disk = [
        line("disk, MB", "disk MB", "#b45309"),
        line("memory while serving, MB", "memory MB", "#2563eb"),
        line("build, seconds", "build s", "#15803d"),
    ]
    return chart("passages", sizes, [Panel("Milliseconds", times), Panel("Size and building", sizes_on_disk)])


def _run_in_process(step: list[str], folder: Path, real: Path, words: bool) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.scaling", "--folder", str(folder), "--embeddings", str(real)]
    command += ["--words"] if words else []
    out = subprocess.run(
        [*command, "--step", *step], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True
    ).stdout
    figures: dict[str, float] = json.loads(out.splitlines()[-1])
    return figures


if __name__ == "__main__":
    main()
