"""A tool is exact in what it tells a model, runs once, and fails with a text that can be acted on."""

import asyncio
import inspect
import json
import threading
from functools import partial
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from ragcore.llamaindex.tools.tool_spec.base import BaseToolSpec
from ragcore.llms.base import Generation, Usage
from ragcore.llms.scripted import ScriptedLLM
from ragcore.observe import span
from ragcore.schema import ChatMessage, MessageRole, NodeWithScore, Response, TextNode
from ragcore.schema.content_blocks import TextBlock
from ragcore.tools import (
    FunctionTool,
    QueryEngineTool,
    RetrieverTool,
    ToolMetadata,
    ToolOutput,
    as_json,
    create_schema_from_function,
    run_tool,
    tool,
)


def int_mult(a: int, b: int) -> int:
    """Apply a * b and returns the result as int"""
    return a * b


def test_a_functions_schema_is_as_in_the_walkthrough() -> None:
    assert FunctionTool.from_defaults(fn=int_mult).metadata.to_openai_tool() == {
        "type": "function",
        "function": {
            "name": "int_mult",
            "description": "int_mult(a: int, b: int) -> int\nApply a * b and returns the result as int",
            "parameters": {
                "type": "object",
                "properties": {
                    "a": {"title": "A", "type": "integer"},
                    "b": {"title": "B", "type": "integer"},
                },
                "required": ["a", "b"],
            },
        },
    }


def test_a_result_prints_as_the_walkthrough_shows() -> None:
    assert repr(FunctionTool.from_defaults(fn=int_mult)(**{"a": 12, "b": 34})) == (
        "ToolOutput(content='408', tool_name='int_mult', raw_input={'args': (), 'kwargs': {'a': 12, "
        "'b': 34}}, raw_output=408)"
    )


def parameters(function: Any) -> dict[str, Any]:
    return dict(FunctionTool.from_defaults(function).metadata.get_parameters_dict())


def test_defaults_options_and_lists_are_in_the_schema() -> None:
    def search(query: str, tags: list[str] | None = None, top_k: int = 3, anything=None) -> str:  # type: ignore[no-untyped-def]  # noqa: ANN001
        return ""

    assert parameters(search) == {
        "type": "object",
        "properties": {
            "query": {"title": "Query", "type": "string"},
            "tags": {
                "anyOf": [{"items": {"type": "string"}, "type": "array"}, {"type": "null"}],
                "default": None,
                "title": "Tags",
            },
            "top_k": {"default": 3, "title": "Top K", "type": "integer"},
            "anything": {"default": None, "title": "Anything"},
        },
        "required": ["query"],
    }


def test_annotations_written_as_text_are_read() -> None:
    def add(a: "int", b: "list[float]") -> "int":
        return a

    assert parameters(add)["properties"] == {
        "a": {"title": "A", "type": "integer"},
        "b": {"title": "B", "type": "array", "items": {"type": "number"}},
    }
    assert FunctionTool.from_defaults(add).metadata.description == "add(a: int, b: list[float]) -> int"


def test_an_annotation_that_cannot_be_resolved_may_be_anything() -> None:
    def add(a: "Missing", b: int) -> int:  # type: ignore[name-defined]  # noqa: F821
        return b

    assert parameters(add)["properties"]["a"] == {"title": "A"}


@pytest.mark.parametrize(
    "docstring",
    [
        "Add.\n\n    Args:\n        a: the first\n        b (int): the second: a number\n",
        "Add.\n\n    :param a: the first\n    :param int b: the second: a number\n    :returns: c",
    ],
)
def test_the_docstring_describes_the_parameters(docstring: str) -> None:
    def add(a: int, b: int) -> int:
        return a + b

    add.__doc__ = docstring
    described = {name: about.get("description") for name, about in parameters(add)["properties"].items()}
    assert described == {"a": "the first", "b": "the second: a number"}
    assert (
        FunctionTool.from_defaults(add).metadata.description
        == f"add(a: int, b: int) -> int\n{inspect.getdoc(add)}"
    )


