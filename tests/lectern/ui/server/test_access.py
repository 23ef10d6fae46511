"""Who is let in, asked of the middleware that the application has, around a screen that answers everybody."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lectern.access import cookie_name, cookie_value
from lectern.ui.server import access
from lectern.ui.server.app import MIDDLEWARE
from lectern.ui.server.security import SameOrigin

TOKEN = "Zm9ydHktdGhyZWUgY2hhcmFjdGVycyBvZiBhIHRva2Vu"
COOKIE = f"{cookie_name(8501)}={cookie_value(TOKEN)}"


async def screen(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.accept"})
        return
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"the screen"})


def ask(
    app: ASGIApp,
    path: str = "/",
    *,
    kind: str = "http",
    method: str = "GET",
    scheme: str = "",
    **headers: str,
) -> tuple[int, dict[str, str], str]:
    """Status, headers and body; of a websocket 101 or 403, as the server answers."""
    sent: list[Message] = []
    before, _mark, query = path.partition("?")
    scope: dict[str, Any] = {
        "type": kind,
        "method": method,
        "path": before,
        "query_string": query.encode(),
        "scheme": scheme or ("ws" if kind == "websocket" else "http"),
        "headers": [
            (name.replace("_", "-").encode(), value.encode())
            for name, value in ({"host": "127.0.0.1:8501", "accept": "text/html"} | headers).items()
        ],
    }

    async def receive() -> Message:
        return {"type": "http.request"}

    async def send(message: Message) -> None:
        sent.append(message)

    async def answer() -> None:
        await app(scope, receive, send)

    asyncio.run(answer())
    if kind == "websocket":
        return {"websocket.accept": 101, "websocket.close": 403}[sent[0]["type"]], {}, ""
    names = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], names, b"".join(message.get("body", b"") for message in sent[1:]).decode()


@pytest.fixture
def door() -> ASGIApp:
    return access.HiddenToken(access.Access(screen, lambda: TOKEN))


PATHS = [
    "/",
    "/query?c=1",
    "/app/static/logo.svg",
    "/static/js/index.js",
    "/media/page.png",
    "/_stcore/host-config",
]
PATHS += [
    "/api/page/1/0",
    "/api/conversation/1/md",
    "/api/map",
    "/api/copy/1",
    "/api/card/1",
    "/_stcore/health/",
    "/%2e/",
]


@pytest.mark.parametrize("path", PATHS)
def test_nothing_is_served_without_a_token_or_cookie(door: ASGIApp, path: str) -> None:
    status, _headers, body = ask(door, path)
    assert status == 403
    assert "the screen" not in body
    assert ask(door, path, cookie=COOKIE)[0] == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD"])
def test_no_method_is_an_exception(door: ASGIApp, method: str) -> None:
    assert ask(door, method=method)[0] == 403
    assert ask(door, method=method, cookie=COOKIE)[0] == 200


def test_the_websocket_needs_the_cookie_and_takes_no_token(door: ASGIApp) -> None:
    assert ask(door, "/_stcore/stream", kind="websocket")[0] == 403
    assert ask(door, f"/_stcore/stream?token={TOKEN}", kind="websocket")[0] == 403
    assert ask(door, "/_stcore/stream", kind="websocket", cookie=COOKIE)[0] == 101


def test_the_health_check_needs_no_token(door: ASGIApp) -> None:
    assert ask(door, "/_stcore/health")[0] == 200


def test_token_becomes_a_cookie_and_leaves_the_address(door: ASGIApp) -> None:
    status, headers, body = ask(door, f"/query?c=a%26b&token={TOKEN}&empty=")
    assert status == 200
    assert headers["cache-control"] == "no-store"
    assert TOKEN not in body + str(headers)
    found = re.search(r'content="0;url=([^"]*)"', body)
    assert found is not None
    assert unescape(found[1]) == "/query?c=a%26b&empty="
    cookie = headers["set-cookie"].lower()
    assert cookie.startswith("lectern_8501=")
    assert {"httponly", "samesite=strict", "path=/", "max-age=31536000"} <= {
        part.strip() for part in cookie.split(";")
    }
    assert "secure" not in cookie
    assert ask(door, cookie=headers["set-cookie"].partition(";")[0])[0] == 200


@pytest.mark.parametrize("host", ["localhost:8501", "LOCALHOST:8501", "lectern.localhost:8501"])
def test_name_of_this_computer_leads_to_its_number(door: ASGIApp, host: str) -> None:
    """Another account may listen where a browser looks first for the name, and would get its cookies."""
    for cookie in ("", COOKIE):
        status, headers, body = ask(door, f"/query?c=a%26b&token={TOKEN}&d=1", host=host, cookie=cookie)
        assert (status, headers["location"]) == (307, "http://127.0.0.1:8501/query?c=a%26b&d=1")
        assert TOKEN not in str(headers) + body
        assert "set-cookie" not in headers
        assert ask(door, kind="websocket", host=host, cookie=cookie)[0] == 403
    assert ask(door, "//evil.example/", host=host)[1]["location"] == "http://127.0.0.1:8501/evil.example/"
    assert ask(door, host="localhost")[1]["location"] == "http://127.0.0.1:80/"
    assert ask(door, host=host, scheme="https")[1]["location"].startswith("https://127.0.0.1:8501/")
    assert ask(door, "/_stcore/health", host=host)[0] == 200


def test_cookie_that_earlier_versions_gave_to_localhost_is_invalid(door: ASGIApp) -> None:
    earlier = hmac.new(TOKEN.encode(), b"cookie", hashlib.sha256).hexdigest()
    assert ask(door, cookie=f"{cookie_name(8501)}={earlier}")[0] == 403


def test_cookie_is_named_by_the_public_port_and_secure_on_https(door: ASGIApp) -> None:
    _status, headers, _body = ask(door, f"/?token={TOKEN}", scheme="https", host="docs.example")
    assert headers["set-cookie"].startswith("lectern_443=")
    assert "Secure" in headers["set-cookie"]


@pytest.mark.parametrize(
    "path", ["//evil.example/", "/\\evil.example/", "/\\/evil.example", '/"><script>1</script>']
)
def test_the_page_that_exchanges_the_token_leads_nowhere_else(door: ASGIApp, path: str) -> None:
    _status, _headers, body = ask(door, f"{path}?token={TOKEN}")
    assert re.search(r'content="0;url=/[^/\\"<>]', body)
    assert "<script" not in body


@pytest.mark.parametrize("token", ["", "x", TOKEN[:-1], TOKEN + "x", TOKEN.lower(), "%00", "é"])
def test_a_wrong_token_opens_nothing(door: ASGIApp, token: str) -> None:
    status, headers, _body = ask(door, f"/?token={token}")
    assert status == 403
    assert "set-cookie" not in headers
    # an old address, in a browser that was let in
    status, headers, _body = ask(door, f"/?token={token}", cookie=COOKIE)
    assert status == 200
    assert "set-cookie" not in headers


@pytest.mark.parametrize(
    "cookie",
    [
        "",
        "lectern_8501",
        "lectern_8501=",
        f"lectern_8501={TOKEN}",
        f"lectern_8502={cookie_value(TOKEN)}",
        "lectern_8501=é",
    ],
)
def test_a_wrong_cookie_opens_nothing(door: ASGIApp, cookie: str) -> None:
    assert ask(door, cookie=cookie)[0] == 403
    assert ask(door, cookie=f"{cookie}; {COOKIE}")[0] == 200  # whatever a page of another port has added
    assert ask(door, cookie=f"{COOKIE}; {cookie}")[0] == 200


def test_a_link_on_another_site_opens_the_page_with_the_cookie(door: ASGIApp) -> None:
    """Which a browser does not send with such a link: a page of ours asks once more."""
    navigation = {"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate"}
    status, headers, body = ask(door, "/query?c=1", **navigation)
    assert status == 200
    assert "set-cookie" not in headers
    assert 'content="0;url=/query?c=1"' in body
    assert ask(door, "/query?c=1", sec_fetch_site="cross-site", sec_fetch_mode="no-cors")[0] == 403
    assert ask(door, "/query?c=1", sec_fetch_site="same-origin", sec_fetch_mode="navigate")[0] == 403


def test_refusal_is_a_page_for_people_and_json_for_programs(door: ASGIApp) -> None:
    assert "Open the address that Lectern printed" in ask(door)[2]
    status, headers, body = ask(door, "/api/upload", method="PUT", accept="*/*")
    assert (status, headers["content-type"]) == (403, "application/json")
    assert '"hint":"Open the address that Lectern printed' in body


def test_without_a_token_everybody_is_let_in() -> None:
    door = access.Access(screen, lambda: None)
    assert ask(door)[0] == 200
    assert ask(door, kind="websocket")[0] == 101


def test_neither_token_nor_cookie_is_logged(door: ASGIApp, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    for path in (f"/?token={TOKEN}", "/?token=wrong"):
        ask(door, path, cookie=COOKIE)
        ask(door, path)
    assert TOKEN not in caplog.text
    assert cookie_value(TOKEN) not in caplog.text


@pytest.fixture
def own_pages() -> ASGIApp:
    return SameOrigin(screen)


OTHERS = [
    "http://127.0.0.1:6666",
    "http://127.0.0.1",
    "http://localhost:8501",
    "http://[::1]:8501",
    "https://127.0.0.1:8501",
    "ws://127.0.0.1:8501",
    "null",
    "",
    "http://127.0.0.1:8501.evil.example",
    "http://127.0.0.1:8501@evil.example",
    "http://127.0.0.1:8501/",
    "http://evil.example:8501",
    "http://127.0.0.1.:8501",
    "127.0.0.1:8501",
    "http://127.0.0.1:08501x",
]


@pytest.mark.parametrize("origin", OTHERS)
@pytest.mark.parametrize(
    ("kind", "method"), [("websocket", "GET"), ("http", "PUT"), ("http", "POST"), ("http", "GET")]
)
def test_page_of_another_origin_may_not_connect_or_send(
    own_pages: ASGIApp, kind: str, method: str, origin: str
) -> None:
    assert ask(own_pages, kind=kind, method=method, origin=origin)[0] == 403


@pytest.mark.parametrize(
    ("host", "origin", "scheme"),
    [
        ("localhost:8501", "http://localhost:8501", "http"),
        ("LOCALHOST:8501", "http://localhost:8501", "http"),
        ("127.0.0.1:8501", "http://127.0.0.1:8501", "http"),
        ("[::1]:8501", "http://[::1]:8501", "http"),
        ("localhost", "http://localhost:80", "http"),
        ("docs.example", "https://docs.example", "https"),
        ("docs.example:443", "https://docs.example", "https"),
    ],
)
def test_its_own_pages_may(own_pages: ASGIApp, host: str, origin: str, scheme: str) -> None:
    assert (
        ask(own_pages, kind="websocket", scheme=scheme.replace("http", "ws"), host=host, origin=origin)[0]
        == 101
    )
    assert ask(own_pages, method="PUT", scheme=scheme, host=host, origin=origin)[0] == 200


def test_without_an_origin_the_fetch_site_header_decides(own_pages: ASGIApp) -> None:
    assert ask(own_pages, method="PUT")[0] == 200  # a program
    assert ask(own_pages, kind="websocket")[0] == 101
    for site in ("cross-site", "same-site"):
        assert ask(own_pages, method="PUT", sec_fetch_site=site)[0] == 403
        assert ask(own_pages, kind="websocket", sec_fetch_site=site)[0] == 403
        assert ask(own_pages, sec_fetch_site=site)[0] == 200  # a link
    assert ask(own_pages, method="PUT", sec_fetch_site="same-origin")[0] == 200


def test_what_a_request_says_of_a_proxy_is_not_believed(own_pages: ASGIApp) -> None:
    forwarded = {"x_forwarded_host": "evil.example", "x_forwarded_proto": "https"}
    assert ask(own_pages, kind="websocket", origin="https://evil.example", **forwarded)[0] == 403
    assert ask(own_pages, kind="websocket", origin="https://127.0.0.1:8501", **forwarded)[0] == 403


def test_application_checks_every_request_before_it_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LECTERN_HOME", str(tmp_path))
    monkeypatch.delenv("LECTERN_TOKEN", raising=False)
    app: ASGIApp = screen
    for middleware in reversed(MIDDLEWARE):
        app = middleware.cls(app, *middleware.args, **middleware.kwargs)
    cookie = f"lectern_8501={cookie_value(access.stored_token() or '')}"
    assert ask(app, cookie=cookie, accept="*/*")[2] == "the screen"
    assert ask(app, kind="websocket", cookie=cookie, origin="http://127.0.0.1:8501")[0] == 101
    assert ask(app)[0] == 403
    assert ask(app, kind="websocket")[0] == 403
    assert ask(app, kind="websocket", cookie=cookie, origin="http://127.0.0.1:6666")[0] == 403
    rebound = {"host": "evil.example:8501", "origin": "http://evil.example:8501"}
    assert ask(app, kind="websocket", cookie=cookie, **rebound)[0] == 403
    assert ask(app, cookie=cookie, host="evil.example:8501")[0] == 421


@pytest.mark.parametrize("host", ["127.0.0.1:8501", "localhost:8501", "evil.example"])
@pytest.mark.parametrize("kind", ["http", "websocket"])
@pytest.mark.parametrize(
    ("query", "logged"),
    [
        (f"token={TOKEN}", ""),
        (f"a=1&%74oken={TOKEN}&b=%20&token={TOKEN}", "a=1&b=%20"),
        ("a=token&b", "a=token&b"),
    ],
)
def test_address_that_a_server_logs_never_has_the_token(
    host: str, kind: str, query: str, logged: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server logs the address of the scope as the application leaves it, whatever it answers."""
    monkeypatch.setenv("LECTERN_HOME", str(tmp_path))
    app: ASGIApp = screen
    for middleware in reversed(MIDDLEWARE):
        app = middleware.cls(app, *middleware.args, **middleware.kwargs)
    scope = {
        "type": kind,
        "method": "GET",
        "path": "/",
        "query_string": query.encode(),
        "headers": [(b"host", host.encode())],
    }
    asyncio.run(answered(app, scope))
    assert scope["query_string"] == logged.encode()


async def answered(app: ASGIApp, scope: dict[str, Any]) -> None:
    async def receive() -> Message:
        return {"type": "http.request"}

    async def send(message: Message) -> None:
        pass

    await app(scope, receive, send)
