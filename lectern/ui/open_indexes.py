"""The open indexes of this process, each with its worker, answers and downloads."""

from __future__ import annotations

import logging
import threading
import time
from contextlib import closing
from dataclasses import dataclass, field

from lectern.evaluate.jobs import EvaluationJobs
from lectern.explain.embedding_map import EmbeddingMaps
from lectern.indexes import MAIN, Indexes
from lectern.jobs.file_rows import ACTIVE
from lectern.library import Library
from lectern.runs.answer_runs import AnswerRuns
from lectern.runs.chat_mode_replay import Replays
from lectern.runs.recorded_demo import RecordedOrLiveRuns
from lectern.ui.index_creation import IndexCreations
from lectern.ui.offered_copies import OfferedCopies
from lectern.ui.source_downloads import SourceDownloads
from ragcore.embeddings.base import Embedder
from ragcore.embeddings.huggingface import HuggingFaceEmbedding
from ragcore.errors import InputError, RagError

logger = logging.getLogger(__name__)

IDLE_SECONDS = 15 * 60.0  # without a visitor, before an index is closed
POLL_SECONDS = 60.0  # between two checks for idle indexes


@dataclass
class OpenIndex:
    library: Library
    maps: EmbeddingMaps
    runs: AnswerRuns
    replays: Replays
    downloads: SourceDownloads
    measuring: EvaluationJobs
    last_used: float = field(default_factory=time.monotonic)
    warm_up_timer: threading.Timer | None = None  # loads the embedder a little later

    @property
    def busy(self) -> bool:
        return (
            self.runs.is_answering
            or self.replays.busy
            or self.maps.share is not None
            or bool(self.downloads.labels())
            or self.measuring.busy
            or has_work(self.library)
        )

    def delete_everything(self) -> None:
        """Ends its work, and deletes all its documents, answers, notes and evaluations."""
        self._end_work()
        self.downloads = SourceDownloads(self.library)
        self.maps.delete()
        self.library.delete_everything()

    def close(self) -> None:
        """Ends its answers, downloads and worker."""
        if self.warm_up_timer is not None:
            self.warm_up_timer.cancel()
        self._end_work()
        self.library.close()

    def _end_work(self) -> None:
        self.replays.stop_all()
        self.runs.stop_all()
        self.downloads.end()
        self.maps.end()
        self.measuring.stop_all()


def has_work(library: Library) -> bool:
    """Whether a worker has files to read or an index to rebuild."""
    coming = library.store.versions.next_version()
    return bool(library.files.all(*ACTIVE, limit=1)) or (coming is not None and coming.state == "building")


class OpenIndexes:
    """Shared by all sessions. The first index stays open; the others are closed after some time without
    visitors or work."""

    def __init__(self, indexes: Indexes, embedder: Embedder | None = None) -> None:
        self.indexes = indexes
        self.creations = IndexCreations()
        self.offers = OfferedCopies()
        self._embedder = embedder or HuggingFaceEmbedding()  # shared by all; loaded at its first use
        self._open: dict[str, OpenIndex] = {}
        self._lock = threading.RLock()
        self._closes_idle = False

    def get(self, id_: str) -> OpenIndex:
        """An open index with a running worker. InputError if it was deleted."""
        with self._lock:
            opened = self._open.get(id_)
            if opened is None or not self.indexes.has(id_):
                opened = self._open_new(id_)
            opened.last_used = time.monotonic()
            return opened

    def resume_work(self) -> None:
        """Opens every index with unfinished work from an earlier process."""
        for index in self.indexes.all():
            try:
                with closing(Library(index.where)) as library:
                    unfinished = has_work(library)
                if unfinished:
                    self.get(index.id)
            except RagError:
                logger.exception("unfinished work in an index waits until somebody opens it")

    def delete(self, id_: str) -> int:
        """Ends all work in the index and deletes it. Returns the bytes this frees."""
        with self._lock:
            self._forget(id_)
            return self.indexes.delete(id_)

    def delete_everything(self) -> None:
        """Deletes all indexes but the first, and everything in the first except its settings and keys."""
        for index in self.indexes.all():
            if index.id != MAIN:
                self.delete(index.id)
        self.get(MAIN).delete_everything()

    def close_idle(self, now: float | None = None) -> None:
        if self.creations.busy:
            return  # an index may be created from one of them
        moment = time.monotonic() if now is None else now
        with self._lock:
            for id_, opened in list(self._open.items()):
                if id_ != MAIN and moment - opened.last_used > IDLE_SECONDS and not opened.busy:
                    self._forget(id_)

    def close(self) -> None:
        with self._lock:
            for id_ in list(self._open):
                self._forget(id_)

    def _open_new(self, id_: str) -> OpenIndex:
        index = self.indexes.get(id_)
        if index is None:
            self._forget(id_)
            raise InputError("This index no longer exists.", hint="It was deleted. Choose another one.")
        library = Library(index.where, embedder=self._embedder)
        library.worker.start()
        library.integrity.start()
        runs = RecordedOrLiveRuns(library)
        parts = (
            EmbeddingMaps(library, index.where),
            runs,
            Replays(library, runs),
            SourceDownloads(library),
            EvaluationJobs(library),
        )
        opened = self._open[index.id] = OpenIndex(library, *parts)
        if index.id != MAIN and not self._closes_idle:
            self._closes_idle = True
            threading.Thread(
                target=self._close_idle_regularly, name="close-idle-indexes", daemon=True
            ).start()
        return opened

    def _forget(self, id_: str) -> None:
        opened = self._open.pop(id_, None)
        if opened is not None:
            opened.close()

    def _close_idle_regularly(self) -> None:
        while True:
            time.sleep(POLL_SECONDS)
            try:
                self.close_idle()
            except RagError:
                logger.exception("an idle index could not be closed; this is tried again later")
