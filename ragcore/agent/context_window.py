"""Selects the messages of a conversation and of an agent's rounds that fit the model's window."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from ragcore.errors import ContextWindowError
from ragcore.llms.base import LLM, LLMCall
from ragcore.observe import span
from ragcore.response_synthesizers.history_window import head, recent, text_to_count
from ragcore.response_synthesizers.packer import MESSAGE_TOKENS
from ragcore.schema import ChatMessage, MessageRole

LEAST_RESULT = 16  # tokens; a tool's result is not cut shorter


def fit_call(
    llm: LLM,
    call: LLMCall,
    before: Sequence[ChatMessage],
    message: str,
    rounds: Sequence[ChatMessage],
    coda: str = "",
) -> LLMCall:
    """The call with conversation, message and rounds, and the `coda` at the end of the last round.

    The oldest messages are dropped first, then the tools' results are cut at their ends. The span "pack"
    counts what was dropped and cut. ContextWindowError if the message, the instructions and the tools alone
    do not fit.
    """
    with span("pack", prompt=call.prompt.name) as step:
        window = llm.metadata.context_window - llm.metadata.num_output
        user = ChatMessage(MessageRole.USER, message)
        bare = replace(call, history=(user,)).messages()
        needed = sum(llm.count_tokens(item.content) + MESSAGE_TOKENS for item in bare) + llm.count_tokens(
            coda
        )
        needed += llm.count_tokens(json.dumps(call.tools)) if call.tools else 0
        if needed > window:
            raise _too_small(llm, needed)
        fitting = _shorten_results(llm, rounds, window - needed)
        needed += _cost(llm, fitting)
        history = recent(before, max(0, window - needed), llm.count_tokens, per_message=MESSAGE_TOKENS)
        step.note(tokens=needed + _cost(llm, history), window=window)
        if dropped := len(before) - len(history):
            step.note(history_left_out=dropped)
        if shortened := sum(short is not long for short, long in zip(fitting, rounds, strict=True)):
            step.note(results_shortened=shortened)
    if coda:
        fitting = [*fitting[:-1], replace(fitting[-1], content=f"{fitting[-1].content}\n\n{coda}")]
    return replace(call, history=(*history, user, *fitting))


def _shorten_results(llm: LLM, messages: Sequence[ChatMessage], room: int) -> list[ChatMessage]:
    """The messages; if they do not fit, the tools' results are cut to equal shares of the room."""
    results = [message for message in messages if message.role is not MessageRole.ASSISTANT]
    if _cost(llm, messages) <= room or not results:
        return list(messages)
    own = _cost(llm, [message for message in messages if message.role is MessageRole.ASSISTANT])
    share = max(LEAST_RESULT, (room - own) // len(results) - MESSAGE_TOKENS)

    def cut(message: ChatMessage) -> ChatMessage:
        if message.role is MessageRole.ASSISTANT or llm.count_tokens(message.content) <= share:
            return message
        return replace(message, content=f"{head(message.content, share - 2, llm.count_tokens)} …")

    return [cut(message) for message in messages]


def _cost(llm: LLM, messages: Sequence[ChatMessage]) -> int:
    return sum(llm.count_tokens(text_to_count(message)) + MESSAGE_TOKENS for message in messages)


def _too_small(llm: LLM, needed: int) -> ContextWindowError:
    about = llm.metadata
    return ContextWindowError(
        f"The message, the instructions and the tools need {needed} tokens. {about.model_name} takes "
        f"{about.context_window}, of which {about.num_output} are reserved for the answer.",
        hint="Shorten the message, offer fewer tools, or choose a model with a larger context window.",
    )
