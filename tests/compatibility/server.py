"""A model server on 127.0.0.1 that does what a page of documentation hopes for: answers, chooses, calls a
tool."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tests.scripted_server import ScriptedServer, ToolCalls

ANSWER = "YES. The author wrote short stories and programmed. Doc: 1, Relevance: 7"
REACT = "Thought: I can answer without using any more tools.\nAnswer: The author wrote short stories."
CHOICE = '[{"choice": 1, "reason": "It fits best."}]'


class AnyModel(tuple[str, ...]):
    def __contains__(self, name: object) -> bool:
        return True


def obliging_server() -> ScriptedServer:
    server = ScriptedServer(lambda messages: reply(_body(server, messages)), dimension=1536)
    server.models = AnyModel(("tiny",))
    server.tool_calls = lambda messages: first_call(_body(server, messages))
    return server


def reply(body: Mapping[str, Any]) -> str:
    asked = " ".join(str(message.get("content", "")) for message in body["messages"])
    form = (body.get("response_format") or {}).get("json_schema", {}).get("schema") or body.get("format")
    if isinstance(form, Mapping) and '"choice"' not in asked:
        return json.dumps(example_of(form, form.get("$defs", {})))
    if "Thought:" in asked and "Action:" in asked:
        return REACT
    if '"choice"' in asked:
        return CHOICE
    return ANSWER


def first_call(body: Mapping[str, Any]) -> ToolCalls:
    """A call of the first tool, unless a tool has been called since the user's last message."""
    tools, last = body.get("tools") or [], body["messages"][-1]
    if not tools or last["role"] != "user" or body.get("tool_choice") == "none":
        return []
    function = tools[0]["function"]
    schema = function["parameters"]
    arguments = json.dumps(example_of(schema, schema.get("$defs", {})))
    return [
        {"id": "call_1", "type": "function", "function": {"name": function["name"], "arguments": arguments}}
    ]


def example_of(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Any:
    """A value that fits a JSON schema."""
    if "$ref" in schema:
        return example_of(definitions[schema["$ref"].rsplit("/", 1)[-1]], definitions)
    if "enum" in schema:
        return schema["enum"][0]
    if "const" in schema:
        return schema["const"]
    for several in ("anyOf", "allOf", "oneOf"):
        if schema.get(several):
            return example_of(schema[several][0], definitions)
    if schema.get("type") == "array":
        return [example_of(schema.get("items", {}), definitions)]
    if schema.get("type") == "object":
        return {name: example_of(part, definitions) for name, part in schema.get("properties", {}).items()}
    return {"integer": 1, "number": 1.0, "boolean": True, "null": None}.get(
        schema.get("type", ""), "the author"
    )


def _body(server: ScriptedServer, messages: object) -> Mapping[str, Any]:
    return next(
        (request.body for request in reversed(server.requests) if request.body.get("messages") is messages),
        {"messages": [{}]},
    )
