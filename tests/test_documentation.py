"""No link of the documentation leads nowhere, and every page and picture is reached by one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.documentation import DOCS, PAGES, README, ROOT, SCREENS, shown_pictures

NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
LINK = re.compile(r"\]\((?!\w+:)([^)\s]+)\)")


def text_outside_code(page: Path) -> str:
    return re.sub(r"^```.*?^```$|`[^`\n]+`", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)


def links(page: Path) -> list[tuple[Path, str]]:
    """The files that a page links to or shows, each with the heading after the "#" or ""."""
    targets = [link.partition("#") for link in LINK.findall(text_outside_code(page))]
    return [((page.parent / path).resolve() if path else page, heading) for path, _, heading in targets]


def headings(page: Path) -> set[str]:
    """As GitHub names them: lower case, hyphens for spaces, no punctuation."""
    titles = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_relative_link_leads_to_a_file_and_its_heading(page: Path) -> None:
    broken = [
        f"{file.relative_to(ROOT)}#{heading}"
        for file, heading in links(page)
        if not file.exists() or (heading and heading not in headings(file))
    ]
    assert broken == []


def test_every_page_of_docs_can_be_reached_from_the_readme() -> None:
    reached, coming = set[Path](), [README]
    while coming:
        page = coming.pop()
        if page not in reached:
            reached.add(page)
            coming += [file for file, _ in links(page) if file.suffix == ".md"]
    assert sorted(set(DOCS.rglob("*.md")) - reached) == []


def test_docs_hold_the_pictures_that_a_page_shows_and_no_other() -> None:
    shown = shown_pictures()
    assert shown
    assert sorted(SCREENS.iterdir()) == sorted(shown)
