"""Lets in only browsers that came with the token once, and have its cookie since."""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable
from functools import cache
from html import escape
from urllib.parse import parse_qsl, quote, urlencode

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from lectern import access
from lectern.settings import default_folder
from lectern.ui.i18n import answer_in, preferred_language, translate
from lectern.ui.server.security import host_and_port, is_encrypted, refusal

PARAMETER = "token"
OPEN = ("/_stcore/health",)  # says "ok", for whoever watches over the server
COOKIE_SECONDS = 365 * 24 * 3600


def stored_token() -> str | None:
    """That of the library which is served; None where the environment says that none is needed."""
    return access.access_token(default_folder()) if access.needs_token() else None


class Access:
    """Refuses every request without the cookie, on every route and the websocket. The token in an address is exchanged for the
    cookie, and then the address is opened without it."""

    def __init__(self, app: ASGIApp, token: Callable[[], str | None] = stored_token) -> None:
        self.app = app
        self._token = cache(token)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        token = self._token()
        if token is None or (scope["type"] == "http" and scope["path"] in OPEN):
            await self.app(scope, receive, send)
            return
        has_cookie = _has_cookie(scope, access.cookie_value(token))
        if scope["type"] == "websocket":
            if has_cookie:
                await self.app(scope, receive, send)
            else:
                await send({"type": "websocket.close", "code": 1008, "reason": "no access"})
            return
        answer = _answer(scope, token, has_cookie=has_cookie)
        await (answer or self.app)(scope, receive, send)


def _answer(scope: Scope, token: str, *, has_cookie: bool) -> Response | None:
    """What is sent in place of what was asked for; None where that may be sent."""
    query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    tokens = [value for name, value in query if name == PARAMETER]
    if tokens and scope["method"] in ("GET", "HEAD"):
        is_right = hmac.compare_digest(tokens[0].encode(), token.encode())
        if is_right or has_cookie:
            page = _opens(scope, [(name, value) for name, value in query if name != PARAMETER])
            if is_right:
                _set_cookie(page, scope, token)
            return page
    if has_cookie:
        return None
    headers = Headers(scope=scope)
    if headers.get("sec-fetch-site") == "cross-site" and headers.get("sec-fetch-mode") == "navigate":
        return _opens(scope, query)  # a link on another site: the browser sends the cookie only where a page of ours asks
    return _refusal_page(scope, headers)


def _has_cookie(scope: Scope, value: str) -> bool:
    """Whether one of the request's cookies is right: a page on another port may have added others of the same name."""
    name = access.cookie_name(host_and_port(scope)[1])
    cookies = [pair.strip().partition("=") for line in Headers(scope=scope).getlist("cookie") for pair in line.split(";")]
    return any(hmac.compare_digest(each[2].encode(), value.encode()) for each in cookies if each[0] == name)


def _set_cookie(page: Response, scope: Scope, token: str) -> None:
    page.set_cookie(
        access.cookie_name(host_and_port(scope)[1]),
        access.cookie_value(token),
        max_age=COOKIE_SECONDS,
        httponly=True,
        samesite="strict",
        secure=is_encrypted(scope),
    )


def _opens(scope: Scope, query: list[tuple[str, str]]) -> Response:
    """A page that opens this path in its own place. A redirection would still count as the other site's request, which a
    browser sends without the cookie."""
    path = "/" + quote(re.sub(r"^[/\\]+", "", scope["path"]))  # no //host
    target = path + (f"?{urlencode(query)}" if query else "")
    page = f'<!doctype html><title>Lectern</title><meta http-equiv="refresh" content="0;url={escape(target)}">'
    return HTMLResponse(page, headers={"Cache-Control": "no-store"})


def _refusal_page(scope: Scope, headers: Headers) -> Response:
    answer_in(preferred_language(headers.get("accept-language", "")))
    what = "This browser does not have access yet."
    hint = "Open the address that Lectern printed in the terminal when it was started. It ends with a token."
    if "text/html" not in headers.get("accept", ""):
        return refusal(403, what, hint)
    page = (
        f'<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f'<meta name="color-scheme" content="light dark"><title>Lectern</title>'
        f'<body style="font:16px/1.6 sans-serif;max-width:36rem;margin:20vh auto;padding:0 1.25rem">'
        f"<h1>{escape(translate(what))}</h1><p>{escape(translate(hint))}</p>"
    )
    return HTMLResponse(page, status_code=403, headers={"Cache-Control": "no-store"})
