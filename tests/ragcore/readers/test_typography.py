"""What raised, lowered, struck and hidden letters mean is read alike from every format."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ragcore.readers import typography
from ragcore.readers.base import ReadOptions
from ragcore.readers.list_numbers import list_number
from ragcore.readers.registry import read_file
from ragcore.readers.typography import LOWERED, RAISED, STRUCK, mark
from tests.ragcore.readers.packages import make_docx, make_epub, make_odf


def read(path: Path) -> str:
    return read_file(path, ReadOptions(path.name)).text


def losses(path: Path) -> list[str]:
    found: list[str] = []
    read_file(path, ReadOptions(path.name, on_loss=lambda error: found.append(str(error))))
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"10{mark(RAISED, '6')} cells", "10^6 cells"),
        (f"10{mark(RAISED, '−')}{mark(RAISED, '3')}.", "10^-3."),
        (f"H{mark(LOWERED, '2')}O", "H2O"),
        (f"10{mark(LOWERED, '2')}", "10_2"),
        (
            f"V{mark(LOWERED, 'max')}, a{mark(LOWERED, 'n+1')}, x{mark(RAISED, '2')}{mark(LOWERED, 'i')}",
            "Vmax, a_(n+1), x^2_i",
        ),
        (f"1{mark(RAISED, 'st')}, XIX{mark(RAISED, 'e')}", "1st, XIXe"),
        (f"e{mark(RAISED, 'x + 1')}", "e^(x + 1)"),
        (f"2{mark(RAISED, '1')}/{mark(LOWERED, '2')} cups", "2 1/2 cups"),
        (f"Acme{mark(RAISED, 'TM')}", "Acme™"),
        (f"{mark(RAISED, '1')} See below.", "1 See below."),
        (f"and{mark(RAISED, '/')}or", "and/or"),
        (f"10{mark(RAISED, '3' + mark(RAISED, '2'))}", "10^(3^2)"),
        (f"fee {mark(STRUCK, '3')}{mark(STRUCK, '0 ')}25", "fee ~~30~~ 25"),
        (f"{typography.ruby('漢', 'かん')}{typography.ruby('字', 'じ')}", "漢字(かんじ)"),
        ("nothing marked", "nothing marked"),
    ],
)
def test_marks_become_what_people_write_in_plain_text(text: str, expected: str) -> None:
    assert typography.plain(text) == expected


@pytest.mark.parametrize(
    ("number", "form", "expected"),
    [
        (4, "i", "iv"),
        (1999, "I", "MCMXCIX"),
        (28, "a", "ab"),
        (3, "01", "03"),
        (0, "A", "0"),
        (4000, "i", "4000"),
    ],
)
def test_numbers_of_lists_in_all_their_forms(number: int, form: str, expected: str) -> None:
    assert list_number(number, form) == expected


def _docx_run(text: str, effect: str) -> str:
    return f'<w:r><w:rPr>{effect}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def docx(path: Path) -> Path:
    up, down = '<w:vertAlign w:val="superscript"/>', '<w:vertAlign w:val="subscript"/>'
    runs = [
        ("The 10", ""),
        ("6", up),
        (" and 10", ""),
        ("-", up),
        ("3", '<w:rStyle w:val="Up"/>'),
        (" H", ""),
        ("2", down),
    ]
    runs += [("O cost ", ""), ("30", "<w:strike/>"), (" 25.", ""), (" we take 15", "<w:vanish/>")]
    runs += [(" or 16", '<w:rStyle w:val="Gone"/>'), (" Seen.", '<w:vanish w:val="0"/>')]
    styles = '<w:style w:type="character" w:styleId="Base"><w:rPr><w:vanish/></w:rPr></w:style>'
    styles += '<w:style w:type="character" w:styleId="Gone"><w:basedOn w:val="Base"/></w:style>'
    styles += f'<w:style w:type="character" w:styleId="Up"><w:rPr>{up}</w:rPr></w:style>'
    return make_docx(path, f"<w:p>{''.join(_docx_run(*run) for run in runs)}</w:p>", styles=styles)


def pptx(path: Path) -> Path:
    import pptx as python_pptx

    deck = python_pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    paragraph = slide.shapes.add_textbox(0, 0, 10, 10).text_frame.paragraphs[0]
    runs = [
        ("The 10", {}),
        ("6", {"baseline": "30000"}),
        (" and 10", {}),
        ("-3", {"baseline": "30000"}),
        (" H", {}),
    ]
    runs += [
        ("2", {"baseline": "-25000"}),
        ("O cost ", {}),
        ("30", {"strike": "sngStrike"}),
        (" 25. Seen.", {}),
    ]
    for text, properties in runs:
        run = paragraph.add_run()
        run.text = text
        for name, value in properties.items():
            run._r.get_or_add_rPr().set(name, value)
    hidden = slide.shapes.add_textbox(0, 0, 10, 10)
    hidden.text_frame.text = "we take 15"
    hidden._element.nvSpPr.cNvPr.set("hidden", "1")
    deck.save(str(path))
    return path


_ODF_STYLES = "".join(
    f'<style:style style:name="{name}" style:family="text"{base}><style:text-properties '
    f"{properties}/></style:style>"
    for name, base, properties in (
        ("up", "", 'style:text-position="super 58%"'),
        ("low", "", 'style:text-position="-33% 58%"'),
        ("out", "", 'style:text-line-through-style="solid"'),
        ("gone", "", 'text:display="none"'),
        ("also", ' style:parent-style-name="gone"', 'fo:color="#000000"'),
    )
)


def odt(path: Path) -> Path:
    spans = {"up": ("6", "−3"), "low": ("2",), "out": ("30",), "gone": (" we take 15",), "also": (" or 16",)}
    put = {
        f"{name}{at}": f'<text:span text:style-name="{name}">{text}</text:span>'
        for name in spans
        for at, text in enumerate(spans[name])
    }
    body = "<text:p>The 10{up0} and 10{up1} H{low0}O cost {out0} 25.{gone0}{also0} Seen.</text:p>".format(
        **put
    )
    return make_odf(path, body, styles=_ODF_STYLES)


_PAGE = (
    '<p>The 10<sup>6</sup> and 10<span class="up">−3</span> H<sub>2</sub>O cost <del>30</del> 25.'
    '<span class="gone"> we take 15</span><span style="display: none"> or 16</span><span hidden> or '
    "17</span> Seen.</p>"
)
_CSS = ".up { vertical-align: super } .gone { display: none } @media print { p { display: none } }"


def html(path: Path) -> Path:
    path.write_text(f"<html><head><style>{_CSS}</style></head><body>{_PAGE}</body></html>", "utf-8")
    return path


def epub(path: Path) -> Path:
    return make_epub(path, _PAGE.replace(" hidden>", ' hidden="">'), css=_CSS)


def rtf(path: Path) -> Path:
    text = (
        r"The 10{\super 6} and 10\super \u8722?3\nosupersub  H{\sub 2}O cost {\strike 30} 25.{\v  we "
        r"take 15} Seen."
    )
    path.write_text(r"{\rtf1\ansi{\stylesheet{\s1\super Up;}}" + text + "}")
    return path


def test_powers_of_markdown_are_read_but_not_in_code(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(
        "It holds 10<sup>6</sup> cells of H<sub>2</sub>O.\n\n```\na<sup>2</sup>\n```\n"
    )
    assert read(tmp_path / "a.md") == "It holds 10^6 cells of H2O.\n\n```\na<sup>2</sup>\n```\n"


def test_the_numbers_of_a_rich_text_list_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.rtf").write_text(r"{\rtf1\ansi \pard{\listtext\f0 3.\tab}Three\par}")
    assert read(tmp_path / "a.rtf").split() == ["3.", "Three"]


@pytest.mark.parametrize("make", [docx, pptx, odt, html, epub, rtf], ids=lambda make: make.__name__)
def test_typography_means_the_same_in_every_format(make: Callable[[Path], Path], tmp_path: Path) -> None:
    path = make(tmp_path / f"a.{make.__name__}")
    assert " ".join(read(path).split()) == "The 10^6 and 10^-3 H2O cost ~~30~~ 25. Seen."
    assert "Hidden text in" in " ".join(losses(path))


def test_workbook_letters_are_read_as_raised_and_struck(tmp_path: Path) -> None:
    import openpyxl
    from openpyxl.cell.rich_text import CellRichText, TextBlock
    from openpyxl.cell.text import InlineFont
    from openpyxl.styles import Font

    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet["A1"], sheet["B1"] = "Culture", "Fee"
    sheet["A2"] = CellRichText("10", TextBlock(InlineFont(vertAlign="superscript"), "6"), " cells")
    sheet["B2"] = 30
    sheet["B2"].font = Font(strike=True)
    book.save(tmp_path / "a.xlsx")
    assert read(tmp_path / "a.xlsx").endswith("Culture: 10^6 cells; Fee: ~~30~~")


def test_lists_have_their_numbers_in_every_format(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        "<ol start=3><li>three<li><p>four</p><li value=9>nine<ol type=a><li>inner</ol></ol>"
        "<ol reversed style='list-style:lower-roman'><li>two<li>one</ol><ul><li>dot</ul>"
    )
    assert (
        " ".join(read(tmp_path / "a.html").split())
        == "3. three 4. four 9. nine a. inner ii. two i. one - dot"
    )
    levels = (
        '<text:list-level-style-number text:level="1" style:num-format="1" style:num-suffix="." '
        'text:start-value="3"/>'
    )
    levels += '<text:list-level-style-number text:level="2" style:num-format="a" style:num-suffix=")"/>'
    item = "<text:list-item{}><text:p>{}</text:p>{}</text:list-item>".format
    inner = f"<text:list>{item('', 'inner', '')}</text:list>"
    items = item("", "three", inner) + item("", "four", "")
    body = f'<text:list text:style-name="L">{items}</text:list><text:p>Between.</text:p>'
    body += f'<text:list text:style-name="L" text:continue-numbering="true">{item("", "five", "")}'
    body += item(' text:start-value="9"', "nine", "") + "</text:list>"
    make_odf(tmp_path / "a.odt", body, styles=f'<text:list-style style:name="L">{levels}</text:list-style>')
    assert " ".join(read(tmp_path / "a.odt").split()) == "3. three a) inner 4. four Between. 5. five 9. nine"


def test_slides_number_their_lists_as_they_say(tmp_path: Path) -> None:
    import pptx as python_pptx
    from lxml import etree

    deck = python_pptx.Presentation()
    frame = deck.slides.add_slide(deck.slide_layouts[6]).shapes.add_textbox(0, 0, 10, 10).text_frame
    for at, text in enumerate(("three", "four")):
        paragraph = frame.paragraphs[0] if not at else frame.add_paragraph()
        paragraph.text = text
        mark = etree.SubElement(
            paragraph._p.get_or_add_pPr(), "{http://schemas.openxmlformats.org/drawingml/2006/main}buAutoNum"
        )
        mark.set("type", "romanLcParenR")
        mark.set("startAt", "3")
    deck.save(str(tmp_path / "a.pptx"))
    assert read(tmp_path / "a.pptx") == "iii) three\niv) four"


_STYLES = "".join(
    f'<style:style style:name="{name}" style:family="text"><style:text-properties {effect}/></style:style>'
    for name, effect in (
        ("Struck", 'style:text-line-through-style="solid"'),
        ("Raised", 'style:text-position="super 58%"'),
    )
)


def span(style: str, text: str) -> str:
    return f'<text:span text:style-name="{style}">{text}</text:span>'


def test_effects_of_opendocument_within_each_other(tmp_path: Path) -> None:
    inner = span("Struck", "euro") + span("Raised", "2")
    body = f"<text:p>Pay {span('Struck', '30 ' + inner)} 40</text:p>"
    assert read(make_odf(tmp_path / "a.odt", body, styles=_STYLES)) == "Pay ~~30 euro^2~~ 40"


def test_an_item_of_a_struck_blank_is_no_text(tmp_path: Path) -> None:
    item = f"<text:list-item><text:p>{span('Struck', '<text:s/>')}</text:p></text:list-item>"
    body = f"<text:list>{item}</text:list><text:p>End.</text:p>"
    assert read(make_odf(tmp_path / "a.odt", body, styles=_STYLES)) == "End."


def test_an_equation_that_is_a_shape_of_a_slide_is_read(tmp_path: Path) -> None:
    formula = '<math xmlns="http://www.w3.org/1998/Math/MathML"><mfrac><mi>a</mi><mi>b</mi></mfrac></math>'
    page = f"<draw:page><draw:frame><draw:object>{formula}</draw:object></draw:frame></draw:page>"
    assert read(make_odf(tmp_path / "a.odp", page, kind="presentation")) == r"$\frac{a}{b}$"
