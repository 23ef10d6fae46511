"""Doubles with the same behaviour on both sides: vectors of hashed words, models that say what a rule tells
them to.

Each side's classes are made inside a function, so that this file imports neither of the two.
"""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

WIDTH = 64
Rule = Callable[[str], str]


def vector(text: str) -> list[float]:
    """Of length 1; a text without words is the first axis."""
    row = [0.0] * WIDTH
    for word in re.findall(r"\w+", text.lower()):
        row[zlib.crc32(word.encode()) % WIDTH] += 1.0
    length = math.sqrt(sum(number * number for number in row))
    return [number / length for number in row] if length else [1.0, *row[1:]]


def in_turn(replies: Sequence[str]) -> Rule:
    """Says these one after the other, and nothing once they are used up."""
    left: Iterator[str] = iter(replies)
    return lambda _: next(left, "")


def their_embedding(batches: list[list[str]] | None = None, seed: str = "") -> Any:
    """`batches` gets the texts of every call; `seed` makes other vectors of the same texts."""
    from llama_index.core.embeddings import BaseEmbedding

    kept: list[list[str]] = [] if batches is None else batches

    class Hashed(BaseEmbedding):
        def _get_text_embedding(self, text: str) -> list[float]:
            return self._get_text_embeddings([text])[0]

        def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
            kept.append(list(texts))
            return [vector(seeded(text, seed)) for text in texts]

        def _get_query_embedding(self, query: str) -> list[float]:
            return self._get_text_embeddings([query])[0]

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return self._get_query_embedding(query)

    return Hashed(model_name=f"hashed{seed}")


def our_embedding(batches: list[list[str]] | None = None, seed: str = "") -> Any:
    import numpy as np

    from ragcore.embeddings.base import BaseEmbedding
    from ragcore.observe import Span

    kept: list[list[str]] = [] if batches is None else batches

    class Hashed(BaseEmbedding):
        @property
        def name(self) -> str:
            return f"hashed{seed}"

        @property
        def dimension(self) -> int:
            return WIDTH

        def _embed(self, texts: Sequence[str], step: Span, *, is_query: bool) -> Any:
            kept.append(list(texts))
            return np.array([vector(seeded(text, seed)) for text in texts], np.float32).reshape(-1, WIDTH)

    return Hashed()


def seeded(text: str, seed: str) -> str:
    return re.sub(r"(\w+)", rf"\1{seed}", text) if seed else text


def their_llm(rule: Rule, prompts: list[str] | None = None, window: int = 8000, output: int = 100) -> Any:
    """`prompts` gets the text of every call; messages are joined as they come, each with its role."""
    from llama_index.core.llms import ChatMessage, ChatResponse, CompletionResponse, CustomLLM, LLMMetadata

    kept: list[str] = [] if prompts is None else prompts

    class Scripted(CustomLLM):
        @property
        def metadata(self) -> LLMMetadata:
            return LLMMetadata(context_window=window, num_output=output)

        def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
            kept.append(prompt)
            return CompletionResponse(text=rule(prompt))

        def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
            text = ""
            for word in re.findall(r"\S+\s*", self.complete(prompt).text):
                text += word
                yield CompletionResponse(text=text, delta=word)

        def chat(self, messages: Any, **kwargs: Any) -> ChatResponse:
            prompt = "\n".join(f"{message.role.value}: {message.content}" for message in messages)
            return ChatResponse(message=ChatMessage(role="assistant", content=self.complete(prompt).text))

        def stream_chat(self, messages: Any, **kwargs: Any) -> Any:
            prompt = "\n".join(f"{message.role.value}: {message.content}" for message in messages)
            for piece in self.stream_complete(prompt):
                yield ChatResponse(
                    message=ChatMessage(role="assistant", content=piece.text), delta=piece.delta
                )

    return Scripted()


def our_llm(rule: Rule, prompts: list[str] | None = None, window: int = 8000, output: int = 100) -> Any:
    from ragcore.llms.base import LLMCall
    from ragcore.llms.scripted import ScriptedLLM

    kept: list[str] = [] if prompts is None else prompts

    def reply(call: LLMCall) -> str:
        prompt = "\n".join(f"{message.role.value}: {message.content}" for message in call.messages())
        kept.append(prompt)
        return rule(prompt)

    return ScriptedLLM(reply, context_window=window, num_output=output, counts_words=True)
