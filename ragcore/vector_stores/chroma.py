"""A store in a Chroma collection, in this process or on a server.

The collection has the passages. A second one, "<name>-documents", has the documents and one record with a
stamp that changes with every write.

Chroma has no transactions, so a change becomes visible by the order of writing. First the passages of the new
version are written. Then one request writes the document's record, which names the version, and the stamp:
from now on the new passages count and the old ones do not. Last the old passages are deleted. A reader
compares the stamp before and after, and reads again if it has changed. A writer that dies in between leaves
the old or the new document; passages of a version that no document names are never returned, and are deleted
with their document. One process may write at a time, and any number may read.

Chroma's HNSW index, which may miss one of many, proposes passages, and their exact cosines decide. More are
requested until no other passage can be nearer. A collection of up to EXACT passages is compared completely,
so that none is missed.
"""

from __future__ import annotations

import json
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ragcore.errors import UnknownDocumentError
from ragcore.schema import Document, NodeWithScore, TextNode, Vector, Vectors
from ragcore.vector_stores.base import EVERYTHING, Candidates, Scope, StoredDocument
from ragcore.vector_stores.chroma_client import (
    connect_to,
    documents_collection,
    import_chromadb,
    translate_errors,
)
from ragcore.vector_stores.chroma_records import (
    BATCH,
    Record,
    Where,
    item_from_json,
    item_to_json,
    native_metadata,
    read_all,
    records_of,
    where_of,
    writable,
)
from ragcore.vector_stores.search import (
    ROUNDING,
    KeywordIndex,
    nearest,
    passage_terms,
    query_terms,
    unit_query,
)
from ragcore.vector_stores.types import LlamaIndexMethods
from ragcore.vector_stores.validation import describe, lengths, metadata_json, unit_rows

if TYPE_CHECKING:
    from chromadb import Collection as ChromaCollection


T = TypeVar("T")

MAX_IDS = 500  # in one condition; longer lists are checked here
REQUEST_BYTES = 16 << 20  # in one request, unless one passage is larger; a server accepts 40 MB
BYTES_PER_NUMBER = 6  # of a vector in a request
EXTRA = 32  # records requested at first beyond top_k
EXACT = 500  # passages that are all compared, without the index
STAMP = "stamp"  # the id of the record with the stamp
GONE = "gone"  # the version of a document that is being deleted


@dataclass(frozen=True, slots=True)
class _Header:
    """The record of a document without its text. `version` names its passages and orders the documents."""

    document: StoredDocument
    version: str


@dataclass(frozen=True, slots=True)
class _View:
    """The state at one stamp: the width of the vectors, and the documents, oldest first."""

    stamp: str
    dimension: int | None
    headers: Mapping[str, _Header]

    @property
    def passages(self) -> int:
        return sum(header.document.passages for header in self.headers.values())


