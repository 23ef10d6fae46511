"""What nobody else has, on documents that others have written, quoted and by a model; skipped where they are
not.

A handbook and two leaflets as PDF, an essay, and the declaration of human rights in French. By default it is
left to the tests that do the same with the documents of the sample.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from lectern.settings import AppSettings, LLMSettings, write_settings
from tests.app.conftest import App, answered, drop, let_in, settled, started, until, wait_without_page
from tests.app.test_chat import ask_anew, transcript
from tests.app.test_compare import compare, finished
from tests.app.test_everything import agree, choose_in_menu, facts
from tests.app.test_film import choose_way, nodes, open_call
from tests.app.test_replay import cell, replay, start, whole
from tests.app.test_why_and_check import expect, open_why
from tests.needs import SHARED, needs_documents
from tests.scripted_server import ScriptedServer

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

DATA = SHARED / "data"
NORTHWIND = DATA / "azure_northwind" / "data"
FILES = [
    NORTHWIND / "PerksPlus.pdf",
    NORTHWIND / "Benefit_Options.pdf",
    NORTHWIND / "employee_handbook.pdf",
    DATA / "paul_graham" / "paul_graham_essay.txt",
    DATA / "udhr" / "txt" / "fra.txt",
]
QUESTION = "Up to how much does PerksPlus reimburse for fitness activities?"

pytestmark = needs_documents(*FILES)


def cite_passage(messages: Sequence[Mapping[str, Any]]) -> str:
    """What stands in one of the passages it is shown, and what does not."""
    passages = re.findall(r"^\[(\d+)\]([^\[]*)", str(messages[-1]["content"]), re.MULTILINE)
    number = next((number for number, text in passages if "$1000" in text), "1")
    return (
        f"Employees can expense up to $1000 for fitness-related programs. [{number}]\n\nElephants "
        f"painted the opera. [{number}]"
    )


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[App]:
    for app in started(tmp_path_factory.mktemp("real")):
        page = browser.new_page(reduced_motion="reduce")
        let_in(page.context)
        page.goto(app.url)
        drop(page, FILES[0])
        page.locator("li.row", has_text="Ready").wait_for()  # the first document read chooses the embedder
        drop(page, *FILES[1:])
        page.locator("li.row").nth(len(FILES) - 1).wait_for()
        page.close()
        wait_without_page(app)
        yield app


@pytest.fixture(scope="module", params=["quotes", "a model"])
def real(request: pytest.FixtureRequest, library: App) -> Iterator[App]:
    """The application with these documents, without a language model and with a scripted one."""
    with ScriptedServer(cite_passage) as server:
        model = LLMSettings(provider="openai_compatible", base_url=f"{server.url}/v1", model="tiny")
        write_settings(library.home, AppSettings(llm=model if request.param == "a model" else LLMSettings()))
        yield library


@pytest.mark.beside("test_a_citation_opens_the_page_with_its_lines_marked")
def test_first_question_is_answered_with_its_page(page: Page, real: App) -> None:
    ask_anew(page, real, QUESTION)
    assert "$1000" in transcript(page)[-1].replace(",", "")
    chips = [int(chip.split()[0]) for chip in page.locator('[class*="st-key-chips_"] a').all_inner_texts()]
    assert chips == sorted(chips)
    page.get_by_test_id("stChatMessage").last.locator('a[href^="#passage-"]').first.click()
    page.locator(".st-key-panel .sheet mark").first.wait_for()
    assert "PerksPlus.pdf" in page.locator(".st-key-panel_head").inner_text()
    image = page.locator(".st-key-panel .sheet img")
    until(page, lambda: image.evaluate("el => el.naturalWidth") > 300)


@pytest.mark.beside("test_four_modes_share_passages_and_two_differ_by_word")
def test_ways_are_compared_on_the_same_passages(page: Page, real: App) -> None:
    columns = compare(page, real, "Refine", "Tree summarize", question=QUESTION)
    finished(page, 3)
    page.get_by_text(re.compile(r"All from the same \d+ passages")).wait_for()
    assert all("$1000" in text.replace(",", "") for text in columns.all_inner_texts())


@pytest.mark.beside("test_refine_is_a_strip_whose_calls_open_to_their_prompts")
def test_price_comes_before_and_the_film_shows_the_calls_after(page: Page, real: App) -> None:
    page.goto(f"{real.url}/query")
    page.get_by_role("heading", name="Compare").wait_for()
    settled(page)
    page.get_by_role("textbox", name="Question").fill(QUESTION)
    page.get_by_role("textbox", name="Question").press("Control+Enter")
    page.locator(".st-key-query_ways").get_by_text(": ").first.wait_for()
    choose_way(page, "Refine")
    price = page.get_by_text(re.compile(r"^Refine: "))
    price.wait_for()
    expected = re.search(r"(\d+) calls, about [\d,]+ tokens", price.inner_text())
    page.get_by_role("button", name="Ask", exact=True).click()
    answered(page)
    page.locator('[class*="st-key-facts_"] a').click()
    if expected is None:  # without a language model, calls cost nothing
        assert facts(page).startswith("One after another (refine) · ")
        until(page, lambda: nodes(page).count() > 1)
    else:
        assert facts(page).startswith(f"One after another (refine) · {expected.group(1)} calls ·")
        until(page, lambda: nodes(page).count() == int(expected.group(1)))
    assert "PerksPlus" in open_call(page, 1).locator(".part.documents").inner_text()


@pytest.mark.beside("test_every_way_shows_what_it_did_and_a_reload_shows_the_same")
def test_a_conversation_is_replayed_in_other_modes(page: Page, real: App) -> None:
    ask_anew(page, real, QUESTION)
    replay(page)
    start(page)
    whole(page)
    for mode in ("context", "condense_question", "condense_plus_context"):
        assert "$1000" in cell(page, mode, 0).inner_text().replace(",", "")


@pytest.mark.beside("test_everything_is_read_once_the_price_is_agreed_to")
def test_everything_is_read_and_the_coverage_says_so(page: Page, real: App) -> None:
    ask_anew(page, real, QUESTION)
    some = re.search(rf"(\d+) of (\d+) passages, \d+ of {len(FILES)} files", facts(page))
    assert some is not None
    assert int(some.group(1)) < int(some.group(2))
    choose_in_menu(page, "Read everything")
    agree(page, ".st-key-panel", "Read everything")
    answered(page, 2)
    assert f"{some.group(2)} of {some.group(2)} passages, {len(FILES)} of {len(FILES)} files" in facts(page)


@pytest.mark.beside("test_each_document_answers_in_a_table_that_is_saved")
def test_each_document_answers_in_a_table_that_is_saved(page: Page, real: App) -> None:
    ask_anew(page, real, QUESTION)
    choose_in_menu(page, "Ask each document")
    agree(page, ".st-key-panel", "Ask each document")
    answered(page, 2)
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as CSV").click()
    head, *rows = csv.reader(Path(download.value.path()).read_text("utf-8-sig").splitlines())
    assert head == ["Document", "Answer", "Pages", "Found"]
    assert sorted(row[0] for row in rows) == sorted(file.name for file in FILES)
    assert "$1000" in next(row[1] for row in rows if row[0] == "PerksPlus.pdf").replace(",", "")


@pytest.mark.beside("test_why_and_check.py")
def test_why_explains_a_passage_that_was_not_retrieved(page: Page, real: App) -> None:
    ask_anew(page, real, QUESTION)
    open_why(page)
    expect(page, "Tous les êtres humains naissent libres et égaux en dignité et en droits")
    page.locator(".st-key-why_passage").get_by_role("button", name="fra.txt").wait_for()
    expect(page, "A submarine landed on Jupiter")
    page.get_by_text("is in none of your documents.").wait_for()


@pytest.mark.beside("test_why_and_check.py")
def test_each_sentence_is_checked_against_the_passages(page: Page, real: App) -> None:
    ask_anew(page, real, QUESTION)
    choose_in_menu(page, "Is it in the passages?")
    rows = page.locator(".st-key-panel li.sentence")
    rows.first.wait_for()
    settled(page)
    judged = rows.all_inner_texts()
    assert "Supported" in judged[0]
    invented = [text for text in judged if "Elephants" in text]
    assert all("Not in the passages" in text for text in invented)
    assert len(invented) == ("tiny" in facts(page))
    assert "PerksPlus.pdf · p. 3" in rows.first.locator(".place").inner_text()
    rows.first.get_by_role("button").click()
    page.locator(".st-key-panel .sheet mark").first.wait_for()
    settled(page)
    assert "PerksPlus.pdf\np.\N{NO-BREAK SPACE}3" in page.locator(".st-key-panel_head").inner_text()
    assert page.locator(".st-key-panel .bar .label").inner_text().startswith("Page 3 of")
    panel = page.url
    page.reload()
    page.locator(".st-key-panel .sheet mark").first.wait_for()
    assert page.url == panel


@pytest.mark.beside("test_the_run_card_opens_without_any_network")
def test_the_run_card_holds_the_answer_and_its_passages(page: Page, real: App) -> None:
    ask_anew(page, real, QUESTION)
    answer = transcript(page)[-1].split(" [")[0]
    with page.expect_download() as download:
        choose_in_menu(page, "Save this answer with details")
    card = Path(download.value.path()).read_text("utf-8")
    assert QUESTION in card
    assert " ".join(answer.split()[:6]) in " ".join(card.split())
    assert "PerksPlus.pdf" in card
