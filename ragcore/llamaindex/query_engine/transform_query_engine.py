"""Query engines that ask other questions: a changed one, or one after the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from ragcore.llamaindex.query_engine.sub_question_query_engine import SubQuestion, combined_parts
from ragcore.llamaindex.retrievers.transform_retriever import (
    BaseQueryTransform,
    StepDecomposeQueryTransform,
    is_none,
)
from ragcore.observe import Span
from ragcore.query_engine.base import BaseQueryEngine, QueryEngine
from ragcore.response_synthesizers.answer import AnswerStream
from ragcore.response_synthesizers.base import AnySynthesizer
from ragcore.response_synthesizers.response_mode import ResponseMode
from ragcore.response_synthesizers.synthesizer import get_response_synthesizer
from ragcore.schema import QueryBundle, Response


class TransformQueryEngine(BaseQueryEngine):
    """The transform gets `transform_metadata` with each question.

    >>> from ragcore.indices import SummaryIndex
    >>> from ragcore.llms import ScriptedLLM
    >>> from ragcore.llamaindex.indices.query.query_transform import HyDEQueryTransform
    >>> from ragcore.schema import TextNode
    >>> llm = ScriptedLLM(["Ada may have written notes.", "Ada [1]."])
    >>> engine = SummaryIndex([TextNode("Ada wrote notes.")]).as_query_engine(llm=llm)
    >>> str(TransformQueryEngine(engine, HyDEQueryTransform(llm)).query("Who wrote notes?"))
    'Ada [1].'
    """

    prompt_parts: ClassVar = {"query_transform": "_transform", "query_engine": "_engine"}

    def __init__(
        self,
        query_engine: QueryEngine,
        query_transform: BaseQueryTransform,
        transform_metadata: Mapping[str, str] | None = None,
    ) -> None:
        self._engine = query_engine
        self._transform = query_transform
        self._metadata = transform_metadata

    def _answer(self, query: QueryBundle, step: Span) -> AnswerStream:
        return self._engine.stream_query(self._transform.run(query, self._metadata))


class MultiStepQueryEngine(BaseQueryEngine):
    """Asks up to `num_steps` questions, each with the earlier answers, until the next is "None" or a
    repetition.

    `index_summary` tells the transform what the engine knows. `response.metadata["sub_qa"]` has each question
    with its response.

    >>> from ragcore.indices import SummaryIndex
    >>> from ragcore.llms import ScriptedLLM
    >>> from ragcore.response_synthesizers import Synthesizer
    >>> from ragcore.schema import TextNode
    >>> llm = ScriptedLLM(["Who wrote notes?", "Ada [1].", "None", "It was Ada [1]."])
    >>> engine = SummaryIndex([TextNode("Ada wrote notes.")]).as_query_engine(llm=llm)
    >>> steps = MultiStepQueryEngine(engine, StepDecomposeQueryTransform(llm), Synthesizer(llm))
    >>> [question for question, _ in steps.query("Who was it?").metadata["sub_qa"]]
    ['Who wrote notes?']
    """

    prompt_parts: ClassVar = {"response_synthesizer": "_synthesizer", "query_transform": "_transform"}

    def __init__(
        self,
        query_engine: QueryEngine,
        query_transform: StepDecomposeQueryTransform,
        response_synthesizer: AnySynthesizer | None = None,
        num_steps: int = 3,
        index_summary: str = "",
    ) -> None:
        if num_steps < 1:
            raise ValueError(f"num_steps must be at least 1, not {num_steps}")
        self._engine = query_engine
        self._transform = query_transform
        self._synthesizer = response_synthesizer or get_response_synthesizer(
            response_mode=ResponseMode.TREE_SUMMARIZE
        )
        self._most = num_steps
        self._summary = index_summary

    def _answer(self, query: QueryBundle, step: Span) -> AnswerStream:
        answers: dict[str, Response] = {}
        while len(answers) < self._most:
            known = "\n".join(f"- {question}\n- {answer}" for question, answer in answers.items())
            question = self._transform.run(
                query, {"index_summary": self._summary, "prev_reasoning": known}
            ).query_str
            if is_none(question) or question in answers:
                break
            answers[question] = self._engine.query(question)
        if not answers:
            return self._engine.stream_query(query)
        parts = [SubQuestion(question, "") for question in answers]
        answer = combined_parts(self._synthesizer, query, parts, list(answers.values()))
        answer.extra["sub_qa"] = list(answers.items())
        return answer
