"""A map of the vectors of all passages of a library, and the numbers of their tokens.

A separate process computes it, so that nobody waits for it:

    python -m lectern.explain.embedding_map FOLDER

for the library in that folder, or on the server in LECTERN_DATABASE. It is stored in `maps/` of the folder.
A few new passages are placed among those of the last map; for many, a new map is computed.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from lectern.explain.tsne import SAMPLE, place, project
from lectern.jobs.open_library import open_parts
from lectern.jobs.worker_process import command_for, environment_for
from lectern.settings import DATABASE, on_server
from ragcore.errors import Problem
from ragcore.text.tokens import count_tokens
from ragcore.vector_stores.base import Store, StoredDocument

if TYPE_CHECKING:
    from lectern.library import Library
    from ragcore.schema import Vectors

MIN_KNOWN_SHARE = 0.8  # of passages with a point in the last map. Below it, a new map is computed.
CHARACTERS_PER_TOKEN = 4.2  # estimate before any document is counted
END_SECONDS = 3.0


@dataclass(frozen=True)
class EmbeddingMap:
    """`ids`, `points` (n, 2) from -1 to 1, and `document_numbers` have a row for each passage. A document
    number is an index into `documents`, which are pairs of id and name."""

    version: str  # see version_of
    created: float  # in seconds since the epoch
    tokens: dict[str, int]  # of each document, by _document_version
    ids: Sequence[str]
    points: Vectors
    document_numbers: np.ndarray[tuple[int], np.dtype[np.uint32]]
    documents: tuple[tuple[str, str], ...]

    @cached_property
    def rows(self) -> dict[str, int]:
        """The row of each passage, by its id."""
        return {id_: row for row, id_ in enumerate(self.ids)}


def version_of(documents: Sequence[StoredDocument]) -> str:
    """Changes whenever a document, or its passages, come, go or change."""
    return hashlib.sha256("\n".join(map(_document_version, documents)).encode()).hexdigest()[:16]


def _document_version(document: StoredDocument) -> str:
    return f"{document.id_} {document.hash} {document.passages}"


def compute_map(
    store: Store, before: EmbeddingMap | None, on_progress: Callable[[float], None]
) -> EmbeddingMap:
    """`before` is the last map. `on_progress` gets the finished share, 0 to 1."""
    documents = store.documents()
    stored = store.candidates()
    row_of = {id_: row for row, id_ in enumerate(stored.ids)}
    document_numbers = np.zeros(len(stored.ids), np.uint32)
    tokens = {}
    for number, document in enumerate(documents):
        for id_ in store.passage_ids(document.id_):
            if id_ in row_of:
                document_numbers[row_of[id_]] = number
        version = _document_version(document)
        known = before.tokens.get(version) if before else None
        tokens[version] = (
            sum(count_tokens(node.text) for node in store.passages(document.id_)) if known is None else known
        )
        on_progress(0.5 * (number + 1) / len(documents))
    points = _compute_points(stored.ids, stored.rows, before)
    names = tuple((document.id_, document.name) for document in documents)
    return EmbeddingMap(
        version_of(documents), time.time(), tokens, stored.ids, points, document_numbers, names
    )


def _compute_points(ids: Sequence[str], vectors: Vectors, before: EmbeddingMap | None) -> Vectors:
    rows = np.array([before.rows.get(id_, -1) for id_ in ids] if before else [], np.int64)
    if before is None or not len(ids) or (rows >= 0).mean() < MIN_KNOWN_SHARE:
        return project(vectors)
    points = np.empty((len(ids), 2), np.float32)
    old, new = np.flatnonzero(rows >= 0), np.flatnonzero(rows < 0)
    points[old] = before.points[rows[old]]
    sample = old if len(old) <= SAMPLE else np.random.default_rng(0).choice(old, SAMPLE, replace=False)
    points[new] = place(vectors[new], vectors[sample], points[sample])
    return points


def write(new: EmbeddingMap, path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    draft = path.with_name(f"{path.stem}.{os.getpid()}.part")
    about = {"version": new.version, "made": new.created, "tokens": new.tokens, "documents": new.documents}
    with draft.open("wb") as file:
        np.savez(
            file,
            about=np.array(json.dumps(about)),
            ids=np.array(new.ids, "S"),
            points=new.points,
            owners=new.document_numbers,
        )
    draft.replace(path)


def read(path: Path) -> EmbeddingMap | None:
    """None if there is none, or if it cannot be read."""
    try:
        with np.load(path, allow_pickle=False) as file:
            about = json.loads(str(file["about"]))
            ids = [id_.decode() for id_ in file["ids"].tolist()]
            documents = tuple((id_, name) for id_, name in about["documents"])
            return EmbeddingMap(
                about["version"],
                about["made"],
                about["tokens"],
                ids,
                file["points"],
                file["owners"],
                documents,
            )
    except (OSError, ValueError, KeyError, EOFError):
        return None


class EmbeddingMaps:
    """The maps of a library, shared by all sessions of this process."""

    def __init__(self, library: Library, where: Path | str) -> None:
        self._library = library
        self._where = where
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._read: tuple[Path, int, EmbeddingMap | None] | None = None
        self._share = 0.0
        self.problem: Problem | None = None  # of the last one

    def latest(self) -> EmbeddingMap | None:
        """The map of the current index. It may be older than the documents."""
        path = _path(self._library.folder, self._library.store.versions.current().name)
        try:
            changed = path.stat().st_mtime_ns
        except OSError:
            return None
        with self._lock:
            if self._read is None or self._read[:2] != (path, changed):
                self._read = (path, changed, read(path))
            return self._read[2]

    def is_current(self, latest: EmbeddingMap) -> bool:
        return latest.version == version_of(self._library.store.documents())

    def tokens(self) -> tuple[int, bool]:
        """The number of tokens in all passages, and whether it is exact. An estimate has three digits."""
        latest = self.latest()
        counted = latest.tokens if latest else {}
        tokens_counted = characters_counted = characters_left = 0
        for document in self._library.store.documents():
            tokens = counted.get(_document_version(document))
            if tokens is None:
                characters_left += document.characters
            else:
                tokens_counted += tokens
                characters_counted += document.characters
        if not characters_left:
            return tokens_counted, True
        guess = tokens_counted + characters_left / (
            characters_counted / tokens_counted if tokens_counted else CHARACTERS_PER_TOKEN
        )
        return int(round(guess, 2 - math.floor(math.log10(max(guess, 1))))), False

    @property
    def share(self) -> float | None:
        """The finished share of the map in progress, 0 to 1; None if there is none."""
        return self._share if self._process is not None else None

    def start(self) -> None:
        """Starts to compute a new map, unless one is in progress."""
        with self._lock:
            if self._process is not None:
                return
            self._share, self.problem = 0.0, None
            self._process = subprocess.Popen(
                command_for("lectern.explain.embedding_map", self._library.folder),
                env={"OMP_NUM_THREADS": "1", **environment_for(self._where)},
                cwd=self._library.folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            threading.Thread(
                target=self._follow, args=(self._process,), name="embedding-map", daemon=True
            ).start()

    def end(self) -> None:
        process = self._process
        if process is not None:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(END_SECONDS)

    def delete(self) -> None:
        """Ends the map in progress, and deletes the stored one, which names documents."""
        self.end()
        self._read = None
        for path in _path(self._library.folder, "").parent.glob("*"):
            path.unlink(missing_ok=True)

    def _follow(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        with process.stdout:
            for line in process.stdout:
                with suppress(ValueError):  # output of a package
                    self._share = float(line)
        status = process.wait()
        if status not in (0, -signal.SIGTERM):  # SIGTERM: `end`
            self.problem = Problem(
                "The map could not be drawn.", "Try again. If it happens again, please report it."
            )
        self._process = None


def _path(folder: Path, index: str) -> Path:
    return folder / "maps" / f"{index}.npz"


def _print_progress(share: float) -> None:
    sys.stdout.write(f"{share:.3f}\n")
    sys.stdout.flush()


def main() -> None:
    folder, address = Path(sys.argv[1]), os.environ.get(DATABASE, "")
    with suppress(OSError, AttributeError):  # not on every system
        os.nice(10)
    parts = open_parts(address if on_server(address) else folder, folder)
    try:
        index = parts.store.versions.current().name
        path = _path(folder, index)
        write(compute_map(parts.store, read(path), _print_progress), path)
        for other in path.parent.glob("*.npz"):
            if other != path:
                other.unlink(missing_ok=True)
    finally:
        parts.store.close()
        parts.database.close()


if __name__ == "__main__":
    main()
