"""Turns queued files into passages: read in isolation, split, embed, store. Runs in a process of its own, so
that the application stays quick and a file that breaks a parser breaks nothing else.

    python -m lectern.jobs.worker FOLDER

works on the library in that folder, or on the server that LECTERN_DATABASE names, with the folder for local
files. It ends when its standard input closes, which happens when the application ends for any reason.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from lectern.jobs.changes import Changes
from lectern.jobs.chunking import passages_of
from lectern.jobs.embed_passages import PassageEmbedder, Step
from lectern.jobs.embedders import Embedders
from lectern.jobs.embedding_drafts import drop_drafts
from lectern.jobs.file_queue import process_name
from lectern.jobs.file_rows import FILE_LANES, FileRow, Lane, Stage
from lectern.jobs.files import Files, Outcome
from lectern.jobs.index_versions import CurrentStore, CurrentVersion, Healable, IndexStore
from lectern.jobs.lease import MAX_THREADS, Lease, record_end
from lectern.jobs.link_fetcher import Fetcher
from lectern.jobs.open_library import open_parts
from lectern.jobs.rebuild import Rebuilder
from lectern.jobs.sandbox import Cancelled, read_isolated, start_reader, unpack_isolated
from lectern.jobs.time_left import FILE_SECONDS, kind_of, read_costs, remember
from lectern.open_files import raise_open_files
from lectern.settings import DATABASE, IngestSettings
from ragcore.embeddings.base import Embedder
from ragcore.errors import (
    AlreadyThereError,
    DamagedTextError,
    InputError,
    NoTextError,
    PassedOverError,
    Problem,
    RagError,
    StoreError,
    UnknownDocumentError,
)
from ragcore.readers.base import ReadOptions
from ragcore.readers.file_listing import replaced_error
from ragcore.readers.ocr.page_words import PageWords
from ragcore.readers.zip.archive import Unpacked
from ragcore.schema import Document, TextNode, new_id
from ragcore.sql.base import Database
from ragcore.sql.sqlite import NoRoomError

if TYPE_CHECKING:
    from ragcore.schema import Vector

logger = logging.getLogger(__name__)

T = TypeVar("T")

FETCHERS = 3  # links at a time
TOGETHER_CHARS = 24_000  # Files with up to so much text are embedded together.
HEAL_SECONDS = 600.0  # between two checks for damaged vectors
RETRY_SECONDS = 0.5  # First pause before an unreachable database is tried again. Each pause is twice as long.
MAX_RETRY_SECONDS = 15.0  # longest pause
MANY_PASSAGES = 32  # A deletion of more may free much space in the database.


@dataclass(frozen=True, slots=True)
class ReadFile:
    """A file that was read, on its way into the index. `left_out` and `words` (by page): see
    `ReadOptions`."""

    file: FileRow
    document: Document
    nodes: list[TextNode]
    left_out: list[RagError]
    words: dict[int, PageWords]
    seconds: float  # that reading took

    @property
    def paces(self) -> list[tuple[str, float, float]]:
        """Arguments for `remember`: what reading this file cost."""
        kind, size = kind_of(self.file.name), self.file.size
        return [
            (f"read.{kind}", self.seconds - FILE_SECONDS, size),
            (f"text.{kind}", float(len(self.document.text)), size),
        ]


class Worker:
    """Works through the queue of a library, or through some lanes of it. `embedder` is the built-in one,
    loaded when first needed."""

    def __init__(
        self,
        files: Files,
        store: CurrentStore,
        embedder: Embedder,
        settings: Callable[[], IngestSettings],
        lanes: Sequence[Lane] = FILE_LANES,
    ) -> None:
        self._files = files
        self._store = store
        self._embedders = Embedders(embedder)
        self._passages: dict[str, PassageEmbedder] = {}
        self._unchecked: list[str] | None = None
        self._settings = settings
        self._lanes = lanes
        self._name = f"{process_name(os.getpid())}-{new_id()[:8]}"
        self._threads = ThreadPoolExecutor(MAX_THREADS, thread_name_prefix="file")

    def run_once(self) -> bool:
        """Process one queued file, or several small ones together; False if none is queued."""
        files = self._files.queue.claim_together(self._name, self._lanes)
        if files:
            self._ingest(Lease(self._files, files, self._name, self._threads, self._has_waiting))
        return bool(files)

    def _has_waiting(self) -> bool:
        """Whether a file waits for this worker."""
        return self._files.queue.has_waiting(self._lanes)

    def warm(self) -> None:
        """Load the embedder of the current index. RagError."""
        self._embedders.of(self._store.versions.current().embed_model).embed_query("ready")

    def rebuild_once(self) -> bool:
        """Continue a rebuild of the index until a file waits for this worker; False if there is none."""
        rebuilder = Rebuilder(self._files, self._store, self._embedders, self._name, self._threads)
        return rebuilder.run_once(self._has_waiting)

    def find_damaged(self) -> list[str]:
        """The documents with damaged vectors. From now on only a search by words finds them."""
        index = self._store.current
        return index.verify() if isinstance(index, Healable) else []

    def check_texts(self) -> None:
        """Compare every stored text once with its checksums, until a file is queued. `CurrentStore` has
        damaged ones read again."""
        if self._unchecked is None:
            self._unchecked = [stored.id_ for stored in self._store.documents()]
        while self._unchecked and not self._files.queue.has_waiting():
            document_id = self._unchecked.pop()
            with contextlib.suppress(DamagedTextError, UnknownDocumentError):  # or deleted meanwhile
                self._store.document(document_id)
                for _ in self._store.passages(document_id):
                    pass

    def heal(self) -> int:
        """Embed damaged documents again until a file waits for this worker; returns how many. An interrupted
        one leaves drafts."""
        name, embed_model = self._store.versions.current()
        index, passages, healed = self._store.version(name), self._passage_embedder(embed_model), 0
        with contextlib.suppress(Cancelled):
            for document_id in self.find_damaged():
                with contextlib.suppress(UnknownDocumentError):  # deleted meanwhile
                    self._heal(index, document_id, passages)
                    healed += 1
        if healed:
            logger.warning("the vectors of %d documents were damaged and are being recomputed", healed)
        return healed

    def _heal(self, index: IndexStore, document_id: str, passages: PassageEmbedder) -> None:
        import numpy as np

        drafts = self._files.drafts

        def note(step: Step) -> None:
            with self._files.transaction():
                index.document(document_id)
                drafts.keep(document_id, step.vectors)
            if step.characters_left and self._has_waiting():
                raise Cancelled

        nodes = passages.embed(
            list(index.passages(document_id)), drafts.vectors(document_id), lambda work: work(), note
        )
        with self._files.transaction() as db:
            if isinstance(index, Healable):
                index.replace_vectors(
                    document_id, np.stack([node.embedding for node in nodes if node.embedding is not None])
                )
            drop_drafts(db, document_id)

    def _ingest(self, lease: Lease) -> None:
        """Read the files one by one, but embed and store them together, which is faster for many small
        files."""
        reads: list[ReadFile] = []
        for file in lease.rows:
            with record_end(self._files, file, self._name):
                lease.begin(file)
                if file.kind == "ZIP":
                    self._unpack(file, lease)
                else:
                    reads.append(self._split(self._read(file, lease), lease))
            if sum(len(read.document.text) for read in reads) > TOGETHER_CHARS:
                self._store_reads(reads, lease)
                reads = []
        self._store_reads(reads, lease)

    def _store_reads(self, reads: list[ReadFile], lease: Lease) -> None:
        """Embed and store files together. If that fails, store each alone, because only one of them is at
        fault."""
        if len(reads) > 1:
            try:
                self._embed_and_store(reads, lease)
            except Exception as error:  # of any kind: it is raised again, and recorded, for the file at fault
                if isinstance(error, StoreError) and error.retryable:
                    raise
            else:
                return
        for read in reads:
            with record_end(self._files, read.file, self._name):
                self._embed_and_store([read], lease)

    def _embed_and_store(self, reads: list[ReadFile], lease: Lease) -> None:
        """The passages, rows and drafts of all files change in one transaction, and only in the current
        index. Files that were stopped or deleted are not stored."""
        current = self._choose_version(reads[0].document.text)
        reads = self._embed(reads, lease, current.embed_model)
        lease.report(Stage.STORING, 0, 1)
        index = self._store.version(current.name)
        put_documents = lease.run(lambda: [index.prepare_upsert(read.document, read.nodes) for read in reads])
        with self._files.claimed.long_transaction():
            is_current = self._store.versions.current() == current
            for put_document, read in zip(put_documents, reads, strict=True):
                # stopped, deleted or another worker's
                if not self._files.claimed.sign(read.file.id, self._name):
                    self._files.claimed.halt(read.file.id, self._name)
                elif is_current:
                    put_document()
                    self._finish(read)
                else:
                    self._files.queue.restart(read.file.id)
        if any(len(read.nodes) > MANY_PASSAGES for read in reads):
            self._store.reclaim()

    def _finish(self, read: ReadFile) -> None:
        self._files.claimed.finish(
            read.file.id,
            self._name,
            passages=len(read.nodes),
            pages=len(read.document.pages),
            page_word=read.document.page_word,
            left_out=[Problem.of(error) for error in read.left_out],
            paces=read.paces,
        )
        self._files.page_words.replace(read.file.id, read.words)

    def _choose_version(self, text: str) -> CurrentVersion:
        """The current version. The language of a library's first document decides the embedding model."""
        if not len(self._store) and (embed_model := self._embedders.for_text(text)):
            self._store.choose(embed_model)
        return self._store.versions.current()

    def _read(self, file: FileRow, lease: Lease) -> ReadFile:
        """Read the file; it has no passages yet."""
        began, settings = time.monotonic(), self._settings()
        left_out: list[RagError] = []
        words: dict[int, PageWords] = {}
        document = read_isolated(
            lease.run(lambda: self._files.location(file)),
            ReadOptions(
                name=file.name,
                password=self._files.password(file.id),
                progress=lease.report_reading,
                on_loss=left_out.append,
                on_words=words.__setitem__,
                max_text_chars=settings.max_text_mb * 1_000_000,
            ),
            timeout=settings.read_timeout,
            memory_mb=settings.read_memory_mb,
            cancelled=lease.is_lost,
            scratch=self._files.storage.scratch(),
        )
        metadata = {**document.metadata, "file_name": file.name, "file_id": file.id, "path": file.path}
        if file.origin:
            metadata["url"] = file.origin
        document = replace(
            document,
            id_=file.id,
            metadata=metadata,
            excluded_embed_metadata_keys=list(metadata),
            excluded_llm_metadata_keys=list(metadata),
        )
        return ReadFile(file, document, [], left_out, words, time.monotonic() - began)

    def _split(self, read: ReadFile, lease: Lease) -> ReadFile:
        """Add the passages. NoTextError if there are none."""
        lease.estimate_embedding(len(read.document.text))
        lease.report(Stage.SPLITTING, 0, 1)
        settings = self._settings()
        nodes = lease.run(
            lambda: passages_of(read.document, settings.chunk_size, settings.chunk_overlap, settings.splitter)
        )
        if not nodes:
            name = read.file.name
            raise NoTextError(
                f"{name} contains no text.", hint="If it is a scan, have its text recognised first (OCR)."
            )
        return replace(read, nodes=nodes)

    def _embed(self, reads: list[ReadFile], lease: Lease, embed_model: str) -> list[ReadFile]:
        """Add the vectors. Those of an earlier attempt, or of the same passages in the index, are not
        computed again. The vectors of a large file are stored as drafts meanwhile."""
        nodes, drafts = [node for read in reads for node in read.nodes], self._files.drafts
        passages = self._passage_embedder(embed_model)

        def note(step: Step) -> None:
            with self._files.transaction() as db:
                # at once, for the estimates of queued files
                remember(db, "embed", step.seconds, step.characters)
                lease.estimate_embedding(step.characters_left, read_costs(db))
                # the last ones go into the store at once
                if step.vectors and step.characters_left and len(reads) == 1:
                    drafts.keep(reads[0].file.id, step.vectors)
                lease.report(Stage.EMBEDDING, step.done, len(nodes))

        def read_known() -> dict[str, Vector]:
            known: dict[str, Vector] = {}
            with self._files.database.snapshot():
                for read in reads:
                    known |= passages.read_vectors(self._store, read.file.id) | drafts.vectors(read.file.id)
            return known

        embedded = iter(passages.embed(nodes, lease.run(read_known), lease.run, note))
        return [replace(read, nodes=list(islice(embedded, len(read.nodes)))) for read in reads]

    def _passage_embedder(self, embed_model: str) -> PassageEmbedder:
        return self._passages.setdefault(embed_model, PassageEmbedder(self._embedders.of(embed_model)))

    def _unpack(self, file: FileRow, lease: Lease) -> None:
        """Replace a zip by the files in it, each with a row of its own."""
        settings = self._settings()
        path = lease.run(lambda: self._files.location(file))
        for old in path.parent.glob("unpacked-*"):  # of workers that were killed
            shutil.rmtree(old, ignore_errors=True)
        # A worker that has lost the zip cannot delete this folder.
        into = path.parent / f"unpacked-{new_id()[:8]}"
        try:
            members = unpack_isolated(
                path,
                into,
                ReadOptions(
                    name=file.name, password=self._files.password(file.id), progress=lease.report_reading
                ),
                timeout=settings.read_timeout,
                memory_mb=settings.read_memory_mb,
                cancelled=lease.is_lost,
                scratch=self._files.storage.scratch(),
            )
            outcomes = []
            for done, member in enumerate(members):
                lease.report(Stage.STORING, done, len(members))
                outcomes.append(self._add_member(file, lease, member, settings))
        finally:
            shutil.rmtree(into, ignore_errors=True)
        # in one transaction with the notes about it
        with self._files.remove_with(file.id, worker=lease.worker) as removed:
            if not removed:
                raise Cancelled  # stopped, deleted or replaced at the last moment
            notes = [member.error for member in members if isinstance(member.error, PassedOverError)]
            if earlier := [
                member.name
                for member, outcome in zip(members, outcomes, strict=True)
                if outcome == "replaced"
            ]:
                notes.append(replaced_error(file.name, earlier))
            if notes:
                self._files.refuse(
                    file.name, 0, PassedOverError(" ".join(note.what for note in notes), hint=notes[0].hint)
                )
            if not any(outcome in ("added", "replaced") for outcome in outcomes):
                nothing_new = f"Everything in {file.name} is already in your library."
                self._files.refuse(
                    file.name, 0, AlreadyThereError(nothing_new, hint="There is nothing more to do.")
                )

    def _add_member(
        self, file: FileRow, lease: Lease, member: Unpacked, settings: IngestSettings
    ) -> Outcome | None:
        """Add a file of a zip. None if the file was passed over."""
        try:
            if member.error is not None:
                raise member.error
            origin = (
                f"{file.origin or file.name}!/{member.name}"  # another archive may have a file of that name
            )
            added = lease.run(lambda: self._files.add(member.path, member.name, settings, origin=origin))
        except InputError as error:
            if isinstance(error, PassedOverError):
                return None
            self._files.refuse(member.name, 0, error)
            return "added"
        # A duplicate that is newer than the archive was added by an earlier attempt to unpack it.
        return "added" if added.outcome == "duplicate" and added.file.added >= file.added else added.outcome