def test_an_annotated_parameter_is_described_by_its_note() -> None:
    def add(a: Annotated[int, "the first"], b: Annotated[int, Field(description="the second", ge=0)]) -> int:
        """Args:
        a: not this
        """
        return a + b

    assert parameters(add)["properties"] == {
        "a": {"title": "A", "type": "integer", "description": "the first"},
        "b": {"title": "B", "type": "integer", "description": "the second", "minimum": 0},
    }


def test_names_of_pydantic_s_own_members_may_be_parameters() -> None:
    def odd(schema: int, model_config: int, copy: int = 3, _hidden: int = 4) -> list[int]:
        return [schema, model_config, copy, _hidden]

    made = FunctionTool.from_defaults(odd)
    assert list(parameters(odd)["properties"]) == ["schema", "model_config", "copy", "_hidden"]
    assert parameters(odd)["required"] == ["schema", "model_config"]
    assert run_tool(made, {"schema": 1, "model_config": "2", "_hidden": 9}).raw_output == [1, 2, 3, 9]


def test_every_kind_of_parameter_gets_its_argument() -> None:
    def kinds(a: int, b: int = 5, /, c: int = 6, *rest: int, d: int, **more: int) -> list[Any]:
        return [a, b, c, rest, d, more]

    made = FunctionTool.from_defaults(kinds)
    assert list(parameters(kinds)["properties"]) == ["a", "b", "c", "d"]
    assert run_tool(made, {"a": 1, "d": 4}).raw_output == [1, 5, 6, (), 4, {}]
    assert run_tool(made, {"a": 1, "b": 2, "c": 3, "d": 4, "e": 5}).raw_output == [1, 2, 3, (), 4, {"e": 5}]
    assert made(1, 2, 3, 4, d=5).raw_output == [1, 2, 3, (4,), 5, {}]
    assert made(b=2, a=1, d=5).raw_output == [1, 2, 6, (), 5, {}]


def test_a_model_as_a_parameter_is_described_and_built() -> None:
    class Place(BaseModel):
        city: str

    def weather(place: Place) -> str:
        return f"sun in {place.city}"

    made = FunctionTool.from_defaults(weather)
    assert made.metadata.get_parameters_dict()["$defs"]["Place"]["properties"] == {
        "city": {"title": "City", "type": "string"}
    }
    output = run_tool(made, {"place": {"city": "Graz"}})
    assert (output.content, output.raw_input) == (
        "sun in Graz",
        {"args": (), "kwargs": {"place": {"city": "Graz"}}},
    )


def test_the_decorator_makes_a_tool_with_and_without_arguments() -> None:
    @tool
    def plain(a: int) -> int:
        """Plain."""
        return a

    @tool(name="other", description="What it does.", return_direct=True)
    def named(a: int) -> int:
        return a

    assert (plain.metadata.name, plain.metadata.description) == ("plain", "plain(a: int) -> int\nPlain.")
    assert not plain.metadata.return_direct
    assert (named.metadata.name, named.metadata.description, named.metadata.return_direct) == (
        "other",
        "What it does.",
        True,
    )
    assert named(a=3).tool_name == "other"


def test_arguments_override_the_functions_own_description() -> None:
    class Two(BaseModel):
        a: int
        b: int = 7

    made = FunctionTool.from_defaults(int_mult, name="times", description="Multiply.", fn_schema=Two)
    assert made.metadata == ToolMetadata("Multiply.", "times", Two)
    assert run_tool(made, {"a": 6}).raw_output == 42
    told = ToolMetadata(name="all", description="told")
    assert FunctionTool.from_defaults(int_mult, tool_metadata=told).metadata is told


