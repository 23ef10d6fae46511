"""What is particular to one format: tables, notes, order, attachments, wrapped lines."""

from __future__ import annotations

import base64
import importlib.util
import mailbox
import sys
import zipfile
from datetime import date
from email.message import EmailMessage
from html import escape
from pathlib import Path

import pytest

from ragcore import SimpleDirectoryReader
from ragcore.errors import (
    DamagedFileError,
    EncryptedFileError,
    NoTextError,
    RagError,
    TooLargeError,
    UnreadableFileError,
    UnsupportedFileError,
)
from ragcore.readers.base import ReadOptions
from ragcore.readers.pdf.line_joining import Line, paragraphs, text_lines, without_running_lines
from ragcore.readers.registry import read_file
from ragcore.schema import Document
from tests import making

TABLE = [["Station", "Opened", "Height"], ["Cliff Top", 1871, 84], ["Harbour", 1872, 3.5]]


def read(path: Path) -> Document:
    return read_file(path, ReadOptions(path.name))


def in_order(text: str, *parts: str) -> bool:
    places = [text.find(part) for part in parts]
    return -1 not in places and places == sorted(places)


def test_wrapped_lines_of_a_pdf_become_whole_sentences(tmp_path: Path) -> None:
    sentence = (
        "The railway was opened in the spring of the year eighteen hundred and seventy-one by the mayor "
        "of the town, "
        "who had been against it for as long as anybody could remember, and who now gave a long speech "
        "in its praise."
    )
    text = read(
        making.make_pdf(tmp_path / "a.pdf", [f"Chapter One\n{sentence}\nA new paragraph begins here."])
    ).text
    assert sentence in text
    assert "Chapter One\n" in text
    assert text.endswith("\n\nA new paragraph begins here.")


def test_a_sentence_that_goes_on_over_the_page_stays_one(tmp_path: Path) -> None:
    document = read(
        making.make_pdf(
            tmp_path / "a.pdf", ["It was opened by the mayor", "and his band. Then it rained.", "More."]
        )
    )
    assert document.text == "It was opened by the mayor and his band. Then it rained.\n\nMore."
    assert [document.text[page.start : page.end] for page in document.pages][
        1
    ] == "and his band. Then it rained."


def test_headers_and_footers_do_not_tear_sentences_apart(tmp_path: Path) -> None:
    pages = [
        f"By Water\nPart {word} began and it went on\nand on. Then came a rest\nPage {n}"
        for n, word in enumerate("ABCDE")
    ]
    text = read(making.make_pdf(tmp_path / "a.pdf", pages)).text
    assert text.count("By Water") == 1
    assert [f"Page {n}" in text for n in range(5)] == [True, False, False, False, False]
    assert all(f"Part {word} began and it went on and on. Then came a rest" in text for word in "ABCDE")
    few = read(
        making.make_pdf(tmp_path / "b.pdf", [f"{page}\nDay {n}" for n, page in enumerate(pages[:3])])
    ).text
    assert few.count("By Water") == 3
    assert [f"Day {n}" in few for n in range(3)] == [True] * 3


@pytest.mark.parametrize("line", ["By Water Page {}", "- Seite {} von 3 -", "P. {}/3"])
def test_the_numbers_of_three_pages_are_reported_once(line: str) -> None:
    pages = [[Line(line.format(page)), Line(f"What is {word} said.")] for page, word in enumerate("abc", 1)]
    assert without_running_lines(pages) == [pages[0], pages[1][1:], pages[2][1:]]
    assert without_running_lines(pages[:2]) == pages[:2]


def test_multi_line_headers_and_footers_do_not_split_sentences(tmp_path: Path) -> None:
    pages = [
        f"By Water\n{'Ada Penrose' if n % 2 else 'A Railway'}\nPart {word} began and it went on\nand "
        "on. Then came\n"
        f"Printed 3 May 2024\nFor members only\n{n + 312}"
        for n, word in enumerate("ABCDEFGHIJ")
    ]
    text = read(making.make_pdf(tmp_path / "a.pdf", pages)).text
    once = ("By Water", "Ada Penrose", "A Railway", "Printed 3 May 2024", "For members only")
    assert [text.count(line) for line in once] == [1] * len(once)
    assert [f"{n + 312}" in text for n in range(10)] == [True] + [False] * 9
    assert all(f"Part {word} began and it went on and on. Then came" in text for word in "ABCDEFGHIJ")


def test_figures_at_the_edges_of_pages_are_no_page_numbers(tmp_path: Path) -> None:
    pages = [
        f"Invoice {7 * n + 3}\nFor a lamp, and for the oil in it.\nTo be paid: {n}{n + 1}.50 EUR"
        for n in range(1, 9)
    ]
    text = read(making.make_pdf(tmp_path / "a.pdf", pages)).text
    assert [page in text for page in (f"To be paid: {n}{n + 1}.50 EUR" for n in range(1, 9))] == [True] * 8
    assert [page in text for page in (f"Invoice {7 * n + 3}" for n in range(1, 9))] == [True] * 8


@pytest.mark.parametrize(
    "line",
    [
        "Total for room {}: 300 euro",
        "Zimmer {} kostet 300 Euro.",
        "Die Summe steht in Beleg {}.",
        "客室{}的总额为300欧元。",
    ],
)
@pytest.mark.parametrize("edge", [0, 2])
def test_text_that_counts_up_with_the_pages_stays(line: str, edge: int) -> None:
    pages = [[Line(f"What is {word} said."), Line(f"And {word} went.")] for word in "abcde"]
    for number, page in enumerate(pages, 12):
        page.insert(edge, Line(line.format(number)))
    assert without_running_lines(pages) == pages


@pytest.mark.parametrize(
    "line", ["{}", "- {} -", "Handbook 2019 {}", "{} | Handbook 2019", "Handbook {} of 90", "第{}页 共90页"]
)
@pytest.mark.parametrize("edge", [0, 1])
def test_page_numbers_of_headers_and_footers_are_reported_once(line: str, edge: int) -> None:
    pages = [[Line(f"What is {word} said.")] for word in "abcde"]
    body = [page[0] for page in pages]
    for number, page in enumerate(pages, 12):
        page.insert(edge, Line(line.format(number)))
    assert without_running_lines(pages) == [pages[0], *([text] for text in body[1:])]


