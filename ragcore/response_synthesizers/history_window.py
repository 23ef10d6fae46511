"""The newest messages of a conversation that fit into a number of tokens."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import replace

from ragcore.prompts.prompt import RenderedMessage
from ragcore.schema import ChatMessage, MessageRole

Count = Callable[[str], int]

_OPENERS = (MessageRole.USER, MessageRole.SYSTEM)


def recent(
    messages: Sequence[ChatMessage], tokens: int, count: Count, *, per_message: int = 0
) -> list[ChatMessage]:
    """The longest end of `messages` that costs at most `tokens`; it never begins with an assistant's or a
    tool's message.

    If the last turn does not fit, its messages of more than `tokens` are cut to their ends; without such a
    message the result is []. `count` gives the tokens of a text, and each message costs `per_message` more.
    """
    costs = [count(text_to_count(message)) + per_message for message in messages]
    used = 0
    start = len(messages)
    for index in range(len(messages) - 1, -1, -1):
        used += costs[index]
        if used > tokens:
            break
        if messages[index].role in _OPENERS:
            start = index
    if start < len(messages) or not messages:
        return list(messages[start:])
    openers = [index for index, message in enumerate(messages) if message.role in _OPENERS]
    if not openers:
        return []
    turn, turn_costs = messages[openers[-1] :], costs[openers[-1] :]
    return _shorten_turn(turn, turn_costs, tokens, count)


def _shorten_turn(
    turn: Sequence[ChatMessage], costs: Sequence[int], tokens: int, count: Count
) -> list[ChatMessage]:
    contents = [count(message.content) for message in turn]
    overlong = [content > tokens for content in contents]
    if not any(overlong):
        return []
    room = tokens - sum(
        cost - content if long else cost
        for cost, content, long in zip(costs, contents, overlong, strict=True)
    )
    share = room // sum(overlong)
    if share < 1:
        return []
    return [
        replace(message, content=tail(message.content, share, count)) if long else message
        for message, long in zip(turn, overlong, strict=True)
    ]


def text_to_count(message: ChatMessage | RenderedMessage) -> str:
    """The text of a message whose tokens count: its content and its tool calls."""
    calls = message.additional_kwargs.get("tool_calls")
    return f"{message.content} {calls}" if calls else message.content


def tail(text: str, tokens: int, count: Count) -> str:
    """The longest end of `text` that costs at most `tokens`. It begins with a whole word if possible."""
    if count(text) <= tokens:
        return text
    starts = _word_starts(text)
    # Counts grow with the text, nearly always; the result of the bisection has been counted.
    place = bisect_left(starts, True, key=lambda start: count(text[start:]) <= tokens)
    if place < len(starts):
        return text[starts[place] :]
    place = bisect_left(range(len(text)), True, key=lambda start: count(text[start:]) <= tokens)
    return text[place:]


def head(text: str, tokens: int, count: Count) -> str:
    """The longest beginning of `text` that costs at most `tokens`. It ends with a whole word if possible."""
    if count(text) <= tokens:
        return text
    starts = _word_starts(text)
    place = bisect_left(starts, True, key=lambda start: count(text[:start].rstrip()) > tokens)
    if place > 1:
        return text[: starts[place - 1]].rstrip()
    place = bisect_left(range(len(text)), True, key=lambda end: count(text[:end]) > tokens)
    return text[: max(place - 1, 0)]


def _word_starts(text: str) -> list[int]:
    return [
        index
        for index, char in enumerate(text)
        if not char.isspace() and (index == 0 or text[index - 1].isspace())
    ]
