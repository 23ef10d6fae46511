"""For those who use no mouse, or are made ill by movement: a way with the keyboard, and rest."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.app.conftest import ROOT, App, answered, resting, settled, until
from tests.app.test_chat import ask
from tests.app.test_indexes import open_indexes
from tests.app.test_replay import start, whole
from tests.app.test_screens import ON_A_PAGE, Made, made

if TYPE_CHECKING:
    from playwright.sync_api import Page

__all__ = ["made"]

ACCENT = "rgb(11, 107, 95)"  # of the light theme


# Of the element that has the keyboard: what it is, whether a ring or an accented frame around it is seen, and
# whether it is in the window. A field has its frame around it, a few elements up.
FOCUSED = """(accent) => {
  let at = document.activeElement;
  while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
  if (!at || at === document.body) return null;
  let seen = false, up = at;
  for (let level = 0; level < 5 && up && !seen; level++) {
    const style = getComputedStyle(up);
    const outlined = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1;
    seen = level ? style.borderTopColor === accent : outlined;
    up = up.parentElement || up.getRootNode().host;
  }
  const box = at.getBoundingClientRect();
  const within = box.bottom > 0 && box.right > 0 && box.top < innerHeight && box.left < innerWidth
    && box.width > 0;
  const name = at.getAttribute("aria-label") || at.getAttribute("placeholder") || at.innerText || "";
  return { name: name.replace(/\\s+/g, " ").trim(), seen, within };
}"""


def focused(page: Page) -> str:
    """What has the keyboard, which must be seen; "" for nothing."""
    for _ in range(20):  # a frame takes its colour, and a box its place, a moment later
        at = page.evaluate(FOCUSED, ACCENT)
        if at is None:
            return ""
        if at["seen"] and at["within"]:
            return str(at["name"])
        page.wait_for_timeout(30)
    raise AssertionError(f"“{at['name']}” has the keyboard, but nothing shows it: {at}")


def tab_to(page: Page, name: str, key: str = "Tab", most: int = 60) -> list[str]:
    """Press `key` until what begins or ends so has the keyboard; gives what had it on the way."""
    passed: list[str] = []
    while len(passed) < most:
        page.keyboard.press(key)
        passed.append(focused(page))
        if passed[-1].startswith(name) or passed[-1].endswith(name):
            return passed
    raise AssertionError(f"{key} does not lead to “{name}”, but to {[stop[:50] for stop in passed]}")


LOSE_FOCUS = """() => {
  let at = document.activeElement;
  while (at.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
  at.blur();
}"""


def test_keyboard_alone_goes_from_question_to_page_and_onwards(page: Page, app: App) -> None:
    page.goto(app.url)
    page.locator(".st-key-suggested button").first.wait_for()
    settled(page)
    passed = tab_to(page, "Ask your documents")
    wanted = ["Skip to main content", "Documents", "Chat"]
    wanted += ["Compare", "Modes", "Map", "Indexes", "Evaluate", "Settings", "New chat"]
    # in the order of the screen
    assert [name for stop in passed for name in wanted if stop.endswith(name)] == wanted
    page.keyboard.type(ON_A_PAGE)
    page.keyboard.press("Enter")
    answered(page)
    until(page, lambda: focused(page) == "Ask a follow-up")

    chip = page.locator('[class*="st-key-chips_"] a').last.inner_text()
    tab_to(page, " ".join(chip.split()), "Shift+Tab")
    page.keyboard.press("Enter")
    page.locator(".st-key-panel .sheet mark").first.wait_for()
    until(page, lambda: focused(page).endswith("Close"))
    tab_to(page, "Next page", most=3)
    page.keyboard.press("Enter")
    tab_to(page, "Back to the passage", most=3)
    page.keyboard.press("Enter")  # it goes away, the keyboard stays beside it
    until(page, lambda: focused(page) in ("Next page", "Previous page"))
    page.keyboard.press("Escape")
    page.locator(".st-key-panel").wait_for(state="detached")
    until(page, lambda: focused(page) == " ".join(chip.split()))

    tab_to(page, "More", most=20)
    page.keyboard.press("Enter")
    page.get_by_role("menu").wait_for()
    for entry in ("Keep as a note", "Edit question"):
        until(page, lambda entry=entry: focused(page) == entry)
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Escape")
    until(page, lambda: focused(page) == "More")
    tab_to(page, "Details", most=2)
    page.keyboard.press("Enter")
    page.evaluate(LOSE_FOCUS)  # as when the buttons are drawn anew before the panel is there
    page.locator(".st-key-panel .head").first.wait_for()
    until(page, lambda: focused(page).endswith("Close"))
    tab_to(page, "1 Answers", most=3)
    page.keyboard.press("Enter")
    page.locator(".st-key-panel .details").wait_for()
    until(page, lambda: "Answers" in focused(page))
    page.keyboard.press("Escape")
    page.locator(".st-key-panel").wait_for(state="detached")
    until(page, lambda: focused(page) == "Details")

    tab_to(page, "New chat", "Shift+Tab")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Ask your documents").wait_for()
    settled(page)
    tab_to(page, "Settings", "Shift+Tab")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Settings").wait_for()
    settled(page)
    page.get_by_role("radio", name="None").wait_for()  # fields come later than the headings above them
    tab_to(page, "None")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")  # behind On this computer
    page.keyboard.press("Space")
    page.get_by_label("Address", exact=True).wait_for()
    tab_to(page, "Address", most=3)


def test_keyboard_focus_stays_or_returns_after_opening(page: Page, app: App, made: Made) -> None:
    open_indexes(page, app)
    name = page.locator(".st-key-document_table button.link").first.inner_text()
    tab_to(page, "Name")
    page.keyboard.press("Enter")
    page.locator('th[aria-sort="ascending"]').wait_for()
    settled(page)
    until(page, lambda: focused(page) == "Name ↑")
    page.keyboard.press("Enter")
    page.locator('th[aria-sort="descending"]').wait_for()
    settled(page)
    name = page.locator(".st-key-document_table button.link").first.inner_text()
    tab_to(page, f"More about {name}")
    page.keyboard.press("Enter")
    tab_to(page, "Delete", most=4)
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Keep").wait_for()
    until(page, lambda: focused(page) == "Delete")
    page.keyboard.press("Escape")
    until(page, lambda: focused(page) == f"More about {name}")
    assert page.locator("tr.actions").count() == 0

    tab_to(page, name, "Shift+Tab", most=2)
    page.keyboard.press("Enter")
    page.locator(".st-key-viewer .badge").first.wait_for()
    settled(page)
    tab_to(page, "Passage 1")
    page.keyboard.press("Enter")
    page.locator('.st-key-viewer .badge[aria-pressed="true"]').wait_for()
    settled(page)
    until(page, lambda: focused(page) == "Passage 1")
    page.get_by_role("link", name="Map").press("Enter")
    page.locator(".st-key-passage_map .root[data-drawn]").wait_for(timeout=120_000)
    tab_to(page, page.locator(".st-key-passage_map canvas").get_attribute("aria-label") or "")
    page.keyboard.press("+")
    tab_to(page, "Show all", "Tab")
    page.keyboard.press("Enter")

    tab_to(page, "Rename, copy, export or delete: ", "Shift+Tab")
    for opened in ("Rename", "Delete"):
        page.keyboard.press("Enter")
        until(page, lambda: focused(page) == "Pin")
        tab_to(page, opened, most=4)
        page.keyboard.press("Enter")
        expected = "Conversation name" if opened == "Rename" else "Delete"
        page.get_by_label("Conversation name").or_(page.get_by_text("Delete this conversation?")).wait_for()
        until(page, lambda expected=expected: focused(page) == expected)
        page.keyboard.press("Escape")
        until(page, lambda: focused(page).startswith("Rename, copy, export or delete"))

    page.goto(app.url)
    page.locator(".st-key-suggested button").first.wait_for()
    settled(page)
    tab_to(page, "Paste text")
    page.keyboard.press("Enter")
    page.get_by_role("dialog").get_by_role("textbox").first.wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="detached")
    tab_to(page, "More")
    page.keyboard.press("Enter")
    until(page, lambda: focused(page) not in ("", "More"))  # the first of the ways behind it
    tab_to(page, "Delete visitor-questions-2025.html")
    page.keyboard.press("Enter")
    until(page, lambda: focused(page) == "Delete")
    page.keyboard.press("Escape")
    until(page, lambda: focused(page) == "Delete visitor-questions-2025.html")


def test_on_a_phone_an_answer_and_its_panel_are_in_reach(page: Page, app: App, made: Made) -> None:
    page.set_viewport_size({"width": 240, "height": 700})  # too narrow for the names of the sample
    page.goto(made.chat)
    chip = page.locator('[class*="st-key-chips_"] a', has_text="history-of-the-railway.pdf").first
    chip.wait_for()
    name, at = chip.locator("em"), chip.evaluate(LAST_WORDS)
    assert name.evaluate("el => el.scrollWidth > el.clientWidth")  # the name is cut
    assert at["text"].strip().startswith("-railway.pdf\N{NO-BREAK SPACE}· p. ")
    assert at["left"] >= at["nameRight"]
    assert at["right"] <= at["chipRight"] <= 240
    assert "history-of-the-railway.pdf" in (chip.get_attribute("title") or "")

    page.set_viewport_size({"width": 390, "height": 844})
    settled(page)
    beside = page.locator(".st-key-scope_popover, .st-key-mode_popover, .st-key-chat_reading_popover")
    assert len(set(beside.evaluate_all("boxes => boxes.map(box => box.getBoundingClientRect().y)"))) == 1
    assert beside.count() == 3
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_role("menu").wait_for()
    all_finger_high(page)
    page.get_by_role("menuitem", name="Is it in the passages?").click()
    page.locator(".st-key-panel li.sentence").first.wait_for()
    all_finger_high(page)

    page.goto(made.panel("passage", 1))
    page.locator(".st-key-panel .sheet mark").first.wait_for()
    all_finger_high(page)
    close = page.locator(".st-key-close_panel button")
    box, inner = close.bounding_box(), close.locator("p").bounding_box()
    assert box is not None
    assert inner is not None
    assert box["x"] + box["width"] + 4 <= 390  # a ring of two pixels, two away from what it is around
    assert box["x"] + box["width"] - (inner["x"] + inner["width"]) >= 6
    for key in ("Tab", "Shift+Tab"):  # neither leads out of the panel, which covers the page
        for _ in range(5):
            page.keyboard.press(key)
            page.wait_for_function("document.querySelector('.st-key-panel').contains(document.activeElement)")
    close.click()
    page.locator(".st-key-panel").wait_for(state="detached")
    page.get_by_test_id("stExpandSidebarButton").click()
    page.get_by_role("button", name=re.compile("^Rename, copy, export or delete: ")).first.click()
    all_finger_high(page)


def all_finger_high(page: Page) -> None:
    settled(page)
    assert page.evaluate(TOO_LOW) == []


# Marks within a line are as high as it is, and a field of Streamlit's stands in a higher box that is pressed
# with it.
TOO_LOW = """() => {
  const low = [], links = 'p a[href^="#passage-"], a[href^="#calls-"], a[href="#stMain"]';
  const inLine = links + ", .stTextInput input, textarea";
  const look = (root) => root.querySelectorAll("*").forEach((el) => {
    if (el.shadowRoot) look(el.shadowRoot);
    const free = el.matches(inLine) && !el.closest('[class*="st-key-chips_"]');
    if (free || !el.matches("button, a[href], summary, input, textarea")) return;
    const { width, height } = el.getBoundingClientRect();
    const seen = el.checkVisibility({ visibilityProperty: true });
    if (seen && width && height && height < 43.5) low.push(el.outerHTML.slice(0, 120));
  });
  look(document);
  return low;
}"""

LAST_WORDS = """chip => {
  const range = document.createRange(), name = chip.querySelector("em");
  range.setStartAfter(name);
  range.setEndAfter(chip.lastChild);
  const box = range.getBoundingClientRect();
  return { text: range.toString(), left: box.left, right: box.right,
    nameRight: name.getBoundingClientRect().right - 1, chipRight: chip.getBoundingClientRect().right };
}"""


DRAWN_APART = """async (code) => {
  const { default: draw } = await import(URL.createObjectURL(new Blob([code], { type: "text/javascript" })));
  const [own, container, gone] = [1, 2, 3].map(() => document.createElement("div"));
  container.className = "st-key-figures";
  draw({ data: { key: "figures", name: "Setting" }, parentElement: own });
  draw({ data: { key: "figures", name: "Gone" }, parentElement: gone })();
  container.append(own, gone);
  for (let frame = 0; frame < 3; frame++) await new Promise(requestAnimationFrame);
  return [container.tabIndex, container.ariaLabel];
}"""


def test_on_a_phone_evaluate_and_settings_are_in_reach(page: Page, app: App, made: Made) -> None:
    """With the keyboard and with a finger."""
    script = (ROOT / "lectern/ui/widgets/wide_table.js").read_text("utf-8")
    # a table may be drawn before its container
    assert page.evaluate(DRAWN_APART, script) == [0, "Setting"]

    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{app.url}/evaluate")
    table = page.locator(".st-key-differences")
    table.locator("table").wait_for()
    settled(page)
    until(page, lambda: table.get_attribute("tabindex") == "0")
    assert table.get_attribute("role") == "region"
    name = table.get_attribute("aria-label") or ""
    assert name.startswith("Figure, First")
    assert table.evaluate("el => el.scrollWidth > el.clientWidth")
    tab_to(page, name)
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    until(page, lambda: table.evaluate("el => el.scrollLeft") > 0)
    page.get_by_role("button", name="New setting").focus()
    page.keyboard.press("Enter")
    until(page, lambda: focused(page) == "Name")
    page.keyboard.type("By keys")
    tab_to(page, "Save the setting", most=15)
    page.keyboard.press("Tab")  # what is opened lies at the end of the page
    until(page, lambda: "Measure" in focused(page))
    page.get_by_role("button", name="New setting").focus()
    for wanted in ("New setting", "Name"):  # closed, and opened again
        page.keyboard.press("Enter")
        page.get_by_label("Name", exact=True).wait_for(state="visible" if wanted == "Name" else "detached")
        until(page, lambda wanted=wanted: wanted in focused(page))
    tab_to(page, "Save the setting", most=15)
    page.keyboard.press("Enter")
    page.get_by_text("By keys: ").wait_for()
    until(page, lambda: "New setting" in focused(page))
    page.locator('[class*="st-key-drop_setting_"] button').click()
    page.get_by_text("By keys: ").wait_for(state="detached")
    chart = page.get_by_test_id("stVegaLiteChart").first  # what it draws stands in the table; it says so
    assert "table above" in chart.evaluate(
        "el => el.outerHTML + (el.closest('[data-testid=stElementContainer]') || el).outerHTML"
    )

    page.get_by_text("View questions").click()
    page.get_by_role("button", name="Edit").first.click()
    page.get_by_label("Documents that answer it", exact=True).wait_for()
    page.get_by_role("button", name="New setting").click()
    page.locator(".st-key-setting_balance").get_by_text("Default").wait_for()
    settled(page)
    assert page.evaluate(SMALL) == []
    page.goto(f"{app.url}/settings")
    page.locator(".st-key-llm_provider").get_by_text("Other").click()
    page.get_by_text("More", exact=True).click()
    page.get_by_label("Freedom of wording temperature", exact=True).wait_for()
    settled(page)
    assert page.evaluate(SMALL) == []
    for part in ("answers", "reading", "privacy", "prompts"):
        page.goto(f"{app.url}/settings?s={part}")
        page.locator(".st-key-settings_page").wait_for()
        settled(page)
        assert page.evaluate(SMALL) == [], part


# What is pressed with a finger and is less than 44 pixels high, with the room kept around a small sign. Not
# looked at is what lies in the sidebar, which is off the screen, and what comes only with a mouse above it.
SMALL = """() => {
  const elsewhere = ["stSidebar", "stHeaderActionElements", "stElementToolbar"]
    .map((id) => `[data-testid="${id}"]`).join(", ");
  const within = (root) => [...root.querySelectorAll("*")]
    .filter((one) => !one.closest(elsewhere) && one.shadowRoot);
  const roots = (root) => [root, ...within(root).flatMap((host) => roots(host.shadowRoot))];
  return roots(document).flatMap((root) => [...root.querySelectorAll("button, a[href], summary")])
    .filter((one) => !one.closest(elsewhere) && !one.matches('[data-testid="stLogoLink"]'))
    .map((one) => [one, one.getBoundingClientRect().height, getComputedStyle(one, "::after").height])
    .filter(([one, high, around]) => high > 1 && Math.max(high, parseFloat(around) || 0) < 43.5)
    .map(([one, high]) => `${one.getAttribute("aria-label") || one.innerText} ${high}`);
}"""


# Notes whatever moves for longer than an eye can see, in each picture that is drawn.
WATCH_MOVEMENT = """() => {
  window.moved = new Set();
  const within = (root) => [...root.querySelectorAll("*")].map((each) => each.shadowRoot).filter(Boolean);
  const roots = (root) => [root, ...within(root).flatMap(roots)];
  const look = () => {
    for (const one of roots(document).flatMap((root) => root.getAnimations())) {
      const on = one.effect.target, most = one.effect.getComputedTiming().activeDuration;
      if (one.playState !== "running" || most <= 10 || on.closest('[data-testid^="stSpinner"]')) continue;
      const name = one.animationName || one.transitionProperty;
      window.moved.add(`${name} for ${most} ms on ${on.outerHTML.slice(0, 150)}`);
    }
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}"""


HEIGHTS_WHILE_UNFOLDING = """async (unfolds) => {
  const seen = [unfolds.offsetHeight], end = performance.now() + 700;
  unfolds.querySelector("summary").click();
  while (performance.now() < end) {
    await new Promise(requestAnimationFrame);
    seen.push(unfolds.offsetHeight);
  }
  return [...new Set(seen)];
}"""


def test_reduced_motion_stops_every_animation(page: Page, app: App, made: Made) -> None:
    moved: list[str] = []

    def note() -> None:
        moved.extend(page.evaluate("[...window.moved]"))

    page.goto(f"{app.url}/settings")
    page.locator(".st-key-llm_provider").get_by_text("Ollama").click()
    unfolds = page.get_by_test_id("stExpander").filter(has_text="More").first
    for _ in "open", "closed":  # the first time, its fields come one after the other
        unfolds.locator("summary").click()
        resting(page, lambda: unfolds.evaluate("one => one.offsetHeight"))
    heights = unfolds.evaluate(HEIGHTS_WHILE_UNFOLDING)
    assert len(heights) == 2, heights  # folded, and whole at once

    page.on("dialog", lambda dialog: dialog.accept())  # the choice above is not saved
    page.goto(app.url)
    page.locator(".st-key-suggested button").first.wait_for()
    page.evaluate(WATCH_MOVEMENT)
    page.get_by_role("button", name="Paste text").click()
    page.get_by_role("dialog").get_by_role("textbox").first.wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="detached")
    page.get_by_role("link", name="Chat").click()
    page.get_by_role("heading", name="Ask your documents").wait_for()
    ask(page, "How many steps has the Herring Stair?")
    answered(page)
    page.locator('[class*="st-key-chips_"] a').first.click()
    page.locator(".st-key-panel_head").wait_for()
    page.get_by_role("button", name="Close").click()
    page.locator(".st-key-panel").wait_for(state="detached")
    for link in ("Compare", "Indexes", "Evaluate", "Settings"):
        page.get_by_role("link", name=link).click()
        page.get_by_role("heading", name=link).first.wait_for()
        settled(page)
    page.get_by_test_id("stSidebarCollapseButton").get_by_role("button").click()
    page.get_by_test_id("stExpandSidebarButton").wait_for()
    note()
    page.goto(made.replayed)
    page.evaluate(WATCH_MOVEMENT)
    page.locator(".st-key-replay .scroll").wait_for()
    page.get_by_role("button", name="Replay again").click()
    start(page)
    whole(page)
    note()
    assert not moved, "\n".join(sorted(set(moved)))
