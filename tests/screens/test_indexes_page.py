"""Indexes: made, renamed, duplicated and deleted; and rebuilt while the old passages answer."""

from __future__ import annotations

import re
from collections.abc import Callable

from lectern.jobs.worker import Worker
from lectern.library import Library
from tests.sample_library import read_files
from tests.screens.conftest import Screen, add_files

BARRELS = (
    "The cellar of the mill holds three hundred barrels. Nobody has counted them since the flood of 1911."
)


def part(screen: Screen, name: str) -> None:
    screen.tab.button_group(key="index_part").set_value(name)
    screen.run()


def figures(screen: Screen) -> dict[str, str]:
    return {metric.label: metric.value for metric in screen.tab.metric}


def picked(screen: Screen) -> str:
    """The name of the open index in the list of the sidebar; "" without a list."""
    if not screen.has("index_picker"):
        return ""
    picker = screen.tab.selectbox(key="index_picker")
    index = picker.index
    assert index is not None
    return picker.options[index]


def opened(screen: Screen) -> Library:
    """The library of the open index, in which nothing is read by itself."""
    library = screen.indexes.get(screen.tab.query_params["i"]).library
    library.worker.close()
    return library


def links(screen: Screen) -> list[str]:
    return [link.value for link in screen.tab.main.get("page_link")]


def test_an_index_is_renamed_duplicated_and_deleted(open_screen: Callable[..., Screen]) -> None:
    screen = open_screen({"tower.txt": "The tower was built in 1871."}).open("indexes")
    assert picked(screen) == ""  # one index needs no list
    assert "i" not in screen.tab.query_params
    screen.tab.text_input(key="new_index_name_0").set_value("Mill")
    screen.press("create_index")
    assert picked(screen) == "Mill"
    assert figures(screen)["Documents"] == "0"
    for shown, empty in (("rebuild", "There are no passages yet."), ("documents", "No documents yet")):
        part(screen, shown)
        assert empty in screen.words()
        assert links(screen) == ["Add documents"]

    library = opened(screen)
    add_files(library, {"mill.txt": BARRELS})
    screen.open("chat").ask("How many barrels does the cellar of the mill hold?")
    assert "three hundred barrels" in screen.transcript()[1]
    (cited,) = screen.groups("chips_")
    assert "mill.txt" in cited
    assert "tower.txt" not in cited
    screen.open("indexes", i=screen.tab.query_params["i"])
    rename = next(field for field in screen.tab.text_input if (field.key or "").startswith("index_name_"))
    assert rename.value == "Mill"
    rename.set_value("Old mill")
    screen.press("rename_index")
    assert picked(screen) == "Old mill"
    screen.press("duplicate_index")
    screen.until(lambda: picked(screen) == "Copy of Old mill")
    read_files(opened(screen))
    screen.run()
    (row,) = screen.data("document_table")["rows"]
    assert (row["name"], row["status"]) == ("mill.txt", "Ready")
    assert len(screen.data("conversations")["items"]) == 1
    for left in (2, 1):
        screen.press("delete_index")
        (told,) = screen.toasts()
        assert re.search(r"[1-9][\d.]*\s[KM]B freed", told)
        assert len(screen.indexes.indexes.all()) == left
        if left == 2:
            screen.press("Old mill")
            assert picked(screen) == "Old mill"
    assert not list((screen.home / "indexes").iterdir())
    assert picked(screen) == ""
    assert "i" not in screen.tab.query_params


def rebuilding(open_screen: Callable[..., Screen]) -> Screen:
    screen = open_screen({"barrels.txt": BARRELS + "\n\n" + "The wheel turned all day. " * 400})
    part(screen.open("indexes"), "rebuild")
    return screen


def test_the_cost_of_a_rebuild_is_displayed_before_it_starts(open_screen: Callable[..., Screen]) -> None:
    screen = rebuilding(open_screen)
    assert "Change a setting to see what a rebuild involves." in screen.words()
    screen.tab.number_input(key="rebuild_overlap_main").set_value(500)
    assert "Passages of 200 tokens cannot overlap by 500." in screen.run().words()
    assert not screen.has("rebuild_now")
    screen.tab.number_input(key="rebuild_overlap_main").set_value(50)
    cost = r"Overlap: 0 → 50 tokens\. That makes about \d+ passages instead of \d+, and takes "
    assert re.search(cost, screen.run().words())
    screen.tab.selectbox(key="rebuild_splitter_main").set_value("section")
    assert "cut at: sentences → headings" in screen.run().words()
    assert not screen.tab.button(key="rebuild_now").disabled


def test_the_old_index_answers_until_it_is_rebuilt(open_screen: Callable[..., Screen]) -> None:
    screen = rebuilding(open_screen)
    library = screen.library
    passages = figures(screen)["Passages"]
    screen.tab.number_input(key="rebuild_size_main").set_value(40)
    assert "Passage length: 200 → 40 tokens." in screen.run().words()
    screen.press("rebuild_now")
    library.worker.close()
    assert "Rebuilding the index" in screen.words()
    assert "You can keep asking questions meanwhile." in screen.words()
    screen.press("stop_rebuild")
    assert "Rebuilding stopped" in screen.run().words()
    screen.open("chat").ask("How many barrels does the cellar of the mill hold?")
    assert "three hundred barrels" in screen.transcript()[1]
    assert f"of {passages} passages" in screen.facts()
    screen.open("indexes")
    assert figures(screen)["Passages"] == passages
    part(screen, "rebuild")
    screen.press("resume_rebuild")
    assert screen.has("stop_rebuild")
    worker = Worker(library.files, library.store, library.embedder, lambda: library.settings.ingest)
    assert worker.rebuild_once()
    screen.run()
    assert int(figures(screen)["Passages"]) > 3 * int(passages)
    assert screen.tab.number_input(key="rebuild_size_main").value == 40
