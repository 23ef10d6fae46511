"""Turns queued files into passages: read in isolation, split, embed, store. Runs in a process of its own, so that the
application stays quick and a file that breaks a parser breaks nothing else.

    python -m lectern.jobs.worker FOLDER

works on the library in that folder, or on the server that LECTERN_DATABASE names, with the folder for what stays here.
It ends when its standard input closes, which happens when the application ends, however it ends.
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
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from lectern.jobs.chunking import passages_of
from lectern.jobs.embed_passages import PassageEmbedder, Step
from lectern.jobs.embedders import Embedders
from lectern.jobs.embedding_drafts import drop_drafts
from lectern.jobs.file_queue import process_name
from lectern.jobs.file_rows import FileRow, Stage
from lectern.jobs.files import Files
from lectern.jobs.index_versions import CurrentStore, Healable, IndexStore
from lectern.jobs.lease import Lease, failure_of_ours
from lectern.jobs.link_fetcher import Fetcher
from lectern.jobs.open_library import open_parts
from lectern.jobs.rebuild import Rebuilder
from lectern.jobs.sandbox import Cancelled, read_isolated, start_reader, unpack_isolated
from lectern.jobs.time_left import FILE_SECONDS, kind_of, read_costs, remember
from lectern.settings import DATABASE, IngestSettings
from ragcore.embeddings.base import Embedder
from ragcore.errors import AlreadyThereError, InputError, NoTextError, Problem, RagError, StoreError, UnknownDocumentError
from ragcore.readers.base import ReadOptions
from ragcore.readers.zip.archive import Unpacked
from ragcore.schema import Document, TextNode, new_id
from ragcore.sql.sqlite import NoRoomError

logger = logging.getLogger(__name__)

T = TypeVar("T")

IDLE_SECONDS = 0.2  # between two looks at an empty queue
FETCHERS = 3  # links at a time
FETCH_SECONDS = 0.4  # between two looks for a link
HEAL_SECONDS = 600.0  # between two looks at whether the vectors are what was written
AWAY_SECONDS = 0.5  # before a database server that is away is asked again; twice as long each time
LONGEST_AWAY = 15.0
MANY = 32  # passages, whose drafts and version before may have left much room in the database


class Worker:
    """Works through the queue of one library. `embedder` is the built-in one, loaded when the first passage needs it."""

    def __init__(
        self,
        files: Files,
        store: CurrentStore,
        embedder: Embedder,
        settings: Callable[[], IngestSettings],
    ) -> None:
        self._files = files
        self._store = store
        self._embedders = Embedders(embedder)
        self._passages: dict[str, PassageEmbedder] = {}
        self._settings = settings
        self._name = f"{process_name(os.getpid())}-{new_id()[:8]}"
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="embed")

    def run_once(self) -> bool:
        """Take one file from the queue to its end; False when none waits."""
        file = self._files.queue.claim(self._name)
        if file is None:
            return False
        self._work_on(file)
        return True

    def _work_on(self, file: FileRow) -> None:
        lease = Lease(self._files, file, self._name, self._threads)
        try:
            if file.kind == "ZIP":
                self._unpack(lease)
            else:
                self._ingest(lease)
        except Cancelled:
            self._files.claimed.halt(file.id, self._name)
        except RagError as error:
            if isinstance(error, StoreError) and error.retryable:
                raise  # the database is away, and the file is not at fault
            logger.info("%s failed: %s", file.id, type(error).__name__)
            self._files.claimed.fail(file.id, self._name, error)
        except Exception as error:  # one file must not stop the queue
            # Where signing fails, the file was deleted or stopped meanwhile.
            if not self._files.claimed.sign(file.id, self._name):
                self._files.claimed.halt(file.id, self._name)
                return
            # The row keeps what happened, and the log the trace of our bug.
            logger.exception("%s failed", file.id)
            self._files.claimed.fail(file.id, self._name, failure_of_ours(file.name, error))

    def warm(self) -> None:
        """Load the embedder of the current index. RagError where it cannot be."""
        self._embedders.of(self._store.versions.current().embed_model).embed_query("ready")

    def rebuild_once(self) -> bool:
        """Go on with an index that is being made anew, until a file waits; False when there is none."""
        rebuilder = Rebuilder(self._files, self._store, self._embedders, self._name, self._threads)
        return rebuilder.run_once(self._files.queue.waiting)

    def damaged(self) -> list[str]:
        """The documents whose vectors are not what was written. From then on search by words alone finds them."""
        index = self._store.current
        return index.verify() if isinstance(index, Healable) else []

    def heal(self) -> int:
        """Embed damaged documents anew, until a file waits; gives how many. Of one that is broken off, drafts are kept."""
        name, embed_model = self._store.versions.current()
        index, passages, healed = self._store.index(name), self._passages_by(embed_model), 0
        with contextlib.suppress(Cancelled):
            for document_id in self.damaged():
                with contextlib.suppress(UnknownDocumentError):  # deleted meanwhile
                    self._heal(index, document_id, passages)
                    healed += 1
        if healed:
            logger.warning("the vectors of %d documents were damaged and are made anew", healed)
        return healed

    def _heal(self, index: IndexStore, document_id: str, passages: PassageEmbedder) -> None:
        import numpy as np

        drafts = self._files.drafts

        def note(step: Step) -> None:
            with self._files.transaction():
                index.document(document_id)
                drafts.keep(document_id, step.made)
            if step.characters_left and self._files.queue.waiting():
                raise Cancelled

        nodes = passages.embed(list(index.passages(document_id)), drafts.vectors(document_id), lambda work: work(), note)
        with self._files.transaction() as db:
            if isinstance(index, Healable):
                index.replace_vectors(document_id, np.stack([node.embedding for node in nodes if node.embedding is not None]))
            drop_drafts(db, document_id)

    def _ingest(self, lease: Lease) -> None:
        file, settings = lease.file, self._settings()
        began = time.monotonic()
        left_out: list[RagError] = []
        document = self._read(lease, settings, left_out.append)
        reading = time.monotonic() - began
        characters = len(document.text)
        lease.estimate.embedding(characters, self._files.costs().of("embed"))
        lease.tell(Stage.SPLITTING, 0, 1)
        nodes = lease.during(lambda: passages_of(document, settings.chunk_size, settings.chunk_overlap, settings.splitter))
        if not nodes:
            raise NoTextError(f"{file.name} holds no text.", hint="If it is a scan, have its text recognised first (OCR).")
        current = self._current(document.text)
        nodes = self._embed(lease, nodes, current[1])
        lease.tell(Stage.STORING, 0, 1)
        kind = kind_of(file.name)
        paces = [(f"read.{kind}", reading - FILE_SECONDS, file.size), (f"text.{kind}", float(characters), file.size)]
        self._store_and_finish(lease, document, nodes, current, left_out, paces)

    def _current(self, text: str) -> tuple[str, str]:
        """The index that a document goes into, and its embed_model, which the first document decides."""
        if not len(self._store) and (embed_model := self._embedders.for_text(text)):
            self._store.choose(embed_model)
        return self._store.versions.current()

    def _store_and_finish(
        self,
        lease: Lease,
        document: Document,
        nodes: list[TextNode],
        current: tuple[str, str],
        left_out: list[RagError],
        paces: Sequence[tuple[str, float, float]],
    ) -> None:
        """The passages, the row and the drafts change together or not at all, and only in the index that is the current one."""
        put = lease.during(lambda: self._store.index(current[0]).prepared(document, nodes))
        with self._files.claimed.long_transaction():
            if self._store.versions.current() != current:  # another index took its place while this was embedded
                self._files.queue.restart(lease.file.id)
                return
            put()
            if not self._files.claimed.finish(
                lease.file.id,
                lease.worker,
                passages=len(nodes),
                pages=len(document.pages),
                page_word=document.page_word,
                problem=Problem.of(left_out[0]) if left_out else None,
                paces=paces,
            ):
                raise Cancelled  # stopped, deleted or taken over meanwhile; nothing of it is stored
        if len(nodes) > MANY:
            self._store.reclaim()

    def _read(self, lease: Lease, settings: IngestSettings, left_out: Callable[[RagError], None]) -> Document:
        file = lease.file
        lease.tell(Stage.READING, 0, 0)
        document = read_isolated(
            lease.during(lambda: self._files.location(file)),
            ReadOptions(
                name=file.name,
                password=self._files.password(file.id),
                progress=lease.reading,
                left_out=left_out,
                max_text_chars=settings.max_text_mb * 1_000_000,
            ),
            timeout=settings.read_timeout,
            memory_mb=settings.read_memory_mb,
            cancelled=lease.unwanted,
        )
        metadata = {**document.metadata, "file_name": file.name, "file_id": file.id, "path": file.path}
        if file.origin:
            metadata["url"] = file.origin
        hidden = tuple(metadata)
        return replace(
            document,
            id_=file.id,
            metadata=metadata,
            excluded_embed_metadata_keys=hidden,
            excluded_llm_metadata_keys=hidden,
        )

    def _embed(self, lease: Lease, nodes: list[TextNode], embed_model: str) -> list[TextNode]:
        """With their vectors: those of an earlier attempt and of the version before, and the others from the embedder."""
        file_id = lease.file.id

        def note(step: Step) -> None:
            with self._files.transaction() as db:
                remember(db, "embed", step.seconds, step.characters)  # at once: the files that wait are told by it
                lease.estimate.embedding(step.characters_left, read_costs(db).of("embed"))
                if step.made and step.characters_left:  # the last ones go into the store at once
                    self._files.drafts.keep(file_id, step.made)
                lease.tell(Stage.EMBEDDING, step.done, len(nodes))

        passages = self._passages_by(embed_model)
        known = lease.during(lambda: passages.stored(self._store, file_id) | self._files.drafts.vectors(file_id))
        return passages.embed(nodes, known, lease.during, note)

    def _passages_by(self, embed_model: str) -> PassageEmbedder:
        return self._passages.setdefault(embed_model, PassageEmbedder(self._embedders.of(embed_model)))

    def _unpack(self, lease: Lease) -> None:
        """A zip becomes the files in it, each with a row of its own, and its own row goes."""
        file, settings = lease.file, self._settings()
        lease.tell(Stage.READING, 0, 0)
        path = lease.during(lambda: self._files.location(file))
        for left in path.parent.glob("unpacked-*"):  # by workers that were killed
            shutil.rmtree(left, ignore_errors=True)
        into = path.parent / f"unpacked-{new_id()[:8]}"  # where no worker that has lost the zip deletes it
        try:
            members = unpack_isolated(
                path,
                into,
                ReadOptions(name=file.name, password=self._files.password(file.id), progress=lease.reading),
                timeout=settings.read_timeout,
                memory_mb=settings.read_memory_mb,
                cancelled=lease.unwanted,
            )
            anything_new = [self._take(lease, member, settings) for member in members]
        finally:
            shutil.rmtree(into, ignore_errors=True)
        with self._files.forgetting(file.id, worker=lease.worker) as forgotten:  # who waits sees the zip or what is said
            if not forgotten:
                raise Cancelled  # stopped, deleted or replaced at the last moment
            if not any(anything_new):
                said = f"Everything in {file.name} is in your library already."
                self._files.refuse(file.name, 0, AlreadyThereError(said, hint="There is nothing more to do."))

    def _take(self, lease: Lease, member: Unpacked, settings: IngestSettings) -> bool:
        """Whether this file of a zip is new."""
        if lease.unwanted():
            raise Cancelled
        try:
            if member.error is not None:
                raise member.error
            added = lease.during(lambda: self._files.add(member.path, member.name, settings))
        except InputError as error:
            self._files.refuse(member.name, 0, error)
            return True
        # What came after the archive is from it: it was begun before.
        return added.outcome != "duplicate" or added.file.added >= lease.file.added


def tidy(files: Files, store: CurrentStore) -> None:
    """Remove what crashes may have left: bytes of no file, passages of files that were deleted, and vectors of no index."""
    files.sweep()
    for stored in store.documents():
        with contextlib.suppress(UnknownDocumentError):  # deleted by others meanwhile
            if files.get(stored.id_) is None and store.document(stored.id_).metadata.get("file_id") == stored.id_:
                store.delete(stored.id_)
    store.reclaim()


def main() -> None:
    from ragcore.embeddings.huggingface import HuggingFaceEmbedding

    threading.Thread(target=_end_with_parent, daemon=True).start()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    if hasattr(os, "nice"):
        os.nice(10)
    folder = Path(sys.argv[1])
    where = os.environ.pop(DATABASE, folder)  # taken out: it may hold a password, and what reads files inherits the rest
    parts = open_parts(where, folder)
    worker = Worker(parts.files, parts.store, HuggingFaceEmbedding(), lambda: parts.settings.read().ingest)
    start_reader()
    threading.Thread(target=worker.warm, daemon=True).start()
    for _ in range(FETCHERS):
        fetcher = Fetcher(parts.files, lambda: parts.settings.read().ingest)
        threading.Thread(target=fetch_all, args=(fetcher,), daemon=True).start()
    outlasting(parts.files.queue.release_ended)
    outlasting(lambda: tidy(parts.files, parts.store))
    outlasting(worker.damaged)
    healed = -HEAL_SECONDS
    while True:
        if outlasting(worker.run_once) or outlasting(worker.rebuild_once):
            continue
        if time.monotonic() - healed > HEAL_SECONDS:
            healed = time.monotonic()
            _healed(worker)
        parts.store.close()  # what others delete meanwhile is not kept open here
        time.sleep(IDLE_SECONDS)


def fetch_all(fetcher: Fetcher) -> None:
    while True:
        try:
            if not outlasting(fetcher.run_once):
                time.sleep(FETCH_SECONDS)
        except StoreError as error:  # the links wait until somebody has mended it
            logger.warning("No link can be fetched: %s", error.what)
            time.sleep(LONGEST_AWAY)


def _healed(worker: Worker) -> None:
    try:
        outlasting(worker.heal)
    except RagError as error:  # nobody waits for it, and files must still be read: the next time
        logger.warning("damaged vectors could not be made anew: %s", error.what)


def outlasting(work: Callable[[], T]) -> T:
    """Do this, once more when the database's server was away in the middle of it, or the disk full."""
    pause = AWAY_SECONDS
    while True:
        try:
            return work()
        except StoreError as error:
            if not (error.retryable or isinstance(error, NoRoomError)):
                raise
            logger.warning("%s Trying again.", error.what)
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_AWAY)


def _end_with_parent() -> None:
    sys.stdin.read()
    os._exit(0)  # at any moment: what is not finished is taken up again, and the process that reads for this one ends with it


if __name__ == "__main__":
    main()