def test_a_line_of_thousands_of_digits_on_every_page_stays() -> None:
    pages = [[Line("7" * (5000 + page)), Line(f"What is {word} said.")] for page, word in enumerate("abcdef")]
    assert without_running_lines(pages) == pages


def test_lists_and_tables_of_a_pdf_keep_their_lines() -> None:
    page = "Contents of the box:\n1. a lamp\n2. a rope\nStation 1871 84\nHarbour 1872 3"
    assert paragraphs(text_lines(page)) == page


def test_title_of_the_next_list_is_not_part_of_the_item_above() -> None:
    page = (
        "• Assess and update sales policies and procedures as needed\nQualifications:\n"
        "• Five years of sales, of which three in a team\n• Knowledge of contracts with vendors, and of\n"
        "Microsoft Office"
    )
    assert paragraphs(text_lines(page)).splitlines() == [
        "• Assess and update sales policies and procedures as needed",
        "Qualifications:",
        "• Five years of sales, of which three in a team",
        "",
        "• Knowledge of contracts with vendors, and of Microsoft Office",
    ]


def test_signs_that_stand_one_below_the_other_are_a_line() -> None:
    page = ["第", "二", "十", "六", "条", "を", "含", "む。）", "", "備", "考", "頻度", "時間", "A", "B"]
    assert paragraphs(text_lines("\n".join(page))) == "第二十六条を含む。）\n\n備考\n\n頻度\n時間\nA\nB"


def test_word_hyphen_stays_if_the_document_shows_it_elsewhere() -> None:
    page = text_lines("a well-\nknown and impor-\ntant thing")
    assert paragraphs(page, frozenset({"well-known"})) == "a well-known and important thing"


def test_a_pdf_of_pictures_is_reported_as_a_scan(tmp_path: Path) -> None:
    from reportlab.pdfgen.canvas import Canvas

    canvas = Canvas(str(tmp_path / "scan.pdf"))
    canvas.rect(50, 50, 100, 100, fill=1)
    canvas.save()
    with pytest.raises(NoTextError, match=r"scan\.pdf.*scan") as caught:
        read(tmp_path / "scan.pdf")
    assert "Scan it again" in caught.value.hint or "tesseract" in caught.value.hint


def test_a_pdf_without_pages_is_refused(tmp_path: Path) -> None:
    import pypdfium2

    empty = pypdfium2.PdfDocument.new()
    empty.save(tmp_path / "none.pdf")
    empty.close()
    with pytest.raises(DamagedFileError, match=r"none\.pdf"):
        read(tmp_path / "none.pdf")


def test_an_empty_page_between_others_keeps_the_numbering(tmp_path: Path) -> None:
    document = read(making.make_pdf(tmp_path / "a.pdf", ["First.", "", "Third."]))
    assert [(page.label, document.text[page.start : page.end]) for page in document.pages] == [
        ("1", "First."),
        ("2", ""),
        ("3", "Third."),
    ]
    found = document.page_at(document.text.find("Third"))
    assert found is not None
    assert found.label == "3"


def test_word_tables_stand_where_they_stand_and_keep_their_rows(tmp_path: Path) -> None:
    import docx

    path = making.make_docx(
        tmp_path / "a.docx", ["Before."], headings=["The line"], table=TABLE, title="Cliffs"
    )
    document = docx.Document(str(path))
    document.add_paragraph("After.")
    document.add_paragraph("an item", style="List Bullet")
    document.save(str(path))
    found = read(path)
    table = (
        "Station | Opened | Height\nStation: Cliff Top; Opened: 1871; Height: 84\nStation: Harbour; "
        "Opened: 1872; Height: 3.5"
    )
    assert in_order(found.text, "The line\n\nBefore.", table, "After.")
    assert found.metadata["title"] == "Cliffs"


def test_word_boxes_links_and_notes_are_read_but_no_deleted_text(tmp_path: Path) -> None:
    space = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    links = "http://schemas.openxmlformats.org/package/2006/relationships"
    kinds = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    body = (
        "<w:sdt><w:sdtContent><w:p><w:r><w:t>in a control</w:t></w:r></w:p></w:sdtContent></w:sdt>"
        "<w:p><w:hyperlink><w:r><w:t>a "
        "link</w:t></w:r></w:hyperlink><w:del><w:r><w:t>gone</w:t></w:r></w:del>"
        "<w:ins><w:r><w:t xml:space='preserve'> inserted</w:t></w:r></w:ins></w:p>"
        "<w:p><w:r><w:t>anchor</w:t><w:pict><w:txbxContent><w:p><w:r><w:t>in a "
        "box</w:t></w:r></w:p></w:txbxContent>"
        "</w:pict></w:r></w:p>"
    )
    making.make_zip(
        tmp_path / "a.docx",
        {
            "[Content_Types].xml": b"<Types/>",
            "_rels/.rels": f"<Relationships xmlns='{links}'><Relationship Id='r' "
            f"Type='{kinds}/officeDocument' Target='word/document.xml'/></Relationships>".encode(),
            "word/document.xml": f"<w:document xmlns:w='{space}'><w:body>{body}</w:body>"
            "</w:document>".encode(),
            "word/_rels/document.xml.rels": f"<Relationships xmlns='{links}'><Relationship Id='f' "
            f"Type='{kinds}/footnotes' Target='footnotes.xml'/></Relationships>".encode(),
            "word/footnotes.xml": f"<w:footnotes xmlns:w='{space}'><w:footnote "
            "w:type='separator'><w:p><w:r><w:t>---</w:t>"
            "</w:r></w:p></w:footnote><w:footnote><w:p><w:r><w:t>a footnote</w:t></w:r></w:p></w:footnote>"
            "</w:footnotes>".encode(),
        },
    )
    assert (
        read(tmp_path / "a.docx").text == "in a control\n\na link inserted\n\nanchor\nin a box\n\na footnote"
    )


