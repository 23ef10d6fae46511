"""Every screen at both sizes and in both schemes: it fits its window, and axe-core finds nothing serious on
it.

`python -m pytest tests/app --screens` writes the pictures that the documentation shows, and with a folder
after it those of all states. Those taken here come first, so that no questions of other tests are in them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lectern.db.evaluation_scores import Result
from lectern.db.evaluations import Evaluations, Setting
from lectern.schema import Ask
from ragcore.evaluation.question_sets import Question
from ragcore.sql.sqlite import SQLiteDatabase
from tests.app.conftest import SECONDS, App, Watch, let_in, settled
from tests.app.looking import LARGEST, WINDOWS, is_written, looked_at
from tests.app.test_chat import ask_anew
from tests.app.test_compare import compare, finished
from tests.app.test_indexes import name_field, part, rename_box
from tests.app.test_replay import replay, start, whole
from tests.app.test_stage import ALONE, switch

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

ON_A_PAGE = "How high did the water stand in the lower station in the flood of 1953?"


@dataclass(frozen=True)
class Made:
    """Addresses of what is looked at; `answer` is the id of the answer in `chat`."""

    chat: str
    answer: str
    in_a_text: str  # a passage of a text beside its answer
    compared: str
    replayed: str

    def panel(self, kind: str, number: int = 0) -> str:
        return f"{self.chat}&p={kind}.{self.answer}" + (f".{number}" if number else "")


@pytest.fixture(scope="module")
def made(app: App, browser: Browser) -> Iterator[Made]:
    page = browser.new_page(reduced_motion="reduce")
    let_in(page.context)
    page.set_default_timeout(SECONDS)
    ask_anew(page, app, "May I bring a large dog?")
    page.locator('[class*="st-key-chips_"] a', has_text=".html").first.click()
    page.locator(".st-key-panel .cards mark").first.wait_for()
    settled(page)
    in_a_text = page.url
    ask_anew(page, app, ON_A_PAGE)
    page.locator('[class*="st-key-facts_"] a').click()
    page.locator(".st-key-panel_head").wait_for()
    settled(page)
    chat, answer = page.url.split("&p=calls.")
    page.get_by_role("button", name="Close").click()
    page.locator(".st-key-panel").wait_for(state="detached")
    replay(page)
    start(page)
    whole(page)
    replayed = page.url
    compare(page, app, "Refine")
    finished(page, 2)
    compared = page.url
    page.close()
    database = SQLiteDatabase(app.home / "library.db")
    kept = Evaluations(database)
    questions = [
        Question("How many steps has the Herring Stair?", ("214",)),
        Question("Who built the cliff railway?"),
    ]
    chosen = kept.add_set("Two questions", questions)
    for name, mrr in (("Six passages", 1.0), ("Three passages", 0.5)):
        run = kept.begin_run(chosen.id, Setting(name, Ask("", None)), answering=False, model="")
        kept.claim_run(run.id)
        for question in kept.questions(chosen.id):
            kept.add_result(run.id, Result(question, {"hit_rate": 1.0, "mrr": mrr, "ndcg": mrr}, 0.2))
        kept.end_run(run.id, "done")
    yield Made(chat, answer, in_a_text, compared, replayed)
    kept.delete_set(chosen.id)
    database.close()


@dataclass(frozen=True)
class Walk:
    """Goes to the screens and looks at each: with something in it, with something open, with nothing there
    yet."""

    page: Page
    app: App
    empty_app: App
    made: Made
    look: Callable[..., None]

    def see(self, name: str, address: str, shown: str) -> None:
        self.page.goto(address)
        self.page.locator(shown).first.wait_for()
        settled(self.page)
        self.look(name)

    def opened(self, name: str, opener: Locator, inside: Locator) -> None:
        """What `opener` opens, which a change of the window or of the colours may close."""

        def open_it() -> None:
            if not inside.first.is_visible():
                opener.first.click()
                inside.first.wait_for()

        self.look(name, again=open_it)

    def empty(self) -> None:
        self.see("first", self.empty_app.url, ".st-key-try_sample")
        self.see("nothing to ask", f"{self.empty_app.url}/chat", ".st-key-empty_chat a")

    def documents(self) -> None:
        self.see("documents", self.app.url, ".st-key-suggested button")
        paste, dialog = self.page.get_by_role("button", name="Paste text"), self.page.get_by_role("dialog")
        self.opened("dialog", paste, dialog.get_by_role("textbox"))

    def chats(self) -> None:
        page = self.page
        self.see("new chat", f"{self.app.url}/chat", ".st-key-suggested button")
        self.opened(
            "ways of chatting", page.locator(".st-key-mode_popover button"), page.get_by_test_id("stRadio")
        )
        self.see("problem", f"{self.app.url}/chat?c=0123456789abcdef", ".st-key-problem_gone")
        self.see("answer", self.made.chat, '[class*="st-key-facts_"]')
        more = page.get_by_role("button", name="More", exact=True)
        more.click()
        menu, field = page.get_by_role("menu").bounding_box(), page.get_by_test_id("stBottom").bounding_box()
        assert menu is not None
        assert field is not None
        assert menu["y"] + menu["height"] <= field["y"], (
            "what lies behind the field for questions cannot be pressed"
        )
        page.keyboard.press("Escape")
        self.opened("menu", more, page.get_by_role("menu"))

    def panels(self) -> None:
        self.see("passage", self.made.panel("passage", 1), ".st-key-panel .sheet mark")
        self.see("passage of a text", self.made.in_a_text, ".st-key-panel .cards mark")
        self.see("calls", self.made.panel("calls", 1), ".st-key-panel .details")
        self.see("why", self.made.panel("why"), ".st-key-why_cause")
        self.see("sentences", self.made.panel("check"), ".st-key-panel .sentence")

    def queries(self) -> None:
        self.see("query", f"{self.app.url}/query", ".st-key-query_ask")
        self.see("compare", self.made.compared, '[class*="st-key-cost_"]')

    def indexes(self) -> None:
        page = self.page
        self.see("indexes", f"{self.app.url}/indexes", ".st-key-document_table table")
        self.opened("rename", rename_box(page), name_field(page))
        page.keyboard.press("Escape")
        name_field(page).wait_for(state="detached")
        page.locator(".st-key-document_table button.link").first.click()
        page.locator(".st-key-viewer .badge").first.wait_for()
        settled(page)
        self.look("viewer")
        page.locator(".st-key-close_viewer button").click()
        page.locator(".st-key-viewer").wait_for(state="detached")
        part(page, "Rebuild")
        page.get_by_text("Change a setting to see").wait_for()
        self.look("rebuild")
        page.goto(f"{self.app.url}/map")
        page.locator(".st-key-passage_map .root[data-drawn]").wait_for(timeout=120_000)
        self.look("map")

    def evaluations(self) -> None:
        self.see("evaluate", f"{self.app.url}/evaluate", ".st-key-differences")
        self.see("replay", self.made.replayed, ".st-key-replay td .answer")

    def settings(self) -> None:
        page = self.page
        page.goto(f"{self.app.url}/settings")
        page.locator(".st-key-llm_provider").get_by_text("Ollama").click()
        page.get_by_label("Address", exact=True).wait_for()
        page.get_by_text("More", exact=True).click()
        page.get_by_label("Freedom of wording temperature", exact=True).wait_for()
        settled(page)
        self.look("settings")
        for name in ("answers", "reading", "privacy", "prompts"):
            page.goto(f"{self.app.url}/settings?s={name}")
            page.locator(".st-key-settings_page").wait_for()
            settled(page)
            self.look(f"settings {name}")
        switch(page, self.empty_app, on=True)
        self.see("stage", self.empty_app.url, ".st-key-recorded_home button")
        switch(page, self.empty_app, on=False)

    def through(self) -> list[Callable[[], None]]:
        return [
            *(self.empty, self.documents, self.chats, self.panels),
            *(self.indexes, self.queries, self.settings, self.evaluations),
        ]


@pytest.mark.timeout(600)
def test_every_screen_fits_and_axe_reports_nothing_serious(
    browser: Browser, app: App, empty_app: App, made: Made, watch: Watch, pictures: Path | None
) -> None:
    # The page's own policy forbids what axe-core is put in by.
    context = browser.new_context(reduced_motion="reduce", bypass_csp=True)
    let_in(context)
    watch.follow(context)
    page = context.new_page()
    found: list[str] = []

    def look(name: str, again: Callable[[], object] = lambda: None) -> None:
        for size, (width, height) in WINDOWS.items():
            page.set_viewport_size({"width": width, "height": height})
            page.wait_for_timeout(300)  # what is laid out anew moves for a moment
            settled(page)
            again()
            found.extend(looked_at(page, name, size, pictures=pictures, again=again))
        width, height = WINDOWS["desktop"]
        page.set_viewport_size({"width": width, "height": height})

    width, height = WINDOWS["desktop"]
    page.set_viewport_size({"width": width, "height": height})
    for step in Walk(page, app, empty_app, made, look).through():
        step()
    page.close(run_before_unload=False)
    context.close()
    assert not found, "\n".join(found)


def test_a_comparison_is_filmed(browser: Browser, app: App, watch: Watch, pictures: Path | None) -> None:
    """From an empty form to the words in which two answers of a real model differ, as compare.gif.

    Stage mode replays the answers at the pace at which the model wrote them; the film is faster.
    """
    if pictures is None or not is_written(pictures / "compare.gif"):
        pytest.skip("asked for with --screens")
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    let_in(context)
    watch.follow(context)
    page = context.new_page()
    switch(page, app, True)
    film = Film(page)
    page.goto(f"{app.url}/query")
    page.get_by_role("heading", name="Compare").wait_for()
    settled(page)
    film.shoot(hold=1.0)
    for mode in ("Compact", "Refine", "Tree summarize", "Accumulate"):  # the first is on already
        page.locator(".st-key-query_modes").get_by_role("button", name=mode, exact=True).click()
        settled(page)
        film.shoot(hold=0.4)
    box = page.get_by_role("textbox", name="Question")
    for typed in range(4, len(ALONE) + 4, 4):
        box.fill(ALONE[:typed])
        film.shoot()
    page.get_by_role("button", name="Compare 3 answers").click()
    while page.get_by_text("Recorded on").count() < 3:
        film.shoot()
        page.wait_for_timeout(700)
    settled(page)
    film.shoot(hold=4.0)
    pins = page.get_by_role("button", name="Pin")
    pins.first.click()
    page.get_by_text("Pin a second answer").wait_for()
    film.shoot(hold=0.8)
    page.locator('[class*="st-key-column_"]').last.get_by_role("button", name="Pin").click()
    page.locator(".st-key-panel").get_by_text("From Refine to Accumulate").wait_for()
    settled(page)
    page.wait_for_timeout(500)
    film.shoot(hold=4.0)
    film.save(pictures / "compare.gif")
    switch(page, app, False)
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
                small = image.convert("RGB").resize(
                    (width, image.height * width // image.width), Image.Resampling.LANCZOS
                )
            frames.append(small.quantize(64, dither=Image.Dither.NONE))
        shown = [round(1000 * hold) for _shot, hold in self.shots]
        frames[0].save(path, save_all=True, append_images=frames[1:], duration=shown, loop=0, optimize=True)
        assert path.stat().st_size < 10 * LARGEST
