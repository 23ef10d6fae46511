"""Adds vectors to passages: known ones, and new ones from the embedder, in batches."""

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

GOLDEN = 0.618034  # The fractional parts of its multiples are spread evenly, for any number of multiples.

# returns the result of the work, or raises Cancelled
RunWork = Callable[[Callable[[], "Vectors"]], "Vectors"]


@dataclass(frozen=True, slots=True)
class Step:
    """A batch of passages has its vectors. `done` passages of all have one now, and `characters_left` need
    one yet."""

    vectors: dict[str, Vector]  # of this batch, by content
    done: int
    characters: int  # of this batch
    characters_left: int
    seconds: float  # for this batch, without loading the embedder


class PassageEmbedder:
    """Adds an embedder's vectors to passages."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._loaded = False

    def contents(self, nodes: Sequence[TextNode]) -> list[str]:
        """`content_of` each passage."""
        name = self._embedder.name
        return [content_of(name, node.text) for node in nodes]

    def read_vectors(self, store: Store, document_id: str) -> dict[str, Vector]:
        """The stored vectors of a document, by content. Empty if they are damaged."""
        try:
            nodes = store.nodes(store.passage_ids(document_id))
        except DamagedStoreError:  # they will be computed again
            return {}
        pairs = zip(self.contents(nodes), nodes, strict=True)
        return {content: node.embedding for content, node in pairs if node.embedding is not None}

    def embed(
        self,
        nodes: Sequence[TextNode],
        known: Mapping[str, Vector],
        run: RunWork,
        note: Callable[[Step], None],
    ) -> list[TextNode]:
        """The passages with their vectors: `known` by content, or from the embedder, in batches.

        `note` is called once for the known vectors, then for every batch. Its exceptions end the work.
        """
        contents = self.contents(nodes)
        vectors = {content: known[content] for content in contents if content in known}
        texts = {
            content: node.text
            for content, node in zip(contents, nodes, strict=True)
            if content not in vectors
        }
        counts, characters_left = Counter(contents), sum(map(len, texts.values()))
        done = sum(counts[content] for content in vectors)
        missing = list(texts)
        batches = list(groups_by_length(list(texts.values())))
        # Mix short and long texts: a character of a short text takes longer, and the estimate follows the
        # last batches.
        order = sorted(range(len(batches)), key=lambda place: place * GOLDEN % 1)
        note(Step({}, done, 0, characters_left, 0.0))
        for place in order:
            batch = [missing[index] for index in batches[place]]
            rows, seconds = self._embed([texts[content] for content in batch], run)
            new = dict(zip(batch, rows, strict=True))
            vectors |= new
            done += sum(counts[content] for content in new)
            characters = sum(len(texts[content]) for content in new)
            characters_left -= characters
            note(Step(new, done, characters, characters_left, seconds))
        return [node.with_embedding(vectors[content]) for node, content in zip(nodes, contents, strict=True)]

    def _embed(self, texts: list[str], run: RunWork) -> tuple[Vectors, float]:
        if not self._loaded:  # before the clock starts, because loading takes long
            run(lambda: self._embedder.embed_query("ready")[None])  # (d,) -> (1, d)
            self._loaded = True
        began = time.monotonic()
        return run(partial(self._embedder.embed_passages, texts)), time.monotonic() - began
