"""A store in a Chroma collection, in this process or on a server.

The collection holds the passages. A second one beside it, "<name>-documents", holds the documents, and one record that gets a
new stamp after every change.

Chroma knows no transactions, so the order of writing makes a change whole. The passages of a new version are written first;
then, in one request, the document's record, which names the version, and the stamp: from here on the new passages count and
the old ones do not; last the old ones are deleted. A reader looks at the stamp before and after, and reads again if it has
changed. A writer that dies on the way leaves the old or the new document; passages of a version that no document names are
never found, and go when their document is deleted. One process may write at a time, and any number may read.

Chroma's index proposes (HNSW, which may miss one of many) and the exact cosines decide. More are asked for until nothing left
out could be nearer than what was found. Of up to LOOKED_AT passages none can be missed: all are looked at.
"""

from __future__ import annotations

import json
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ragcore.errors import MissingPackageError, StoreError, UnknownDocumentError
from ragcore.schema import Document, NodeWithScore, TextNode
from ragcore.vector_stores.base import EVERYTHING, Candidates, Scope, StoredDocument
from ragcore.vector_stores.chroma_records import BATCH, Found, as_put, everything, founds_of, item_of, record_of
from ragcore.vector_stores.chroma_where import Where, native, where_of, writable
from ragcore.vector_stores.search import ROUNDING, KeywordIndex, nearest, passage_terms, query_terms, unit_query
from ragcore.vector_stores.types import LlamaIndexMethods
from ragcore.vector_stores.validation import lengths, metadata_json, shown_name, unit_rows

if TYPE_CHECKING:
    from chromadb import Collection as ChromaCollection

    from ragcore.schema import Vector, Vectors

T = TypeVar("T")

MOST_NAMED = 500  # ids in one condition; more are looked at here
REQUEST_BYTES = 16 << 20  # sent at a time, unless one passage is larger: a server takes 40 MB
BYTES_EACH = 6  # of a number of a vector, on its way
AT_FIRST = 32  # records asked for beyond top_k
LOOKED_AT = 500  # passages that are compared one by one, without the index
STAMP = "stamp"  # the record of the documents' collection that is none
GONE = "gone"  # the version of a document that is being deleted


@dataclass(frozen=True, slots=True)
class _Header:
    """A document's record without its text. `version` names its passages, and orders the documents."""

    document: StoredDocument
    version: str


@dataclass(frozen=True, slots=True)
class _View:
    """What there is at one stamp: the width of the vectors, and the documents, oldest first."""

    stamp: str
    dimension: int | None
    headers: Mapping[str, _Header]

    @property
    def passages(self) -> int:
        return sum(header.document.passages for header in self.headers.values())


