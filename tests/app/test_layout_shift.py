"""Nothing moves by itself while a page is drawn: what comes later than the rest has its place from the
beginning."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lectern.db.conversations import Conversations
from lectern.schema import Ask
from ragcore.sql.sqlite import SQLiteDatabase
from tests.app.conftest import App, Watch, let_in, settled, until

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

# of the Layout Instability API, the sum of all shifts; the Web Vitals call 0.1 in the worst second good
MOST = 0.03
PAGES = {  # what is drawn last on each
    "": "li.row",
    "chat": ".st-key-suggested button",
    "query": ".st-key-query_ask button",
    "indexes": ".st-key-document_table th.name",
    "evaluate": ".st-key-make_set button",
    "settings?s=answers": ".st-key-set_top_k input",
    "notes": "h1",
    "replay": "h1",
    "map": "h1",
}
TITLED = {"query", "notes", "replay", "map", "settings?s=answers"}  # pages with a heading of one line
COMPUTED = "map"  # comes once it has been computed, and has the room of what says so until then
SIZES = ((1440, 900), (390, 844))
# a place without what it is for
KEPT = ":is(.st-key-dropzone, .st-key-files, .st-key-document_table):not(:has([data-drawn]))"
SKELETONS = '[data-testid="stMain"] [data-testid="stSkeleton"]:visible'
TOP = """el => {
  const all = document.createRange();
  all.selectNodeContents(el);
  return all.getBoundingClientRect().top;
}"""
MOVED = """
(() => {
  window.moved = 0;
  const add = (list) => list.getEntries().forEach((shift) => {
    if (!shift.hadRecentInput) window.moved += shift.value;
  });
  new PerformanceObserver(add).observe({ type: "layout-shift", buffered: true });
})();
"""


def test_nothing_moves_while_a_page_is_drawn(
    browser: Browser, watch: Watch, app: App, empty_app: App
) -> None:
    """And the headings of all pages stand at one height."""
    context = browser.new_context(reduced_motion="reduce")  # the first page is loaded without a cache
    let_in(context)
    watch.follow(context)
    context.add_init_script(MOVED)
    page = context.new_page()
    moved, heights = {}, {}
    screens = {"first": (empty_app.url, ".st-key-try_sample button")}
    screens |= {path: (f"{app.url}/{path}", last) for path, last in PAGES.items()}
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        for name, (address, last) in screens.items():
            page.goto(address)
            page.locator(last).first.wait_for()
            settled(page)
            until(page, lambda: page.locator(SKELETONS).count() == 0)
            page.wait_for_timeout(300)  # a shift is told of a frame later
            moved[name, width] = page.evaluate("() => window.moved")
            assert page.locator(KEPT).count() == 0
            if name in TITLED:
                heights[name, width] = page.get_by_test_id("stMain").locator("h1").evaluate(TOP)
    context.close()
    unquiet = {at: total for at, total in moved.items() if total > MOST and at[0] != COMPUTED}
    assert not unquiet, moved
    for width, _height in SIZES:
        of_one = [top for (_name, at), top in heights.items() if at == width]
        assert max(of_one) - min(of_one) < 2, heights


def test_on_a_phone_conversations_stay_in_order_in_the_open_menu(page: Page, app: App) -> None:
    elsewhere = Conversations(SQLiteDatabase(app.home / "library.db"))  # as another device has it
    talks = [elsewhere.create() for _ in range(4)]
    answers = [elsewhere.begin(talk.id, Ask(f"Who built number {at}?")) for at, talk in enumerate(talks)]
    titles = page.locator("button.title", has_text="Who built number")  # without those of other tests

    def change_while_the_menu_is_open(at: int) -> list[str]:
        """The answer of the open conversation ends, and an older one goes on; gives what is listed."""
        page.goto(f"{app.url}/chat?c={talks[at].id}")
        writing = page.locator(".st-key-stop")  # the last of the page
        until(
            page, lambda: elsewhere.write(answers[at].id, text="It was", state="writing") and writing.count()
        )
        page.get_by_test_id("stExpandSidebarButton").click()
        page.locator('[data-testid="stSidebar"][data-collapsed="false"]').wait_for()
        titles.nth(len(talks) - 1).wait_for()
        before = titles.all_text_contents()
        for answer in elsewhere.begin(talks[at - 2].id, Ask("And who else?")), answers[at]:
            elsewhere.write(answer.id, text="It was Ada Penrose.", state="done")
        writing.wait_for(state="detached")  # all is drawn anew
        settled(page)
        page.wait_for_timeout(300)
        assert titles.all_text_contents() == before
        return before

    try:
        page.set_viewport_size({"width": 390, "height": 844})
        change_while_the_menu_is_open(3)
        page.get_by_test_id("stSidebarCollapseButton").get_by_role("button").click()
        until(page, lambda: titles.all_text_contents() == [f"Who built number {at}?" for at in (1, 3, 2, 0)])
        last = change_while_the_menu_is_open(2)[-1]
        page.get_by_role("button", name=f"Rename, copy, export or delete: {last}").click()
        page.get_by_role("button", name="Pin", exact=True).click()
        until(page, lambda: titles.all_text_contents() == [f"Who built number {at}?" for at in (0, 1, 3, 2)])
    finally:
        for talk in talks:
            elsewhere.delete(talk.id)
