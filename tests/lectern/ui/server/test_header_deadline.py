"""Connections to a server of uvicorn's, with each parser that it may have, on which a header comes slowly or
never."""

from __future__ import annotations

import asyncio
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
import uvicorn
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol
from websockets.sync.client import connect

from lectern.ui.server.header_deadline import Deadline, HeaderDeadline, install

SECONDS = 0.5
HEADER = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\n"


class WithH11(Deadline, H11Protocol):
    seconds = SECONDS


class WithInstalled(HeaderDeadline):
    seconds = SECONDS


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers slowly."""
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.accept"})
        await asyncio.sleep(2 * SECONDS)
        await send({"type": "websocket.send", "text": "still here"})
        return
    if scope["path"] == "/refused":
        await PlainTextResponse("too much", status_code=413)(scope, receive, send)
        return
    body = await Request(scope, receive).body()
    await asyncio.sleep(2 * SECONDS)
    await PlainTextResponse(f"{len(body)} bytes")(scope, receive, send)


@pytest.fixture(scope="module", params=[WithH11, WithInstalled])
def port(request: pytest.FixtureRequest) -> Iterator[int]:
    with serving(request.param) as port:
        yield port


@contextmanager
def serving(protocol: type[Deadline]) -> Iterator[int]:
    """The port of a server with this protocol."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        config = uvicorn.Config(
            application, http=protocol, ws="websockets-sansio", lifespan="off", log_level="critical"
        )
        server = uvicorn.Server(config)
        running = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        running.start()
        yield listening.getsockname()[1]
        server.should_exit = True
        running.join()


def seconds_open(connection: socket.socket, drip: bytes = b"") -> float:
    """How long the server keeps it, while a byte of `drip` comes now and then."""
    began = time.monotonic()
    connection.settimeout(SECONDS / 10)
    while (passed := time.monotonic() - began) < 6 * SECONDS:
        try:
            if connection.recv(1000) == b"":
                return passed
        except TimeoutError:
            pass
        except ConnectionResetError:
            return passed
        try:
            connection.sendall(drip[:1])
        except OSError:
            return time.monotonic() - began
        drip = drip[1:]
    return passed


@pytest.mark.parametrize(
    ("first", "drip"),
    [
        (b"", b""),
        (b"GET / HTTP/1.1\r\n", b""),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ", b"a" * 100),
        (b"", b"\r\n" * 50),
        (b"", b"GET /" + b"a" * 100),
    ],
)
def test_a_header_that_does_not_come_is_not_waited_for(port: int, first: bytes, drip: bytes) -> None:
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(first)
        assert seconds_open(connection, drip) < 3 * SECONDS


@pytest.mark.parametrize("drip", [b"GET /" + b"a" * 100, b"\r\n" * 50])
def test_nor_is_a_second_one_on_the_same_connection(port: int, drip: bytes) -> None:
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(HEADER + b"abc")
        assert answer(connection).endswith(b"3 bytes")
        assert seconds_open(connection, drip) < 3 * SECONDS


@pytest.mark.parametrize("patient", [WithH11, WithInstalled])
@pytest.mark.parametrize("start", [b"GET /", b"GET / HTTP/1.1\r\nX-Long: ", b"GET / HTTP/1.1\r\n"])
@pytest.mark.parametrize("more", [b"a" * 50_000, b"X-More: a\r\n" * 5000])
def test_header_without_end_is_refused_before_it_fills_memory(
    patient: type[Deadline], start: bytes, more: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patient, "seconds", 600.0)
    with serving(patient) as port, socket.create_connection(("127.0.0.1", port)) as connection:
        connection.settimeout(20)
        reply = b""
        with suppress(ConnectionResetError, BrokenPipeError):
            connection.sendall(start)
            for _ in range(5):
                connection.sendall(more)
            while data := connection.recv(1000):
                reply += data
        assert re.fullmatch(rb"|HTTP/1.1 4\d\d .*\.", reply, re.DOTALL)


@pytest.mark.parametrize("patient", [WithH11, WithInstalled])
@pytest.mark.parametrize("start", [b"0\r\n", b"0\r\nX-Long: ", b"5;"])
@pytest.mark.parametrize("more", [b"a" * 50_000, b"X-More: a\r\n" * 5000])
def test_what_follows_a_chunk_of_a_body_has_an_end(
    patient: type[Deadline], start: bytes, more: bytes
) -> None:
    chunked = b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"
    with serving(patient) as port, socket.create_connection(("127.0.0.1", port)) as connection:
        connection.settimeout(20)
        connection.sendall(chunked + start)
        with pytest.raises((ConnectionResetError, BrokenPipeError)):
            connection.sendall(more * 1000)


def test_long_body_in_chunks_is_received(port: int) -> None:
    chunked = b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(chunked + b"186A0\r\n")  # 100,000 bytes
        for _ in range(10):
            connection.sendall(b"a" * 10_000)
            time.sleep(0.01)
        connection.sendall(b"\r\n0\r\n\r\n")
        assert answer(connection).endswith(b"100000 bytes")


def test_a_body_an_answer_and_a_second_request_may_take_longer(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port)) as connection:
        for _ in range(2):
            connection.sendall(HEADER)
            for piece in (b"a", b"b", b"c"):
                time.sleep(0.6 * SECONDS)
                connection.sendall(piece)
            assert answer(connection).endswith(b"3 bytes")


def answer(connection: socket.socket, end: bytes = b"bytes") -> bytes:
    connection.settimeout(10)
    received = b""
    while not received.endswith(end):
        received += connection.recv(1000)
    return received


def test_a_body_that_was_refused_may_still_come(port: int) -> None:
    head = b"POST /refused HTTP/1.1\r\nHost: localhost\r\nContent-Length: 6\r\n\r\n"
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(head + b"ab")
        assert b"413" in answer(connection, b"too much")
        connection.sendall(b"cd")
        time.sleep(2 * SECONDS)
        connection.sendall(b"ef" + b"GET /refused HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b"413" in answer(connection, b"too much")


def test_a_websocket_stays_open(port: int) -> None:
    with connect(f"ws://127.0.0.1:{port}") as websocket:
        assert websocket.recv(timeout=10) == "still here"


def test_servers_that_uvicorn_starts_have_the_deadline() -> None:
    install()
    config = uvicorn.Config(application)
    config.load()
    assert config.http_protocol_class is HeaderDeadline
