"""Who gets in, and what an answer may do, in a real browser."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lectern.access import access_token, cookie_name
from lectern.export.transcript import Transcript, as_html, as_markdown
from lectern.library import Library
from lectern.schema import AnswerFacts, Ask, Conversation, Message
from tests.app.conftest import App, settled
from tests.loopback_server import QuietHandler, serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.fixture(scope="module")
def closed_app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """Whose language model is locked, too."""
    app = App(tmp_path_factory.mktemp("closed") / "library", environment={"LECTERN_MODEL_SETTINGS": "locked"})
    app.start()
    yield app
    app.stop()


@pytest.fixture
def stranger(browser: Browser, closed_app: App) -> Iterator[Page]:
    """A page of a browser that was never here."""
    context = browser.new_context(reduced_motion="reduce")
    yield context.new_page()
    context.close()


@pytest.fixture
def neighbour() -> Iterator[str]:
    """The address of another server on this computer, with a page of its own."""

    class Neighbour(QuietHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html><title>Neighbour</title>")

    with serving(Neighbour) as address:
        yield address


def test_browser_enters_by_the_printed_address_and_stays_in(
    stranger: Page, closed_app: App, tmp_path: Path
) -> None:
    stranger.goto(f"{closed_app.url}/settings")
    stranger.get_by_text("This browser does not have access yet").wait_for()
    stranger.goto(closed_app.address)
    stranger.get_by_text("Drop your files here").wait_for()
    settled(stranger)
    assert stranger.url == f"{closed_app.url}/"
    token = access_token(closed_app.home)
    assert token not in stranger.evaluate("document.documentElement.outerHTML + document.cookie")
    [cookie] = [each for each in stranger.context.cookies() if each["name"] == cookie_name(closed_app.port)]
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
    stranger.goto(f"{closed_app.url}/settings")
    settled(stranger)
    closed_app.stop()
    closed_app.start()
    stranger.goto(f"{closed_app.url}/settings")
    stranger.get_by_text("has locked the language model (LECTERN_MODEL_SETTINGS).").wait_for()
    settled(stranger)
    assert stranger.locator("[class*='st-key-llm_'], .st-key-test_llm, .st-key-save_llm").count() == 0
    note = tmp_path / "note.html"
    note.write_text(f'<a href="{closed_app.url}/settings?c=1">settings</a>')
    stranger.goto(note.as_uri())
    stranger.get_by_role("link").click()  # from outside, in a browser that has access
    stranger.get_by_text("has locked the language model").wait_for()


OPEN_WEBSOCKET = """
(address) => new Promise((resolve) => {
  const socket = new WebSocket(address, ["streamlit"]);
  socket.onopen = () => resolve("open");
  socket.onerror = () => resolve("refused");
})
"""


def test_its_pages_load_from_nowhere_else_and_other_pages_read_nothing(
    stranger: Page, closed_app: App, neighbour: str
) -> None:
    stranger.goto(closed_app.address)
    settled(stranger)
    policy = stranger.request.get(closed_app.url).headers["content-security-policy"]
    assert "default-src 'self'" in policy
    scripts = next(part for part in policy.split(";") if part.strip().startswith("script-src "))
    assert "unsafe-inline" not in scripts
    assert "unsafe-eval" not in scripts.replace("wasm-unsafe-eval", "")
    websocket = f"ws://127.0.0.1:{closed_app.port}/_stcore/stream"
    assert stranger.evaluate(OPEN_WEBSOCKET, websocket) == "open"
    with pytest.raises(Exception, match="Failed to fetch"):  # its own page loads from nowhere else
        stranger.evaluate("fetch('https://example.com')")
    stranger.goto(neighbour)  # whose requests have the cookie: cookies know no ports
    assert stranger.evaluate(OPEN_WEBSOCKET, websocket) == "refused"
    fetched = (
        "(address) => fetch(address, {credentials: 'include'}).then((answer) => answer.text(), () => "
        "'refused')"
    )
    assert stranger.evaluate(fetched, f"{closed_app.url}/_stcore/health") == "refused"
    assert stranger.evaluate(fetched, f"{closed_app.url}/") == "refused"


HOSTILE = """[a bank](https://evil.example/a?b=1&c=2 "safe") and ![a picture](https://evil.example/p.png)
[x](javascript:alert(1)) [x](JaVaScRiPt:alert(1)) [x](java&#115;cript:alert(1)) [x](java&Tab;script:alert(1))
[x]( javascript:alert(1))
[x](<javascript:alert(1)>) [x](data:text/html,<script>alert(1)</script>) [x](vbscript:x) \
[x] (javascript:alert(1))
[1](javascript:alert(1))
<javascript:alert(1)> <https://evil.example> <a href="javascript:alert(1)">x</a> <img src=x onerror=alert(1)>
<svg/onload=alert(1)>
[x][ref] [ref] [ref][] ![x][ref] [x]\\(javascript:alert(1)) \\[x](javascript:alert(1)) \
\\\\[x](javascript:alert(1))
!\\[x](data:x)
`[x](javascript:alert(1))` ``` [x](javascript:alert(1)) `[x](javascript:alert(1))

[ref]: javascript:alert(1) "t"
[1]: javascript:alert(1)
[ref
x]: data:text/html,x

- an item
  ```
[behind a block](javascript:alert(1)) ![x](data:x)

> ~~~
[behind another](javascript:alert(1))

~~~ [x](javascript:alert(1))
[in a block](javascript:alert(1))
~~~
[a](
javascript:alert(1)) [[a](javascript:alert(1))](javascript:alert(1)) \
<iframe src="javascript:alert(1)"></iframe>
"""

LINKS = """
elements => elements.map((each) =>
  [each.localName, each.href || each.src || "", each.rel || "", each.textContent])
"""
ACTIVE = (
    "a, img, iframe, script, object, embed, form, area, base, link, meta[http-equiv=refresh], "
    "[onerror], [onload]"
)


def hostile(conversation_id: str) -> list[Message]:
    facts = AnswerFacts("generation", "generation", 1, 1.0, 1, 1)
    return [
        Message("q1", conversation_id, "user", HOSTILE, "done", 1.0),
        Message("a1", conversation_id, "assistant", HOSTILE, "done", 2.0, Ask("q"), facts),
    ]


def test_no_link_of_an_export_does_anything_in_a_browser(stranger: Page) -> None:
    """Also with a renderer of Markdown that allows HTML and any scheme."""
    markdown_it = pytest.importorskip("markdown_it")
    transcript = Transcript(Conversation("c1", "chat", HOSTILE[:60], 1.0, 1.0), tuple(hostile("c1")))
    for preset in ("commonmark", "gfm-like"):
        renderer = markdown_it.MarkdownIt(preset, {"html": True, "linkify": False})
        renderer.validateLink = lambda _address: True
        stranger.set_content(renderer.render(as_markdown(transcript)))
        assert stranger.locator(f"{ACTIVE}, svg").evaluate_all(LINKS) == []
    stranger.set_content(re.sub(r"<style>.*?</style>", "", as_html(transcript), flags=re.DOTALL))
    assert stranger.locator("body").locator(f"{ACTIVE}, svg").evaluate_all(LINKS) == []
    assert "a picture" in html.unescape(as_html(transcript))


def test_answer_links_are_text_until_the_full_address_is_viewed(page: Page, empty_app: App) -> None:
    with closing(Library(empty_app.home)) as library:
        conversation = library.conversations.create()
        answer = library.conversations.begin(conversation.id, Ask(HOSTILE))
        facts = AnswerFacts("generation", "generation", 1, 1.0, 1, 1)
        library.conversations.write(answer.id, text=HOSTILE, state="done", facts=facts)
    page.goto(f"{empty_app.url}/chat?c={conversation.id}")
    page.get_by_text("behind a block").last.wait_for(timeout=20_000)
    settled(page)
    written = page.get_by_test_id("stChatMessage").get_by_test_id("stMarkdown")
    bodies = written.filter(has_text="a bank")
    assert bodies.count() == 2
    assert bodies.last.locator(ACTIVE).evaluate_all(LINKS) == []
    page.get_by_text("3 web addresses").click()
    listed = page.locator("[class*='st-key-addresses_'] a")
    listed.first.wait_for()
    addresses = ["https://evil.example/a?b=1&c=2", "https://evil.example/p.png", "https://evil.example/"]
    assert listed.evaluate_all(LINKS) == [
        ["a", address, "noopener noreferrer", address] for address in addresses
    ]
    assert listed.evaluate_all("links => links.map((link) => link.target)") == ["_blank"] * 3
