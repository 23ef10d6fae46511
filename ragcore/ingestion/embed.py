"""Passages get their vectors: those that are known already, and the others from the embedder, some at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from ragcore.embeddings.base import Embedder
from ragcore.errors import DamagedStoreError
from ragcore.ingestion.drafts import content_of
from ragcore.schema import TextNode
from ragcore.vector_stores.base import Store

if TYPE_CHECKING:
    from ragcore.schema import Vector, Vectors

AT_ONCE = 32  # passages, which are then kept: what a killed worker has to do again

During = Callable[[Callable[[], "Vectors"]], "Vectors"]  # does the work, and ends waiting for it when it is not wanted any more


@dataclass(frozen=True, slots=True)
class Made:
    """Vectors by content, of so many characters; `seconds` that it took, 0 where loading the embedder was part of it."""

    vectors: dict[str, Vector]
    characters: int
    seconds: float


class PassageEmbedder:
    """An embedder, and the wanted vectors of passages by their content."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._loaded = False

    @property
    def name(self) -> str:
        return self._embedder.name

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

    def make(self, texts: Mapping[str, str], during: During) -> Iterator[Made]:
        """The vectors of `texts`, by content, some at a time."""
        items = list(texts.items())
        for start in range(0, len(items), AT_ONCE):
            contents, batch = zip(*items[start : start + AT_ONCE], strict=True)
            began = time.monotonic()
            vectors = during(partial(self._embedder.embed_passages, batch))
            seconds = time.monotonic() - began if self._loaded else 0.0
            self._loaded = True
            yield Made(dict(zip(contents, vectors, strict=True)), sum(map(len, batch)), seconds)