def tidy(files: Files, store: CurrentStore) -> None:
    """Delete the remains of a crash: bytes without a file, passages of deleted files, and vectors without an
    index."""
    files.sweep()
    for stored in store.documents():
        # deleted by another process meanwhile, or damaged
        with contextlib.suppress(UnknownDocumentError, DamagedTextError):
            if (
                files.get(stored.id_) is None
                and store.document(stored.id_).metadata.get("file_id") == stored.id_
            ):
                store.delete(stored.id_)
    store.reclaim()


def main() -> None:
    from ragcore.embeddings.huggingface import HuggingFaceEmbedding

    threading.Thread(target=_end_with_parent, daemon=True).start()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    raise_open_files()
    if hasattr(os, "nice"):
        os.nice(10)
    folder = Path(sys.argv[1]).absolute()
    # removed, because processes that read files must not inherit a password
    where = os.environ.pop(DATABASE, folder)
    parts = open_parts(where, folder)
    embedder = HuggingFaceEmbedding()
    workers = {
        lane: Worker(parts.files, parts.store, embedder, lambda: parts.settings.read().ingest, [lane])
        for lane in FILE_LANES
    }
    worker = workers.pop(Lane.LARGE)
    start_reader(parts.files.storage.scratch())
    threading.Thread(target=worker.warm, daemon=True).start()
    retry_while_away(parts.files.queue.release_ended)
    retry_while_away(lambda: tidy(parts.files, parts.store))
    fetchers = (Fetcher(parts.files, lambda: parts.settings.read().ingest) for _ in range(FETCHERS))
    others = [other.run_once for other in workers.values()]
    for run_once in (*others, *(fetcher.run_once for fetcher in fetchers)):
        threading.Thread(target=run_forever, args=(run_once, parts.database), daemon=True).start()
    retry_while_away(worker.find_damaged)
    changes, healed = Changes(parts.database), -HEAL_SECONDS
    while True:
        if retry_while_away(worker.run_once) or retry_while_away(worker.rebuild_once):
            continue
        if time.monotonic() - healed > HEAL_SECONDS:
            healed = time.monotonic()
            try:
                retry_while_away(worker.heal)
            except RagError as error:  # files must still be read; the next check tries again
                logger.warning("damaged vectors could not be recomputed: %s", error.what)
        retry_while_away(worker.check_texts)
        parts.store.close()  # An open file that another process deletes would still use disk space.
        retry_while_away(changes.wait)


def run_forever(run_once: Callable[[], bool], database: Database) -> None:
    """Call `run_once` until the process ends. When it has nothing to do, wait for a change of the
    database."""
    changes = Changes(database)
    while True:
        try:
            if not retry_while_away(run_once):
                retry_while_away(changes.wait)
        except StoreError as error:  # until a person repairs the database
            logger.warning("Nothing can be read: %s", error.what)
            time.sleep(MAX_RETRY_SECONDS)


def retry_while_away(work: Callable[[], T]) -> T:
    """The result of `work`, called again while the database cannot be reached or the disk is full."""
    pause = RETRY_SECONDS
    while True:
        try:
            return work()
        except StoreError as error:
            if not (error.retryable or isinstance(error, NoRoomError)):
                raise
            logger.warning("%s Trying again.", error.what)
            time.sleep(pause)
            pause = min(2 * pause, MAX_RETRY_SECONDS)


def _end_with_parent() -> None:
    sys.stdin.read()
    # Safe at any moment: unfinished work is claimed again, and the processes that read files end too.
    os._exit(0)


if __name__ == "__main__":
    main()
