"""Nearest passages in memory: their order and scores, limited by ids and by metadata filters of every kind;
MMR."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from typing import Any

from tests.differential.cases import Case

OPERATORS = [
    "==",
    "!=",
    ">",
    "<",
    ">=",
    "<=",
    "in",
    "nin",
    "any",
    "all",
    "contains",
    "text_match",
    "is_empty",
]
METADATA: list[dict[str, Any]] = [
    {"genre": "crime", "year": 1972, "tags": ["mafia", "family"], "title": "The Godfather"},
    {"genre": "drama", "year": 1994, "tags": ["prison"], "title": "The Shawshank Redemption"},
    {"genre": "science", "year": 2010, "tags": ["dream", "family"], "title": "Inception"},
    {"genre": "crime", "year": 1994, "title": "Pulp Fiction"},
    {"year": 1999, "tags": [], "title": "The Matrix"},
]
VALUES: dict[str, list[tuple[str, Any]]] = {
    "==": [("genre", "crime"), ("year", 1994)],
    "!=": [("genre", "crime"), ("year", 1994)],
    ">": [("year", 1994)],
    "<": [("year", 1994)],
    ">=": [("year", 1994)],
    "<=": [("year", 1994)],
    "in": [("genre", ["crime", "drama"]), ("year", [1994, 2010])],
    "nin": [("genre", ["crime", "drama"]), ("year", [1994, 2010])],
    "any": [("tags", ["family", "prison"])],
    "all": [("tags", ["mafia", "family"])],
    "contains": [("tags", "family")],
    "text_match": [("title", "The")],
    "is_empty": [("tags", None), ("genre", None)],
}


def cases() -> Iterator[Case]:
    for operator, pairs in VALUES.items():
        for number, (key, value) in enumerate(pairs):
            single = [{"key": key, "value": value, "operator": operator}]
            yield Case(f"filter-{operator}-{number}", _case(filters=single))
    year = {"key": "year", "value": 1994, "operator": "=="}
    genre = {"key": "genre", "value": "crime", "operator": "=="}
    for condition in ("and", "or", "not"):
        yield Case(f"two-filters-{condition}", _case(filters=[year, genre], condition=condition))
    yield Case("unknown-key", _case(filters=[{"key": "nobody", "value": 1, "operator": "=="}]))
    for top_k in (0, 1, 3, 9):
        yield Case(f"top-{top_k}", _case(top_k=top_k))
    yield Case("some-ids", _case(node_ids=["n1", "n3"]))
    yield Case("no-ids", _case(node_ids=[]))
    yield Case("documents", _case(doc_ids=["d0", "d2"]))
    yield Case("zero-query", _case(query=[0.0, 0.0, 0.0]))
    chance = random.Random(13)
    for number in range(20):
        query = [round(chance.gauss(0, 1), 3) for _ in range(3)]
        yield Case(f"random-{number}", _case(query=query, top_k=chance.randint(1, 5)))
    for number in range(12):
        query = [round(chance.gauss(0, 1), 3) for _ in range(3)]
        threshold = chance.choice([0.2, 0.5, 0.8, 1.0])
        yield Case(f"mmr-{number}", _case(query=query, top_k=chance.choice([2, 3, 5]), mmr=threshold))


def _case(**given: Any) -> dict[str, Any]:
    base = {
        "query": [0.2, 0.9, 0.4],
        "top_k": 5,
        "filters": [],
        "condition": "and",
        "node_ids": None,
        "doc_ids": None,
        "mmr": None,
    }
    return {**base, **given}


def _rows() -> list[list[float]]:
    chance = random.Random(1)
    return [[round(chance.gauss(0, 1), 3) for _ in range(3)] for _ in METADATA]


def theirs(given: Any) -> Any:
    from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode
    from llama_index.core.vector_stores.simple import SimpleVectorStore
    from llama_index.core.vector_stores.types import (
        MetadataFilter,
        MetadataFilters,
        VectorStoreQuery,
        VectorStoreQueryMode,
    )

    store = SimpleVectorStore()
    store.add(
        [
            TextNode(
                id_=f"n{i}",
                text=str(i),
                metadata=metadata,
                embedding=row,
                relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=f"d{i}")},
            )
            for i, (metadata, row) in enumerate(zip(METADATA, _rows(), strict=True))
        ]
    )
    filters = [MetadataFilter(**each) for each in given["filters"]]
    query = VectorStoreQuery(
        query_embedding=given["query"],
        similarity_top_k=given["top_k"],
        node_ids=given["node_ids"],
        doc_ids=given["doc_ids"],
        filters=MetadataFilters(filters=filters, condition=given["condition"]) if filters else None,
        mode=VectorStoreQueryMode.DEFAULT if given["mmr"] is None else VectorStoreQueryMode.MMR,
    )
    extra = {} if given["mmr"] is None else {"mmr_threshold": given["mmr"]}
    found = store.query(query, **extra)
    return [[id_, round(float(score), 5)] for id_, score in zip(found.ids, found.similarities, strict=True)]


def ours(given: Any) -> Any:
    import numpy as np

    from ragcore.embeddings.hashing import HashEmbedding
    from ragcore.retrievers.vector import VectorIndexRetriever
    from ragcore.schema import Document, QueryBundle, TextNode
    from ragcore.vector_stores.filters import FilterCondition, FilterOperator, MetadataFilter, MetadataFilters
    from ragcore.vector_stores.memory import MemoryStore

    store = MemoryStore()
    for i, (metadata, row) in enumerate(zip(METADATA, _rows(), strict=True)):
        node = TextNode(str(i), f"n{i}", metadata, embedding=np.array(row, np.float32))
        store.upsert(Document(str(i), f"d{i}"), [node])
    filters = [
        MetadataFilter(each["key"], each["value"], FilterOperator(each["operator"]))
        for each in given["filters"]
    ]
    retriever = VectorIndexRetriever(
        store,
        HashEmbedding(3),
        given["top_k"],
        node_ids=given["node_ids"],
        doc_ids=given["doc_ids"],
        filters=MetadataFilters(filters, FilterCondition(given["condition"])) if filters else None,
        vector_store_query_mode="default" if given["mmr"] is None else "mmr",
        mmr_threshold=given["mmr"],
    )
    found = retriever.retrieve(QueryBundle("q", embedding=np.array(given["query"], np.float32)))
    return [[hit.node.id_, round(hit.get_score(), 5)] for hit in found]


def explain(given: Any, theirs: Any, ours: Any) -> str:
    import numpy as np

    if isinstance(ours, dict) or isinstance(theirs, dict):
        return ""
    if given["top_k"] == 0:
        return "D33" if ours == [] else ""
    if given["node_ids"] == []:
        return "D33" if ours == [] else ""
    if given["doc_ids"] is not None:
        return (
            "D33"
            if _near(ours, [hit for hit in theirs if hit[0].replace("n", "d") in given["doc_ids"]])
            else ""
        )
    if not any(given["query"]):
        return "D33" if ours == [[id_, 0.0] for id_, _ in theirs] else ""
    rows = {f"n{i}": np.array(row) / np.linalg.norm(row) for i, row in enumerate(_rows())}
    query = np.array(given["query"]) / np.linalg.norm(given["query"])
    if given["mmr"] is not None:
        # By hand, with the penalty of all picks; theirs looks at the last one alone.
        picked: dict[str, float] = {}
        while len(picked) < given["top_k"]:
            worth = {id_: _mmr(rows, query, id_, picked, given["mmr"]) for id_ in rows if id_ not in picked}
            best = max(worth, key=lambda id_: worth[id_])
            picked[best] = worth[best]
        return "1.10" if _near(ours, list(picked.items())) else ""
    return "float32" if _near(ours, theirs) else ""


def _near(ours: Any, right: Any) -> bool:
    """Whether they are the same passages in the same order, with the same scores up to the precision of 32
    bits."""
    same_order = [id_ for id_, _ in ours] == [id_ for id_, _ in right]
    return same_order and all(abs(a[1] - b[1]) < 1e-4 for a, b in zip(ours, right, strict=True))


def _mmr(rows: Any, query: Any, id_: str, picked: Iterable[str], threshold: float) -> float:
    penalty = max((float(rows[id_] @ rows[other]) for other in picked), default=0.0)
    return threshold * float(rows[id_] @ query) - (1 - threshold) * penalty
