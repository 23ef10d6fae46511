"""The HTTP client for model servers: connections, reading streams line by line, and errors for failures.

The key is only in the Authorization header: never in a repr, an error, a log line or an address.
"""

from __future__ import annotations

import json
import os
import re
import socket
import ssl
import threading
import time
import weakref
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import httpx

from ragcore.errors import (
    ConfigError,
    ContextWindowError,
    LLMAuthError,
    LLMError,
    LLMProtocolError,
    LLMServerError,
    LLMTimeoutError,
    LLMUnavailableError,
    RateLimitError,
    UnknownModelError,
)
from ragcore.llms.call_queue import Turn, queue_of
from ragcore.llms.call_stages import CallStage
from ragcore.llms.connections import Connections, hang_up
from ragcore.llms.http_errors import (
    BrokenOffError,
    EmptyAnswerError,
    NoToolsError,
    Refusal,
    WrongServerError,
    explanation,
    final,
    is_about_context,
    is_about_loading,
    is_about_tools,
    is_about_unknown_model,
    seconds_of,
)
from ragcore.llms.reply_room import ReplyRoom
from ragcore.llms.server_address import OLLAMA_URL, is_loopback, server_address
from ragcore.observe import set_stage

CONNECT_TIMEOUT = 5.0  # seconds
AFTERMATH = 0.25  # seconds from the last line of an answer to the end of its stream
MAX_LINE = 4 * 2**20  # bytes of a line of a stream, usually a few words
MAX_BODY = 32 * 2**20  # bytes of a whole answer
LOADING_SECONDS = 900.0  # for loading the model, while the server reports it
LOADING_PAUSE = 0.5  # seconds between two attempts meanwhile
SLOTS_SECONDS = 3.0  # for the answer how many calls at once the server accepts
XML = ("application/xhtml", "application/xml", "text/xml")
# types of contents that are no answer of a model server
PAGES = ("text/html", *XML, "image/", "video/", "audio/", "multipart/")
LOCAL_CALLS, REMOTE_CALLS = 1, 8  # at once, to a server that does not report its limit


@dataclass(slots=True)
class Exchange:
    """The state of a call that its client and the connection share."""

    silence: float  # maximum seconds without a sign of life
    began: float = 0.0  # when it was sent, by `time.perf_counter`
    turn: Turn = field(default_factory=Turn)
    room: ReplyRoom | None = None  # of the reply


def ollama_server(base_url: str | None, timeout: float, calls_at_once: int = 1) -> ModelServer:
    """Without `base_url` the environment's OLLAMA_HOST, as in Ollama's own client, or Ollama on this
    machine."""
    base_url = os.environ.get("OLLAMA_HOST", "") if base_url is None else base_url
    url = server_address(base_url, usual=OLLAMA_URL, local_port=11434)
    url = url.copy_with(
        path=re.sub(r"/(api(/chat|/tags|/generate|/embed)?|v1)$", "", url.path.rstrip("/")) or "/"
    )
    down_hint = "Is it running? Start it with: ollama serve"
    return ModelServer(
        url, kind="Ollama", name="Ollama", down_hint=down_hint, timeout=timeout, calls_at_once=calls_at_once
    )


