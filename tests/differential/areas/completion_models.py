"""Models that complete one text: what they are sent for messages and templates, whole and in a stream."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from tests.differential.cases import Case

ROLES = ["system", "user", "assistant", "user"]
SAID = ["Be brief.", "two\nlines", "Ünïcode {braces}", "", "What is it?"]


def cases() -> Iterator[Case]:
    chance = random.Random(31)
    for number in range(24):
        messages = [[chance.choice(ROLES), chance.choice(SAID)] for _ in range(chance.randint(1, 5))]
        how = ["chat", "stream_chat", "complete", "predict"][number % 4]
        given = {
            "how": how,
            "messages": messages,
            "tokens": chance.choice([None, None, 1, 4]),
            "own": number % 3 == 0,
        }
        yield Case(f"{how}-{number}", given)


def theirs(given: Any) -> Any:
    from llama_index.core.llms import ChatMessage, CompletionResponse, CustomLLM, LLMMetadata, MockLLM
    from llama_index.core.prompts import PromptTemplate

    class Shouting(CustomLLM):
        @property
        def metadata(self) -> Any:
            return LLMMetadata(model_name="shouting")

        def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
            return CompletionResponse(text=prompt.upper())

        def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
            return (CompletionResponse(text=prompt[:end].upper()) for end in range(2, len(prompt) + 2, 2))

    llm = Shouting() if given["own"] else MockLLM(max_tokens=given["tokens"])
    messages = [ChatMessage(role=role, content=content) for role, content in given["messages"]]
    return _write_reply(given, llm, messages, PromptTemplate("Say {word} again"))


def ours(given: Any) -> Any:
    from ragcore import ChatMessage, MessageRole, PromptTemplate
    from ragcore.llms import CompletionResponse, CustomLLM, LLMMetadata, MockLLM

    class Shouting(CustomLLM):
        metadata = LLMMetadata("shouting")

        def complete(self, prompt: str) -> CompletionResponse:
            return CompletionResponse(prompt.upper())

        def stream_complete(self, prompt: str) -> Any:
            yield from (CompletionResponse(prompt[:end].upper()) for end in range(2, len(prompt) + 2, 2))

    llm = Shouting() if given["own"] else MockLLM(max_tokens=given["tokens"])
    messages = [ChatMessage(MessageRole(role), content) for role, content in given["messages"]]
    return _write_reply(given, llm, messages, PromptTemplate("Say {word} again"))


def _write_reply(given: Any, llm: Any, messages: list[Any], template: Any) -> str:
    text = given["messages"][0][1]
    if given["how"] == "complete":
        return str(llm.complete(text).text)
    if given["how"] == "predict":
        return str(llm.predict(template, word=text))
    if given["how"] == "chat":
        return str(llm.chat(messages).message.content)
    return str(list(llm.stream_chat(messages))[-1].message.content)


def explain(given: Any, theirs: Any, ours: Any) -> str:
    tokens = 0 if given["own"] else given["tokens"] or 0
    if given["how"] == "stream_chat" and tokens and theirs.split() == ["text"] * (tokens - 1):
        return "one token fewer" if ours == " ".join(["text"] * tokens) else ""
    return ""
