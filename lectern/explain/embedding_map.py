"""A survey of all passages of a library: their numbers of tokens, and a map of their vectors.

A separate process makes it, so that nobody waits for it,

    python -m lectern.explain.embedding_map FOLDER

for the library in that folder, or on the server in LECTERN_DATABASE. It is stored in `maps/` of the folder.
New passages are placed among those of the last survey; if there are many, a new map is computed.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
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
from lectern.jobs.worker_process import environment_for
from lectern.settings import DATABASE, on_server
from ragcore.errors import Problem
from ragcore.text.tokens import count_tokens
from ragcore.vector_stores.base import Store, StoredDocument

if TYPE_CHECKING:
    from lectern.library import Library
    from ragcore.schema import Vectors

SAME = 0.8  # least share of passages with a place in the last map, from which the others are placed among them
CHARACTERS = 4.2  # in a token, before any was counted
END_SECONDS = 3.0


@dataclass(frozen=True)
class Survey:
    """`version`: of the documents; `made`: in seconds since the epoch. For each passage its id, its point (n,
    2), from -1 to 1, and the index of its document in `documents`, (id, name)."""

    version: str
    made: float
    tokens: dict[str, int]  # by _document_version
    ids: Sequence[str]
    points: Vectors
    owners: np.ndarray[tuple[int], np.dtype[np.uint32]]
    documents: tuple[tuple[str, str], ...]

    @cached_property
    def rows(self) -> dict[str, int]:
        """By the id of each passage."""
        return {id_: row for row, id_ in enumerate(self.ids)}


def version_of(documents: Sequence[StoredDocument]) -> str:
    """Changes whenever a document, or its passages, come, go or change."""
    return hashlib.sha256("\n".join(map(_document_version, documents)).encode()).hexdigest()[:16]


def _document_version(document: StoredDocument) -> str:
    return f"{document.id_} {document.hash} {document.passages}"


def survey(store: Store, before: Survey | None, on_progress: Callable[[float], None]) -> Survey:
    """Makes a survey of all passages. `on_progress` gets the share that is done, 0 to 1."""
    documents = store.documents()
    stored = store.candidates()
    row_of = {id_: row for row, id_ in enumerate(stored.ids)}
    owners = np.zeros(len(stored.ids), np.uint32)
    tokens = {}
    for number, document in enumerate(documents):
        for id_ in store.passage_ids(document.id_):
            if id_ in row_of:
                owners[row_of[id_]] = number
        version = _document_version(document)
        known = before.tokens.get(version) if before else None
        tokens[version] = sum(count_tokens(node.text) for node in store.passages(document.id_)) if known is None else known
        on_progress(0.5 * (number + 1) / len(documents))
    points = _compute_points(stored.ids, stored.rows, before)
    names = tuple((document.id_, document.name) for document in documents)
    return Survey(version_of(documents), time.time(), tokens, stored.ids, points, owners, names)


def _compute_points(ids: Sequence[str], vectors: Vectors, before: Survey | None) -> Vectors:
    rows = np.array([before.rows.get(id_, -1) for id_ in ids] if before else [], np.int64)
    if before is None or not len(ids) or (rows >= 0).mean() < SAME:
        return project(vectors)
    points = np.empty((len(ids), 2), np.float32)
    old, new = np.flatnonzero(rows >= 0), np.flatnonzero(rows < 0)
    points[old] = before.points[rows[old]]
    sample = old if len(old) <= SAMPLE else np.random.default_rng(0).choice(old, SAMPLE, replace=False)
    points[new] = place(vectors[new], vectors[sample], points[sample])
    return points


def write(new: Survey, path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    draft = path.with_name(f"{path.stem}.{os.getpid()}.part")
    about = {"version": new.version, "made": new.made, "tokens": new.tokens, "documents": new.documents}
    with draft.open("wb") as file:
        np.savez(file, about=np.array(json.dumps(about)), ids=np.array(new.ids, "S"), points=new.points, owners=new.owners)
    draft.replace(path)


def read(path: Path) -> Survey | None:
    """None if there is none, or if it cannot be read."""
    try:
        with np.load(path, allow_pickle=False) as file:
            about = json.loads(str(file["about"]))
            ids = [id_.decode() for id_ in file["ids"].tolist()]
            documents = tuple((id_, name) for id_, name in about["documents"])
            return Survey(about["version"], about["made"], about["tokens"], ids, file["points"], file["owners"], documents)
    except (OSError, ValueError, KeyError, EOFError):
        return None


class Surveys:
    """The surveys of a library, shared by all sessions of this process."""

    def __init__(self, library: Library, where: Path | str) -> None:
        self._library = library
        self._where = where
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._read: tuple[Path, int, Survey | None] | None = None
        self._share = 0.0
        self.problem: Problem | None = None  # of the last one

    def latest(self) -> Survey | None:
        """The one of the current index, of any time."""
        path = _path(self._library.folder, self._library.store.versions.current().name)
        try:
            changed = path.stat().st_mtime_ns
        except OSError:
            return None
        with self._lock:
            if self._read is None or self._read[:2] != (path, changed):
                self._read = (path, changed, read(path))
            return self._read[2]

    def is_of_now(self, latest: Survey) -> bool:
        return latest.version == version_of(self._library.store.documents())

    def tokens(self) -> tuple[int, bool]:
        """The tokens of all passages, and whether they were counted, and not estimated to three digits."""
        latest = self.latest()
        counted = latest.tokens if latest else {}
        known = seen = unseen = 0
        for document in self._library.store.documents():
            tokens = counted.get(_document_version(document))
            known += tokens or 0
            seen += document.characters if tokens is not None else 0
            unseen += document.characters if tokens is None else 0
        if not unseen:
            return known, True
        guess = known + unseen / (seen / known if known else CHARACTERS)
        return int(round(guess, 2 - math.floor(math.log10(max(guess, 1))))), False

    @property
    def share(self) -> float | None:
        """The share of the new survey that is done, 0 to 1; None if there is no new one."""
        return self._share if self._process is not None else None

    def start(self) -> None:
        """Begins a new survey, unless one is running."""
        with self._lock:
            if self._process is not None:
                return
            self._share, self.problem = 0.0, None
            self._process = subprocess.Popen(
                [sys.executable, "-m", "lectern.explain.embedding_map", str(self._library.folder)],
                env={"OMP_NUM_THREADS": "1", **environment_for(self._where)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            threading.Thread(target=self._follow, args=(self._process,), name="survey", daemon=True).start()

    def end(self) -> None:
        process = self._process
        if process is not None:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(END_SECONDS)

    def _follow(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        with process.stdout:
            for line in process.stdout:
                with suppress(ValueError):  # output of a package
                    self._share = float(line)
        status = process.wait()
        if status > 0:
            self.problem = Problem("The map could not be drawn.", "Try again. If it happens again, please report it.")
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
        write(survey(parts.store, read(path), _print_progress), path)
        for other in path.parent.glob("*.npz"):
            if other != path:
                other.unlink(missing_ok=True)
    finally:
        parts.store.close()
        parts.database.close()


if __name__ == "__main__":
    main()
