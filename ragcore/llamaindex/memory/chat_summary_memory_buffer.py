"""A memory that sends a summary of the older messages."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence, Sized
from typing import Any, Self

from ragcore.llms.base import LLM
from ragcore.memory.chat_memory import KEY, TOKEN_LIMIT, ChatMemoryBuffer
from ragcore.observe import span
from ragcore.prompts.prompt import Prompt
from ragcore.prompts.wording import REMEMBER
from ragcore.response_synthesizers.history_window import recent
from ragcore.response_synthesizers.packer import Packer
from ragcore.schema import ChatMessage, MessageRole
from ragcore.storage.chat_store import ChatStore
from ragcore.text.tokens import count_tokens

SUMMARY = "summary"  # marks, in additional_kwargs, a message that stands for older ones


# guards adding and replacing messages, but not the model's call that writes a summary
_changing = threading.Lock()


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
        """`llm` writes the summaries with `prompt`; the rest is as for ChatMemoryBuffer."""
        self._llm = llm
        self._prompt = prompt
        super().__init__(token_limit, messages, count, chat_store=chat_store, chat_store_key=chat_store_key)

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
        """As for ChatMemoryBuffer; `llm` writes the summaries."""
        memory = super().from_defaults(
            chat_history, llm, token_limit, chat_store, chat_store_key, tokenizer_fn
        )
        memory._llm = llm
        return memory

    @classmethod
    def from_dict(
        cls, data: Mapping[str, Any], count: Callable[[str], int] = count_tokens, llm: LLM | None = None
    ) -> Self:
        memory = super().from_dict(data, count)
        memory._llm = llm
        return memory

    @classmethod
    def from_string(
        cls, text: str, count: Callable[[str], int] = count_tokens, llm: LLM | None = None
    ) -> Self:
        return cls.from_dict(json.loads(text), count, llm)

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
