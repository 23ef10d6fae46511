"""Turns queued files into passages: read in isolation, split, embed, store. Runs in a process of its own, so that the
application stays quick and a file that breaks a parser breaks nothing else.

    python -m ragcore.ingestion.worker FOLDER

works on the library in that folder, or on the server that LECTERN_DATABASE names, with the folder for what stays here.
It ends when its standard input closes, which happens when the application ends, however it ends.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from ragcore.config import DATABASE, IngestSettings
from ragcore.embeddings.base import Embedder
from ragcore.errors import NoTextError, RagError, StoreError, UnknownDocumentError
from ragcore.ingestion.embed import PassageEmbedder
from ragcore.ingestion.files import Files, Stage, process_name
from ragcore.ingestion.lease import Lease
from ragcore.ingestion.pace import READ_SECONDS, kind_of
from ragcore.ingestion.parts import open_parts
from ragcore.ingestion.sandbox import Cancelled, read_isolated, start_reader
from ragcore.node_parser.sentence import SentenceSplitter
from ragcore.readers.archive import unpack
from ragcore.readers.base import ReadOptions
from ragcore.schema import Document, Scalar, TextNode, new_id
from ragcore.vector_stores.base import Store

logger = logging.getLogger(__name__)

T = TypeVar("T")

IDLE_SECONDS = 0.2  # between two looks at an empty queue
AWAY_SECONDS = 0.5  # before a database server that is away is asked again; twice as long each time
LONGEST_AWAY = 15.0


class Worker:
    """Works through the queue of one library. `embedder` is loaded when the first passage needs it."""

    def __init__(self, files: Files, store: Store, embedder: Embedder, settings: Callable[[], IngestSettings]) -> None:
        self._files = files
        self._store = store
        self._passages = PassageEmbedder(embedder)
        self._settings = settings
        self._name = f"{process_name(os.getpid())}-{new_id()[:8]}"
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="embed")

    def run_once(self) -> bool:
        """Take one file from the queue to its end; False when none waits."""
        file = self._files.claim(self._name)
        if file is None:
            return False
        lease = Lease(self._files, file, self._name, self._threads)
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
                return True
            # One file must not stop the queue. The row keeps what happened, and the log the trace of our bug.
            logger.exception("%s failed", file.id)
            ours = RagError(f"{file.name} could not be taken in.", hint="Try again. If it happens again, please report it.")
            ours.__cause__ = error
            self._files.fail(file.id, self._name, ours)
        return True

    def _ingest(self, lease: Lease) -> None:
        file, settings = lease.file, self._settings()
        began = time.monotonic()
        document = self._read(lease, settings)
        reading = time.monotonic() - began
        lease.estimate.to_embed(len(document.text), time.monotonic())
        lease.tell(Stage.SPLITTING, 0, 1)
        splitter = SentenceSplitter(chunk_size=settings.chunk_size, chunk_overlap=settings.chunk_overlap, keep_headings=True)
        nodes = lease.during(lambda: passages_of(document, splitter))
        if not nodes:
            raise NoTextError(f"{file.name} holds no text.", hint="If it is a scan, have its text recognised first (OCR).")
        nodes = self._embed(lease, nodes)
        lease.tell(Stage.STORING, 0, 1)
        embedding, embedded = lease.estimate.seen
        kind, characters = kind_of(file.name), len(document.text)
        self._store_and_finish(
            lease,
            document,
            nodes,
            [
                (f"read.{kind}", max(reading - READ_SECONDS, 0.0), file.size),
                (f"text.{kind}", characters, file.size),
                ("embed", embedding, embedded),
            ],
        )

    def _store_and_finish(
        self, lease: Lease, document: Document, nodes: list[TextNode], paces: list[tuple[str, float, float]]
    ) -> None:
        """The passages, the row and the drafts change together or not at all."""
        file, began = lease.file, time.monotonic()
        with self._files.transaction():
            self._store.put(document, nodes)
            rest = ("rest", time.monotonic() - began, len(document.text))
            if not self._files.finish(
                file.id,
                lease.worker,
                passages=len(nodes),
                pages=len(document.pages),
                page_word=document.page_word,
                paces=[*paces, rest],
            ):
                raise Cancelled  # stopped, deleted or taken over meanwhile; nothing of it is stored

    def _read(self, lease: Lease, settings: IngestSettings) -> Document:
        file = lease.file
        lease.tell(Stage.READING, 0, 0)
        document = read_isolated(
            lease.during(lambda: self._files.location(file)),
            ReadOptions(
                name=file.name,
                password=self._files.password(file.id),
                progress=lease.reading,
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

    def _embed(self, lease: Lease, nodes: list[TextNode]) -> list[TextNode]:
        """With their vectors: those of an earlier attempt and of the version before, and the others from the embedder."""
        file_id, contents = lease.file.id, self._passages.contents(nodes)
        known = self._passages.stored(self._store, file_id) | self._files.drafts.vectors(file_id)
        missing = {content: node.text for content, node in zip(contents, nodes, strict=True) if content not in known}
        places, done, made = Counter(contents), sum(content in known for content in contents), 0
        lease.estimate.to_embed(sum(map(len, missing.values())), time.monotonic())
        lease.tell(Stage.EMBEDDING, done, len(nodes))
        for some in self._passages.make(missing, lease.during):
            known |= some.vectors
            done += sum(places[content] for content in some.vectors)
            made += len(some.vectors)
            lease.estimate.embedded(some.characters, some.seconds, time.monotonic())
            with self._files.transaction():
                if made < len(missing):  # the last ones go into the store at once
                    self._files.drafts.keep(file_id, some.vectors)
                lease.tell(Stage.EMBEDDING, done, len(nodes))
        return [node.with_embedding(known[content]) for node, content in zip(nodes, contents, strict=True)]

    def _unpack(self, lease: Lease) -> None:
        """A zip becomes the files in it, each with a row of its own, and its own row goes."""
        file = lease.file
        lease.tell(Stage.READING, 0, 0)
        path = lease.during(lambda: self._files.location(file))
        options = ReadOptions(name=file.name, password=self._files.password(file.id), progress=lease.reading)
        for member in unpack(path, path.parent / "unpacked", options):
            if lease.unwanted():
                raise Cancelled
            if member.error is not None:
                self._files.refuse(member.name, 0, member.error)
                continue
            try:
                self._files.add(member.path, member.name, self._settings())
            except RagError as error:
                self._files.refuse(member.name, 0, error)
        self._files.remove(file.id)


def tidy(files: Files, store: Store) -> None:
    """Remove what crashes may have left: folders of no file, and passages of files that were deleted."""
    files.sweep()
    for stored in store.documents():
        with contextlib.suppress(UnknownDocumentError):  # deleted by others meanwhile
            if files.get(stored.id_) is None and store.document(stored.id_).metadata.get("file_id") == stored.id_:
                store.delete(stored.id_)


def passages_of(document: Document, splitter: SentenceSplitter) -> list[TextNode]:
    """The document's passages, each with the page it begins on."""
    nodes = splitter.get_nodes_from_documents([document])
    if not document.pages:
        return nodes
    order = {page: index for index, page in enumerate(document.pages)}
    placed: list[TextNode] = []
    for node in nodes:
        page = document.page_at(node.start_char_idx or 0)
        if page is None:
            placed.append(node)
            continue
        position: dict[str, Scalar] = {"page_label": page.label, "page_index": order[page], "page_word": document.page_word}
        placed.append(
            replace(
                node,
                metadata={**node.metadata, **position},
                excluded_embed_metadata_keys=(*node.excluded_embed_metadata_keys, *position),
                excluded_llm_metadata_keys=(*node.excluded_llm_metadata_keys, *position),
            )
        )
    return placed


