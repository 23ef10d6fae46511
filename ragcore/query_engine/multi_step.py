"""The query engine that asks one question after the other, each in the light of the answers before it."""

from __future__ import annotations

from typing import ClassVar

from ragcore.observe import Span
from ragcore.query_engine.base import BaseQueryEngine, QueryEngine
from ragcore.query_engine.sub_question import SubQuestion, combined_parts
from ragcore.response_synthesizers.answer import AnswerStream
from ragcore.response_synthesizers.modes import ResponseMode
from ragcore.response_synthesizers.synthesizer import Synthesizer
from ragcore.retrievers.query_transforms import StepDecomposeQueryTransform, is_none
from ragcore.schema import QueryBundle, Response


class MultiStepQueryEngine(BaseQueryEngine):
    """At most `num_steps` questions; it ends before where the next would be "None" or one already asked.

    `index_summary` tells the transform what the engine knows. `response.metadata["sub_qa"]` has each question
    with its response.
    """

    prompt_parts: ClassVar = {"response_synthesizer": "_synthesizer", "query_transform": "_transform"}

    def __init__(
        self,
        query_engine: QueryEngine,
        query_transform: StepDecomposeQueryTransform,
        response_synthesizer: Synthesizer | None = None,
        num_steps: int = 3,
        index_summary: str = "",
    ) -> None:
        if num_steps < 1:
            raise ValueError(f"num_steps must be at least 1, not {num_steps}")
        self._engine = query_engine
        self._transform = query_transform
        self._synthesizer = response_synthesizer or Synthesizer(mode=ResponseMode.TREE_SUMMARIZE)
        self._most = num_steps
        self._summary = index_summary

    def _answer(self, query: QueryBundle, step: Span) -> AnswerStream:
        asked: list[str] = []
        answers: list[Response] = []
        while len(asked) < self._most:
            known = "\n".join(f"- {question}\n- {answer}" for question, answer in zip(asked, answers, strict=True))
            following = self._transform.run(query, {"index_summary": self._summary, "prev_reasoning": known}).query_str
            if is_none(following) or following in asked:
                break
            asked.append(following)
            answers.append(self._engine.query(following))
        if not answers:
            return self._engine.stream_query(query)
        answer = combined_parts(self._synthesizer, query, [SubQuestion(question, "") for question in asked], answers)
        answer.extra["sub_qa"] = list(zip(asked, answers, strict=True))
        return answer
