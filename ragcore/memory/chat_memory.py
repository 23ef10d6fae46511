"""What a conversation remembers: all its messages, of which the newest that fit are sent along with a question.

`ChatMemoryBuffer` sends no others; `ChatSummaryMemoryBuffer` puts a summary in the place of the older ones.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence, Sized
from functools import partial
from typing import Any, Self

from ragcore.concurrency import awaitable
from ragcore.llms.base import LLM
from ragcore.observe import span
from ragcore.prompts.prompt import Prompt
from ragcore.prompts.wording import REMEMBER
from ragcore.response_synthesizers.history_window import counted, recent
from ragcore.response_synthesizers.packer import Packer
from ragcore.schema import ChatMessage, MessageRole
from ragcore.storage.chat_store import ChatStore, SimpleChatStore, message_from_dict, message_to_dict
from ragcore.text.tokens import count_tokens

TOKEN_LIMIT = 3000  # where no model is known
SHARE_OF_WINDOW = 0.75
KEY = "chat_history"
SUMMARY = "summary"  # marks, in additional_kwargs, a message that stands for older ones

_changing = threading.Lock()  # held while messages are added, or a summary takes their place; not while a model writes it


class ChatMemoryBuffer:
    """`token_limit` is in tokens of the messages' contents and tool calls, as `count` counts them. Threads may share one.

    The messages are those of `chat_store` under `chat_store_key`; `messages`, where given, take their place.
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
        """Where no limit is given: three quarters of the model's window, or 3000 tokens."""
        limit = limit_for(llm) if token_limit is None else token_limit
        count = count_tokens if tokenizer_fn is None else partial(length_by, tokenizer_fn)
        return cls(limit, chat_history, count, chat_store=chat_store, chat_store_key=chat_store_key)._summed_up_by(llm)

    def _summed_up_by(self, llm: LLM | None) -> Self:
        return self

    def put(self, *messages: ChatMessage) -> None:
        """Remember messages; several given at once stay together, whatever other threads remember."""
        self.chat_store.add_messages(self.chat_store_key, messages)

    def get(self, initial_token_count: int = 0) -> list[ChatMessage]:
        """The newest messages that fit beside `initial_token_count` tokens, by the rules of `recent`.

        ValueError when `initial_token_count` is over the limit by itself.
        """
        return self.fitting(self.get_all(), initial_token_count)

    def fitting(self, messages: Sequence[ChatMessage], initial_token_count: int = 0) -> list[ChatMessage]:
        """What `get` would give if these were the messages."""
        return recent(messages, self._room(initial_token_count), self._count)

    def cost(self, messages: Sequence[ChatMessage]) -> int:
        """The tokens of the messages, as this memory counts them."""
        return sum(self._count(counted(message)) for message in messages)

    def get_all(self) -> list[ChatMessage]:
        return self.chat_store.get_messages(self.chat_store_key)

    def set(self, messages: Sequence[ChatMessage]) -> None:
        self.chat_store.set_messages(self.chat_store_key, messages)

    def reset(self) -> None:
        self.set(())

    def put_messages(self, messages: Sequence[ChatMessage]) -> None:
        """The same as `put`, of a list."""
        self.put(*messages)

    aput = awaitable(put)
    aput_messages = awaitable(put_messages)
    aget = awaitable(get)
    aget_all = awaitable(get_all)
    aset = awaitable(set)
    areset = awaitable(reset)

    @classmethod
    def class_name(cls) -> str:
        """Its name; contexts of workflows keep what has one, as `to_dict` says it."""
        return cls.__name__

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as JSON can keep them. How tokens are counted is not among them."""
        messages = [message_to_dict(message) for message in self.get_all()]
        return {"token_limit": self.token_limit, "chat_store_key": self.chat_store_key, "messages": messages}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], count: Callable[[str], int] = count_tokens, **options: Any) -> Self:
        """What `to_dict` gave. `options` are those of the constructor that are not plain values, such as `llm`."""
        messages = [message_from_dict(item) for item in data["messages"]]
        return cls(data["token_limit"], messages, count, chat_store_key=data.get("chat_store_key", KEY), **options)

    def to_string(self) -> str:
        return json.dumps(self.to_dict(), ensure_ascii=False)

    @classmethod
    def from_string(cls, text: str, count: Callable[[str], int] = count_tokens, **options: Any) -> Self:
        return cls.from_dict(json.loads(text), count, **options)

    def _room(self, initial_token_count: int) -> int:
        if initial_token_count > self.token_limit:
            raise ValueError(f"{initial_token_count} tokens exceed the memory's limit of {self.token_limit}")
        return self.token_limit - initial_token_count


class ChatSummaryMemoryBuffer(ChatMemoryBuffer):
    """Sends the newest whole turns that fit `token_limit` as they are, and before them one message that sums up all older ones.

    When messages no longer fit, one call of the model sums them up together with the summary so far, and the summary takes
    their place in the conversation. It comes on top of `token_limit`. Without a model, and where its summary is empty, what
    does not fit is not sent and the conversation stays as it is.
    """

    def __init__(
        self,
        token_limit: int = TOKEN_LIMIT,
        messages: Sequence[ChatMessage] | None = None,
        count: Callable[[str], int] = count_tokens,
        *,
        chat_store: ChatStore | None = None,
        chat_store_key: str = KEY,
        llm: LLM | None = None,
        prompt: Prompt = REMEMBER,
    ) -> None:
        self._llm = llm
        self._prompt = prompt
        super().__init__(token_limit, messages, count, chat_store=chat_store, chat_store_key=chat_store_key)

    def _summed_up_by(self, llm: LLM | None) -> Self:
        self._llm = llm
        return self

    def put(self, *messages: ChatMessage) -> None:
        with _changing:
            super().put(*messages)

    def set(self, messages: Sequence[ChatMessage]) -> None:
        with _changing:
            super().set(messages)

    def get(self, initial_token_count: int = 0) -> list[ChatMessage]:
        """As described above; LLMErrors, which leave the conversation as it was."""
        before = self.get_all()
        sent, summed_up = self._sent(before, initial_token_count)
        if summed_up:
            with _changing:
                now = self.chat_store.get_messages(self.chat_store_key)
                if now[: len(before)] == before:  # nobody else changed what was summed up
                    self.chat_store.set_messages(self.chat_store_key, (*sent, *now[len(before) :]))
        return sent

    def fitting(self, messages: Sequence[ChatMessage], initial_token_count: int = 0) -> list[ChatMessage]:
        return self._sent(messages, initial_token_count)[0]

    def _sent(self, messages: Sequence[ChatMessage], initial_token_count: int) -> tuple[list[ChatMessage], bool]:
        """What is sent of the messages, and whether it begins with a new summary."""
        room = self._room(initial_token_count)
        summary = list(messages[:1]) if messages and messages[0].additional_kwargs.get(SUMMARY) else []
        talk = messages[len(summary) :]
        if self.cost(talk) <= room:
            return list(messages), False
        newest = _whole_turns(talk, room, self._count)
        older = (*summary, *talk[: len(talk) - len(newest)])
        if self._llm is not None and (text := _summed_up(self._llm, self._prompt, older)):
            return [ChatMessage(MessageRole.SYSTEM, text, additional_kwargs={SUMMARY: True}), *newest], True
        return [*summary, *recent(talk, room, self._count)], False


def limit_for(llm: LLM | None) -> int:
    return TOKEN_LIMIT if llm is None else max(1, int(llm.metadata.context_window * SHARE_OF_WINDOW))


def length_by(tokenizer: Callable[[str], Sized], text: str) -> int:
    return len(tokenizer(text))


def _whole_turns(messages: Sequence[ChatMessage], tokens: int, count: Callable[[str], int]) -> list[ChatMessage]:
    """As `recent`, but nothing in the place of a last turn that is too long."""
    newest = recent(messages, tokens, count)
    return newest if newest == list(messages[len(messages) - len(newest) :]) else []


def _summed_up(llm: LLM, prompt: Prompt, messages: tuple[ChatMessage, ...]) -> str:
    with span("remember", messages=len(messages)) as step:
        call = Packer(llm).take(prompt, {"chat_history": messages}, ()).calls[0]
        summary = llm.generate(call).text.strip()
        step.note(summary=summary)
    return summary
