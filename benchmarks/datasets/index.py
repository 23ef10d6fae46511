"""The library of a data set: documents that are read, split and embedded as in the application, and cached.

The cache key of an index has the documents, the settings, and the code that builds indexes. Vectors are
cached by their text, so that an index with other passages or words embeds only new texts.
"""

from __future__ import annotations

import hashlib
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.datasets.data_set import DataSet, Text
from benchmarks.datasets.settings import TrialSetting
from lectern.jobs.chunking import passages_of
from lectern.jobs.embed_passages import PassageEmbedder, Step
from lectern.jobs.embedders import BUILT_IN, Embedders
from lectern.jobs.embedding_drafts import SCHEMA as VECTORS_SCHEMA
from lectern.jobs.embedding_drafts import Drafts
from lectern.jobs.worker import Worker
from lectern.library import Library
from lectern.settings import AppSettings
from ragcore.embeddings.base import Embedder, TokenEmbedder, Tokens
from ragcore.embeddings.huggingface import HuggingFaceEmbedding
from ragcore.errors import InputError, StoreError
from ragcore.extractive.quoter import Answer, Quoter
from ragcore.prompts.prompt import Passage
from ragcore.readers import SimpleDirectoryReader
from ragcore.readers.markdown_tables import with_tables_as_lines
from ragcore.schema import Document, TextNode, new_id
from ragcore.sql.sqlite import SQLiteDatabase

if TYPE_CHECKING:
    from ragcore.schema import Vector, Vectors

PUT_TOGETHER = 200  # documents in a transaction
UNUSED_SECONDS = 3 * 24 * 3600.0  # before an index is deleted, when another one of the same data set is built
WHOLE = "whole"  # the file that says that an index was finished, and by its time when it was last used
SOURCES = Path(__file__).parents[2]
MAKERS = ("ragcore/embeddings", "ragcore/node_parser", "ragcore/readers", "ragcore/vector_stores",
          "lectern/jobs/embed_passages.py", "lectern/jobs/chunking.py", "ragcore/text/citations.py",
          "ragcore/text/keywords.py", "ragcore/text/sentences.py", "ragcore/text/tokens.py")  # fmt: skip

Tell = Callable[[str], None]


