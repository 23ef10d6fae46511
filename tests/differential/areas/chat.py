"""Four chat modes over several turns: the calls of each turn, what is looked up, and what is remembered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.differential.cases import Case

MODES = ["simple", "condense_question", "context", "condense_plus_context"]


def cases() -> Iterator[Case]:
    for mode in MODES:
        for turns in (1, 2, 3, 4):
            for found in (True, False):
                yield Case(
                    f"{mode}-{turns}-{found}", {"mode": mode, "turns": turns, "found": found, "given": None}
                )
        yield Case(
            f"{mode}-given",
            {"mode": mode, "turns": 1, "found": True, "given": [["user", "old"], ["assistant", "said"]]},
        )


def theirs(given: Any) -> Any:
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.base.llms.types import ChatMessage, ChatResponse, LLMMetadata
    from llama_index.core.chat_engine import (
        CondensePlusContextChatEngine,
        CondenseQuestionChatEngine,
        ContextChatEngine,
        SimpleChatEngine,
    )
    from llama_index.core.llms import CompletionResponse, CustomLLM
    from llama_index.core.memory import ChatMemoryBuffer
    from llama_index.core.query_engine import RetrieverQueryEngine
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

    calls: list[str] = []
    asked: list[str] = []

    class Scripted(CustomLLM):
        @property
        def metadata(self) -> LLMMetadata:
            return LLMMetadata(context_window=8000, num_output=100)

        def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
            calls.append(prompt)
            return CompletionResponse(text=f"A{len(calls)}")

        def chat(self, messages: Any, **kwargs: Any) -> ChatResponse:
            return ChatResponse(
                message=ChatMessage(role="assistant", content=self.complete(str(messages)).text)
            )

        def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
            raise AssertionError

    class Fixed(BaseRetriever):
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            asked.append(query_bundle.query_str)
            return [NodeWithScore(node=TextNode(text="fact"), score=1.0)] if given["found"] else []

    model = Scripted()
    memory = ChatMemoryBuffer.from_defaults(token_limit=3000, tokenizer_fn=str.split)
    if given["mode"] == "simple":
        engine: Any = SimpleChatEngine.from_defaults(llm=model, memory=memory)
    elif given["mode"] == "condense_question":
        query_engine = RetrieverQueryEngine.from_args(Fixed(), llm=model)
        engine = CondenseQuestionChatEngine.from_defaults(query_engine=query_engine, llm=model, memory=memory)
    elif given["mode"] == "context":
        engine = ContextChatEngine.from_defaults(retriever=Fixed(), llm=model, memory=memory)
    else:
        engine = CondensePlusContextChatEngine.from_defaults(retriever=Fixed(), llm=model, memory=memory)
    history = given["given"] and [ChatMessage(role=role, content=text) for role, text in given["given"]]
    counts = []
    for turn in range(given["turns"]):
        before = len(calls)
        engine.chat(f"question {turn}", history) if history else engine.chat(f"question {turn}")
        counts.append(len(calls) - before)
    remembered = [[message.role.value, message.content] for message in engine.chat_history]
    return {"calls": counts, "asked": asked, "history": remembered, "given": len(history or [])}


def ours(given: Any) -> Any:
    from ragcore.chat_modes import chat_engine
    from ragcore.llms.scripted import ScriptedLLM
    from ragcore.memory import ChatMemoryBuffer
    from ragcore.schema import ChatMessage, MessageRole, NodeWithScore, QueryBundle, TextNode, as_bundle

    asked: list[str] = []

    class Fixed:
        def retrieve(self, query: str | QueryBundle) -> list[NodeWithScore]:
            asked.append(as_bundle(query).query_str)
            return [NodeWithScore(TextNode("fact"), 1.0)] if given["found"] else []

    model = ScriptedLLM(
        [f"A{number}" for number in range(1, 40)], context_window=8000, num_output=100, counts_words=True
    )
    engine = chat_engine(given["mode"], llm=model, retriever=Fixed(), memory=ChatMemoryBuffer(3000))
    history = given["given"] and [ChatMessage(MessageRole(role), text) for role, text in given["given"]]
    counts = []
    for turn in range(given["turns"]):
        before = len(model.calls)
        engine.chat(f"question {turn}", history) if history else engine.chat(f"question {turn}")
        counts.append(len(model.calls) - before)
    remembered = [[message.role.value, message.content] for message in engine.chat_history]
    return {"calls": counts, "asked": asked, "history": remembered, "given": len(history or [])}


def explain(given: Any, theirs: Any, ours: Any) -> str:
    said = [["user", "question 0"], ["assistant", f"A{sum(ours['calls'])}"]]
    if given["given"] and (ours["calls"], ours["asked"]) != (theirs["calls"], theirs["asked"]):
        return ""
    if given["given"] and theirs["given"] > ours["given"] == len(given["given"]):
        return "D18" if ours["history"] == [*given["given"], *said] else ""  # the caller's list grew
    if given["given"] and ours["history"] == [*given["given"], *theirs["history"]]:
        return "1.17"  # a given history takes the place of the memory; theirs forgets it after the turn
    asked = [f"question {turn}" for turn in range(given["turns"])]
    silent = {"calls": [0] * given["turns"], "asked": asked, "history": [], "given": 0}
    if not given["found"] and given["mode"] != "simple" and ours == silent:
        return "D28"  # nothing found: said, not remembered, so that no turn has anything to condense
    return ""
