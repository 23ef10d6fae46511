"""The memory of a conversation: it stores all messages and sends the newest that fit with each question."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence, Sized
from functools import partial
from typing import Any, Self

from ragcore.concurrency import awaitable
from ragcore.llms.base import LLM
from ragcore.response_synthesizers.history_window import recent, text_to_count
from ragcore.schema import ChatMessage
from ragcore.storage.chat_store import ChatStore, SimpleChatStore, message_from_dict, message_to_dict
from ragcore.text.tokens import count_tokens

TOKEN_LIMIT = 3000  # the limit without a model
SHARE_OF_WINDOW = 0.75
KEY = "chat_history"


class ChatMemoryBuffer:
    """`token_limit` limits the tokens of contents and tool calls, counted by `count`. Threads may share a
    memory.

    `chat_store` stores the messages under `chat_store_key`; `messages`, unless None, replace them.

    >>> memory = ChatMemoryBuffer.from_defaults(token_limit=1500)
    >>> memory.put(ChatMessage("user", "Who wrote the notes?"))
    >>> memory.get()[0].content
    'Who wrote the notes?'
    """

    def __init__(
        self,
        token_limit: int = TOKEN_LIMIT,
        messages: Sequence[ChatMessage] | None = None,
        count: Callable[[str], int] = count_tokens,
        *,
        chat_store: ChatStore | None = None,
        chat_store_key: str = KEY,
    ) -> None:
        if token_limit < 1:
            raise ValueError(f"token_limit must be at least 1, not {token_limit}")
        self.token_limit = token_limit
        self.chat_store: ChatStore = SimpleChatStore() if chat_store is None else chat_store
        self.chat_store_key = chat_store_key
        self._count = count
        if messages is not None:
            self.set(messages)

    @classmethod
    def from_defaults(
        cls,
        chat_history: Sequence[ChatMessage] | None = None,
        llm: LLM | None = None,
        token_limit: int | None = None,
        chat_store: ChatStore | None = None,
        chat_store_key: str = KEY,
        tokenizer_fn: Callable[[str], Sized] | None = None,
    ) -> Self:
        """The default limit is three quarters of the model's window; 3000 tokens without a model."""
        limit = limit_for(llm) if token_limit is None else token_limit
        count = count_tokens if tokenizer_fn is None else partial(length_by, tokenizer_fn)
        return cls(limit, chat_history, count, chat_store=chat_store, chat_store_key=chat_store_key)

    def put(self, *messages: ChatMessage) -> None:
        """Add messages to the end. Messages of one call stay together, even if other threads add some."""
        self.chat_store.add_messages(self.chat_store_key, messages)

    def get(self, initial_token_count: int = 0) -> list[ChatMessage]:
        """The newest messages that fit together with `initial_token_count` tokens, by the rules of `recent`.

        ValueError if `initial_token_count` alone exceeds the limit.
        """
        return self.fit(self.get_all(), initial_token_count)

    def fit(self, messages: Sequence[ChatMessage], initial_token_count: int = 0) -> list[ChatMessage]:
        """The result of `get` for other `messages` than the stored ones."""
        return recent(messages, self._room(initial_token_count), self._count)

    def cost(self, messages: Sequence[ChatMessage]) -> int:
        """The number of tokens of the messages, by this memory's counter."""
        return sum(self._count(text_to_count(message)) for message in messages)

    def get_all(self) -> list[ChatMessage]:
        return self.chat_store.get_messages(self.chat_store_key)

    def set(self, messages: Sequence[ChatMessage]) -> None:
        self.chat_store.set_messages(self.chat_store_key, messages)

    def reset(self) -> None:
        self.set(())

    def put_messages(self, messages: Sequence[ChatMessage]) -> None:
        """As `put`, for a list."""
        self.put(*messages)

    aput = awaitable(put)
    aput_messages = awaitable(put_messages)
    aget = awaitable(get)
    aget_all = awaitable(get_all)
    aset = awaitable(set)
    areset = awaitable(reset)

    @classmethod
    def class_name(cls) -> str:
        """The name; contexts of workflows serialize objects with this method by `to_dict`."""
        return cls.__name__

    def to_dict(self) -> dict[str, Any]:
        """Values that JSON can represent. The token counter is not included."""
        messages = [message_to_dict(message) for message in self.get_all()]
        return {"token_limit": self.token_limit, "chat_store_key": self.chat_store_key, "messages": messages}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], count: Callable[[str], int] = count_tokens) -> Self:
        """The memory of which `to_dict` returned `data`."""
        messages = [message_from_dict(item) for item in data["messages"]]
        return cls(data["token_limit"], messages, count, chat_store_key=data.get("chat_store_key", KEY))

    def to_string(self) -> str:
        return json.dumps(self.to_dict(), ensure_ascii=False)

    @classmethod
    def from_string(cls, text: str, count: Callable[[str], int] = count_tokens) -> Self:
        return cls.from_dict(json.loads(text), count)

    def _room(self, initial_token_count: int) -> int:
        if initial_token_count > self.token_limit:
            raise ValueError(f"{initial_token_count} tokens exceed the memory's limit of {self.token_limit}")
        return self.token_limit - initial_token_count


def limit_for(llm: LLM | None) -> int:
    return TOKEN_LIMIT if llm is None else max(1, int(llm.metadata.context_window * SHARE_OF_WINDOW))


def length_by(tokenizer: Callable[[str], Sized], text: str) -> int:
    return len(tokenizer(text))
