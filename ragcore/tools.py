"""Tools: functions, query engines and retrievers that a language model may call by name, with arguments as JSON.

A tool says what it is in its `metadata`. Called from Python it behaves like the function; `run_tool` is how an agent calls it:
with arguments checked against the schema, once, and with a failure as a text that the model can act on.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Protocol, overload

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model, model_validator

from ragcore.concurrency import awaitable, finished
from ragcore.content_blocks import Block, TextBlock
from ragcore.observe import span
from ragcore.prompts.prompt import Passage, ToolCard
from ragcore.schema import MetadataMode, NodeWithScore

__path__: list[str] = []  # inner paths, such as ragcore.tools.types, are looked up in `ragcore.inner_paths`
LONGEST_DESCRIPTION = 1024  # characters, that OpenAI takes


class DefaultToolFnSchema(BaseModel):
    """One text. A model that names it otherwise means it all the same."""

    input: str

    @model_validator(mode="before")
    @classmethod
    def _by_any_name(cls, given: Any) -> Any:
        if not isinstance(given, dict) or "input" in given or not given:
            return given
        values = list(given.values())
        return {"input": values[0] if len(values) == 1 and isinstance(values[0], str) else as_json(given)}


@dataclass(frozen=True, slots=True)
class ToolMetadata:
    """What a model is told of a tool. `return_direct`: its result is the answer, when it is the only tool called."""

    description: str
    name: str
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

    def to_openai_tool(self) -> dict[str, Any]:
        """As OpenAI and those who copy it want it. ValueError for a description of more than 1024 characters."""
        if len(self.description) > LONGEST_DESCRIPTION:
            raise ValueError(
                f"the description of the tool {self.name!r} has {len(self.description)} characters; at most "
                f"{LONGEST_DESCRIPTION} can be sent: give a shorter one as description=..."
            )
        function = {"name": self.name, "description": self.description, "parameters": self.get_parameters_dict()}
        return {"type": "function", "function": function}


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a tool was asked and what it gave: `content` is what a model sees of `raw_output`."""

    content: str
    tool_name: str
    raw_input: Mapping[str, Any] = field(default_factory=dict)
    raw_output: Any = None
    is_error: bool = field(default=False, repr=False)

    @property
    def source_nodes(self) -> tuple[NodeWithScore, ...] | None:
        """The passages behind it; None where the tool is not one that looks for passages."""
        found = getattr(self.raw_output, "source_nodes", None)
        return None if found is None else tuple(found)

    def __str__(self) -> str:
        return self.content

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The content as a message has it."""
        return (TextBlock(self.content),)


@dataclass(frozen=True, slots=True)
class ToolSelection:
    """A call of a tool that a model wants, with the arguments read.

    >>> ToolSelection("call_1", "add", {"a": 1, "b": 2}).tool_name
    'add'
    """

    tool_id: str
    tool_name: str
    tool_kwargs: Mapping[str, Any] = field(default_factory=dict)


class ArgumentsError(ValueError):
    """Arguments that a tool does not take; the message says which and what it takes."""


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
    """A Python function as a tool. Its schema comes from the annotations; what has none may be anything.

    An async function runs in a loop of its own where it is called without one; a function that is not async runs in a thread
    where it is awaited.
    """

    def __init__(
        self,
        fn: Callable[..., Any] | None,
        metadata: ToolMetadata,
        async_fn: Callable[..., Coroutine[Any, Any, Any]] | None = None,
        partial_params: Mapping[str, Any] | None = None,
    ) -> None:
        if fn is None and async_fn is None:
            raise ValueError("a tool needs a function: fn or async_fn")
        if fn is not None and (inspect.iscoroutinefunction(fn) or inspect.iscoroutinefunction(type(fn).__call__)):
            fn, async_fn = None, async_fn or fn
        self.fn = fn
        self.async_fn = async_fn
        self.metadata = metadata
        self.partial_params = dict(partial_params or {})
        self.context_param = context_param(fn or async_fn)

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
        """Where not given: the function's name; its signature and docstring as description; a schema of its parameters.

        `partial_params` are arguments that the model neither sees nor gives; an agent gives the Context of its workflow to a
        parameter of that type. Parameters are described by `Annotated[int, "..."]`, or in the docstring as "name: ..." or
        ":param name: ...".
        """
        function = fn or async_fn
        if function is None:
            raise ValueError("a tool needs a function: fn or async_fn")
        if tool_metadata is None:
            name = name or str(getattr(function, "__name__", type(function).__name__))
            hidden = {*(partial_params or {}), context_param(function) or ""}
            described = f"{name}{_shown(function, hidden)}\n{inspect.getdoc(function) or ''}".strip()
            schema = fn_schema or schema_of(function, name, hidden)
            tool_metadata = ToolMetadata(description or described, name, schema, return_direct)
        return cls(fn, tool_metadata, async_fn, partial_params)

    def call(self, *args: Any, **kwargs: Any) -> ToolOutput:
        function = self.async_fn if self.fn is None else self.fn
        assert function is not None
        result = _called(function, args, {**self.partial_params, **kwargs})
        return self._output(args, kwargs, finished(result) if inspect.iscoroutine(result) else result)

    async def acall(self, *args: Any, **kwargs: Any) -> ToolOutput:
        if self.async_fn is None:
            return await asyncio.to_thread(self.call, *args, **kwargs)
        return self._output(args, kwargs, await _called(self.async_fn, args, {**self.partial_params, **kwargs}))

    def _output(self, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> ToolOutput:
        if isinstance(result, ToolOutput):
            return result
        shown = {name: value for name, value in kwargs.items() if name != self.context_param}
        return ToolOutput(as_json(result), self.metadata.name, {"args": args, "kwargs": shown}, result)


@overload
def tool(fn: Callable[..., Any], /) -> FunctionTool: ...
@overload
def tool(
    fn: None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    return_direct: bool = False,
    fn_schema: type[BaseModel] | None = None,
) -> Callable[[Callable[..., Any]], FunctionTool]: ...
def tool(
    fn: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    return_direct: bool = False,
    fn_schema: type[BaseModel] | None = None,
) -> FunctionTool | Callable[[Callable[..., Any]], FunctionTool]:
    """A function, async or not, as a tool: `@tool` above it, or `@tool(name="...", ...)`."""

    def made(function: Callable[..., Any]) -> FunctionTool:
        return FunctionTool.from_defaults(function, name, description, return_direct, fn_schema)

    return made if fn is None else made(fn)


class Answering(Protocol):
    def query(self, query: str, /) -> Any:
        """An answer, the text of which is its `str`, with its passages in `source_nodes`."""


class Finding(Protocol):
    def retrieve(self, query: str, /) -> list[NodeWithScore]:
        """The passages for a question, best first."""


class QueryEngineTool(BaseTool):
    """Asks a query engine the one text it is given. The answer's marks [n] are the passages of `raw_output.source_nodes`."""

    def __init__(self, query_engine: Answering, metadata: ToolMetadata) -> None:
        self.query_engine = query_engine
        self.metadata = metadata

    @classmethod
    def from_defaults(
        cls,
        query_engine: Answering,
        name: str = "query_engine_tool",
        description: str = "Answers questions about the documents. Give it a whole question in plain words.",
        return_direct: bool = False,
    ) -> QueryEngineTool:
        return cls(query_engine, ToolMetadata(description, name, return_direct=return_direct))

    def call(self, input: str) -> ToolOutput:
        response = self.query_engine.query(input)
        return ToolOutput(str(response), self.metadata.name, {"input": input}, response)


