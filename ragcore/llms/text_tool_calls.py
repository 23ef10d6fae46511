"""Calls of tools that a model writes as text, because its server does not know the model's own format.

The formats are a fence, <tool_call> or <tools> tags, doubled braces, one object, a list, several objects in a
row, and Python: search(query="wind"). A reply is a call only if it contains nothing else, and names existing
tools.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ragcore.llms.tool_call import ToolCall
from ragcore.text.json_replies import parse_json_at

Tools = Sequence[Mapping[str, Any]]  # in OpenAI's format

_WRAPPING = re.compile(r"</?tool(?:_call)?s?>|^[ \t]*```[^\n`]*$|<\|[a-z_]+\|>|\[TOOL_CALLS\]", re.MULTILINE)
_BEGINNINGS = ("{", "[", "```", "<tool_call", "<tools>", "<|")


class ToolCallFilter:
    """Takes a reply in pieces, and delays it as long as it may consist of calls of `tools` only."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._names = [str(tool["function"]["name"]) for tool in tools]
        self._buffer = ""
        self._is_text = False

    def feed(self, piece: str) -> str:
        self._buffer += piece
        if not self._is_text and may_be_calls(self._buffer, self._names):
            return ""
        self._is_text = True
        text, self._buffer = self._buffer, ""
        return text

    def end(self, ids: Iterator[str]) -> tuple[str, tuple[ToolCall, ...]]:
        """The delayed text, or the calls in it."""
        calls = calls_in(self._buffer, self._tools, ids)
        return ("" if calls else self._buffer), calls


def may_be_calls(reply: str, names: Sequence[str] = ()) -> bool:
    """Whether the beginning of a reply may be that of calls only, in Python of tools with these names."""
    begun = reply.lstrip()
    return any(
        begun.startswith(mark) or mark.startswith(begun)
        for mark in (*_BEGINNINGS, *(f"{name}(" for name in names))
    )


def calls_in(reply: str, tools: Tools, ids: Iterator[str]) -> tuple[ToolCall, ...]:
    """The calls of a reply with `ids`; none if there is anything but calls."""
    bare = _WRAPPING.sub("", reply).strip()
    functions = [tool["function"] for tool in tools]
    parameters = {
        str(tool["name"]): list((tool.get("parameters") or {}).get("properties") or {}) for tool in functions
    }
    single_braces = bare.replace("{{", "{").replace("}}", "}")
    for read in (
        _objects(bare),
        _objects(_first_object(bare)),
        _objects(single_braces),
        _python(bare, parameters),
    ):
        calls = [_read_call(value) for value in read]
        if calls and all(call is not None and call[0] in parameters for call in calls):
            return tuple(ToolCall.of(next(ids), name, arguments) for name, arguments in filter(None, calls))
    return ()


def _objects(text: str) -> list[Any]:
    """All JSON objects of a text, also those in lists; none if there is anything but commas between them."""
    values: list[Any] = []
    at = 0
    while text[at:].strip(" \t\r\n,;"):
        at = len(text) - len(text[at:].lstrip(" \t\r\n,;"))
        if text[at] not in "[{":
            return []
        try:
            value, at = parse_json_at(text, at)
        except ValueError:
            return []
        values += value if isinstance(value, list) else [value]
    return values


def _first_object(text: str) -> str:
    """The text with one brace instead of several at its beginning, and without braces after its first object.

    Some models' templates have calls in doubled braces, and models close fewer or more than they open."""
    opened = re.sub(r"^\{+", "{", text)
    try:
        _, end = parse_json_at(opened, 0)
    except ValueError:
        return text
    return opened[:end] if not opened[end:].strip("} \n") else text


def _read_call(value: Any) -> tuple[str, str] | None:
    """A tool's name and its arguments as JSON text."""
    if not isinstance(value, Mapping):
        return None
    inner = value.get("function")
    if isinstance(inner, Mapping):
        return _read_call(inner)
    name = next(
        (value[key] for key in ("name", "tool", "tool_name", "function") if isinstance(value.get(key), str)),
        None,
    )
    arguments: Any = next(
        (value[key] for key in ("arguments", "parameters", "args", "input") if key in value), {}
    )
    if name is None:
        return None
    return str(name), arguments if isinstance(arguments, str) else json.dumps(
        arguments or {}, ensure_ascii=False
    )


def _python(text: str, parameters: Mapping[str, Sequence[str]]) -> list[Any]:
    """Calls such as search("wind", k=3), one per line, with literal values."""
    try:
        statements = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return [_call(statement, parameters) for statement in statements]


def _call(statement: ast.stmt, parameters: Mapping[str, Sequence[str]]) -> Any:
    call = statement.value if isinstance(statement, ast.Expr) else None
    if (
        not isinstance(call, ast.Call)
        or not isinstance(call.func, ast.Name)
        or call.func.id not in parameters
    ):
        return None
    names = parameters[call.func.id]
    try:
        values = {name: ast.literal_eval(value) for name, value in zip(names, call.args, strict=False)}
        values |= {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
        arguments = json.dumps(values, ensure_ascii=False)
    except (ValueError, TypeError, RecursionError, MemoryError):
        return None
    return {"name": call.func.id, "arguments": arguments} if len(call.args) <= len(names) else None
