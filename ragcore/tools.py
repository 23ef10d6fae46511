"""Tools: functions, query engines and retrievers that a language model may call by name, with arguments as
JSON.

`metadata` describes a tool to the model. A tool called from Python behaves like its function. Agents call
`run_tool`, which checks the arguments against the schema and turns a failure into a text on which the model
can act.
"""

from __future__ import annotations

import asyncio
import inspect
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, wraps
from typing import Any, Protocol

from pydantic import BaseModel, ValidationError, model_validator

from ragcore.concurrency import awaitable, run_coroutine
from ragcore.observe import span
from ragcore.prompts.prompt import Passage, ToolCard
from ragcore.prompts.tool_schema import call_with, context_parameter, signature_without
from ragcore.prompts.tool_schema import create_schema_from_function as create_schema_from_function
from ragcore.schema import BaseNode, MetadataMode, NodeWithScore
from ragcore.schema.content_blocks import Block, TextBlock, text_of

LONGEST_DESCRIPTION = 1024  # characters, OpenAI's limit


class DefaultToolFnSchema(BaseModel):
    """One text. The model may also send it under another name."""

    input: str

    @model_validator(mode="before")
    @classmethod
    def _by_any_name(cls, arguments: Any) -> Any:
        if not isinstance(arguments, dict) or "input" in arguments or not arguments:
            return arguments
        values = list(arguments.values())
        return {"input": values[0] if len(values) == 1 and isinstance(values[0], str) else as_json(arguments)}


@dataclass(frozen=True, slots=True)
class ToolMetadata:
    """The description of a tool for a model. With `return_direct` the tool's result is the answer, if it is
    the only call.

    >>> ToolMetadata("Adds two numbers.", "add").card.name
    'add'
    """

    description: str
    name: str = ""
    fn_schema: type[BaseModel] = DefaultToolFnSchema
    return_direct: bool = False

    def get_parameters_dict(self) -> dict[str, Any]:
        """The JSON schema of the arguments."""
        schema = self.fn_schema.model_json_schema()
        return {key: schema[key] for key in ("type", "properties", "required", "$defs") if key in schema}

    @property
    def fn_schema_str(self) -> str:
        return json.dumps(self.get_parameters_dict(), ensure_ascii=False)

    @property
    def card(self) -> ToolCard:
        return ToolCard(self.name, self.description, self.fn_schema_str)

    def to_openai_tool(self, skip_length_check: bool = False) -> dict[str, Any]:
        """The tool in OpenAI's format. ValueError for a description of more than 1024 characters, which
        OpenAI refuses."""
        if len(self.description) > LONGEST_DESCRIPTION and not skip_length_check:
            raise ValueError(
                f"the description of the tool {self.name!r} has {len(self.description)} characters; at most "
                f"{LONGEST_DESCRIPTION} can be sent: give a shorter one as description=..."
            )
        function = {
            "name": self.name,
            "description": self.description,
            "parameters": self.get_parameters_dict(),
        }
        return {"type": "function", "function": function}


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """The arguments and the result of a tool. `content` is the text of `raw_output` that a model sees.

    >>> str(ToolOutput("5", "add", {"kwargs": {"a": 2, "b": 3}}, 5))
    '5'
    """

    content: str
    tool_name: str
    raw_input: Mapping[str, Any] = field(default_factory=dict)
    raw_output: Any = None
    is_error: bool = field(default=False, repr=False)

    @property
    def source_nodes(self) -> tuple[NodeWithScore, ...] | None:
        """The passages of the result; None if the tool does not retrieve passages."""
        nodes = getattr(self.raw_output, "source_nodes", None)
        return None if nodes is None else tuple(nodes)

    def __str__(self) -> str:
        return self.content

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The blocks that the tool returned; else the content as one TextBlock."""
        return _blocks_of(self.raw_output) or (TextBlock(self.content),)


@dataclass(frozen=True, slots=True)
class ToolSelection:
    """A model's call of a tool, with parsed arguments.

    >>> ToolSelection("call_1", "add", {"a": 1, "b": 2}).tool_name
    'add'
    """

    tool_id: str
    tool_name: str
    tool_kwargs: Mapping[str, Any] = field(default_factory=dict)


class ArgumentsError(ValueError):
    """Wrong arguments for a tool. The message names them and the tool's schema."""


