"""Decorators of a model's own methods, as scripts for LlamaIndex have them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Method = TypeVar("Method", bound=Callable[..., Any])


def llm_completion_callback() -> Callable[[Method], Method]:
    """Does nothing to a `complete` or `stream_complete`: every call of an engine is traced anyway.

    >>> @llm_completion_callback()
    ... def complete(prompt):
    ...     return prompt
    >>> complete("A boat")
    'A boat'
    """
    return lambda method: method


llm_chat_callback = llm_completion_callback
"""The same for a `chat` or `stream_chat`."""
