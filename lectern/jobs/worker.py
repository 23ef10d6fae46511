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
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from lectern.jobs.chunking import passages_of
from lectern.jobs.embed_passages import PassageEmbedder, Step
from lectern.jobs.embedders import BUILT_IN, Embedders
from lectern.jobs.embedding_drafts import drop_drafts
from lectern.jobs.files import FileRow, Files, Stage, process_name
from lectern.jobs.index_versions import CurrentStore, Healable, IndexStore
from lectern.jobs.lease import Lease, awaited, failure_of_ours
from lectern.jobs.link_fetcher import Fetcher
from lectern.jobs.open_library import open_parts
from lectern.jobs.rebuild import Rebuilder
from lectern.jobs.sandbox import Cancelled, look_isolated, read_isolated, start_reader, unpack_isolated
from lectern.jobs.time_left import READ_SECONDS, Loading, expect, kind_of, remember
from lectern.settings import DATABASE, IngestSettings
from ragcore.embeddings.base import Embedder
from ragcore.errors import AlreadyThereError, InputError, NoTextError, Problem, RagError, StoreError, UnknownDocumentError
from ragcore.readers.base import ReadOptions
from ragcore.readers.workload import Amount, much_quicker, weight
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
TRIAL = ["When the fog came in from the sea, the keeper climbed the stairs and lit the lamp. " * 9] * 8  # about a group
LOOK_SECONDS = 5.0  # at a file that waits
LOOKED_FIRST, LOOKED_SHARE = 1.0, 0.25  # seconds for looking, and more for each second at work; most files take hundredths
LOOKED_AT = 50  # files in a row
MANY = 32  # passages, whose drafts and version before may have left much room in the database


