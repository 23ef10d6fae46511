"""The base of query engines: a question, one span around everything, and an answer in pieces."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from ragcore.concurrency import awaitable
from ragcore.errors import QuestionError
from ragcore.extractive.fixed_replies import best_replies
from ragcore.observe import Span, finish, start, stream_in, under
from ragcore.prompts.mixin import PromptMixin
from ragcore.prompts.prompt import Passage
from ragcore.response_synthesizers.answer import AnswerStream, log_trace
from ragcore.response_synthesizers.base import AnySynthesizer, at_once, count_calls
from ragcore.response_synthesizers.quoting import QuotingSynthesizer
from ragcore.retrievers.base import distinct
from ragcore.schema import NodeWithScore, QueryBundle, Response, as_bundle
from ragcore.text.citations import CITATION, rewrite_citations


class QueryEngine(Protocol):
    def query(self, query: str | QueryBundle) -> Response:
        """QuestionError for an empty question; LLMErrors."""

    def stream_query(self, query: str | QueryBundle) -> AnswerStream:
        """The same answer in pieces. Its passages are known when this returns."""


class BaseQueryEngine(PromptMixin, ABC):
    """Subclasses have `_answer`. It has no state of a question: threads may share it. With `verbose` it logs
    each trace; with `streaming`, `query` gives the answer in pieces, as `stream_query`.

    >>> from ragcore.indices import SummaryIndex
    >>> from ragcore.llms import ScriptedLLM
    >>> from ragcore.schema import TextNode
    >>> engine = SummaryIndex([TextNode("Ada wrote notes.")]).as_query_engine(llm=ScriptedLLM(["Ada [1]."]))
    >>> "".join(engine.stream_query("Who wrote notes?"))
    'Ada [1].'
    """

    verbose: bool = False
    streaming: bool = False

    def query(self, query: str | QueryBundle) -> Response:
        """QuestionError for an empty question; LLMErrors."""
        answer = self.stream_query(query)
        return answer if self.streaming else answer.whole()  # type: ignore[return-value]

    def stream_query(self, query: str | QueryBundle) -> AnswerStream:
        """The same answer in pieces. When this returns, only the last call is missing, and the passages are
        known."""
        bundle = as_bundle(query)
        if not bundle.query_str.strip():
            raise QuestionError("There is no question.", hint="Type what you want to know.")
        step = start("query", question=bundle.query_str, engine=type(self).__name__)
        try:
            with under(step):
                answer = self._answer(bundle, step)
        except BaseException as error:  # noted, whatever it is, and raised again
            finish(step, error)
            raise
        pieces = log_trace(step, stream_in(step, count_calls(step, answer.pieces)), self.verbose)
        return AnswerStream(pieces, answer.source_nodes, trace=step, extra=answer.extra)

    aquery = awaitable(query)
    astream_query = awaitable(stream_query)  # iterate with `async for piece in answer.async_response_gen()`

    @abstractmethod
    def _answer(self, query: QueryBundle, step: Span) -> AnswerStream:
        """`step` is the span "query"."""


def combine_answers(
    synthesizer: AnySynthesizer,
    query: QueryBundle,
    answers: Sequence[Response],
    heads: Sequence[str],
    extra: dict[str, Any],
) -> AnswerStream:
    """The synthesizer combines several answers, each a passage below its head. Citations refer to the joined
    sources. If all answers are refusals, there is no call."""
    sources = distinct(hit for answer in answers for hit in answer.source_nodes)
    places = {hit.node.id_: place for place, hit in enumerate(sources, 1)}
    texts = [renumber_citations(answer, places, len(sources)) for answer in answers]
    step = start("synthesize", mode=synthesizer.mode.value, passages=len(texts))
    outcomes = [answer.outcome for answer in answers]
    if set(outcomes) == {"nothing"} or isinstance(synthesizer, QuotingSynthesizer):
        best = best_replies(list(zip(texts, outcomes, strict=True)), query.query_str)
        pieces = at_once(_join_quotations(best))
    else:
        passages = tuple(Passage(head + text) for head, text in zip(heads, texts, strict=True))
        pieces = synthesizer.answer_from(passages, query.query_str, extra)
    return AnswerStream(stream_in(step, count_calls(step, pieces)), sources, trace=step, extra=extra)


def _join_quotations(replies: Sequence[str]) -> str:
    """Each quotation once, or the first answer if there is none."""
    quoting = [text for text in replies if CITATION.search(text)]
    return "\n\n".join(dict.fromkeys(quoting or replies[:1]))


def renumber_citations(answer: Response, places: Mapping[str, int], last: int) -> str:
    """The answer's text with its citations renumbered to `places`, without citations of missing passages."""
    own: Sequence[NodeWithScore] = answer.source_nodes

    def mark(number: int) -> str:
        if 1 <= number <= len(own):
            return f"[{places[own[number - 1].node.id_]}]"
        return f"[{number}]" if number > last else ""

    return rewrite_citations(str(answer), mark)
