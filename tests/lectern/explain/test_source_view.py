"""Cited passages where they stand: on the pages of a PDF, in a text, and where their document has changed or
is gone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from lectern.explain.laid_out_text import lay_out
from lectern.explain.source_view import draw_page, locate_quotes, locate_sentence, view_source
from lectern.library import Library
from lectern.runs.answer_runs import AnswerRuns
from lectern.schema import Ask, Source, build_sources
from ragcore.errors import InputError, UnknownDocumentError
from tests.lectern.test_library import TOWER, finished, take_in, worker_of
from tests.making import make_pdf, make_pptx
from tests.ragcore.readers.ocr.test_tesseract import SENTENCES, drawn, scanned, with_tesseract
from tests.ragcore.readers.pdf.drawing import turned_page
from tests.ragcore.readers.pdf.test_pictures import FOOT, letter


@pytest.mark.smoke
def test_source_opens_in_its_document_or_is_reported_deleted(
    open_library: Callable[..., Library],
) -> None:
    library = open_library()
    file = take_in(library, TOWER, "tower.txt")
    message = library.conversations.message(
        finished(library, AnswerRuns(library), Ask("Who built the tower?"))
    )
    assert message is not None
    (source,) = message.sources
    view = view_source(library, source)
    assert (view.kind, view.before + view.marked + view.after) == ("text", TOWER)
    assert view.marked == source.text

    take_in(library, "Something else altogether stands here now.", "tower.txt")
    with pytest.raises(InputError, match="has changed"):
        view_source(library, source)
    library.delete_file(file.id)
    with pytest.raises(InputError, match="has been deleted"):
        view_source(library, source)


def test_a_source_in_a_pdf_is_boxes_on_its_page(open_library: Callable[..., Library], tmp_path: Path) -> None:
    library = open_library()
    path = library.incoming / "given.pdf"
    make_pdf(
        path, ["Nothing of note happens on this first page.", "The tower was built by Ada Penrose in 1871."]
    )
    library.intake.add(path, "tower.pdf")
    assert worker_of(library).run_once()
    ask = Ask("Who built the tower?", chat_mode=None)
    message = library.conversations.message(finished(library, AnswerRuns(library), ask))
    assert message is not None
    cited = next(source for source in message.sources if "Penrose" in source.text)
    view = view_source(library, cited)
    assert view.kind == "page"
    assert view.page_count == 2
    assert any(view.boxes)
    assert draw_page(library, cited.file_id, view.page_index)[:4] in (b"RIFF", b"\x89PNG")


def scan_or_picture(library: Library, name: str) -> Source:
    """The source about the tower, in a scan whose first page is text, or in a photograph that lies upside
    down."""
    path = library.incoming / f"given-{name}"
    if name.endswith(".pdf"):
        scanned(path, "=This page was typed.", " ".join(SENTENCES))
    else:
        drawn(*SENTENCES).rotate(180).save(path)
    library.intake.add(path, name)
    assert worker_of(library).run_once()
    ask = Ask("Who built the tower?", chat_mode=None)
    message = library.conversations.message(finished(library, AnswerRuns(library), ask))
    assert message is not None
    return next(source for source in message.sources if "Penrose" in source.text)


@with_tesseract
@pytest.mark.parametrize(("name", "top"), [("scan.pdf", 13), ("photo.png", 33)])
def test_source_in_a_scan_or_picture_is_marked_at_its_words(
    name: str, top: float, open_library: Callable[..., Library]
) -> None:
    library = open_library()
    source = scan_or_picture(library, name)
    start = source.text.index(SENTENCES[1])
    view = view_source(library, source, [(start, start + len(SENTENCES[1]))])
    assert (view.kind, view.page_count) == ("page", 2 if name == "scan.pdf" else 1)
    [box] = view.quoted_boxes[-1]
    assert box.top == pytest.approx(top, abs=3)
    assert 20 < box.width < 60
    assert draw_page(library, source.file_id, view.page_index)[:4] == b"RIFF"


@with_tesseract
def test_passage_over_picture_and_lines_is_marked_on_all(
    open_library: Callable[..., Library], tmp_path: Path
) -> None:
    library = open_library()
    file = library.intake.add(turned_page(tmp_path / "given.pdf", letter), "letter.pdf").file
    assert worker_of(library).run_once()
    text = library.store.document(file.id).text
    source = Source(1, "n", file.id, file.name, 0, len(text), text)
    quoted = [(start, start + len(line)) for line in (SENTENCES[1], FOOT) if (start := text.index(line)) > 0]
    view = view_source(library, source, quoted)
    assert len(view.boxes[0]) == 2 + len(SENTENCES)
    assert sorted(round(box.top) for box in view.quoted_boxes[0]) == [37, 89]


@with_tesseract
def test_scan_without_stored_words_opens_as_before(open_library: Callable[..., Library]) -> None:
    library = open_library()
    for name, kind in (("scan.pdf", "page"), ("photo.png", "text")):
        source = scan_or_picture(library, name)
        library.files.page_words.replace(source.file_id, {})
        view = view_source(library, source)
        assert view.kind == kind
        assert not any(view.boxes[1:])
        if kind == "text":
            with pytest.raises(UnknownDocumentError):
                draw_page(library, source.file_id, 0)


def test_passage_is_marked_on_every_page_that_it_reaches(
    open_library: Callable[..., Library], tmp_path: Path
) -> None:
    library = open_library()
    path = library.incoming / "given.pdf"
    make_pdf(
        path,
        [
            "A cover.",
            "The tower was built by Ada Penrose in 1871.",
            "It fell in the storm of 1903.",
            "The end.",
        ],
    )
    file = library.intake.add(path, "tower.pdf").file
    assert worker_of(library).run_once()
    text = library.store.document(file.id).text
    start, end = text.index("The tower"), text.index("1903.") + len("1903.")
    source = Source(1, "n", file.id, file.name, start, end, text[start:end], page_index=1)
    view = view_source(library, source)
    assert (view.page_index, view.opens, view.page_labels) == (1, 1, ("2", "3"))
    assert [len(boxes) for boxes in view.boxes] == [1, 1]
    fell = text[start:end].index("It fell")
    view = view_source(library, source, [(fell, end - start)])
    assert [len(boxes) for boxes in view.boxes] == [1, 1]
    assert view.quoted_boxes == ((), view.boxes[1])


def test_multi_page_passage_cites_the_page_of_its_first_quote(
    open_library: Callable[..., Library], tmp_path: Path
) -> None:
    library = open_library()
    fell = "The tower fell in the storm of 1903."
    pages = ["A cover.", "The tower was built by Ada Penrose.", fell, "The end."]
    file = library.intake.add(make_pdf(tmp_path / "given.pdf", pages), "tower.pdf").file
    assert worker_of(library).run_once()
    (source,) = build_sources(library.retriever(1).retrieve("Who built the tower?"))
    assert source.page_label == "1"

    def pages_of(*answers: str) -> list[str | None]:
        return [locate_quotes(library.store, [source], answer)[0].page_label for answer in answers]

    assert pages_of(f"{fell} [1]", f"{fell} [1] A cover. [1]", f"Never. [1] A cover. {fell} [1]") == ["3"] * 3
    assert pages_of(f"A cover. [1] {fell} [1]", f"{fell} [2]", "") == ["1"] * 3
    assert pages_of("It fell in 1903. [1]") == ["3"]  # in other words
    built = source.text.index("The tower was built")
    from_the_second = replace(source, start=source.start + built, text=source.text[built:], page_label="2")
    (later,) = locate_quotes(library.store, [from_the_second], f"{fell} [1]")
    assert later.page_label == "3"
    (later,) = locate_quotes(library.store, [source], f"{fell} [1]")
    view = view_source(library, later)
    assert (view.page_index, view.opens, view.page_labels) == (0, 2, ("1", "2", "3", "4"))
    assert view_source(library, replace(later, page_label="17")).opens == 0

    ask = Ask("When was the storm in which the tower fell?", chat_mode=None)
    message = library.conversations.message(finished(library, AnswerRuns(library), ask))
    assert message is not None
    assert message.text.startswith(fell)
    assert [cited.page_label for cited in message.cited] == ["3"]

    library.intake.add(make_pdf(tmp_path / "turned.pdf", pages[::-1]), "tower.pdf")
    assert worker_of(library).run_once()
    assert pages_of(f"{fell} [1]") == ["1"]  # the document says something else there now
    library.delete_file(file.id)
    assert pages_of(f"{fell} [1]") == ["1"]


def test_a_sentence_is_marked_alone_on_its_own_page(
    open_library: Callable[..., Library], tmp_path: Path
) -> None:
    library = open_library()
    built, fell = "The tower was built by Ada Penrose.", "The tower fell in the storm of 1903."
    pages = ["A cover.", built, fell, "The end."]
    file = library.intake.add(make_pdf(tmp_path / "given.pdf", pages), "tower.pdf").file
    assert worker_of(library).run_once()
    (source,) = build_sources(library.retriever(1).retrieve("Who built the tower?"))
    alone = locate_sentence(library.store, source, fell)
    assert (alone.place, alone.text, alone.number) == ("tower.pdf, page 3", fell, source.number)
    shown = view_source(library, alone)
    assert (shown.page_index, shown.opens, shown.page_labels, len(shown.boxes[0])) == (2, 2, ("3",), 1)
    assert locate_sentence(library.store, source, "A cover.").place == "tower.pdf, page 1"
    assert locate_sentence(library.store, source, "It was never built.") == source

    library.intake.add(make_pdf(tmp_path / "turned.pdf", pages[::-1]), "tower.pdf")
    assert worker_of(library).run_once()
    # the document says something else there now
    assert locate_sentence(library.store, source, fell) == source
    library.delete_file(file.id)
    assert locate_sentence(library.store, source, fell) == source


def test_a_sentence_of_a_text_is_marked_alone(open_library: Callable[..., Library]) -> None:
    library = open_library()
    take_in(library, "The tower was built by Ada Penrose. It fell in 1903. It is gone.", "tower.txt")
    (source,) = build_sources(library.retriever(1).retrieve("Who built the tower?"))
    shown = view_source(library, locate_sentence(library.store, source, "It fell in 1903."))
    assert (shown.before, shown.marked, shown.after) == (
        "The tower was built by Ada Penrose. ",
        "It fell in 1903.",
        " It is gone.",
    )


def test_source_in_a_replaced_pdf_is_text_until_read_again(
    open_library: Callable[..., Library], tmp_path: Path
) -> None:
    library = open_library()
    library.intake.add(make_pdf(tmp_path / "old.pdf", ["The kettle was never found."]), "kettle.pdf")
    worker_of(library).run_once()
    (source,) = build_sources(library.retriever(1).retrieve("Was the kettle found?"))
    assert view_source(library, source).kind == "page"
    added = library.intake.add(
        make_pdf(tmp_path / "new.pdf", ["A cover.", "The kettle was never found."]), "kettle.pdf"
    )
    assert added.outcome == "replaced"
    view = view_source(library, source)
    assert (view.kind, view.marked) == ("text", "The kettle was never found.")
    worker_of(library).run_once()
    later = view_source(library, source)
    assert (later.kind, later.page_index) == ("page", 1)


def test_source_without_passages_is_reported_deleted(open_library: Callable[..., Library]) -> None:
    library = open_library()
    file = take_in(library, TOWER, "tower.txt")
    (source, *_) = build_sources(library.retriever(1).retrieve("Who built the tower?"))
    library.store.delete(file.id)
    with pytest.raises(InputError, match=r"tower\.txt has been deleted"):
        view_source(library, source)


def test_passage_of_a_slide_is_drawn_on_its_card(open_library: Callable[..., Library]) -> None:
    library = open_library()
    path = make_pptx(
        library.incoming / "given.pptx",
        [("Budget", "Income grew\nReserves fell"), ("Villages", "Three of them have no debt")],
        notes="Greet the council.",
        table=[["Village", "Debt"], ["Ostholm", "0"], ["Westholm", "12,000"]],
    )
    file = library.intake.add(path, "talk.pptx").file
    assert worker_of(library).run_once()
    text = library.store.document(file.id).text
    start = text.index("Village: Westholm")
    source = Source(1, "", file.id, file.name, start, len(text), text[start:])
    view = view_source(library, source, around=10)
    (card,) = view.cards
    assert (view.layout, card.label) == ("slide", "2")
    assert [block.kind for block in card.blocks] == ["heading", "paragraph", "table"]
    table = card.blocks[-1]
    assert table.columns == ("Village", "Debt")
    assert [[text[slice(*cell)] for cell in row if cell] for row in table.rows] == [
        ["Ostholm", "0"],
        ["Westholm", "12,000"],
    ]
    assert [card.label for card in view_source(library, source).cards] == ["1", "2"]


def test_web_page_has_the_headings_of_its_original(open_library: Callable[..., Library]) -> None:
    library = open_library()
    path = library.incoming / "given.html"
    path.write_text(
        "<title>Museum</title><h1>Museum</h1><p>Welcome to all.</p><h3>Dogs are welcome, always.</h3>"
        "<p>Not a heading</p><p>They may come along on any day.</p>"
    )
    file = library.intake.add(path, "museum.html").file
    assert worker_of(library).run_once()
    text = library.store.document(file.id).text
    view = view_source(library, Source(1, "", file.id, file.name, 0, 6, text[:6]))
    headings = [(text[b.start : b.end], b.level) for b in view.cards[0].blocks if b.kind == "heading"]
    assert headings == [("Museum", 1), ("Dogs are welcome, always.", 3)]
    if library.shared:  # the original comes from the server again
        return
    library.files.location(library.files.all()[0]).unlink()  # by hand: the headings are recognised
    view = view_source(library, Source(1, "", file.id, file.name, 0, 6, text[:6]))
    assert "Not a heading" in [text[b.start : b.end] for b in view.cards[0].blocks if b.kind == "heading"]


def test_web_page_in_another_encoding_has_its_headings(open_library: Callable[..., Library]) -> None:
    library = open_library()
    path = library.incoming / "given.html"
    path.write_bytes(
        "<meta charset='windows-1252'><h1>Öffnungszeiten für alle, täglich.</h1><p>Ab neun Uhr.</p>".encode(
            "cp1252"
        )
    )
    file = library.intake.add(path, "museum.html").file
    assert worker_of(library).run_once()
    text = library.store.document(file.id).text
    view = view_source(library, Source(1, "", file.id, file.name, 0, 6, text[:6]))
    headings = [text[b.start : b.end] for b in view.cards[0].blocks if b.kind == "heading"]
    assert headings == ["Öffnungszeiten für alle, täglich."]


def test_source_code_and_notes_are_drawn_as_they_are(open_library: Callable[..., Library]) -> None:
    library = open_library()
    for name in ("tower.py", "tower.txt", "tower.log"):
        file = take_in(library, f'["{TOWER}"]', name)
        text = library.store.document(file.id).text
        view = view_source(library, Source(1, "", file.id, file.name, 0, len(text), text))
        assert (view.layout, view.cards, view.marked) == (None, (), text)
        library.delete_file(file.id)


def test_each_slide_is_on_a_page_of_its_document(open_library: Callable[..., Library]) -> None:
    library, around = open_library(), 6000
    path = library.incoming / "deck.pptx"
    make_pptx(path, [(f"Slide {number}", "The tower stands on the pier. " * 25) for number in range(60)])
    library.intake.add(path, "deck.pptx")
    assert worker_of(library).run_once()
    (file,) = library.files.all()
    document = library.store.document(file.id)
    seen: set[str] = set()
    for place in range(0, len(document.text) + around, 2 * around):
        cards = lay_out(library, file, document, "slide", place, place, around)
        seen.update(card.label for card in cards)
    assert seen == {page.label for page in document.pages}


def test_markdown_that_begins_inside_code_stays_code(open_library: Callable[..., Library]) -> None:
    library = open_library()
    code = "```\n" + "# no heading\n" * 20 + "```\n"
    file = take_in(library, f"{code}\n# Duties\n\nEverybody rings the bell.", "duties.md")
    document = library.store.document(file.id)
    place = document.text.index("Duties")
    (card,) = lay_out(library, file, document, "markdown", place, place + 6, 40)
    assert [block.kind for block in card.blocks] == ["code", "heading", "paragraph"]
