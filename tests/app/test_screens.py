"""The pictures of docs/screens, written when asked for with --screens; each screen must fit its window's width either way.

For pictures without the questions of other tests in them: `python -m pytest tests/app/test_screens.py --screens`
"""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

from tests.app.conftest import App, Watch, answered, settled, until
from tests.app.test_chat import ask, ask_anew
from tests.app.test_compare import compare, finished

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

FOLDER = Path(__file__).parents[2] / "docs" / "screens"
WINDOWS = {"desktop": (1440, 900), "phone": (390, 844)}
LARGEST = 250_000  # bytes
ON_A_PAGE = "How high did the water stand in the lower station in the flood of 1953?"
IN_A_TEXT = "May I bring a large dog?"


@pytest.mark.parametrize("size", ["desktop", "phone"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_screen_fits_its_window(
    browser: Browser,
    app: App,
    empty_app: App,
    watch: Watch,
    scheme: Literal["light", "dark"],
    size: str,
    request: pytest.FixtureRequest,
) -> None:
    keep = bool(request.config.getoption("--screens", default=False))
    width, height = WINDOWS[size]
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
    watch.follow(context)
    page = context.new_page()

    def picture(name: str) -> None:
        settled(page)
        page.mouse.move(0, 0)
        page.wait_for_timeout(700 if keep else 0)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, f"{name} is wider than its window"
        if keep:
            save(page, FOLDER / f"{name}-{size}-{scheme}.png")

    page.goto(empty_app.url)
    page.get_by_text("Drop your files here").wait_for()
    page.locator(".light", has_text="Search").get_by_text("ready", exact=True).wait_for(timeout=90_000)
    picture("first")
    page.goto(app.url)
    page.locator(".st-key-ask_here").wait_for()
    picture("documents")
    ask_anew(page, app, IN_A_TEXT)
    ask(page, ON_A_PAGE)
    answered(page, 2)
    if size == "phone":  # where the passage covers the answer
        picture("chat")
    open_passage(page, ".pdf")
    image = page.locator(".st-key-panel img")
    until(page, lambda: image.evaluate("el => el.naturalWidth") > 300)
    picture("chat" if size == "desktop" else "passage")
    if size == "desktop":
        open_passage(page, ".html")
        page.locator(".st-key-panel .text mark").wait_for()
        picture("passage")
    conversation, answer = page.url.split("&p=passage.")
    for kind, name in (("calls", "film"), ("why", "why"), ("check", "check")):
        page.goto(f"{conversation}&p={kind}.{answer.split('.')[0]}")
        page.locator(".st-key-why_cause" if kind == "why" else ".st-key-panel_head").first.wait_for()
        picture(name)
    compare(page, app, "Refine", "Accumulate")
    finished(page, 3)
    picture("compare")
    for address, heading in (("indexes", "Indexes"), ("evaluate", "Evaluate")):
        page.goto(f"{app.url}/{address}")
        page.get_by_role("heading", name=heading).first.wait_for()
        picture(address)
    page.goto(f"{app.url}/settings")
    page.locator(".st-key-llm_provider").get_by_text("Ollama").click()
    page.get_by_label("Address", exact=True).wait_for()
    picture("settings")
    page.close(run_before_unload=False)
    context.close()


def test_a_comparison_is_filmed(browser: Browser, app: App, watch: Watch, request: pytest.FixtureRequest) -> None:
    """From an empty form to the words in which two answers differ; kept as docs/screens/compare.gif."""
    if not request.config.getoption("--screens", default=False):
        pytest.skip("asked for with --screens")
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    watch.follow(context)
    page = context.new_page()
    film = Film(page)
    page.goto(f"{app.url}/query")
    page.get_by_role("heading", name="Query").wait_for()
    settled(page)
    film.shoot(hold=1.0)
    for way in ("Refine", "Tree summarize", "Accumulate"):
        page.get_by_role("button", name=way, exact=True).click()
        settled(page)
        film.shoot(hold=0.4)
    box = page.get_by_role("textbox", name="Question")
    for typed in range(4, len(ON_A_PAGE) + 4, 4):
        box.fill(ON_A_PAGE[:typed])
        film.shoot()
    page.get_by_role("button", name="Compare 4 answers").click()
    costs = page.locator('[class*="st-key-cost_"]')
    while costs.count() < 4:
        film.shoot()
    settled(page)
    film.shoot(hold=3.0)
    pins = page.get_by_role("button", name="Pin")
    pins.first.click()
    page.get_by_text("Pin a second answer").wait_for()
    film.shoot(hold=0.8)
    page.locator('[class*="st-key-column_"]').last.get_by_role("button", name="Pin").click()
    page.locator(".st-key-panel").get_by_text("From Compact to Accumulate").wait_for()
    settled(page)
    page.wait_for_timeout(500)
    film.shoot(hold=4.0)
    film.save(FOLDER / "compare.gif")
    context.close()


class Film:
    """Pictures of a page, each shown for a while."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.shots: list[tuple[bytes, float]] = []  # and how long it is shown, in seconds

    def shoot(self, hold: float = 0.1) -> None:
        self.shots.append((self.page.screenshot(), hold))

    def save(self, path: Path, width: int = 960) -> None:
        from PIL import Image

        frames: list[Image.Image] = []
        for shot, _hold in self.shots:
            with Image.open(BytesIO(shot)) as image:
                small = image.convert("RGB").resize((width, image.height * width // image.width), Image.Resampling.LANCZOS)
            frames.append(small.quantize(64, dither=Image.Dither.NONE))
        shown = [round(1000 * hold) for _shot, hold in self.shots]
        frames[0].save(path, save_all=True, append_images=frames[1:], duration=shown, loop=0, optimize=True)
        assert path.stat().st_size < 8 * LARGEST


def open_passage(page: Page, suffix: str) -> None:
    page.locator('[class*="st-key-chips_"] a', has_text=suffix).first.click()
    page.locator(".st-key-panel_head").get_by_text(suffix).wait_for()
    settled(page)


def save(page: Page, path: Path) -> None:
    from PIL import Image

    path.parent.mkdir(parents=True, exist_ok=True)
    with Image.open(BytesIO(page.screenshot())) as shot:
        shot.convert("RGB").quantize(192, dither=Image.Dither.NONE).save(path, optimize=True)
    assert path.stat().st_size < LARGEST
