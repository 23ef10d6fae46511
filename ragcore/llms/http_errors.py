"""Failures of a model server: the errors of its clients, the cause of a refusal (the model, its tools, its
context window), and retries.
"""

from __future__ import annotations

import json
import logging
import random
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TypeVar

import httpx

from ragcore.errors import LLMError, LLMProtocolError

logger = logging.getLogger(__name__)

T = TypeVar("T")

LONGEST_PAUSE = 20.0  # seconds; a server that asks for more is an error at once


class BrokenOffError(LLMProtocolError):
    """The answer stopped before its end. `partial` is the text until then."""

    def __init__(self, what: str, *, hint: str = "", partial: str = "") -> None:
        super().__init__(what, hint=hint)
        self.partial = partial


class EndlessReplyError(BrokenOffError):
    """The model wrote more than twice the room for its answer, and was stopped."""

    retryable = False


class EmptyAnswerError(LLMProtocolError):
    """The model answered without any text."""


class WrongServerError(LLMProtocolError):
    """The server at the address is of another kind than expected."""

    retryable = False


class NoToolsError(LLMError):
    """The model, or its server, does not support tools."""


@dataclass(eq=False)
class Refusal(Exception):
    """A status that is not success. It is not an error yet: a client may send another request."""

    status: int
    detail: str  # the server's explanation, without the key
    code: str = ""
    retry_after: float | None = None  # seconds
    location: str = ""
    is_page: bool = False  # HTML and the like: from a proxy, or another kind of server

    def __str__(self) -> str:
        return f"status {self.status}"


Error = TypeVar("Error", bound=LLMError)


def final(error: Error) -> Error:
    """The error, marked as not worth another attempt."""
    error.retryable = False
    return error


@dataclass(frozen=True, slots=True)
class Retries:
    """Up to `count` further attempts after a temporary failure, as long as nothing of the answer was
    returned.

    The pause starts at half a second, doubles each time, and varies by a quarter; a server's own waiting time
    takes precedence. There is no attempt after a timeout, which would only double the wait.
    """

    count: int = 2
    sleep: Callable[[float], None] = time.sleep

    def run(self, ask: Callable[[], T]) -> T:
        """The result of `ask`, called again after temporary failures."""
        attempt = 0
        while True:
            try:
                return ask()
            except LLMError as error:
                if not self.wait(error, attempt):
                    raise
                attempt += 1

    def wait(self, error: LLMError, attempt: int) -> bool:
        """Sleep before the attempt after number `attempt`, counted from 0; False if there should be none."""
        if (
            attempt >= self.count
            or not error.retryable
            or isinstance(error.__cause__, httpx.TimeoutException)
        ):
            return False
        requested = error.__cause__.retry_after if isinstance(error.__cause__, Refusal) else None
        if requested is not None and requested > LONGEST_PAUSE:
            return False
        pause = requested if requested is not None else 0.5 * 2**attempt * random.uniform(0.75, 1.25)
        logger.info("asking again in %.1f s after %s", pause, type(error).__name__)
        self.sleep(pause)
        return True


def explanation(body: str) -> tuple[str, str]:
    """A server's message and code from {"error": "..."}, {"error": {"message", "code"}}, {"message"},
    {"detail"}, or plain text."""
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        data = body if all(character.isprintable() or character.isspace() for character in body) else ""
    if not isinstance(data, dict):
        return data if isinstance(data, str) else "", ""
    error = data.get("error", data)
    if isinstance(error, str):
        return error, ""
    if not isinstance(error, dict):
        return json.dumps(error), ""
    message = error.get("message") or error.get("detail") or ""
    param = error.get("param")
    code = error.get("code") or error.get("type") or ""
    detail = message if isinstance(message, str) else json.dumps(message)
    return (f"{detail} ({param})" if param and str(param) not in detail else detail), str(code)


_UNKNOWN_MODEL = re.compile(
    r"\bmodel\b.*(not found|not exist|unknown|no such|is not (available|loaded|supported|served"
    r"|a valid)|not a valid|pull)|(unknown|invalid|no such|no|cannot find|not find|not a valid"
    r"|different from the pinned)\s+model\b|pinned to",
    re.IGNORECASE | re.DOTALL,
)
_NO_TOOLS = re.compile(
    r"(not support\w*|unsupported|not (permitted|allowed|enabled|available)|unexpected|unrecogni[sz]ed"
    r"|unknown)\b.*\btool"
    r"|\btool.*(not support\w*|unsupported|not (permitted|allowed|enabled|available)|unexpected"
    r"|requires? --)",
    re.IGNORECASE | re.DOTALL,
)
_CONTEXT = re.compile(
    r"context[ _-]?(length|window|size)|maximum context|exceeds? the (available )?context|prompt is too long",
    re.IGNORECASE,
)


def is_about_unknown_model(refusal: Refusal) -> bool:
    if refusal.code == "model_not_found":
        return True
    # "Unsupported parameter: 'x' is not supported with this model" is about the parameter.
    return "parameter" not in refusal.detail.lower() and bool(_UNKNOWN_MODEL.search(refusal.detail))


def is_about_tools(refusal: Refusal) -> bool:
    return (
        refusal.status in (400, 404, 422, 500, 501)
        and not refusal.is_page
        and bool(_NO_TOOLS.search(refusal.detail))
    )


def is_about_loading(refusal: Refusal) -> bool:
    """llama.cpp's server reports it until its model is loaded."""
    return refusal.status == 503 and "loading" in refusal.detail.lower()


def is_about_context(refusal: Refusal) -> bool:
    if refusal.status not in (400, 413, 422, 500):
        return False
    return refusal.status == 413 or "context" in refusal.code or bool(_CONTEXT.search(refusal.detail))


def seconds_of(header: str) -> float | None:
    """A Retry-After header: seconds, or a date."""
    if not header:
        return None
    try:
        return max(0.0, float(header))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(header).timestamp() - time.time())
    except ValueError:
        return None
