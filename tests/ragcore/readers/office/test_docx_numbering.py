"""The numbers before a Word document's paragraphs, which its file does not hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragcore.readers.base import ReadOptions
from ragcore.readers.office.docx_numbering import format_number
from ragcore.readers.registry import read_file
from tests.making import make_zip
from tests.needs import SHARED, needs_documents

SPACE = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
LINKS = "http://schemas.openxmlformats.org/package/2006/relationships"
KINDS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
DATA = SHARED / "data" / "nasty" / "docx_ok"


def level(depth: int, form: str, text: str, more: str = "", start: int = 1) -> str:
    return (
        f"<w:lvl w:ilvl='{depth}'><w:start w:val='{start}'/><w:numFmt w:val='{form}'/>{more}<w:lvlText "
        f"w:val='{text}'/></w:lvl>"
    )


def counted(identity: int, *levels: str) -> str:
    return f"<w:abstractNum w:abstractNumId='{identity}'>{''.join(levels)}</w:abstractNum>"


def listed(identity: int, counts: int, more: str = "") -> str:
    return f"<w:num w:numId='{identity}'><w:abstractNumId w:val='{counts}'/>{more}</w:num>"


def style(identity: str, listed: int | None, based: str = "", depth: int = 0) -> str:
    of = (
        f"<w:pPr><w:numPr><w:ilvl w:val='{depth}'/><w:numId w:val='{listed}'/></w:numPr></w:pPr>"
        if listed is not None
        else ""
    )
    return f"<w:style w:styleId='{identity}'><w:basedOn w:val='{based}'/>{of}</w:style>"


def p(text: str, style: str = "", listed: int | None = None, depth: int = 0) -> str:
    of = (
        f"<w:numPr><w:ilvl w:val='{depth}'/><w:numId w:val='{listed}'/></w:numPr>"
        if listed is not None
        else ""
    )
    words = f"<w:r><w:t>{text}</w:t></w:r>" if text else ""
    return f"<w:p><w:pPr><w:pStyle w:val='{style}'/>{of}</w:pPr>{words}</w:p>"


def lines(folder: Path, numbering: str, styles: str, *body: str, note: str = "") -> list[str]:
    """Those of a document of these parts, each a paragraph or a row."""
    parts = {"numbering": numbering, "styles": styles, "footnotes": f"<w:footnote>{note}</w:footnote>"}
    links = "".join(
        f"<Relationship Id='{kind}' Type='{KINDS}/{kind}' Target='{kind}.xml'/>" for kind in parts
    )
    document = f"<w:document xmlns:w='{SPACE}'><w:body>{''.join(body)}</w:body></w:document>"
    path = make_zip(
        folder / "a.docx",
        {
            "[Content_Types].xml": b"<Types/>",
            "word/document.xml": document.encode(),
            "word/_rels/document.xml.rels": (
                f"<Relationships xmlns='{LINKS}'>{links}</Relationships>".encode()
            ),
            **{
                f"word/{kind}.xml": f"<w:{kind} xmlns:w='{SPACE}'>{part}</w:{kind}>".encode()
                for kind, part in parts.items()
            },
        },
    )
    return [line for line in read_file(path, ReadOptions(path.name)).text.split("\n") if line]


CLAUSES = counted(
    0,
    level(0, "upperRoman", "Article %1", "<w:pStyle w:val='Heading1'/>"),
    level(1, "decimal", "%1.%2", "<w:pStyle w:val='Heading2'/><w:isLgl/>"),
    level(2, "lowerLetter", "(%3)"),
) + listed(1, 0)
HEADINGS = style("Heading1", 1) + style("Heading2", 1) + style("Clause", None, "Heading2")


def test_clauses_have_the_numbers_that_word_shows(tmp_path: Path) -> None:
    assert lines(
        tmp_path,
        CLAUSES,
        HEADINGS,
        p("Parties", "Heading1"),
        p("The keeper", "Heading2"),
        p("climbs,", listed=1, depth=2),
        p("lights.", listed=1, depth=2),
        p("The owner", "Heading2"),
        p("pays.", listed=1, depth=2),
        p("Duties", "Heading1"),
        p(" ", "Heading2"),
        p("The lamp", "Clause"),
        p("Not counted", "Heading2", listed=0),
        p("Unnumbered"),
        p("The oil", "Heading2"),
    ) == [
        *("Article I Parties", "1.1 The keeper", "(a) climbs,", "(b) lights.", "1.2 The owner", "(a) pays."),
        *("Article II Duties", "2.2 The lamp", "Not counted", "Unnumbered", "2.3 The oil"),
    ]


def test_lists_that_count_together_go_on_until_one_begins_anew(tmp_path: Path) -> None:
    anew = "<w:lvlOverride w:ilvl='0'><w:startOverride w:val='5'/></w:lvlOverride>"
    other = f"<w:lvlOverride w:ilvl='0'>{level(0, 'upperLetter', '%1)')}</w:lvlOverride>"
    numbering = (
        counted(
            0, level(0, "decimal", "%1.", start=3), level(1, "decimal", "%1.%2", "<w:lvlRestart w:val='0'/>")
        )
        + counted(1, level(0, "bullet", "\uf0b7"))
        + counted(2, "<w:numStyleLink w:val='Plans'/>")
        + "".join(
            [listed(1, 0), listed(2, 0), listed(3, 0, anew), listed(4, 1), listed(5, 0, other), listed(6, 2)]
        )
    )
    body = [
        p("x", listed=each, depth=depth)
        for each, depth in ((1, 0), (1, 1), (2, 0), (2, 1), (3, 0), (3, 0), (1, 0))
    ]
    body += [p("x", listed=each) for each in (4, 5, 6, 99)]
    assert lines(tmp_path, numbering, style("Plans", 1), *body, note=p("x", listed=4)) == [
        *("3. x", "3.1 x", "4. x", "4.2 x", "5. x", "6. x", "7. x"),
        *("- x", "A) x", "2. x", "- x", "- x"),
    ]


def test_a_level_that_was_passed_over_counts_as_begun(tmp_path: Path) -> None:
    numbering = counted(
        0, level(0, "decimal", "%1."), level(1, "decimal", "%1.%2."), level(2, "decimal", "%1.%2.%3.")
    ) + listed(1, 0)
    body = [p("x", listed=1, depth=depth) for depth in (2, 1, 0, 2)]
    assert lines(tmp_path, numbering, "", *body) == ["1.1.1. x", "1.2. x", "2. x", "2.1.1. x"]


def test_rows_of_a_table_have_their_numbers(tmp_path: Path) -> None:
    rows = "".join(
        f"<w:tr><w:tc>{p('place', listed=1)}</w:tc><w:tc>{p(name)}</w:tc></w:tr>"
        for name in ("Harbour", "Cliff Top")
    )
    numbering = counted(0, level(0, "decimal", "%1.")) + listed(1, 0)
    assert [line.split(" ")[0] for line in lines(tmp_path, numbering, "", f"<w:tbl>{rows}</w:tbl>")] == [
        "1.",
        "2.",
    ]


def test_a_level_that_says_very_much_is_cut(tmp_path: Path) -> None:
    numbering = counted(0, level(0, "decimal", "a" * 5_000)) + listed(1, 0)
    assert lines(tmp_path, numbering, "", p("x", listed=1)) == [f"{'a' * 100} x"]


@pytest.mark.parametrize(
    ("form", "numbers"),
    [
        ("lowerLetter", {1: "a", 26: "z", 27: "aa", 54: "bbb", 0: "0", 999_999_999: "999999999"}),
        ("upperRoman", {4: "IV", 9: "IX", 49: "XLIX", 1994: "MCMXCIV", 0: "0"}),
        ("decimalZero", {7: "07", 12: "12"}),
        ("chineseCounting", {3: "三", 10: "十", 12: "十二", 20: "二十", 34: "三十四", 100: "100"}),
        ("none", {1: ""}),
        ("cardinalText", {2: "2"}),
    ],
)
def test_numbers_are_written_as_word_writes_them(form: str, numbers: dict[int, str]) -> None:
    assert {number: format_number(number, form) for number in numbers} == numbers


@needs_documents(DATA)
def test_paragraphs_that_say_their_number_have_that(tmp_path: Path) -> None:
    def of(name: str) -> list[str]:
        return read_file(DATA / name, ReadOptions(name)).text.split("\n")

    said = of("testWORD_numbered_list.docx")
    for line in (
        "6. six",
        "7. seven",
        "a. seven a",
        "e. seven e",
        "f. seven f",
        "a. 2 a",
        "i. 2 a i",
        "2. A ii 2",
        "1.1.1. 1.1.1",
    ):
        assert line in said
    assert said[said.index("1.1. 1.2->1.1  //set the value to 1 and “start new list”") :][:4] == [
        "1.1. 1.2->1.1  //set the value to 1 and “start new list”",
        *("1.2. 1.3 -> 1.2", "2. 2.", "2.1. 2.1"),
    ]
    assert {"1.1 Morning Walk", "2.2 Kitchen Tasks", "- Return the borrowed library novels"} <= set(
        of("docx_lists.docx")
    )
