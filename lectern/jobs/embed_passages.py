"""Passages get their vectors: those that are known already, and the others from the embedder, some at a time."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from lectern.jobs.embedding_drafts import content_of
from ragcore.embeddings.base import Embedder, groups_by_length
from ragcore.errors import DamagedStoreError
from ragcore.schema import TextNode
from ragcore.vector_stores.base import Store

if TYPE_CHECKING:
    from ragcore.schema import Vector, Vectors

GOLDEN = 0.618034  # whose multiples, without what is before their points, are spread most evenly however many there are

During = Callable[[Callable[[], "Vectors"]], "Vectors"]  # does the work, and ends waiting for it when it is not wanted any more


@dataclass(frozen=True, slots=True)
class Step:
    """Some more passages have their vectors, `made` by content; `done` of all have one now.

    These had `characters`; `characters_left` are to be embedded yet. `seconds` that it took, without loading the embedder.
    """

    made: dict[str, Vector]
    done: int
    characters: int
    characters_left: int
    seconds: float


class PassageEmbedder:
    """An embedder, and the wanted vectors of passages by their content."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._loaded = False

    def contents(self, nodes: Sequence[TextNode]) -> list[str]:
        """See `content_of`; one for each passage."""
        name = self._embedder.name
        return [content_of(name, node.text) for node in nodes]

    def stored(self, store: Store, document_id: str) -> dict[str, Vector]:
        """Of the passages of a document that this embedder made. Nothing where the vectors are damaged."""
        try:
            nodes = [node for node in store.nodes(store.passage_ids(document_id)) if node.embedding is not None]
        except DamagedStoreError:  # they are made anew, then
            return {}
        return {
            content: node.embedding
            for content, node in zip(self.contents(nodes), nodes, strict=True)
            if node.embedding is not None
        }

    def embed(
        self, nodes: Sequence[TextNode], known: Mapping[str, Vector], during: During, note: Callable[[Step], None]
    ) -> list[TextNode]:
        """The passages with their vectors: `known` by content, or from the embedder, some at a time.

        `note` hears of every step, and first of what is known. What it raises ends the work.
        """
        contents = self.contents(nodes)
        vectors = {content: known[content] for content in contents if content in known}
        texts = {content: node.text for content, node in zip(contents, nodes, strict=True) if content not in vectors}
        places, left = Counter(contents), sum(map(len, texts.values()))
        done = sum(places[content] for content in vectors)
        missing = list(texts)
        groups = [[missing[index] for index in group] for group in _spread(list(groups_by_length(list(texts.values()))))]
        note(Step({}, done, 0, left, 0.0))
        for contents_made in groups:
            rows, seconds = self._make([texts[content] for content in contents_made], during)
            made = dict(zip(contents_made, rows, strict=True))
            vectors |= made
            done += sum(places[content] for content in made)
            characters = sum(len(texts[content]) for content in made)
            left -= characters
            note(Step(made, done, characters, left, seconds))
        return [node.with_embedding(vectors[content]) for node, content in zip(nodes, contents, strict=True)]

    def _make(self, texts: list[str], during: During) -> tuple[Vectors, float]:
        if not self._loaded:  # apart, so that loading is not taken for the time that embedding takes
            during(lambda: self._embedder.embed_query("ready")[None])  # (d,) -> (1, d)
            self._loaded = True
        began = time.monotonic()
        return during(partial(self._embedder.embed_passages, texts)), time.monotonic() - began


def _spread(groups: Sequence[list[int]]) -> list[list[int]]:
    """So that texts of every length come all along. A character of a short one takes longer, and the time that is left is told
    by those that are done."""
    return [groups[place] for place in sorted(range(len(groups)), key=lambda place: place * GOLDEN % 1)]
