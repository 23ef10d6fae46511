"""Word documents whose formatting changes what is read: first letters, hidden and deleted marks,
equations."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from ragcore.readers.base import ReadOptions
from ragcore.readers.registry import read_file
from tests.ragcore.readers.packages import make_docx, make_odf, relations

_CHART = "http://schemas.openxmlformats.org/drawingml/2006/chart"


def read(path: Path) -> str:
    return read_file(path, ReadOptions(path.name)).text


def paragraph(text: str, properties: str = "") -> str:
    return f"<w:p><w:pPr>{properties}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"


@pytest.mark.parametrize("place", ["drop", "margin"])
def test_a_first_letter_as_tall_as_lines_joins_its_word(place: str, tmp_path: Path) -> None:
    body = paragraph("C", f'<w:framePr w:dropCap="{place}" w:lines="3"/>') + paragraph("astleford was sold.")
    assert read(make_docx(tmp_path / "a.docx", body)) == "Castleford was sold."


@pytest.mark.parametrize("mark", ["<w:vanish/>", "<w:specVanish/>", '<w:del w:id="1"/>'])
def test_paragraph_with_a_hidden_mark_continues_in_the_next(mark: str, tmp_path: Path) -> None:
    body = paragraph("It was ", f"<w:rPr>{mark}</w:rPr>").replace(
        "<w:t>", '<w:t xml:space="preserve">'
    ) + paragraph("sold.")
    assert read(make_docx(tmp_path / "a.docx", body)) == "It was sold."


def test_style_hidden_paragraph_and_deleted_row_are_skipped(tmp_path: Path) -> None:
    styles = '<w:style w:type="paragraph" w:styleId="Note"><w:rPr><w:vanish/></w:rPr></w:style>'
    row = "<w:tr>{}<w:tc>{}</w:tc><w:tc>{}</w:tc></w:tr>".format
    table = row("", paragraph("Kettle"), paragraph("31")) + row(
        "<w:trPr><w:del/></w:trPr>", paragraph("Pan"), paragraph("7")
    )
    body = paragraph("Internal: 15.", '<w:pStyle w:val="Note"/>') + f"<w:tbl>{table}</w:tbl>"
    assert read(make_docx(tmp_path / "a.docx", body, styles=styles)) == "Kettle | 31"


def test_a_reading_stands_behind_its_word(tmp_path: Path) -> None:
    run = "<w:r><w:t>{}</w:t></w:r>".format
    pair = "<w:r><w:ruby><w:rt>{}</w:rt><w:rubyBase>{}</w:rubyBase></w:ruby></w:r>".format
    body = f"<w:p>{pair(run('とう'), run('東'))}{pair(run('きょう'), run('京'))}{run('です')}</w:p>"
    assert read(make_docx(tmp_path / "a.docx", body)) == "東京(とうきょう)です"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (r"EQ \f(1,2)", "Take 1/2 cup."),
        (r'EQ \* jc2 \* "Font:MS Mincho" \* hps10 \o\ad(\s\up 9(とう),東)', "Take 東(とう) cup."),
    ],
)
def test_fields_that_are_drawn_from_their_code_are_read(code: str, expected: str, tmp_path: Path) -> None:
    run = '<w:r><w:t xml:space="preserve">{}</w:t></w:r>'.format
    field = '<w:r><w:fldChar w:fldCharType="{}"/></w:r>'.format
    codes = "".join(f"<w:r><w:instrText>{part}</w:instrText></w:r>" for part in (code[:6], code[6:]))
    body = f"<w:p>{run('Take ')}{field('begin')}{codes}{field('end')}{run(' cup.')}</w:p>"
    assert read(make_docx(tmp_path / "a.docx", body)) == expected


R = "<m:r><m:t>{}</m:t></m:r>".format


@pytest.mark.parametrize(
    ("omml", "latex"),
    [
        (R("v=5"), "v=5"),
        (f"{R('t=')}<m:f><m:num>{R('a+b')}</m:num><m:den>{R('2c')}</m:den></m:f>", r"$t=\frac{a+b}{2c}$"),
        (f"<m:rad><m:radPr><m:degHide m:val='1'/></m:radPr><m:deg/><m:e>{R('x')}</m:e></m:rad>",
         r"$\sqrt{x}$"),
        (f"<m:rad><m:deg>{R('3')}</m:deg><m:e>{R('x')}</m:e></m:rad>", r"$\sqrt[3]{x}$"),
        (f"<m:sSubSup><m:e>{R('x')}</m:e><m:sub>{R('i')}</m:sub><m:sup>{R('10')}</m:sup></m:sSubSup>",
         "$x_i^{10}$"),
        (f"<m:nary><m:naryPr><m:chr m:val='∑'/></m:naryPr><m:sub>{R('i=1')}</m:sub><m:sup>{R('n')}</m:sup>"
         f"<m:e>{R('i')}</m:e></m:nary>",
         r"$\sum_{i=1}^n i$"),
        (f"<m:d><m:e><m:m><m:mr><m:e>{R('1')}</m:e><m:e>{R('0')}</m:e></m:mr></m:m></m:e></m:d>",
         r"$\begin{pmatrix}1&0\end{pmatrix}$"),
        (f"<m:func><m:fName>{R('sin')}</m:fName><m:e>{R('θ')}</m:e></m:func>", r"$\sin \theta$"),
        (f"<m:acc><m:accPr><m:chr m:val='⃗'/></m:accPr><m:e>{R('v')}</m:e></m:acc>", r"$\vec{v}$"),
        (f"<m:limLow><m:e>{R('lim')}</m:e><m:lim>{R('x→0')}</m:lim></m:limLow>", r"$\lim_{x\to0}$"),
    ],
)  # fmt: skip
def test_equations_are_latex(omml: str, latex: str, tmp_path: Path) -> None:
    path = make_docx(tmp_path / "a.docx", f"<w:p><w:r><w:t>Here: </w:t></w:r><m:oMath>{omml}</m:oMath></w:p>")
    assert read(path) == f"Here: {latex}"


def test_charts_are_read_in_place_and_pictures_are_named(tmp_path: Path) -> None:
    drawing = f'<w:p><w:r><w:drawing><c:chart xmlns:c="{_CHART}" r:id="c"/></w:drawing></w:r></w:p>'
    points = '<c:{0}><c:pt idx="0"><c:v>{1}</c:v></c:pt></c:{0}>'.format
    series = f"<c:ser>{points('tx', 'North')}{points('cat', 'Spring')}{points('val', '7')}</c:ser>"
    more: dict[str, str | bytes] = {
        "word/_rels/document.xml.rels": relations(
            ("c", "chart", "charts/chart1.xml"),
            ("p", "image", "media/a.png"),
            ("o", "oleObject", "embeddings/a.bin"),
        ),
        "word/charts/chart1.xml": f'<c:chartSpace xmlns:c="{_CHART}">{series}</c:chartSpace>',
        "word/media/a.png": b"\0" * 90_000,
        "word/embeddings/a.bin": b"\0",
    }
    path = make_docx(tmp_path / "a.docx", paragraph("Before.") + drawing + paragraph("Behind."), more=more)
    found: list[str] = []
    text = read_file(path, ReadOptions(path.name, on_loss=lambda error: found.append(str(error)))).text
    assert text == "Before.\n\nNorth\nSpring | North: 7\n\nBehind."
    assert [each[-9:] for each in found] == ["ures: 1).", "mber: 1)."]


def test_long_and_circular_style_chains_are_read(tmp_path: Path) -> None:
    style = '<w:style w:type="paragraph" w:styleId="{}"><w:basedOn w:val="{}"/>{}</w:style>'.format
    styles = "".join(style(f"S{number}", f"S{number + 1}", "") for number in range(2000))
    styles += style("S2000", "", "<w:rPr><w:strike/></w:rPr>") + style("A", "B", "") + style("B", "A", "")
    body = paragraph("Old.", '<w:pStyle w:val="S0"/>') + paragraph("New.", '<w:pStyle w:val="A"/>')
    assert read(make_docx(tmp_path / "a.docx", body, styles=styles)) == "~~Old.~~\n\nNew."


COUNT = 60_000
RUN = "<w:r><w:t>a</w:t></w:r>"
STYLE = f'<w:style w:type="paragraph" w:styleId="Long">{"<w:x/>" * COUNT}</w:style>'


@pytest.mark.parametrize(
    ("body", "separator"),
    [
        (f"<w:p>{RUN * COUNT}</w:p>", ""),
        (f"<w:p><w:pPr><w:rPr><w:vanish/></w:rPr></w:pPr>{RUN}</w:p>" * COUNT, ""),
        (f'<w:p><w:pPr><w:pStyle w:val="Long"/></w:pPr>{RUN}</w:p>' * COUNT, "\n\n"),
    ],
    ids=["runs", "hidden marks", "long style"],
)
def test_a_document_is_read_in_seconds_however_many_parts_it_has(
    body: str, separator: str, tmp_path: Path
) -> None:
    path = make_docx(tmp_path / "a.docx", body, styles=STYLE)
    began = time.process_time()
    assert read(path) == separator.join("a" * COUNT)
    assert time.process_time() - began < 20


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ('<text:span text:style-name="h">secret</text:span>shown ' * COUNT, "shown " * COUNT),
        ("<text:ruby><text:ruby-base>a</text:ruby-base></text:ruby>shown " * COUNT, "ashown " * COUNT),
        (
            "<office:annotation><text:p>a" * 22 + "</text:p></office:annotation>" * 22,
            " [Comment: a" * 22 + "] " * 22,
        ),
    ],
    ids=["hidden", "readings", "comments in comments"],
)
def test_a_paragraph_of_opendocument_is_read_in_seconds(body: str, text: str, tmp_path: Path) -> None:
    hides = (
        '<style:style style:name="h" style:family="text"><style:text-properties '
        'text:display="none"/></style:style>'
    )
    path = make_odf(tmp_path / "a.odt", f"<text:p>{body}</text:p>", styles=hides)
    began = time.process_time()
    assert read(path).replace(" ", "") == text.replace(" ", "")
    assert time.process_time() - began < 20


def test_effects_do_not_depend_on_how_word_cuts_a_text_into_runs(tmp_path: Path) -> None:
    struck = '<w:r><w:rPr><w:strike/></w:rPr><w:t xml:space="preserve">{}</w:t></w:r>'.format
    raised = struck("{}").replace("<w:strike/>", '<w:vertAlign w:val="superscript"/>').format
    plain = "<w:r><w:t>{}</w:t></w:r>".format
    between = plain(". Then e")
    cut = f"<w:p>{struck('Pay 30 ')}{struck('euro')}{between}{raised('x ')}{raised('+ 1')}</w:p>"
    whole = f"<w:p>{struck('Pay 30 euro')}{between}{raised('x + 1')}</w:p>"
    text = "~~Pay 30 euro~~. Then e^(x + 1)"
    assert read(make_docx(tmp_path / "a.docx", cut)) == text
    assert read(make_docx(tmp_path / "b.docx", whole)) == text


def test_a_numbered_paragraph_may_hold_only_a_text_box(tmp_path: Path) -> None:
    numbered = '<w:p><w:pPr><w:numPr><w:numId w:val="7"/></w:numPr></w:pPr><w:r>{}</w:r></w:p>'.format
    box = numbered(f"<w:pict><w:txbxContent>{paragraph('Keep dry.')}</w:txbxContent></w:pict>")
    body = box + numbered("<w:t>Keep cool.</w:t>") + numbered("<w:tab/>")
    assert read(make_docx(tmp_path / "a.docx", body)) == "- Keep dry.\n- Keep cool."
