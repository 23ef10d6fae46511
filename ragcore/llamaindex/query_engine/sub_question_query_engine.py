"""A query engine that divides a question, queries an engine for each part, and answers from the answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Self

from ragcore.concurrency import awaitable, in_order
from ragcore.llms.base import LLM, LLMCall
from ragcore.observe import Span, span
from ragcore.prompts.mixin import PromptMixin
from ragcore.prompts.prompt import Choice, Variables
from ragcore.prompts.structured_output import list_schema
from ragcore.prompts.templates import Wording, replace_prompt
from ragcore.prompts.wording import SUB_QUESTIONS
from ragcore.query_engine.base import BaseQueryEngine, combine_answers
from ragcore.query_engine.router import EngineTool
from ragcore.response_synthesizers.answer import AnswerStream
from ragcore.response_synthesizers.base import AnySynthesizer
from ragcore.response_synthesizers.response_mode import ResponseMode
from ragcore.response_synthesizers.synthesizer import WORKERS, get_response_synthesizer
from ragcore.schema import NodeWithScore, QueryBundle, Response, as_bundle
from ragcore.selectors import HasDescription
from ragcore.settings import services
from ragcore.text.json_replies import parse_json_values


@dataclass(frozen=True, slots=True)
class SubQuestion:
    sub_question: str
    tool_name: str


@dataclass(frozen=True, slots=True)
class SubQuestionAnswerPair:
    sub_q: SubQuestion
    answer: str
    sources: tuple[NodeWithScore, ...] = ()


class LLMQuestionGenerator(PromptMixin):
    """Divides a question into simple questions for tools, in one call.

    >>> from ragcore.llms import ScriptedLLM
    >>> from ragcore.tools import ToolMetadata
    >>> llm = ScriptedLLM(['[{"sub_question": "Who wrote notes?", "tool_name": "letters"}]'])
    >>> LLMQuestionGenerator(llm).generate(
    ...     [ToolMetadata("Letters of Ada.", "letters")], "Who wrote notes, and when?"
    ... )
    [SubQuestion(sub_question='Who wrote notes?', tool_name='letters')]
    """

    @classmethod
    def from_defaults(cls, *args: Any, **options: Any) -> Self:
        """The arguments are those of the constructor."""
        return cls(*args, **options)

    prompt_attributes: ClassVar = {"question_gen_prompt": "_prompt"}

    def __init__(self, llm: LLM | None = None, prompt_template_str: Wording = SUB_QUESTIONS) -> None:
        """The prompt names the tools as {tools_str} and the question as {query_str}."""
        self._llm = services(llm).llm
        self._prompt = replace_prompt(SUB_QUESTIONS, prompt_template_str, self._llm)

    def generate(self, tools: Sequence[HasDescription], query: str | QueryBundle) -> list[SubQuestion]:
        """The sub-questions in the model's order; none where its reply has none. LLMErrors."""
        choices = tuple(
            Choice(number, tool.description, tool.name or "") for number, tool in enumerate(tools, 1)
        )
        variables: Variables = {
            "choices": choices,
            "tools_str": choices,
            "query_str": as_bundle(query).query_str,
        }
        names = {"type": "string", "enum": [tool.name or "" for tool in tools]}
        schema = list_schema("items", {"sub_question": {"type": "string"}, "tool_name": names})
        return read_sub_questions(self._llm.generate(LLMCall(self._prompt, variables, schema=schema)).text)

    agenerate = awaitable(generate)


