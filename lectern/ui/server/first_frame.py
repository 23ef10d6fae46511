"""Puts the style and the appearance into the page from its first frame, so that nothing moves or flashes when
it loads."""

from __future__ import annotations

import re
from pathlib import Path

import streamlit as st
from starlette.datastructures import Headers
from starlette.responses import HTMLResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

STYLE = Path(__file__).resolve().parents[1] / "style.css"
WEIGHTS = ("Regular", "Medium", "SemiBold", "Bold")
APPEARANCE_COOKIE = "lectern_appearance"  # "light" or "dark"
# Streamlit remembers a choice for one address alone. So its menu entry is hidden, and it asks a browser that
# answers as chosen.
APPEARANCE = """
for (const key of Object.keys(localStorage))
  if (key.startsWith("stActiveTheme-")) localStorage.removeItem(key);
const browserMatches = window.matchMedia.bind(window);
window.matchMedia = (query) => {
  const list = browserMatches(query), chosen = document.cookie.match(/(?:^|; )COOKIE=(light|dark)/)?.[1];
  if (chosen && query === "(prefers-color-scheme: dark)")
    Object.defineProperty(list, "matches", { value: chosen === "dark" });
  return list;
};
""".replace("COOKIE", APPEARANCE_COOKIE)
OTHER_HTML = ("/api/", "/media/")  # downloads and pictures
# a browser may have cached the page without the style
CACHE_HEADERS = (b"if-none-match", b"if-modified-since")


class FirstFrame:
    """Sends our page instead of Streamlit's, at every address."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        wants_html = scope["type"] == "http" and "text/html" in ",".join(
            Headers(scope=scope).getlist("accept")
        )
        if not wants_html or scope["path"].startswith(OTHER_HTML):
            await self.app(scope, receive, send)
            return
        is_page = False

        async def send_other_files(message: Message) -> None:
            nonlocal is_page
            if message["type"] == "http.response.start" and message["status"] == 200:
                is_page = dict(message["headers"]).get(b"content-type", b"").startswith(b"text/html")
            if not is_page:
                await send(message)

        unconditional = {
            **scope,
            "headers": [header for header in scope["headers"] if header[0] not in CACHE_HEADERS],
        }
        await self.app(unconditional, receive, send_other_files)
        if is_page:
            await HTMLResponse(page(), headers={"Cache-Control": "no-cache"})(scope, receive, send)


def page() -> str:
    """Streamlit's page with the appearance and our fonts before its scripts, and our style after every
    other."""
    own = (Path(st.__file__).parent / "static" / "index.html").read_text("utf-8")
    fonts = "".join(
        f'<link rel="preload" href="./app/static/Inter-{weight}.woff2" as="font" type="font/woff2" '
        "crossorigin>"
        for weight in WEIGHTS
    )
    head = re.sub(r'<link\s+rel="preload"[^>]*as="font"[^>]*>', "", own).replace(
        "</head>", f"<script>{APPEARANCE}</script>{fonts}</head>", 1
    )
    return head.replace("</body>", f"<style>\n{STYLE.read_text('utf-8')}</style></body>", 1)