class ModelServer:
    """One server: sends requests, reads answers, and translates failures to LLMErrors. Threads may share it.

    `kind` is the expected software ("Ollama", "an OpenAI-compatible server"), `name` the beginning of
    sentences about the server, `down_hint` what to do when it does not answer. Without `calls_at_once` the
    limit is the server's answer at `slots_at`, the address of llama.cpp's "props"; without it, LOCAL_CALLS or
    REMOTE_CALLS.
    """

    def __init__(
        self,
        url: httpx.URL,
        *,
        kind: str,
        name: str,
        down_hint: str,
        key: str = "",
        timeout: float = 120.0,
        calls_at_once: int | None = None,
        slots_at: str = "",
    ) -> None:
        self.url = str(url).rstrip("/")
        self.place = url.netloc.decode("ascii")
        self.kind = kind
        self.name = name
        self.timeout = timeout  # seconds without a sign of life
        self._down_hint = down_hint
        self._key = _checked_key(key)
        self._local = is_loopback(url.host)
        self._calls_at_once = calls_at_once
        self._slots_at = slots_at
        self._queue = queue_of(self.url)
        self._connections = Connections(
            {"Authorization": f"Bearer {self._key}"} if self._key else {},
            httpx.Timeout(timeout, connect=min(CONNECT_TIMEOUT, timeout)),
            secure=url.scheme == "https",
            trust_env=not self._local,  # a proxy cannot reach servers on this machine
        )
        # explicitly, or by the garbage collector
        self.close = weakref.finalize(self, self._connections.close)

    def __repr__(self) -> str:
        return f"ModelServer({self.url!r})"

    def get(self, path: str) -> dict[str, Any]:
        with self._send("GET", path, None) as response:
            return self._read_object(response)

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """The JSON object of the answer; a Refusal for another status than success."""
        with self._send("POST", path, body) as response:
            return self.parse_answer(_text(_body(response)))

    def lines(self, path: str, body: dict[str, Any], exchange: Exchange) -> Generator[str, bool | None, None]:
        """The lines of the answer as they arrive; a Refusal before the first for another status than success.

        Closing the generator ends the request; `mark_end` lets the next request use its connection. The
        request waits for its turn in `ragcore.llms.call_queue`.
        """
        while True:
            with self._queue.turn(self._room()) as exchange.turn:
                try:
                    with self._send("POST", path, body, exchange) as response:
                        lines = _lines(response)
                        for line in lines:
                            if (yield line):
                                exchange.turn.when_ended(None)
                                _drain(lines, response)
                    return
                except Refusal as refusal:
                    # Its limit was unknown, or other programs use it, too.
                    if refusal.status != 503 or not self._queue.make_smaller():
                        raise
                except LLMError as error:
                    if exchange.turn.error is None or exchange.turn.error is error:
                        raise
                    raise exchange.turn.error from error  # the connection was ended

    def _room(self) -> int:
        """The limit of calls at once."""
        if self._calls_at_once is not None:
            return self._calls_at_once
        if self._queue.room is None:
            self._queue.room = self._find_room() or (LOCAL_CALLS if self._local else REMOTE_CALLS)
        return self._queue.room

    def _find_room(self) -> int | None:
        """The limit that the server reports, or None."""
        if not self._slots_at:
            return None
        try:
            exchange = Exchange(min(self.timeout, SLOTS_SECONDS))
            with self._send("GET", self._slots_at, None, exchange) as response:
                slots = self._read_object(response).get("total_slots")
        except (Refusal, LLMProtocolError, LLMTimeoutError):
            return None
        return slots if isinstance(slots, int) and slots > 0 else None

    def parse_answer(self, text: str) -> dict[str, Any]:
        """The JSON object in `text`. An "error" in it is raised."""
        data = self._parse(text)
        if error := data.get("error"):
            detail, code = explanation(json.dumps({"error": error}))
            raise self._explain(Refusal(500, self._clean(detail), code))
        return data

    def _parse(self, text: str) -> dict[str, Any]:
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise self.unreadable() from error
        if not isinstance(data, dict):
            raise self.unreadable()
        return data

    def unreadable(self) -> LLMProtocolError:
        return LLMProtocolError(
            f"{self.name} at {self.place} sent something that is not an answer.",
            hint=f"Check in Settings that {self.kind} is at this address, and that it is up to date.",
        )

    def broken_off(self, partial: str) -> BrokenOffError:
        return BrokenOffError(
            f"{self.name} at {self.place} stopped in the middle of the answer.",
            hint="The text so far has been kept. Ask again; if it happens again, check the server's log.",
            partial=partial,
        )

    def empty(self, *, at_limit: bool) -> EmptyAnswerError:
        if at_limit:
            return EmptyAnswerError(
                "The model used up all the tokens reserved for its answer before it said anything.",
                hint="Raise “Room for the answer” in Settings; models that think first need thousands of "
                "tokens.",
            )
        return EmptyAnswerError(
            "The model gave an empty answer.", hint="Ask again, or choose another model in Settings."
        )

    def failure(
        self,
        refusal: Refusal,
        *,
        model: str,
        available: Callable[[], tuple[str, ...]],
        sent_tools: bool = False,
    ) -> LLMError:
        """The error for a refusal. `available` is called for the names of the models if the server has no
        `model`."""
        if sent_tools and is_about_tools(refusal):
            return NoToolsError(
                f"{self.name} at {self.place} does not accept tools with the model {model!r}: "
                f"{refusal.detail}.",
                hint="Choose a model that can call tools, switch tools on where the server is started, or "
                "use a ReAct agent, which works with every model.",
            )
        if not refusal.is_page and refusal.status in (400, 404, 422, 500) and is_about_unknown_model(refusal):
            names = available()
            hint = f"It has: {', '.join(names)}." if names else "It did not say which models it has."
            return UnknownModelError(
                f"{self.name} at {self.place} has no model {model!r}.", hint=hint, available=names
            )
        return self._explain(refusal)

    def wrong_server(self, location: str = "") -> WrongServerError:
        hint = "Check the address and the kind of server in Settings."
        if location:
            hint = f"It points to {location}. Try that address in Settings."
        return WrongServerError(f"Something answers at {self.place}, but it is not {self.kind}.", hint=hint)

    @contextmanager
    def _send(
        self, method: str, path: str, body: dict[str, Any] | None, exchange: Exchange | None = None
    ) -> Iterator[httpx.Response]:
        """The response to a request. It is sent again as long as the server reports that it is loading its
        model."""
        exchange = exchange or Exchange(self.timeout)
        deadline = time.monotonic() + LOADING_SECONDS
        url = path if "://" in path else f"{self.url}{path}"
        with self._connections.borrow() as connection:
            exchange.turn.when_ended(connection.hang_up)
            try:
                while True:
                    exchange.began = time.perf_counter()
                    set_stage(CallStage.READING)
                    with connection.send(method, url, body, exchange.silence) as response:
                        if response.is_success:
                            if _is_page(response):
                                raise self.wrong_server()
                            yield response
                            return
                        refusal = self._refusal(response)
                    if not is_about_loading(refusal) or time.monotonic() > deadline:
                        raise refusal
                    set_stage(CallStage.LOADING)
                    exchange.turn.pause(LOADING_PAUSE)
            except httpx.HTTPError as error:
                if isinstance(error, httpx.ConnectError):
                    self._queue.room = None  # started again, it may have room for more
                raise self._explain_transport(error, exchange.silence) from error
            finally:
                exchange.turn.when_ended(None)

    def _read_object(self, response: httpx.Response) -> dict[str, Any]:
        return self._parse(_text(_body(response)))

    def _refusal(self, response: httpx.Response) -> Refusal:
        is_page = _is_page(response)
        detail, code = ("", "") if is_page else explanation(_text(_body(response)))
        retry_after, location = (response.headers.get(name, "") for name in ("retry-after", "location"))
        return Refusal(
            response.status_code, self._clean(detail), code, seconds_of(retry_after), location, is_page
        )

    def _clean(self, detail: str) -> str:
        """A message of the server for use in a sentence: short, on one line, without the key."""
        if self._key:
            detail = detail.replace(self._key, "…")
        line = " ".join(detail.split()).rstrip(".")
        return line if len(line) <= 300 else f"{line[:300]}…"

    def _explain(self, refusal: Refusal) -> LLMError:
        status, detail = refusal.status, f": {refusal.detail}" if refusal.detail else ""
        if status in (401, 403) or refusal.code in ("invalid_api_key", "authentication_error"):
            what = "does not accept the key" if self._key else "requires a key"
            return LLMAuthError(
                f"{self.name} at {self.place} {what}.",
                hint="Enter the key again in Settings, and check that it is still valid.",
            )
        if is_about_context(refusal):
            return ContextWindowError(
                "The question and its passages are longer than the model can read at once.",
                hint="Lower the context window in Settings to what the model has, or use fewer passages."
                + (f" The server says{detail}." if detail else ""),
            )
        if status == 429:
            return self._too_many(refusal)
        if 300 <= status < 400:
            return self.wrong_server(refusal.location)
        if status in (404, 405) or (refusal.is_page and status < 500):
            return self.wrong_server()
        if status >= 500:
            return LLMServerError(
                f"{self.name} at {self.place} reported an internal error{detail or f' (status {status})'}.",
                hint="Ask again in a moment. If the problem remains, check the server's log.",
            )
        return final(
            LLMServerError(
                f"{self.name} at {self.place} refused the request{detail or f' (status {status})'}.",
                hint="Check the model and its settings.",
            )
        )

    def _too_many(self, refusal: Refusal) -> RateLimitError:
        if refusal.code == "insufficient_quota":
            return final(
                RateLimitError(
                    f"{self.name} says that this key has no credit left.",
                    hint="Add credit to the account, or use another key.",
                )
            )
        hint = "Wait a minute and ask again."
        if refusal.retry_after is not None:
            hint = f"It asks to wait {refusal.retry_after:.0f} seconds."
        return RateLimitError(f"{self.name} at {self.place} is getting too many requests.", hint=hint)

    def _explain_transport(self, error: httpx.HTTPError, silence: float) -> LLMError:
        if isinstance(error, httpx.ConnectTimeout):
            return LLMUnavailableError(
                f"{self.name} did not answer at {self.place} within {CONNECT_TIMEOUT:.0f} seconds.",
                hint="Check the address in Settings; a firewall may be in the way.",
            )
        if isinstance(error, httpx.TimeoutException):
            return LLMTimeoutError(
                f"{self.name} at {self.place} has not responded for {silence:.3g} seconds.",
                hint="The model may still be loading, or be too large for the computer it runs on. "
                "Ask again, choose a smaller model, or raise the timeout in Settings.",
            )
        if isinstance(error, httpx.ConnectError | httpx.ProxyError | httpx.UnsupportedProtocol):
            return self._unavailable(error)
        # it does not speak HTTP at all
        if isinstance(error, httpx.RemoteProtocolError) and "illegal" in str(error):
            return self.wrong_server()
        if isinstance(error, httpx.DecodingError):
            return self.unreadable()
        return LLMProtocolError(
            f"{self.name} at {self.place} closed the connection.",
            hint="Ask again. If the problem remains, check the server's log.",
        )

    def _unavailable(self, error: httpx.HTTPError) -> LLMUnavailableError:
        causes = list(_causes(error))
        if any(isinstance(cause, ssl.SSLError) for cause in causes):
            return final(
                LLMUnavailableError(
                    f"There is no secure connection to {self.place}.",
                    hint="A server on this machine or network usually needs an address that begins with "
                    "http://, not https://. Otherwise this computer does not trust its certificate.",
                )
            )
        if any(isinstance(cause, socket.gaierror) for cause in causes):
            return LLMUnavailableError(
                f"No computer called {self.place} can be found.",
                hint="Check the spelling of the address in Settings, and the network connection.",
            )
        return LLMUnavailableError(f"{self.name} is not answering at {self.place}.", hint=self._down_hint)


