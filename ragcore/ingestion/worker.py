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
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from ragcore.config import DATABASE, IngestSettings
from ragcore.embeddings.base import Embedder
from ragcore.errors import NoTextError, RagError, StoreError, UnknownDocumentError
from ragcore.ingestion.files import FileRow, Files, Stage, process_name
from ragcore.ingestion.parts import open_parts
from ragcore.ingestion.sandbox import Cancelled, read_isolated, start_reader
from ragcore.node_parser.sentence import SentenceSplitter
from ragcore.readers.archive import unpack
from ragcore.readers.base import ReadOptions
from ragcore.schema import Document, Scalar, TextNode, new_id
from ragcore.vector_stores.base import Store

logger = logging.getLogger(__name__)

T = TypeVar("T")

EMBED_AT_ONCE = 32  # passages between two looks at whether to go on: well under two seconds on a slow machine
IDLE_SECONDS = 0.2  # between two looks at an empty queue
SIGN_SECONDS = 2.0
AWAY_SECONDS = 1.0  # before a database server that is away is asked again


class Worker:
    """Works through the queue of one library. `embedder` is loaded when the first passage needs it."""

    def __init__(self, files: Files, store: Store, embedder: Embedder, settings: Callable[[], IngestSettings]) -> None:
        self._files = files
        self._store = store
        self._embedder = embedder
        self._settings = settings
        self._name = f"{process_name(os.getpid())}-{new_id()[:8]}"

    def run_once(self) -> bool:
        """Take one file from the queue to its end; False when none waits."""
        file = self._files.claim(self._name)
        if file is None:
            return False
        try:
            with self._signing(file):
                if file.kind == "ZIP":
                    self._unpack(file)
                else:
                    self._ingest(file)
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

    def _ingest(self, file: FileRow) -> None:
        settings = self._settings()
        document = self._read(file, settings)
        self._report(file, Stage.SPLITTING, 0, 1)
        splitter = SentenceSplitter(chunk_size=settings.chunk_size, chunk_overlap=settings.chunk_overlap, keep_headings=True)
        nodes = passages_of(document, splitter)
        if not nodes:
            raise NoTextError(f"{file.name} holds no text.", hint="If it is a scan, have its text recognised first (OCR).")
        nodes = self._embed(file, nodes)
        self._report(file, Stage.STORING, 0, 1)
        self._store.put(document, nodes)
        pages, page_word = len(document.pages), document.page_word
        if not self._files.finish(file.id, self._name, passages=len(nodes), pages=pages, page_word=page_word):
            now = self._files.get(file.id)
            if now is None:  # deleted while it was being stored
                self._store.delete(document.id_)
            elif now.ready:  # another worker was quicker with a newer version, which has just been written over
                self._files.queue_again(file.id)
            raise Cancelled

    def _read(self, file: FileRow, settings: IngestSettings) -> Document:
        self._report(file, Stage.READING, 0, 0)
        options = ReadOptions(
            name=file.name,
            password=self._files.password(file.id),
            progress=lambda done, total: self._report(file, Stage.READING, done, total),
            max_text_chars=settings.max_text_mb * 1_000_000,
        )
        document = read_isolated(
            self._files.location(file),
            options,
            timeout=settings.read_timeout,
            memory_mb=settings.read_memory_mb,
            cancelled=lambda: not self._files.sign(file.id, self._name),
        )
        metadata = {**document.metadata, "file_name": file.name, "file_id": file.id, "path": file.path}
        hidden = tuple(metadata)
        return replace(
            document,
            id_=file.id,
            metadata=metadata,
            excluded_embed_metadata_keys=hidden,
            excluded_llm_metadata_keys=hidden,
        )

    def _embed(self, file: FileRow, nodes: list[TextNode]) -> list[TextNode]:
        embedded: list[TextNode] = []
        self._report(file, Stage.EMBEDDING, 0, len(nodes))
        for start in range(0, len(nodes), EMBED_AT_ONCE):
            batch = nodes[start : start + EMBED_AT_ONCE]
            vectors = self._embedder.embed_passages([node.text for node in batch])
            embedded += [node.with_embedding(vector) for node, vector in zip(batch, vectors, strict=True)]
            self._report(file, Stage.EMBEDDING, len(embedded), len(nodes))
        return embedded

    def _unpack(self, file: FileRow) -> None:
        """A zip becomes the files in it, each with a row of its own, and its own row goes."""
        self._report(file, Stage.READING, 0, 0)
        into = self._files.location(file).parent / "unpacked"
        options = ReadOptions(
            name=file.name,
            password=self._files.password(file.id),
            progress=lambda done, total: self._report(file, Stage.READING, done, total),
        )
        for member in unpack(self._files.location(file), into, options):
            if member.error is not None:
                self._files.refuse(member.name, 0, member.error)
                continue
            try:
                self._files.add(member.path, member.name, self._settings())
            except RagError as error:
                self._files.refuse(member.name, 0, error)
        self._files.remove(file.id)

    def _report(self, file: FileRow, stage: Stage, done: int, total: int) -> None:
        if not self._files.advance(file.id, self._name, stage, done, total):
            raise Cancelled

    @contextlib.contextmanager
    def _signing(self, file: FileRow) -> Iterator[None]:
        """Keeps the row signed while a step takes long, such as loading the embedder for the first time."""
        ended = threading.Event()

        def sign() -> None:
            while not ended.wait(SIGN_SECONDS):
                try:
                    self._files.sign(file.id, self._name)
                except StoreError as error:
                    logger.warning("%s could not be signed: %s", file.id, error.what)  # the next time, or another's file then

        thread = threading.Thread(target=sign, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()


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
    _outlasting(lambda: tidy(parts.files, parts.store))
    while True:
        if not _outlasting(worker.run_once):
            time.sleep(IDLE_SECONDS)


def _outlasting(work: Callable[[], T]) -> T:
    """Do this, once more when the database's server was away in the middle of it."""
    while True:
        try:
            return work()
        except StoreError as error:
            if not error.retryable:
                raise
            logger.warning("%s Trying again.", error.what)
            time.sleep(AWAY_SECONDS)


def _end_with_parent() -> None:
    sys.stdin.read()
    os._exit(0)  # at any moment: what is not finished is taken up again, and the process that reads for this one ends with it


if __name__ == "__main__":
    main()
