"""Makes an index anew with other settings, from the stored documents, while the current one answers.

Document by document: each is a transaction of its own, so a worker that is killed or stopped goes on where it was. Files that
come meanwhile go into the current index, and from there into the new one; the new one becomes current in a transaction that
sees that both hold the same documents.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TypeVar

from lectern.jobs.chunking import passages_of
from lectern.jobs.embed_passages import PassageEmbedder, Step
from lectern.jobs.embedders import Embedders
from lectern.jobs.embedding_drafts import drop_drafts, drop_drafts_below
from lectern.jobs.files import Files
from lectern.jobs.index_versions import CurrentStore, IndexVersion
from lectern.jobs.lease import run_while_wanted
from lectern.jobs.sandbox import Cancelled
from lectern.jobs.time_left import Costs
from lectern.settings import IngestSettings, KeptSettings, SplitterName
from ragcore.errors import ConfigError, RagError, StoreError, UnknownDocumentError
from ragcore.vector_stores.base import Store, StoredDocument

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RebuildPlan:
    """What making the index anew would change and take, before it is done. Estimates; `seconds` with one worker."""

    changes: tuple[str, ...]
    passages_now: int
    passages: int
    seconds: float


@dataclass(frozen=True, slots=True)
class MadeWith:
    """What an index is made with: sizes in tokens, see IngestSettings; `embed_model` "" is the built-in one."""

    chunk_size: int
    chunk_overlap: int
    splitter: SplitterName
    embed_model: str


SPLITTERS: dict[SplitterName, str] = {
    "sentence": "sentences",
    "token": "even lengths",
    "section": "headings",
}  # where each cuts


def planned(store: Store, costs: Costs, before: MadeWith, after: MadeWith) -> RebuildPlan:
    """What going from one to the other changes and takes. ConfigError for sizes that cannot work."""
    old_size, old_overlap, old_model = before.chunk_size, before.chunk_overlap, before.embed_model
    size, overlap, model = after.chunk_size, after.chunk_overlap, after.embed_model
    if not 0 <= overlap < size:
        raise ConfigError(
            f"Passages of {size} tokens cannot overlap by {overlap}.", hint="Choose an overlap smaller than the passages."
        )
    told = (("passage length", old_size, size), ("overlap", old_overlap, overlap))
    changes = [f"{name}: {was} → {now} tokens" for name, was, now in told if was != now]
    if before.splitter != after.splitter:
        changes.append(f"cut at: {SPLITTERS[before.splitter]} → {SPLITTERS[after.splitter]}")
    if old_model != model:
        changes.append(f"embedding model: {old_model or 'built-in'} → {model or 'built-in'}")
    documents = store.documents()
    characters = sum(document.characters for document in documents)
    ratio = (old_size - old_overlap) / (size - overlap)
    passages = sum(max(1, round(document.passages * ratio)) for document in documents if document.passages)
    seconds = characters * _each(costs, size, overlap)
    return RebuildPlan(tuple(changes), len(store), passages, seconds)


def _each(costs: Costs, size: int, overlap: int) -> float:
    """Seconds for a character of a document: some are in more than one passage."""
    return size / (size - overlap) * costs.of("embed")


class Rebuilds:
    """What a person has done to the index: making it anew is planned and begun here; a worker does it, see `Rebuilder`."""

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
        """What `start` would change and take. What is not given is as in the settings, the embed_model as it is now.

        ConfigError for an overlap (tokens) that is not smaller than the passages.
        """
        return self._plan(self._complete(chunk_size, chunk_overlap, embed_model, splitter))

    def start(
        self,
        *,
        chunk_size: int | None = None,
        chunk_overlap: int | None = None,
        embed_model: str | None = None,
        splitter: SplitterName | None = None,
    ) -> RebuildPlan:
        """Have the worker make the index anew from the stored documents, with other settings, which new files get too.

        The current index answers until the new one is whole. See `IndexVersions.coming`. An `embed_model` is "" for the
        built-in one, "hashing", or the name or folder of a sentence-transformers model. ConfigError as for `plan`.
        """
        after = self._complete(chunk_size, chunk_overlap, embed_model, splitter)
        plan, settings = self._plan(after), self._settings.read()
        size, overlap, cut = after.chunk_size, after.chunk_overlap, after.splitter
        ingest = settings.ingest.model_copy(update={"chunk_size": size, "chunk_overlap": overlap, "splitter": cut})
        self.remember_sizes(ingest)
        self._settings.write(settings.model_copy(update={"ingest": ingest}))
        self._store.versions.begin(embed_model=after.embed_model, chunk_size=size, chunk_overlap=overlap, splitter=cut)
        return plan

    def made_with(self) -> MadeWith:
        """The current index."""
        versions, ingest = self._store.versions, self._settings.read().ingest
        sizes = versions.sizes()
        if sizes is None:
            return MadeWith(ingest.chunk_size, ingest.chunk_overlap, ingest.splitter, versions.current().embed_model)
        return MadeWith(*sizes, versions.splitter(), versions.current().embed_model)

    def remember_sizes(self, after: IngestSettings) -> None:
        """Note what the current index was made with, before the settings become `after`."""
        before = self._settings.read().ingest
        was = (before.chunk_size, before.chunk_overlap, before.splitter)
        if was != (after.chunk_size, after.chunk_overlap, after.splitter) and len(self._store):
            self._store.versions.remember(chunk_size=was[0], chunk_overlap=was[1], splitter=was[2])

    def _plan(self, after: MadeWith) -> RebuildPlan:
        return planned(self._store, self._files.costs(), self.made_with(), after)

    def _complete(
        self, chunk_size: int | None, chunk_overlap: int | None, embed_model: str | None, splitter: SplitterName | None
    ) -> MadeWith:
        ingest, model = self._settings.read().ingest, self._store.versions.current().embed_model
        return MadeWith(
            ingest.chunk_size if chunk_size is None else chunk_size,
            ingest.chunk_overlap if chunk_overlap is None else chunk_overlap,
            ingest.splitter if splitter is None else splitter,
            model if embed_model is None else embed_model,
        )


class Rebuilder:
    """Works on the index that is to be made, in a worker."""

    def __init__(self, files: Files, store: CurrentStore, embedders: Embedders, worker: str, threads: Executor) -> None:
        self._files = files
        self._store = store
        self._versions = store.versions
        self._embedders = embedders
        self._worker = worker
        self._threads = threads

    def run_once(self, interrupted: Callable[[], bool] = lambda: False) -> bool:
        """Go on with the index that is to be made until it is done, or after the document at which `interrupted`, such as by
        a file that waits; False when there is nothing to do."""
        dropped = self._drop_old()
        version = self._versions.claim(self._worker)
        if version is None:
            return dropped
        try:
            making = _Making(self._files, self._store, self._embedders, version, self._worker, self._threads)
            if making.documents(interrupted):
                self._switch(version)
        except Cancelled:
            pass  # stopped, given up, or taken over; what is made stays
        except RagError as error:
            if isinstance(error, StoreError) and error.retryable:
                raise  # the database is away, and comes back
            self._versions.fail(version.name, self._worker, error)
        finally:
            self._versions.release(version.name, self._worker)
        return True

    def _switch(self, version: IndexVersion) -> None:
        new = self._store.index(version.name)
        with self._files.claimed.long_transaction() as db:
            if missing(self._store, new):
                return  # a file came in the meantime: the next time
            there = {document.id_ for document in self._store.documents()}
            for document in new.documents():
                if document.id_ not in there:
                    new.delete(document.id_)
            if not self._versions.switch(version.name, self._worker):
                raise Cancelled
            drop_drafts_below(db, version.name)  # of documents that were deleted meanwhile
            for document in new.documents():
                db.execute("UPDATE files SET passages = ? WHERE id = ?", (document.passages, document.id_))
        self._store.reclaim()

    def _drop_old(self) -> bool:
        names = self._versions.old()
        for name in names:
            with self._files.claimed.long_transaction() as db:
                self._store.index(name).drop()
                drop_drafts_below(db, name)
                self._versions.forget(name)
            self._store.forget(name)
        if names:
            self._store.reclaim()
        return bool(names)


def missing(store: Store, new: Store) -> list[StoredDocument]:
    """The documents that the new index does not have, or not as they are now."""
    there = {document.id_: document.hash for document in new.documents()}
    return [document for document in store.documents() if there.get(document.id_) != document.hash]


class _Making:
    """Of one index, by one worker, for as long as nothing interrupts it."""

    def __init__(
        self,
        files: Files,
        store: CurrentStore,
        embedders: Embedders,
        version: IndexVersion,
        worker: str,
        threads: Executor,
    ) -> None:
        self._files = files
        self._store = store
        self._new = store.index(version.name)
        self._version = version
        self._worker = worker
        self._threads = threads
        self._passages = PassageEmbedder(embedders.of(version.embed_model))
        self._same_embedder = store.versions.current().embed_model == version.embed_model
        self._costs = files.costs()
        self._left = self._total = 0  # characters, also those of the document at hand,
        self._here = 0.0  # of which these are done

    def documents(self, interrupted: Callable[[], bool]) -> bool:
        """Whether all are in it."""
        todo = missing(self._store, self._new)
        self._total = sum(document.characters for document in self._store.documents())
        self._left = sum(document.characters for document in todo)
        self._sign()
        for document in todo:
            with contextlib.suppress(UnknownDocumentError):  # deleted meanwhile
                self._document(document)
            self._left, self._here = self._left - document.characters, 0.0
            if interrupted():
                return False
        return True

    def _document(self, stored: StoredDocument) -> None:
        version, owner, drafts = self._version, f"{self._version.name}/{stored.id_}", self._files.drafts
        document = self._store.document(stored.id_)
        nodes = self._awaited(lambda: passages_of(document, version.chunk_size, version.chunk_overlap, version.splitter))
        known = self._awaited(lambda: drafts.vectors(owner))
        if self._same_embedder:
            known = self._awaited(lambda: self._passages.stored(self._store, stored.id_)) | known
        length = 0

        def note(step: Step) -> None:
            nonlocal length
            length = length or max(step.characters_left, 1)
            if step.made:
                self._costs = self._costs.add("embed", step.seconds, step.characters)
            with self._files.transaction():
                if step.made and step.characters_left:  # the last ones go into the index at once
                    drafts.keep(owner, step.made)
                self._here = stored.characters * (1 - step.characters_left / length)
                self._sign()

        nodes = self._passages.embed(nodes, known, self._awaited, note)
        put = self._awaited(lambda: self._new.prepared(document, nodes))
        with self._files.claimed.long_transaction() as db:
            self._here = stored.characters
            self._sign()
            if self._store.document(stored.id_).hash != document.hash:
                return  # replaced meanwhile: the next time
            put()
            drop_drafts(db, owner)

    def _awaited(self, work: Callable[[], T]) -> T:
        return run_while_wanted(self._threads, work, self._unwanted)

    def _unwanted(self) -> bool:
        try:
            self._sign()
        except Cancelled:
            return True
        return False

    def _sign(self) -> None:
        """Write down how far it is. Cancelled when the work is not wanted any more."""
        left = max(self._left - self._here, 0.0)
        fraction = 1 - left / self._total if self._total else 1.0
        version = self._version
        seconds = left * _each(self._costs, version.chunk_size, version.chunk_overlap)
        if not self._store.versions.sign(version.name, self._worker, fraction=fraction, left=seconds):
            raise Cancelled