class ChromaVectorStore(LlamaIndexMethods):
    """See `ragcore.vector_stores.base.Store` for what every method promises, and the head of this file for
    how.

    `chroma_collection` may have any space; the scores are cosines anyway. Records of other programs are
    ignored. A collection keeps the width of its first vector forever, also when it is empty again:
    DimensionError for another width.

    >>> from ragcore.embeddings import HashEmbedding
    >>> from ragcore.indices import VectorStoreIndex
    >>> from ragcore.storage import StorageContext
    >>> context = StorageContext.from_defaults(vector_store=ChromaVectorStore.from_params("example"))
    >>> index = VectorStoreIndex(
    ...     [TextNode("A boat is red.")], storage_context=context, embed_model=HashEmbedding()
    ... )
    >>> index.as_retriever().retrieve("a boat")[0].text
    'A boat is red.'
    """

    def __init__(self, chroma_collection: ChromaCollection) -> None:
        self._passages: Any = chroma_collection  # Any: its types allow anything in a record
        self._documents: Any = documents_collection(chroma_collection)
        self._view: _View | None = None
        self._lock = threading.RLock()
        self._words = _Words()
        self._own_client: Any = None

    @classmethod
    def from_params(
        cls,
        collection_name: str,
        *,
        persist_dir: str | None = None,
        host: str | None = None,
        port: int = 8000,
    ) -> ChromaVectorStore:
        """The collection of this name, created with cosine space if there is none.

        It is in the folder `persist_dir`, on the server at `host`, or in the memory of this process.
        """
        chromadb = import_chromadb()
        settings = chromadb.config.Settings(anonymized_telemetry=False)
        with translate_errors():
            if host is not None:
                client = connect_to(
                    f"{host}:{port}", partial(chromadb.HttpClient, host=host, port=port, settings=settings)
                )
            elif persist_dir is not None:
                path = str(Path(persist_dir).absolute())  # it opens further connections later
                client = chromadb.PersistentClient(path=path, settings=settings)
            else:
                client = chromadb.EphemeralClient(settings=settings)
            store = cls(
                client.get_or_create_collection(
                    collection_name, embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
                )
            )
        # Only an embedded client can be closed; that of a server never closes its connections.
        store._own_client = client if host is None else None
        return store

    def upsert(self, document: Document, nodes: Sequence[TextNode]) -> int:
        with self._lock, translate_errors():
            view = self._read_view()
            rows = unit_rows(document, nodes, view.dimension)
            metadata_json(document.metadata)  # TypeError before anything is written
            self._refuse_foreign(view, document, nodes)
            version = _version_after(max((header.version for header in view.headers.values()), default=""))
            self._add(document, nodes, rows, version)
            header = _Header(describe(document, len(nodes)), version)
            record = {
                "_version": version,
                "_stored": json.dumps(astuple(header.document)),
                "_record": item_to_json(document),
            }
            others = {id_: other for id_, other in view.headers.items() if id_ != document.id_}
            dimension = view.dimension or rows.shape[1] or None
            self._commit(dimension, {**others, document.id_: header}, document.id_, record, document.text)
            if (before := view.headers.get(document.id_)) is not None:
                self._passages.delete(where={"_version": before.version})
            return len(nodes)

    def delete(self, document_id: str) -> int:
        with self._lock, translate_errors():
            view = self._read_view()
            header = self._header(view, document_id)
            others = {id_: other for id_, other in view.headers.items() if id_ != document_id}
            self._commit(view.dimension, others, document_id, {"_version": GONE})
            self._passages.delete(where={"_document": document_id})
            self._documents.delete(ids=["d:" + document_id])
            return header.document.passages

    def document(self, document_id: str) -> Document:
        with translate_errors():
            answer = self._documents.get(ids=["d:" + document_id], include=["documents", "metadatas"])
            if not answer["ids"] or answer["metadatas"][0]["_version"] == GONE:
                raise UnknownDocumentError(document_id)
            document = item_from_json(answer["metadatas"][0]["_record"], answer["documents"][0])
            assert isinstance(document, Document)
            return document

    def documents(self) -> list[StoredDocument]:
        return [header.document for header in self._current_view().headers.values()]

    def nodes(self, ids: Sequence[str]) -> list[TextNode]:
        records = self._retry_until_stable(
            lambda view: self._records(view, Scope(node_ids=ids), embeddings=True)
        )
        nodes = {record.node.id_: record.node.with_embedding(record.original_vector) for record in records}
        return [nodes[id_] for id_ in ids if id_ in nodes]

    def passages(self, document_id: str | None = None) -> Iterator[TextNode]:
        view = self._current_view()
        ids = list(view.headers) if document_id is None else [self._header(view, document_id).document.id_]
        return (node for id_ in ids for node in self._passages_of(id_))

    def passage_ids(self, document_id: str) -> list[str]:
        return [node.id_ for node in self._passages_of(document_id)]

    def search(self, query: Vector, top_k: int, scope: Scope = EVERYTHING) -> list[NodeWithScore]:
        def search_in(view: _View) -> list[NodeWithScore]:
            if view.dimension is None or not view.passages:
                return []
            vector = unit_query(query, view.dimension)
            if top_k <= 0:
                return []
            total, count = self._passages.count(), top_k + EXTRA
            if total <= EXACT:
                return _best(self._records(view, scope, embeddings=True), vector, top_k)
            condition = _Condition(view, scope)
            while True:
                proposed = self._propose(vector, min(count, total), condition.where)
                matching = sorted(filter(condition.matches, proposed), key=lambda record: record.order)
                best = _best(matching, vector, top_k)
                least = best[-1].get_score() if len(best) == top_k else -np.inf
                if (
                    count >= total
                    or len(proposed) < count
                    or self._cosine_bound(proposed[-1].distance) < least - ROUNDING
                ):
                    return best
                count *= 4

        return self._retry_until_stable(search_in)

    def keyword_search(self, query: str, top_k: int, scope: Scope = EVERYTHING) -> list[NodeWithScore]:
        terms = query_terms(query)
        if top_k <= 0 or not terms:
            return []

        def search_in(view: _View) -> list[NodeWithScore]:
            words = self._words
            words.update(view, lambda ids: self._records(view, Scope(ids)))
            among = None
            if scope != EVERYTHING:
                among = {
                    words.positions[record.metadata["_node_id"]] for record in self._records(view, scope)
                }
            hits = [
                (words.ids[position], score) for position, score in words.index.search(terms, top_k, among)
            ]
            records = self._records(view, Scope(node_ids=[id_ for id_, _ in hits]))
            nodes = {record.node.id_: record.node for record in records}
            # others are deleted meanwhile
            return [NodeWithScore(nodes[id_], score) for id_, score in hits if id_ in nodes]

        return self._retry_until_stable(search_in)

    def candidates(self, scope: Scope = EVERYTHING) -> Candidates:
        def read(view: _View) -> Candidates:
            records = self._records(view, scope, embeddings=True)
            sizes = np.array([record.metadata["_length"] for record in records], np.float32)
            ids = [record.metadata["_node_id"] for record in records]
            return Candidates(ids, _rows_of(records, view.dimension or 0), sizes)

        return self._retry_until_stable(read)

    def __len__(self) -> int:
        return self._current_view().passages

    def close(self) -> None:
        """Close the embedded Chroma of `from_params`. The client of another collection stays open."""
        if self._own_client is not None:
            self._own_client.close()
            self._own_client = None

    # --- views ----------------------------------------------------------------------------------------------

    def _stamp(self) -> tuple[str, int | None]:
        records = self._documents.get(ids=[STAMP], include=["metadatas"])["metadatas"] or []
        return (records[0]["_stamp"], records[0]["_dimension"] or None) if records else ("", None)

    def _read_view(self) -> _View:
        stamp, dimension = self._stamp()
        view = self._view
        if view is None or view.stamp != stamp:
            read = read_all(self._documents, {"_version": {"$ne": GONE}}, ["metadatas"])
            records = [each.metadata for each in read if "_version" in each.metadata]
            records.sort(key=lambda record: record["_version"])
            headers = [
                _Header(StoredDocument(*json.loads(each["_stored"])), each["_version"]) for each in records
            ]
            view = self._view = _View(stamp, dimension, {header.document.id_: header for header in headers})
        return view

    def _current_view(self) -> _View:
        with self._lock, translate_errors():
            return self._read_view()

    def _retry_until_stable(self, read: Callable[[_View], T]) -> T:
        """Call `read` again until nobody has written meanwhile."""
        with self._lock, translate_errors():
            while True:
                view = self._read_view()
                result = read(view)
                if self._stamp()[0] == view.stamp:
                    return result

    def _commit(
        self,
        dimension: int | None,
        headers: Mapping[str, _Header],
        document_id: str,
        record: Mapping[str, str],
        text: str = "",
    ) -> None:
        """Write a document's record and the stamp in one request, which Chroma executes whole or not at
        all."""
        view = _View(secrets.token_hex(8), dimension, headers)
        self._documents.upsert(
            ids=["d:" + document_id, STAMP],
            embeddings=[[1.0], [1.0]],
            documents=[writable(text), ""],
            metadatas=[dict(record), {"_stamp": view.stamp, "_dimension": dimension or 0}],
        )
        self._view = view

    def _header(self, view: _View, document_id: str) -> _Header:
        if document_id not in view.headers:
            raise UnknownDocumentError(document_id)
        return view.headers[document_id]

    # --- records --------------------------------------------------------------------------------------------

    def _add(self, document: Document, nodes: Sequence[TextNode], rows: Vectors, version: str) -> None:
        metadatas = [
            {
                **native_metadata(node),
                "_document": document.id_,
                "_version": version,
                "_place": position,
                "_node_id": node.id_,
                "_length": length,
                "_record": item_to_json(replace(node, ref_doc_id=document.id_)),
            }
            for position, (node, length) in enumerate(zip(nodes, lengths(nodes), strict=True))
        ]
        texts = [writable(node.text) for node in nodes]
        sizes = [
            len(text.encode()) + len(str(metadata)) for text, metadata in zip(texts, metadatas, strict=True)
        ]
        for part in _requests(sizes, rows.shape[1]):
            self._passages.add(
                ids=[f"{node.id_}#{version}" for node in nodes[part]],
                embeddings=rows[part],
                documents=texts[part],
                metadatas=metadatas[part],
            )

    def _refuse_foreign(self, view: _View, document: Document, nodes: Sequence[TextNode]) -> None:
        for record in self._records(view, Scope(node_ids=[node.id_ for node in nodes])):
            owner = record.metadata["_document"]
            if owner != document.id_:
                id_ = record.node.id_
                raise ValueError(f"node {id_!r} of {document.id_!r} is already a node of {owner!r}")

    def _records(self, view: _View, scope: Scope, *, embeddings: bool = False) -> list[Record]:
        """The passages in this scope, in order of insertion."""
        include = ["metadatas", "documents", *(["embeddings"] if embeddings else [])]
        parts = [scope]
        if scope.node_ids is not None:
            ids = list(dict.fromkeys(scope.node_ids))
            starts = range(0, len(ids), MAX_IDS)
            parts = [replace(scope, node_ids=ids[start : start + MAX_IDS]) for start in starts]
        records: list[Record] = []
        for condition in [_Condition(view, part) for part in parts]:
            records += filter(condition.matches, read_all(self._passages, condition.where, include))
        return sorted(records, key=lambda record: record.order)

    def _passages_of(self, document_id: str) -> list[TextNode]:
        records = self._retry_until_stable(lambda view: self._records(view, Scope([document_id])))
        return [record.node for record in records]

    def _propose(self, vector: Vector, count: int, where: Where | None) -> list[Record]:
        """The nearest by Chroma's index, nearest first."""
        include = ["metadatas", "documents", "embeddings", "distances"]
        answer = self._passages.query(
            query_embeddings=[vector], n_results=count, where=where, include=include
        )
        return records_of({name: answer[name][0] for name in ("ids", *include)})

    def _cosine_bound(self, distance: float) -> float:
        """The highest cosine of any vector of length 1 or 0 beyond this distance."""
        return 1 - distance / 2 if self._space == "l2" else 1 - distance

    @cached_property
    def _space(self) -> str:
        settings = self._passages.configuration_json
        return str((settings.get("hnsw") or settings.get("spann") or {}).get("space", "l2"))


