"""What a conversation remembers: all its messages, of which the newest that fit are sent along with a question."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ragcore.response_synthesizers.recent import recent
from ragcore.schema import ChatMessage, MessageRole
from ragcore.text.tokens import count_tokens

TOKEN_LIMIT = 3000


class ChatMemoryBuffer:
    """`token_limit` is in tokens of the messages' contents, as `count` counts them. Threads may share one."""

    def __init__(
        self,
        token_limit: int = TOKEN_LIMIT,
        messages: Sequence[ChatMessage] = (),
        count: Callable[[str], int] = count_tokens,
    ) -> None:
        if token_limit < 1:
            raise ValueError(f"token_limit must be at least 1, not {token_limit}")
        self.token_limit = token_limit
        self._messages = tuple(messages)
        self._count = count
        self._lock = threading.Lock()

    def put(self, *messages: ChatMessage) -> None:
        """Remember messages; several given at once stay together, whatever other threads remember."""
        with self._lock:
            self._messages += messages

    def get(self, initial_token_count: int = 0) -> list[ChatMessage]:
        """The newest messages that fit beside `initial_token_count` tokens, by the rules of `recent`.

        ValueError when `initial_token_count` is over the limit by itself.
        """
        return self.fitting(self.get_all(), initial_token_count)

    def fitting(self, messages: Sequence[ChatMessage], initial_token_count: int = 0) -> list[ChatMessage]:
        """What `get` would give if these were the messages."""
        if initial_token_count > self.token_limit:
            raise ValueError(f"{initial_token_count} tokens exceed the memory's limit of {self.token_limit}")
        return recent(messages, self.token_limit - initial_token_count, self._count)

    def get_all(self) -> list[ChatMessage]:
        with self._lock:
            return list(self._messages)

    def set(self, messages: Sequence[ChatMessage]) -> None:
        with self._lock:
            self._messages = tuple(messages)

    def reset(self) -> None:
        self.set(())

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as JSON can keep them."""
        return {
            "token_limit": self.token_limit,
            "messages": [
                {
                    "role": message.role.value,
                    "content": message.content,
                    "name": message.name,
                    "additional_kwargs": dict(message.additional_kwargs),
                }
                for message in self.get_all()
            ],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], count: Callable[[str], int] = count_tokens) -> ChatMemoryBuffer:
        messages = [
            ChatMessage(MessageRole(item["role"]), item["content"], item["name"], item["additional_kwargs"])
            for item in data["messages"]
        ]
        return cls(data["token_limit"], messages, count)
