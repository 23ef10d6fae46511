"""Builds an index with other settings from the stored documents, while the current index is searched.

Each document is a transaction of its own, so after a kill or a stop the work goes on where it was. New files
go into the current index, and from there into the new one. The new one becomes current in a transaction that
checks that both have the same documents.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from lectern.jobs.chunking import passages_of
from lectern.jobs.embed_passages import PassageEmbedder, Step
from lectern.jobs.embedders import Embedders, place_of
from lectern.jobs.embedding_drafts import drop_drafts, drop_drafts_below
from lectern.jobs.files import Files
from lectern.jobs.index_versions import CHUNKING, CurrentStore, IndexSettings, IndexVersion
from lectern.jobs.lease import run_cancellable
from lectern.jobs.sandbox import Cancelled
from lectern.jobs.time_left import Costs
from lectern.settings import IngestSettings, KeptSettings, SplitterName
from ragcore.embeddings.base import Embedder
from ragcore.errors import ConfigError, DamagedTextError, RagError, StoreError, UnknownDocumentError
from ragcore.vector_stores.base import Store, StoredDocument

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RebuildPlan:
    """What a rebuild changes, and estimates of what it takes; `seconds` with one worker."""

    changes: tuple[str, ...]
    passages_now: int
    passages: int
    seconds: float


SPLITTERS: dict[SplitterName, str] = {"sentence": "sentences", "token": "even lengths", "section": "headings"}


def plan_rebuild(store: Store, costs: Costs, before: IndexSettings, after: IndexSettings) -> RebuildPlan:
    """ConfigError for sizes that cannot work."""
    size, overlap = after.chunk_size, after.chunk_overlap
    if not 0 <= overlap < size:
        raise ConfigError(
            f"Passages of {size} tokens cannot overlap by {overlap}.",
            hint="Choose an overlap smaller than the passages.",
        )
    changes = []
    if before.chunk_size != after.chunk_size:
        changes.append(f"passage length: {before.chunk_size} → {after.chunk_size} tokens")
    if before.chunk_overlap != after.chunk_overlap:
        changes.append(f"overlap: {before.chunk_overlap} → {after.chunk_overlap} tokens")
    if before.splitter != after.splitter:
        changes.append(f"cut at: {SPLITTERS[before.splitter]} → {SPLITTERS[after.splitter]}")
    if before.embed_model != after.embed_model:
        changes.append(
            f"embedding model: {before.embed_model or 'built-in'} → {after.embed_model or 'built-in'}"
        )
    documents = store.documents()
    characters = sum(document.characters for document in documents)
    ratio = (before.chunk_size - before.chunk_overlap) / (size - overlap)
    passages = sum(max(1, round(document.passages * ratio)) for document in documents if document.passages)
    return RebuildPlan(
        tuple(changes), len(store), passages, characters * _seconds_per_character(costs, after)
    )


def _seconds_per_character(costs: Costs, settings: IndexSettings) -> float:
    """For a character of a document. Characters in an overlap are embedded twice."""
    return settings.chunk_size / (settings.chunk_size - settings.chunk_overlap) * costs.of("embed")


class Rebuilds:
    """Plans and starts a rebuild. A worker does it, see `Rebuilder`."""

    def __init__(self, files: Files, store: CurrentStore, settings: KeptSettings) -> None:
        self._files = files
        self._store = store
        self._settings = settings

    def plan(
        self,
        *,
        chunk_size: int | None = None,
        chunk_overlap: int | None = None,
        embed_model: str | None = None,
        splitter: SplitterName | None = None,
    ) -> RebuildPlan:
        """What `start` would change and take. The defaults are the library's settings and the current
        embed_model.

        ConfigError for an overlap (tokens) that is not smaller than the passages.
        """
        after = self._complete(chunk_size, chunk_overlap, embed_model, splitter)
        return plan_rebuild(self._store, self._files.costs(), self.current_settings(), after)

    def start(
        self,
        *,
        chunk_size: int | None = None,
        chunk_overlap: int | None = None,
        embed_model: str | None = None,
        splitter: SplitterName | None = None,
    ) -> RebuildPlan:
        """Let the worker rebuild the index from the stored documents. The settings hold for new files too.

        The current index is searched until the new one is complete. See `IndexVersions.next_version`.
        `embed_model`: "" for the built-in one, "hashing", or the name or folder of a sentence-transformers
        model. ConfigError as for `plan`.
        """
        after = self._complete(chunk_size, chunk_overlap, embed_model, splitter)
        plan = plan_rebuild(self._store, self._files.costs(), self.current_settings(), after)
        settings = self._settings.read()
        ingest = settings.ingest.model_copy(update={name: getattr(after, name) for name in CHUNKING})
        self.record_settings(ingest)
        self._settings.write(settings.model_copy(update={"ingest": ingest}))
        self._store.versions.begin(after)
        return plan

    def current_settings(self) -> IndexSettings:
        """The settings of the current index."""
        return self._store.versions.settings() or self._complete()

    def record_settings(self, after: IngestSettings) -> None:
        """Record the settings of the current index, before those of the library become `after`."""
        before = self._settings.read().ingest
        if any(getattr(before, name) != getattr(after, name) for name in CHUNKING) and len(self._store):
            self._store.versions.remember(
                chunk_size=before.chunk_size, chunk_overlap=before.chunk_overlap, splitter=before.splitter
            )

    def _complete(
        self,
        chunk_size: int | None = None,
        chunk_overlap: int | None = None,
        embed_model: str | None = None,
        splitter: SplitterName | None = None,
    ) -> IndexSettings:
        ingest, model = self._settings.read().ingest, self._store.versions.current().embed_model
        return IndexSettings(
            ingest.chunk_size if chunk_size is None else chunk_size,
            ingest.chunk_overlap if chunk_overlap is None else chunk_overlap,
            ingest.splitter if splitter is None else splitter,
            model if embed_model is None else place_of(embed_model),
        )


class Rebuilder:
    """Builds the new index, in a worker."""

    def __init__(
        self, files: Files, store: CurrentStore, embedders: Embedders, worker: str, threads: Executor
    ) -> None:
        self.files = files
        self.store = store
        self._versions = store.versions
        self._embedders = embedders
        self.worker = worker
        self.threads = threads

    def run_once(self, interrupted: Callable[[], bool] = lambda: False) -> bool:
        """Go on building until the index is complete or, after a document, `interrupted` is true; False if
        there is nothing to do."""
        dropped = self._drop_old()
        version = self._versions.claim(self.worker)
        if version is None:
            return dropped
        try:
            if _Build(self, version, self._embedders.of(version.embed_model)).add_documents(interrupted):
                self._switch(version)
        except Cancelled:
            pass  # stopped, given up, or claimed by another worker; the documents so far stay in the index
        except DamagedTextError as error:
            file = self.files.get(error.document_id)
            if file is None or not file.active:  # else it is being read again, and the next run goes on
                self._versions.fail(version.name, self.worker, error)
        except RagError as error:
            if isinstance(error, StoreError) and error.retryable:
                raise  # the database is away, and comes back
            self._versions.fail(version.name, self.worker, error)
        finally:
            self._versions.release(version.name, self.worker)
        return True

    def _switch(self, version: IndexVersion) -> None:
        new = self.store.version(version.name)
        with self.files.claimed.long_transaction() as db:
            if missing_documents(self.store, new):
                return  # a file was added meanwhile; the next run adds it
            ids = {document.id_ for document in self.store.documents()}
            for document in new.documents():
                if document.id_ not in ids:
                    new.delete(document.id_)
            if not self._versions.switch(version.name, self.worker):
                raise Cancelled
            drop_drafts_below(db, version.name)  # of documents that were deleted meanwhile
            for document in new.documents():
                db.execute("UPDATE files SET passages = ? WHERE id = ?", (document.passages, document.id_))
        self.store.reclaim()

    def _drop_old(self) -> bool:
        names = self._versions.old()
        for name in names:
            with self.files.claimed.long_transaction() as db:
                self.store.version(name).drop()
                drop_drafts_below(db, name)
                self._versions.forget(name)
            self.store.forget(name)
        if names:
            self.store.reclaim()
        return bool(names)


def missing_documents(store: Store, new: Store) -> list[StoredDocument]:
    """The documents that the new index does not have in their current version."""
    hashes = {document.id_: document.hash for document in new.documents()}
    return [document for document in store.documents() if hashes.get(document.id_) != document.hash]


class _Build:
    """The work of one worker on one index, until it is interrupted."""

    def __init__(self, rebuilder: Rebuilder, version: IndexVersion, embedder: Embedder) -> None:
        self._files, self._store, self._threads = rebuilder.files, rebuilder.store, rebuilder.threads
        self._sign_version = partial(self._store.versions.sign, version.name, rebuilder.worker)
        self._new = self._store.version(version.name)
        self._name, self._settings = version.name, version.settings
        self._passages = PassageEmbedder(embedder)
        self._same_embedder = self._store.versions.current().embed_model == version.embed_model
        self._costs = self._files.costs()
        self._remaining = self._total = 0  # characters; those of the document in work are remaining,
        self._done = 0.0  # also the ones that are done

    def add_documents(self, interrupted: Callable[[], bool]) -> bool:
        """Whether all documents are in the index now."""
        todo = missing_documents(self._store, self._new)
        self._total = sum(document.characters for document in self._store.documents())
        self._remaining = sum(document.characters for document in todo)
        self._sign()
        for document in todo:
            with contextlib.suppress(UnknownDocumentError):  # deleted meanwhile
                self._add_document(document)
            self._remaining, self._done = self._remaining - document.characters, 0.0
            if interrupted():
                return False
        return True

    def _add_document(self, stored: StoredDocument) -> None:
        settings, owner, drafts = self._settings, f"{self._name}/{stored.id_}", self._files.drafts
        document = self._store.document(stored.id_)
        nodes = self._run(
            lambda: passages_of(document, settings.chunk_size, settings.chunk_overlap, settings.splitter)
        )
        known = self._run(lambda: drafts.vectors(owner))
        if self._same_embedder:
            known = self._run(lambda: self._passages.read_vectors(self._store, stored.id_)) | known
        length = 0

        def note(step: Step) -> None:
            nonlocal length
            length = length or max(step.characters_left, 1)
            if step.vectors:
                self._costs = self._costs.add("embed", step.seconds, step.characters)
            with self._files.transaction():
                if step.vectors and step.characters_left:  # the last ones go into the index at once
                    drafts.keep(owner, step.vectors)
                self._done = stored.characters * (1 - step.characters_left / length)
                self._sign()

        nodes = self._passages.embed(nodes, known, self._run, note)
        put_document = self._run(lambda: self._new.prepare_upsert(document, nodes))
        with self._files.claimed.long_transaction() as db:
            self._done = stored.characters
            self._sign()
            if self._store.document(stored.id_).hash != document.hash:
                return  # replaced meanwhile; the next run adds it
            put_document()
            drop_drafts(db, owner)

    def _run(self, work: Callable[[], T]) -> T:
        return run_cancellable(self._threads, work, lambda: not self._is_signed())

    def _sign(self) -> None:
        """Record progress. Cancelled if the index is no longer to be built."""
        if not self._is_signed():
            raise Cancelled

    def _is_signed(self) -> bool:
        characters = max(self._remaining - self._done, 0.0)
        fraction = 1 - characters / self._total if self._total else 1.0
        seconds = characters * _seconds_per_character(self._costs, self._settings)
        return self._sign_version(fraction=fraction, seconds_left=seconds)
