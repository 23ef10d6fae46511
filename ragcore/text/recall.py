"""A conversation in a few sentences, quoted: what was asked, and how each answer began."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ragcore.schema import ChatMessage, MessageRole
from ragcore.text.sentences import sentences

MOST_TURNS = 8  # of more, the latest
LONGEST = 200  # characters of a quotation


def recalled(messages: Sequence[ChatMessage]) -> str:
    """A line for each of the latest questions, behind what the system noted, such as an earlier summary. "" for no talk."""
    notes = [message.content.strip() for message in messages if message.role is MessageRole.SYSTEM and message.content.strip()]
    return "\n".join([*notes, *list(_turns(messages))[-MOST_TURNS:]])


def _turns(messages: Sequence[ChatMessage]) -> Iterator[str]:
    line = ""
    for message in messages:
        said = _begin(message.content)
        if said and message.role is MessageRole.USER:
            if line:
                yield line
            line = f"Asked: “{said}”"
        elif said and message.role in (MessageRole.ASSISTANT, MessageRole.CHATBOT, MessageRole.MODEL):
            line = f"{line} Answered: “{said}”".strip()
    if line:
        yield line


def _begin(content: str) -> str:
    first = next(iter(sentences(content)), "")
    return first if len(first) <= LONGEST else f"{first[:LONGEST].rsplit(' ', 1)[0]} …"
