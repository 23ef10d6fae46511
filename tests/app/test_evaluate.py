"""Evaluate: questions made or brought along, measured with two settings, and compared one by one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from lectern.db.evaluations import Evaluations
from ragcore.sql.sqlite import SQLiteDatabase
from tests.app.conftest import App, Look, settled, until

if TYPE_CHECKING:
    from playwright.sync_api import Page

TABLE = b"""question,answer,document,pages
How many steps has the Herring Stair?,214,history-of-the-railway.pdf,2
Who built the cliff railway?,Edwin Rusk,history-of-the-railway.pdf,
May I bring my dog?,,visitor-questions-2025.html,
What do five strokes of the bell mean?,clear the line,,
"""

MINE = [  # question, document, page
    ("How many steps has the Herring Stair?", "history-of-the-railway.pdf", "2"),
    ("May I bring my dog?", "visitor-questions-2025.html", ""),
]
WORTH = "the figures are higher than in real use"


@pytest.fixture
def evaluate(page: Page, app: App) -> Iterator[Page]:
    """The Evaluate screen; what is made on it is taken away after the test."""
    page.goto(f"{app.url}/evaluate")
    page.get_by_role("heading", name="Evaluate").wait_for()
    settled(page)
    yield page
    page.goto("about:blank")
    database = SQLiteDatabase(app.home / "library.db")
    kept = Evaluations(database)
    for one in kept.sets():
        kept.delete_set(one.id)
    for setting in kept.settings():
        kept.delete_setting(setting.id)
    database.close()


def upload(page: Page, name: str, data: bytes) -> None:
    page.get_by_test_id("stFileUploaderDropzoneInput").set_input_files(
        {"name": name, "mimeType": "text/csv", "buffer": data}
    )


def figures(page: Page) -> list[list[str]]:
    """The columns of the table of figures, one for each setting."""
    rows = page.locator(".st-key-figures tbody tr")
    heads = page.locator(".st-key-figures th").all_inner_texts()
    cells = [rows.nth(number).locator("td").all_inner_texts() for number in range(rows.count())]
    return [list(column) for column in zip(heads, *cells, strict=False)][1:]


def open_figures(page: Page) -> None:
    """Below the few questions of one's own, where they are not drawn open."""
    page.locator(".st-key-more_figures summary").click(timeout=60_000)
    page.locator(".st-key-figures").wait_for()


def test_question_upload_names_its_bad_line_and_a_good_one_runs(evaluate: Page, look: Look) -> None:
    evaluate.get_by_text("There are no questions yet.").wait_for()
    look(evaluate, "no questions yet")
    upload(evaluate, "mine.csv", TABLE + b",forgotten,,\n")
    evaluate.locator(".st-key-problem_evaluate").get_by_text("mine.csv: line 6 has no question.").wait_for()
    settled(evaluate)

    upload(evaluate, "mine.csv", TABLE)
    evaluate.get_by_text("4 questions · your own").wait_for()
    evaluate.locator(".st-key-problem_evaluate").wait_for(state="detached")
    evaluate.get_by_text("View questions").click()
    evaluate.get_by_text("visitor-questions-2025.html", exact=True).wait_for()
    evaluate.locator('[class*="st-key-remove_"] button').last.click()
    evaluate.get_by_text("3 questions · your own").wait_for()
    evaluate.locator('[class*="st-key-edit_"] button').last.click()
    evaluate.get_by_label("Right answers, one per line").fill("Dogs on a lead")
    evaluate.get_by_label("Right answers, one per line").press("Control+Enter")
    settled(evaluate)
    evaluate.locator('[class*="st-key-q_save_"] button').click()
    evaluate.get_by_text("right answer: Dogs on a lead").wait_for()

    evaluate.locator(".st-key-evaluate_answering label").first.click()
    settled(evaluate)
    evaluate.locator(".st-key-measure button").click()
    until(evaluate, lambda: evaluate.locator('[class*="st-key-own_result_"]').count() == 3, 60)
    until(evaluate, lambda: evaluate.locator('[class*="st-key-bar_"]').count() == 0, 60)
    settled(evaluate)
    evaluate.get_by_test_id("stToast").wait_for(state="detached")
    look(evaluate, "own questions measured")
    open_figures(evaluate)
    (row,) = figures(evaluate)
    assert row[0] == "As in Settings"
    assert float(row[1].split()[0]) > 0.5


