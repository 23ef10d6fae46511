"""Drops connections whose request header does not arrive, or has no end. uvicorn waits forever, and each
takes a file descriptor and memory."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.config import HTTP_PROTOCOLS
from uvicorn.protocols.http import auto

HEADER_SECONDS = (
    10.0  # from the connection's start, or from the first byte of a later header, to the header's end
)
HEADER_BYTES = 65_536  # most of a header
TOO_LONG = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n"
    b"The header of this request is too long."
)


def install() -> None:
    """Makes uvicorn's servers in this process, from now on, drop such connections."""
    HTTP_PROTOCOLS["auto"] = f"{__name__}:HeaderDeadline"


class Deadline(asyncio.Protocol):
    """Comes before a protocol of uvicorn and closes a connection if a header takes longer than `seconds`, or
    is longer than HEADER_BYTES. Bodies and answers have no limit."""

    seconds = HEADER_SECONDS
    loop: asyncio.AbstractEventLoop
    transport: asyncio.Transport
    cycle: Any  # uvicorn's request and response; a new one begins when a header is complete
    reports_bodies = False  # whether the protocol calls `on_body`
    _deadline: asyncio.TimerHandle | None = None
    _header_bytes = 0  # of the header that is coming, or of what comes with a body and is none

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._start()

    def data_received(self, data: bytes) -> None:
        before = self.cycle
        if before is None or (before.response_complete and not before.more_body):
            self._start()
        self._header_bytes += len(data)
        super().data_received(data)
        # or a websocket has replaced the protocol
        if self.cycle is not before or self.transport.get_protocol() is not self:
            self._cancel()
            self._header_bytes = 0
        elif self._header_bytes > HEADER_BYTES and (self._deadline is not None or self.reports_bodies):
            if self._deadline is not None:
                self.transport.write(TOO_LONG)
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel()
        super().connection_lost(exc)

    def _start(self) -> None:
        if self._deadline is None:
            self._header_bytes = 0
            self._deadline = self.loop.call_later(self.seconds, self.transport.abort)

    def _cancel(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


class HeaderDeadline(Deadline, auto.AutoHTTPProtocol):  # type: ignore[valid-type, misc]  # of the parser that is installed
    """uvicorn's connection, with a deadline for headers. h11 limits what is between and after the chunks of a
    body; httptools does not."""

    reports_bodies = hasattr(auto.AutoHTTPProtocol, "on_body")

    def on_body(self, body: bytes) -> None:
        self._header_bytes = 0
        super().on_body(body)
