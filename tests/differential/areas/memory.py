"""ChatMemoryBuffer with words as tokens: which messages are sent along, for histories and limits of all kinds."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from tests.differential.cases import Case

FOUR_TURNS = [[role, f"{role} says {number}"] for number in range(4) for role in ("user", "assistant")]


def cases() -> Iterator[Case]:
    for limit in (3, 5, 6, 8, 11, 12, 18, 24, 30):
        yield Case(f"four-turns-{limit}", {"messages": FOUR_TURNS, "limit": limit, "initial": 0})
    for initial in (2, 6, 12, 31):
        yield Case(f"initial-{initial}", {"messages": FOUR_TURNS, "limit": 30, "initial": initial})
    chance = random.Random(5)
    for number in range(25):
        messages = []
        for _ in range(chance.randint(1, 6)):
            messages.append(["user", " ".join(["word"] * chance.randint(1, 6))])
            if chance.random() < 0.85:
                messages.append(["assistant", " ".join(["reply"] * chance.randint(1, 6))])
        yield Case(
            f"random-{number}", {"messages": messages, "limit": chance.randint(4, 30), "initial": chance.choice([0, 0, 2])}
        )


def theirs(given: Any) -> Any:
    from llama_index.core.base.llms.types import ChatMessage
    from llama_index.core.memory import ChatMemoryBuffer

    messages = [ChatMessage(role=role, content=text) for role, text in given["messages"]]
    memory = ChatMemoryBuffer.from_defaults(chat_history=messages, token_limit=given["limit"], tokenizer_fn=str.split)
    return [[message.role.value, message.content] for message in memory.get(initial_token_count=given["initial"])]


def ours(given: Any) -> Any:
    from ragcore.memory import ChatMemoryBuffer
    from ragcore.schema import ChatMessage, MessageRole

    messages = [ChatMessage(MessageRole(role), text) for role, text in given["messages"]]
    memory = ChatMemoryBuffer(given["limit"], messages, lambda text: len(text.split()))
    return [[message.role.value, message.content] for message in memory.get(given["initial"])]


def explain(given: Any, theirs: Any, ours: Any) -> str:
    if "error" in theirs and "error" in ours:
        return "error's name"
    room = given["limit"] - given["initial"]
    if isinstance(ours, dict) or sum(len(text.split()) for _, text in ours) > room:
        return ""
    if isinstance(theirs, list) and (
        sum(len(text.split()) for _, text in theirs) > room or (theirs and theirs[0][0] == "assistant")
    ):
        return "1.18"  # theirs keeps a last message that is too long, or begins with an answer; ours its tail, or nothing
    return ""