def test_slides_have_their_notes_and_tables(tmp_path: Path) -> None:
    slides = [("Opening", "It opened in spring."), ("Stations", "Two of them.")]
    document = read(making.make_pptx(tmp_path / "a.pptx", slides, notes="Speak slowly.", table=TABLE))
    first, second = (document.text[page.start : page.end] for page in document.pages)
    assert first == "Opening\n\nIt opened in spring.\n\nNotes: Speak slowly."
    assert in_order(
        second,
        "Stations",
        "Two of them.",
        "Station | Opened | Height\nStation: Cliff Top; Opened: 1871; Height: 84",
    )
    assert [page.label for page in document.pages] == ["1", "2"]


def test_slides_have_the_numbers_that_the_presentation_shows(tmp_path: Path) -> None:
    import pptx

    path = making.make_pptx(
        tmp_path / "a.pptx", [("Title", "Of it."), ("Harbour", "It is old."), ("End", "Bye.")]
    )
    deck = pptx.Presentation(str(path))
    deck.slides[1]._element.set("show", "0")  # hidden slides count
    deck.save(str(path))
    assert [page.label for page in read(path).pages] == ["1", "2", "3"]
    deck.part._element.set("firstSlideNum", "0")
    deck.save(str(path))
    document = read(path)
    assert [page.label for page in document.pages] == ["0", "1", "2"]
    assert "It is old." in document.text[document.pages[1].start : document.pages[1].end]


def test_slide_lists_have_marks_and_titles_and_notes_have_none(tmp_path: Path) -> None:
    import pptx
    from pptx.oxml.xmlchemy import OxmlElement

    deck = pptx.Presentation()
    for layout in (0, 1, 6):
        deck.slides.add_slide(deck.slide_layouts[layout])
    deck.slides[0].shapes.title.text = "Cliff\nRailway"
    deck.slides[0].placeholders[1].text = "A talk\nAda"
    deck.slides[0].notes_slide.notes_text_frame.text = "Speak slowly.\nThen wait."
    body = deck.slides[1].placeholders[1].text_frame
    box = deck.slides[2].shapes.add_textbox(0, 0, 1, 1).text_frame
    body.text = "Hut\nBees\nby March\nQueen\n- Smoker\nNo mark"
    box.text = "Do this:\nLook.\nOnce.\nWait.\nTwice.\nThen:\nGo.\nOr not."
    for frame, at, kind, level in (
        *((body, 2, "", 1), (body, 3, "buAutoNum", 1), (body, 5, "buNone", 0)),
        *(
            (box, 1, "buAutoNum", 0),
            (box, 2, "buAutoNum", 1),
            (box, 3, "buAutoNum", 0),
            (box, 4, "buAutoNum", 1),
        ),
        *((box, 6, "buAutoNum", 0), (box, 7, "buChar", 2)),
    ):
        frame.paragraphs[at].level = level
        if kind:
            frame.paragraphs[at]._p.get_or_add_pPr().append(OxmlElement(f"a:{kind}"))
    deck.save(str(tmp_path / "a.pptx"))
    document = read(tmp_path / "a.pptx")
    assert [document.text[page.start : page.end] for page in document.pages] == [
        "Cliff\nRailway\n\nA talk\nAda\n\nNotes: Speak slowly.\nThen wait.",
        "- Hut\n- Bees\n  - by March\n  1. Queen\n- Smoker\nNo mark",
        "Do this:\n1. Look.\n  1. Once.\n2. Wait.\n  1. Twice.\nThen:\n1. Go.\n    - Or not.",
    ]


def test_chart_names_the_category_of_each_value(tmp_path: Path) -> None:
    import pptx
    from pptx.chart.data import CategoryChartData, XyChartData
    from pptx.enum.chart import XL_CHART_TYPE

    deck = pptx.Presentation()
    seats = CategoryChartData(number_format="0.0%")
    seats.categories = ["Spring", "Autumn"]
    seats.add_series("North", (0.5, 0.25))
    seats.add_series("South", (0.5, None))
    heights = XyChartData()
    for name, points in {"Rail": ((0, 84), (1, 3.5)), "Road": ((0, 84), (2, 7))}.items():
        series = heights.add_series(name)
        for x, y in points:
            series.add_data_point(x, y)
    for kind, values in ((XL_CHART_TYPE.COLUMN_CLUSTERED, seats), (XL_CHART_TYPE.XY_SCATTER, heights)):
        slide = deck.slides.add_slide(deck.slide_layouts[6])
        chart = slide.shapes.add_chart(kind, 0, 0, 5_000_000, 4_000_000, values).chart
        chart.has_title = True
        chart.chart_title.text_frame.text = "Seats taken" if values is seats else "Height by mile"
    days = CategoryChartData()
    days.categories = [date(2024, 3, 1), date(2024, 3, 2)]
    days.add_series("Guests", (7, 7))
    deck.slides.add_slide(deck.slide_layouts[6]).shapes.add_chart(
        XL_CHART_TYPE.LINE, 0, 0, 5_000_000, 4_000_000, days
    )
    deck.save(str(tmp_path / "a.pptx"))
    document = read(tmp_path / "a.pptx")
    assert [document.text[page.start : page.end] for page in document.pages] == [
        "Seats taken\nNorth | South\nSpring | North: 50.0%; South: 50.0%\nAutumn | North: 25.0%",
        "Height by mile\nRail\n0 | Rail: 84\n1 | Rail: 3.5\nRoad\n0 | Road: 84\n2 | Road: 7",
        "Guests\n2024-03-01 | Guests: 7\n2024-03-02 | Guests: 7",
    ]


