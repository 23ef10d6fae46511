"""ChatSummaryMemoryBuffer with words as tokens: what is sent as it is, what is summed up, and when the model
is asked."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from tests.differential.cases import Case
from tests.differential.doubles import our_llm, their_llm

FOUR_TURNS = [[role, f"{role} says {number}"] for number in range(4) for role in ("user", "assistant")]


def cases() -> Iterator[Case]:
    for limit in (5, 6, 8, 12, 18, 24, 30):
        yield Case(
            f"four-turns-{limit}", {"messages": FOUR_TURNS, "limit": limit, "model": True, "later": []}
        )
    for limit in (8, 24):
        yield Case(
            f"without-a-model-{limit}", {"messages": FOUR_TURNS, "limit": limit, "model": False, "later": []}
        )
    for limit in (12, 24):
        later = [["user", "user says more"], ["assistant", "assistant says more"]]
        yield Case(
            f"asked-again-{limit}", {"messages": FOUR_TURNS, "limit": limit, "model": True, "later": later}
        )
    chance = random.Random(18)
    for number in range(16):
        messages = []
        for _ in range(chance.randint(1, 5)):
            messages.append(["user", " ".join(["word"] * chance.randint(1, 6))])
            messages.append(["assistant", " ".join(["reply"] * chance.randint(1, 6))])
        given = {"messages": messages, "limit": chance.randint(4, 40), "model": True, "later": []}
        yield Case(f"random-{number}", given)


def theirs(given: Any) -> Any:
    from llama_index.core.llms import ChatMessage
    from llama_index.core.memory import ChatSummaryMemoryBuffer

    prompts: list[str] = []
    model = their_llm(lambda _: f"SUMMARY {len(prompts)}", prompts) if given["model"] else None
    messages = [ChatMessage(role=role, content=text) for role, text in given["messages"]]
    memory = ChatSummaryMemoryBuffer.from_defaults(
        messages, llm=model, token_limit=given["limit"], tokenizer_fn=str.split
    )
    for role, text in given["later"]:
        memory.get()
        memory.put(ChatMessage(role=role, content=text))
    return _outcome(memory.get(), prompts)


def ours(given: Any) -> Any:
    from ragcore.llamaindex.memory import ChatSummaryMemoryBuffer
    from ragcore.schema import ChatMessage, MessageRole

    prompts: list[str] = []
    model = our_llm(lambda _: f"SUMMARY {len(prompts)}", prompts) if given["model"] else None
    messages = [ChatMessage(MessageRole(role), text) for role, text in given["messages"]]
    memory = ChatSummaryMemoryBuffer.from_defaults(messages, model, given["limit"], tokenizer_fn=str.split)
    for role, text in given["later"]:
        memory.get()
        memory.put(ChatMessage(MessageRole(role), text))
    return _outcome(memory.get(), prompts)


def _outcome(messages: Any, prompts: list[str]) -> Any:
    told = [
        [message.role.value, "SUMMARY" if "SUMMARY" in message.content else message.content]
        for message in messages
    ]
    return {"sent": told, "calls": len(prompts)}


def explain(given: Any, theirs: Any, ours: Any) -> str:
    return ""