class ChromaVectorStore(LlamaIndexMethods):
    """See `ragcore.vector_stores.base.Store` for what every method promises, and the head of this file for how.

    `chroma_collection` may have any space; the scores are cosines all the same. Records that others put there are not seen. A
    collection keeps the width of its first vector for good, also when it is emptied: DimensionError for another.
    """

    def __init__(self, chroma_collection: ChromaCollection) -> None:
        self._passages: Any = chroma_collection  # whose own types say of a record that it may be anything
        self._documents: Any = _beside(chroma_collection)
        self._view: _View | None = None
        self._lock = threading.RLock()
        self._words = _Words()
        self._own_client: Any = None

    @classmethod
    def from_params(
        cls, collection_name: str, *, persist_dir: str | None = None, host: str | None = None, port: int = 8000
    ) -> ChromaVectorStore:
        """The collection of this name, made with cosine space if there is none.

        In the folder `persist_dir`, or on the server at `host`, or in this process's memory.
        """
        chromadb = _chromadb()
        settings = chromadb.config.Settings(anonymized_telemetry=False)
        with _in_words():
            if host is not None:
                client = _client_of(f"{host}:{port}", partial(chromadb.HttpClient, host=host, port=port, settings=settings))
            elif persist_dir is not None:
                client = chromadb.PersistentClient(path=persist_dir, settings=settings)
            else:
                client = chromadb.EphemeralClient(settings=settings)
            store = cls(
                client.get_or_create_collection(
                    collection_name, embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
                )
            )
        # A client of a server keeps its connections whatever one does: only an embedded one can be closed.
        store._own_client = client if host is None else None
        return store

    def put(self, document: Document, nodes: Sequence[TextNode]) -> int:
        with self._lock, _in_words():
            view = self._look()
            rows = unit_rows(document, nodes, view.dimension)
            metadata_json(document.metadata)
            self._refuse_foreign(view, document, nodes)
            before = view.headers.get(document.id_)
            newest = max((header.version for header in view.headers.values()), default="")
            version = _after(newest)
            self._add(document, nodes, rows, version)
            header = _Header(
                StoredDocument(document.id_, shown_name(document), document.hash, len(nodes), len(document.text), time.time()),
                version,
            )
            told = {"_version": version, "_stored": json.dumps(astuple(header.document)), "_record": record_of(document)}
            others = {id_: other for id_, other in view.headers.items() if id_ != document.id_}
            dimension = view.dimension or rows.shape[1] or None
            self._commit(dimension, {**others, document.id_: header}, document.id_, told, document.text)
            if before is not None:
                self._passages.delete(where={"_version": before.version})
            return len(nodes)

    def delete(self, document_id: str) -> int:
        with self._lock, _in_words():
            view = self._look()
            header = self._header(view, document_id)
            others = {id_: other for id_, other in view.headers.items() if id_ != document_id}
            self._commit(view.dimension, others, document_id, {"_version": GONE})
            self._passages.delete(where={"_document": document_id})
            self._documents.delete(ids=["d:" + document_id])
            return header.document.passages

    def document(self, document_id: str) -> Document:
        with _in_words():
            found = self._documents.get(ids=["d:" + document_id], include=["documents", "metadatas"])
            if not found["ids"] or found["metadatas"][0]["_version"] == GONE:
                raise UnknownDocumentError(document_id)
            document = item_of(found["metadatas"][0]["_record"], found["documents"][0])
            assert isinstance(document, Document)
            return document

    def documents(self) -> list[StoredDocument]:
        return [header.document for header in self._now().headers.values()]

    def nodes(self, ids: Sequence[str]) -> list[TextNode]:
        found = self._at_one_moment(lambda view: self._records(view, Scope(node_ids=ids), embeddings=True))
        nodes = {each.node.id_: each.node.with_embedding(as_put(each)) for each in found}
        return [nodes[id_] for id_ in ids if id_ in nodes]

    def passages(self, document_id: str | None = None) -> Iterator[TextNode]:
        view = self._now()
        chosen = [self._header(view, document_id).document.id_] if document_id is not None else list(view.headers)
        return (node for id_ in chosen for node in self._passages_of(id_))

    def passage_ids(self, document_id: str) -> list[str]:
        return [node.id_ for node in self._passages_of(document_id)]

    def search(self, query: Vector, top_k: int, scope: Scope = EVERYTHING) -> list[NodeWithScore]:
        def found(view: _View) -> list[NodeWithScore]:
            if view.dimension is None or not view.passages:
                return []
            vector = unit_query(query, view.dimension)
            if top_k <= 0:
                return []
            total, count = self._passages.count(), top_k + AT_FIRST
            if total <= LOOKED_AT:
                return _best_of(self._records(view, scope, embeddings=True), vector, top_k)
            chosen = _Chosen(view, scope)
            while True:
                proposed = self._proposed(vector, min(count, total), chosen.where)
                fitting = sorted((each for each in proposed if chosen.holds(each)), key=lambda each: each.order)
                best = _best_of(fitting, vector, top_k)
                least = best[-1].get_score() if len(best) == top_k else -np.inf
                if count >= total or len(proposed) < count or self._bound(proposed[-1].distance) < least - ROUNDING:
                    return best
                count *= 4

        return self._at_one_moment(found)

    def keyword_search(self, query: str, top_k: int, scope: Scope = EVERYTHING) -> list[NodeWithScore]:
        terms = query_terms(query)
        if top_k <= 0 or not terms:
            return []

        def found(view: _View) -> list[NodeWithScore]:
            words = self._words
            words.follow(view, lambda new: self._records(view, Scope(new)))
            among = None
            if scope != EVERYTHING:
                among = {words.places[each.metadata["_node_id"]] for each in self._records(view, scope)}
            hits = [(words.ids[place], score) for place, score in words.index.search(terms, top_k, among)]
            nodes = {each.node.id_: each.node for each in self._records(view, Scope(node_ids=[id_ for id_, _ in hits]))}
            return [NodeWithScore(nodes[id_], score) for id_, score in hits if id_ in nodes]  # else it is gone since the view

        return self._at_one_moment(found)

    def candidates(self, scope: Scope = EVERYTHING) -> Candidates:
        def found(view: _View) -> Candidates:
            records = self._records(view, scope, embeddings=True)
            return Candidates(
                ids=[each.metadata["_node_id"] for each in records],
                rows=_rows_of(records, view.dimension or 0),
                lengths=np.array([each.metadata["_length"] for each in records], np.float32),
            )

        return self._at_one_moment(found)

    def __len__(self) -> int:
        return self._now().passages

    def close(self) -> None:
        """Close the embedded Chroma that `from_params` opened; one whose collection was given is its owner's."""
        if self._own_client is not None:
            self._own_client.close()
            self._own_client = None

    # --- what there is --------------------------------------------------------------------------------------------------

    def _stamp(self) -> tuple[str, int | None]:
        found = self._documents.get(ids=[STAMP], include=["metadatas"])["metadatas"] or []
        return (found[0]["_stamp"], found[0]["_dimension"] or None) if found else ("", None)

    def _look(self) -> _View:
        stamp, dimension = self._stamp()
        view = self._view
        if view is None or view.stamp != stamp:
            kept = everything(self._documents, {"_version": {"$ne": GONE}}, ["metadatas"])
            records = sorted((each.metadata for each in kept if "_version" in each.metadata), key=lambda each: each["_version"])
            headers = [_Header(StoredDocument(*json.loads(each["_stored"])), each["_version"]) for each in records]
            view = self._view = _View(stamp, dimension, {header.document.id_: header for header in headers})
        return view

    def _now(self) -> _View:
        with self._lock, _in_words():
            return self._look()

    def _at_one_moment(self, work: Callable[[_View], T]) -> T:
        """`work` with nobody's change in between."""
        with self._lock, _in_words():
            while True:
                view = self._look()
                done = work(view)
                if self._stamp()[0] == view.stamp:
                    return done

    def _commit(
        self,
        dimension: int | None,
        headers: Mapping[str, _Header],
        document_id: str,
        told: Mapping[str, str],
        text: str = "",
    ) -> None:
        """What is told of one document, and the stamp, in one request, which Chroma does whole or not at all."""
        view = _View(secrets.token_hex(8), dimension, headers)
        self._documents.upsert(
            ids=["d:" + document_id, STAMP],
            embeddings=[[1.0], [1.0]],
            documents=[writable(text), ""],
            metadatas=[dict(told), {"_stamp": view.stamp, "_dimension": dimension or 0}],
        )
        self._view = view

    def _header(self, view: _View, document_id: str) -> _Header:
        if document_id not in view.headers:
            raise UnknownDocumentError(document_id)
        return view.headers[document_id]

    # --- records --------------------------------------------------------------------------------------------------------

    def _add(self, document: Document, nodes: Sequence[TextNode], rows: Vectors, version: str) -> None:
        sizes = lengths(nodes)
        metadatas = [
            {
                **native(node),
                "_document": document.id_,
                "_version": version,
                "_place": place,
                "_node_id": node.id_,
                "_length": length,
                "_record": record_of(replace(node, ref_doc_id=document.id_)),
            }
            for place, (node, length) in enumerate(zip(nodes, sizes, strict=True))
        ]
        texts = [writable(node.text) for node in nodes]
        sizes_sent = [len(text.encode()) + len(str(told)) for text, told in zip(texts, metadatas, strict=True)]
        for part in _requests(sizes_sent, rows.shape[1]):
            self._passages.add(
                ids=[f"{node.id_}#{version}" for node in nodes[part]],
                embeddings=rows[part],
                documents=texts[part],
                metadatas=metadatas[part],
            )

    def _refuse_foreign(self, view: _View, document: Document, nodes: Sequence[TextNode]) -> None:
        for found in self._records(view, Scope(node_ids=[node.id_ for node in nodes])):
            owner = found.metadata["_document"]
            if owner != document.id_:
                raise ValueError(f"node {found.node.id_!r} of {document.id_!r} is already a node of {owner!r}")

    def _records(self, view: _View, scope: Scope, *, embeddings: bool = False) -> list[Found]:
        """The passages in this scope, in order of insertion."""
        include = ["metadatas", "documents", *(["embeddings"] if embeddings else [])]
        parts = [scope]
        if scope.node_ids is not None:
            names = list(dict.fromkeys(scope.node_ids))
            starts = range(0, len(names), MOST_NAMED)
            parts = [replace(scope, node_ids=names[start : start + MOST_NAMED]) for start in starts]
        chosen = [_Chosen(view, part) for part in parts]
        found = [each for part in chosen for each in everything(self._passages, part.where, include) if part.holds(each)]
        return sorted(found, key=lambda each: each.order)

    def _passages_of(self, document_id: str) -> list[TextNode]:
        return [each.node for each in self._at_one_moment(lambda view: self._records(view, Scope([document_id])))]

    def _proposed(self, vector: Vector, count: int, where: Where | None) -> list[Found]:
        """What Chroma's index holds to be nearest, nearest first."""
        asked = ["metadatas", "documents", "embeddings", "distances"]
        answer = self._passages.query(query_embeddings=[vector], n_results=count, where=where, include=asked)
        return founds_of({name: answer[name][0] for name in ("ids", *asked)})

    def _bound(self, distance: float) -> float:
        """The cosine that nothing beyond this distance exceeds, be its vector of length 1 or 0."""
        return 1 - distance / 2 if self._space == "l2" else 1 - distance

    @cached_property
    def _space(self) -> str:
        settings = self._passages.configuration_json
        return str((settings.get("hnsw") or settings.get("spann") or {}).get("space", "l2"))


