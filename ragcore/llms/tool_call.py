"""A model's call of a tool, in OpenAI's format: {"id", "type": "function", "function": {"name", "arguments":
JSON text}}."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from typing import Any

from ragcore.prompts.prompt import RenderedMessage


class Function(dict[str, Any]):
    """The tool's name, and its arguments as the model wrote them: JSON text, possibly invalid."""

    @property
    def name(self) -> str:
        return str(self["name"])

    @property
    def arguments(self) -> str:
        return str(self["arguments"])


class ToolCall(dict[str, Any]):
    """A dict whose fields are attributes too: `call["function"]["name"]` is `call.function.name`.

    >>> call = ToolCall.of("call_1", "add", '{"a": 1}')
    >>> call.function.name, call["function"]["arguments"]
    ('add', '{"a": 1}')
    """

    @classmethod
    def of(cls, id: str, name: str, arguments: str = "{}") -> ToolCall:
        return cls(id=id, type="function", function=Function(name=name, arguments=arguments))

    @classmethod
    def read(cls, call: Mapping[str, Any], default_id: str = "") -> ToolCall:
        """A call in the format of any server or of an older history. Arguments that are an object become
        text."""
        function = call.get("function")
        if not isinstance(function, Mapping):
            function = {}
        arguments = function.get("arguments") or {}
        text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        return cls.of(str(call.get("id") or default_id), str(function.get("name") or ""), text)

    @property
    def id(self) -> str:
        return str(self["id"])

    @property
    def function(self) -> Function:
        function: Function = self["function"]
        return function


def calls_of(additional_kwargs: Mapping[str, Any]) -> list[ToolCall]:
    """The tool calls of a message."""
    return [ToolCall.read(call) for call in additional_kwargs.get("tool_calls") or ()]


def unused_ids(messages: Iterable[RenderedMessage]) -> Iterator[str]:
    """Ids for the calls of a server without ids: "call_2", "call_3", ... after two calls, without ids already
    in use."""
    used = {call.id for message in messages for call in calls_of(message.additional_kwargs)}
    return (id_ for number in count(len(used)) if (id_ := f"call_{number}") not in used)