@pytest.mark.parametrize("make", [making.make_xlsx, making.make_ods])
def test_every_row_of_a_sheet_says_what_its_values_are(make: object, tmp_path: Path) -> None:
    path = tmp_path / ("a.xlsx" if make is making.make_xlsx else "a.ods")
    assert callable(make)
    make(path, {"Line": TABLE, "Other": [["only a note"]]})
    document = read(path)
    first, second = (document.text[page.start : page.end] for page in document.pages)
    assert first == (
        "Line\nStation | Opened | Height\nStation: Cliff Top; Opened: 1871; Height: 84\n"
        "Station: Harbour; Opened: 1872; Height: 3.5"
    )
    assert second == "Other\nonly a note"
    assert [page.label for page in document.pages] == ["Line", "Other"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_of_a_table_is_detected(delimiter: str, tmp_path: Path) -> None:
    rows = [["Name", "Remark"], ["Ada", "tower, built 1871; high"], ["Bob", "line\nbreak"]]
    text = read(making.make_csv(tmp_path / "a.csv", rows, delimiter=delimiter, encoding="cp1252")).text
    assert text == "Name | Remark\nName: Ada; Remark: tower, built 1871; high\nName: Bob; Remark: line break"


def test_a_first_line_that_names_the_delimiter_is_no_row(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("sep=;\nName;Remark\nAda, Bob;tower\n", "utf-8")
    assert read(tmp_path / "a.csv").text == "Name | Remark\nName: Ada, Bob; Remark: tower"


def test_a_table_of_numbers_gets_no_invented_header(tmp_path: Path) -> None:
    assert read(making.make_csv(tmp_path / "a.csv", [[1, 2], [3, 4]])).text == "1 | 2\n3 | 4"


def test_a_web_page_is_read_without_its_frame_and_scripts(tmp_path: Path) -> None:
    article = "".join(
        f"<p>Paragraph {n} tells of the cliff railway and of the people who built it by hand.</p>"
        for n in range(30)
    )
    menu = "".join(f"<li><a href='/{n}'>Menu entry {n}</a></li>" for n in range(20))
    body = f"<nav><ul>{menu}</ul></nav><article><h1>Rails</h1>{article}</article><script>alert('x')</script>"
    html = f"<html><head><title>Cliffs</title></head><body>{body}</body></html>"
    document = read(making.make_text(tmp_path / "a.html", html))
    assert document.text.count("cliff railway") == 30
    assert "Menu entry" not in document.text
    assert "alert" not in document.text
    assert document.metadata["title"] == "Cliffs"


def test_a_web_page_without_an_article_is_read_whole(tmp_path: Path) -> None:
    rows = "<tr><th>Up</th><th>Down</th></tr><tr><td>9:00</td><td>9:30</td></tr>"
    html = f"<body><h1>Timetable</h1><table>{rows}</table></body>"
    assert (
        read(making.make_text(tmp_path / "a.html", html)).text
        == "Timetable\n\nUp | Down\nUp: 9:00; Down: 9:30"
    )


def test_values_of_json_stand_behind_the_names_that_lead_to_them(tmp_path: Path) -> None:
    text = read(
        making.make_json(
            tmp_path / "a.json", {"line": {"name": "Cliff", "stops": ["Top", "Harbour"], "open": True}}
        )
    ).text
    assert text == "line.name: Cliff\nline.stops: Top, Harbour\nline.open: yes"


def test_json_numbers_stay_as_written(tmp_path: Path) -> None:
    path = making.make_text(
        tmp_path / "a.json", f'{{"fare": 1.10, "far": 1e400, "long": 1{"0" * 5000}, "next": [null, 2.0]}}'
    )
    assert read(path).text == f"fare: 1.10\nfar: 1e400\nlong: 1{'0' * 5000}\nnext: none, 2.0"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('{"a": 1,\n b: 2}', "line 2, column 2"),
        ('[\n{"a": 1},\n{"a" 2}\n]', "line 3, column 6"),
        ('{"a": 1}\nand more', "line 2, column 1"),
    ],
)
def test_broken_json_names_the_line(text: str, place: str, tmp_path: Path) -> None:
    for name in ("a.json", "a.jsonl") if "more" not in text else ("a.json",):
        with pytest.raises(DamagedFileError, match=rf"at {place}\."):
            read(making.make_text(tmp_path / name, text))


def test_a_notebook_gives_text_code_and_what_was_printed(tmp_path: Path) -> None:
    cells = [("markdown", "# Heights"), ("code", "print(84)")]
    text = read(making.make_ipynb(tmp_path / "a.ipynb", cells, output="84\n")).text
    assert text == "# Heights\n\n```\nprint(84)\n```\n\n84"


def test_notebook_version_3_and_its_errors_read_without_colours(tmp_path: Path) -> None:
    printed = {"output_type": "stream", "text": ["\x1b[31m84\x1b[0m\n"]}
    failed = {
        "output_type": "pyerr",
        "ename": "ZeroDivisionError",
        "evalue": "division by zero",
        "traceback": ["\x1b[0;31m..."],
    }
    cells = [
        {"cell_type": "markdown", "source": ["Heights"]},
        {"cell_type": "code", "input": "1 / 0", "outputs": [printed, failed]},
    ]
    path = making.make_json(tmp_path / "a.ipynb", {"nbformat": 3, "worksheets": [{"cells": cells}]})
    assert read(path).text == "Heights\n\n```\n1 / 0\n```\n\n84\n\nZeroDivisionError: division by zero"
    cells = [{"cell_type": "code", "source": "1 / 0", "outputs": [{**failed, "output_type": "error"}]}]
    path = making.make_json(tmp_path / "b.ipynb", {"nbformat": 4, "cells": cells})
    assert read(path).text == "```\n1 / 0\n```\n\nZeroDivisionError: division by zero"


def test_markdown_front_matter_or_first_heading_gives_the_title(tmp_path: Path) -> None:
    head = "---\ntitle: 'By Water'\nauthor: Ada Penrose\ndate: 1871-06-05\ntags: cliffs\n---\n# Cliffs\n"
    found = read(making.make_text(tmp_path / "a.md", head))
    told = {"title": "By Water", "author": "Ada Penrose", "date": "1871-06-05"}
    assert dict(found.metadata) == {"file_name": "a.md", **told}
    found = read(making.make_text(tmp_path / "b.md", "Words.\n\n# Cliffs #\n\n# Rails\n"))
    assert dict(found.metadata) == {"file_name": "b.md", "title": "Cliffs"}
    assert dict(read(making.make_text(tmp_path / "c.md", "Words.\ntitle: None")).metadata) == {
        "file_name": "c.md"
    }


