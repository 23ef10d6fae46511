"""Connections to one server, each used by one call at a time, so that the call can be ended from another thread at any moment:
also while the server is still silent."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cached_property, partial
from typing import Any

import httpx


class Connections:
    """Several threads may use it at once. `headers` go with each request; with `trust_env` the environment's proxies count."""

    def __init__(self, headers: dict[str, str], timeout: httpx.Timeout, *, secure: bool, trust_env: bool) -> None:
        self._headers = headers
        self._timeout = timeout
        self._secure = secure
        self._trust_env = trust_env
        self._lock = threading.Lock()
        self._idle: list[Connection] = []

    @contextmanager
    def borrow(self) -> Iterator[Connection]:
        """One that nobody else uses meanwhile, the last used first."""
        with self._lock:
            connection = self._idle.pop() if self._idle else None
        connection = connection or Connection(
            httpx.Client(headers=self._headers, timeout=self._timeout, trust_env=self._trust_env, verify=self._certificates)
        )
        connection.hung_up = False
        try:
            yield connection
        finally:
            with self._lock:
                self._idle.append(connection)

    def close(self) -> None:
        """Those that are in use end with their calls."""
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
        self._stream: Any = None  # httpcore's, of the connection that was opened last

    @contextmanager
    def send(self, method: str, url: str, body: dict[str, Any] | None, silence: float) -> Iterator[httpx.Response]:
        """`silence`: seconds that the server may say nothing.

        If the server closes a connection that was already open without an answer, the request is sent once more on a new one.
        """
        timeout = httpx.Timeout(silence, connect=self.client.timeout.connect)
        request = partial(self.client.stream, method, url, json=body, timeout=timeout, extensions={"trace": self._traced})
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
        """From any thread: whoever waits for the server hears at once that it is gone."""
        self.hung_up = True
        if self._stream is not None:
            hang_up(self._stream.get_extra_info("socket"))

    def _traced(self, event: str, info: dict[str, Any]) -> None:
        opened = info.get("return_value")
        if event.endswith(("connect_tcp.complete", "start_tls.complete")) and opened is not None:
            self._stream = opened


def hang_up(connection: socket.socket) -> None:
    with suppress(OSError):
        socket.socket.shutdown(connection, socket.SHUT_RDWR)  # that of TLS would leave a read that waits waiting
