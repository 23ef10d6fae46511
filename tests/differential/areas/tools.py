"""FunctionTool: the JSON that a model is shown, and the output of a call."""

from collections.abc import Iterator
from typing import Any

from tests.differential.cases import Case


def int_mult(a: int, b: int) -> int:
    """Apply a * b and returns the result as int"""
    return a * b


def greet(name: str, greeting: str = "Hello") -> str:
    """Greet somebody."""
    return f"{greeting} {name}"


def nothing() -> str:
    """Takes nothing."""
    return "done"


def mixed(numbers: list[int], factor: float = 1.5, exact: bool = False) -> float:
    """Adds numbers up."""
    return sum(numbers) * factor


def plain(text: str) -> str:
    return text.upper()


def keyword_only(*, size: int) -> int:
    """Doubles."""
    return size * 2


FUNCTIONS = {f.__name__: f for f in (int_mult, greet, nothing, mixed, plain, keyword_only)}
CALLS: dict[str, list[dict[str, Any]]] = {
    "int_mult": [{"a": 12, "b": 34}, {"a": 0, "b": -1}],
    "greet": [{"name": "Ada"}, {"name": "Ada", "greeting": "Hi"}],
    "nothing": [{}],
    "mixed": [{"numbers": [1, 2]}, {"numbers": [], "factor": 2.0, "exact": True}],
    "plain": [{"text": "x"}],
    "keyword_only": [{"size": 4}],
}


def cases() -> Iterator[Case]:
    for name, calls in CALLS.items():
        yield Case(f"schema-{name}", {"function": name, "name": None, "description": None, "call": None})
        yield Case(
            f"named-{name}", {"function": name, "name": "other", "description": "Says what.", "call": None}
        )
        for number, call in enumerate(calls):
            yield Case(
                f"call-{name}-{number}", {"function": name, "name": None, "description": None, "call": call}
            )


def theirs(given: Any) -> Any:
    from llama_index.core.tools import FunctionTool

    return _outcome(FunctionTool, given)


def ours(given: Any) -> Any:
    from ragcore.tools import FunctionTool

    return _outcome(FunctionTool, given)


def _outcome(kind: Any, given: Any) -> Any:
    tool = kind.from_defaults(
        fn=FUNCTIONS[given["function"]], name=given["name"], description=given["description"]
    )
    if given["call"] is None:
        return tool.metadata.to_openai_tool()
    output = tool(**given["call"])
    return [output.content, output.tool_name, output.raw_input, output.raw_output]


def explain(given: Any, theirs: Any, ours: Any) -> str:
    return ""
