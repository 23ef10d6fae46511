"""Passages to fill stores with: real text where the development data is at hand, else the sample
documents."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from ragcore.schema import Document, TextNode

ROOT = Path(__file__).parents[1]
CORPORA = ("scifact", "cranfield", "clapnq_dev", "squad2_500")
SAMPLE = ROOT / "sample" / "documents"
DIMENSION = 384
LENGTH = 600  # characters of a passage
EACH = 20  # passages of a document
CLUSTERS = 1000  # of vectors


def vectors(count: int, seed: int = 0, clusters: int = CLUSTERS) -> Any:
    """Unit rows, shape (count, 384), around the same directions for every seed, as embeddings of texts lie
    around their topics.

    Two of one cluster have a cosine of about 0.5. With no `clusters` they have random directions, and nothing
    is near.
    """
    chance = np.random.default_rng(seed)
    rows = chance.normal(size=(count, DIMENSION))
    if clusters:
        rows += np.random.default_rng(clusters).normal(size=(clusters, DIMENSION))[
            chance.integers(clusters, size=count)
        ]
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def texts(count: int, first: int = 0) -> Iterator[str]:
    """Passages of LENGTH characters. When the text repeats, the passages begin with their numbers, so that
    they differ."""
    text = _corpus()
    pieces = len(text) // LENGTH
    for number in range(first, first + count):
        start = number % pieces * LENGTH
        piece = text[start : start + LENGTH]
        yield piece if number < pieces else f"{number} {piece}"[:LENGTH]


def documents(rows: Any, number_of_first: int = 0) -> Iterator[tuple[Document, list[TextNode]]]:
    """As many passages as there are vectors, EACH to a document, with places in its text."""
    every = texts(len(rows), number_of_first * EACH)
    for first in range(0, len(rows), EACH):
        pieces = list(islice(every, EACH))
        id_ = f"d{number_of_first + first // EACH}"
        source = Document("".join(pieces), id_=id_, metadata={"file_name": f"{id_}.txt"})
        nodes, start = [], 0
        for number, piece in enumerate(pieces):
            nodes.append(
                TextNode(
                    piece,
                    f"{id_}/{number}",
                    metadata=source.metadata,
                    ref_doc_id=id_,
                    start_char_idx=start,
                    end_char_idx=start + len(piece),
                    prev_id=f"{id_}/{number - 1}" if number else None,
                    next_id=f"{id_}/{number + 1}" if number + 1 < len(pieces) else None,
                    embedding=rows[first + number],
                )
            )
            start += len(piece)
        yield source, nodes


@cache
def _corpus() -> str:
    data = ROOT.parent / "shared" / "data"
    paths = [path for name in CORPORA for path in sorted((data / name).glob("corpus.jsonl"))]
    if not paths:
        return "\n".join(path.read_text("utf-8") for path in sorted(SAMPLE.glob("*.md")))
    return "\n".join(
        str(json.loads(line)["text"]) for path in paths for line in path.read_text("utf-8").splitlines()
    )