class _Condition:
    """A scope as a condition: `where` is the part that Chroma can check, `matches` checks it exactly."""

    def __init__(self, view: _View, scope: Scope) -> None:
        self._versions = {header.version for header in view.headers.values()}
        self._documents = None if scope.document_ids is None else set(scope.document_ids)
        self._nodes = None if scope.node_ids is None else set(scope.node_ids)
        self._filters = scope.filters
        conditions: list[Where] = []
        for key, ids in (("_document", self._documents), ("_node_id", self._nodes)):
            if ids is not None and len(ids) <= MAX_IDS:
                conditions.append({key: {"$in": sorted(ids) or [""]}})
        if scope.filters is not None and (pushed := where_of(scope.filters)) is not None:
            conditions.append(pushed)
        # Chroma is fastest without any condition.
        several = len(conditions) > 1
        self.where: Where | None = {"$and": conditions} if several else next(iter(conditions), None)

    def matches(self, record: Record) -> bool:
        metadata = record.metadata
        return (
            metadata.get("_version") in self._versions  # records of other programs have none
            and (self._documents is None or metadata["_document"] in self._documents)
            and (self._nodes is None or metadata["_node_id"] in self._nodes)
            and (self._filters is None or self._filters.match(record.node.metadata))
        )


class _Words:
    """The words of the passages in the latest view. Only new passages are read."""

    def __init__(self) -> None:
        self.index = KeywordIndex()
        self.ids: dict[int, str] = {}  # by position
        self.positions: dict[str, int] = {}
        # by version: each passage's position and words
        self._versions: dict[str, list[tuple[int, tuple[str, ...]]]] = {}
        self._next = 0

    def update(self, view: _View, read: Callable[[list[str]], list[Record]]) -> None:
        """Follow this view. New documents come after the known ones."""
        documents = {header.version: id_ for id_, header in view.headers.items()}
        for version in self._versions.keys() - documents.keys():
            for position, terms in self._versions.pop(version):
                self.index.remove(position, terms)
                del self.positions[self.ids.pop(position)]
        new = {version: id_ for version, id_ in documents.items() if version not in self._versions}
        records = read(list(new.values())) if new else []
        self._versions |= {version: [] for version in new}
        for position, record in enumerate(records, self._next):
            words = passage_terms(record.node)
            self._versions[record.metadata["_version"]].append((position, tuple(set(words))))
            self.ids[position], self.positions[record.node.id_] = record.node.id_, position
            self.index.add(position, words)
        self._next += len(records)