class Worker:
    """Works through the queue of one library. `embedder` is the built-in one, loaded when the first passage needs it, or before
    that, which `loading` is told of."""

    def __init__(
        self,
        files: Files,
        store: CurrentStore,
        embedder: Embedder,
        settings: Callable[[], IngestSettings],
        loading: Loading | None = None,
    ) -> None:
        self._files = files
        self._store = store
        self._embedders = Embedders(embedder)
        self._passages: dict[str, PassageEmbedder] = {}
        self._settings = settings
        self._loading = loading
        self._name = f"{process_name(os.getpid())}-{new_id()[:8]}"
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="embed")
        self._busy_since: float | None = None
        self._looked = 0.0  # seconds since then

    def run_once(self) -> bool:
        """Take one file from the queue to its end; False when none waits."""
        file = self._files.claim(self._name)
        if file is None:
            self._busy_since = None
            return False
        if self._busy_since is None:
            self._busy_since, self._looked = time.monotonic(), 0.0
        self._work_on(file)
        self._look_ahead(lambda: False)
        return True

    def _work_on(self, file: FileRow) -> None:
        lease = Lease(self._files, file, self._name, self._threads, loading=self._until_loaded)
        try:
            if file.kind == "ZIP":
                self._unpack(lease)
            else:
                self._ingest(lease)
        except Cancelled:
            self._files.halt(file.id, self._name)
        except RagError as error:
            if isinstance(error, StoreError) and error.retryable:
                raise  # the database is away, and the file is not at fault
            logger.info("%s failed: %s", file.id, type(error).__name__)
            self._files.fail(file.id, self._name, error)
        except Exception as error:  # one file must not stop the queue
            if not self._files.sign(file.id, self._name):  # deleted or stopped meanwhile: the file went from under our hands
                self._files.halt(file.id, self._name)
                return
            # One file must not stop the queue. The row keeps what happened, and the log the trace of our bug.
            logger.exception("%s failed", file.id)
            self._files.fail(file.id, self._name, failure_of_ours(file.name, error))

    def _until_loaded(self) -> float:
        """Seconds until what the current index is embedded with can be used; nothing where that is not the built-in one."""
        built_in = self._store.versions.current()[1] == BUILT_IN
        return self._loading.left() if self._loading is not None and built_in else 0.0

    def _look_ahead(self, unwanted: Callable[[], bool]) -> None:
        """See how much is in the files that wait, so that the time left is known for all of them, and take little time for it.
        Cancelled when the file at hand is unwanted."""
        with contextlib.suppress(StoreError):  # only an estimate is lost
            for file in self._files.unseen(LOOKED_AT):
                began = time.monotonic()
                most = LOOKED_FIRST + LOOKED_SHARE * (began - (self._busy_since or began))
                if self._looked > most and not self._until_loaded():  # there is nothing else to do until then
                    return
                self._files.saw(file, self._look(file, unwanted))
                self._looked += time.monotonic() - began

    def _look(self, file: FileRow, unwanted: Callable[[], bool]) -> Amount:
        """Nothing where it cannot be read, and what is usual where looking takes long."""
        settings = self._settings()
        usual = self._files.costs(file.hash).amount(file.name, file.size)
        if file.kind == "ZIP":
            return usual
        end = time.monotonic() + LOOK_SECONDS
        options = ReadOptions(file.name, self._files.password(file.id), max_text_chars=settings.max_text_mb * 1_000_000)
        try:
            return look_isolated(
                self._files.location(file),
                options,
                timeout=settings.read_timeout,
                memory_mb=settings.read_memory_mb,
                cancelled=lambda: time.monotonic() > end or unwanted(),
            )
        except Cancelled:
            if time.monotonic() > end:
                return usual
            raise
        except StoreError:
            raise
        except (RagError, RuntimeError, OSError):  # the latter where it was deleted meanwhile
            return Amount(0)

    def rebuild_once(self) -> bool:
        """Go on with an index that is being made anew, until a file waits; False when there is none."""
        rebuilder = Rebuilder(self._files, self._store, self._embedders, self._name, self._threads)
        return rebuilder.run_once(self._files.waiting)

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
            if step.characters_left and self._files.waiting():
                raise Cancelled

        nodes = passages.embed(list(index.passages(document_id)), drafts.vectors(document_id), lambda work: work(), note)
        with self._files.transaction() as db:
            if isinstance(index, Healable):
                index.replace_vectors(document_id, np.stack([node.embedding for node in nodes if node.embedding is not None]))
            drop_drafts(db, document_id)

    def _ingest(self, lease: Lease) -> None:
        file, settings = lease.file, self._settings()
        if much_quicker(file.name):
            lease.saw(self._look(file, lease.unwanted))
        began = time.monotonic()
        left_out: list[RagError] = []
        document = self._read(lease, settings, left_out.append)
        reading = time.monotonic() - began
        characters = weight(document.text)
        lease.estimate.to_embed(characters, time.monotonic())
        lease.tell(Stage.SPLITTING, 0, 1)
        nodes = lease.during(lambda: passages_of(document, settings.chunk_size, settings.chunk_overlap, settings.splitter))
        if not nodes:
            raise NoTextError(f"{file.name} holds no text.", hint="If it is a scan, have its text recognised first (OCR).")
        current = self._store.versions.current()
        costs, pictures = self._files.costs(file.hash), lease.estimate.recognised
        nodes = self._embed(lease, nodes, current[1])
        lease.tell(Stage.STORING, 0, 1)
        kind = kind_of(file.name)
        self._store_and_finish(
            lease,
            document,
            nodes,
            current,
            left_out,
            characters,
            [
                ("recognise", max(reading - costs.reading(file.name, file.size, 0), 0.0), pictures)
                if pictures
                else (f"read.{kind}", max(reading - READ_SECONDS, 0.0), file.size),
                (f"text.{kind}", characters, file.size),
                ("weight", characters, len(document.text)),
            ],
        )

    def _store_and_finish(
        self,
        lease: Lease,
        document: Document,
        nodes: list[TextNode],
        current: tuple[str, str],
        left_out: list[RagError],
        characters: int,
        paces: list[tuple[str, float, float]],
    ) -> None:
        """The passages, the row and the drafts change together or not at all, and only in the index that is the current one."""
        file, began = lease.file, time.monotonic()
        put = lease.during(lambda: self._store.index(current[0]).prepared(document, nodes))
        with self._files.long_transaction():
            if self._store.versions.current() != current:  # another index took its place while this was embedded
                self._files.queue_again(file.id)
                return
            put()
            rest = ("rest", time.monotonic() - began, characters)
            if not self._files.finish(
                file.id,
                lease.worker,
                passages=len(nodes),
                pages=len(document.pages),
                page_word=document.page_word,
                problem=Problem.of(left_out[0]) if left_out else None,
                paces=[*paces, rest],
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
                recognised=lease.recognised,
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
            if not step.made:
                lease.estimate.to_embed(step.characters_left, time.monotonic(), step.characters_next)
            else:
                lease.estimate.embedded(step.characters, step.seconds, time.monotonic(), step.characters_next)
            with self._files.transaction() as db:
                remember(db, "embed", step.seconds, step.characters)  # at once: the files that wait are told by it
                if step.made and step.characters_left:  # the last ones go into the store at once
                    self._files.drafts.keep(file_id, step.made)
                lease.tell(Stage.EMBEDDING, step.done, len(nodes))
            if step.characters_left and (step.made or self._until_loaded()):
                self._look_ahead(lease.unwanted)

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
    parts, embedder = open_parts(where, folder), HuggingFaceEmbedding()
    loading = Loading(outlasting(parts.files.costs))
    worker = Worker(parts.files, parts.store, embedder, lambda: parts.settings.read().ingest, loading)
    start_reader()
    threading.Thread(target=warm, args=(embedder, parts.files, loading), daemon=True).start()
    for _ in range(FETCHERS):
        fetcher = Fetcher(parts.files, lambda: parts.settings.read().ingest)
        threading.Thread(target=fetch_all, args=(fetcher,), daemon=True).start()
    outlasting(parts.files.release_ended)
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


def warm(embedder: Embedder, files: Files, loading: Loading) -> None:
    """Load the embedder, and where nothing was ever embedded, see how quick it is here, unless a file waits for it and shows
    that itself. Until then it is known whether the machine is slow, as loading takes long."""
    unknown = "embed" not in files.costs().known

    def note() -> bool:
        if unknown and loading.late():
            with contextlib.suppress(StoreError), files.transaction() as db:
                expect(db, "load", loading.late())
        return False

    with ThreadPoolExecutor(1, thread_name_prefix="load") as threads:
        awaited(threads, lambda: embedder.embed_query("ready"), note)
    took = loading.end()
    with contextlib.suppress(StoreError), files.transaction() as db:  # then it is not known the next time
        remember(db, "load", took, 1)
    if not unknown or outlasting(files.tally)[Stage.EMBEDDING]:
        return
    began = time.monotonic()
    embedder.embed_passages(TRIAL)
    seconds = time.monotonic() - began
    with contextlib.suppress(StoreError), files.transaction() as db:  # then the first file will tell
        remember(db, "embed", seconds, sum(map(weight, TRIAL)))


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
