"""Lets in only browsers with the access cookie, which they get for the token in the address."""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable
from functools import cache
from html import escape
from urllib.parse import quote, unquote_plus

import streamlit as st
from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from lectern import access
from lectern.settings import default_folder
from lectern.ui.i18n import preferred_language, set_request_language, translate
from lectern.ui.server.security import host_and_port, is_encrypted, refusal

PARAMETER = "token"
TOKEN = "lectern.token"  # in the scope of a request: the token of its address
PATHS_WITHOUT_ACCESS = ("/_stcore/health",)  # for monitoring
COOKIE_SECONDS = 365 * 24 * 3600


def stored_token() -> str | None:
    """The token of the served library; None if the environment turns access control off."""
    return access.access_token(default_folder()) if access.needs_token() else None


class HiddenToken:
    """Moves the token from the query of an address, which servers write to their logs, to
    `scope["lectern.token"]`."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket"):
            others = []
            for part in scope["query_string"].decode("latin-1").split("&"):
                name, _equals, value = part.partition("=")
                if unquote_plus(name) == PARAMETER:
                    scope.setdefault(TOKEN, unquote_plus(value))
                else:
                    others.append(part)
            scope["query_string"] = "&".join(others).encode("latin-1")
        await self.app(scope, receive, send)


class Access:
    """Refuses every request and websocket without the cookie. An address with the token sets the cookie and
    then opens without the token. `HiddenToken` comes before it.

    A name of this computer, such as localhost, leads on to its number: another account may listen where a
    browser looks first for the name, and it would receive the cookie of that name. So no such cookie is
    given, and none lets in.
    """

    def __init__(self, app: ASGIApp, token: Callable[[], str | None] = stored_token) -> None:
        self.app = app
        self._token = cache(token)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        token = self._token() if scope["type"] in ("http", "websocket") else None
        if token is None or (scope["type"] == "http" and scope["path"] in PATHS_WITHOUT_ACCESS):
            await self.app(scope, receive, send)
            return
        host, port = host_and_port(scope)
        is_local_name = host == "localhost" or host.endswith(".localhost")
        has_cookie = not is_local_name and _has_cookie(scope, access.cookie_value(token))
        if scope["type"] == "websocket":
            if has_cookie:
                await self.app(scope, receive, send)
            else:
                await send({"type": "websocket.close", "code": 1008, "reason": "no access"})
            return
        if is_local_name:
            number = "[::1]" if ":" in (st.get_option("server.address") or "") else "127.0.0.1"
            response: Response | None = _redirect(scope, f"{number}:{port}")
        else:
            response = _access_response(scope, token, has_cookie=has_cookie)
        await (response or self.app)(scope, receive, send)


def _access_response(scope: Scope, token: str, *, has_cookie: bool) -> Response | None:
    """The response instead of the requested one; None to let the request through."""
    sent = scope.get(TOKEN)
    if sent is not None and scope["method"] in ("GET", "HEAD"):
        is_right = hmac.compare_digest(sent.encode(), token.encode())
        if is_right or has_cookie:
            page = _open_again(scope)
            if is_right:
                _set_cookie(page, scope, token)
            return page
    if has_cookie:
        return None
    headers = Headers(scope=scope)
    if headers.get("sec-fetch-site") == "cross-site" and headers.get("sec-fetch-mode") == "navigate":
        # a link on another site: the browser sends the cookie only for our own pages
        return _open_again(scope)
    return _refusal_page(scope, headers)


def _has_cookie(scope: Scope, value: str) -> bool:
    """Whether any cookie is right: a page on another port can add cookies of the same name."""
    name = access.cookie_name(host_and_port(scope)[1])
    cookies = [
        pair.strip().partition("=")
        for line in Headers(scope=scope).getlist("cookie")
        for pair in line.split(";")
    ]
    return any(
        hmac.compare_digest(sent.encode(), value.encode())
        for name_, _equals, sent in cookies
        if name_ == name
    )


def _set_cookie(page: Response, scope: Scope, token: str) -> None:
    page.set_cookie(
        access.cookie_name(host_and_port(scope)[1]),
        access.cookie_value(token),
        max_age=COOKIE_SECONDS,
        httponly=True,
        samesite="strict",
        secure=is_encrypted(scope),
    )


def _open_again(scope: Scope) -> Response:
    """A page that opens this path again. A redirect would still count as the other site's request, without
    the cookie."""
    page = (
        '<!doctype html><title>Lectern</title><meta http-equiv="refresh" '
        f'content="0;url={escape(_path_and_query(scope))}">'
    )
    return HTMLResponse(page, headers={"Cache-Control": "no-store"})


def _redirect(scope: Scope, host: str) -> Response:
    """To this path of another host, without the token."""
    scheme = "https" if is_encrypted(scope) else "http"
    return RedirectResponse(
        f"{scheme}://{host}{_path_and_query(scope)}", 307, headers={"Cache-Control": "no-store"}
    )


def _path_and_query(scope: Scope) -> str:
    path = "/" + quote(re.sub(r"^[/\\]+", "", scope["path"]))  # no //host
    query = scope["query_string"].decode("latin-1")
    return f"{path}?{query}" if query else path


def _refusal_page(scope: Scope, headers: Headers) -> Response:
    set_request_language(preferred_language(headers.get("accept-language", "")))
    what = "This browser does not have access yet."
    hint = "Open the address that Lectern printed in the terminal when it was started. It ends with a token."
    in_background = (
        "If it was started without a terminal, add /?token= and what is in the file “token” in the library’s "
        "folder to the address."
    )
    if "text/html" not in headers.get("accept", ""):
        return refusal(403, what, hint)
    page = (
        f'<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f'<meta name="color-scheme" content="light dark"><title>Lectern</title>'
        f'<body style="font:16px/1.6 sans-serif;max-width:36rem;margin:20vh auto;padding:0 1.25rem">'
        f"<h1>{escape(translate(what))}</h1><p>{escape(translate(hint))}</p>"
        f"<p>{escape(translate(in_background))}</p>"
    )
    return HTMLResponse(page, status_code=403, headers={"Cache-Control": "no-store"})
