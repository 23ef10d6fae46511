"""The memory of a conversation: it stores all messages and sends the newest that fit with each question.

`ChatMemoryBuffer` drops the older messages; `ChatSummaryMemoryBuffer` sends a summary of them.
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
from ragcore.response_synthesizers.history_window import recent, text_to_count
from ragcore.response_synthesizers.packer import Packer
from ragcore.schema import ChatMessage, MessageRole
from ragcore.storage.chat_store import ChatStore, SimpleChatStore, message_from_dict, message_to_dict
from ragcore.text.tokens import count_tokens

TOKEN_LIMIT = 3000  # the limit without a model
SHARE_OF_WINDOW = 0.75
KEY = "chat_history"
SUMMARY = "summary"  # marks, in additional_kwargs, a message that stands for older ones

# guards adding and replacing messages, but not the model's call that writes a summary
_changing = threading.Lock()


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
        return cls(
            limit, chat_history, count, chat_store=chat_store, chat_store_key=chat_store_key
        )._with_llm(llm)

    def _with_llm(self, llm: LLM | None) -> Self:
        return self

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
    def from_dict(
        cls, data: Mapping[str, Any], count: Callable[[str], int] = count_tokens, **options: Any
    ) -> Self:
        """The memory of which `to_dict` returned `data`. `options`, such as `llm`, go to the constructor."""
        messages = [message_from_dict(item) for item in data["messages"]]
        return cls(
            data["token_limit"], messages, count, chat_store_key=data.get("chat_store_key", KEY), **options
        )

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
    """Sends the newest whole turns that fit `token_limit`, and before them one message with a summary of all
    older ones.

    When messages no longer fit, one call of the model summarizes them together with the previous summary, and
    the new summary replaces them in the conversation. The summary does not count towards `token_limit`.
    Without a model or if the summary is empty, messages that do not fit are not sent and the conversation
    does not change.

    >>> from ragcore.llms import ScriptedLLM
    >>> llm = ScriptedLLM(["The user greeted."])
    >>> memory = ChatSummaryMemoryBuffer(token_limit=4, count=lambda text: len(text.split()), llm=llm)
    >>> for word in ("Hello", "Bye"):
    ...     memory.put(ChatMessage("user", word), ChatMessage("assistant", f"{word} to you"))
    >>> [message.content for message in memory.get()]
    ['The user greeted.', 'Bye', 'Bye to you']
    """

    def __init__(self, *args: Any, llm: LLM | None = None, prompt: Prompt = REMEMBER, **options: Any) -> None:
        """The other arguments are those of ChatMemoryBuffer."""
        self._llm = llm
        self._prompt = prompt
        super().__init__(*args, **options)

    def _with_llm(self, llm: LLM | None) -> Self:
        self._llm = llm
        return self

    def put(self, *messages: ChatMessage) -> None:
        with _changing:
            super().put(*messages)

    def set(self, messages: Sequence[ChatMessage]) -> None:
        with _changing:
            super().set(messages)

    def get(self, initial_token_count: int = 0) -> list[ChatMessage]:
        """LLMErrors, which do not change the conversation."""
        before = self.get_all()
        messages, has_new_summary = self._select(before, initial_token_count)
        if has_new_summary:
            with _changing:
                now = self.chat_store.get_messages(self.chat_store_key)
                if now[: len(before)] == before:  # no other thread changed the summarized messages
                    self.chat_store.set_messages(self.chat_store_key, (*messages, *now[len(before) :]))
        return messages

    def fit(self, messages: Sequence[ChatMessage], initial_token_count: int = 0) -> list[ChatMessage]:
        return self._select(messages, initial_token_count)[0]

    def _select(
        self, messages: Sequence[ChatMessage], initial_token_count: int
    ) -> tuple[list[ChatMessage], bool]:
        """The messages to send, and whether they begin with a new summary."""
        room = self._room(initial_token_count)
        summary = list(messages[:1]) if messages and messages[0].additional_kwargs.get(SUMMARY) else []
        talk = messages[len(summary) :]
        if self.cost(talk) <= room:
            return list(messages), False
        newest = _whole_turns(talk, room, self._count)
        older = (*summary, *talk[: len(talk) - len(newest)])
        if self._llm is not None and (text := _summarize(self._llm, self._prompt, older)):
            return [ChatMessage(MessageRole.SYSTEM, text, additional_kwargs={SUMMARY: True}), *newest], True
        return [*summary, *recent(talk, room, self._count)], False


def limit_for(llm: LLM | None) -> int:
    return TOKEN_LIMIT if llm is None else max(1, int(llm.metadata.context_window * SHARE_OF_WINDOW))


def length_by(tokenizer: Callable[[str], Sized], text: str) -> int:
    return len(tokenizer(text))


def _whole_turns(
    messages: Sequence[ChatMessage], tokens: int, count: Callable[[str], int]
) -> list[ChatMessage]:
    """As `recent`, but [] if the last turn alone is too long."""
    newest = recent(messages, tokens, count)
    return newest if newest == list(messages[len(messages) - len(newest) :]) else []


def _summarize(llm: LLM, prompt: Prompt, messages: tuple[ChatMessage, ...]) -> str:
    with span("remember", messages=len(messages)) as step:
        call = Packer(llm).take(prompt, {"chat_history": messages}, ()).calls[0]
        summary = llm.generate(call).text.strip()
        step.note(summary=summary)
    return summary
