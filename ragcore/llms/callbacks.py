"""Decorators of a model's own methods, as scripts for LlamaIndex have them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Method = TypeVar("Method", bound=Callable[..., Any])


def llm_completion_callback() -> Callable[[Method], Method]:
    """Leaves a `complete` or `stream_complete` as it is: every call that an engine makes is traced without it.

    >>> @llm_completion_callback()
    ... def complete(prompt):
    ...     return prompt
    >>> complete("A boat")
    'A boat'
    """
    return lambda method: method


def llm_chat_callback() -> Callable[[Method], Method]:
    """As `llm_completion_callback`, of a `chat` or `stream_chat`.

    >>> @llm_chat_callback()
    ... def chat(messages):
    ...     return messages
    >>> chat([])
    []
    """
    return llm_completion_callback()