class Tool(Protocol):
    @property
    def metadata(self) -> ToolMetadata: ...

    def call(self, *args: Any, **kwargs: Any) -> ToolOutput:
        """The result for the tool's own arguments, as its schema names them.

        TypeError for one that it does not take; whatever the tool itself raises.
        """


class BaseTool(ABC):
    """A tool that is called like a function."""

    metadata: ToolMetadata

    @abstractmethod
    def call(self, *args: Any, **kwargs: Any) -> ToolOutput:
        """As `Tool.call`."""

    def __call__(self, *args: Any, **kwargs: Any) -> ToolOutput:
        return self.call(*args, **kwargs)

    acall = awaitable(call)


class FunctionTool(BaseTool):
    """A Python function as a tool. Its schema comes from the annotations; a parameter without one accepts any
    value.

    `call` runs an async function in an event loop of its own; `acall` runs a synchronous function in a
    thread.

    >>> def multiply(a: int, b: int) -> int:
    ...     return a * b
    >>> FunctionTool.from_defaults(multiply)(a=12, b=34).raw_output
    408
    """

    def __init__(
        self,
        fn: Callable[..., Any] | None,
        metadata: ToolMetadata,
        async_fn: Callable[..., Coroutine[Any, Any, Any]] | None = None,
        partial_params: Mapping[str, Any] | None = None,
    ) -> None:
        if fn is not None and (
            inspect.iscoroutinefunction(fn) or inspect.iscoroutinefunction(type(fn).__call__)
        ):
            fn, async_fn = None, async_fn or fn
        function = fn or async_fn
        if function is None:
            raise ValueError("a tool needs a function: fn or async_fn")
        self.fn = _run_to_end(function)
        self.async_fn: Callable[..., Any] = async_fn or wraps(function)(partial(asyncio.to_thread, self.fn))
        self.metadata = metadata
        self.partial_params = dict(partial_params or {})
        self.ctx_param_name = context_parameter(function)

    @property
    def requires_context(self) -> bool:
        """Whether the function has a parameter for the Context of a workflow."""
        return self.ctx_param_name is not None

    @classmethod
    def from_defaults(
        cls,
        fn: Callable[..., Any] | None = None,
        name: str | None = None,
        description: str | None = None,
        return_direct: bool = False,
        fn_schema: type[BaseModel] | None = None,
        async_fn: Callable[..., Coroutine[Any, Any, Any]] | None = None,
        tool_metadata: ToolMetadata | None = None,
        partial_params: Mapping[str, Any] | None = None,
    ) -> FunctionTool:
        """The defaults are the function's name, its signature and docstring as description, and a schema of
        its parameters.

        `partial_params` are fixed arguments that the model does not see; an agent passes the Context of its
        workflow to a parameter of that type. `Annotated[int, "..."]` describes a parameter; so does "name:
        ..." or ":param name: ..." in the docstring.
        """
        function = fn or async_fn
        if function is None:
            raise ValueError("a tool needs a function: fn or async_fn")
        if tool_metadata is None:
            name = name or str(getattr(function, "__name__", type(function).__name__))
            hidden = {*(partial_params or {}), context_parameter(function) or "", "self"}
            described = (
                f"{name}{signature_without(function, hidden)}\n{inspect.getdoc(function) or ''}".strip()
            )
            schema = fn_schema or create_schema_from_function(name, function, ignore_fields=hidden)
            tool_metadata = ToolMetadata(description or described, name, schema, return_direct)
        return cls(fn, tool_metadata, async_fn, partial_params)

    def call(self, *args: Any, **kwargs: Any) -> ToolOutput:
        kwargs = {**self.partial_params, **kwargs}
        return self._output(args, kwargs, call_with(self.fn, args, kwargs))

    async def acall(self, *args: Any, **kwargs: Any) -> ToolOutput:
        kwargs = {**self.partial_params, **kwargs}
        return self._output(args, kwargs, await call_with(self.async_fn, args, kwargs))

    def _output(self, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> ToolOutput:
        if isinstance(result, ToolOutput):
            return result
        visible = {name: value for name, value in kwargs.items() if name != self.ctx_param_name}
        return ToolOutput(_text_of(result), self.metadata.name, {"args": args, "kwargs": visible}, result)


def _run_to_end(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function; if it returns a coroutine, the result of the coroutine."""

    @wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        return run_coroutine(result) if inspect.iscoroutine(result) else result

    return run


def tool(fn: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Decorates a function, async or not, as a tool: `@tool`, or `@tool(name="...", ...)` with options of
    `from_defaults`.

    >>> @tool(name="sum")
    ... def add(a: int, b: int) -> int:
    ...     return a + b
    >>> add.metadata.name
    'sum'
    """
    if fn is None:
        return lambda function: FunctionTool.from_defaults(function, **options)
    return FunctionTool.from_defaults(fn, **options)


class HasQuery(Protocol):
    def query(self, query: str, /) -> Any:
        """An answer: its `str` is the text, its `source_nodes` are the passages."""


class HasRetrieve(Protocol):
    def retrieve(self, query: str, /) -> list[NodeWithScore]:
        """The passages for a question, best first."""


QUERY_ENGINE_TOOL = ToolMetadata(
    "Answers questions about the documents. Give it a whole question in plain words.", "query_engine_tool"
)


class QueryEngineTool(BaseTool):
    """Passes one text to a query engine. Citation [n] of the answer is `raw_output.source_nodes[n - 1]`.

    Without `resolve_input_errors`, any other argument than `input` is a ValueError.

    >>> from ragcore.indices import SummaryIndex
    >>> from ragcore.llms import ScriptedLLM
    >>> from ragcore.schema import TextNode
    >>> engine = SummaryIndex([TextNode("It is 40 m high.")]).as_query_engine(llm=ScriptedLLM(["40 m [1]"]))
    >>> str(QueryEngineTool.from_defaults(engine, name="heights")("How high is it?"))
    '40 m [1]'
    """

    def __init__(
        self, query_engine: HasQuery, metadata: ToolMetadata, resolve_input_errors: bool = True
    ) -> None:
        self.query_engine = query_engine
        self.metadata = metadata
        self.resolve_input_errors = resolve_input_errors

    @classmethod
    def from_defaults(
        cls,
        query_engine: HasQuery,
        name: str = QUERY_ENGINE_TOOL.name,
        description: str = QUERY_ENGINE_TOOL.description,
        return_direct: bool = False,
        resolve_input_errors: bool = True,
    ) -> QueryEngineTool:
        return cls(
            query_engine, ToolMetadata(description, name, return_direct=return_direct), resolve_input_errors
        )

    def call(self, *args: Any, **kwargs: Any) -> ToolOutput:
        if not self.resolve_input_errors and not args and "input" not in kwargs:
            raise ValueError(f"{self.metadata.name} takes the argument input, not {sorted(kwargs)}")
        query = _query_of(args, kwargs)
        response = self.query_engine.query(query)
        return ToolOutput(str(response), self.metadata.name, {"input": query}, response)


class RetrieverTool(BaseTool):
    """Passes one text to a retriever. The result lists the passages with their numbers.

    >>> from ragcore.indices import SummaryIndex
    >>> from ragcore.schema import TextNode
    >>> retriever = SummaryIndex([TextNode("It is 40 m high.")]).as_retriever()
    >>> print(RetrieverTool.from_defaults(retriever)("How high is it?"))
    [1]
    It is 40 m high.
    """

    def __init__(self, retriever: HasRetrieve, metadata: ToolMetadata) -> None:
        self.retriever = retriever
        self.metadata = metadata

    @classmethod
    def from_defaults(
        cls,
        retriever: HasRetrieve,
        name: str = "retriever_tool",
        description: str = "Finds passages of the documents. Give it a question or keywords.",
        return_direct: bool = False,
    ) -> RetrieverTool:
        return cls(retriever, ToolMetadata(description, name, return_direct=return_direct))

    def call(self, *args: Any, **kwargs: Any) -> ToolOutput:
        query = _query_of(args, kwargs)
        passages = RetrievedPassages(self.retriever.retrieve(query))
        return ToolOutput(str(passages), self.metadata.name, {"input": query}, passages)


def _query_of(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
    """The argument `input`. If a model used other names, all its arguments as text."""

    def one_text(input: str) -> str:
        return input

    return one_text(*args, **kwargs) if args or "input" in kwargs else str(dict(kwargs))


@dataclass(frozen=True, slots=True)
class RetrievedPassages:
    """The result of a RetrieverTool. Its text lists the passages with their numbers."""

    source_nodes: Sequence[NodeWithScore]

    def __str__(self) -> str:
        passages = (
            Passage(hit.get_content(MetadataMode.LLM), number)
            for number, hit in enumerate(self.source_nodes, 1)
        )
        return "\n\n".join(map(str, passages)) or "Nothing was found."


def run_tool(tool: Tool, arguments: Any) -> ToolOutput:
    """The tool's result for a model's arguments. If they are invalid or the tool fails, the result is an
    error text.

    >>> run_tool(FunctionTool.from_defaults(abs, name="abs"), {"x": -3}).content
    '3'
    """
    about = tool.metadata
    raw_input = {"args": (), "kwargs": arguments}
    with span("tool", tool=about.name, arguments=as_json(arguments)) as step:
        try:
            output = replace(tool.call(**check_arguments(about, arguments)), raw_input=raw_input)
        except Exception as error:  # noqa: BLE001  # the model sees any error of a tool as its result, and may go on
            output = ToolOutput(
                f"Error: {str(error) or type(error).__name__}", about.name, raw_input, error, is_error=True
            )
        step.note(result=output.content, is_error=output.is_error)
    return output


def as_json(value: Any) -> str:
    """A text unchanged; None, bool, list and dict as JSON; any other value by `str`."""
    if isinstance(value, BaseModel):
        return value.model_dump_json()
    if value is None or isinstance(value, (bool, list, tuple, dict)):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)


def _text_of(result: Any) -> str:
    """The text of a function's result for a model: the texts of blocks and nodes; other values as JSON or by
    `str`."""
    items = result if isinstance(result, list | tuple) else [result]
    if items and all(isinstance(item, BaseNode) for item in items):
        return "\n\n".join(item.get_content(MetadataMode.LLM) for item in items)
    return text_of(blocks) if (blocks := _blocks_of(result)) else as_json(result)


def _blocks_of(result: Any) -> tuple[Block, ...]:
    items = tuple(result) if isinstance(result, list | tuple) else (result,)
    return items if all(isinstance(item, Block) for item in items) else ()


def get_function_tool(output_cls: type[BaseModel]) -> FunctionTool:
    """A tool whose arguments are the fields of a pydantic model and whose result is an object of it.

    >>> from pydantic import BaseModel
    >>> class Song(BaseModel):
    ...     title: str
    >>> get_function_tool(Song)(title="Rain").raw_output
    Song(title='Rain')
    """
    name, description = output_cls.__name__, output_cls.__doc__ or f"Makes a {output_cls.__name__}."
    return FunctionTool.from_defaults(
        lambda **values: output_cls(**values), name, description, fn_schema=output_cls
    )


def as_tools(tools: Sequence[Any]) -> list[Any]:
    """The tools; a function among them becomes a tool. ValueError for other objects.

    >>> as_tools([abs])[0].metadata.name
    'abs'
    """
    for each in tools:
        if not hasattr(each, "metadata") and not callable(each):
            raise ValueError(f"{each!r} is no tool; QueryEngineTool.from_defaults makes one of an engine")
    return [each if hasattr(each, "metadata") else FunctionTool.from_defaults(each) for each in tools]


def check_arguments(about: ToolMetadata, arguments: Any) -> dict[str, Any]:
    """The arguments by parameter name, converted and completed with defaults by the schema.
    ArgumentsError."""
    try:
        model = about.fn_schema.model_validate(arguments)
    except ValidationError as error:
        wrong = "; ".join(
            f"{'.'.join(map(str, problem['loc'])) or 'arguments'}: {problem['msg']} (given: "
            f"{as_json(problem['input'])[:80]})"
            for problem in error.errors(include_url=False)
        )
        raise ArgumentsError(
            f"the arguments do not fit {about.name}. {wrong}. It takes: {about.fn_schema_str}"
        ) from error
    fields = about.fn_schema.model_fields
    return {(name in fields and fields[name].alias) or name: value for name, value in model}
