"""Connections to one server, each used by one call at a time, so that another thread can end the call at any
moment, even while the server is silent."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cached_property, partial
from typing import Any

import httpx


class Connections:
    """Threads may share it. Every request has `headers`; `trust_env` uses the proxies of the environment."""

    def __init__(
        self, headers: dict[str, str], timeout: httpx.Timeout, *, secure: bool, trust_env: bool
    ) -> None:
        self._headers = headers
        self._timeout = timeout
        self._secure = secure
        self._trust_env = trust_env
        self._lock = threading.Lock()
        self._idle: list[Connection] = []

    @contextmanager
    def borrow(self) -> Iterator[Connection]:
        """An exclusive connection, the last used first."""
        with self._lock:
            connection = self._idle.pop() if self._idle else None
        connection = connection or Connection(
            httpx.Client(
                headers=self._headers,
                timeout=self._timeout,
                trust_env=self._trust_env,
                verify=self._certificates,
            )
        )
        connection.hung_up = False
        try:
            yield connection
        finally:
            with self._lock:
                self._idle.append(connection)

    def close(self) -> None:
        """Connections in use end with their calls."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.client.close()

    @cached_property
    def _certificates(self) -> Any:
        return httpx.create_ssl_context(trust_env=self._trust_env) if self._secure else False


class Connection:
    def __init__(self, client: httpx.Client) -> None:
        self.client = client
        self.hung_up = False
        self._stream: Any = None  # httpcore's stream of the connection opened last

    @contextmanager
    def send(
        self, method: str, url: str, body: dict[str, Any] | None, silence: float
    ) -> Iterator[httpx.Response]:
        """`silence`: seconds without a sign of life.

        If the server closes an idle connection without an answer, the request is sent once more on a new one.
        """
        timeout = httpx.Timeout(silence, connect=self.client.timeout.connect)
        request = partial(
            self.client.stream, method, url, json=body, timeout=timeout, extensions={"trace": self._on_trace}
        )
        before = self._stream
        with ExitStack() as stack:
            try:
                response = stack.enter_context(request())
            except (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError):
                if self.hung_up or before is None or self._stream is not before:
                    raise
                response = stack.enter_context(request())
            yield response

    def hang_up(self) -> None:
        """From any thread: a call that waits for the server fails at once."""
        self.hung_up = True
        if self._stream is not None:
            hang_up(self._stream.get_extra_info("socket"))

    def _on_trace(self, event: str, info: dict[str, Any]) -> None:
        opened = info.get("return_value")
        if event.endswith(("connect_tcp.complete", "start_tls.complete")) and opened is not None:
            self._stream = opened


def hang_up(connection: socket.socket) -> None:
    with suppress(OSError):
        # shutdown() of a TLS socket would not wake a waiting read
        socket.socket.shutdown(connection, socket.SHUT_RDWR)
