"""The contract of embedders: they turn texts into unit vectors and cut nothing off."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

from ragcore.concurrency import awaitable
from ragcore.embeddings.similarity import similarity
from ragcore.observe import Span, span
from ragcore.schema import Document, MetadataMode, QueryBundle, TextNode, TransformComponent, Vector, Vectors

logger = logging.getLogger(__name__)

GROUP_CHARS = 8_000  # about 2,000 tokens: half a second of one core with the bundled model


class Embedder(Protocol):
    @property
    def name(self) -> str:
        """Identifies model and version: vectors of different names must never be in one index."""

    @property
    def dimension(self) -> int: ...

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """One row per text, in order: shape (len(texts), dimension), float32, contiguous, each row of length
        1.

        A text longer than the model's window is embedded in windows, and its row is their mean; nothing is
        cut off. An empty text has the model's vector for it, never NaN. An empty list gives shape (0,
        dimension).
        """

    def embed_query(self, text: str) -> Vector:
        """Shape (dimension,), length 1."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of the beginning of a text, as far as it fits the model's window.

    `text` is that beginning; `places` (t, 2) are the start and end of each token in it; `rows` (t, d) are
    their unit vectors in this context.
    """

    text: str
    places: list[tuple[int, int]]
    rows: Vectors


@runtime_checkable
class TokenEmbedder(Embedder, Protocol):
    """An embedder that also returns the vector of each token, from the same pass through its model."""

    def embed_tokens(self, texts: Sequence[str]) -> tuple[Vectors, list[Tokens]] | None:
        """The rows of `embed_passages`, and the tokens of each text. None if this model's tokens may not
        distinguish words."""

    def static_tokens(self, texts: Sequence[str]) -> list[Tokens] | None:
        """The tokens of each text with their vectors in the model's table, without context. A hundred times
        faster than `embed_tokens`, and less accurate. None if `embed_tokens` returns None."""

    def knows(self, word: str) -> bool:
        """Whether the model's vocabulary has the word, unlike most misspelt ones. True if the vocabulary does
        not tell."""


class BaseEmbedding(TransformComponent):
    """An Embedder with LlamaIndex's names and a span "embed" for each call.

    Subclasses implement `_get_text_embedding` and `_get_query_embedding`, and if it is faster
    `_get_text_embeddings` for `embed_batch_size` texts. Vectors are scaled to length 1. `model_name`, by
    default the class, identifies vectors that belong together. Alternatively subclasses implement `name`,
    `dimension` and `_embed`.

    >>> class Letters(BaseEmbedding):
    ...     letters: str = "ab"
    ...
    ...     def _get_text_embedding(self, text):
    ...         return [text.count(letter) for letter in self.letters]
    ...
    ...     def _get_query_embedding(self, query):
    ...         return self._get_text_embedding(query)
    >>> Letters(letters="abc").get_text_embedding("a cab baa").round(2)
    array([0.87, 0.44, 0.22], dtype=float32)
    """

    model_name: str = ""
    embed_batch_size: int = 10
    provider: ClassVar[str] = "ragcore"  # its name in traces

    @property
    def name(self) -> str:
        return self.model_name or f"{type(self).__module__}.{type(self).__qualname__}"

    @property
    def dimension(self) -> int:
        """The first use embeds a word to find out."""
        known: int = vars(self).setdefault("_dimension", 0) or len(self._get_text_embedding("dimension"))
        vars(self)["_dimension"] = known
        return known

    def _embed(self, texts: Sequence[str], step: Span, *, is_query: bool) -> Vectors:
        """Like `embed_passages`, or for questions if `is_query`. A model that counts tokens records them in
        `step`."""
        if is_query:
            return self._as_rows([self._get_query_embedding(text) for text in texts])
        starts = range(0, len(texts), self.embed_batch_size)
        batches = (
            self._get_text_embeddings(list(texts[start : start + self.embed_batch_size])) for start in starts
        )
        return self._as_rows([row for batch in batches for row in batch])

    def _get_text_embedding(self, text: str) -> Vector | Sequence[float]:
        raise NotImplementedError(
            f"{type(self).__name__} must have _get_text_embedding and _get_query_embedding"
        )

    def _get_text_embeddings(self, texts: list[str]) -> Sequence[Vector | Sequence[float]]:
        return [self._get_text_embedding(text) for text in texts]

    def _get_query_embedding(self, query: str) -> Vector | Sequence[float]:
        return self._get_text_embedding(query)

    def _as_rows(self, vectors: Sequence[Vector | Sequence[float]]) -> Vectors:
        import numpy as np

        from ragcore.vector_stores.validation import unit

        return unit(np.asarray(vectors)) if vectors else np.empty((0, self.dimension), np.float32)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return self._embed_with_span(texts, is_query=False)

    def embed_query(self, text: str) -> Vector:
        row: Vector = self._embed_with_span([text], is_query=True)[0]
        return row

    def get_text_embedding(self, text: str) -> Vector:
        row: Vector = self.embed_passages([text])[0]
        return row

    def get_query_embedding(self, query: str) -> Vector:
        return self.embed_query(query)

    def get_text_embedding_batch(self, texts: Sequence[str], show_progress: bool = False) -> Vectors:
        if show_progress:
            logger.info("embedding %d texts", len(texts))
        return self.embed_passages(texts)

    def get_agg_embedding_from_queries(
        self, queries: Sequence[str], agg_fn: Callable[[Vectors], Vector] | None = None
    ) -> Vector:
        """One vector for several questions: their mean, which is not scaled to length 1, or the result of
        `agg_fn`.

        ValueError for no questions.
        """
        if not queries:
            raise ValueError("there are no queries to embed")
        rows = self._embed_with_span(queries, is_query=True)
        return rows.mean(axis=0) if agg_fn is None else agg_fn(rows)

    async def aget_text_embedding(self, text: str) -> Vector:
        """Calls `_aget_text_embedding` if the subclass has it, or runs in a thread."""
        return await self._embed_async("_aget_text_embedding", text, is_query=False)

    async def aget_query_embedding(self, query: str) -> Vector:
        """Calls `_aget_query_embedding` if the subclass has it, or runs in a thread."""
        return await self._embed_async("_aget_query_embedding", query, is_query=True)

    aget_text_embedding_batch = awaitable(get_text_embedding_batch)
    aget_agg_embedding_from_queries = awaitable(get_agg_embedding_from_queries)

    similarity = staticmethod(similarity)

    def __call__(self, nodes: Sequence[Document | TextNode], **kwargs: Any) -> list[TextNode]:
        """The nodes with vectors, as the result of a transformation. Existing vectors stay. ValueError for a
        document."""
        ready = [node for node in nodes if isinstance(node, TextNode)]
        if len(ready) != len(nodes):
            raise ValueError("documents have no vectors: put a splitter before the embedding model")
        vectors = embed_nodes(ready, self)
        return [
            node if node.embedding is not None else node.with_embedding(vectors[node.id_]) for node in ready
        ]

    async def _embed_async(self, name: str, text: str, *, is_query: bool) -> Vector:
        import asyncio

        own: Callable[[str], Awaitable[Vector | Sequence[float]]] | None = getattr(self, name, None)
        if own is None:
            vector: Vector = (await asyncio.to_thread(self._embed_with_span, [text], is_query=is_query))[0]
            return vector
        with span("embed", model=self.name, provider=self.provider, count=1, query=is_query) as step:
            row: Vector = self._as_rows([await own(text)])[0]
            step.note(dimension=len(row))
            return row

    def _embed_with_span(self, texts: Sequence[str], *, is_query: bool) -> Vectors:
        with span("embed", model=self.name, provider=self.provider, count=len(texts), query=is_query) as step:
            rows = self._embed(texts, step, is_query=is_query)
            step.note(dimension=rows.shape[1])
            return rows


def embed_nodes(nodes: Sequence[TextNode], embed_model: Embedder) -> dict[str, Vector]:
    """The vector of each node by its id. Nodes without one are embedded in one call, with the text of
    MetadataMode.EMBED.

    >>> from ragcore.embeddings import HashEmbedding
    >>> embed_nodes([TextNode("A boat.", "n1")], HashEmbedding(dimension=4))["n1"].shape
    (4,)
    """
    known = {node.id_: node.embedding for node in nodes if node.embedding is not None}
    bare = [node for node in nodes if node.embedding is None]
    rows = embed_model.embed_passages([node.get_content(MetadataMode.EMBED) for node in bare]) if bare else ()
    return known | {node.id_: row for node, row in zip(bare, rows, strict=True)}


def groups_by_length(texts: Sequence[str], *, group_chars: int = GROUP_CHARS) -> Iterator[list[int]]:
    """The indices of texts to embed together, so that there is progress, and a chance to stop, between
    groups.

    A group has texts of similar length with together `group_chars` characters, or one text, so that there is
    little padding. The longest come first: measure progress in characters, not in texts.

    >>> list(groups_by_length(["a", "abcd", "ab"], group_chars=5))
    [[1], [2, 0]]
    """
    group: list[int] = []
    room = group_chars
    for index in sorted(range(len(texts)), key=lambda index: -len(texts[index])):
        if group and len(texts[index]) > room:
            yield group
            group, room = [], group_chars
        group.append(index)
        room -= len(texts[index])
    if group:
        yield group


def query_vector(embedder: Embedder, query: QueryBundle) -> Vector:
    """The bundle's own vector, or the vector of the question, or the mean of the vectors of its texts."""
    if query.embedding is not None:
        return query.embedding
    texts = query.embedding_strs or (query.query_str,)
    if len(texts) == 1:
        return embedder.embed_query(texts[0])
    import numpy as np  # imported here, so that importing an embedder is fast

    mean: Vector = np.mean(embedder.embed_passages(texts), axis=0, dtype=np.float32)
    return mean


def mean_agg(embeddings: Sequence[Sequence[float]]) -> list[float]:
    """The mean of vectors. ValueError without any.

    >>> mean_agg([[3.0, 4.0], [0.0, 1.0]])
    [1.5, 2.5]
    """
    if not embeddings:
        raise ValueError("No embeddings to aggregate")
    return [sum(numbers) / len(embeddings) for numbers in zip(*embeddings, strict=True)]
