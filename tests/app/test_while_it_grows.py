"""While an answer grows: nothing of the one before is beside it, its citations open, and its end is told to
who only hears."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.app.conftest import App, answered, drop, payload, row, settled, until
from tests.app.test_chat import ask
from tests.app.test_compare import compare, finished, saying_slowly
from tests.scripted_server import ScriptedServer

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

WIDGETS = Path(__file__).parents[2] / "lectern" / "ui" / "widgets"
KEPT = "The text so far has been kept."
STEPS = (  # as the history of the railway has it
    "There are 214 steps from Fish Street to Windle Terrace [1].\n\nVisitors arrive at the top with "
    "every number between one "
    "hundred and ninety and two hundred and thirty [1]. I have counted it with chalk [1]."
)
LONG = "The first paragraph cites [1].\n\n" + "\n\n".join(
    f"Paragraph {n} " + "and so on " * 30 for n in range(60)
)


@pytest.fixture
def slow_model(app: App) -> Iterator[ScriptedServer]:
    with saying_slowly(app, LONG) as server:
        yield server


def begun(within: Locator) -> None:
    """Wait until the answer has a few paragraphs."""
    within.get_by_text("Paragraph 1 and so").first.wait_for()


def count_visible(page: Page, text: str) -> int:
    """How often it is seen: what is not drawn anew yet stays in the page, faded."""
    return sum(one.is_visible() for one in page.get_by_text(text).all())


def read_announcement(page: Page) -> str:
    """What was read out last to who hears the screen."""
    return page.locator('.st-key-citations [role="status"]').inner_text()


def test_passages_and_token_count_come_before_the_first_word(
    page: Page, app: App, slow_model: ScriptedServer
) -> None:
    words = page.locator('[data-testid="stChatMessage"] p', has_text="There are 214 steps")
    chips = page.locator('[class*="st-key-chips_"]')
    is_read = threading.Event()

    def reply(messages: object) -> str:
        is_read.wait(60)
        return STEPS

    slow_model.reply, slow_model.words_per_second = reply, 4.0
    page.goto(f"{app.url}/chat")
    page.get_by_role("heading", name="Ask your documents").wait_for()
    ask(page, "How many steps has the Herring Stair?")
    chips.get_by_text("Reading:").wait_for()
    assert chips.get_by_role("link").count() > 1
    page.get_by_text(re.compile(r"^Reading [\d,]+ tokens$")).wait_for()
    assert words.count() == 0
    is_read.set()
    words.wait_for()
    page.get_by_text("I have").wait_for()
    growing = chips.get_by_role("link").first.bounding_box(), words.bounding_box()
    until(page, chips.get_by_text("Reading:").is_visible)
    answered(page)
    finished = chips.get_by_role("link").first.bounding_box(), words.bounding_box()
    assert [box and box["y"] for box in growing] == [box and box["y"] for box in finished]
    assert chips.get_by_text("Reading:").count() == 0


def test_repeated_questions_start_with_empty_answers(
    page: Page, app: App, slow_model: ScriptedServer
) -> None:
    columns = compare(page, app, "Simple summarize")
    for number in (0, 1):
        begun(columns.nth(number))
    page.get_by_role("button", name="Stop all").click()
    finished(page, 2)
    assert count_visible(page, KEPT) == 2
    before = columns.first.get_attribute("class")
    page.get_by_role("button", name="Compare 2 answers").click()
    until(page, lambda: columns.first.get_attribute("class") != before)
    for number in (0, 1):
        columns.nth(number).get_by_role("button", name="Stop").wait_for()
        begun(columns.nth(number))
    assert count_visible(page, KEPT) == 0
    assert count_visible(page, "The first paragraph cites") == 2
    page.get_by_role("button", name="Stop all").click()
    finished(page, 2)

    page.goto(f"{app.url}/query")  # a single answer
    page.get_by_role("heading", name="Compare").wait_for()
    settled(page)
    page.get_by_role("textbox", name="Question").fill("In what wind does the railway stop?")
    ask_it = page.get_by_role("button", name="Ask", exact=True)
    ask_it.click()
    begun(page.locator("body"))
    stop = page.locator(".st-key-query_stop button")
    stop.click()
    page.get_by_text(KEPT).wait_for()
    page.locator('[class*="st-key-hit_"]').first.wait_for()
    settled(page)
    ask_it.click()
    stop.wait_for()
    begun(page.locator("body"))
    assert (count_visible(page, KEPT), count_visible(page, "The first paragraph cites")) == (0, 1)
    assert sum(hit.is_visible() for hit in page.locator('[class*="st-key-hit_"]').all()) == 0
    stop.click()
    page.get_by_text(KEPT).wait_for()


def test_regenerated_chat_answer_starts_empty_and_announces_end(
    page: Page, app: App, slow_model: ScriptedServer
) -> None:
    page.goto(f"{app.url}/chat")
    page.get_by_role("heading", name="Ask your documents").wait_for()
    settled(page)
    assert read_announcement(page) == ""
    ask(page, "In what wind does the railway stop?")
    until(page, lambda: read_announcement(page) == "Your question is being answered.")
    begun(page.locator("body"))
    page.locator(".st-key-stop button").click()
    page.get_by_text(KEPT).wait_for()
    until(page, lambda: read_announcement(page) == "Stopped.")
    settled(page)
    page.get_by_role("button", name="Try again").click()
    page.locator(".st-key-stop button").wait_for()
    begun(page.locator("body"))
    assert (count_visible(page, KEPT), count_visible(page, "The first paragraph cites")) == (0, 1)
    page.locator(".st-key-stop button").click()
    page.get_by_text(KEPT).wait_for()

    slow_model.reply = lambda messages: STEPS
    ask(page, "How many steps has the Herring Stair?")
    answered(page, 2)
    until(page, lambda: read_announcement(page) == "The answer is ready.")
    page.reload()
    answered(page, 2)
    page.wait_for_timeout(400)  # longer than an element is there before it tells anything
    assert read_announcement(page) == ""  # nothing has ended since
    compare(page, app, "Refine")
    finished(page, 2)
    until(page, lambda: read_announcement(page) == "The answers are ready.")


def test_replaced_element_still_announces_the_end(page: Page) -> None:
    script = "".join((WIDGETS / f"{name}.js").read_text("utf-8") for name in ("base", "citations"))
    page.set_content("<div id='host'></div>")
    texts = page.evaluate(
        """async (script) => {
          const address = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
          const { default: begin } = await import(address);
          const draw = (of, announcement, ended = 0) => {
            const host = document.createElement("div");
            document.getElementById("host").replaceChildren(host);
            const parentElement = host.attachShadow({ mode: "open" });
            parentElement.innerHTML = '<span role="status"></span>';
            const answering = Boolean(announcement) && !ended;
            const data = { answering, of, ended, announcement, open: "", last: "", reveal: "" };
            return [parentElement.firstChild, begin({ data, parentElement, setTriggerValue: () => {} })];
          };
          const longer = () => new Promise((done) => setTimeout(done, 250));
          const [first, end] = draw("a", "It is being answered.");
          end();
          const [second] = draw("a", "It is being answered.");
          const at_once = second.textContent;
          await longer();
          const [third] = draw("a", "It is being answered.");
          const [another] = draw("b", "");
          const texts = [first.textContent, at_once];
          texts.push(second.textContent, third.textContent, another.textContent);
          const [quick] = draw("b", "It was answered at once.", 1);
          await longer();
          return [...texts, quick.textContent];
        }""",
        script,
    )
    assert texts == ["", "", "It is being answered.", "It is being answered.", "", "It was answered at once."]


def test_citation_pressed_while_its_answer_grows_stays_until_the_next(
    page: Page, app: App, slow_model: ScriptedServer
) -> None:
    page.goto(f"{app.url}/chat")
    page.get_by_role("heading", name="Ask your documents").wait_for()
    ask(page, "How high did the water stand in the lower station in the flood of 1953?")
    begun(page.locator("body"))
    page.locator('[data-testid="stChatMessage"] a[href^="#passage-"]').first.click()
    page.locator(".st-key-panel_head").get_by_text("1 ·").wait_for()
    page.locator(".st-key-panel mark").first.wait_for()
    until(page, page.locator(".st-key-stop button").is_visible)  # it grows beside the panel
    page.get_by_text("Paragraph 4 and so").wait_for()
    page.locator(".st-key-stop button").click()
    answered(page)
    panel = page.locator(".st-key-panel")
    until(page, panel.is_visible)
    until(page, lambda: "&p=passage." in page.url)

    settled(page)
    slow_model.reply = lambda messages: "The line is long. " * 150
    ask(page, "How long is the line?")  # whose answer closes the panel of the last one
    page.get_by_text("The line is long.").first.wait_for()
    assert page.locator(".st-key-stop").count() == 1
    assert not panel.is_visible()
    page.locator(".st-key-stop button").click()
    page.locator(".st-key-stop").wait_for(state="detached")


def test_reading_bar_appears_once_and_advances_meanwhile(
    page: Page, app: App, slow_model: ScriptedServer
) -> None:
    text = b"".join(b"The harbour of town %d was built in 1902. " % town for town in range(20_000))
    page.goto(app.url)
    drop(page, payload("towns.txt", text))
    row(page, "towns.txt").get_by_role("button", name="Stop").wait_for()
    page.get_by_role("link", name="Chat").click()
    page.get_by_role("heading", name="Ask your documents").wait_for()
    ask(page, "In what wind does the railway stop?")
    begun(page.locator("body"))
    bar = page.get_by_test_id("stSidebar").get_by_role("progressbar")
    bar.wait_for()
    assert bar.count() == 1
    other = page.context.new_page()
    other.goto(app.url)
    row(other, "towns.txt").get_by_role("button", name="Stop").click()
    bar.wait_for(state="hidden")
    until(page, page.locator(".st-key-stop button").is_visible)  # nobody waits for the answer to end
    row(other, "towns.txt").get_by_role("button", name="Delete towns.txt").click()
    row(other, "towns.txt").get_by_role("button", name="Delete", exact=True).click()
    other.get_by_text("towns.txt was deleted").wait_for()
    page.locator(".st-key-stop button").click()
    page.get_by_text(KEPT).wait_for()
