"""Streamed answers in conversations: the pieces put together, how much is read of them, and what is
remembered afterwards."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from tests.differential.cases import Case
from tests.differential.doubles import our_llm, their_llm

MODES = ["simple", "context", "condense_plus_context", "condense_question"]
ANSWER = "one two three four five"


def cases() -> Iterator[Case]:
    for mode in MODES:
        for turns in (1, 2, 3):
            yield Case(
                f"{mode}-{turns}", {"mode": mode, "turns": turns, "read": None, "chat": [], "found": True}
            )
        for read in (0, 1, 3):
            yield Case(
                f"{mode}-left-after-{read}",
                {"mode": mode, "turns": 1, "read": read, "chat": [], "found": True},
            )
        yield Case(f"{mode}-after-chat", {"mode": mode, "turns": 2, "read": None, "chat": [0], "found": True})
        if mode != "simple":
            yield Case(
                f"{mode}-nothing-found", {"mode": mode, "turns": 2, "read": None, "chat": [], "found": False}
            )


def theirs(given: Any) -> Any:
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.chat_engine import (
        CondensePlusContextChatEngine,
        CondenseQuestionChatEngine,
        ContextChatEngine,
        SimpleChatEngine,
    )
    from llama_index.core.memory import ChatMemoryBuffer
    from llama_index.core.query_engine import RetrieverQueryEngine
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

    class Fixed(BaseRetriever):
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            return [NodeWithScore(node=TextNode(text="fact"), score=1.0)] if given["found"] else []

    prompts: list[str] = []
    model = their_llm(lambda _: ANSWER, prompts)
    memory = ChatMemoryBuffer.from_defaults(token_limit=3000, tokenizer_fn=str.split)
    if given["mode"] == "condense_question":
        query_engine = RetrieverQueryEngine.from_args(Fixed(), llm=model, streaming=True)
        engine: Any = CondenseQuestionChatEngine.from_defaults(
            query_engine=query_engine, llm=model, memory=memory
        )
    elif given["mode"] == "simple":
        engine = SimpleChatEngine.from_defaults(llm=model, memory=memory)
    else:
        kind: Any = ContextChatEngine if given["mode"] == "context" else CondensePlusContextChatEngine
        engine = kind.from_defaults(retriever=Fixed(), llm=model, memory=memory)
    return _talked(given, engine, prompts)


def ours(given: Any) -> Any:
    from ragcore.chat_modes import chat_engine
    from ragcore.memory import ChatMemoryBuffer
    from ragcore.schema import NodeWithScore, QueryBundle, TextNode

    class Fixed:
        def retrieve(self, query: str | QueryBundle) -> list[NodeWithScore]:
            return [NodeWithScore(TextNode("fact"), 1.0)] if given["found"] else []

    prompts: list[str] = []
    model = our_llm(lambda _: ANSWER, prompts)
    return _talked(
        given,
        chat_engine(given["mode"], llm=model, retriever=Fixed(), memory=ChatMemoryBuffer(3000)),
        prompts,
    )


def _talked(given: Any, engine: Any, prompts: list[str]) -> Any:
    said = []
    for turn in range(given["turns"]):
        if turn in given["chat"]:
            said.append(str(engine.chat(f"question {turn}")))
            continue
        stream = engine.stream_chat(f"question {turn}")
        pieces = []
        if given["read"] != 0:
            for piece in stream.response_gen:
                pieces.append(piece)
                if len([one for one in pieces if one]) == given["read"]:
                    break
        if given["read"] is not None:
            getattr(stream, "close", lambda: None)()
            time.sleep(0.3)  # a stream of theirs is read on by a thread of its own
        said.append(" ".join("".join(pieces).split()))
    history = [[message.role.value, " ".join(message.content.split())] for message in engine.chat_history]
    return {"said": said, "history": history, "calls": len(prompts)}


def explain(given: Any, theirs: Any, ours: Any) -> str:
    if "error" in ours:
        return ""
    if not given["found"]:
        silent = (
            ours["history"] == [] and ours["calls"] == 0 and all("nothing" in text for text in ours["said"])
        )
        return "D28" if silent and theirs.get("history") != [] else ""
    if given["read"] is None:
        return ""
    said = " ".join(ANSWER.split()[: given["read"]])
    left = [["user", "question 0"], ["assistant", said]] if given["read"] else []
    # Theirs is read to its end by a thread, and remembered whole although nobody read it.
    return (
        "D35" if ours["history"] == left and ours["said"] == [said] and theirs.get("history") != left else ""
    )
