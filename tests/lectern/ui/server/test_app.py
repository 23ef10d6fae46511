from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest
from starlette.types import Message, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from lectern.ui.server.app import ClosedTabs


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


def test_tab_closed_while_its_screen_is_sent_is_no_failure() -> None:
    assert connect({"type": "websocket.connect"}, closed=True) == ["websocket.accept"]


def test_other_failures_between_tab_and_server_are_not_hidden() -> None:
    whole = ["websocket.accept", "websocket.send", "websocket.close"]
    assert (
        connect({"type": "websocket.connect"}, {"type": "websocket.receive", "bytes": b"more"}, closed=False)
        == whole
    )
    with pytest.raises(RuntimeError, match=r"websocket\.receive"):
        connect({"type": "websocket.connect"}, {"type": "websocket.nonsense"}, closed=False)
