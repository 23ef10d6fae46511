"""Selects passages for a summary, because a request such as "Summarise these documents" resembles none of
them.

Each document contributes central passages that do not repeat each other, a spreadsheet also a description of
its whole table. More than DOCUMENTS are grouped by topic; each group contributes its central passages and the
names of its documents.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from operator import itemgetter

import numpy as np
import numpy.typing as npt

from ragcore.errors import DamagedStoreError
from ragcore.extractive.summary_requests import is_summary_request, request_language, topic_of
from ragcore.extractive.topic import find_titled, quoted_names
from ragcore.observe import Span
from ragcore.retrievers.base import BaseRetriever
from ragcore.schema import NodeWithScore, QueryBundle, TextNode, Vectors
from ragcore.text.overview_notes import DOCUMENTS_OF_GROUP, GROUP, TABLE
from ragcore.text.salience import centrality, diverse
from ragcore.text.table_facts import describe, list_names, tables_in
from ragcore.text.topic_groups import group_names, topic_groups
from ragcore.vector_stores.base import Store, StoredDocument
from ragcore.vector_stores.validation import unit

LOOKED_AT = (
    600  # passages, evenly spread: finding the central ones takes time with the square of their number
)
DOCUMENTS = 40  # that are summarised one by one; more are grouped
MOST = 60  # passages of an overview, unless `top_k` is more
PER_GROUP = 3  # passages, of different documents if possible
NAMED = 40  # documents of a group that are named
OPENING = 0.5  # what being a document's first passage counts, where being its most central one counts 1

# cosine to a passage of another document, from which it is a disclaimer or a letterhead that both have
REPEATED = 0.97


class OverviewRetriever(BaseRetriever):
    """Passages for a summary of all documents, or of some by their names; other questions go to the retriever
    `fallback`.

    Each document gives at least one passage, and up to `per_document` as far as MOST allows.

    >>> from ragcore.embeddings import HashEmbedding
    >>> from ragcore.indices import VectorStoreIndex
    >>> index = VectorStoreIndex([TextNode("A red boat."), TextNode("A gull.")], embed_model=HashEmbedding())
    >>> retriever = OverviewRetriever(index.vector_store, top_k=2, fallback=index.as_retriever())
    >>> [hit.text for hit in retriever.retrieve("Summarise these documents.")]
    ['A red boat.', 'A gull.']
    """

    name = "overview"

    def __init__(
        self,
        store: Store,
        top_k: int,
        *,
        fallback: BaseRetriever,
        document_ids: Collection[str] | None = None,
        per_document: int = 1,
    ) -> None:
        self._store = store
        self._top_k = top_k
        self._document_ids = document_ids
        self._fallback = fallback
        self._per_document = per_document

    def _retrieve(self, query: QueryBundle, step: Span) -> list[NodeWithScore]:
        documents = self._documents_to_summarise(query.query_str)
        if documents is None:
            step.note(retriever=self._fallback.name)
            return self._fallback._retrieve(query, step)
        try:
            nodes = [node for node in self._spread(documents) if node.embedding is not None]  # None: damaged
        except DamagedStoreError as error:
            step.note(damaged=error.what, retriever=self._fallback.name)
            return self._fallback._retrieve(query, step)
        step.note(looked_at=len(nodes))
        if not nodes or self._top_k <= 0:
            return []
        language = request_language(query.query_str)
        if len(documents) > DOCUMENTS:
            return self._of_groups(nodes, {document.id_: document.name for document in documents}, language)
        return self._of_each_document(nodes, language)

    def _documents_to_summarise(self, message: str) -> list[StoredDocument] | None:
        """The documents to summarise; None for a message that requests no summary of whole documents."""
        if not is_summary_request(message):
            return None
        among = self._document_ids
        documents = [
            document for document in self._store.documents() if among is None or document.id_ in among
        ]
        topic, names = topic_of(message), {document.name for document in documents}
        if quoted := quoted_names(message, names):
            return [document for document in documents if document.name in quoted]
        if not topic:
            return documents
        named = find_titled(topic, names)
        return [document for document in documents if document.name in named] or None

    def _spread(self, documents: Sequence[StoredDocument]) -> Sequence[TextNode]:
        """About LOOKED_AT of the documents' passages, evenly spread, with their vectors."""
        every = max(sum(document.passages for document in documents) // LOOKED_AT, 1)
        places = [
            (document.id_, place) for document in documents for place in range(0, document.passages, every)
        ]
        # more documents than that: not each has a passage
        chosen = places[:: max(len(places) // LOOKED_AT, 1)]
        ids: list[str] = []
        # of thousands of documents only some have passages here
        for id_, of_document in groupby(chosen, key=itemgetter(0)):
            passages = self._store.passage_ids(id_)
            ids += [passages[place] for _, place in of_document if place < len(passages)]
        return self._store.nodes(ids)

    def _of_each_document(self, nodes: Sequence[TextNode], language: str) -> list[NodeWithScore]:
        vectors, documents, scores = _measure(nodes)
        of_document = [number for number, rows in enumerate(documents) for _ in rows]
        each = max(self._top_k // len(documents), min(self._per_document, MOST // len(documents)), 1)
        chosen = sorted(diverse(scores, vectors, of_document, dict.fromkeys(of_document, each)))
        tables = [self._description(nodes[rows[0]], language) for rows in documents]
        return [
            NodeWithScore(
                _annotate(nodes[row], {TABLE: tables[of_document[row]]}),
                float(np.clip(scores[row], 0.0, 1.0)),
            )
            for row in chosen
        ]

    def _description(self, first: TextNode, language: str) -> str:
        """A description of a document's whole table; "" if its first passage is not part of a table."""
        if not first.ref_doc_id or not tables_in(first.text):
            return ""
        return " ".join(
            describe(table, language) for table in tables_in(self._store.document(first.ref_doc_id).text)
        )

    def _of_groups(
        self, nodes: Sequence[TextNode], names: Mapping[str, str], language: str
    ) -> list[NodeWithScore]:
        vectors, documents, _ = _measure(nodes)
        group_of = topic_groups(np.stack([unit(vectors[rows].mean(axis=0)) for rows in documents]))
        titles = group_names(["\n\n".join(nodes[row].text for row in rows) for rows in documents], group_of)
        hits: list[NodeWithScore] = []
        for group, title in enumerate(titles):
            members = [rows for rows, own in zip(documents, group_of, strict=True) if own == group]
            rows = [row for of_document in members for row in of_document]
            central = centrality(vectors[rows])
            of_document = [place for place, own in enumerate(members) for _ in own]
            first = diverse(central, vectors[rows], of_document, dict.fromkeys(range(len(members)), 1))[
                :PER_GROUP
            ]
            listing = list_names(
                [names.get(nodes[own[0]].ref_doc_id or "", "") for own in members], NAMED, language
            )
            notes = {GROUP: title, DOCUMENTS_OF_GROUP: listing}
            hits += [NodeWithScore(_annotate(nodes[rows[at]], notes), float(central[at])) for at in first]
        return hits


def _annotate(node: TextNode, notes: Mapping[str, str]) -> TextNode:
    """The passage with the notes that are not empty in its metadata, see `text/overview_notes.py`."""
    texts = {key: text for key, text in notes.items() if text}
    return replace(node, metadata={**texts, **node.metadata}) if texts else node


def _measure(nodes: Sequence[TextNode]) -> tuple[Vectors, list[list[int]], npt.NDArray[np.float64]]:
    """Unit vectors (n, d), the rows of each document, and how well each passage stands for its document
    (n,)."""
    vectors = np.stack([unit(node.embedding) for node in nodes if node.embedding is not None])
    documents: dict[str | None, list[int]] = {}
    for row, node in enumerate(nodes):
        documents.setdefault(node.ref_doc_id, []).append(row)
    scores, elsewhere = np.zeros(len(nodes)), vectors @ vectors.T  # (n, d) @ (d, n) -> (n, n)
    for rows in documents.values():
        scores[rows] = centrality(vectors[rows])
        scores[rows[0]] += OPENING
        elsewhere[np.ix_(rows, rows)] = 0
    scores -= elsewhere.max(axis=1) > REPEATED
    return vectors, list(documents.values()), scores
