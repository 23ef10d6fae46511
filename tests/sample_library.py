"""The library of the sample documents, read once for all tests of a run, which copy it."""

from __future__ import annotations

import os
import shutil
import time
from contextlib import closing
from pathlib import Path

import pytest

from lectern.jobs.link_fetcher import Fetcher
from lectern.jobs.worker import Worker
from lectern.library import Library
from ragcore.embeddings.huggingface import HuggingFaceEmbedding

SAMPLE = Path(__file__).parents[1] / "sample" / "documents"
WAIT_SECONDS = 240


def worker_of(library: Library) -> Worker:
    return Worker(library.files, library.store, library.embedder, lambda: library.settings.ingest)


def read_files(library: Library) -> None:
    """Fetch and read what waits, as the worker process would."""
    fetcher, worker = Fetcher(library.files, lambda: library.settings.ingest), worker_of(library)
    while fetcher.run_once() or worker.run_once():
        pass


def read_sample_once(folders: pytest.TempPathFactory) -> Path:
    """The folder of the library. The first process that asks makes it, for all processes of this run."""
    own = folders.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "sample of all"
    finished = folder / "finished"
    try:
        folder.mkdir()
    except FileExistsError:
        deadline = time.monotonic() + WAIT_SECONDS
        while not finished.exists():
            assert time.monotonic() < deadline, "the process that has begun it has not finished it"
            time.sleep(0.1)
        return folder / "library"
    try:
        with closing(Library(folder / "library", embedder=HuggingFaceEmbedding())) as library:
            for path in sorted(SAMPLE.iterdir()):
                given = shutil.copy(path, library.incoming / "given")
                library.intake.add(Path(given), path.name)
            read_files(library)
            library.suggestions.get()
            library.suggestions.wait()
    except BaseException:
        shutil.rmtree(folder)  # for a second try
        raise
    finished.touch()
    return folder / "library"
