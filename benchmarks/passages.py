"""Passages to fill stores with: real text where the development data is at hand, else the sample documents."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import cycle, islice
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


def vectors(count: int, seed: int = 0) -> Any:
    """Unit rows, shape (count, 384)."""
    rows = np.random.default_rng(seed).normal(size=(count, DIMENSION)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def texts(count: int) -> Iterator[str]:
    """Passages of LENGTH characters, told apart by their number when there are not as many."""
    text = "\n".join(_corpus())
    pieces = (text[start : start + LENGTH] for start in cycle(range(0, len(text) - LENGTH, LENGTH)))
    for number, piece in enumerate(islice(pieces, count)):
        yield piece if number * LENGTH < len(text) - LENGTH else f"{number} {piece}"[:LENGTH]


def documents(rows: Any) -> Iterator[tuple[Document, list[TextNode]]]:
    """As many passages as there are vectors, EACH to a document, with places in its text."""
    every = texts(len(rows))
    for first in range(0, len(rows), EACH):
        pieces = list(islice(every, EACH))
        id_ = f"d{first // EACH}"
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


def _corpus() -> Iterator[str]:
    data = ROOT.parent / "shared" / "data"
    found = False
    for name in CORPORA:
        for path in sorted((data / name).glob("corpus.jsonl")):
            with path.open(encoding="utf-8") as lines:
                for line in lines:
                    found = True
                    yield str(json.loads(line)["text"])
    if not found:
        for path in sorted(SAMPLE.glob("*.md")):
            yield path.read_text("utf-8")