def test_typed_questions_are_measured_and_figures_need_no_scroll(evaluate: Page) -> None:
    for width, height in ((1440, 900), (390, 844)):
        evaluate.set_viewport_size({"width": width, "height": height})
        type_questions(evaluate)
        measure_in_view(evaluate)
        evaluate.get_by_text("View questions").click()
        evaluate.get_by_text("history-of-the-railway.pdf, p. 2", exact=True).wait_for()
        evaluate.get_by_text("visitor-questions-2025.html", exact=True).wait_for()
        evaluate.get_by_role("button", name="New questions").click()
        first = evaluate.get_by_role("textbox", name="Question 1", exact=True)
        until(evaluate, lambda first=first: first.count() == 1 and first.input_value() == "")


def type_questions(evaluate: Page) -> None:
    from playwright.sync_api import expect

    evaluate.get_by_role("button", name="Use these questions").click()
    evaluate.locator(".st-key-problem_evaluate").get_by_text("You have not typed a question yet.").wait_for()
    settled(evaluate)
    for row, (question, document, page) in enumerate(MINE, 1):
        evaluate.get_by_role("textbox", name=f"Question {row}", exact=True).fill(question)
        # Not with Tab: chosen as fast as a script types, Streamlit's list leaves the fields out of its order.
        choice = evaluate.get_by_label(f"Document with the answer to question {row}", exact=True)
        choice.click()
        settled(evaluate)
        choice.fill(document)
        evaluate.get_by_role("option", name=document).click()
        expect(choice).to_have_value(document)
        settled(evaluate)
        evaluate.get_by_label(f"Page with the answer to question {row}", exact=True).fill(page)
    # the last field is still being typed in
    evaluate.get_by_role("button", name="Use these questions").click()
    evaluate.get_by_text("2 questions · your own").wait_for()
    evaluate.locator(".st-key-problem_evaluate").wait_for(state="detached")
    settled(evaluate)


def measure_in_view(evaluate: Page) -> None:
    from playwright.sync_api import expect

    measure = evaluate.locator(".st-key-measure button")
    expect(measure).to_be_in_viewport(ratio=1)
    measure.click()
    results = evaluate.locator('[class*="st-key-own_result_"]')
    until(evaluate, lambda: results.count() == 2, 60)
    until(evaluate, lambda: evaluate.locator('[class*="st-key-bar_"]').count() == 0, 60)
    settled(evaluate)
    expect(measure).to_be_in_viewport(ratio=1)  # nothing was scrolled
    expect(
        evaluate.get_by_text(re.compile(r"^Passage found: 2 of 2\. Answered: \d of 2\.$"))
    ).to_be_in_viewport()
    assert "history-of-the-railway.pdf, p. 2" in results.first.inner_text()
    assert "214" in results.first.inner_text()
    open_figures(evaluate)
    assert evaluate.locator(".st-key-figures").evaluate("el => el.scrollWidth <= el.clientWidth")
    assert evaluate.get_by_text(WORTH).count() == 0
    (row,) = figures(evaluate)
    assert float(row[1].split()[0]) == 1