class _Chosen:
    """A scope: as far as Chroma can tell in `where`, exactly by `holds`."""

    def __init__(self, view: _View, scope: Scope) -> None:
        self._versions = {header.version for header in view.headers.values()}
        self._documents = None if scope.document_ids is None else set(scope.document_ids)
        self._nodes = None if scope.node_ids is None else set(scope.node_ids)
        self._filters = scope.filters
        conditions: list[Where] = []
        for key, ids in (("_document", self._documents), ("_node_id", self._nodes)):
            if ids is not None and len(ids) <= MOST_NAMED:
                conditions.append({key: {"$in": sorted(ids) or [""]}})
        if scope.filters is not None and (pushed := where_of(scope.filters)) is not None:
            conditions.append(pushed)
        # No condition at all is much the fastest for Chroma.
        self.where: Where | None = {"$and": conditions} if len(conditions) > 1 else conditions[0] if conditions else None

    def holds(self, found: Found) -> bool:
        told = found.metadata
        return (
            told.get("_version") in self._versions  # and so not what others put there
            and (self._documents is None or told["_document"] in self._documents)
            and (self._nodes is None or told["_node_id"] in self._nodes)
            and (self._filters is None or self._filters.match(found.node.metadata))
        )


class _Words:
    """The words of the passages as they are in one view after the other; only what is new is read."""

    def __init__(self) -> None:
        self.index = KeywordIndex()
        self.ids: dict[int, str] = {}  # by place
        self.places: dict[str, int] = {}
        self._held: dict[str, list[tuple[int, tuple[str, ...]]]] = {}  # by version: each passage's place and words
        self._next = 0

    def follow(self, view: _View, records_of: Callable[[list[str]], list[Found]]) -> None:
        """Bring them up to this view, whose new documents come behind those that are known."""
        documents = {header.version: id_ for id_, header in view.headers.items()}
        for version in self._held.keys() - documents.keys():
            for place, gone in self._held.pop(version):
                self.index.remove(place, gone)
                del self.places[self.ids.pop(place)]
        new = {version: id_ for version, id_ in documents.items() if version not in self._held}
        records = records_of(list(new.values())) if new else []
        self._held |= {version: [] for version in new}
        for found in records:
            place, terms = self._next, passage_terms(found.node)
            self._next += 1
            self._held[found.metadata["_version"]].append((place, tuple(set(terms))))
            self.ids[place], self.places[found.node.id_] = found.node.id_, place
            self.index.add(place, terms)