class RetrieverTool(BaseTool):
    """Looks up the one text it is given; its result shows the passages numbered, as many as the retriever found."""

    def __init__(self, retriever: Finding, metadata: ToolMetadata) -> None:
        self.retriever = retriever
        self.metadata = metadata

    @classmethod
    def from_defaults(
        cls,
        retriever: Finding,
        name: str = "retriever_tool",
        description: str = "Finds passages of the documents. Give it a question or keywords.",
        return_direct: bool = False,
    ) -> RetrieverTool:
        return cls(retriever, ToolMetadata(description, name, return_direct=return_direct))

    def call(self, input: str) -> ToolOutput:
        found = Found(self.retriever.retrieve(input))
        return ToolOutput(str(found), self.metadata.name, {"input": input}, found)


@dataclass(frozen=True, slots=True)
class Found:
    """The passages that a RetrieverTool found; as text, numbered."""

    source_nodes: Sequence[NodeWithScore]

    def __str__(self) -> str:
        shown = (Passage(hit.get_content(MetadataMode.LLM), number) for number, hit in enumerate(self.source_nodes, 1))
        return "\n\n".join(map(str, shown)) or "Nothing was found."


def run_tool(tool: Tool, arguments: Any) -> ToolOutput:
    """The tool's result for arguments from a model; where they do not fit or the tool fails, an error text as the result."""
    about = tool.metadata
    asked = {"args": (), "kwargs": arguments}
    with span("tool", tool=about.name, arguments=as_json(arguments)) as step:
        try:
            output = replace(tool.call(**checked(about, arguments)), raw_input=asked)
        except Exception as error:  # noqa: BLE001  # whatever the tool raises, the model is told and may go on
            output = ToolOutput(f"Error: {str(error) or type(error).__name__}", about.name, asked, error, is_error=True)
        step.note(result=output.content, is_error=output.is_error)
    return output


def as_json(value: Any) -> str:
    """A text as it is; None, bool, list and dict as JSON; anything else as `str` says it."""
    if isinstance(value, BaseModel):
        return value.model_dump_json()
    if value is None or isinstance(value, (bool, list, tuple, dict)):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)