class SubQuestionQueryEngine(BaseQueryEngine):
    """One call divides the question, the parts are answered in parallel, and one answer combines theirs
    (tree_summarize).

    A part for an unknown tool is ignored, which the span "divide" notes; without any part, the question
    itself goes to every tool. `response.metadata["sub_questions"]` has the parts with their answers. The
    answer has the sources of all.

    >>> from ragcore.indices import SummaryIndex
    >>> from ragcore.llms import ScriptedLLM
    >>> from ragcore.schema import TextNode
    >>> from ragcore.tools import QueryEngineTool
    >>> llm = ScriptedLLM(
    ...     ['[{"sub_question": "Which colour?", "tool_name": "boats"}]', "Red [1].", "It is red [1]."]
    ... )
    >>> engine = SummaryIndex([TextNode("The boat is red.")]).as_query_engine(llm=llm)
    >>> answer = SubQuestionQueryEngine([QueryEngineTool.from_defaults(engine, name="boats")], llm).query(
    ...     "Describe it."
    ... )
    >>> answer.metadata["sub_questions"][0].sub_q.sub_question
    'Which colour?'
    """

    @classmethod
    def from_defaults(cls, *args: Any, **options: Any) -> Self:
        """The arguments are those of the constructor."""
        return cls(*args, **options)

    prompt_parts: ClassVar = {"question_gen": "_question_gen", "response_synthesizer": "_synthesizer"}

    def __init__(
        self,
        query_engine_tools: Sequence[EngineTool],
        llm: LLM | None = None,
        response_synthesizer: AnySynthesizer | None = None,
        *,
        question_gen: LLMQuestionGenerator | None = None,
        use_async: bool = True,
        verbose: bool = False,
    ) -> None:
        """Without `use_async` one part follows the other."""
        if not query_engine_tools:
            raise ValueError("a sub-question engine needs at least one query engine tool")
        self._tools = {tool.metadata.name or "": tool for tool in query_engine_tools}
        if len(self._tools) < len(query_engine_tools):
            raise ValueError(
                f"tools need names of their own: {[tool.metadata.name for tool in query_engine_tools]}"
            )
        self.verbose = verbose
        self._llm = services(llm).llm
        self._synthesizer = response_synthesizer or get_response_synthesizer(
            self._llm, ResponseMode.TREE_SUMMARIZE
        )
        self._question_gen = question_gen or LLMQuestionGenerator(self._llm)
        self._workers = WORKERS if use_async else 1

    def _answer(self, query: QueryBundle, step: Span) -> AnswerStream:
        parts = self._divide(query)
        answers = in_order(
            lambda part: self._tools[part.tool_name].query_engine.query(part.sub_question),
            parts,
            workers=self._workers,
        )
        return combined_parts(self._synthesizer, query, parts, answers)

    def _divide(self, query: QueryBundle) -> list[SubQuestion]:
        """The sub-questions for existing tools; without any, the question itself for each tool."""
        with span("divide", question=query.query_str) as step:
            parts = self._question_gen.generate([tool.metadata for tool in self._tools.values()], query)
            known = list(dict.fromkeys(part for part in parts if part.tool_name in self._tools))
            if unknown := sorted({part.tool_name for part in parts if part.tool_name not in self._tools}):
                step.note(no_such_tools=unknown)
            if not known:
                step.note(fell_back=True)
                known = [SubQuestion(query.query_str, name) for name in self._tools]
            step.note(parts=[asdict(part) for part in known])
        return known


def combined_parts(
    synthesizer: AnySynthesizer,
    query: QueryBundle,
    parts: Sequence[SubQuestion],
    answers: Sequence[Response],
) -> AnswerStream:
    """One answer from those to the parts, which `extra` gets as "sub_questions"."""
    pairs = [
        SubQuestionAnswerPair(part, str(each), each.source_nodes)
        for part, each in zip(parts, answers, strict=True)
    ]
    heads = [f"{part.sub_question}\n" for part in parts]
    return combine_answers(synthesizer, query, answers, heads, {"sub_questions": pairs})


def read_sub_questions(reply: str) -> list[SubQuestion]:
    """The sub-questions in the JSON of a model's reply, in its order."""
    pairs = [
        (item.get("sub_question"), item.get("tool_name"))
        for value in parse_json_values(reply)
        for item in _items(value)
    ]
    return [
        SubQuestion(text.strip(), str(name).strip())
        for text, name in pairs
        if isinstance(text, str) and text.strip()
    ]


def _items(value: Any) -> list[Mapping[str, Any]]:
    """The objects in a value that may be one, a list of them, or an object with such a list: {"items":
    [...]}."""
    if isinstance(value, Mapping) and "sub_question" not in value:
        lists = [item for item in value.values() if isinstance(item, list)]
        value = next((items for items in lists if any(isinstance(item, Mapping) for item in items)), [])
    return [item for item in (value if isinstance(value, list) else [value]) if isinstance(item, Mapping)]
