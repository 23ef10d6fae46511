"""ChatMemoryBuffer with words as tokens: which messages are sent along, for histories and limits of all
kinds."""

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
            f"random-{number}",
            {"messages": messages, "limit": chance.randint(4, 30), "initial": chance.choice([0, 0, 2])},
        )


def theirs(given: Any) -> Any:
    from llama_index.core.base.llms.types import ChatMessage
    from llama_index.core.memory import ChatMemoryBuffer

    messages = [ChatMessage(role=role, content=text) for role, text in given["messages"]]
    memory = ChatMemoryBuffer.from_defaults(
        chat_history=messages, token_limit=given["limit"], tokenizer_fn=str.split
    )
    return [
        [message.role.value, message.content] for message in memory.get(initial_token_count=given["initial"])
    ]


def ours(given: Any) -> Any:
    from ragcore.memory import ChatMemoryBuffer
    from ragcore.schema import ChatMessage, MessageRole

    messages = [ChatMessage(MessageRole(role), text) for role, text in given["messages"]]
    memory = ChatMemoryBuffer(given["limit"], messages, lambda text: len(text.split()))
    return [[message.role.value, message.content] for message in memory.get(given["initial"])]


def explain(given: Any, theirs: Any, ours: Any) -> str:
    if "error" in theirs and "error" in ours:
        return "error's name" if given["initial"] > given["limit"] else ""
    # Theirs keeps a last message that is too long, or begins with an answer; ours never does.
    return "1.18" if ours == _by_rule(given) and theirs != ours else ""


def _by_rule(given: Any) -> list[list[str]]:
    """The newest messages that fit, beginning with one of the user's. Where the last turn does not fit, those
    of its messages that are too long by themselves keep their ends, in equal shares of what the others
    leave."""
    room, messages = given["limit"] - given["initial"], given["messages"]
    lengths = [len(text.split()) for _, text in messages]
    starts = [place for place, (role, _) in enumerate(messages) if role == "user"]
    fitting = [start for start in starts if sum(lengths[start:]) <= room]
    if fitting:
        return list(messages[fitting[0] :])
    turn = messages[starts[-1] :]
    long = [text for _, text in turn if len(text.split()) > room]
    share = (room - sum(len(text.split()) for _, text in turn if text not in long)) // max(len(long), 1)
    if not long or share < 1:
        return []
    return [[role, " ".join(text.split()[-share:]) if text in long else text] for role, text in turn]
