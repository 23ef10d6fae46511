"""What every retriever does: take a question, find its passages, and record in the trace what it found."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from ragcore.errors import QuestionError
from ragcore.observe import Span, span
from ragcore.schema import NodeWithScore, QueryBundle, as_bundle


class BaseRetriever(ABC):
    """Subclasses give `name` and `_retrieve`. Holds nothing of a question: threads may share it."""

    name: str  # as the trace says it

    @abstractmethod
    def _retrieve(self, query: QueryBundle, step: Span) -> list[NodeWithScore]:
        """`step` is the span "retrieve", for facts beside those that every retriever records."""

    def retrieve(self, query: str | QueryBundle) -> list[NodeWithScore]:
        """The passages for a question, best first. QuestionError when there is none.

        In the trace: a span "retrieve" with `retriever`, `question`, and `found`, a list of {"id", "score"}.
        """
        bundle = as_bundle(query)
        if bundle.embedding is None and not any(text.strip() for text in (bundle.query_str, *bundle.embedding_strs)):
            raise QuestionError("There is no question.", hint="Type what you want to know.")
        with span("retrieve", retriever=self.name, question=bundle.query_str) as step:
            found = self._retrieve(bundle, step)
            step.facts.setdefault("found", as_facts(found))
        return found


def as_facts(found: Sequence[NodeWithScore]) -> list[dict[str, Any]]:
    return [{"id": hit.node.id_, "score": hit.score} for hit in found]
