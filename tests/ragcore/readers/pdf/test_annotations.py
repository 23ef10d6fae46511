"""What a PDF holds above and beside its text is read, or named: values of forms, comments, attached files."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from ragcore.errors import RagError
from ragcore.readers.base import ReadOptions
from ragcore.readers.registry import read_file
from tests.ragcore.readers.pdf.drawing import turned_page


def read(path: Path) -> tuple[str, list[str]]:
    """The text, and what was left out."""
    left_out: list[RagError] = []
    document = read_file(path, ReadOptions(path.name, on_loss=left_out.append))
    assert document.pages[-1].end <= len(document.text)
    return document.text, [error.what for error in left_out]


def form(canvas: Any) -> None:
    canvas.drawString(60, 720, "Application for a season ticket")
    fields = canvas.acroForm
    fields.textfield(name="surname", value="Penrose", x=60, y=660)
    fields.textfield(name="f1_02", tooltip="Town of birth", value="Harbour Town", x=60, y=620)
    fields.textfield(name="empty", value="", x=60, y=580)
    fields.checkbox(name="dog", tooltip="Brings a dog", checked=True, x=60, y=540)
    fields.checkbox(name="bicycle", checked=False, x=60, y=500)
    fields.radio(name="class", value="first", selected=False, x=60, y=460)
    fields.radio(name="class", value="second", selected=True, x=100, y=460)
    fields.choice(name="station", value="Low Rock", options=["Cliff Top", "Low Rock"], x=60, y=420)


def test_form_values_are_read_with_their_field_names(tmp_path: Path) -> None:
    text, left_out = read(turned_page(tmp_path / "a.pdf", form))
    assert text.split("\n\n")[0] == "Application for a season ticket"
    assert text.split("\n\n")[1].split("\n") == [
        "surname: Penrose",
        "Town of birth: Harbour Town",
        "Brings a dog: yes",
        "bicycle: not ticked",
        "class: second",
        "station: Low Rock",
    ]
    assert left_out == []


def test_of_several_boxes_with_one_name_each_says_which_it_is(tmp_path: Path) -> None:
    content = b"BT /F1 12 Tf 60 700 Td (Delivery) Tj ET"
    boxes = [("Express", "Express"), ("Parcel", "Off")]
    widgets = [
        f"<< /Type /Annot /Subtype /Widget /Parent 6 0 R /Rect [60 {600 - 40 * at} 80 {620 - 40 * at}] "
        f"/AS /{state}"
        f" /AP << /N << /{value} 5 0 R /Off 5 0 R >> >> >>".encode()
        for at, (value, state) in enumerate(boxes)
    ]
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R /AcroForm << /Fields [6 0 R] >> >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Annots [7 0 R 8 0 R] "
        b"/Resources << /Font"
        b" << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>",
        b"<< /Length %d >> stream\n%s\nendstream" % (len(content), content),
        b"<< /Type /XObject /Subtype /Form /BBox [0 0 20 20] /Length 0 >> stream\n\nendstream",
        b"<< /FT /Btn /T (post) /V /Express /Kids [7 0 R 8 0 R] >>",
        *widgets,
    ]
    body = b"".join(b"%d 0 obj\n%s\nendobj\n" % (number, each) for number, each in enumerate(objects, 1))
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.7\n" + body + b"trailer << /Root 1 0 R /Size 9 >>\n%%EOF\n")
    assert read(tmp_path / "a.pdf")[0] == "Delivery\n\npost: Express\npost: Parcel not ticked"


def test_comments_are_read_and_say_what_they_are(tmp_path: Path) -> None:
    def draw(canvas: Any) -> None:
        canvas.drawString(60, 720, "The fare is 30 pounds.")
        canvas.textAnnotation("Ask Ben whether this still holds.", Rect=[60, 700, 80, 720])
        canvas.freeTextAnnotation("Draft of May", DA="/Helv 10 Tf", Rect=[200, 700, 300, 720])

    text, _ = read(turned_page(tmp_path / "a.pdf", draw))
    assert text == "The fare is 30 pounds.\n\nComment: Ask Ben whether this still holds.\nDraft of May"


def attached(path: Path, files: dict[str, bytes]) -> Path:
    import pypdfium2

    turned_page(path, lambda canvas: canvas.drawString(60, 720, "See the files inside."))
    with pypdfium2.PdfDocument(path.read_bytes()) as pdf:
        for name, data in files.items():
            pdf.new_attachment(name).set_data(data)
        pdf.save(path)
    return path


def test_attached_files_are_read_and_unreadable_ones_are_named(tmp_path: Path) -> None:
    files = {
        "fares.txt": b"A season ticket costs 41 pounds.",
        "song.mp3": b"ID3\4" + bytes(400),
        "times.csv": b"Day,Hour\nMay,9\n",
    }
    text, left_out = read(attached(tmp_path / "a.pdf", files))
    assert text.split("\n\n") == [
        "See the files inside.",
        "fares.txt",
        "A season ticket costs 41 pounds.",
        "times.csv",
        "Day | Hour\nDay: May; Hour: 9",
    ]
    assert left_out == ["a.pdf was read without the files inside it: song.mp3."]


def xfa(data: str, text: str = "Please wait") -> bytes:
    """A file with a form that is laid out by XFA, and a page for programs that do not know it."""
    content = f"BT /F1 12 Tf 60 700 Td ({text}) Tj ET".encode()
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R /NeedsRendering true"
        b" /AcroForm << /Fields [] /XFA [(template) 6 0 R (datasets) 5 0 R] >> >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /Font << "
        b"/F1 << /Type /Font"
        b" /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>",
        b"<< /Length %d >> stream\n%s\nendstream" % (len(content), content),
        b"<< /Length %d >> stream\n%s\nendstream" % (len(data), data.encode()),
        b"<< /Length 11 >> stream\n<template/>\nendstream",
    ]
    body = b"".join(b"%d 0 obj\n%s\nendobj\n" % (number, each) for number, each in enumerate(objects, 1))
    return b"%PDF-1.7\n" + body + b"trailer << /Root 1 0 R /Size 7 >>\n%%EOF\n"


@pytest.mark.parametrize("value", ["Penrose", "Penrose &amp; Hale"])
def test_a_form_of_xfa_gives_its_values_and_says_that_it_is_one(value: str, tmp_path: Path) -> None:
    data = (
        "<xfa:datasets "
        f"xmlns:xfa='x'><xfa:data><form><surname>{value}</surname><town/></form></xfa:data></xfa:datasets>"
    )
    (tmp_path / "a.pdf").write_bytes(xfa(data))
    text, left_out = read(tmp_path / "a.pdf")
    assert text == f"Please wait\n\nsurname: {value.replace('&amp;', '&')}"
    assert left_out == [
        "a.pdf is an XFA form: what was entered in it was read, but not the form itself.",
    ]


def test_a_box_that_is_not_ticked_keeps_no_values_of_xfa_out(tmp_path: Path) -> None:
    data = (
        "<xfa:datasets "
        "xmlns:xfa='x'><xfa:data><form><surname>Penrose</surname></form></xfa:data></xfa:datasets>"
    )
    box = b"<< /Type /Annot /Subtype /Widget /FT /Btn /T (dog) /Rect [60 600 80 620] /AS /Off >>"
    whole = (
        xfa(data)
        .replace(b"/Fields []", b"/Fields [7 0 R]")
        .replace(b"/Contents 4", b"/Annots [7 0 R] /Contents 4")
    )
    whole = whole.replace(b"trailer", b"7 0 obj\n" + box + b"\nendobj\ntrailer").replace(
        b"/Size 7", b"/Size 8"
    )
    (tmp_path / "a.pdf").write_bytes(whole)
    assert read(tmp_path / "a.pdf")[0] == "Please wait\n\ndog: not ticked\nsurname: Penrose"


@pytest.mark.skipif(find_spec("rapidocr") is not None, reason="it recognises them")
def test_picture_only_pages_are_named_without_recognition(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from PIL import Image, ImageDraw
    from reportlab.lib.utils import ImageReader
    from reportlab.pdfgen.canvas import Canvas

    picture = Image.new("L", (600, 800), 255)
    ImageDraw.Draw(picture).text((60, 60), "Written in a picture", fill=0)
    canvas = Canvas(str(tmp_path / "a.pdf"))
    for number in range(4):
        if number % 2:
            canvas.drawImage(ImageReader(picture), 0, 0, 595, 842)
        else:
            canvas.drawString(60, 700, "Typed.")
        canvas.showPage()
    canvas.save()
    monkeypatch.setenv("PATH", str(tmp_path))
    _, left_out = read(tmp_path / "a.pdf")
    assert len(left_out) == 1
    assert left_out[0].startswith("In a.pdf there are only pictures on pages 2 and 4")
