"""The waits of a person, in a real browser: for the first screen, another page, the first word of an answer.

The page measures them: from the start of the navigation, the click or the key, to the first frame in which
the awaited element is visible and not stale.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from benchmarks.first_answer import FLAGS
from benchmarks.ui.figures import over_model
from benchmarks.ui.peer import PAGES
from benchmarks.ui.serving import Server

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

LIMIT = 60_000.0  # milliseconds
REST = 400.0  # milliseconds between two clicks, after all has come to rest
AT_REST = '[data-testid="stApp"][data-test-script-state="notRunning"][data-test-connection-state="CONNECTED"]'

WATCH = """
(() => {
  const visible = (element) => element.getClientRects().length > 0 && !element.closest('[data-stale="true"]');
  const inside = () => [...document.querySelectorAll("*")].filter((host) => host.shadowRoot && visible(host));
  const find = (selector) => {
    const matches = [...document.querySelectorAll(selector)].filter(visible);
    if (matches.length) return matches;
    return inside().flatMap((host) => [...host.shadowRoot.querySelectorAll(selector)]).filter(visible);
  };
  window.when = (selectors, text) => new Promise((resolve) => {
    const look = () => {
      const has = (each) => each.textContent.includes(text);
      const there = selectors.every((selector) => find(selector).some(has));
      if (there) resolve(performance.now());
      else requestAnimationFrame(look);
    };
    look();
  });
  for (const kind of ["click", "keydown"]) {
    addEventListener(kind, (event) => { window.pressed = event.timeStamp; }, true);
  }
})();
"""

FIRST_PAINT = """
() => new Promise((resolve) => {
  const name = "first-contentful-paint";
  const noted = (paints) => paints.getEntriesByName(name).forEach((paint) => resolve(paint.startTime));
  new PerformanceObserver(noted).observe({ type: "paint", buffered: true });
})
"""

SHIFT = """
() => new Promise((resolve) => {
  let sum = 0;
  const add = (list) => list.getEntries().forEach((shift) => {
    if (!shift.hadRecentInput) sum += shift.value;
  });
  const observer = new PerformanceObserver(add);
  observer.observe({ type: "layout-shift", buffered: true });
  setTimeout(() => { add({ getEntries: () => observer.takeRecords() }); resolve(sum); }, 100);
})
"""

FRAMES = """
() => {
  const all = [];
  const note = (moment) => { all.push(moment); window.frames = all; requestAnimationFrame(note); };
  requestAnimationFrame(note);
}
"""


@dataclass(frozen=True, slots=True)
class Screen:
    """A page of the sidebar, and the selectors of its main content."""

    name: str
    path: str
    main: tuple[str, ...]


OURS = (
    Screen("Documents", "", (".st-key-ask_here textarea", "li.row", ".st-key-lights .light")),
    Screen("Chat", "chat", (".st-key-empty_chat h1", ".st-key-ask textarea")),
    Screen("Compare", "query", (".st-key-query_text textarea", ".st-key-query_ask button")),
    Screen("Indexes", "indexes", (".st-key-index_figures", "th.name")),
    Screen("Evaluate", "evaluate", (".st-key-make_set button",)),
    Screen("Settings", "settings", (".st-key-llm_provider",)),
)
PEERS = tuple(
    Screen(name, name.lower() if at else "", (f".st-key-one_{name.lower()} h1",))
    for at, name in enumerate(PAGES)
)


@dataclass
class Paints:
    """Milliseconds from the start of the navigation."""

    first: list[float] = field(default_factory=list)
    main: list[float] = field(default_factory=list)


@dataclass
class FirstWords:
    """Milliseconds beyond the model's own: in total, before the call of the model, and after its first
    word."""

    over: list[float] = field(default_factory=list)
    before: list[float] = field(default_factory=list)
    after: list[float] = field(default_factory=list)


@contextmanager
def chromium() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    executable = (
        os.environ.get("LECTERN_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    )
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=executable, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def _window(browser: Browser) -> Iterator[BrowserContext]:
    context = browser.new_context(viewport={"width": 1280, "height": 860}, reduced_motion="reduce")
    context.set_default_timeout(LIMIT)
    context.add_init_script(WATCH)
    try:
        yield context
    finally:
        context.close()


def first_paint(browser: Browser, server: Server, screen: Screen, rounds: int) -> tuple[Paints, Paints]:
    """For new browsers, and for the same ones when they return."""
    new, again = Paints(), Paints()
    for _ in range(rounds):
        with _window(browser) as context:
            for paints in (new, again):
                page = context.new_page()
                page.goto(f"{server.url}/{screen.path}", wait_until="commit")
                main, first = _wait_until_visible(page, screen.main), page.evaluate(FIRST_PAINT)
                paints.first.append(first)
                paints.main.append(max(main, first))
                _rest(page)
                page.close()
    return new, again


def layout_shifts(browser: Browser, server: Server, screens: Sequence[Screen]) -> dict[str, float]:
    """The sum of the layout shifts while each page loads, as the Layout Instability API measures them."""
    with _window(browser) as context:
        page = context.new_page()
        shifts = {}
        for screen in screens:
            page.goto(f"{server.url}/{screen.path}", wait_until="commit")
            _wait_until_visible(page, screen.main)
            _rest(page)
            shifts[screen.name] = float(page.evaluate(SHIFT))
        return shifts


def map_frames(browser: Browser, server: Server, passages: int) -> list[float]:
    """Milliseconds from each frame to the next while the map of so many passages is dragged about and
    zoomed."""
    with _window(browser) as context:
        page = context.new_page()
        page.goto(f"{server.url}/map")
        page.locator(f'.st-key-passage_map .root[data-drawn][data-points="{passages}"]').wait_for()
        canvas = page.locator(".st-key-passage_map canvas")
        canvas.scroll_into_view_if_needed()
        _rest(page)
        box = canvas.bounding_box()
        assert box is not None
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        page.evaluate(FRAMES)
        page.mouse.move(x, y)
        for turn in range(12):
            page.mouse.wheel(0, -200 if turn < 6 else 200)
            page.mouse.down()
            page.mouse.move(x + (60 if turn % 2 else -60), y + 40 * (turn % 3 - 1), steps=20)
            page.mouse.up()
            page.mouse.move(x, y, steps=5)
        moments: list[float] = page.evaluate("() => window.frames")
        return [after - before for before, after in pairwise(moments)]


def page_switches(
    browser: Browser, server: Server, screens: Sequence[Screen], rounds: int
) -> dict[tuple[str, str], list[float]]:
    """Milliseconds from the click in the sidebar, by the pages it leads from and to: down the sidebar and up
    again."""
    way = [*screens, *reversed(screens[:-1])]
    steps = list(pairwise(way))
    took: dict[tuple[str, str], list[float]] = {(here.name, there.name): [] for here, there in steps}
    with _window(browser) as context:
        page = context.new_page()
        page.goto(f"{server.url}/{way[0].path}", wait_until="commit")
        _wait_until_visible(page, way[0].main)
        for number in range(rounds + 1):
            for here, there in steps:
                _rest(page)
                link = page.get_by_test_id("stSidebarNav").get_by_role("link", name=there.name, exact=True)
                page.evaluate("(main) => { window.awaited = window.when(main, ''); }", list(there.main))
                link.click()
                seconds = page.evaluate("async () => await window.awaited - window.pressed")
                if number:  # the first round loads the scripts of the pages
                    took[here.name, there.name].append(seconds)
    return took


def first_words(
    browser: Browser,
    server: Server,
    questions: Sequence[str],
    requests: list[tuple[float, str]],
    *,
    delay: float,
    word: str,
) -> FirstWords:
    """Asks each question in its own conversation, with a model that writes `word` after `delay` seconds.

    `requests` grows meanwhile: the time of each call of the model, in seconds since the epoch, and its text.
    The first question is not counted.
    """
    result = FirstWords()
    with _window(browser) as context:
        page = context.new_page()
        for number, question in enumerate(questions):
            page.goto(f"{server.url}/chat")
            page.locator(".st-key-empty_chat h1").wait_for()
            _rest(page)
            box = page.get_by_test_id("stChatInputTextArea")
            box.fill(question)
            page.evaluate(
                "(word) => { window.awaited = window.when(['[data-testid=\"stChatMessage\"]'], word); }", word
            )
            box.press("Enter")
            seen = page.evaluate("() => window.awaited") / 1000
            pressed, origin = page.evaluate("() => [window.pressed / 1000, performance.timeOrigin / 1000]")
            calls = [
                moment - origin for moment, text in requests if question in text and moment - origin < seen
            ]
            page.locator('[class*="st-key-facts_"]').first.wait_for()
            if number:
                result.over.append(over_model(seen - pressed, len(calls), delay))
                result.before.append(1000 * (calls[0] - pressed))
                result.after.append(1000 * (seen - calls[-1] - delay))
    return result


def warm_up(browser: Browser, server: Server, screens: Sequence[Screen]) -> None:
    """Draws every page once, so that the server is warm."""
    with _window(browser) as context:
        page = context.new_page()
        for screen in screens:
            page.goto(f"{server.url}/{screen.path}", wait_until="commit")
            _wait_until_visible(page, screen.main)
            _rest(page)


def _wait_until_visible(page: Page, selectors: Sequence[str]) -> float:
    moment: float = page.evaluate("(selectors) => window.when(selectors, '')", list(selectors))
    return moment


def _rest(page: Page) -> None:
    page.wait_for_selector(AT_REST, state="attached")
    page.wait_for_timeout(REST)