class TimedEmbedder:
    """An embedder that measures the time of the first question after `begin`, in seconds and processor
    seconds. Not for several threads."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.begin()

    def begin(self) -> None:
        self.seconds, self.cpu_seconds, self._first = 0.0, 0.0, True

    @property
    def name(self) -> str:
        return self._embedder.name

    @property
    def dimension(self) -> int:
        return self._embedder.dimension

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return self._embedder.embed_passages(texts)

    def embed_tokens(self, texts: Sequence[str]) -> tuple[Vectors, list[Tokens]] | None:
        return self._embedder.embed_tokens(texts) if isinstance(self._embedder, TokenEmbedder) else None

    def static_tokens(self, texts: Sequence[str]) -> list[Tokens] | None:
        return self._embedder.static_tokens(texts) if isinstance(self._embedder, TokenEmbedder) else None

    def knows(self, word: str) -> bool:
        return not isinstance(self._embedder, TokenEmbedder) or self._embedder.knows(word)

    def embed_query(self, text: str) -> Vector:
        began, cpu = time.perf_counter(), time.process_time()
        vector = self._embedder.embed_query(text)
        if self._first:
            self.seconds, self.cpu_seconds = time.perf_counter() - began, time.process_time() - cpu
            self._first = False
        return vector


class WatchedQuoter(Quoter):
    """Remembers the last question that it answered, with its passages."""

    last: tuple[str, Sequence[Passage]] | None = None

    def answer(self, question: str, passages: Sequence[Passage]) -> Answer:
        self.last = question, passages
        return super().answer(question, passages)


@dataclass(frozen=True, slots=True)
class OpenedIndex:
    """`seconds` is the time to build the index, 0 if it was cached."""

    library: Library
    embedder: TimedEmbedder
    quoter: WatchedQuoter
    seconds: float


@contextmanager
def open_index(
    data_set: DataSet, setting: TrialSetting, work: Path, tell: Tell, bundled: Embedder | None = None
) -> Iterator[OpenedIndex]:
    """The library of these documents, built in the folder `work` if it is not cached. `bundled` replaces the
    embedders. `tell` gets the progress as text. InputError where a document cannot be read."""
    embedders = Embedders(bundled or HuggingFaceEmbedding())
    embed_model = setting.embed_model or (
        "" if bundled else embedders.for_text(_text_of_first_document(data_set))
    )
    embedder = TimedEmbedder(embedders.of(embed_model))
    try:
        work.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"The folder {work} cannot be used: {error.strerror}.",
            hint="Name another one with --work, in which you may write.",
        ) from error
    folder = work / f"{data_set.name.replace('/', '-')}-{_key(data_set, setting, embedder.name)}"
    began, is_new = time.monotonic(), not (folder / WHOLE).exists()
    if is_new:
        _make(folder, data_set, setting, embedder, tell)
    seconds = time.monotonic() - began if is_new else 0.0
    (folder / WHOLE).touch()
    quoter = WatchedQuoter(embedder)
    library = Library(folder, embedder=embedder, llm=quoter)
    try:
        yield OpenedIndex(library, embedder, quoter, seconds)
    finally:
        library.close()


def _text_of_first_document(data_set: DataSet) -> str:
    """Its language decides about the embedder."""
    if data_set.texts:
        return data_set.texts[0].text
    return "\n".join(
        document.text for document in SimpleDirectoryReader(input_files=[data_set.files[0]]).load_data()
    )


def _key(data_set: DataSet, setting: TrialSetting, embedder: str) -> str:
    digest = hashlib.sha256(
        f"{data_set.fingerprint()}\0{setting.ingest.model_dump_json()}\0{embedder}\0".encode()
    )
    for name in MAKERS:
        digest.update(_code(name))
    return digest.hexdigest()[:16]


def _code(name: str) -> bytes:
    path = SOURCES / name
    files = sorted(path.rglob("*.py")) if path.is_dir() else [path]
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).digest()


def _make(folder: Path, data_set: DataSet, setting: TrialSetting, embedder: Embedder, tell: Tell) -> None:
    """Builds in a temporary folder, which is renamed when complete, because another process may build the
    same index."""
    draft = folder.with_name(f"{folder.name}.{new_id()[:8]}")
    library = Library(draft, embedder=embedder)
    try:
        library.store.choose(BUILT_IN)  # in whose place the embedder is
        library.update_settings(AppSettings(ingest=setting.ingest))
        if data_set.files:
            _read_files(library, data_set, embedder, tell)
        else:
            _put_texts(library, data_set, embedder, folder.parent, tell)
    except BaseException:  # an incomplete index is useless; the vectors stay cached
        library.close()
        shutil.rmtree(draft)
        raise
    library.close()
    (draft / WHOLE).touch()
    try:
        draft.rename(folder)
    except OSError:  # someone else was quicker
        shutil.rmtree(draft)
    _drop_unused(folder)


def _read_files(library: Library, data_set: DataSet, embedder: Embedder, tell: Tell) -> None:
    for path in data_set.files:
        library.intake.add(path, path.name)
    worker = Worker(library.files, library.store, embedder, lambda: library.settings.ingest)
    tell(f"Reading {len(data_set.files):,} files ...")
    while worker.run_once():
        pass
    for file in library.files.all():
        if file.problem is not None and not file.ready:
            raise InputError(f"{data_set.name}: {file.problem.what}", hint=file.problem.hint)


def _put_texts(library: Library, data_set: DataSet, embedder: Embedder, work: Path, tell: Tell) -> None:
    ingest = library.settings.ingest
    tell(f"Splitting {len(data_set.texts):,} documents ...")
    counted = any(
        passage.start is not None for trial in data_set.trials for passage in trial.question.expected
    )
    documents = {text.id: _document(text, counted=counted) for text in data_set.texts}
    nodes = [
        node
        for document in documents.values()
        for node in passages_of(document, ingest.chunk_size, ingest.chunk_overlap, ingest.splitter)
    ]
    nodes = _embed(nodes, data_set.name, embedder, work, tell)
    tell(f"Storing {len(nodes):,} passages ...")
    groups = [(id_, list(each)) for id_, each in groupby(nodes, lambda node: str(node.ref_doc_id))]
    for start in range(0, len(groups), PUT_TOGETHER):
        with library.files.transaction():
            for id_, each in groups[start : start + PUT_TOGETHER]:
                library.store.upsert(documents[id_], each)


def _document(text: Text, *, counted: bool) -> Document:
    """As if it had been read from a file: with its title above it, where the text does not begin with that.
    `counted`: positions in it are expected, so that its text must not change."""
    title = " ".join(text.title.replace("_", " ").split())
    headed = not title or text.title == text.id or text.text.lstrip().startswith(title)
    whole = text.text if headed else f"{title}\n\n{text.text}"
    metadata = {"file_name": f"{title or text.id}.txt", "file_id": text.id}
    hidden = tuple(metadata)
    return Document(
        whole if counted else with_tables_as_lines(whole),
        text.id,
        metadata,
        excluded_embed_metadata_keys=hidden,
        excluded_llm_metadata_keys=hidden,
    )


def _embed(
    nodes: Sequence[TextNode], name: str, embedder: Embedder, work: Path, tell: Tell
) -> list[TextNode]:
    """The nodes with their vectors, as far as possible from the cache."""
    database = SQLiteDatabase(work / "vectors.db", VECTORS_SCHEMA)
    drafts, owner, last_progress = (
        Drafts(database),
        f"{name} {_code('ragcore/embeddings').hex()[:16]}",
        time.monotonic(),
    )

    def note(step: Step) -> None:
        nonlocal last_progress
        drafts.keep(owner, step.vectors)
        if step.characters_left and (not step.vectors or time.monotonic() - last_progress > 30):
            last_progress = time.monotonic()
            tell(f"Embedding {step.done:,} of {len(nodes):,} passages ...")

    try:
        return PassageEmbedder(embedder).embed(nodes, drafts.vectors(owner), lambda work: work(), note)
    finally:
        database.close()


def _drop_unused(folder: Path) -> None:
    """Deletes older indexes of the same data set, and incomplete ones of killed processes."""
    name = folder.name.rpartition("-")[0]
    for other in folder.parent.glob(f"{name}-*"):
        used = other / WHOLE if (other / WHOLE).exists() else other
        if other.name.rpartition("-")[0] == name and time.time() - used.stat().st_mtime > UNUSED_SECONDS:
            shutil.rmtree(other)
