"""Outlines of texts as readers of files give them."""

from __future__ import annotations

import pytest

from ragcore.structure.outline import find_numbered, has_kind, outline_of, read_number


def bodies(text: str, kind: str, number: str) -> list[str]:
    """The text below the first line of each section with this number."""
    found = find_numbered(outline_of(text), kind, number)
    return [text[section.body : section.end].strip() for section in found]


def test_a_section_ends_at_the_next_of_its_level() -> None:
    text = "# Mill\n\n## 1 Fire\n\nIt burned.\n\n### Why\n\nLightning.\n\n## 2 Water\n\nWet.\n\n# End\n\nBye."
    assert bodies(text, "section", "1") == ["It burned.\n\n### Why\n\nLightning."]
    assert bodies(text, "chapter", "2") == ["Wet."]


def test_articles_are_parts_of_chapters_in_any_language() -> None:
    german = "Kapitel 1\n\nArtikel 1. Er gilt.\n\nArtikel 2. Er endet.\n\nKapitel 2\n\nArtikel 3. Er ruht.\n"
    assert bodies(german, "chapter", "1") == ["Artikel 1. Er gilt.\n\nArtikel 2. Er endet."]
    chinese = "第一章 总则\n第1条 本手册适用。\n第2条 应当遵守。\n\n第二章 假期\n第3条 每年十天。\n"
    assert bodies(chinese, "chapter", "1") == ["第1条 本手册适用。\n第2条 应当遵守。"]
    assert len(bodies(chinese, "article", "3")) == 1


def test_a_table_of_contents_is_no_heading() -> None:
    text = "Inhalt\n§ 1 Name\n§ 2 Beitrag\n\n§ 1 Name\nEr heißt See.\n\n§ 2 Beitrag\nEr ist 40 Euro.\n"
    assert bodies(text, "paragraph", "1") == ["Er heißt See."]
    assert bodies(text, "paragraph", "2") == ["Er ist 40 Euro."]
    dotted = (
        "Chapter 1 Sea .... 3\nChapter 2 Land .... 9\n\nChapter 1 Sea\n\nWet.\n\nChapter 2 Land\n\nDry.\n"
    )
    assert bodies(dotted, "chapter", "2") == ["Dry."]


def test_a_running_head_divides_no_chapter() -> None:
    text = "Chapter 1\n\nIt began.\n\nChapter 1\n\nIt went on.\n\nChapter 2\n\nIt ended.\n"
    assert bodies(text, "chapter", "1") == ["It began.\n\nChapter 1\n\nIt went on."]


def test_items_within_a_numbered_section_do_not_end_it() -> None:
    text = "1. Rules\n1. Be kind.\n2. Be calm.\n\n2. Fees\nThey are low.\n\n3. Ends\nIt ends.\n"
    assert bodies(text, "section", "3") == ["It ends."]
    assert "Be calm." in bodies(text, "section", "1")[0]


@pytest.mark.parametrize(
    "text",
    [
        "In chapter 3 of my life I sailed.\nIt was long.",
        "He said, as stated in\nChapter 3 and elsewhere, that it rained.",
        "Chapter 3 describes the sea in all its forms and colours, and it does so at length.",
        "On 3 May we met.\n3 apples were left.",
    ],
)
def test_prose_that_speaks_of_a_chapter_is_no_heading(text: str) -> None:
    assert find_numbered(outline_of(text), "chapter", "3") == []


def test_a_part_may_be_called_by_another_word_but_not_by_any() -> None:
    statutes = outline_of("Article 4. Adults pay 64 euros.\n\nArticle 5. Who does not pay loses the vote.")
    assert [section.number for section in find_numbered(statutes, "clause", "5")] == ["5"]
    assert find_numbered(statutes, "chapter", "5") == []
    assert (has_kind(statutes, "section"), has_kind(statutes, "appendix")) == (True, False)


def test_numbers_in_words_and_in_roman_numerals() -> None:
    assert list(map(read_number, ["XIV", "seven", "siebten", "troisième", "octava", "二十三", "B"])) == [
        "14",
        "7",
        "7",
        "3",
        "8",
        "23",
        "B",
    ]