def main() -> None:
    from ragcore.embeddings.huggingface import HuggingFaceEmbedding

    threading.Thread(target=_end_with_parent, daemon=True).start()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    if hasattr(os, "nice"):
        os.nice(10)
    folder = Path(sys.argv[1])
    where = os.environ.pop(DATABASE, folder)  # taken out: it may hold a password, and what reads files inherits the rest
    parts, embedder = open_parts(where, folder), HuggingFaceEmbedding()
    worker = Worker(parts.files, parts.store, embedder, lambda: parts.settings.read().ingest)
    start_reader()
    threading.Thread(target=embedder.warm, daemon=True).start()
    outlasting(lambda: tidy(parts.files, parts.store))
    while True:
        if not outlasting(worker.run_once):
            time.sleep(IDLE_SECONDS)


def outlasting(work: Callable[[], T]) -> T:
    """Do this, once more when the database's server was away in the middle of it."""
    pause = AWAY_SECONDS
    while True:
        try:
            return work()
        except StoreError as error:
            if not error.retryable:
                raise
            logger.warning("%s Trying again.", error.what)
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_AWAY)


def _end_with_parent() -> None:
    sys.stdin.read()
    os._exit(0)  # at any moment: what is not finished is taken up again, and the process that reads for this one ends with it


if __name__ == "__main__":
    main()