def test_mail_says_who_wrote_when_and_what_was_attached(tmp_path: Path) -> None:
    path = making.make_eml(
        tmp_path / "a.eml",
        "Dear Charles",
        subject="Grüße",
        html="<p>Dear <b>Charles</b></p>",
        attached="map.png",
    )
    text = read(path).text
    assert in_order(
        text, "From: Ada <ada@example.org>", "To: Charles", "Date: Mon, 05 Jun 1871", "Subject: Grüße"
    )
    assert text.count("Dear Charles") == 1
    assert text.endswith("Attached: map.png")


def test_mail_says_who_had_a_copy_and_what_was_forwarded(tmp_path: Path) -> None:
    forwarded = b"From: eve@example.org\nSubject: Lamps\n\nThe lamp is lit.\n"
    head = (
        b'From: ann@example.org\nCc: Bob <bob@example.org>\nContent-Type: multipart/mixed; boundary="cut"\n\n'
    )
    parts = (b"--cut\n\nSee below.\n", b"--cut\nContent-Type: message/rfc822\n\n" + forwarded, b"--cut--\n")
    (tmp_path / "a.eml").write_bytes(head + b"".join(parts))
    assert read(tmp_path / "a.eml").text == (
        "From: ann@example.org\nCc: Bob <bob@example.org>\n\nSee below.\n\n"
        "From: eve@example.org\nSubject: Lamps\n\nThe lamp is lit."
    )


def letter(folder: Path) -> EmailMessage:
    """With two PDFs, a song, a signature and the logo below it."""
    message = EmailMessage()
    message["Subject"] = "The line"
    message.set_content("See what is attached.")
    pdf = making.make_pdf(folder / "plan.pdf", ["The tower is forty metres high.", "It was built in 1871."])
    note = making.make_pdf(folder / "Note.PDF", ["Mind the step."])
    for path in (pdf, note):
        message.add_attachment(
            path.read_bytes(), maintype="application", subtype="octet-stream", filename=path.name
        )
    message.add_attachment(
        b"ID3\x03\0\0\0\0\0 la la la", maintype="audio", subtype="mpeg", filename="song.mp3"
    )
    message.add_attachment(b"sealed", maintype="application", subtype="pkcs7-signature", filename="smime.p7s")
    message.add_attachment(
        b"\x89PNG", maintype="image", subtype="png", filename="logo.png", disposition="inline"
    )
    return message


def test_mail_attachments_are_read_and_unreadable_ones_named(tmp_path: Path) -> None:
    (tmp_path / "a.eml").write_bytes(letter(tmp_path).as_bytes())
    left_out: list[RagError] = []
    steps: list[tuple[int, int]] = []
    document = read_file(
        tmp_path / "a.eml",
        ReadOptions("a.eml", on_loss=left_out.append, progress=lambda *step: steps.append(step)),
    )
    assert document.text == (
        "Subject: The line\n\nSee what is attached.\n\nAttached: plan.pdf, Note.PDF, song.mp3, "
        "smime.p7s, logo.png\n\n"
        "plan.pdf\n\nThe tower is forty metres high.\n\nIt was built in 1871.\n\nNote.PDF\n\nMind the step."
    )
    pages = [(page.label, document.text[page.start : page.end].split("\n")[0]) for page in document.pages]
    assert (pages, document.page_word) == ([("plan.pdf", "plan.pdf"), ("Note.PDF", "Note.PDF")], "part")
    assert [error.what for error in left_out] == ["a.eml was read without the files inside it: song.mp3."]
    assert steps == sorted(set(steps))


def test_first_of_many_unreadable_attachments_are_named_once(tmp_path: Path) -> None:
    songs = [
        ("audio/mpeg", b"ID3\x03\0\0\0\0\0 la la la", f"{number}.mp3") for number in (1, 1, 2, 3, 4, 5, 6)
    ]
    for count, names in (
        (6, "1.mp3, 2.mp3, 3.mp3, 4.mp3, 5.mp3"),
        (7, "1.mp3, 2.mp3, 3.mp3, 4.mp3, 5.mp3, …"),
    ):
        (tmp_path / "a.eml").write_bytes(mail(("text/plain", b"Listen.", ""), *songs[:count]))
        left_out: list[RagError] = []
        read_file(tmp_path / "a.eml", ReadOptions("a.eml", on_loss=left_out.append))
        assert [error.what for error in left_out] == [f"a.eml was read without the files inside it: {names}."]


def test_resources_of_a_saved_web_page_are_no_attachments(tmp_path: Path) -> None:
    page = mail(
        ("text/html", b"<p>The lamp is lit.</p>", ""), ("font/woff", b"wOFF", "x.woff"), kind="related"
    )
    (tmp_path / "a.mht").write_bytes(
        page.replace(b"Content-Disposition", b"Content-Location: x.woff\nContent-Disposition")
    )
    left_out: list[RagError] = []
    assert (
        "The lamp is lit."
        in read_file(tmp_path / "a.mht", ReadOptions("a.mht", on_loss=left_out.append)).text
    )
    assert left_out == []


def test_attachments_of_a_message_inside_a_file_are_read_too(tmp_path: Path) -> None:
    inner = letter(tmp_path)
    outer = EmailMessage()
    outer.set_content("Forwarded.")
    outer.add_attachment(inner)
    outer.add_attachment(
        inner.as_bytes(), maintype="application", subtype="octet-stream", filename="inner.eml"
    )
    (tmp_path / "a.eml").write_bytes(outer.as_bytes())
    box = mailbox.mbox(tmp_path / "a.mbox")
    for message in (inner, outer):
        box.add(message)
    box.close()
    for name, count in (("a.eml", 2), ("a.mbox", 3)):
        left_out: list[RagError] = []
        document = read_file(tmp_path / name, ReadOptions(name, on_loss=left_out.append))
        assert document.text.count("forty metres") == document.text.count("Mind the step.") == count
        assert {"song.mp3" in error.what for error in left_out} == {True}
    assert [page.label for page in document.pages] == ["The line", "2"]


