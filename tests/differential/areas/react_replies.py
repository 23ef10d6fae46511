"""What a model's reply in the ReAct form is read as: every row of the table of known replies, and mutated
ones."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

from tests.differential.cases import Case

ADD = {"a": 1, "b": 2}
CALL = 'Thought: I must add.\nAction: add\nAction Input: {"a": 1, "b": 2}'
ERROR = "error"
# Each reply with what it means: the answer, [tool, arguments], or an error where it cannot be known.
TABLE: list[tuple[str, str, Any]] = [
    ("prose", "It is forty-two.", "It is forty-two."),
    ("answer-alone", "Answer: 42", "42"),
    ("thought-answer", "Thought: I know.\nAnswer: 42", "42"),
    ("answer-of-lines", "Thought: I know.\nAnswer: one\ntwo\n\nthree", "one\ntwo\n\nthree"),
    ("action", CALL, ["add", ADD]),
    ("action-alone", 'Action: add\nAction Input: {"a": 1, "b": 2}', ["add", ADD]),
    ("single-quotes", CALL.replace('"', "'"), ["add", ADD]),
    ("trailing-comma", CALL.replace("2}", "2,}"), ["add", ADD]),
    ("comment", CALL.replace("1,", "1, // first\n"), ["add", ADD]),
    ("crlf", CALL.replace("\n", "\r\n"), ["add", ADD]),
    ("no-arguments", "Thought: x\nAction: now\nAction Input: {}", ["now", {}]),
    (
        "true-null",
        'Thought: x\nAction: set\nAction Input: {"on": true, "by": null}',
        ["set", {"on": True, "by": None}],
    ),
    ("fence", CALL.replace("{", "\n```json\n{") + "\n```", ["add", ADD]),
    ("no-input", "Thought: x\nAction: add", ERROR),
    ("string-input", 'Thought: x\nAction: add\nAction Input: "a"', ERROR),
    ("array-input", "Thought: x\nAction: add\nAction Input: [1, 2]", ERROR),
    ("dashed-tool", CALL.replace("add\n", "my-tool\n"), ["my-tool", ADD]),
    ("chinese-tool", CALL.replace("add\n", "搜索\n"), ["搜索", ADD]),
    ("tool-with-arguments", CALL.replace("add\n", "add(a, b)\n"), ["add", ADD]),
    ("tool-with-description", CALL.replace("add\n", "add (add two numbers)\n"), ["add", ADD]),
    ("two-actions", CALL + "\n" + CALL.replace("add\n", "other\n"), ["add", ADD]),
    ("made-up-observation", CALL + "\nObservation: 3\nThought: done\nAnswer: 3", ["add", ADD]),
    (
        "answer-names-action",
        "Thought: I know.\nAnswer: The Action: field says it",
        "The Action: field says it",
    ),
    ("thought-names-answer", "Thought: the Answer: needs a sum\n" + CALL.split("\n", 1)[1], ["add", ADD]),
    ("unreadable", "Thought: x\nAction: add\nAction Input: {a: 1 b}", ERROR),
    ("thought-only", "Thought: hm, what now", ERROR),
    ("lower-case", CALL.lower(), ["add", ADD]),
    ("bold", "**Thought:** I must add.\n**Action:** add\n**Action Input:** " + json.dumps(ADD), ["add", ADD]),
    (
        "nested",
        'Thought: x\nAction: f\nAction Input: {"q": {"ids": [1, {"x": 2}]}}',
        ["f", {"q": {"ids": [1, {"x": 2}]}}],
    ),
    ("brace-in-string", 'Thought: x\nAction: f\nAction Input: {"q": "a } b { c"}', ["f", {"q": "a } b { c"}]),
]


def cases() -> Iterator[Case]:
    for name, reply, meant in TABLE:
        yield Case(name, {"reply": reply, "meant": meant})
    chance = random.Random(19)
    for number in range(40):
        tool = chance.choice(["search", "add_two", "look-up", "Mail"])
        keys = chance.sample(["query", "n", "exact", "where", "tags"], chance.randint(0, 4))
        arguments = {
            key: chance.choice(["two words", 7, 1.5, True, None, ["a", "b"], {"x": 1}]) for key in keys
        }
        yield Case(
            f"mutated-{number}", {"reply": _mutated(chance, tool, arguments), "meant": [tool, arguments]}
        )


def _mutated(chance: random.Random, tool: str, arguments: dict[str, Any]) -> str:
    written = json.dumps(arguments, indent=chance.choice([None, 1]))
    labels = ["Thought", "Action", "Action Input"]
    mutations = chance.sample(
        ["lower", "bold", "fence", "comma", "spaces", "behind", "crlf", "no thought"], chance.randint(0, 2)
    )
    for mutation in mutations:
        if mutation == "lower":
            labels = [label.lower() for label in labels]
        elif mutation == "bold":
            labels = [f"**{label}" for label in labels]
        elif mutation == "fence":
            written = f"\n```json\n{written}\n```"
        elif mutation == "comma" and arguments:
            written = written.replace("}", ",}") if written.count("}") == 1 else written
        elif mutation == "spaces":
            written = f"   {written}   "
        elif mutation == "behind":
            written += "\nObservation: made up\nAnswer: made up"
        elif mutation == "no thought":
            labels[0] = ""
    marks = ":**" if labels[1].startswith("**") else ":"
    thought = f"{labels[0]}{marks} I need a tool.\n" if labels[0] else ""
    reply = f"{thought}{labels[1]}{marks} {tool}\n{labels[2]}{marks} {written}"
    return reply.replace("\n", "\r\n") if "crlf" in mutations else reply


def theirs(given: Any) -> Any:
    from llama_index.core.agent.react.output_parser import ReActOutputParser
    from llama_index.core.agent.react.types import ActionReasoningStep

    try:
        step = ReActOutputParser().parse(given["reply"])
    except ValueError:
        return ERROR
    return [step.action, step.action_input] if isinstance(step, ActionReasoningStep) else step.response


def ours(given: Any) -> Any:
    from ragcore.agent.react_reply import ActionReasoningStep, UnreadableReplyError, read_reply

    try:
        read = read_reply(given["reply"])
    except UnreadableReplyError:
        return ERROR
    return [read.action, dict(read.action_input)] if isinstance(read, ActionReasoningStep) else read.response


def explain(given: Any, theirs: Any, ours: Any) -> str:
    if ours != given["meant"]:
        return ""
    guessed = isinstance(theirs, list) and (ours == ERROR or theirs[1] != ours[1])
    # a tool called with other arguments than the model wrote, or a reply misread
    return "D30" if guessed else "1.19"
