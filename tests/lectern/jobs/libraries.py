"""A library with a word-counting embedder, for tests of what its workers do to it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lectern.jobs.file_rows import FileRow
from lectern.jobs.worker import Worker
from lectern.library import Library
from ragcore.embeddings.base import Embedder
from ragcore.embeddings.hashing import HashEmbedding

if TYPE_CHECKING:
    from ragcore.schema import Vectors


class KilledError(BaseException):
    """The process ends here, as far as anybody can tell."""


class Counting(HashEmbedding):
    """Counts what it embeds; ends the process with batch number `dies_at`, from 0."""

    def __init__(self, dies_at: int | None = None) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.batches = 0
        self.dies_at = dies_at

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        if self.batches == self.dies_at:
            raise KilledError
        self.batches += 1
        self.texts += texts
        return super().embed_passages(texts)


def paragraphs(count: int, word: str = "lamp") -> str:
    """Each becomes a passage of its own when passages have 16 tokens."""
    return "\n\n".join(
        f"Paragraph {n} tells of the {word} number {n}, lit for {n} nights." for n in range(count)
    )


def add(library: Library, text: str, name: str) -> FileRow:
    path = library.incoming / "given"
    path.write_text(text, "utf-8")
    return library.intake.add(path, name).file


def worker_of(library: Library, embedder: Embedder | None = None) -> Worker:
    return Worker(library.files, library.store, embedder or library.embedder, lambda: library.settings.ingest)


def small_passages(library: Library) -> None:
    ingest = library.settings.ingest.model_copy(update={"chunk_size": 16})
    library.update_settings(library.settings.model_copy(update={"ingest": ingest}))


def vectors_held(folder: Path, process: int | str = "self") -> list[str]:
    """The files of vectors in the folder that a process maps and that are deleted: the disk has their room
    when it lets go."""
    maps = Path(f"/proc/{process}/maps")
    if not maps.exists():
        pytest.skip("only Linux tells what a process maps")
    lines = maps.read_text().splitlines()
    return [line for line in lines if str(folder) in line and line.endswith(".f32 (deleted)")]


def disk_bytes(folder: Path) -> int:
    """That the files in the folder take, as du counts them."""
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file())


def given(tmp_path: Path, text: str = "hello") -> Path:
    path = tmp_path / f"given-{time.monotonic_ns()}"
    path.write_text(text, "utf-8")
    return path


class Clock:
    """Shows what it is set to."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        self.now += 0.001  # two files never come at the same time
        return self.now