def test_mbox_line_that_begins_with_from_starts_no_message(tmp_path: Path) -> None:
    body = "Seen in May.\n>From here it is steep: mind the step.\n>>From there it is not."
    document = read(making.make_mbox(tmp_path / "a.mbox", [("Cliffs", body)]))
    assert len(document.pages) == 1
    assert "\nFrom here it is steep: mind the step.\n>From there it is not." in document.text


def test_quoted_mails_lose_their_marks_and_follow_their_author(tmp_path: Path) -> None:
    body = """That works.
-- 
Ada
On Wed, May 14, 2025 at 9:15 AM Charles Babbage <charles@example.org>
wrote:
> Dear Ada,
>
> the stage with its roof comes to 3,450 pounds, and its screens are
> another 280. That is with delivery.
>
> - the stage
> - two screens with their feet, and a bag of sand for each of these
> - a flag
>
> Charles
> -----Original Message-----
> To: Charles <charles@example.org>, Mary Somerville <mary@example.org>
> Sent: 12 May 2025
>> Could you quote?
Today."""
    assert (
        read(making.make_eml(tmp_path / "a.eml", body)).text.partition("\n\n")[2]
        == """That works.

--

Ada

From: Charles Babbage <charles@example.org>
Date: Wed, May 14, 2025 at 9:15 AM

Dear Ada,

the stage with its roof comes to 3,450 pounds, and its screens are another 280. That is with delivery.

- the stage
- two screens with their feet, and a bag of sand for each of these
- a flag

Charles

-----Original Message-----

To: Charles <charles@example.org>, Mary Somerville <mary@example.org>
Sent: 12 May 2025

Could you quote?

Today."""
    )


@pytest.mark.parametrize(
    ("line", "head"),
    [
        ("On 14/05/2025 09:15, Ada wrote:", "From: Ada\nDate: 14/05/2025 09:15"),
        ("On 14 May 2025, at 09:15, Ada <a@b.org> wrote:",
         "From: Ada <a@b.org>\nDate: 14 May 2025, at 09:15"),
        ("Am Mi., 14. Mai 2025 um 09:15 Uhr schrieb Ada <\na@b.org>:",
         "From: Ada <a@b.org>\nDate: Mi., 14. Mai 2025 um 09:15 Uhr"),
        ("Le mer. 14 mai 2025 à 09:15, Ada <a@b.org> a écrit :",
         "From: Ada <a@b.org>\nDate: mer. 14 mai 2025 à 09:15"),
        ("El mié, 14 may 2025 a las 9:15, Ada (<a@b.org>) escribió:",
         "From: Ada (<a@b.org>)\nDate: mié, 14 may 2025 a las 9:15"),
        ("On 14 May 2025 at 9:15 we met Ada:", "On 14 May 2025 at 9:15 we met Ada:"),
    ],
)  # fmt: skip
def test_an_earlier_mail_has_its_sender_above_it(line: str, head: str, tmp_path: Path) -> None:
    for name, body, html in (
        ("a.eml", f"Yes.\n\n{line}\n> Really?", ""),
        ("b.eml", "", f"Yes.<p>{escape(line)}</p>Really?"),
    ):
        message = EmailMessage()
        message.set_content(html or body, subtype="html" if html else "plain")
        (tmp_path / name).write_bytes(message.as_bytes())
        assert read_file(tmp_path / name, ReadOptions(name)).text == f"Yes.\n\n{head}\n\nReally?"


def test_mail_that_is_only_html_is_read_as_text(tmp_path: Path) -> None:
    raw = (
        "From: a@example.org\nContent-Type: text/html; charset=iso-8859-1\n\n"
        "<p>Gr\xfc\xdfe</p><script>no()</script>"
    )
    (tmp_path / "a.eml").write_bytes(raw.encode("latin-1"))
    assert read(tmp_path / "a.eml").text == "From: a@example.org\n\nGrüße"


def test_chapters_of_a_book_come_in_the_order_of_its_spine(tmp_path: Path) -> None:
    chapters = [
        ("The Cliff", "It was steep."),
        ("The Rails", "They were long."),
        ("The Water", "It was heavy."),
    ]
    document = read(making.make_epub(tmp_path / "a.epub", chapters, title="By Water"))
    assert [page.label for page in document.pages] == ["The Cliff", "The Rails", "The Water"]
    assert in_order(document.text, "steep", "long", "heavy")
    assert document.metadata["title"] == "By Water"


def test_opendocument_keeps_headings_and_tables(tmp_path: Path) -> None:
    document = read(
        making.make_odt(tmp_path / "a.odt", ["Text."], headings=["The line"], table=TABLE, title="Cliffs")
    )
    table = (
        "Station | Opened | Height\nStation: Cliff Top; Opened: 1871; Height: 84\nStation: Harbour; "
        "Opened: 1872; Height: 3.5"
    )
    assert document.text == f"The line\n\nText.\n\n{table}"
    assert document.metadata["title"] == "Cliffs"


def mail(*parts: tuple[str, bytes, str], kind: str = "mixed") -> bytes:
    """A message of parts: each a content type, bytes and the name of a file or ""."""
    head = (
        f'From: ann@example.org\nSubject: Notes\nContent-Type: multipart/{kind}; boundary="cut"\n\n'.encode()
    )
    written = [
        f"--cut\nContent-Type: {of}\nContent-Transfer-Encoding: base64\n".encode()
        + (f'Content-Disposition: inline; filename="{name}"\n'.encode() if name else b"")
        + b"\n"
        + base64.b64encode(data)
        + b"\n"
        for of, data, name in parts
    ]
    return head + b"".join(written) + b"--cut--\n"


