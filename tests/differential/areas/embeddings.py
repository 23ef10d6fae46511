"""Similarity of vectors, one vector for several questions, and which nodes are embedded, in how many
calls."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from typing import Any

from tests.differential.cases import Case
from tests.differential.doubles import our_embedding, their_embedding

TEXTS = [
    "a long river",
    "high mountains",
    "the river and the sea",
    "snow",
    "",
    "a long river",
    "words of a letter",
]


def cases() -> Iterator[Case]:
    chance = random.Random(15)
    for mode in ("cosine", "dot_product", "euclidean"):
        for number in range(5):
            pair = [[round(chance.gauss(0, 1), 3) for _ in range(4)] for _ in range(2)]
            yield Case(f"{mode}-{number}", {"kind": "similarity", "mode": mode, "pair": pair})
        yield Case(
            f"{mode}-zero", {"kind": "similarity", "mode": mode, "pair": [[0.0] * 4, [1.0, 2.0, 3.0, 4.0]]}
        )
    for count in (0, 1, 2, 3, 6):
        yield Case(f"questions-{count}", {"kind": "questions", "texts": TEXTS[:count]})
    for count in (1, 7, 10, 11, 25):
        yield Case(
            f"batch-{count}", {"kind": "batch", "texts": [f"text {number}" for number in range(count)]}
        )
    for number in range(4):
        ready = [chance.random() < 0.4 for _ in TEXTS]
        yield Case(f"nodes-{number}", {"kind": "nodes", "texts": TEXTS, "ready": ready})


def theirs(given: Any) -> Any:
    from llama_index.core.base.embeddings.base import SimilarityMode, similarity
    from llama_index.core.indices.utils import embed_nodes
    from llama_index.core.schema import TextNode

    if given["kind"] == "similarity":
        return _number(similarity(*given["pair"], mode=SimilarityMode(given["mode"])))
    calls: list[list[str]] = []
    model = their_embedding(calls)
    if given["kind"] == "nodes":
        nodes = [
            TextNode(id_=str(i), text=text, embedding=[0.5] * 64 if ready else None)
            for i, (text, ready) in enumerate(zip(given["texts"], given["ready"], strict=True))
        ]
        return _embedded(embed_nodes(nodes, model), calls)
    return _called(model, given, calls)


def ours(given: Any) -> Any:
    import numpy as np

    from ragcore.embeddings.base import embed_nodes
    from ragcore.embeddings.similarity import similarity
    from ragcore.schema import TextNode

    if given["kind"] == "similarity":
        return _number(similarity(*given["pair"], given["mode"]))
    calls: list[list[str]] = []
    model = our_embedding(calls)
    if given["kind"] == "nodes":
        nodes = [
            TextNode(text, str(i), embedding=np.full(64, 0.5, np.float32) if ready else None)
            for i, (text, ready) in enumerate(zip(given["texts"], given["ready"], strict=True))
        ]
        return _embedded(embed_nodes(nodes, model), calls)
    return _called(model, given, calls)


def _called(model: Any, given: Any, calls: list[list[str]]) -> Any:
    if given["kind"] == "questions":
        one = model.get_agg_embedding_from_queries(given["texts"])
        return {"vector": _row(one), "calls": calls}
    return {"vectors": [_row(row) for row in model.get_text_embedding_batch(given["texts"])], "calls": calls}


def _embedded(vectors: Any, calls: list[list[str]]) -> Any:
    return {"vectors": [[id_, _row(row)] for id_, row in sorted(vectors.items())], "calls": calls}


def _row(row: Any) -> list[float]:
    return [round(float(number), 5) for number in row]


def _number(value: Any) -> Any:
    return None if math.isnan(value) else round(float(value), 5)


def explain(given: Any, theirs: Any, ours: Any) -> str:
    if given["kind"] == "similarity":
        return "D33" if not any(given["pair"][0]) and theirs is None and ours == 0 else ""
    if "error" in theirs and "error" in ours and not given["texts"]:
        return "error's name"
    if "error" in theirs or "error" in ours:
        return ""
    embedded = [text for call in ours["calls"] for text in call]
    if embedded != [text for call in theirs["calls"] for text in call] or len(ours["calls"]) != 1:
        return ""
    if {**theirs, "calls": 0} != {**ours, "calls": 0}:
        return ""
    # the model divides its texts, not who asks it
    return "D9" if given["kind"] == "questions" else "one call"
