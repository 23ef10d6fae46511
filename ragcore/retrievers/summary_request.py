"""Passages for a summary. "Summarise these documents" is like no passage in them: what is wanted is what they are about.

Central passages are taken that do not repeat each other, with a place for each document as far as places go round.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from itertools import groupby
from operator import itemgetter

import numpy as np

from ragcore.errors import DamagedStoreError
from ragcore.observe import Span
from ragcore.questions.summary_requests import is_summary_request, topic_of
from ragcore.questions.topic import called
from ragcore.retrievers.base import BaseRetriever
from ragcore.schema import NodeWithScore, QueryBundle, TextNode
from ragcore.text.salience import centrality, diverse, shares
from ragcore.vector_stores.base import Store, StoredDocument
from ragcore.vector_stores.validation import unit

LOOKED_AT = 600  # passages, evenly spread: finding the central ones takes time with the square of their number
DOCUMENTS = 12  # that have a place of their own, even when `top_k` is less


class OverviewRetriever(BaseRetriever):
    """Answers wishes for a summary of everything, or of documents by their names; all else is passed on to `otherwise`."""

    name = "overview"

    def __init__(
        self, store: Store, top_k: int, *, otherwise: BaseRetriever, document_ids: Collection[str] | None = None
    ) -> None:
        self._store = store
        self._top_k = top_k
        self._document_ids = document_ids
        self._otherwise = otherwise

    def _retrieve(self, query: QueryBundle, step: Span) -> list[NodeWithScore]:
        summarises = is_summary_request(query.query_str)
        documents = [document for document in self._store.documents() if self._wanted(document.id_)] if summarises else []
        if topic := topic_of(query.query_str):
            meant = called(topic, {document.name for document in documents})
            documents = [document for document in documents if document.name in meant]
        if not summarises or (topic and not documents):
            step.note(retriever=self._otherwise.name)
            return self._otherwise._retrieve(query, step)
        try:
            nodes = [node for node in self._spread(documents) if node.embedding is not None]  # None: damaged
        except DamagedStoreError as error:
            step.note(damaged=error.what)
            return self._otherwise._retrieve(query, step)
        step.note(looked_at=len(nodes))
        if not nodes or self._top_k <= 0:
            return []
        vectors = np.stack([unit(node.embedding) for node in nodes if node.embedding is not None])
        ids = list(dict.fromkeys(node.ref_doc_id for node in nodes))
        groups = [ids.index(node.ref_doc_id) for node in nodes]
        scores = centrality(vectors)
        count = max(self._top_k, min(len(ids), DOCUMENTS))
        chosen = diverse(scores, vectors, groups, shares(Counter(groups), count))
        return [NodeWithScore(nodes[row], float(scores[row])) for row in sorted(chosen)]

    def _spread(self, documents: Sequence[StoredDocument]) -> Sequence[TextNode]:
        """Their passages, or so many of them, evenly spread, with their vectors."""
        every = max(sum(document.passages for document in documents) // LOOKED_AT, 1)
        places = [(document.id_, place) for document in documents for place in range(0, document.passages, every)]
        chosen = places[:: max(len(places) // LOOKED_AT, 1)]  # more documents than that: not each has a passage
        ids: list[str] = []
        for id_, of_document in groupby(chosen, key=itemgetter(0)):  # of thousands only some are asked for their passages
            passages = self._store.passage_ids(id_)
            ids += [passages[place] for _, place in of_document if place < len(passages)]
        return self._store.nodes(ids)

    def _wanted(self, document_id: str) -> bool:
        return self._document_ids is None or document_id in self._document_ids