def _beside(passages: ChromaCollection) -> ChromaCollection:
    """The collection of the documents, made if there is none."""
    _chromadb()
    from chromadb import Collection as Handle

    client = passages._client  # a collection names its server nowhere else
    with _in_words():
        model = client.get_or_create_collection(
            f"{passages.name}-documents", configuration={}, tenant=passages.tenant, database=passages.database
        )
    return Handle(client=client, model=model, embedding_function=None)


def _chromadb() -> Any:
    try:
        import chromadb
    except ImportError as error:
        raise MissingPackageError("chromadb", extra="chroma") from error
    return chromadb


@contextmanager
def _in_words() -> Iterator[None]:
    """Chroma's failures as errors that a person can act on."""
    import httpx
    from chromadb.errors import ChromaError, NotFoundError

    try:
        yield
    except httpx.TransportError as error:
        raise StoreError(
            f"The Chroma server does not answer: {error}.", hint="Start it with: chroma run. Then check host and port."
        ) from error
    except NotFoundError as error:
        raise StoreError(
            f"The Chroma collection is gone: {error}.", hint="It was deleted while in use. Open it anew."
        ) from error
    except ChromaError as error:
        raise _refused(error) from error
    except Exception as error:  # its bare form is the client's for what a server answers and it has no name for
        if type(error) is not Exception:
            raise
        raise _refused(error) from error


