"""SemanticSplitterNodeParser: cuts where neighbouring sentences are least alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ragcore.embeddings.hashing import HashEmbedding
from ragcore.llamaindex.node_parser import SemanticSplitterNodeParser
from ragcore.schema import Document

if TYPE_CHECKING:
    from ragcore.schema import Vector, Vectors


class Turning:
    """A text's vector points where its first number says, in degrees."""

    name, dimension = "turning", 2

    def __init__(self) -> None:
        self.embedded: list[str] = []

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        self.embedded += texts
        angles = np.radians([float(text.split()[0]) for text in texts])
        return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)

    def embed_query(self, text: str) -> Vector:
        return self.embed_passages([text])[0]


ANGLES = (0, 10, 70, 75, 80, 170, 171)
TEXT = " ".join(f"{angle} degrees it is." for angle in ANGLES)


def passages(percentile: float, buffer: int = 0) -> list[list[int]]:
    parser = SemanticSplitterNodeParser(buffer, percentile, embed_model=Turning())
    nodes = parser([Document(TEXT)])
    assert [TEXT[node.start_char_idx : node.end_char_idx] for node in nodes] == [node.text for node in nodes]
    return [[int(word) for word in node.text.split() if word.isdigit()] for node in nodes]


def test_the_widest_turns_above_the_percentile_part_the_text() -> None:
    # The turns are 10, 60, 5, 5, 90 and 1 degrees; their distances are 1 minus the cosine.
    assert passages(95) == [[0, 10, 70, 75, 80], [170, 171]]
    assert passages(70) == [[0, 10], [70, 75, 80], [170, 171]]
    assert passages(100) == [list(ANGLES)]
    assert passages(0) == [[0], [10], [70], [75], [80], [170, 171]]


def test_buffer_is_the_neighbours_per_side_in_each_embedding() -> None:
    embedder = Turning()
    SemanticSplitterNodeParser.from_defaults(buffer_size=1, embed_model=embedder)(
        [Document("1 ant. 2 bees. 3 cats.")]
    )
    assert embedder.embedded == ["1 ant. 2 bees.", "1 ant. 2 bees. 3 cats.", "2 bees. 3 cats."]


def test_subjects_are_separated_by_words_alone() -> None:
    boats = "The boat has a sail. A sail drives the boat. Every boat needs its sail."
    bread = "Bread is made of flour. Flour and water make bread. Good bread needs good flour."
    parser = SemanticSplitterNodeParser(0, 80, embed_model=HashEmbedding())
    assert [node.text for node in parser([Document(f"{boats} {bread}")])] == [boats, bread]


def test_single_sentence_is_one_passage_without_embedding() -> None:
    embedder = Turning()
    parser = SemanticSplitterNodeParser(embed_model=embedder)
    assert [node.text for node in parser([Document("Only one. "), Document(" ")])] == ["Only one."]
    assert embedder.embedded == []


def test_nonsensical_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="buffer_size is -1"):
        SemanticSplitterNodeParser(-1, embed_model=Turning())
    with pytest.raises(ValueError, match="from 0 to 100"):
        SemanticSplitterNodeParser(breakpoint_percentile_threshold=101, embed_model=Turning())
