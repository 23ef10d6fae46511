"""Conversations by key, in memory and as a JSON file. A memory reads and writes one of them."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from ragcore.errors import DamagedStoreError
from ragcore.schema import ChatMessage, MessageRole
from ragcore.storage.atomic_file import replace_file


class ChatStore(Protocol):
    """Threads may share a store."""

    def get_messages(self, key: str) -> list[ChatMessage]:
        """A new list with the messages of a conversation; [] for an unknown key."""

    def set_messages(self, key: str, messages: Sequence[ChatMessage]) -> None: ...

    def add_messages(self, key: str, messages: Sequence[ChatMessage]) -> None:
        """Add to the end. Messages of one call stay together, even if other threads add some."""


class SimpleChatStore:
    """A chat store in memory. `persist` writes it to a JSON file.

    >>> store = SimpleChatStore()
    >>> store.add_message("ada", ChatMessage("user", "Hi"))
    >>> store.get_messages("ada")[0].content
    'Hi'
    """

    def __init__(self, conversations: Mapping[str, Sequence[ChatMessage]] | None = None) -> None:
        self._conversations = {key: tuple(messages) for key, messages in (conversations or {}).items()}
        self._lock = threading.Lock()

    def get_messages(self, key: str) -> list[ChatMessage]:
        with self._lock:
            return list(self._conversations.get(key, ()))

    def set_messages(self, key: str, messages: Sequence[ChatMessage]) -> None:
        with self._lock:
            self._conversations[key] = tuple(messages)

    def add_messages(self, key: str, messages: Sequence[ChatMessage]) -> None:
        with self._lock:
            self._conversations[key] = (*self._conversations.get(key, ()), *messages)

    def add_message(self, key: str, message: ChatMessage, idx: int | None = None) -> None:
        """Add a message to the end, or before the one at `idx`."""
        with self._lock:
            messages = list(self._conversations.get(key, ()))
            messages.insert(len(messages) if idx is None else idx, message)
            self._conversations[key] = tuple(messages)

    def delete_message(self, key: str, idx: int = -1) -> ChatMessage | None:
        """Delete and return the message at `idx`; None if there is none."""
        with self._lock:
            messages = list(self._conversations.get(key, ()))
            if not -len(messages) <= idx < len(messages):
                return None
            message = messages.pop(idx)
            self._conversations[key] = tuple(messages)
        return message

    delete_last_message = delete_message

    def delete_messages(self, key: str) -> list[ChatMessage]:
        """Delete and return a conversation; [] for an unknown key."""
        with self._lock:
            return list(self._conversations.pop(key, ()))

    def get_keys(self) -> list[str]:
        with self._lock:
            return list(self._conversations)

    def json(self) -> str:
        """All conversations as JSON, which `parse_raw` reads.

        >>> SimpleChatStore.parse_raw(SimpleChatStore({"ada": [ChatMessage(content="Hi")]}).json()).get_keys()
        ['ada']
        """
        return json.dumps(
            {key: [message_to_dict(message) for message in self.get_messages(key)] for key in self.get_keys()}
        )

    model_dump_json = json

    @classmethod
    def parse_raw(cls, text: str) -> SimpleChatStore:
        return cls(
            {key: [message_from_dict(item) for item in items] for key, items in json.loads(text).items()}
        )

    model_validate_json = parse_raw

    def persist(self, persist_path: str | Path = "chat_store.json") -> None:
        """Write all conversations to a file, whole or not at all. StoreError."""
        replace_file(Path(persist_path), self.json())

    @classmethod
    def from_persist_path(cls, persist_path: str | Path = "chat_store.json") -> SimpleChatStore:
        """Read what `persist` wrote. A missing file gives an empty store. DamagedStoreError."""
        path = Path(persist_path)
        try:
            return cls.parse_raw(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return cls()
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DamagedStoreError(
                f"{path} does not hold conversations.",
                hint="Choose another file, or delete it to begin anew.",
            ) from error

    def __getstate__(self) -> dict[str, tuple[ChatMessage, ...]]:
        with self._lock:
            return dict(self._conversations)

    def __setstate__(self, state: dict[str, tuple[ChatMessage, ...]]) -> None:
        self._conversations = state
        self._lock = threading.Lock()


def message_to_dict(message: ChatMessage) -> dict[str, Any]:
    """Values that JSON can represent."""
    return {
        "role": message.role.value,
        "content": message.content,
        "name": message.name,
        "additional_kwargs": dict(message.additional_kwargs),
    }


def message_from_dict(data: Mapping[str, Any]) -> ChatMessage:
    return ChatMessage(MessageRole(data["role"]), data["content"], data["name"], data["additional_kwargs"])
