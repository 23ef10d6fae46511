"""Pages that nest more deeply than a parser has time for."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from ragcore.readers.base import ReadOptions
from ragcore.readers.registry import read_file
from ragcore.readers.web.html_text import html_text
from ragcore.readers.web.nesting import MAX_ATTRIBUTES, MAX_DEPTH, MAX_STYLES, flatten

COUNT = 200_000


@pytest.mark.parametrize(
    "page",
    [
        "<div>" * COUNT + "deep words",
        "<div>" * COUNT + "deep words" + "</div>" * COUNT,
        "<x-y/>" * COUNT + "deep words",
        "deep words<svg>" + "<td>" * COUNT,
        "deep words<svg><title>" + "<div>" * COUNT,
        "".join(f"<font size={number}><p>" for number in range(COUNT // 4)) + "deep words",
        "<table><tr><td>" * (COUNT // 40) + "deep words",
        "<!-- " * COUNT + "-->deep words",
        '<a b="' * COUNT + '">deep words',
        "<p " + " ".join(f"a{number}=1" for number in range(COUNT)) + ">deep words",
    ],
    ids=["open", "closed", "custom", "svg", "title", "styles", "tables", "comments", "quotes", "attributes"],
)
def test_a_page_is_read_in_seconds_however_deeply_it_nests(page: str, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(page, "utf-8")
    began = time.process_time()
    assert read_file(path, ReadOptions("page.html")).text.split() == ["deep", "words"]
    assert time.process_time() - began < 20


def test_elements_below_the_depth_limit_lose_only_their_tags() -> None:
    deep = (
        "<div>" * (MAX_DEPTH + 3)
        + "one"
        + "</div>" * 3
        + "<p>two</p>"
        + "</div>" * MAX_DEPTH
        + "<section>three</section>"
    )
    assert (
        flatten(deep)
        == "<div>" * MAX_DEPTH + "one<p>two</p>" + "</div>" * MAX_DEPTH + "<section>three</section>"
    )


def test_styles_end_sooner() -> None:
    assert flatten("<b>" * 100 + "word") == "<b>" * MAX_STYLES + "word"


@pytest.mark.parametrize("tag", ["p", "li", "td", "br", "option"])
def test_elements_that_need_no_end_do_not_nest(tag: str) -> None:
    page = "".join(f"<{tag}>word {number}" for number in range(3 * MAX_DEPTH))
    assert flatten(page) is page


def test_tags_in_comments_and_attribute_values_do_not_count() -> None:
    page = (
        "<!-- <div> -->" * (2 * MAX_DEPTH)
        + "<i title='<div>'>a</i>" * (2 * MAX_DEPTH)
        + "<h1>Lamps</h1><p>Lit.</p>"
    )
    assert flatten(page) == page
    assert html_text(page).endswith("Lamps\n\nLit.")


def test_an_element_keeps_its_first_attributes() -> None:
    names = [f' a{number}="<i>"' for number in range(MAX_ATTRIBUTES)]
    assert flatten(f"<p{''.join(names)} b=1 c='>'>word</p>") == f"<p{''.join(names)}>word</p>"
    assert flatten(f"<p{''.join(names)}>word</p>") == f"<p{''.join(names)}>word</p>"


def test_list_of_many_options_is_read_whole_and_fast() -> None:
    cities = [f"City {number}" for number in range(100_000)]
    began = time.process_time()
    text = html_text(
        f"<p>Where?<select>{''.join(f'<option>{city}</option>' for city in cities)}</select>Then on."
    )
    assert [line for line in text.split("\n") if line] == ["Where?", *cities, "Then on."]
    assert time.process_time() - began < 20


def test_short_lists_of_options_stay_as_they_are() -> None:
    page = "<select><option>one<option>two</select>" * 500
    assert flatten(page) == page


def test_page_of_many_rules_and_elements_is_read_fast() -> None:
    rules = "".join(f".c{number}{{display:none}}" for number in range(25_000))
    began = time.process_time()
    text = html_text(
        f"<style>.secret{{display:none}}{rules}</style><p "
        f"class=secret>no</p>{'<p class=d>word</p>' * 100_000}"
    )
    assert text.split() == ["word"] * 100_000
    assert time.process_time() - began < 20


def test_a_row_of_a_hundred_thousand_cells_is_read_in_seconds(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text("<table><tr>" + "<td>word" * 100_000)
    began = time.process_time()
    assert read_file(path, ReadOptions("page.html")).text.replace("|", "").split() == ["word"] * 100_000
    assert time.process_time() - began < 20
