"""The base of all postprocessors, which filter, change and order retrieved passages."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from ragcore.concurrency import awaitable
from ragcore.errors import QuestionError
from ragcore.prompts.mixin import PromptMixin
from ragcore.schema import Fields, NodeWithScore, QueryBundle


class BaseNodePostprocessor(Fields, PromptMixin, ABC):
    """Subclasses have `_postprocess_nodes`. Those of ragcore do not edit their input.

    >>> from ragcore.schema import TextNode
    >>> class Cut(BaseNodePostprocessor):
    ...     least: float = 0.5
    ...
    ...     def _postprocess_nodes(self, nodes, query_bundle=None):
    ...         return [hit for hit in nodes if hit.score >= self.least]
    >>> hits = [NodeWithScore(TextNode("A boat."), 0.9), NodeWithScore(TextNode("A car."), 0.6)]
    >>> [hit.text for hit in Cut(least=0.7).postprocess_nodes(hits)]
    ['A boat.']
    """

    @abstractmethod
    def _postprocess_nodes(
        self, nodes: Sequence[NodeWithScore], query_bundle: QueryBundle | None
    ) -> list[NodeWithScore]: ...

    def postprocess_nodes(
        self,
        nodes: Sequence[NodeWithScore],
        query_bundle: QueryBundle | None = None,
        query_str: str | None = None,
    ) -> list[NodeWithScore]:
        """`query_str` is the question without a bundle. ValueError for both."""
        if query_bundle is not None and query_str is not None:
            raise ValueError("query_bundle and query_str are two ways to give the question; give one of them")
        return self._postprocess_nodes(
            nodes, QueryBundle(query_str) if query_str is not None else query_bundle
        )

    apostprocess_nodes = awaitable(postprocess_nodes)


def question_of(query_bundle: QueryBundle | None) -> str:
    """QuestionError without a question."""
    if query_bundle is None or not query_bundle.query_str.strip():
        raise QuestionError(
            "There is no question to judge the passages by.", hint="Give query_str or query_bundle."
        )
    return query_bundle.query_str
