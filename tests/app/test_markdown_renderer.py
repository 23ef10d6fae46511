"""Text from outside stays text when Streamlit's own code in a browser draws it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.app.conftest import ROOT, SECONDS

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

# Streamlit replaces these in text, some only where another part of the text has an emoji's name.
SIGNS = [
    ":smile:",
    ":+1:",
    ":100:",
    ":1234:",
    ":material/verified:",
    ":material_verified:",
    ":streamlit:",
    "Paid:white_check_mark:today",
    "`:x:` and :heavy_check_mark:",
    ":heart::heart:",
    "(:streamlit:)",
    "a -> b",
    "a <- b",
    "a <-> b",
    "a -- b",
    "1 >= 0",
    "1 <= 2",
    "1 ~= 2",
    "-> first",
    ":red[red]",
    ":blue-background[blue]",
    ":green-badge[badge]",
    ":color[x]{foreground=red}",
    ":small[small]",
    ":shimmer[waiting]",
    ":help[more]",
    ":grün{lost}",
    "::grün",
    ":::grün",
    ":unknown[lost]{lost}",
    "$x^2$",
    "$$x$$",
    "~~struck~~",
    "~struck~",
    "<b>bold</b>",
    "&copy; &#58;smile&#58;",
    "1[^1]",
    "[^1]: note",
    "At 20:47:12",
    "std::vector",
    "urn:isbn:0451",
]
# A model can write a backslash before each sign.
ESCAPED = [
    "\\:smile:",
    ":smile\\:",
    "\\:smile\\:",
    "\\:material\\_verified\\:",
    "\\:streamlit\\:",
    "\\:red\\[red\\]",
    "a \\-> b",
    "a -\\> b",
    "a \\-- b",
    "1 \\>= 0",
]


@pytest.fixture
def drawn(browser: Browser, tmp_path: Path) -> Iterator[Page]:
    """A page with SIGNS, then ESCAPED."""
    texts = tmp_path / "texts.json"
    texts.write_text(json.dumps([*SIGNS, *ESCAPED]), "utf-8")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    script = Path(__file__).with_name("markdown_page.py")
    command = [sys.executable, "-m", "streamlit", "run", str(script), f"--server.port={port}"]
    environment = {**os.environ, "TEXTS": str(texts), "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(command, cwd=ROOT, env=environment)
    page = browser.new_page()
    page.set_default_timeout(SECONDS)
    try:
        for _ in range(600):
            with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            page.wait_for_timeout(100)
        page.goto(f"http://127.0.0.1:{port}")
        page.locator(f".st-key-press_{len(SIGNS) + len(ESCAPED) - 1}").wait_for()
        page.wait_for_timeout(1000)  # the code for emoji and formulas comes when it is needed
        page.locator("[data-testid=stSkeleton]").first.wait_for(state="detached")
        yield page
    finally:
        page.close()
        process.terminate()
        process.wait(20)


def shown(page: Page, kind: str, number: int) -> str:
    """The text as a reader sees it; "icon: " before it if any part is drawn, coloured or a link."""
    place = page.locator(f".st-key-{kind}_{number}").locator(
        "[data-testid=stMarkdownContainer], [data-testid=stCaptionContainer]"
    )
    drawings = place.locator(
        "img, svg, a, sup, del, b, .katex, [role=img], span[style], span[class*=stMarkdown]"
    )
    text = " ".join(place.inner_text().replace("\u2060", "").split())
    return f"icon: {text}" if drawings.count() else text


def test_streamlit_draws_text_from_outside_as_text(drawn: Page) -> None:
    """In an answer, as plain text, as a caption and as a button. An answer keeps its Markdown, so it has no
    backticks and no backslashes; everywhere else each sign of the text is seen."""
    differences = {}
    for kind in ("answer", "plain", "caption", "button"):
        for number, text in enumerate([*SIGNS, *ESCAPED]):
            expected = text
            if kind == "answer":
                expected = text.replace("`", "").replace("\\", "")
            if (seen := shown(drawn, kind, number)) != expected:
                differences[kind, text] = seen
    assert differences == {}