def test_a_tool_without_a_schema_takes_one_text() -> None:
    about = ToolMetadata("Asks.", "ask")
    assert about.get_parameters_dict() == {
        "type": "object",
        "properties": {"input": {"title": "Input", "type": "string"}},
        "required": ["input"],
    }
    assert json.loads(about.fn_schema_str) == about.get_parameters_dict()


def test_a_description_that_no_server_would_take_is_refused() -> None:
    assert ToolMetadata("d" * 1024, "a").to_openai_tool()["function"]["description"] == "d" * 1024
    with pytest.raises(ValueError, match=r"'a' has 1025 characters; at most 1024"):
        ToolMetadata("d" * 1025, "a").to_openai_tool()


async def next_number(a: int) -> int:
    """The number after a."""
    await asyncio.sleep(0)
    return a + 1


class NextNumber:
    async def __call__(self, a: int) -> int:
        return await next_number(a)


@pytest.mark.parametrize(
    "function", [next_number, NextNumber(), partial(next_number), lambda a: next_number(a)]
)
def test_async_function_runs_with_and_without_an_event_loop(function: Any) -> None:
    later = FunctionTool.from_defaults(function, "later", "Count on.")

    async def inside() -> tuple[Any, Any, Any]:
        return (
            later(a=1).raw_output,
            (await later.acall(a=2)).raw_output,
            run_tool(later, {"a": 3}).raw_output,
        )

    assert later(a=0).raw_output == 1
    assert asyncio.run(inside()) == (2, 3, 4)


def test_awaited_async_function_runs_in_the_current_loop() -> None:
    class Loop:
        async def __call__(self) -> Any:
            return asyncio.get_running_loop()

    async def inside() -> bool:
        made = FunctionTool.from_defaults(Loop(), "loop", "The loop.")
        return (await made.acall()).raw_output is asyncio.get_running_loop()

    assert asyncio.run(inside())


def test_awaited_sync_function_runs_in_a_thread() -> None:
    # get_ident has no signature
    made = FunctionTool.from_defaults(lambda: threading.get_ident(), name="thread")
    assert made().raw_output == threading.get_ident()
    assert asyncio.run(made.acall()).raw_output != threading.get_ident()


def test_of_two_functions_the_async_one_is_awaited() -> None:
    def now() -> str:
        return "now"

    async def later() -> str:
        return "later"

    made = FunctionTool.from_defaults(now, async_fn=later)
    assert (made().content, asyncio.run(made.acall()).content) == ("now", "later")
    with pytest.raises(ValueError, match="fn or async_fn"):
        FunctionTool.from_defaults(name="nothing")


def test_a_failing_tool_runs_once_and_its_error_is_the_result() -> None:
    runs: list[int] = []

    @tool
    def fail(a: int) -> None:
        runs.append(a)
        raise TypeError("no such thing")

    output = run_tool(fail, {"a": 1})
    assert (output.content, output.is_error, runs) == ("Error: no such thing", True, [1])
    assert output.raw_input == {"args": (), "kwargs": {"a": 1}}
    with pytest.raises(TypeError, match="no such thing"):
        fail(a=1)


def test_tool_failure_without_a_message_names_its_error() -> None:
    @tool
    def fail() -> None:
        raise NotImplementedError

    assert run_tool(fail, {}).content == "Error: NotImplementedError"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            {"a": "x", "b": 2},
            "a: Input should be a valid integer, unable to parse string as an integer (given: x)",
        ),
        ({"a": 1}, "b: Field required"),
        ({"a": 1, "b": 2, "c": 3}, "c: Extra inputs are not permitted (given: 3)"),
        ([1, 2], "arguments: Input should be a valid dictionary"),
        ({}, "a: Field required"),
    ],
)
def test_unfitting_arguments_are_named_and_the_tool_does_not_run(arguments: Any, said: str) -> None:
    output = run_tool(FunctionTool.from_defaults(int_mult), arguments)
    assert output.is_error
    assert output.content.startswith("Error: the arguments do not fit int_mult. ")
    assert said in output.content
    assert output.content.endswith(f"It takes: {FunctionTool.from_defaults(int_mult).metadata.fn_schema_str}")