BINARY = bytes(range(1, 32)) * 40


def test_unreadable_part_of_a_message_is_named_and_others_read(tmp_path: Path) -> None:
    path = tmp_path / "a.eml"
    good = ("text/plain; charset=utf-8", b"Seen in May.", "")
    path.write_bytes(
        mail(
            good,
            ("text/plain", BINARY, "log.txt"),
            ("text/html", BINARY, ""),
            ("text/plain", b"Ann", ""),
            ("text/plain", "\xa0".encode(), ""),
        )
    )
    assert read(path).text == (
        "From: ann@example.org\nSubject: Notes\n\nSeen in May.\n\nAnn\n\nNot readable: log.txt, text/html"
    )
    path.write_bytes(
        mail(("text/plain", BINARY, ""), ("text/html", b"<p>Seen in May.</p>", ""), kind="alternative")
    )
    assert read(path).text == "From: ann@example.org\nSubject: Notes\n\nSeen in May."
    path.write_bytes(mail(("text/plain", BINARY, "")))
    with pytest.raises(UnsupportedFileError, match=r"a\.eml is not text"):
        read(path)


def test_encrypted_message_does_not_fail_its_mailbox(tmp_path: Path) -> None:
    path = making.make_mbox(
        tmp_path / "a.mbox", [("Tower", "The keeper lit the lamp."), ("Ferry", "It sails at nine.")]
    )
    secret = "From eve@example.org Thu Jan  1 00:00:00 1970\nFrom: eve@example.org\nSubject: Secret\n"
    path.write_bytes(path.read_bytes() + f"{secret}Content-Type: application/pkcs7-mime\n\nMIIB\n\n".encode())
    document = read(path)
    assert in_order(
        document.text,
        "The keeper lit the lamp.",
        "It sails at nine.",
        "From: eve@example.org\nSubject: Secret",
    )
    assert [page.label for page in document.pages] == ["Tower", "Ferry", "Secret"]


def test_an_empty_chapter_does_not_take_the_book_with_it(tmp_path: Path) -> None:
    with zipfile.ZipFile(
        making.make_epub(tmp_path / "a.epub", [("One", "Lamps."), ("Two", "Ferries.")])
    ) as book:
        parts = {name: book.read(name) for name in book.namelist()}
    emptied = {name: "\ufeff\n".encode() if b"Ferries" in data else data for name, data in parts.items()}
    assert read(making.make_zip(tmp_path / "b.epub", emptied)).text == "One\n\nLamps."


def test_empty_part_of_a_word_file_does_not_lose_the_rest(tmp_path: Path) -> None:
    kinds = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    space = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    body = "<w:p><w:r><w:t>Lamps</w:t></w:r></w:p><w:altChunk r:id='c'/><w:altChunk r:id='d'/>"
    parts = {
        "[Content_Types].xml": b"<Types/>",
        "word/document.xml": f"<w:document xmlns:w='{space}' xmlns:r='{kinds}'><w:body>{body}</w:body>"
        "</w:document>".encode(),
        "word/_rels/document.xml.rels": "<Relationships>"
        f"<Relationship Id='c' Type='{kinds}/aFChunk' Target='c.txt'/>"
        f"<Relationship Id='d' Type='{kinds}/aFChunk' Target='d.txt'/></Relationships>".encode(),
        "word/c.txt": b"",
        "word/d.txt": b"Ferries",
    }
    assert read(making.make_zip(tmp_path / "a.docx", parts)).text == "Lamps\n\nFerries"


@pytest.mark.parametrize("named", ["report.txt", "report.docx", "report.zip", "report.csv"])
def test_a_pdf_with_another_ending_is_read_as_the_pdf_it_is(named: str, tmp_path: Path) -> None:
    made = making.make_pdf(tmp_path / "a.pdf", ["The words of it."])
    assert read(made.rename(tmp_path / named)).text == "The words of it."


def test_files_with_wrong_endings_are_read_as_what_they_are(tmp_path: Path) -> None:
    assert read(making.make_docx(tmp_path / "a.docx", ["Words."]).rename(tmp_path / "b.pdf")).text == "Words."
    assert read(making.make_rtf(tmp_path / "a.rtf", ["Words."]).rename(tmp_path / "b.doc")).text == "Words."
    assert (
        read(making.make_html(tmp_path / "a.html", ["Words."]).rename(tmp_path / "b.pdf")).text
        == "A page\n\nWords."
    )


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"MZ\x90\0" + b"This program cannot be run in DOS mode. " * 500, "a program"),
        (b"\x7fELF\2\1\1\0" + b"words " * 500, "a program"),
        (b"\xcf\xfa\xed\xfe\7\0\0\1" + b"words " * 500, "a program"),
        (b"7z\xbc\xaf\x27\x1c" + bytes(50), "7-Zip"),
        (
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(100) + "WordDocument".encode("utf-16-le"),
            "old Word document",
        ),
        (
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "HwpSummaryInformation".encode("utf-16-le"),
            "Hangul document",
        ),
        (b"HWP Document File V3.00 \x1a\1\2\3\4\5" + bytes(50), "Hangul document"),
    ],
)
def test_what_no_reader_takes_is_called_by_its_name(data: bytes, said: str, tmp_path: Path) -> None:
    for name in ("a.pdf", "a.txt", "a"):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(UnsupportedFileError, match=said):
            read(tmp_path / name)


def test_a_chapter_that_is_missing_in_a_book_is_named(tmp_path: Path) -> None:
    with zipfile.ZipFile(
        making.make_epub(tmp_path / "a.epub", [("One", "Lamps."), ("Two", "Ferries.")])
    ) as book:
        parts = {name: book.read(name) for name in book.namelist()}
    gone = next(name for name, data in parts.items() if b"Ferries" in data)
    making.make_zip(tmp_path / "b.epub", {name: data for name, data in parts.items() if name != gone})
    left_out: list[RagError] = []
    assert (
        read_file(tmp_path / "b.epub", ReadOptions("b.epub", on_loss=left_out.append)).text == "One\n\nLamps."
    )
    assert [error.what for error in left_out] == [f"Chapters of b.epub are missing in the file: {gone}."]