def objects(value: object) -> list[dict[str, Any]]:
    """The JSON objects in a list; other items and other values are ignored."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def events(lines: Iterable[str]) -> Iterator[str]:
    """The data of each server-sent event (https://html.spec.whatwg.org/multipage/server-sent-events.html).

    Comments and other fields are skipped. The last event may be incomplete. Lines outside the format are
    data, too, so that a server may answer with a plain JSON object.
    """
    data: list[str] = []
    for line in lines:
        name, colon, value = line.partition(":")
        if not line:
            if data:
                yield "\n".join(data)
            data = []
        elif name == "data":
            data.append(value.removeprefix(" "))
        elif not (name in ("", "event", "id", "retry") and colon):
            yield line
    if data:
        yield "\n".join(data)


def mark_end(lines: Generator[str, bool | None, None]) -> None:
    """Tell `ModelServer.lines` that its last line was the last of the answer, whatever follows."""
    with suppress(StopIteration):
        lines.send(True)


def _drain(lines: Iterator[str], response: httpx.Response) -> None:
    """Read the rest, so that the connection can be used again; close it if the server does not end soon."""
    connection = response.extensions["network_stream"].get_extra_info("socket")
    cut = threading.Timer(AFTERMATH, hang_up, (connection,))
    cut.daemon = True
    cut.start()
    try:
        with suppress(httpx.HTTPError):
            for _ in lines:
                pass
    finally:
        cut.cancel()


def _lines(response: httpx.Response) -> Iterator[str]:
    # Not response.iter_lines(): it also splits at U+2028 and similar, which may be inside a JSON string.
    rest = b""
    for chunk in response.iter_bytes():
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            yield _text(line.removesuffix(b"\r"))
        if len(rest) > MAX_LINE:
            raise httpx.DecodingError("a line without end", request=response.request)
    if rest:
        yield _text(rest)


def _body(response: httpx.Response) -> bytes:
    body = b""
    for chunk in response.iter_bytes():
        body += chunk
        if len(body) > MAX_BODY:
            raise httpx.DecodingError("a body without end", request=response.request)
    return body


def _text(data: bytes) -> str:
    # Invalid bytes become characters that are invalid JSON outside of strings, and visible inside.
    return data.decode("utf-8", "replace")


def _is_page(response: httpx.Response) -> bool:
    kind: str = response.headers.get("content-type", "").lower()
    return kind.startswith(PAGES)


def _checked_key(key: str) -> str:
    bare = key.strip()
    if not (bare.isascii() and bare.isprintable()) or " " in bare:
        raise ConfigError(
            "The key contains characters that no key has.",
            hint="Copy it again; something else may have been copied.",
        )
    return bare


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__ or seen.__context__
