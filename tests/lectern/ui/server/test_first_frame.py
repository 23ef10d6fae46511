from __future__ import annotations

import re
from pathlib import Path

import anyio
import pytest
import streamlit
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import Message

from lectern.ui.server.first_frame import APPEARANCE, STYLE, FirstFrame, page

BROWSER = {"accept": "text/html,*/*;q=0.8"}


async def _streamlit(request: Request) -> Response:
    if "if-none-match" in request.headers:
        return Response(status_code=304)
    return HTMLResponse("Streamlit's own", headers={"etag": "streamlit"})


async def _asset(_request: Request) -> Response:
    return PlainTextResponse("an asset")


async def _missing(_request: Request) -> Response:
    return HTMLResponse("not here", status_code=404)


SERVER = FirstFrame(
    Starlette(
        routes=[
            Route("/api/card/1", _streamlit),
            Route("/media/saved", _streamlit),
            Route("/asset", _asset),
            Route("/missing", _missing),
            Route("/{name}", _streamlit),
        ]
    )
)


def get(path: str, headers: dict[str, str]) -> tuple[int, dict[str, str], str]:
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request"}

    async def send(message: Message) -> None:
        sent.append(message)

    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": "GET", "path": path, "query_string": b"", "headers": raw}
    anyio.run(SERVER, scope, receive, send)
    start, *rest = sent
    told = {name.decode(): value.decode() for name, value in start["headers"]}
    return start["status"], told, b"".join(message["body"] for message in rest).decode()


def test_page_has_our_style_last_and_all_of_streamlit_s() -> None:
    own = (Path(streamlit.__file__).parent / "static" / "index.html").read_text("utf-8")
    ours = page()
    scripts = re.findall(r"<script.*?</script>", own, re.DOTALL)
    assert [*scripts, f"<script>{APPEARANCE}</script>"] == re.findall(r"<script.*?</script>", ours, re.DOTALL)
    assert ours.index('<div id="root">') < ours.index(STYLE.read_text("utf-8")) < ours.index("</body>")
    assert "</style" not in STYLE.read_text("utf-8")


def test_the_page_fetches_the_fonts_that_are_there_and_no_other() -> None:
    fonts = re.findall(r'<link\s+rel="preload"\s+href="([^"]+)"\s+as="font"', page())
    assert len(fonts) == 4
    for font in fonts:
        assert (STYLE.parent / "static" / font.removeprefix("./app/static/")).exists()


@pytest.mark.parametrize("path", ["/chat", "/no-such-page"])
def test_our_page_replaces_streamlit_s_even_for_cached_copies(path: str) -> None:
    for headers in (BROWSER, {**BROWSER, "if-none-match": "streamlit"}):
        status, told, body = get(path, headers)
        assert (status, body) == (200, page())
        assert "etag" not in told
        assert told["cache-control"] == "no-cache"


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/api/card/1", "Streamlit's own"),
        ("/media/saved", "Streamlit's own"),
        ("/asset", "an asset"),
        ("/missing", "not here"),
    ],
)
def test_all_else_is_sent_as_it_is(path: str, said: str) -> None:
    assert get(path, BROWSER)[2] == said


def test_conditional_request_for_other_files_may_use_the_cache() -> None:
    assert get("/chat", {"accept": "*/*", "if-none-match": "streamlit"})[0] == 304
