"""Compare: one question, several ways of answering side by side, from the same passages, and where two
answers differ."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from lectern.settings import LLMSettings, read_settings, write_settings
from tests.app.conftest import FLAGS, App, Look, Watch, installed_browser, let_in, settled, until
from tests.scripted_server import ScriptedServer

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

QUESTION = "Which year had the most passengers?"
LONG = "\n\n".join(
    " ".join(f"In 19{part:02} trip {number} went down on time." for number in range(8)) for part in range(40)
)
SHORT = "\n\n".join(
    "The answer has a number of short words that fill a few lines of its column." for _line in range(3)
)
STOPPED = "The text so far has been kept"
FOUR = ("Compact", "Simple summarize", "Generation", "Passages only")
WIDTHS = """
(() => {
  window.widths = new Set();
  const look = () => {
    for (const column of document.querySelectorAll('[class*="st-key-column_"]'))
      window.widths.add(column.clientWidth);
    requestAnimationFrame(look);
  };
  look();
})();
"""


@contextmanager
def saying_slowly(app: App, text: str) -> Iterator[ScriptedServer]:
    """A language model that says the text, forty words a second; taken away again."""
    before = read_settings(app.home)
    with ScriptedServer(lambda messages: text, words_per_second=40, slots=4) as server:
        llm = LLMSettings(provider="openai_compatible", base_url=f"{server.url}/v1", model="tiny")
        write_settings(app.home, before.model_copy(update={"llm": llm}))
        yield server
        write_settings(app.home, before)


@pytest.fixture
def slow_model(app: App) -> Iterator[ScriptedServer]:
    with saying_slowly(app, LONG) as server:
        yield server


def compare(page: Page, app: App, *ways: str, question: str = QUESTION) -> Locator:
    """Ask the question in these ways and Compact; gives the columns."""
    page.goto(f"{app.url}/query")
    page.get_by_role("heading", name="Compare").wait_for()
    settled(page)
    for way in ways:
        page.get_by_role("button", name=way, exact=True).click()
        settled(page)
    page.get_by_role("textbox", name="Question").fill(question)
    page.get_by_role("button", name=f"Compare {len(ways) + 1} answers").click()
    columns = page.locator('[class*="st-key-column_"]')
    columns.nth(len(ways)).wait_for()
    return columns


def finished(page: Page, count: int) -> None:
    """Wait until so many columns say what they took."""
    page.locator('[class*="st-key-cost_"]').nth(count - 1).wait_for(timeout=60_000)
    settled(page)


def test_four_modes_share_passages_and_two_differ_by_word(page: Page, app: App) -> None:
    page.set_viewport_size({"width": 1280, "height": 640})
    columns = compare(page, app, "Refine", "Tree summarize", "Accumulate")
    until(page, lambda: top_of_answers(page) < 200)  # they are scrolled to
    finished(page, 4)
    assert [columns.nth(place).locator("strong").first.inner_text() for place in range(4)] == [
        "Compact", "Refine", "Tree summarize", "Accumulate",
    ]  # fmt: skip
    costs = page.locator('[class*="st-key-cost_"]').all_inner_texts()
    # calls and tokens say nothing without a language model
    assert all(re.match(r"[\d.]+\ss", cost) for cost in costs), costs
    page.get_by_text("All from the same 6 passages").wait_for()
    hits = page.locator('[class*="st-key-hit_"]')
    assert hits.count() == 6
    assert "score" in hits.first.inner_text()
    places = dict(name.split(" · ", 1) for name in hits.locator("a").all_inner_texts())
    for column in columns.all():  # [n] is the same passage in each
        chips = [
            " ".join(chip.split())
            for chip in column.locator('[class*="st-key-chips_"] a').all_text_contents()
        ]
        assert chips
        for chip in chips:
            numbers, place = re.fullmatch(r"([\d ]+) (\D.*)", chip).groups()
            assert {places[number] for number in numbers.split()} == {place}

    columns.first.get_by_role("button", name="Pin").click()
    page.get_by_text("Pin a second answer to see where it differs from Compact.").wait_for()
    columns.last.get_by_role("button", name="Pin").click()
    panel = page.locator(".st-key-panel")
    panel.get_by_text("From Compact to Accumulate").wait_for()
    panel.locator(".text ins").first.wait_for()
    assert "Response 1" in " ".join(panel.locator(".text ins").all_inner_texts())
    marked = panel.locator(".text ins, .text del").evaluate_all(
        "marks => marks.map((mark) => mark.textContent)"
    )
    # an empty line is no difference to be seen
    assert all(words and words == words.lstrip() for words in marked)
    shown = panel.locator(".text").inner_text()
    settled(page)
    until(page, lambda: "p=differences." in page.url)

    page.reload()
    panel.locator(".text ins").first.wait_for()
    finished(page, 4)
    assert top_of_answers(page) > 300  # nothing new, so nothing is scrolled
    assert panel.locator(".text").inner_text() == shown
    assert page.get_by_role("button", name="Pinned").count() == 2
    assert page.locator('[class*="st-key-cost_"]').all_inner_texts() == costs
    until(page, lambda: page.get_by_role("textbox", name="Question").input_value() == QUESTION)

    page.get_by_role("button", name="Close").click()
    panel.wait_for(state="hidden")
    page.get_by_role("button", name="Differences between Compact and Accumulate").click()
    panel.get_by_text("From Compact to Accumulate").wait_for()

    ways = page.locator(".st-key-query_ways p").all_inner_texts()
    assert ways[-1].startswith("Without a language model answers are quotes")
    assert not re.search("calls?|tokens", " ".join(ways[:-1]).replace("each call", ""))
    before = page.url
    page.get_by_role("button", name="Compare 4 answers").click()
    until(page, lambda: page.url != before)
    finished(page, 4)
    page.locator('[class*="st-key-cost_"] a').nth(1).click()  # as the line of facts under a single answer
    panel.get_by_text("How this answer was made").wait_for()
    until(page, lambda: panel.locator("button[data-number]").count() == 6)
    costs = page.locator('[class*="st-key-cost_"]').all_inner_texts()
    assert all(re.fullmatch(r"[\d.]+ s", cost) for cost in costs), costs
    page.get_by_role("button", name="Close").click()
    panel.wait_for(state="hidden")

    page.set_viewport_size({"width": 390, "height": 844})
    columns.first.scroll_into_view_if_needed()
    first, second = (columns.nth(number).bounding_box() for number in (0, 1))
    assert first is not None
    assert second is not None
    assert first["width"] > 290
    assert first["x"] + first["width"] <= second["x"] < 390  # its edge shows that there is more
    columns.nth(1).scroll_into_view_if_needed()
    until(page, lambda: (columns.nth(1).bounding_box() or second)["x"] < 60)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def top_of_answers(page: Page) -> float:
    """Where the question above the answers is in the window, in pixels."""
    return float(page.locator(".st-key-query_question").evaluate("el => el.getBoundingClientRect().top"))


def test_columns_grow_together_and_stop_alone_or_all_at_once(
    page: Page, app: App, slow_model: ScriptedServer, look: Look
) -> None:
    columns = compare(page, app, "Simple summarize", "Generation", "Passages only")
    writing = columns.nth(0), columns.nth(1), columns.nth(2)
    until(page, lambda: all("In 1900 trip 0" in column.inner_text() for column in writing))
    assert all("In 1939 trip 7" not in column.inner_text() for column in writing)
    page.locator('[class*="st-key-hit_"]').nth(5).wait_for()  # the passages are there before the answers are
    look(page, "answers that grow")

    columns.first.get_by_role("button", name="Stop").click()
    columns.first.get_by_text(STOPPED).wait_for()
    said = columns.first.get_by_test_id("stChatMessage").get_by_test_id("stMarkdownContainer").first
    kept = said.inner_text()
    before = len(columns.nth(1).inner_text())
    until(page, lambda: len(columns.nth(1).inner_text()) > before)

    page.reload()
    columns.first.get_by_text(STOPPED).wait_for()
    until(page, lambda: len(columns.nth(1).inner_text()) > before)
    page.get_by_role("button", name="Stop all").click()  # of the two that are written still
    for number in (1, 2):
        columns.nth(number).get_by_text(STOPPED).wait_for()
    finished(page, 4)
    assert said.inner_text() == kept
    assert page.get_by_role("button", name="Compare 4 answers").is_enabled()

    page.get_by_role("button", name="Earlier questions").click()
    page.get_by_role("button", name=f"{QUESTION} · {', '.join(FOUR)}").first.wait_for()


@pytest.fixture
def page_with_bars(browser: Browser, watch: Watch) -> Iterator[Page]:
    """In a window of few lines, where what is scrolled has a bar, as on most computers."""
    with_bars = browser.browser_type.launch(
        executable_path=installed_browser(), args=FLAGS, ignore_default_args=["--hide-scrollbars"]
    )
    context = with_bars.new_context(viewport={"width": 1280, "height": 500}, reduced_motion="reduce")
    let_in(context)
    watch.follow(context)
    yield context.new_page()
    with_bars.close()


def test_growing_answers_list_steps_and_columns_keep_their_width(page_with_bars: Page, app: App) -> None:
    page = page_with_bars
    with saying_slowly(app, SHORT):
        page.add_init_script(WIDTHS)
        columns = compare(page, app, "Refine", "Accumulate")
        columns.nth(1).get_by_text("Step 2 of 6").wait_for()
        columns.nth(1).get_by_text("Step 5 of 6").wait_for()
        columns.nth(1).get_by_text("The answer has").first.wait_for()
        assert columns.nth(1).get_by_text("Step").count() == 0
        until(page, lambda: columns.nth(2).evaluate("one => one.scrollHeight > one.clientHeight"))
        finished(page, 3)
        widths = page.evaluate("() => [...window.widths]")
    assert len(widths) == 1, widths
