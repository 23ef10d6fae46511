"""The base of all retrievers: they find passages, follow the objects of index nodes, and record the trace."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from inspect import signature
from typing import Any, Protocol

from ragcore.concurrency import awaitable
from ragcore.errors import QuestionError
from ragcore.observe import Span, assigned, span
from ragcore.prompts.mixin import PromptMixin
from ragcore.schema import IndexNode, NodeWithScore, QueryBundle, TextNode, as_bundle

logger = logging.getLogger(__name__)
# retrievers and engines that wait for this answer
_callers: ContextVar[tuple[int, ...]] = ContextVar("_callers", default=())


class Retriever(Protocol):
    def retrieve(self, query: str | QueryBundle, /) -> list[NodeWithScore]:
        """The passages for a question, best first."""


class BaseRetriever(PromptMixin, ABC):
    """Subclasses have `_retrieve`, which may take the question alone, and a `name`. It has no state of a
    question: threads may share it. With `verbose` it logs the trace of each question.

    >>> class First(BaseRetriever):
    ...     def __init__(self, nodes):
    ...         self.nodes = nodes
    ...
    ...     def _retrieve(self, query):
    ...         return [NodeWithScore(node, 1.0) for node in self.nodes[:1]]
    >>> First([TextNode("A boat is red."), TextNode("It sails.")]).retrieve("Which colour?")[0].text
    'A boat is red.'
    """

    name: str = "custom"  # in the trace
    verbose: bool = False

    def __init_subclass__(cls) -> None:
        own = cls.__dict__.get("_retrieve")
        if own is not None and len(signature(own).parameters) == 2:
            cls._retrieve = lambda self, query, step: own(self, query)  # type: ignore[method-assign]

    @abstractmethod
    def _retrieve(self, query: QueryBundle, step: Span) -> list[NodeWithScore]:
        """`step` is the span "retrieve", for further facts."""

    def retrieve(self, query: str | QueryBundle) -> list[NodeWithScore]:
        """The passages for a question, best first, each once. QuestionError for an empty question.

        The object of an IndexNode replaces it: a node, with its score; the passages of a retriever; or the
        answer of a query engine, as a passage. An IndexNode that leads back to itself stays. The span
        "retrieve" notes `retriever`, `question` and `found`, a list of {"id", "score"}; after objects were
        followed also `followed`, the same list of the result.
        """
        bundle = as_bundle(query)
        if bundle.embedding is None and not any(
            text.strip() for text in (bundle.query_str, *bundle.embedding_strs)
        ):
            raise QuestionError("There is no question.", hint="Type what you want to know.")
        with span("retrieve", retriever=self.name, question=bundle.query_str) as step, _as_caller(self):
            hits = list(self._retrieve(bundle, step))
            step.facts.setdefault("found", as_facts(hits))
            if any(_object_of(hit) is not None for hit in hits):
                hits = distinct(passage for hit in hits for passage in _follow(hit, bundle))
                step.note(followed=as_facts(hits))
        if self.verbose:
            logger.info("%s", step.outline())
        return distinct(hits)

    aretrieve = awaitable(retrieve)


def as_facts(hits: Sequence[NodeWithScore]) -> list[dict[str, Any]]:
    return [{"id": hit.node.id_, "score": hit.score} for hit in hits]


def distinct(hits: Iterable[NodeWithScore]) -> list[NodeWithScore]:
    """The first hit of each node id."""
    first: dict[str, NodeWithScore] = {}
    for hit in hits:
        first.setdefault(hit.node.id_, hit)
    return list(first.values())


def as_passage(answer: object, node: TextNode, score: float | None) -> NodeWithScore:
    """The answer of a query engine, with the id and metadata of the node that refers to it."""
    return NodeWithScore(TextNode(str(answer), node.id_, node.metadata), score)


def _object_of(hit: NodeWithScore) -> Any:
    return hit.node.obj if isinstance(hit.node, IndexNode) else None


def _as_caller(caller: object) -> AbstractContextManager[None]:
    return assigned(_callers, (*_callers.get(), id(caller)))


def _follow(hit: NodeWithScore, query: QueryBundle, passed: tuple[int, ...] = ()) -> Iterator[NodeWithScore]:
    """`passed` are the ids of the followed nodes; a node that leads back to one of them is returned
    itself."""
    target = _object_of(hit)
    score = 1.0 if hit.score is None else hit.score  # not `hit.score or 1.0`, which would replace 0.0
    if isinstance(target, NodeWithScore):
        score, target = target.score if target.score is not None else score, target.node
    if target is None or id(hit.node) in passed or id(target) in _callers.get():
        yield hit
    elif isinstance(target, TextNode):
        yield from _follow(NodeWithScore(target, score), query, (*passed, id(hit.node)))
    elif hasattr(target, "query"):
        with _as_caller(target):
            answer = target.query(query)
        yield as_passage(answer, hit.node, score)
    elif hasattr(target, "retrieve"):
        with _as_caller(target):
            hits = target.retrieve(query)
        yield from hits
    else:
        raise ValueError(
            f"node {hit.node.id_!r} stands for a {type(target).__name__}, which is no node, retriever "
            "or query engine"
        )
