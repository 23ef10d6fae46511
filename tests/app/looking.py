"""What is seen of a screen: whether it fits its window, what axe-core finds on it, and its pictures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias
from zlib import crc32

from tests.app.conftest import until
from tests.documentation import SCREENS, shown_pictures

if TYPE_CHECKING:
    from playwright.sync_api import Page

Size: TypeAlias = Literal["desktop", "phone"]
Scheme: TypeAlias = Literal["light", "dark"]

WINDOWS: dict[Size, tuple[int, int]] = {"desktop": (1440, 900), "phone": (390, 844)}
SCHEMES: tuple[Scheme, ...] = ("light", "dark")
LARGEST = 250_000  # bytes of a picture
# In a picture, the library is in the folder of a person and not of a test.
NEUTRAL_PATHS = r"""() => {
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text; (text = texts.nextNode()); )
    text.data = text.data.replace(/\/\S+\/library\b/, "/home/ada/.local/share/lectern");
}"""


def looked_at(
    page: Page,
    name: str,
    size: Size,
    *,
    pictures: Path | None,
    again: Callable[[], object] = lambda: None,
) -> list[str]:
    """What is wrong with the screen as it is, in light or in dark: on one size of the window in one of them,
    on the other in the other. `pictures`: the folder for its pictures, which are taken in both. `again` opens
    what closes itself in between."""
    page.mouse.move(0, 0)
    width = WINDOWS[size][0]
    needed = page.evaluate("document.documentElement.scrollWidth")
    found = [f"{name}: {needed} pixels wide, the window {width}"] if needed > width else []
    chosen = (crc32(name.encode()) + (size == "desktop")) % 2
    looked = SCHEMES if pictures else SCHEMES[chosen : chosen + 1]
    for scheme in looked:
        if scheme == "dark":
            to_scheme(page, "dark")
            again()
        found += _lasting(page, f"{name}, {scheme}", ["color-contrast"] if scheme != looked[0] else [])
        if pictures is not None:
            path = pictures / f"{name.replace(' ', '-')}-{size}-{scheme}.webp"
            if is_written(path):
                _save(page, path)
    to_scheme(page, "light")
    return found


def is_written(picture: Path) -> bool:
    """Whether this picture is wanted: in docs/screens only those that a page of the documentation shows."""
    return picture.parent != SCREENS or picture in shown_pictures()


def at_both_sizes(page: Page, name: str, *, pictures: Path | None) -> list[str]:
    """As `looked_at`, of a state that is not reached twice; the window has its own size again after it. On a
    large window only its pictures are taken: what it shows is looked at on the small one."""
    before = page.viewport_size
    found: list[str] = []
    for size, (width, height) in WINDOWS.items():
        if pictures or size == "phone":
            page.set_viewport_size({"width": width, "height": height})
            page.wait_for_timeout(300)  # what is laid out anew moves for a moment
            found += looked_at(page, name, size, pictures=pictures)
    if before:
        page.set_viewport_size(before)
    return found


def _lasting(page: Page, name: str, rules: Sequence[str] = ()) -> list[str]:
    if not violations(page, name, rules):
        return []
    page.wait_for_timeout(1000)  # a screen that is being drawn has the colours of two
    return violations(page, name, rules)


def violations(page: Page, name: str, rules: Sequence[str] = ()) -> list[str]:
    """What axe-core calls serious or critical on the screen as it is; all of its rules without `rules`."""
    from axe_playwright_python.sync_playwright import Axe

    options: dict[str, Any] = {"resultTypes": ["violations"], "rules": {"target-size": {"enabled": True}}}
    if rules:
        options = {"resultTypes": ["violations"], "runOnly": {"type": "rule", "values": list(rules)}}
    if not page.evaluate("'axe' in window"):
        page.evaluate(Axe().axe_script)
    # What is covered in part is pressed once the menu is closed, or the panel is scrolled.
    covering = page.get_by_role("menu").count() > 0
    return [
        f"{name}: {rule['id']}: {node['target'][-1]} {node['html'][:120]}\n    {node['failureSummary']}"
        for rule in page.evaluate("options => axe.run(options).then((found) => found.violations)", options)
        for node in rule["nodes"]
        if rule["impact"] in ("serious", "critical")
        and not (
            (covering or "st-key-passage" in str(node["target"]))
            and "partially obscured" in node["failureSummary"]
        )
    ]


def to_scheme(page: Page, scheme: Scheme) -> None:
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    # The form of the browser's own scroll bars and fields tells that the screen has taken it up.
    until(
        page,
        lambda: page.get_by_test_id("stApp").evaluate("el => getComputedStyle(el).colorScheme") == scheme,
    )


def _save(page: Page, path: Path) -> None:
    from PIL import Image

    page.evaluate(NEUTRAL_PATHS)
    page.wait_for_timeout(700)
    path.parent.mkdir(parents=True, exist_ok=True)
    with Image.open(BytesIO(page.screenshot())) as shot:
        shot.convert("RGB").save(path, quality=80, method=6)
    assert path.stat().st_size < LARGEST
