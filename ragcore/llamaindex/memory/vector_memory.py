"""Memories that find earlier turns of a conversation by their meaning."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Self

from ragcore.memory.chat_memory import KEY, TOKEN_LIMIT, ChatMemoryBuffer
from ragcore.schema import ChatMessage, MessageRole
from ragcore.settings import embedder
from ragcore.storage.chat_store import ChatStore, message_from_dict
from ragcore.text.tokens import count_tokens


class VectorMemory(ChatMemoryBuffer):
    """The `similarity_top_k` turns of a conversation that are nearest to a question, best first. Each `get`
    embeds all turns.

    >>> from ragcore.embeddings import HashEmbedding
    >>> memory = VectorMemory(embed_model=HashEmbedding(), similarity_top_k=1)
    >>> memory.put(ChatMessage(content="Ada likes boats."), ChatMessage(content="Bob likes gulls."))
    >>> memory.get("Who likes boats?")[0].content
    'Ada likes boats.'
    """

    def __init__(
        self,
        token_limit: int = TOKEN_LIMIT,
        messages: Sequence[ChatMessage] | None = None,
        count: Callable[[str], int] = count_tokens,
        *,
        chat_store: ChatStore | None = None,
        chat_store_key: str = KEY,
        embed_model: Any = None,
        similarity_top_k: int = 2,
    ) -> None:
        super().__init__(token_limit, messages, count, chat_store=chat_store, chat_store_key=chat_store_key)
        self._embedder = embedder(embed_model)
        self._top_k = similarity_top_k

    @classmethod
    def from_dict(
        cls, data: Mapping[str, Any], count: Callable[[str], int] = count_tokens, embed_model: Any = None
    ) -> Self:
        messages = [message_from_dict(item) for item in data["messages"]]
        key = data.get("chat_store_key", KEY)
        return cls(data["token_limit"], messages, count, chat_store_key=key, embed_model=embed_model)

    @classmethod
    def from_defaults(  # type: ignore[override]
        cls,
        vector_store: None = None,
        embed_model: Any = None,
        retriever_kwargs: Mapping[str, Any] | None = None,
    ) -> Self:
        return cls(embed_model=embed_model, **retriever_kwargs or {})

    def get(self, input: str | int = "") -> list[ChatMessage]:
        """`input` is the question; [] without one. Each turn begins with a message of the user."""
        question = input if isinstance(input, str) else ""
        messages = self.get_all() if question else []
        starts = [at for at, message in enumerate(messages) if message.role is MessageRole.USER or at == 0]
        turns = [messages[start:end] for start, end in pairwise([*starts, len(messages)])]
        texts = [" ".join(message.content for message in turn) for turn in turns]
        embeddings = self._embedder.embed_passages(texts)
        cosines = (embeddings @ self._embedder.embed_query(question)).tolist() if turns else []
        best = sorted(zip(cosines, turns, strict=True), key=lambda pair: -pair[0])[: self._top_k]
        return [message for _, turn in best for message in turn]


class SimpleComposableMemory(ChatMemoryBuffer):
    """A conversation, and before it a system message with what other memories find for a question or the last
    message.

    >>> from ragcore.embeddings import HashEmbedding
    >>> earlier = VectorMemory(embed_model=HashEmbedding())
    >>> earlier.put(ChatMessage(content="Ada likes boats."))
    >>> memory = SimpleComposableMemory(ChatMemoryBuffer(), [earlier])
    >>> memory.get("Who likes boats?")[0].content.splitlines()[1]
    'user: Ada likes boats.'
    """

    @classmethod
    def from_defaults(cls, *args: Any, **options: Any) -> Self:
        """The arguments are those of the constructor."""
        return cls(*args, **options)

    def __init__(
        self, primary_memory: ChatMemoryBuffer, secondary_memory_sources: Sequence[ChatMemoryBuffer] = ()
    ) -> None:
        store, key = primary_memory.chat_store, primary_memory.chat_store_key
        super().__init__(primary_memory.token_limit, None, chat_store=store, chat_store_key=key)
        self.primary_memory, self.secondary_memory_sources = primary_memory, secondary_memory_sources

    def put(self, *messages: ChatMessage) -> None:
        for memory in (self.primary_memory, *self.secondary_memory_sources):
            memory.put(*messages)

    def get(self, input: str | int = 0) -> list[ChatMessage]:
        """`input` is the question, or the `initial_token_count` of the primary memory."""
        messages = self.primary_memory.get(input if isinstance(input, int) else 0)
        question: Any = input if isinstance(input, str) else (messages[-1].content if messages else "")
        recalled = [message for memory in self.secondary_memory_sources for message in memory.get(question)]
        recalled = [message for message in recalled if message not in messages]
        text = "\n".join(map(str, recalled))
        memory_message = ChatMessage(MessageRole.SYSTEM, f"<memory>\n{text}\n</memory>")
        return [memory_message, *messages] if recalled else messages