def test_missing_package_is_named_and_the_file_not_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = making.make_xlsx(tmp_path / "a.xlsx", {"One": TABLE})
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(UnreadableFileError, match="the package openpyxl is not installed") as error:
        read(path)
    assert error.value.hint == "Install it with: pip install openpyxl"


def test_damaged_hangul_file_is_an_error_and_plain_text_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.hwp").write_bytes(
        "계약서 본문과 그림".encode("utf-16-le") + "Root Entry".encode("utf-16-le") * 50
    )
    with pytest.raises(DamagedFileError, match=r"a\.hwp is named like a Hangul document") as error:
        read(tmp_path / "a.hwp")
    assert ".docx" in error.value.hint
    for encoding in ("utf-8", "utf-16"):
        (tmp_path / "b.hwp").write_bytes("Plain words.".encode(encoding))
        assert SimpleDirectoryReader(input_files=[tmp_path / "b.hwp"]).load_data()[0].text == "Plain words."


def test_an_office_file_with_a_password_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.docx").write_bytes(
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(99) + "EncryptedPackage".encode("utf-16-le")
    )
    with pytest.raises(EncryptedFileError, match="password"):
        read(tmp_path / "a.docx")


def test_an_office_file_that_would_explode_is_not_opened(tmp_path: Path) -> None:
    members = {"[Content_Types].xml": b"<Types/>", "word/document.xml": b" " * 60_000_000}
    with pytest.raises(TooLargeError, match=r"a\.docx would unpack"):
        read(making.make_zip(tmp_path / "a.docx", members))


LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))


def test_xml_that_explodes_or_fetches_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("the secret")
    bomb = f'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY l0 "ha">{LAUGHS}]><x>&l9;</x>'
    fetch = f'<!DOCTYPE x [<!ENTITY e SYSTEM "{(tmp_path / "secret.txt").as_uri()}">]><x>a &e; b</x>'
    for number, xml in enumerate((bomb, fetch)):
        with pytest.raises(UnreadableFileError):
            read(making.make_text(tmp_path / f"{number}.xml", xml))
    parts = {"content.xml": bomb.encode(), "mimetype": b"application/vnd.oasis.opendocument.text"}
    with pytest.raises(UnreadableFileError):
        read(making.make_zip(tmp_path / "a.odt", parts))


def test_pages_that_cannot_be_opened_are_named(tmp_path: Path) -> None:
    path = making.make_pdf(tmp_path / "a.pdf", ["First page.", "Second page.", "Third page."])
    whole = path.read_bytes()
    second = whole.index(b"/Type /Page\n", whole.index(b"/Type /Page\n") + 1)
    path.write_bytes(whole[:second] + b"/Type /Pear" + whole[second + len(b"/Type /Page") :])
    left_out: list[RagError] = []
    document = read_file(path, ReadOptions("a.pdf", on_loss=left_out.append))
    assert document.text == "First page.\n\nThird page."
    assert [error.what for error in left_out] == ["a.pdf was read without page 2, which could not be opened."]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b'{"a": "one"}\n{"a": "two"}\n{"a": "thr', "Line 3 of a.jsonl is not valid JSON and was not read."),
        (
            b'{"a": "on\n{"a": "one"}\n\n{"a": "two"}\n',
            "Line 1 of a.jsonl is not valid JSON and was not read.",
        ),
        (
            b'\xef\xbb\xbf{"a": "one"}\r\nnot json\r\n\r\n{"a": "two"}\r\n{]\r\n',
            "2 lines of a.jsonl are not valid JSON and were not read: 2, 5.",
        ),
        (
            '{"a": "one"}\n{"a": "two ü"}\n{"a": "drei grü'.encode()[:-1],
            "Line 3 of a.jsonl is not valid JSON and was not read.",
        ),
        (b'{"a": "one"}{"a": "two"}\n"three', "Line 2 of a.jsonl is not valid JSON and was not read."),
        (
            b'{"a": "one"}\n{"a": "two"}\n' + b"x\n" * 25,
            "25 lines of a.jsonl are not valid JSON and were not read: 3, 4, ",
        ),
    ],
)
def test_broken_lines_of_jsonl_are_named_and_the_others_are_read(
    data: bytes, said: str, tmp_path: Path
) -> None:
    (tmp_path / "a.jsonl").write_bytes(data)
    left_out: list[RagError] = []
    text = read_file(tmp_path / "a.jsonl", ReadOptions("a.jsonl", on_loss=left_out.append)).text
    assert text.startswith("a: one")
    assert "a: two" in text
    assert [error.what.startswith(said) for error in left_out if "JSON" in error.what] == [True]


OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504)


@pytest.mark.skipif(importlib.util.find_spec("kreuzberg") is not None, reason="the extra is installed")
@pytest.mark.parametrize(
    ("stream", "what"), [("WordDocument", ".doc"), ("PowerPoint Document", ".ppt"), ("Workbook", ".xls")]
)
def test_an_old_office_file_names_the_extra_that_reads_it(stream: str, what: str, tmp_path: Path) -> None:
    (tmp_path / f"a{what}").write_bytes(OLE + stream.encode("utf-16-le"))
    with pytest.raises(
        UnsupportedFileError,
        match=rf'^a{what} is an old .* once the extra "legacy" is installed: pip install',
    ):
        read(tmp_path / f"a{what}")


@pytest.mark.parametrize("suffix", [".doc", ".xls", ".key", ".msg", ".pages"])
def test_a_text_that_is_called_like_an_old_office_file_is_read(suffix: str, tmp_path: Path) -> None:
    (tmp_path / f"a{suffix}").write_text("-----BEGIN-----\nName\tPrice\nAnvil\t600\n")
    assert read(tmp_path / f"a{suffix}").text == "-----BEGIN-----\nName\tPrice\nAnvil\t600\n"
