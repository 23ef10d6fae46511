"""Connections to a server that closes them when it likes, and the end of a call from another thread."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress

import httpx
import pytest

from ragcore.llms.connections import Connections

REPLY = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@contextmanager
def serving(*answered: int, silent: float = 0.0) -> Iterator[str]:
    """A server that answers so many requests on each connection; the next one it reads, and closes the
    connection after so many seconds."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            for requests in answered:
                with suppress(OSError), listening.accept()[0] as connection:
                    for _ in range(requests):
                        connection.recv(65536)
                        connection.sendall(REPLY)
                    connection.recv(65536)
                    time.sleep(silent)

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


@pytest.fixture
def connections() -> Iterator[Connections]:
    with closing(Connections({}, httpx.Timeout(10), secure=False, trust_env=False)) as connections:
        yield connections


def reply(connections: Connections, url: str, *, hung_up_after: float | None = None) -> bytes:
    with connections.borrow() as connection:
        if hung_up_after is not None:
            threading.Timer(hung_up_after, connection.hang_up).start()
        with connection.send("GET", url, None, 10) as response:
            return response.read()


def test_a_connection_that_was_closed_meanwhile_is_opened_again(connections: Connections) -> None:
    with serving(1, 1) as url:
        assert reply(connections, url) == b"ok"
        assert reply(connections, url) == b"ok"


def test_a_new_connection_that_is_closed_without_an_answer_fails(connections: Connections) -> None:
    with serving(0, 1) as url, pytest.raises(httpx.RemoteProtocolError):
        reply(connections, url)


def test_a_call_that_was_hung_up_is_not_sent_again(connections: Connections) -> None:
    with serving(1, 1, silent=0.5) as url:
        assert reply(connections, url) == b"ok"
        with pytest.raises(httpx.HTTPError):
            reply(connections, url, hung_up_after=0.1)
