"""Which requests are allowed, what a page may load, and the ticket for uploads."""

from __future__ import annotations

import hashlib
import hmac
import re
import time
from base64 import b64encode
from functools import cache

import anyio
import streamlit as st
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lectern.indexes import MAIN
from lectern.library import Library
from lectern.ui import resources
from lectern.ui.i18n import translate
from lectern.ui.server.first_frame import page
from lectern.ui.state import session
from ragcore.errors import InputError, RagError

TICKET_SECONDS = 24 * 3600
LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")
MAX_PATH_BYTES = 255  # as in the name of a file


class KnownHosts:
    """Answers only requests to this server's own names. This prevents DNS rebinding, where another
    site points its own name to this computer."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket") and not known_host(Headers(scope=scope).get("host", "")):
            await _refuse(421, "This server does not answer to that name.", scope, receive, send)
            return
        await self.app(scope, receive, send)


class SameOrigin:
    """Answers only its own pages, and programs. Pages on other ports of this computer are foreign too:
    Streamlit's own check accepts any port of localhost.

    A browser sends Origin with every websocket, every request that changes something, and every script's
    request to another site. A request without it is from a program, or opens an address or a picture of this
    same page. "null" is a page without an origin, such as a file or a sandboxed frame.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket") and not is_own_origin(scope):
            await _refuse(403, "Pages from other addresses are not allowed to do this.", scope, receive, send)
            return
        await self.app(scope, receive, send)


def is_own_origin(scope: Scope) -> bool:
    """Whether a request's Origin has the scheme, host and port of the request, or is in
    `server.corsAllowedOrigins`. Without an Origin, Sec-Fetch-Site decides."""
    headers = Headers(scope=scope)
    origins = headers.getlist("origin")
    if not origins:
        is_safe = scope["type"] == "http" and scope["method"] in ("GET", "HEAD")
        return is_safe or headers.get("sec-fetch-site", "none") in ("same-origin", "none")
    if len(origins) > 1:
        return False
    if origins[0] in st.get_option("server.corsAllowedOrigins"):
        return True
    scheme, separator, host = origins[0].partition("://")
    own = ("https" if is_encrypted(scope) else "http", *host_and_port(scope))
    return bool(separator) and (scheme.lower(), *_split_host(host, scheme.lower() == "https")) == own


def is_encrypted(scope: Scope) -> bool:
    """From the connection, or from a proxy in FORWARDED_ALLOW_IPS."""
    return scope.get("scheme") in ("https", "wss")


def host_and_port(scope: Scope) -> tuple[str, int]:
    """From the Host header; port 0 if it is malformed."""
    return _split_host(Headers(scope=scope).get("host", ""), is_encrypted(scope))


def _split_host(text: str, encrypted: bool) -> tuple[str, int]:
    match = re.fullmatch(r"(\[[0-9A-Fa-f:.]+\]|[^:/\\@?#\[\]]+)(?::(\d{1,5}))?", text, re.ASCII)
    if match is None:
        return text, 0
    return match[1].lower(), int(match[2] or (443 if encrypted else 80))


async def _refuse(status: int, text: str, scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008, "reason": "refused"})
    else:
        await PlainTextResponse(text, status_code=status)(scope, receive, send)


class ValidPaths:
    """Refuses paths that no file can have. Streamlit would look for such a file, and fail."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            path = str(scope["path"])
            if not path.isprintable() or len(path.encode()) > MAX_PATH_BYTES:
                await not_found(scope, receive, send)
                return
        await self.app(scope, receive, send)


async def not_found(scope: Scope, receive: Receive, send: Send) -> None:
    await refusal(404, "There is nothing at this address.", "Reload the page and try again.")(
        scope, receive, send
    )


def known_host(host: str) -> bool:
    """Whether a Host header names this server. The same list protects Streamlit's websocket."""
    name = host.rsplit("]", 1)[0].lstrip("[") if host.startswith("[") else host.split(":", 1)[0]
    allowed = [str(entry).strip("[]") for entry in st.get_option("server.allowedHosts") or LOCAL_HOSTS]
    return "*" in allowed or any(
        name == entry or (entry.startswith("*.") and name.endswith(entry[1:])) for entry in allowed
    )


class SecurityHeaders:
    """Lets a page run its own scripts and load from this server, and nothing else."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in security_headers().items():
                    headers[name] = value
            await send(message)

        await self.app(scope, receive, send_with_headers)


@cache
def security_headers() -> dict[str, str]:
    html = re.sub(r"<!--.*?-->", "", page(), flags=re.DOTALL)
    inline = re.findall(r"<script(?![^>]*\bsrc=)[^>]*>(.*?)</script>", html, re.DOTALL)
    hashes = " ".join(
        f"'sha256-{b64encode(hashlib.sha256(script.encode()).digest()).decode()}'" for script in inline
    )
    return {
        "Content-Security-Policy": (
            "default-src 'self'; object-src 'none'; base-uri 'self'; form-action 'self'; "
            "frame-ancestors 'self'; "
            f"script-src 'self' {hashes} 'wasm-unsafe-eval' blob:; worker-src 'self' blob:; style-src "
            "'self' 'unsafe-inline'; "
            "img-src 'self' data: blob:; media-src 'self' data: blob:; font-src 'self' data:; "
            "connect-src 'self' data: blob:; frame-src 'self' blob: data:"
        ),
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "SAMEORIGIN",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    }


def ticket(secret: bytes, now: float | None = None) -> str:
    """Allows a page of this library to upload. It is sent in a header, which another site cannot set."""
    hour = int((time.time() if now is None else now) // 3600)
    return f"{hour}.{_sign(secret, hour)}"


def valid_ticket(secret: bytes, sent: str, now: float | None = None) -> bool:
    hour, _dot, signature = sent.partition(".")
    if not (hour.isascii() and hour.isdigit() and len(hour) < 12):
        return False
    age = (time.time() if now is None else now) - int(hour) * 3600
    return 0 <= age < TICKET_SECONDS and hmac.compare_digest(
        signature.encode(), _sign(secret, int(hour)).encode()
    )


def page_ticket() -> str:
    """The ticket of the open index. It is not valid for others."""
    index = session().index
    return ticket(resources.get_index(index).library.secret) + ("" if index == MAIN else f"@{index}")


def _sign(secret: bytes, hour: int) -> str:
    return hmac.new(secret, f"upload {hour}".encode(), hashlib.sha256).hexdigest()


async def check_ticket(request: Request) -> Library | Response:
    """The library of the request's ticket, or an error response."""
    sent, _at, index = request.headers.get("x-lectern-ticket", "").partition("@")
    try:
        library = (await anyio.to_thread.run_sync(resources.get_index, index or MAIN)).library
        secret = await anyio.to_thread.run_sync(lambda: library.secret)
    except RagError as error:
        return refusal(404 if isinstance(error, InputError) else 503, error.what, error.hint)
    if valid_ticket(secret, sent):
        return library
    return refusal(403, "This page is out of date.", "Reload the page and try again.")


def refusal(status: int, what: str, hint: str) -> Response:
    return JSONResponse({"what": translate(what), "hint": translate(hint)}, status_code=status)
