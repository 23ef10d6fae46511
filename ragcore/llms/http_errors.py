"""What goes wrong with a model server: the errors that its clients raise, what a refusal is about (the model, its tools, its
context window), and which failures are worth another try.
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
    """The answer stopped before its end. `partial` is what was said until then."""

    def __init__(self, what: str, *, hint: str = "", partial: str = "") -> None:
        super().__init__(what, hint=hint)
        self.partial = partial


class EmptyAnswerError(LLMProtocolError):
    """The model answered, with no text at all."""


class WrongServerError(LLMProtocolError):
    """Something answers at the address, but not a server of the kind that was meant."""

    retryable = False


class NoToolsError(LLMError):
    """The model, or its server, takes no tools."""


class Refusal(Exception):
    """A status that is not success; not an error yet, as a client may know how to ask again.

    `detail` is the server's own explanation, without the key.
    """

    def __init__(self, status: int, *, detail: str, code: str, retry_after: float | None, location: str, is_page: bool) -> None:
        super().__init__(f"status {status}")
        self.status = status
        self.detail = detail
        self.code = code
        self.retry_after = retry_after  # seconds
        self.location = location
        self.is_page = is_page  # HTML and the like: from something in between, or no model server at all


@dataclass(frozen=True, slots=True)
class Retries:
    """Failures that may pass are tried again, up to `count` times, as long as nothing of the answer has been given out.

    The pause doubles from half a second and is shaken by a quarter; a server that says how long to wait is obeyed. A
    timeout is not tried again: that would only double the wait.
    """

    count: int = 2
    sleep: Callable[[float], None] = time.sleep

    def run(self, ask: Callable[[], T]) -> T:
        """What `ask` gives, asked again as often as that helps."""
        attempt = 0
        while True:
            try:
                return ask()
            except LLMError as error:
                if not self.wait(error, attempt):
                    raise
                attempt += 1

    def wait(self, error: LLMError, attempt: int) -> bool:
        """Sleep before another attempt after attempt number `attempt` (from 0); False when there is none to make."""
        if attempt >= self.count or not error.retryable or isinstance(error.__cause__, httpx.TimeoutException):
            return False
        asked = error.__cause__.retry_after if isinstance(error.__cause__, Refusal) else None
        if asked is not None and asked > LONGEST_PAUSE:
            return False
        pause = asked if asked is not None else 0.5 * 2**attempt * random.uniform(0.75, 1.25)
        logger.info("asking again in %.1f s after %s", pause, type(error).__name__)
        self.sleep(pause)
        return True


def explanation(body: str) -> tuple[str, str]:
    """What a server says is wrong, and its code: {"error": "..."}, {"error": {"message", "code"}}, {"message"}, {"detail"}, or
    plain text."""
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
    said = error.get("message") or error.get("detail") or ""
    param = error.get("param")
    code = error.get("code") or error.get("type") or ""
    detail = said if isinstance(said, str) else json.dumps(said)
    return (f"{detail} ({param})" if param and str(param) not in detail else detail), str(code)


_UNKNOWN_MODEL = re.compile(
    r"\bmodel\b.*(not found|not exist|unknown|no such|is not (available|loaded|supported|served|a valid)|not a valid|pull)"
    r"|(unknown|invalid|no such|no|cannot find|not find|not a valid|different from the pinned)\s+model\b|pinned to",
    re.IGNORECASE | re.DOTALL,
)
_NO_TOOLS = re.compile(
    r"(not support\w*|unsupported|not (permitted|allowed|enabled|available)|unexpected|unrecogni[sz]ed|unknown)\b.*\btool"
    r"|\btool.*(not support\w*|unsupported|not (permitted|allowed|enabled|available)|unexpected|requires? --)",
    re.IGNORECASE | re.DOTALL,
)
_CONTEXT = re.compile(
    r"context[ _-]?(length|window|size)|maximum context|exceeds? the (available )?context|prompt is too long", re.IGNORECASE
)


def is_about_unknown_model(refusal: Refusal) -> bool:
    if refusal.code == "model_not_found":
        return True
    # "Unsupported parameter: 'x' is not supported with this model" is about the parameter.
    return "parameter" not in refusal.detail.lower() and bool(_UNKNOWN_MODEL.search(refusal.detail))


def is_about_tools(refusal: Refusal) -> bool:
    return refusal.status in (400, 404, 422, 500, 501) and not refusal.is_page and bool(_NO_TOOLS.search(refusal.detail))


def is_about_loading(refusal: Refusal) -> bool:
    """As llama.cpp's server says until its model is loaded."""
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