def _refused(error: Exception) -> StoreError:
    return StoreError(f"Chroma refuses: {error}.", hint="Look at the collection's settings and the server's log.")


def _client_of(place: str, connected: Callable[[], Any]) -> Any:
    try:
        return connected()
    except ValueError as error:  # which the client makes of anything that fails while it connects
        raise StoreError(
            f"No Chroma server answers at {place}.", hint="Start it with: chroma run. Then check host and port."
        ) from error


def _requests(sizes: Sequence[int], width: int) -> Iterator[slice]:
    """Passages to be sent together. `sizes` are their bytes beside their vectors, which have `width` numbers."""
    start, sent = 0, 0
    for place, size in enumerate(sizes):
        sent += size + BYTES_EACH * width
        if place > start and (place - start == BATCH or sent > REQUEST_BYTES):
            yield slice(start, place)
            start, sent = place, size + BYTES_EACH * width
    if start < len(sizes):
        yield slice(start, len(sizes))


def _best_of(found: Sequence[Found], vector: Vector, top_k: int) -> list[NodeWithScore]:
    """`found`: in order of insertion, which decides between equals."""
    places, scores = nearest(_rows_of(found, len(vector)), vector, top_k)
    return [NodeWithScore(found[place].node, float(score)) for place, score in zip(places, scores, strict=True)]


def _rows_of(found: Sequence[Found], dimension: int) -> Vectors:
    return np.stack([each.row for each in found if each.row is not None]) if found else np.empty((0, dimension), np.float32)


def _after(newest: str) -> str:
    """A name for a version that sorts behind `newest`, whatever the clock says."""
    now = max(time.time_ns(), int(newest[:16] or "0", 16) + 1)
    return f"{now:016x}{secrets.token_hex(4)}"
