"""Parses a model's reply in the ReAct form: a call of a tool, or the answer (Yao et al. 2022,
https://arxiv.org/abs/2210.03629).

The first line that begins with Action: or Answer: decides; the text behind the action is ignored. Labels may
be in any case, bold, or headings. If a mark or a fence opens before the answer, its closing is removed from
the answer. A reply without labels is an answer. `parse_loose_json` reads the arguments and never guesses.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from ragcore.text.json_replies import parse_json_at


@dataclass(frozen=True, slots=True)
class ActionReasoningStep:
    thought: str
    action: str  # name of a tool
    action_input: Mapping[str, Any]
    written_input: str = field(default="", compare=False)  # as the model wrote it


@dataclass(frozen=True, slots=True)
class ResponseReasoningStep:
    thought: str
    response: str


class UnreadableReplyError(ValueError):
    """The reply has neither an action nor an answer. The message explains the problem to the model."""


def read_reply(reply: str, tools: Collection[str] = ()) -> ActionReasoningStep | ResponseReasoningStep:
    """`tools` are the names of all tools; they distinguish marks that belong to a name from Markdown.

    UnreadableReplyError, also where an action's arguments cannot be read with certainty.
    """
    labels = list(_LABEL.finditer(reply))
    decisive = next((label for label in labels if _kind(label) in ("action", "answer")), None)
    if decisive is None:
        return _read_without_label(reply, labels)
    thought = _thought(reply[: decisive.start()])
    if _kind(decisive) == "answer":
        return ResponseReasoningStep(thought, _require_text(_answer(reply, decisive)))
    later = (
        label.start()
        for label in labels
        if label.start() > decisive.start() and _kind(label) != "action input"
    )
    name, arguments, written = _action(reply, decisive.end(), next(later, len(reply)))
    return ActionReasoningStep(thought, _name(name, tools), arguments, written)


parse_action_reasoning_step = read_reply


def extract_tool_use(input_text: str) -> tuple[str, str, str]:
    """The thought, the name of the tool and its arguments as JSON. UnreadableReplyError if the reply calls no
    tool.

    >>> extract_tool_use('Thought: I add. Action: add\\nAction: add\\nAction Input: {"a": 1}')[1:]
    ('add', '{"a": 1}')
    """
    step = read_reply(input_text)
    if not isinstance(step, ActionReasoningStep):
        raise UnreadableReplyError("there is no Action:")
    return step.thought, step.action, step.written_input


def extract_final_response(input_text: str) -> tuple[str, str]:
    """The thought and the answer. UnreadableReplyError if there is no answer.

    >>> extract_final_response("Thought: I know it.\\nAnswer: 2")
    ('I know it.', '2')
    """
    step = read_reply(input_text)
    if not isinstance(step, ResponseReasoningStep):
        raise UnreadableReplyError("there is no Answer:")
    return step.thought, step.response


def thought_in(reply: str) -> str:
    """The text before the action of a reply; "" if there is no action."""
    labels = _LABEL.finditer(reply)
    action = next((label for label in labels if _kind(label) == "action"), None)
    return _thought(reply[: action.start()]) if action else ""


def answer_so_far(text: str) -> str:
    """The part of the answer that later pieces of the reply cannot change; "" while the reply may become an
    action."""
    labels = list(_LABEL.finditer(text))
    for label in labels:
        if _kind(label) == "answer":
            return _answer(text, label, growing=True)
        if _kind(label) == "action":
            return ""
    if labels:
        return ""
    begun = text.rfind("\n") + 1
    last_line = text[begun:]
    unsure = len(last_line.strip(_MARKS)) < _LONGEST_LABEL
    answer = (text[:begun] if unsure else text).strip()
    return "" if _FENCE.fullmatch(answer) else answer


def _action(reply: str, start: int, end: int) -> tuple[str, dict[str, Any], str]:
    """The tool's name at `start`, its arguments, and the text of the arguments, whose label must be before
    `end`."""
    label = _INPUT.search(reply, start, end)
    head = reply[start : label.start() if label else end]
    name = re.split(r"[(\[{\n]", head.strip(), maxsplit=1)[0]
    if not name.strip(_MARKS + _QUOTES):
        raise UnreadableReplyError("there is no tool's name behind Action:")
    if label is None:
        raise UnreadableReplyError("there is no Action Input:")
    begin = _BEFORE_JSON.match(reply, label.end())
    if begin is None:
        raise UnreadableReplyError("what stands behind Action Input: is not a JSON object")
    try:
        arguments, finish = parse_json_at(reply, begin.end())
        return name, arguments, reply[begin.end() : finish]
    except ValueError as error:
        raise UnreadableReplyError(
            f"what stands behind Action Input: cannot be read as JSON ({error})"
        ) from error


def _name(written: str, tools: Collection[str]) -> str:
    """The name without the marks around it. If only its first word is a tool, that word."""
    bare = written.strip(_AROUND)
    plain = bare.strip(_MARKS + _QUOTES)
    first, plain_first = (
        bare.partition(" ")[0].strip(_AROUND),
        plain.partition(" ")[0].strip(_MARKS + _QUOTES),
    )
    marked = bare.startswith("- ") or bare[0] == bare[-1] == "_"
    known = (name for name in (bare, plain, first, plain_first) if name in tools)
    return next(known, plain if marked else bare)


def _read_without_label(reply: str, labels: list[re.Match[str]]) -> ResponseReasoningStep:
    if not labels:
        return ResponseReasoningStep("", _require_text(reply))
    inline = _INLINE_ANSWER.search(reply)
    if inline is None or _kind(labels[0]) != "thought":
        raise UnreadableReplyError("there is neither an Action: nor an Answer:")
    return ResponseReasoningStep(_thought(reply[: inline.start()]), _require_text(_answer(reply, inline)))


def _answer(reply: str, label: re.Match[str], *, growing: bool = False) -> str:
    """The text behind its label. While it is `growing`, an end that may close a mark or a fence is cut
    off."""
    answer = reply[label.end() :]
    if len(_FENCE.findall(reply[: label.start()])) % 2:
        answer = _without_fence(answer, growing=growing)
    opened = _OPENED.search(label.group())
    if opened is not None and opened["mark"] not in label.group()[opened.end() :]:
        answer = _without_mark(answer, opened["mark"], growing=growing)
    return answer.strip()


def _without_fence(answer: str, *, growing: bool) -> str:
    """Removes the last line if it closes a fence that opened before the answer."""
    if growing:
        return _CLOSING.sub("", answer)
    return _CLOSED.sub("", answer) if len(_FENCE.findall(answer)) % 2 else answer


def _without_mark(answer: str, mark: str, *, growing: bool) -> str:
    """Removes the first `mark` if it closes the one that opened before the answer."""
    before, closing, behind = answer.partition(mark)
    if not closing:
        return answer.rstrip(mark) if growing else answer
    closes = before[-1:].strip() and not behind[:1].isalnum()
    return before + behind if closes else answer


def _require_text(answer: str) -> str:
    if not answer.strip():
        raise UnreadableReplyError("there is nothing behind Answer:")
    return answer.strip()


def _thought(text: str) -> str:
    return _LABEL.sub("", _FENCE.sub("", text, count=len(_FENCE.findall(text)) % 2)).strip()


def _kind(label: re.Match[str]) -> str:
    kind = " ".join(label["kind"].lower().replace("_", " ").split())
    return "answer" if kind == "final answer" else kind


_MARKS = " \t\r*_#>`-"
_QUOTES = "\"'.,:"
_AROUND = " \t\r*#>`" + _QUOTES  # without the characters with which a name may begin or end
_LONGEST_LABEL = len("Final Answer:")
_LABEL = re.compile(
    r"^[ \t*_#>`-]*(?P<kind>thought|action[ \t_]+input|action|(?:final[ \t_]+)?answer|observation)"
    r"[*_`]*[ \t]*[:\uff1a][*_`]*[ \t]*",
    re.IGNORECASE | re.MULTILINE,
)
_INPUT = re.compile(r"action[ \t_]+input[*_`]*[ \t]*[:\uff1a][*_`]*", re.IGNORECASE)
_INLINE_ANSWER = re.compile(
    # "no answer: ..." is prose
    r"[*_`]*(?:\b(?:Final )?Answer|(?<=[.!?]\s)(?i:(?:final )?answer))[*_`]*[ \t]*[:\uff1a][*_`]*"
)
_BEFORE_JSON = re.compile(r"\s*(?:`+[ \t]*\w*\s*)?(?:\w+\()?(?=\{)")
_FENCE = re.compile(r"^[ \t]*```[^\n`]*$", re.MULTILINE)
_CLOSED = re.compile(r"\n[ \t]*```\s*\Z")
_CLOSING = re.compile(r"\n[ \t]*`{0,3}\s*\Z")
_OPENED = re.compile(r"(?P<mark>([*_`])\2*)(?=[^\W_])")