def as_tools(tools: Sequence[Any]) -> list[Any]:
    """The tools; a function among them becomes one. ValueError for what is neither.

    >>> as_tools([abs])[0].metadata.name
    'abs'
    """
    for each in tools:
        if not hasattr(each, "metadata") and not callable(each):
            raise ValueError(f"{each!r} is no tool; QueryEngineTool.from_defaults makes one of an engine")
    return [each if hasattr(each, "metadata") else FunctionTool.from_defaults(each) for each in tools]


def context_param(function: Callable[..., Any] | None) -> str | None:
    """The parameter that takes the Context of a workflow; None where there is none."""
    for parameter in _signature(function).parameters.values() if function else ():
        kind = getattr(parameter.annotation, "__origin__", parameter.annotation)
        if getattr(kind, "__name__", "") == "Context" and str(kind.__module__).startswith("workflows"):
            return parameter.name
    return None


def _shown(function: Callable[..., Any], hidden: Collection[str]) -> inspect.Signature:
    signature = _signature(function)
    return signature.replace(parameters=[each for name, each in signature.parameters.items() if name not in hidden])


def schema_of(function: Callable[..., Any], name: str, hidden: Collection[str] = ()) -> type[BaseModel]:
    """A model of the function's parameters; *args and those `hidden` are left out; with **kwargs any name is allowed."""
    signature = _signature(function)
    described = _descriptions(inspect.getdoc(function) or "", signature.parameters)
    fields: dict[str, Any] = {}
    further = False
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            further = True
        elif parameter.kind is not parameter.VAR_POSITIONAL and parameter.name not in hidden:
            # A model's own names, and those with an underscore, cannot be fields; they go by an alias.
            clashes = parameter.name.startswith("_") or hasattr(BaseModel, parameter.name)
            default = ... if parameter.default is parameter.empty else parameter.default
            field_name = f"{parameter.name.strip('_')}_" if clashes else parameter.name
            kind = _kind(parameter, described.get(parameter.name))
            fields[field_name] = (kind, Field(default, alias=parameter.name if clashes else None))
    config = ConfigDict(extra="allow" if further else "forbid", arbitrary_types_allowed=True, protected_namespaces=())
    model: type[BaseModel] = create_model(name, __config__=config, **fields)
    return model


def _kind(parameter: inspect.Parameter, described: str | None) -> Any:
    """The annotation, with a text in `Annotated`, or else what the docstring says, as its description."""
    unknown = parameter.annotation is parameter.empty or isinstance(parameter.annotation, str)
    kind = Any if unknown else parameter.annotation
    said = next((note for note in getattr(kind, "__metadata__", ()) if isinstance(note, str)), described)
    return Annotated[kind, Field(description=said)] if said else kind


def _descriptions(docstring: str, parameters: Mapping[str, Any]) -> dict[str, str]:
    """What the docstring says of each parameter, in Google's or Sphinx's way."""
    found = ((match["sphinx"] or match["google"], match["text"].strip()) for match in _DESCRIBED.finditer(docstring))
    return {name: text for name, text in found if name in parameters}


_DESCRIBED = re.compile(
    r"^\s*(?::param\s+(?:[^:\s]+\s+)?(?P<sphinx>\w+)|\*{0,2}(?P<google>\w+)(?:\s*\([^)\n]*\))?):[ \t]+(?P<text>\S.*)$",
    re.MULTILINE,
)


def _signature(function: Callable[..., Any]) -> inspect.Signature:
    try:
        return inspect.signature(function, eval_str=True)
    except NameError:  # an annotation that only a type checker can resolve
        return inspect.signature(function)


def checked(about: ToolMetadata, arguments: Any) -> dict[str, Any]:
    """The arguments by their own names, converted and filled up as the schema says. ArgumentsError."""
    try:
        model = about.fn_schema.model_validate(arguments)
    except ValidationError as error:
        wrong = "; ".join(
            f"{'.'.join(map(str, problem['loc'])) or 'arguments'}: {problem['msg']} (given: {as_json(problem['input'])[:80]})"
            for problem in error.errors(include_url=False)
        )
        raise ArgumentsError(f"the arguments do not fit {about.name}. {wrong}. It takes: {about.fn_schema_str}") from error
    fields = about.fn_schema.model_fields
    return {(name in fields and fields[name].alias) or name: value for name, value in model}


def _called(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """The function's result. Parameters that it takes only by position may be given by name."""
    parameters = inspect.signature(function).parameters.values()
    named = dict(kwargs)
    placed = list(args)
    for parameter in [p for p in parameters if p.kind is p.POSITIONAL_ONLY][len(args) :]:
        if parameter.name in named:
            placed.append(named.pop(parameter.name))
        elif parameter.default is not parameter.empty:
            placed.append(parameter.default)
    return function(*placed, **named)
