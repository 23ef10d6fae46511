"""A document's own page: it is searched, read on, and opened at its parts."""

from __future__ import annotations

from collections.abc import Callable

from tests.sample_library import SAMPLE
from tests.screens.conftest import Screen

PDF = next(path for path in sorted(SAMPLE.iterdir()) if path.suffix == ".pdf")
SHEETS = SAMPLE / "passenger-figures.xlsx"
TEXT = next(path for path in sorted(SAMPLE.iterdir()) if path.suffix in (".md", ".txt"))


def open_document(screen: Screen, name: str) -> Screen:
    """From its row in the list."""
    id_ = screen.open("home").row(name)["id"]
    return screen.send("files", "act", {"do": "open", "id": id_})


def search(screen: Screen, words: str) -> list[str]:
    """The places that are found."""
    screen.tab.text_input(key="search_in_document").set_value(words)
    screen.run()
    return [button.label for button in screen.tab.button if (button.key or "").startswith("found_")]


def test_a_search_lists_its_places_and_a_click_marks_one(sample_screen: Screen) -> None:
    screen = open_document(sample_screen, TEXT.name)
    assert TEXT.name in screen.words()
    words = TEXT.read_text("utf-8").split()
    word = max(words[:80], key=lambda some: len(some) if some.isalpha() else 0)
    places = search(screen, word)
    assert f"**{word}**".casefold() in places[0].casefold()
    shown = screen.words("found_0").strip("…").split()
    assert shown
    assert all(part in words for part in shown)  # none is cut
    screen.press("found_0")
    assert [text.casefold() for text, mark in screen.pieces() if mark] == [word.casefold()]


def test_pdf_search_hit_names_its_page_and_links_back(sample_screen: Screen) -> None:
    screen = open_document(sample_screen, PDF.name)
    assert search(screen, "brake")[0].startswith("p\\. ")
    assert [link.page for link in screen.tab.main.page_link if link.label == "Documents"] == [""]


def test_a_long_text_is_read_on_to_its_end(open_screen: Callable[..., Screen]) -> None:
    name = "history of a long road.txt"
    text = ("A line about the road. " * 40 + "\n") * 30 + "Here the road ends."
    screen = open_document(open_screen({name: text}), name)
    read = ""
    while "Next" in screen.buttons():
        read += "".join(piece for piece, _mark in screen.pieces())
        screen.press("Next")
    last = "".join(piece for piece, _mark in screen.pieces())
    assert "Here the road ends." in last
    assert len(read + last) >= len(text)


def test_the_headings_of_a_text_are_its_contents_and_lead_there(open_screen: Callable[..., Screen]) -> None:
    name = "walks by the sea.md"
    parts = [
        "# Walks",
        "```\n# of the script\n```",
        *["A line about the sea. " * 40] * 20,
        "## The *long* way",
        "It begins here.",
    ]
    screen = open_document(open_screen({name: "\n\n".join(parts)}), name)
    assert screen.words("document_contents").split("\n") == ["Contents", "Walks", "The long way"]
    blocks = [block for card in screen.data("passage")["cards"] for block in card["blocks"]]
    assert "# of the script" in str([block["pieces"] for block in blocks if block["kind"] == "code"])
    screen.press("The long way")
    blocks = [block for card in screen.data("passage")["cards"] for block in card["blocks"]]
    (heading,) = [block for block in blocks if block["kind"] == "heading" and block["level"] == 2]
    assert "".join(text for text, _mark in heading["pieces"]) == "The *long* way"
    shown = "".join(text for text, _mark in screen.pieces())
    assert "It begins here." in shown
    assert "# of the script" not in shown


def test_sheet_shows_as_a_grid_and_search_shows_its_text(sample_screen: Screen) -> None:
    screen = open_document(sample_screen, SHEETS.name)
    (grid,) = screen.tab.dataframe
    assert "Month" in grid.value.columns
    assert 28914 in grid.value.to_numpy()
    screen.press("By year")
    assert "Year" in screen.tab.dataframe[0].value.columns
    assert search(screen, "28,914")
    screen.press("found_0")
    assert "28,914" in [text for text, mark in screen.pieces() if mark]
    screen.tab.toggle(key="document_as_text").set_value(False)
    screen.run()
    assert "Month" in screen.tab.dataframe[0].value.columns
