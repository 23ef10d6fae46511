"""A look over all passages of a library: how many tokens they have, and where each lies on a map.

It is made in a process of its own, so that nobody waits for it,

    python -m lectern.explain.embedding_map FOLDER

for the library in that folder, or on the server that LECTERN_DATABASE names, and kept in `maps/` of the folder: one for each
index that the library had. Passages that have come since the last one get their places among the others; when many have, all
are laid out anew.
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

SAME = 0.8  # of the passages must have had a place before, for the others to be put among them
CHARACTERS = 4.2  # a token, before any was counted
END_SECONDS = 3.0


@dataclass(frozen=True)
class Survey:
    """`version` says of which documents; `made` in seconds since the epoch. Of each passage its id, place (n, 2), from -1 to 1,
    and which of `documents`, (id, name), it is from."""

    version: str
    made: float
    tokens: dict[str, int]  # of each document as it was, see _of_now
    ids: Sequence[str]
    points: Vectors
    owners: np.ndarray[tuple[int], np.dtype[np.uint32]]
    documents: tuple[tuple[str, str], ...]

    @cached_property
    def rows(self) -> dict[str, int]:
        """Of each passage's id."""
        return {id_: row for row, id_ in enumerate(self.ids)}


def version_of(documents: Sequence[StoredDocument]) -> str:
    """Another one whenever a document comes, goes or changes, or its passages do."""
    return hashlib.sha256("\n".join(map(_of_now, documents)).encode()).hexdigest()[:16]


def _of_now(document: StoredDocument) -> str:
    """Another name of it whenever it changes, or its passages do."""
    return f"{document.id_} {document.hash} {document.passages}"


def survey(store: Store, before: Survey | None, told: Callable[[float], None]) -> Survey:
    """Look over all passages; `told` how far it is, 0 to 1."""
    documents = store.documents()
    held = store.candidates()
    row_of = {id_: row for row, id_ in enumerate(held.ids)}
    owners = np.zeros(len(held.ids), np.uint32)
    tokens = {}
    for number, document in enumerate(documents):
        for id_ in store.passage_ids(document.id_):
            if id_ in row_of:
                owners[row_of[id_]] = number
        known = before.tokens.get(_of_now(document)) if before else None
        counted = known if known is not None else sum(count_tokens(node.text) for node in store.passages(document.id_))
        tokens[_of_now(document)] = counted
        told(0.5 * (number + 1) / len(documents))
    points = _placed(held.ids, held.rows, before)
    names = tuple((document.id_, document.name) for document in documents)
    return Survey(version_of(documents), time.time(), tokens, held.ids, points, owners, names)


def _placed(ids: Sequence[str], vectors: Vectors, before: Survey | None) -> Vectors:
    there = np.array([before.rows.get(id_, -1) for id_ in ids] if before else [], np.int64)
    if before is None or not len(ids) or (there >= 0).mean() < SAME:
        return project(vectors)
    points = np.empty((len(ids), 2), np.float32)
    old, new = np.flatnonzero(there >= 0), np.flatnonzero(there < 0)
    points[old] = before.points[there[old]]
    sample = old if len(old) <= SAMPLE else np.random.default_rng(0).choice(old, SAMPLE, replace=False)
    points[new] = place(vectors[new], vectors[sample], points[sample])
    return points


def write(made: Survey, path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    draft = path.with_name(f"{path.stem}.{os.getpid()}.part")
    about = {"version": made.version, "made": made.made, "tokens": made.tokens, "documents": made.documents}
    with draft.open("wb") as file:
        np.savez(file, about=np.array(json.dumps(about)), ids=np.array(made.ids, "S"), points=made.points, owners=made.owners)
    draft.replace(path)


def read(path: Path) -> Survey | None:
    """None where there is none, or what is there cannot be read: it is made anew then."""
    try:
        with np.load(path, allow_pickle=False) as kept:
            about = json.loads(str(kept["about"]))
            ids = [id_.decode() for id_ in kept["ids"].tolist()]
            documents = tuple((id_, name) for id_, name in about["documents"])
            return Survey(about["version"], about["made"], about["tokens"], ids, kept["points"], kept["owners"], documents)
    except (OSError, ValueError, KeyError, EOFError):
        return None


class Surveys:
    """The surveys of a library, for all who look at it in this process."""

    def __init__(self, library: Library, where: Path | str) -> None:
        self._library = library
        self._where = where
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._read: tuple[Path, int, Survey | None] | None = None
        self._share = 0.0
        self.problem: Problem | None = None  # of the last one

    def latest(self) -> Survey | None:
        """Of the index that answers now, whenever it was made."""
        path = _path(self._library.folder, self._library.store.versions.current().name)
        try:
            changed = path.stat().st_mtime_ns
        except OSError:
            return None
        with self._lock:
            if self._read is None or self._read[:2] != (path, changed):
                self._read = (path, changed, read(path))
            return self._read[2]

    def is_of_now(self, made: Survey) -> bool:
        return made.version == version_of(self._library.store.documents())

    def tokens(self) -> tuple[int, bool]:
        """Of all passages, and whether they were counted; otherwise about as many, to three digits."""
        documents, made = self._library.store.documents(), self.latest()
        counted = made.tokens if made else {}
        names = [_of_now(document) for document in documents]
        known = sum(counted.get(name, 0) for name in names)
        seen = sum(document.characters for document, name in zip(documents, names, strict=True) if name in counted)
        unseen = sum(document.characters for document, name in zip(documents, names, strict=True) if name not in counted)
        if not unseen:
            return known, True
        guess = known + unseen / (seen / known if known else CHARACTERS)
        return int(round(guess, 2 - math.floor(math.log10(max(guess, 1))))), False

    @property
    def share(self) -> float | None:
        """How far the one being made is, 0 to 1; None when none is."""
        return self._share if self._process is not None else None

    def start(self) -> None:
        """Make one now, unless one is being made."""
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
                with suppress(ValueError):  # what a package of the process says
                    self._share = float(line)
        status = process.wait()
        if status > 0:
            self.problem = Problem("The map could not be drawn.", "Try again. If it happens again, please report it.")
        self._process = None


def _path(folder: Path, index: str) -> Path:
    return folder / "maps" / f"{index}.npz"


def _tell(share: float) -> None:
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
        made = survey(parts.store, read(path), _tell)
        write(made, path)
        for other in path.parent.glob("*.npz"):
            if other != path:
                other.unlink(missing_ok=True)
    finally:
        parts.store.close()
        parts.database.close()


if __name__ == "__main__":
    main()