@pytest.mark.parametrize(
    ("result", "content"),
    [
        ("a 'text'", "a 'text'"),
        (408, "408"),
        (0.5, "0.5"),
        (None, "null"),
        (True, "true"),
        ({"naïve": [None, "x"]}, '{"naïve": [null, "x"]}'),
        ([("a", 1)], '[["a", 1]]'),
        (Response("said"), "said"),
    ],
)
def test_a_model_sees_json_and_not_what_python_prints(result: Any, content: str) -> None:
    assert as_json(result) == content
    assert FunctionTool.from_defaults(lambda: result, name="give").call().content == content


HITS = [NodeWithScore(TextNode("Ada wrote it."), 0.9), NodeWithScore(TextNode("It was long."), 0.5)]


class Engine:
    def __init__(self, nodes: list[NodeWithScore]) -> None:
        self.nodes = nodes
        self.asked: list[str] = []

    def query(self, query: str) -> Response:
        self.asked.append(query)
        return Response(f"answer to {query}", tuple(self.nodes))

    def retrieve(self, query: str) -> list[NodeWithScore]:
        self.asked.append(query)
        return self.nodes


@pytest.mark.parametrize(
    ("arguments", "question"),
    [
        ({"input": "who?"}, "who?"),
        ({"query": "who?"}, "who?"),
        ({"who": "Ada", "n": 1}, '{"who": "Ada", "n": 1}'),
    ],
)
def test_a_query_engine_tool_passes_its_only_argument(arguments: dict[str, Any], question: str) -> None:
    engine = Engine(HITS)
    output = run_tool(QueryEngineTool.from_defaults(engine), arguments)
    assert engine.asked == [question]
    assert (output.content, output.tool_name) == (f"answer to {question}", "query_engine_tool")
    assert output.raw_input == {"args": (), "kwargs": arguments}
    assert output.source_nodes == tuple(HITS)


def test_query_engine_tool_accepts_a_text_or_the_argument() -> None:
    asking = QueryEngineTool.from_defaults(Engine([]), name="docs", description="Knows.", return_direct=True)
    assert asking.metadata == ToolMetadata("Knows.", "docs", return_direct=True)
    assert asking.call("who?").content == asking.call(input="who?").content == "answer to who?"
    assert asking("who?") == asyncio.run(asking.acall("who?")) == asking.call("who?")
    assert asking.call("who?").source_nodes == ()
    assert run_tool(asking, {}).is_error


def test_a_retriever_shows_its_passages_numbered() -> None:
    output = run_tool(RetrieverTool.from_defaults(Engine(HITS)), {"input": "who?"})
    assert output.content == "[1]\nAda wrote it.\n\n[2]\nIt was long."
    assert output.source_nodes == tuple(HITS)
    nothing = run_tool(RetrieverTool.from_defaults(Engine([])), {"input": "who?"})
    assert (nothing.content, nothing.source_nodes) == ("Nothing was found.", ())


def test_a_tool_that_looks_for_nothing_has_no_passages() -> None:
    assert ToolOutput("4", "add", raw_output=4).source_nodes is None


def test_the_trace_has_name_arguments_and_result() -> None:
    with span("root") as root:
        run_tool(FunctionTool.from_defaults(int_mult), {"a": 2, "b": 3})
    (step,) = root.spans("tool")
    assert step.facts == {
        "tool": "int_mult",
        "arguments": '{"a": 2, "b": 3}',
        "result": "6",
        "is_error": False,
    }
    assert step.seconds >= 0


