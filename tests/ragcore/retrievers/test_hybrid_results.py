"""The scores of hybrid retrieval, held against recorded ones.

`python -m tests.ragcore.retrievers.test_hybrid_results` records them anew, after a change that is meant to
change them.
"""

from __future__ import annotations

import json
import random
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ragcore.embeddings import HashEmbedding
from ragcore.embeddings.multilingual_e5 import NAME as MULTILINGUAL
from ragcore.observe import span
from ragcore.retrievers.hybrid import HybridRetriever
from ragcore.schema import Document, QueryBundle, TextNode
from ragcore.vector_stores.memory import MemoryStore

RECORDED = Path(__file__).with_suffix(".json")
WORDS = ("tower", "lamp", "keeper", "oil", "storm", "boat", "rope", "harbour", "winter", "flood", "repair")
NAMES = ("northwind_standard.pdf", "northwind_plus.pdf", "log.txt", "vertrag.docx")
QUESTIONS = (
    "Which lamp needs oil in winter?",
    "What does Northwind Standard say about the keeper?",
    "Wer repariert das Boot im Hafen?",
    "什么时候修理灯塔？",
    "zzz",
)
OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"feedback": 1 / 3},
    {"feedback": 1 / 3, "weaker": False},
    {"cosine_share": 0.0, "weaker": False},
    {"cosine_share": 1.0, "feedback": 0.5},
    {"pool": 12, "feedback": 1 / 3},
)


class Named(HashEmbedding):
    """Has another name, which decides how its cosines are scaled."""

    def __init__(self, name: str) -> None:
        super().__init__(32)
        self._name = name

    @property
    def name(self) -> str:
        return self._name


def filled() -> MemoryStore:
    chance, embedder, store = random.Random(7), HashEmbedding(32), MemoryStore()
    for number, name in enumerate(NAMES):
        nodes = []
        for row in range(20 + 10 * number):
            text = " ".join(chance.choices(WORDS, k=12)) + f" {number}.{row}."
            if name == "vertrag.docx":
                text = f"Der Vertrag gilt für den Hafen, und die Miete ist am Ersten fällig. {text}"
            vector = np.asarray(embedder.embed_passages([text])[0])
            nodes.append(TextNode(text, f"{number}-{row}", metadata={"file_name": name}, embedding=vector))
        store.upsert(Document(name, id_=f"file {number}"), nodes)
    return store


def results(store: MemoryStore) -> dict[str, Any]:
    found = {}
    for embedder, question, (number, options), top_k in product(
        ("hash", MULTILINGUAL), QUESTIONS, enumerate(OPTIONS), (1, 6)
    ):
        retriever = HybridRetriever(store, Named(embedder), top_k, **options)
        with span("test") as step:
            hits = retriever.retrieve(QueryBundle(question))
        (retrieve,) = step.spans("retrieve")
        facts = retrieve.facts
        assert [(hit.node.id_, hit.score) for hit in hits] == [
            (fact["id"], fact["score"]) for fact in facts["found"]
        ]
        rows = [[_rounded(fact) for fact in facts[name]] for name in ("found", "next_best")]
        found[f"{embedder} {number} {top_k} {question}"] = rows
    return found


def _rounded(fact: dict[str, Any]) -> list[Any]:
    return [round(value, 9) if isinstance(value, float) else value for value in fact.values()]


def test_passages_and_scores_are_those_recorded() -> None:
    recorded = json.loads(RECORDED.read_text("utf-8"))
    found = results(filled())
    assert list(found) == list(recorded)
    for name, (best, next_best) in found.items():
        for rows, expected in zip((best, next_best), recorded[name], strict=True):
            assert [row[0] for row in rows] == [row[0] for row in expected], name
            # Cosines differ in their last digits between processors.
            assert [row[1:] for row in rows] == [pytest.approx(row[1:], abs=1e-6) for row in expected], name


if __name__ == "__main__":
    RECORDED.write_text(json.dumps(results(filled())), "utf-8")
