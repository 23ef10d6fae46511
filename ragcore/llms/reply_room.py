"""Notices a reply that does not end, as of a server that ignores the limit of its answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ragcore.llms.http_errors import EndlessReplyError

MAX_ROOMS = 2  # times the room for the answer
MIN_TOKENS = 16  # Below this a count says little: other tokenizers cut a word into several tokens.
_THOUGHTS = ("reasoning_content", "reasoning", "thinking")


class ReplyRoom:
    """Counts the tokens that a model writes, with its thoughts and tool calls."""

    def __init__(self, num_output: int, count_tokens: Callable[[str], int]) -> None:
        self.tokens = max(MAX_ROOMS * num_output, MIN_TOKENS)
        self._count_tokens = count_tokens
        self._written = ""
        self._next_count = self.tokens  # characters, of which a token has at least one

    def take(self, message: dict[str, Any]) -> None:
        """EndlessReplyError once the reply, which goes on with `message` on the wire, is too long."""
        if self._is_exceeded(_written_in(message)):
            raise EndlessReplyError(
                "The model did not end its answer, so it was stopped at twice the room for the answer, "
                f"{self.tokens:,} tokens.",
                hint="The text so far has been kept. Ask again, or choose another model. For longer answers, "
                "raise “Room for the answer” in Settings.",
            )

    def _is_exceeded(self, text: str) -> bool:
        """Whether the reply, which goes on with `text`, is longer than `tokens`."""
        self._written += text
        if len(self._written) <= self._next_count:
            return False
        left = self.tokens - self._count_tokens(self._written)
        self._next_count = len(self._written) + max(left, 0)
        return left < 0


def _written_in(message: dict[str, Any]) -> str:
    """Everything that the model wrote in a message on the wire, also outside its text."""
    written = [message.get(name) for name in ("content", *_THOUGHTS)]
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else []:
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            written.append(function.get("arguments"))
    return "".join(part if isinstance(part, str) else str(part) for part in written if part)