def test_manual_loop_can_run_from_the_messages_alone() -> None:
    call = {
        "id": "call_7",
        "type": "function",
        "function": {"name": "int_mult", "arguments": '{"a": 12, "b": 34}'},
    }
    model = ScriptedLLM([Generation("", Usage(0, 0), (call,)), "It is 408."], is_function_calling_model=True)
    by_name = {made.metadata.name: made for made in (FunctionTool.from_defaults(fn=int_mult),)}
    openai_tools = [made.metadata.to_openai_tool() for made in by_name.values()]
    history = [ChatMessage(MessageRole.USER, "12 times 34?")]
    while True:
        message = model.chat(history, tools=openai_tools).message
        history.append(message)
        tool_calls = message.additional_kwargs.get("tool_calls")
        if not tool_calls:
            break
        name = tool_calls[0]["function"]["name"]
        result = by_name[name](**json.loads(tool_calls[0]["function"]["arguments"]))
        about = {"tool_call_id": tool_calls[0]["id"], "name": name}
        history.append(
            ChatMessage(role=MessageRole.TOOL, content=str(result), name=name, additional_kwargs=about)
        )
    assert history[-1].content == "It is 408."
    assert model.calls[1].call.history[1:] == (
        ChatMessage(MessageRole.ASSISTANT, "", additional_kwargs={"tool_calls": [call]}),
        ChatMessage(MessageRole.TOOL, "408", "int_mult", {"tool_call_id": "call_7", "name": "int_mult"}),
    )


def test_misspelt_tool_argument_is_an_error() -> None:
    tools = [
        FunctionTool.from_defaults(lambda input: input, name="same", description="The same again."),
        RetrieverTool.from_defaults(Engine(HITS)),
        QueryEngineTool.from_defaults(Engine(HITS), name="tower", description="The tower."),
    ]
    for each in tools:
        assert each.call(input="tower").content
        with pytest.raises(TypeError, match="unexpected keyword argument"):
            each.call("tower", top_kk=3)
        with pytest.raises(TypeError, match="unexpected keyword argument"):
            asyncio.run(each.acall("tower", top_kk=3))


class Calendar(BaseToolSpec):
    spec_functions = ("add", ("list", "list_later"))

    def add(self, day: str) -> str:
        """Add a day."""
        return f"added {day}"

    def list(self) -> str:
        return "now"

    async def list_later(self) -> str:
        return "later"


def test_methods_of_a_class_are_tools_with_their_async_versions() -> None:
    add, listed = Calendar().to_tool_list(
        func_to_metadata_mapping={"list": ToolMetadata("All days.", "days")}
    )
    assert (add.metadata.name, add.metadata.description) == ("add", "add(day: str) -> str\nAdd a day.")
    assert list(add.metadata.get_parameters_dict()["properties"]) == ["day"]
    assert (listed.metadata.name, listed().content, asyncio.run(listed.acall()).content) == (
        "days",
        "now",
        "later",
    )


def test_a_tool_may_return_nodes_and_blocks() -> None:
    blocks = [TextBlock("One."), TextBlock("Two.")]
    output = FunctionTool.from_defaults(lambda: blocks, name="blocks").call()
    assert (output.content, output.blocks) == ("One.\nTwo.", tuple(blocks))
    nodes = FunctionTool.from_defaults(lambda: [TextNode("One."), TextNode("Two.")], name="nodes").call()
    assert nodes.content == "One.\n\nTwo."


def test_engine_tool_accepts_arguments_under_other_names() -> None:
    assert QueryEngineTool.from_defaults(Engine(HITS)).call(question="tower").raw_input == {
        "input": "{'question': 'tower'}"
    }
    strict = QueryEngineTool.from_defaults(Engine(HITS), resolve_input_errors=False)
    with pytest.raises(ValueError, match="takes the argument input"):
        strict.call(question="tower")


def test_function_schema_has_extra_fields_and_omits_others() -> None:
    def f(a: int, b: str = "x") -> None: ...

    schema = create_schema_from_function(
        "F", f, [("c", bool), ("d", int, 1)], ignore_fields=["b"]
    ).model_json_schema()
    assert (list(schema["properties"]), schema["required"]) == (["c", "d", "a"], ["c", "a"])