def _requests(sizes: Sequence[int], width: int) -> Iterator[slice]:
    """Groups of passages for one request each. `sizes` are their bytes without the vectors, which have
    `width` numbers."""
    start, total = 0, 0
    for position, size in enumerate(sizes):
        total += size + BYTES_PER_NUMBER * width
        if position > start and (position - start == BATCH or total > REQUEST_BYTES):
            yield slice(start, position)
            start, total = position, size + BYTES_PER_NUMBER * width
    if start < len(sizes):
        yield slice(start, len(sizes))


def _best(records: Sequence[Record], vector: Vector, top_k: int) -> list[NodeWithScore]:
    """The nearest of these records, whose order decides between equals."""
    positions, scores = nearest(_rows_of(records, len(vector)), vector, top_k)
    pairs = zip(positions, scores, strict=True)
    return [NodeWithScore(records[position].node, float(score)) for position, score in pairs]


def _rows_of(records: Sequence[Record], dimension: int) -> Vectors:
    rows = [record.row for record in records if record.row is not None]
    return np.stack(rows) if rows else np.empty((0, dimension), np.float32)


def _version_after(newest: str) -> str:
    """A name for a version that sorts after `newest`, even if the clock was set back."""
    now = max(time.time_ns(), int(newest[:16] or "0", 16) + 1)
    return f"{now:016x}{secrets.token_hex(4)}"
