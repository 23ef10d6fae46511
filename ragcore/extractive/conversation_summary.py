"""A summary of a conversation by quotation: the beginning of each question and answer."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragcore.schema import ChatMessage, MessageRole
from ragcore.text.sentences import sentences

MAX_TURNS = 8  # the latest
MAX_CHARS = 200  # characters of a quotation

_TURN = re.compile("(?:Asked|Answered): “")


def summarize_turns(messages: Sequence[ChatMessage]) -> str:
    """The notes in the system messages, and a line for each of the latest turns; "" without messages."""
    system = [message.content for message in messages if message.role is MessageRole.SYSTEM]
    noted = [line for content in system for line in content.strip().splitlines()]
    notes = [line for line in noted if not _TURN.match(line)]
    turns = [*filter(_TURN.match, noted), *_turns(messages)]
    return "\n".join([*notes, *turns[-MAX_TURNS:]])


def _turns(messages: Sequence[ChatMessage]) -> list[str]:
    turns: list[str] = []
    for message in messages:
        beginning = " ".join(next(iter(sentences(message.content)), "").split())
        if len(beginning) > MAX_CHARS:
            beginning = f"{beginning[:MAX_CHARS].rsplit(' ', 1)[0]} …"
        if beginning and message.role is MessageRole.USER:
            turns.append(f"Asked: “{beginning}”")
        elif beginning and message.role in (MessageRole.ASSISTANT, MessageRole.CHATBOT, MessageRole.MODEL):
            turns[-1:] = [" ".join([*turns[-1:], f"Answered: “{beginning}”"])]
    return turns
