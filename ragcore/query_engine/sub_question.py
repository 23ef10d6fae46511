"""The query engine that divides a question, asks each part of the engine that knows, and answers from the answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ragcore.aliases import SameAsConstructor
from ragcore.concurrency import in_order
from ragcore.llms.base import LLM, LLMCall
from ragcore.observe import Span, span
from ragcore.prompts.prompt import Choice, Variables
from ragcore.prompts.structured_output import list_schema
from ragcore.prompts.templates import Wording, in_place_of
from ragcore.prompts.wording import SUB_QUESTIONS
from ragcore.query_engine.base import BaseQueryEngine, combined
from ragcore.query_engine.router import EngineTool
from ragcore.response_synthesizers.answer import AnswerStream
from ragcore.response_synthesizers.modes import ResponseMode
from ragcore.response_synthesizers.synthesizer import WORKERS, Synthesizer
from ragcore.schema import NodeWithScore, QueryBundle, Response
from ragcore.settings import services
from ragcore.text.json_replies import json_values


@dataclass(frozen=True, slots=True)
class SubQuestion:
    sub_question: str
    tool_name: str


@dataclass(frozen=True, slots=True)
class SubQuestionAnswerPair:
    sub_q: SubQuestion
    answer: str
    sources: tuple[NodeWithScore, ...] = ()


class SubQuestionQueryEngine(BaseQueryEngine):
    """One call to divide the question, its parts at the same time, and one answer from theirs (tree_summarize).

    A part for a tool that there is not is left out, which the span "divide" says; where none is left, the question itself goes
    to every tool. `response.metadata["sub_questions"]` has the parts with their answers; the sources of all of them are kept.
    """

    from_defaults = SameAsConstructor()

    def __init__(
        self,
        query_engine_tools: Sequence[EngineTool],
        llm: LLM | None = None,
        response_synthesizer: Synthesizer | None = None,
        *,
        prompt: Wording = SUB_QUESTIONS,
        use_async: bool = True,
        verbose: bool = False,
    ) -> None:
        """Without `use_async` one part is asked after the other."""
        if not query_engine_tools:
            raise ValueError("a sub-question engine needs at least one query engine tool")
        self._tools = {tool.metadata.name or "": tool for tool in query_engine_tools}
        if len(self._tools) < len(query_engine_tools):
            raise ValueError(f"tools need names of their own: {[tool.metadata.name for tool in query_engine_tools]}")
        self.verbose = verbose
        self._llm = services(llm).llm
        self._synthesizer = response_synthesizer or Synthesizer(self._llm, ResponseMode.TREE_SUMMARIZE)
        self._prompt = in_place_of(SUB_QUESTIONS, prompt, self._llm)
        self._workers = WORKERS if use_async else 1

    def _answer(self, query: QueryBundle, step: Span) -> AnswerStream:
        parts = self._divided(query)
        answers = in_order(
            lambda part: self._tools[part.tool_name].query_engine.query(part.sub_question), parts, workers=self._workers
        )
        return combined_parts(self._synthesizer, query, parts, answers)

    def _divided(self, query: QueryBundle) -> list[SubQuestion]:
        choices = tuple(
            Choice(number, tool.metadata.description, name) for number, (name, tool) in enumerate(self._tools.items(), 1)
        )
        with span("divide", question=query.query_str) as step:
            variables: Variables = {"choices": choices, "query_str": query.query_str}
            names = {"type": "string", "enum": list(self._tools)}
            schema = list_schema("items", {"sub_question": {"type": "string"}, "tool_name": names})
            reply = self._llm.generate(LLMCall(self._prompt, variables, schema=schema)).text
            said = read_sub_questions(reply)
            known = list(dict.fromkeys(part for part in said if part.tool_name in self._tools))
            if unknown := sorted({part.tool_name for part in said if part.tool_name not in self._tools}):
                step.note(no_such_tools=unknown)
            if not known:
                step.note(fell_back=True)
                known = [SubQuestion(query.query_str, name) for name in self._tools]
            step.note(parts=[{"sub_question": part.sub_question, "tool_name": part.tool_name} for part in known])
        return known


def combined_parts(
    synthesizer: Synthesizer, query: QueryBundle, parts: Sequence[SubQuestion], answers: Sequence[Response]
) -> AnswerStream:
    """One answer from those to its parts, which `extra` has as "sub_questions"."""
    pairs = [SubQuestionAnswerPair(part, str(said), said.source_nodes) for part, said in zip(parts, answers, strict=True)]
    heads = [f"{part.sub_question}\n" for part in parts]
    return combined(synthesizer, query, answers, heads, {"sub_questions": pairs})


def read_sub_questions(reply: str) -> list[SubQuestion]:
    """The sub-questions in a model's reply, in its order, each once; none where it is no JSON that has them."""
    pairs = [(item.get("sub_question"), item.get("tool_name")) for value in json_values(reply) for item in _items(value)]
    return [SubQuestion(asked.strip(), str(name).strip()) for asked, name in pairs if isinstance(asked, str) and asked.strip()]


def _items(value: Any) -> list[Mapping[str, Any]]:
    """The objects in a value that may be one, a list of them, or an object with such a list: {"items": [...]}."""
    if isinstance(value, Mapping) and "sub_question" not in value:
        lists = [item for item in value.values() if isinstance(item, list)]
        value = next((items for items in lists if any(isinstance(item, Mapping) for item in items)), [])
    return [item for item in (value if isinstance(value, list) else [value]) if isinstance(item, Mapping)]
