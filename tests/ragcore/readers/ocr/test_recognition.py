"""Which engine reads a page, which way up, and what is said of what none of them reads.

The double reads a picture by its shades: each page is drawn with a mark at the top, whose shade says what
stands there.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont

from benchmarks.scanned_pages import ScannedPage, scanned_pages, words_of
from lectern.jobs.sandbox import end_readers, read_isolated
from ragcore.errors import NoTextError, RagError
from ragcore.readers.base import ReadOptions
from ragcore.readers.ocr import rapidocr, recognition, tesseract
from ragcore.readers.ocr.image import render_picture
from ragcore.readers.ocr.page_words import PageWords
from ragcore.readers.ocr.recognised_page import Line, RecognisedPage, Word
from ragcore.readers.pdf.page_images import render_page
from ragcore.readers.registry import read_file
from tests.needs import needs_rapidocr
from tests.ragcore.readers.ocr.test_tesseract import SENTENCES, drawn, scanned, with_tesseract

MARK = (10, 10, 60, 30)  # on an upright page

with_rapidocr = needs_rapidocr
each_engine = pytest.mark.parametrize(
    "engine", [pytest.param(tesseract, marks=with_tesseract), pytest.param(rapidocr, marks=with_rapidocr)]
)


def marked(turn: int = 0) -> Image.Image:
    """A page with a mark in its top left corner, lying so that it has to be turned clockwise by `turn`."""
    picture = Image.new("L", (400, 600), 255)
    ImageDraw.Draw(picture).rectangle(MARK, fill=0)
    return recognition.turn_picture(picture, (360 - turn) % 360)


@dataclass
class Double:
    """Reads `text` on a page that stands upright, and signs of little confidence on any other."""

    text: str
    confidence: float = 0.9
    languages: tuple[str, ...] = ("", "en")
    __name__: str = "double"
    sizes: list[tuple[int, int]] = field(default_factory=list)

    def is_installed(self) -> bool:
        return True

    def reads(self, language: str) -> bool:
        return language in self.languages

    def read_lines(self, picture: Image.Image, name: str) -> RecognisedPage:
        self.sizes.append(picture.size)
        upright = picture.width < picture.height and picture.getpixel((30, 20)) == 0
        text, confidence = (self.text, self.confidence) if upright else ("xqz jjk wvv", 0.2)
        words = tuple(
            Word(word, 10 + 40 * place, 10, 45 + 40 * place, 30, confidence)
            for place, word in enumerate(text.split())
        )
        return RecognisedPage([Line(words)] if words else [], picture.width, picture.height)


def test_first_confident_engine_is_the_only_one_to_read() -> None:
    first, second = Double("the tower of the town"), Double("something else")
    assert recognition.recognise(marked(), "a.png", engines=[first, second]).text == "the tower of the town"
    assert (len(first.sizes), len(second.sizes)) == (1, 0)


def test_second_engine_reads_unsure_or_unsupported_text() -> None:
    good = Double("der Turm ist in der Stadt und", languages=("de",))
    for first in (
        Double("tbe lower oI lbe lown", 0.5),
        Double("der Turrn ist in der Stadt und", 0.8),
        Double(""),
    ):
        assert recognition.recognise(marked(), "a.png", engines=[first, good]).text == good.text
    weak = Double("d3r T", 0.5)
    assert (
        recognition.recognise(marked(), "a.png", engines=[Double("der Turrn ist in der", 0.8), weak]).text
        == "der Turrn ist in der"
    )


@pytest.mark.parametrize("turn", [0, 90, 180, 270])
def test_a_page_is_read_the_way_up_that_gives_text(turn: int) -> None:
    page = recognition.recognise(marked(turn), "a.png", engines=[Double("the tower of the town")])
    assert (page.text, page.turn, page.width, page.height) == ("the tower of the town", turn, 400, 600)


def reports(
    page: RecognisedPage, picture: Image.Image, label: str = "3", engine: recognition.Engine | None = None
) -> list[str]:
    report = recognition.RecognitionReport("a.pdf", engines=[engine or Double("")])
    report.note(label, picture, page)
    return [error.what for error in report.errors()]


def test_unrecognised_text_is_reported_and_a_blank_sheet_is_not() -> None:
    unknown = recognition.recognise(
        marked(), "a.pdf", engines=[Double("KaHaTHad Jopora OTKpbiiacb BecHou", 0.31)]
    )
    assert unknown.text == ""
    assert reports(unknown, marked()) == ["Text was not recognised on these pages of a.pdf: 3."]
    assert reports(unknown, marked(), "") == ["The text in a.pdf was not recognised."]
    nothing = recognition.recognise(marked(), "a.pdf", engines=[Double("")])
    photograph = Image.linear_gradient("L")
    assert reports(nothing, photograph) == ["No words were recognised on these pages of a.pdf: 3."]
    assert reports(nothing, Image.effect_noise((400, 600), 20)) == []
    assert (
        reports(recognition.recognise(marked(), "a.pdf", engines=[Double("the tower", 0.9)]), marked()) == []
    )


def test_specks_and_letters_are_not_text_but_words_and_lines_are() -> None:
    def page(*lines: tuple[str, float]) -> RecognisedPage:
        return RecognisedPage(
            [Line(tuple(Word(word, 0, 0, 9, 9, sure) for word in text.split())) for text, sure in lines],
            99,
            99,
        )

    assert page(("the tower of the town", 0.9)).is_like_text
    assert page(("Harbour", 0.9), ("Lighthouse", 0.9)).is_like_text
    assert page(("合计", 0.9), ("海边的铁路在春天开通了，塔是后来建的", 0.9)).is_like_text
    assert page(("KaHaTHaa gopora OTKpbl1aCb", 0.0)).is_like_text  # in letters that are not known
    assert RecognisedPage([Line((), capacity=40)], 99, 99).is_like_text  # lines that were found and not read
    assert not page(
        ("4 | a", 0.8), ("ers", 0.1), ("Lf S", 0.5), ("t4SWW03S", 0.2), ("é", 0.7), ("MMMMMMM", 0.3)
    ).is_like_text
    assert not page(("Town", 0.9)).is_like_text  # a single word, such as on a sign
    assert not page().is_like_text


def test_pages_with_the_same_loss_are_one_report() -> None:
    report = recognition.RecognitionReport("a.pdf")
    for number in range(1, 20):
        report.note(str(number), Image.linear_gradient("L"), RecognisedPage((), 4, 6))
    [error] = report.errors()
    assert (
        error.what
        == "No words were recognised on these pages of a.pdf: 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, …."
    )


def test_word_places_are_compact_and_match_a_hyphenated_quote() -> None:
    lines = [
        Line(
            (
                Word("The", 10, 10, 50, 30, 0.9),
                Word("cliff", 60, 10, 110, 30, 0.9),
                Word("rail-", 120, 10, 170, 30, 0.9),
            )
        ),
        Line((Word("way", 10, 50, 50, 70, 0.9), Word("opened", 60, 50, 140, 70, 0.9))),
    ]
    words = PageWords.from_bytes(PageWords.of(RecognisedPage(lines, 200, 100, turn=90)).to_bytes())
    assert words.turn == 90
    first, second = words.highlight_boxes("cliff railway")
    assert (first.x0, first.top, first.width, first.height) == (30, 10, 55, 20)
    assert (second.x0, second.top, second.width, second.height) == (5, 50, 20, 20)
    assert words.highlight_boxes("The cliff railway opened", [(18, 24)]) == words.highlight_boxes("opened")
    assert words.highlight_boxes("nothing of this stands here") == []
    with pytest.raises(ValueError, match="turned by 45"):
        PageWords.of_json([45, []])


@each_engine
@pytest.mark.parametrize("turn", [0, 90, 180, 270])
def test_sideways_or_upside_down_page_is_read_and_drawn_upright(
    engine: recognition.Engine, turn: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recognition, "ENGINES", (engine,))
    upright = drawn(*SENTENCES, *SENTENCES)
    recognition.turn_picture(upright, turn).save(tmp_path / "page.png")
    words: dict[int, PageWords] = {}
    document = read_file(tmp_path / "page.png", ReadOptions("page.png", on_words=words.__setitem__))
    assert document.text.split() == " ".join([*SENTENCES, *SENTENCES]).split()
    (tmp_path / "drawn.webp").write_bytes(render_picture(tmp_path / "page.png", 0, turn=words[0].turn))
    with Image.open(tmp_path / "drawn.webp") as picture:
        assert picture.size == (2000, 1373)
        box = words[0].highlight_boxes("Ada Penrose built its tower.")[0]
        assert box.x0 == pytest.approx(100 * 60 / 874, abs=2)
        assert box.top == pytest.approx(100 * 205 / 600, abs=3)
        inside = picture.convert("L").crop(
            (0, int(13.73 * box.top), 2000, int(13.73 * (box.top + box.height)))
        )
        assert inside.getextrema()[0] < 60


@with_tesseract
def test_sideways_pdf_page_is_read_and_drawn_upright(tmp_path: Path) -> None:
    pages = [recognition.turn_picture(drawn(*SENTENCES), turn).convert("RGB") for turn in (0, 180, 90)]
    pages[0].save(tmp_path / "scan.pdf", save_all=True, append_images=pages[1:], resolution=150)
    words: dict[int, PageWords] = {}
    document = read_file(tmp_path / "scan.pdf", ReadOptions("scan.pdf", on_words=words.__setitem__))
    texts = [document.text[page.start : page.end].split() for page in document.pages]
    assert texts == [" ".join(SENTENCES).split()] * 3
    assert [words[index].turn for index in range(3)] == [0, 180, 270]
    drawings = []
    for index in range(3):
        (tmp_path / "page.webp").write_bytes(
            render_page(tmp_path / "scan.pdf", index, turn=words[index].turn)
        )
        drawings.append(Image.open(tmp_path / "page.webp").convert("L").reduce(8))
    assert [drawing.size for drawing in drawings] == [drawings[0].size] * 3
    for drawing in drawings[1:]:
        assert list(drawing.get_flattened_data()) == pytest.approx(
            list(drawings[0].get_flattened_data()), abs=60
        )


CYRILLIC = "Канатная дорога открылась весной. Башню построила Ада Пенроуз в прошлом веке."


def cyrillic() -> Image.Image:
    picture = Image.new("RGB", (1400, 400), "white")
    try:
        font = ImageFont.truetype("DejaVuSans.ttf", 40)
    except OSError:
        pytest.skip("no font with Cyrillic letters")
    ImageDraw.Draw(picture).text((60, 80), CYRILLIC.replace(". ", ".\n"), fill="black", font=font, spacing=30)
    return picture


@each_engine
def test_letters_unknown_to_the_engine_are_reported_not_guessed(
    engine: recognition.Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if engine is tesseract and {"rus", "ukr", "bul"} & set(tesseract.languages()):
        pytest.skip("tesseract has Cyrillic letters")
    monkeypatch.setattr(recognition, "ENGINES", (engine,))
    cyrillic().save(tmp_path / "russian.png")
    with pytest.raises(NoTextError, match=r"The text in russian\.png was not recognised"):
        read_file(tmp_path / "russian.png", ReadOptions("russian.png"))
    pages = [drawn(SENTENCES[0]), cyrillic()]
    pages[0].save(tmp_path / "mixed.pdf", save_all=True, append_images=pages[1:], resolution=150)
    left_out: list[RagError] = []
    document = read_file(tmp_path / "mixed.pdf", ReadOptions("mixed.pdf", on_loss=left_out.append))
    assert document.text == SENTENCES[0]
    assert [error.what for error in left_out] == ["Text was not recognised on these pages of mixed.pdf: 2."]
    assert "tesseract-ocr-rus" in left_out[0].hint


@with_tesseract
def test_a_page_that_is_a_photograph_without_words_is_reported(tmp_path: Path) -> None:
    sun = Image.radial_gradient("L").resize((874, 600)).convert("RGB")
    drawn(SENTENCES[0]).save(
        tmp_path / "a.pdf", save_all=True, append_images=[sun, Image.new("RGB", (874, 600), "white")]
    )
    left_out: list[RagError] = []
    assert read_file(tmp_path / "a.pdf", ReadOptions("a.pdf", on_loss=left_out.append)).text == SENTENCES[0]
    assert [error.what for error in left_out] == ["No words were recognised on these pages of a.pdf: 2."]


@with_rapidocr
def test_rapidocr_reads_accents_and_columns_in_the_right_order() -> None:
    pages = {page.name: page for page in scanned_pages()}
    for name in ("German", "French", "two columns", "table"):
        page = pages[name]
        text = recognition.recognise(page.picture, name, engines=[rapidocr]).text
        assert words_of(text) == page.words


@with_rapidocr
def test_confined_process_uses_rapidocr_without_tesseract(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = scanned(tmp_path / "scan.pdf", SENTENCES[0])
    monkeypatch.setenv("PATH", str(tmp_path))
    end_readers()
    try:
        document = read_isolated(
            path, ReadOptions("scan.pdf"), timeout=120, memory_mb=2048, cancelled=lambda: False
        )
    finally:
        end_readers()
    assert document.text == SENTENCES[0]


@with_tesseract
def test_german_read_by_an_english_engine_alone_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    if "deu" in tesseract.languages():
        pytest.skip("tesseract has German")
    monkeypatch.setattr(recognition, "ENGINES", (tesseract,))
    page: ScannedPage = next(page for page in scanned_pages() if page.name == "German")
    [what] = reports(recognition.recognise(page.picture, "a.pdf"), page.picture, engine=tesseract)
    assert what == "Accents may be wrong on these pages of a.pdf: 3."


@with_tesseract
def test_a_slanted_page_is_read() -> None:
    page = next(page for page in scanned_pages() if page.name == "photograph")
    words = words_of(recognition.recognise(page.picture, "a.png", engines=[tesseract]).text)
    assert (Counter(words) & Counter(page.words)).total() >= 0.97 * len(page.words)
