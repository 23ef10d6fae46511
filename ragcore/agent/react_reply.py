"""What a model's reply in the ReAct form says: which tool to call with what, or the answer (Yao et al. 2022,
https://arxiv.org/abs/2210.03629).

The first line that begins with Action: or Answer: decides; what a model makes up behind it does not count. Labels may be in
any case, bold, or headings. A reply without labels is an answer. Arguments are read by `loose_json`, so never guessed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ragcore.text.loose_json import read_json


@dataclass(frozen=True, slots=True)
class Act:
    thought: str
    tool: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    thought: str
    text: str


class UnreadableReplyError(ValueError):
    """Neither an action nor an answer; the message says what is wrong, in words for the model."""


def read_reply(reply: str) -> Act | Answer:
    """UnreadableReplyError, also where an action's arguments cannot be read with certainty."""
    labels = list(_LABEL.finditer(reply))
    decisive = next((label for label in labels if _kind(label) in ("action", "answer")), None)
    if decisive is None:
        return _unlabelled(reply, labels)
    thought = _thought(reply[: decisive.start()])
    if _kind(decisive) == "answer":
        return Answer(thought, _filled(reply[decisive.end() :]))
    later = (label.start() for label in labels if label.start() > decisive.start() and _kind(label) != "action input")
    name, arguments = _action(reply, decisive.end(), next(later, len(reply)))
    return Act(thought, name, arguments)


def answer_so_far(text: str) -> str:
    """As much of the answer as a reply that is still growing shows for certain; "" while it may become an action."""
    labels = list(_LABEL.finditer(text))
    for label in labels:
        if _kind(label) == "answer":
            return text[label.end() :].strip()
        if _kind(label) == "action":
            return ""
    if labels:
        return ""
    begun = text.rfind("\n") + 1
    last_line = text[begun:]
    unsure = len(last_line.strip(_MARKS)) < _LONGEST_LABEL
    return (text[:begun] if unsure else text).strip()


def _action(reply: str, start: int, end: int) -> tuple[str, dict[str, Any]]:
    """The tool's name, which stands at `start`, and its arguments, the label of which stands before `end`."""
    label = _INPUT.search(reply, start, end)
    head = reply[start : label.start() if label else end]
    name = re.split(r"[(\[{\n]", head.strip(), maxsplit=1)[0].strip(_MARKS + "\"'.,:")
    if not name:
        raise UnreadableReplyError("there is no tool's name behind Action:")
    if label is None:
        raise UnreadableReplyError("there is no Action Input:")
    begin = _BEFORE_JSON.match(reply, label.end())
    if begin is None:
        raise UnreadableReplyError("what stands behind Action Input: is not a JSON object")
    try:
        return name, read_json(reply, begin.end())[0]
    except ValueError as error:
        raise UnreadableReplyError(f"what stands behind Action Input: cannot be read as JSON ({error})") from error


def _unlabelled(reply: str, labels: list[re.Match[str]]) -> Answer:
    if not labels:
        return Answer("", _filled(reply))
    inline = _INLINE_ANSWER.search(reply)
    if inline is None or _kind(labels[0]) != "thought":
        raise UnreadableReplyError("there is neither an Action: nor an Answer:")
    return Answer(_thought(reply[: inline.start()]), _filled(reply[inline.end() :]))


def _filled(answer: str) -> str:
    if not answer.strip():
        raise UnreadableReplyError("there is nothing behind Answer:")
    return answer.strip()


def _thought(text: str) -> str:
    return _LABEL.sub("", text).strip()


def _kind(label: re.Match[str]) -> str:
    kind = " ".join(label["kind"].lower().split())
    return "answer" if kind == "final answer" else kind


_MARKS = " \t\r*_#>`-"
_LONGEST_LABEL = len("Final Answer:")
_LABEL = re.compile(
    r"^[ \t*_#>`-]*(?P<kind>thought|action[ \t]+input|action|(?:final[ \t]+)?answer|observation)"
    r"[*_`]*[ \t]*[:\uff1a][*_`]*[ \t]*",
    re.IGNORECASE | re.MULTILINE,
)
_INPUT = re.compile(r"action[ \t]+input[*_`]*[ \t]*[:\uff1a][*_`]*", re.IGNORECASE)
_INLINE_ANSWER = re.compile(r"\b(?:Final )?Answer[*_`]*[ \t]*[:\uff1a][*_`]*")
_BEFORE_JSON = re.compile(r"\s*(?:```\w*\s*)?(?=\{)")