def test_two_settings_compare_by_question_and_survive_reload(evaluate: Page, app: App, look: Look) -> None:
    from playwright.sync_api import expect

    evaluate.get_by_label("How many", exact=True).fill("6")
    evaluate.get_by_label("How many", exact=True).press("Enter")
    settled(evaluate)
    evaluate.get_by_role("button", name="Make questions from my documents").click()
    evaluate.get_by_text("6 questions · made from your documents").wait_for(timeout=60_000)
    settled(evaluate)

    for _drawn_anew in range(2):  # what has not been opened yet keeps what it is to begin with
        evaluate.locator(".st-key-evaluate_answering label").first.click()
        settled(evaluate)
    evaluate.get_by_role("button", name="More", exact=True).click()
    until(
        evaluate,
        lambda: evaluate.get_by_label("Name", exact=True).input_value().startswith("From my documents, "),
    )
    evaluate.keyboard.press("Escape")
    save = evaluate.get_by_role("button", name="Save the setting")
    for width, height in ((390, 844), (1440, 900)):
        evaluate.set_viewport_size({"width": width, "height": height})
        evaluate.get_by_role("button", name="New setting").click()
        until(evaluate, lambda: evaluate.locator(".st-key-setting_top_k input").input_value() == "6")
        evaluate.locator(".st-key-setting_balance [aria-checked=true]").get_by_text("Default").wait_for()
        expect(save).to_be_in_viewport(ratio=1)
        if width == 390:
            evaluate.keyboard.press("Escape")
            save.wait_for(state="detached")
    look(evaluate, "new setting")
    evaluate.locator(".st-key-setting_top_k input").fill("1")
    evaluate.locator(".st-key-setting_top_k input").press("Enter")
    settled(evaluate)
    evaluate.get_by_label("Name", exact=True).fill("One passage")
    save.click()
    evaluate.get_by_text("One passage: 1 passage · Compact").wait_for()
    settled(evaluate)
    evaluate.get_by_role("button", name="New setting").click()
    # as in Settings, once more
    until(evaluate, lambda: evaluate.locator(".st-key-setting_top_k input").input_value() == "6")
    until(evaluate, lambda: evaluate.get_by_label("Name", exact=True).input_value() == "")
    evaluate.keyboard.press("Escape")
    save.wait_for(state="detached")
    evaluate.locator(".st-key-measure button").click()
    evaluate.locator(".st-key-differences").wait_for(timeout=90_000)
    until(evaluate, lambda: evaluate.locator('[class*="st-key-bar_"]').count() == 0, 90)
    settled(evaluate)
    evaluate.get_by_text("The search finds its own sentences").wait_for()
    open_figures(evaluate)  # which are folded, because they say little
    assert [row[0] for row in figures(evaluate)] == ["One passage", "As in Settings"]
    names = evaluate.locator(".st-key-figures td:first-child").all_inner_texts()
    assert names == [
        "Passage found hit rate",
        "Near the top MRR",
        "Good order nDCG",
        "Answered",
        "True to the passages faithfulness",
        "Fits the question relevancy",
        "Seconds",
    ]
    evaluate.get_by_text("questions, a right passage was among those found.").wait_for()
    assert evaluate.get_by_text(WORTH).count() == 1
    one, usual = (float(row[1].split()[0]) for row in figures(evaluate))
    assert 0 <= one <= usual <= 1
    evaluate.locator(
        '[data-testid="stVegaLiteChart"] canvas, [data-testid="stVegaLiteChart"] svg'
    ).first.wait_for()

    choose_kind(evaluate)
    found_first = evaluate.locator('[class*="st-key-pair_"]', has_text="1.00 → 1.00").first
    found_first.get_by_role("button").click()
    evaluate.get_by_text("Expected: ").wait_for()
    # the right passage, of each setting
    until(evaluate, lambda: found_first.locator(".stMarkdownBadge").count() == 2)
    settled(evaluate)
    before, address = found_first.inner_text(), evaluate.url
    assert "&p=compare." in address

    evaluate.reload()
    evaluate.get_by_text("Expected: ").wait_for()
    settled(evaluate)
    assert evaluate.url == address
    until(evaluate, lambda: found_first.inner_text() == before)


def choose_kind(page: Page) -> None:
    page.locator('[class*="st-key-compare_kind_"]').get_by_text("Same (").click()
    settled(page)
