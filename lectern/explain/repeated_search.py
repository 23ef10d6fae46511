"""The search of an answer, repeated in the whole library, and the passages that the answer used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from lectern.explain.blank_pages import has_words
from lectern.explain.missed_cause import Cause, Missed
from lectern.jobs.file_rows import FileRow
from lectern.library import Library
from lectern.schema import Ask, Message, Source, build_sources
from ragcore.extractive.sentence_support import SentenceCheck
from ragcore.observe import Span
from ragcore.retrievers.hybrid import HybridRetriever, usual_feedback
from ragcore.schema import NodeWithScore, QueryBundle, TextNode
from ragcore.vector_stores.base import Scope

if TYPE_CHECKING:
    from ragcore.schema import Vector

MAX_RANK = 100  # of a missed passage


class RepeatedSearch:
    """`searched`: the question of the search, with corrected spelling; `condensed`: whether it is not the
    typed one. `used`: the ids of the passages of the answer."""

    def __init__(self, library: Library, message: Message, ask: Ask, check: SentenceCheck) -> None:
        self.library, self.message, self.ask, self.check = library, message, ask, check
        trace = library.conversations.trace(message.id)
        self._steps: list[Span] = trace.spans("retrieve") if trace else []
        searched = next((str(step.facts["question"]) for step in self._steps if "question" in step.facts), "")
        standalone = searched or (message.facts and message.facts.condensed) or ask.question
        self.condensed = standalone != ask.question
        self.searched = (message.facts and message.facts.meant) or standalone
        self.used = {source.node_id for source in message.sources}
        self._vectors: dict[str, Vector] = {}

    @cached_property
    def everywhere(self) -> list[NodeWithScore]:
        """The best passages of the whole library."""
        return self.retrieve(self.searched)

    @cached_property
    def within(self) -> list[NodeWithScore]:
        """The best passages of the selected documents."""
        return (
            self.everywhere if self.ask.file_ids is None else self.retrieve(self.searched, self.ask.file_ids)
        )

    def missed(self, question: str) -> list[TextNode]:
        """The best passages of the whole library that the answer did not use, without those that have no
        words, such as a page number alone."""
        hits = self.everywhere if question == self.searched else self.retrieve(question)
        return [hit.node for hit in hits if hit.node.id_ not in self.used and has_words(hit.node.text)]

    def retrieve(
        self,
        question: str,
        file_ids: Sequence[str] | None = None,
        count: int = MAX_RANK,
        *,
        weaker: bool = True,
    ) -> list[NodeWithScore]:
        """The best passages of the answer's own search. `weaker`: include weaker matches."""
        library, how = self.library, self.ask.retrieval
        if question not in self._vectors:
            self._vectors[question] = library.embedder.embed_query(question)
        scope = Scope(None if file_ids is None else tuple(file_ids))
        retriever = HybridRetriever(
            library.store,
            library.embedder,
            count,
            scope,
            cosine_share=how.dense_share,
            feedback=usual_feedback(how.dense_share),
            weaker=weaker,
        )
        return retriever.retrieve(QueryBundle(question, embedding=self._vectors[question]))

    def report(
        self,
        cause: Cause,
        node: TextNode | None = None,
        rank: int | None = None,
        *,
        ask: Ask | None = None,
        file: FileRow | None = None,
        page: str = "",
    ) -> Missed:
        source = self.source_of(node) if node is not None else None
        return Missed(cause, self.searched, len(self.message.sources), source, rank, ask, file, page)

    def report_used(self, node: TextNode) -> Missed:
        """The answer used the passage. The new ask puts the question to each passage alone."""
        ask = (
            replace(self.ask, response_mode="accumulate") if self.ask.response_mode != "accumulate" else None
        )
        numbers = self.message.shown_numbers
        number = next(
            (numbers[source.number] for source in self.message.sources if source.node_id == node.id_), None
        )
        return self.report(Cause.USED, node, number, ask=ask)

    def source_of(self, node: TextNode) -> Source:
        known = next((source for source in self.message.sources if source.node_id == node.id_), None)
        return known or build_sources([NodeWithScore(node)])[0]

    def took_central(self) -> bool:
        """Whether the answer used central passages, for a summary."""
        return any(step.facts.get("retriever") == "overview" for step in self._steps)

    def reach(self) -> int:
        """The number of passages that the search passed to the later steps."""
        return max((len(step.facts.get("found", ())) for step in self._steps), default=0) or self.ask.top_k


def place_among(node: TextNode, hits: Sequence[NodeWithScore]) -> tuple[int | None, float]:
    """(rank, 1 for the best; score), or (None, 0.0)."""
    return next(
        ((rank, hit.get_score()) for rank, hit in enumerate(hits, 1) if hit.node.id_ == node.id_), (None, 0.0)
    )
