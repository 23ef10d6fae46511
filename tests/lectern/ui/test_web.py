from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.types import Message, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from lectern.ui.web import NAME_CHARS, ClosedTabs, image_type, known_host, safe_name, security_headers, ticket, valid_ticket

SECRET = b"known to all servers of the library"


def test_a_ticket_is_good_for_a_day_and_cannot_be_made_up() -> None:
    now = 1_800_000_123.0
    good = ticket(SECRET, now)
    assert valid_ticket(SECRET, good, now)
    assert valid_ticket(SECRET, good, now + 23 * 3600)
    assert not valid_ticket(SECRET, good, now + 25 * 3600)
    assert not valid_ticket(SECRET, good, now - 3600)
    hour, _, signature = good.partition(".")
    assert not valid_ticket(SECRET, f"{int(hour) + 1}.{signature}", now + 3600)
    assert not valid_ticket(b"another", good, now)
    assert not valid_ticket(SECRET, good[:-1] + ("0" if good[-1] != "0" else "1"), now)


@given(st.text())
def test_no_text_is_a_ticket(text: str) -> None:
    assert not valid_ticket(SECRET, text)


@given(st.text())
def test_a_name_is_one_part_of_a_path_that_can_be_shown(name: str) -> None:
    made = safe_name(name)
    assert made
    assert len(made) <= NAME_CHARS
    assert made.isprintable()
    assert not set(made) & {"/", "\\"}
    assert not made.startswith(".")


@pytest.mark.parametrize(
    ("given_name", "expected"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\docs\\Report.pdf", "Report.pdf"),
        ("..", "unnamed"),
        ("", "unnamed"),
        ("a\nb\x00c.txt", "a b c.txt"),
        ("x" * 300 + ".pdf", "x" * 176 + ".pdf"),
        ("Übung 3 – наука.md", "Übung 3 – наука.md"),
    ],
)
def test_names_of_uploads(given_name: str, expected: str) -> None:
    assert safe_name(given_name) == expected


@pytest.mark.parametrize("host", ["localhost", "localhost:8501", "127.0.0.1:80", "[::1]:8501", "[::1]"])
def test_the_servers_own_names_are_known(host: str) -> None:
    assert known_host(host)


@pytest.mark.parametrize("host", ["", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example:8501", "[::2]:8501"])
def test_other_names_are_not(host: str) -> None:
    assert not known_host(host)


async def screen(scope: Scope, receive: Receive, send: Send) -> None:
    """Sends something, and listens, whether or not it came."""
    socket = WebSocket(scope, receive, send)
    await socket.accept()
    with suppress(WebSocketDisconnect):
        await socket.send_bytes(b"drawn")
    try:
        await socket.receive_bytes()
    finally:
        await socket.close()


def connect(*received: Message, closed: bool) -> list[str]:
    """The kinds of what is sent to a tab that says so; when it is `closed`, only that it is connected."""
    said, sent = list(received), []

    async def receive() -> Message:
        return said.pop(0)

    async def send(message: Message) -> None:
        if closed and sent:
            raise OSError
        sent.append(message["type"])

    asyncio.run(ClosedTabs(screen)({"type": "websocket"}, receive, send))
    return sent


def test_a_tab_that_is_closed_while_its_screen_is_sent_is_no_failure() -> None:
    assert connect({"type": "websocket.connect"}, closed=True) == ["websocket.accept"]


def test_what_else_fails_between_a_tab_and_the_server_is_not_hidden() -> None:
    whole = ["websocket.accept", "websocket.send", "websocket.close"]
    assert connect({"type": "websocket.connect"}, {"type": "websocket.receive", "bytes": b"more"}, closed=False) == whole
    with pytest.raises(RuntimeError, match=r"websocket\.receive"):
        connect({"type": "websocket.connect"}, {"type": "websocket.nonsense"}, closed=False)


def test_scripts_run_by_hash_and_never_inline() -> None:
    policy = security_headers()["Content-Security-Policy"]
    assert "'unsafe-inline'" not in policy.split("script-src")[1].split(";")[0]
    assert "'sha256-" in policy
    assert "http" not in policy


def test_kinds_of_images_are_told_by_their_first_bytes() -> None:
    assert image_type(b"RIFF\x00\x00\x00\x00WEBPVP8 ") == "image/webp"
    assert image_type(b"\x89PNG\r\n\x1a\n") == "image/png"
    assert image_type(b"\xff\xd8\xff\xe0") == "image/jpeg"
