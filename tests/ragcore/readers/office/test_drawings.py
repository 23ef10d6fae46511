"""Equations, comments and diagrams of slides, and threads of comments of workbooks."""

from __future__ import annotations

import time
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from lxml import etree

from ragcore.readers.base import ReadOptions
from ragcore.readers.office.drawings import alternative_text, paragraph_text
from ragcore.readers.registry import read_file
from tests.ragcore.readers.packages import M, pack, relations

A = "http://schemas.openxmlformats.org/drawingml/2006/main"
P = "http://schemas.openxmlformats.org/presentationml/2006/main"
R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
MC = "http://schemas.openxmlformats.org/markup-compatibility/2006"


def read(path: Path) -> str:
    return read_file(path, ReadOptions(path.name)).text


def make_pptx(
    path: Path,
    shapes: str,
    links: tuple[tuple[str, str, str], ...] = (),
    more: Mapping[str, str] | None = None,
) -> Path:
    spaces = f'xmlns:a="{A}" xmlns:p="{P}" xmlns:r="{R}" xmlns:m="{M}" xmlns:mc="{MC}"'
    parts = {
        "_rels/.rels": relations(("r1", "officeDocument", "ppt/presentation.xml")),
        "ppt/presentation.xml": f'<p:presentation {spaces}><p:sldId id="256" r:id="s"/></p:presentation>',
        "ppt/_rels/presentation.xml.rels": relations(("s", "slide", "slides/slide1.xml")),
        "ppt/slides/slide1.xml": f"<p:sld {spaces}><p:cSld><p:spTree>{shapes}</p:spTree></p:cSld></p:sld>",
        "ppt/slides/_rels/slide1.xml.rels": relations(*links),
    }
    return pack(path, {**parts, **(more or {})})


def test_an_equation_of_a_slide_is_latex_and_not_read_twice(tmp_path: Path) -> None:
    r = "<m:r><m:t>{}</m:t></m:r>".format
    fraction = f"<m:f><m:num>{r('a')}</m:num><m:den>{r('b')}</m:den></m:f>"
    formula = f"<m:oMathPara><m:oMath>{r('t=')}{fraction}</m:oMath></m:oMathPara>"
    math = f'<a14:m xmlns:a14="urn:a14">{formula}</a14:m>'
    picture = "<p:sp><p:txBody><a:p><a:r><a:t>picture</a:t></a:r></a:p></p:txBody></p:sp>"
    fallback = f"<mc:Fallback>{picture}</mc:Fallback>"
    shape = f"<p:sp><p:txBody><a:p><a:r><a:t>Here: </a:t></a:r>{math}</a:p></p:txBody></p:sp>"
    choice = f"<mc:AlternateContent><mc:Choice>{shape}</mc:Choice>{fallback}</mc:AlternateContent>"
    assert read(make_pptx(tmp_path / "a.pptx", choice)) == r"Here: $t=\frac{a}{b}$"


def test_slide_comments_old_and_new_and_its_diagram_are_read(tmp_path: Path) -> None:
    words = "<a:p><a:r><a:t>{}</a:t></a:r></a:p>".format
    answer = f"<p188:reply><p188:txBody>{words('Yes, on Monday.')}</p188:txBody></p188:reply>"
    question = f"<p188:txBody>{words('Is it paid?')}</p188:txBody>"
    point = f"<d:pt><d:t>{words('Plan')}</d:t></d:pt>"
    old = "<p:cm><p:text>Check the fee.</p:text></p:cm>"
    more = {
        "ppt/slides/old.xml": f'<p:cmLst xmlns:p="{P}">{old}</p:cmLst>',
        "ppt/slides/new.xml": f'<p188:cm xmlns:p188="urn:p188" xmlns:a="{A}">{answer}{question}</p188:cm>',
        "ppt/slides/data.xml": f'<d:dataModel xmlns:d="urn:d" xmlns:a="{A}">{point}</d:dataModel>',
    }
    links = (("o", "comments", "old.xml"), ("n", "comments", "new.xml"), ("d", "diagramData", "data.xml"))
    text = read(make_pptx(tmp_path / "a.pptx", "", links, more))
    assert [text.split("\n\n")[0], *sorted(text.split("\n\n")[1:])] == [
        *("Plan", "Comment: Check the fee.", "Comment: Is it paid?", "Comment: Yes, on Monday.")
    ]


def test_a_thread_of_comments_in_a_workbook_is_read_once(tmp_path: Path) -> None:
    import openpyxl
    from openpyxl.comments import Comment

    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet["A1"], sheet["A2"] = "Item", "Kettle"
    sheet["A2"].comment = Comment("[Threaded comment] Your version of Excel... Comment: Who pays?", "A")
    book.save(tmp_path / "old.xlsx")
    thread = (
        '<ThreadedComments xmlns="urn:t"><threadedComment ref="A2"><text>Who pays?</text></threadedComment>'
    )
    thread += (
        '<threadedComment ref="A2" parentId="1"><text>Halvard.</text></threadedComment></ThreadedComments>'
    )
    link = f'<Relationship Id="t" Type="{R}/threadedComment" Target="/xl/threads.xml"/></Relationships>'
    with zipfile.ZipFile(tmp_path / "old.xlsx") as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    links = "xl/worksheets/_rels/sheet1.xml.rels"
    parts[links] = parts[links].replace(b"</Relationships>", link.encode())
    text = read(pack(tmp_path / "a.xlsx", {**parts, "xl/threads.xml": thread}))
    assert text.split("\n")[-2:] == ["Comment on A2 (Kettle): Who pays?", "Comment on A2 (Kettle): Halvard."]


def test_two_line_headers_with_merged_cells_name_every_column(tmp_path: Path) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for row in (
        ["Region", "2019", None, "2018", None],
        [None, "Q1", "Q2", "Q1", "Q2"],
        ["North", 1, 2, 3, 4],
    ):
        sheet.append(row)
    for merged in ("A1:A2", "B1:C1", "D1:E1"):
        sheet.merge_cells(merged)
    book.save(tmp_path / "a.xlsx")
    assert read(tmp_path / "a.xlsx").endswith("Region: North; 2019 Q1: 1; 2019 Q2: 2; 2018 Q1: 3; 2018 Q2: 4")


def test_a_run_of_ten_thousands_of_texts_is_read_in_seconds() -> None:
    run = etree.fromstring(f"<p><r>{'<t>a</t>' * 60_000}</r></p>")
    began = time.process_time()
    assert paragraph_text(run) == "a" * 60_000
    assert time.process_time() - began < 20


@pytest.mark.parametrize(
    ("described", "text"),
    [
        ("The harbour in 1907", "The harbour in 1907"),
        ("harbour.png", ""),
        ("A picture containing text\n\nDescription automatically generated", ""),
        ("Ein Bild, das Text enthält.\n\nAutomatisch generierte Beschreibung", ""),
        ("A close-up of a sign. AI-generated content may be incorrect.", ""),
    ],
)
def test_picture_uses_its_author_s_text_not_a_generated_one(described: str, text: str) -> None:
    properties = etree.Element("docPr", descr=described)
    assert alternative_text(properties) == text
