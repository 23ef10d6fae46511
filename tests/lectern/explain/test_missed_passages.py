"""Why something was not found: failures built on purpose, each of which must be named, and mended by what is
offered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image, ImageDraw
from reportlab.lib.pagesizes import A4
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from lectern.explain.missed_cause import Cause, Missed
from lectern.explain.missed_passages import why_missed
from lectern.library import Library
from lectern.runs.answer_runs import AnswerRuns
from lectern.schema import Ask, Message, Retrieval
from lectern.settings import AppSettings, IngestSettings
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.errors import DamagedFileError, EmptyFileError, InputError, NoTextError, UnsupportedFileError
from ragcore.llms.scripted import ScriptedLLM
from tests.lectern.test_library import finished, take_in, worker_of
from tests.making import make_pdf

TOWER = "The tower was built by Ada Penrose in 1871. The tower is forty metres high."
LAMP = "The lamp of the lighthouse burns the oil of whales. Its keeper is Joan Mallory."
CELLAR = "The cellar holds three hundred barrels of cider. Nobody has counted them since the flood."
GARDEN = "The garden has an old fig tree. Its fruit is sold on market days by the gardener."
ON_ITS_OWN = Ask("Who built the tower?", chat_mode=None)


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    opened = Library(tmp_path / "library", embedder=HashEmbedding())
    for name, text in (
        ("tower.txt", TOWER),
        ("lamp.txt", LAMP),
        ("cellar.txt", CELLAR),
        ("garden.txt", GARDEN),
    ):
        take_in(opened, text, name)
    yield opened
    opened.close()


def answered(library: Library, ask: Ask, conversation: str | None = None) -> Message:
    message = library.conversations.message(finished(library, AnswerRuns(library), ask, conversation))
    assert message is not None
    return message


def why(library: Library, ask: Ask, expected: str = "") -> Missed:
    return why_missed(library, answered(library, ask), expected)


def id_of(library: Library, name: str) -> str:
    return next(file.id for file in library.files.all() if file.name == name)


def comes_in(library: Library, missed: Missed) -> bool:
    """Whether the ask that is offered has the missed passage among its own."""
    assert missed.ask is not None
    assert missed.source is not None
    return missed.source.node_id in {source.node_id for source in answered(library, missed.ask).sources}


def test_too_few_passages(library: Library) -> None:
    take_in(
        library, "The tower, the tower, the tower: who built it, who built the tower? A poem.", "poem.txt"
    )
    missed = why(library, replace(ON_ITS_OWN, top_k=1), "Ada Penrose")
    assert (missed.cause, missed.rank, missed.looked_at) == (Cause.TOP_K, 2, 1)
    assert missed.source is not None
    assert missed.source.file_name == "tower.txt"
    assert missed.ask == replace(ON_ITS_OWN, top_k=3)
    assert comes_in(library, missed)


@pytest.mark.parametrize("expected", ["", "Ada Penrose"])
def test_other_documents_were_chosen(library: Library, expected: str) -> None:
    missed = why(library, replace(ON_ITS_OWN, file_ids=(id_of(library, "cellar.txt"),)), expected)
    assert (missed.cause, missed.rank) == (Cause.FILTERED, 1)
    assert missed.ask is not None
    assert missed.ask.file_ids is None
    assert comes_in(library, missed)


@pytest.mark.parametrize("expected", ["", "Ada Penrose"])
def test_a_least_score_that_is_too_high(library: Library, expected: str) -> None:
    missed = why(library, replace(ON_ITS_OWN, retrieval=Retrieval(cutoff=0.99)), expected)
    assert missed.cause is Cause.CUT_OFF
    assert missed.ask is not None
    assert missed.ask.retrieval.cutoff is None
    assert comes_in(library, missed)


def test_far_weaker_than_the_best(library: Library) -> None:
    missed = why(library, ON_ITS_OWN, "three hundred barrels of cider")
    assert missed.cause is Cause.WEAKER
    assert missed.ask == replace(ON_ITS_OWN, retrieval=Retrieval(weaker=True))
    assert comes_in(library, missed)


def test_remedy_of_top_k_also_admits_weaker_passages(library: Library) -> None:
    missed = why(library, replace(ON_ITS_OWN, top_k=1), "three hundred barrels of cider")
    assert missed.cause is Cause.TOP_K
    assert comes_in(library, missed)


def test_no_document_says_it(library: Library) -> None:
    missed = why(library, ON_ITS_OWN, "zeppelin")
    assert (missed.cause, missed.unknown, missed.source) == (Cause.ABSENT, "zeppelin", None)
    missed = why(library, ON_ITS_OWN, "The tower was red.")
    assert (missed.cause, missed.unknown) == (Cause.ABSENT, "")
    assert missed.source is not None
    missed = why(library, Ask("What do astronauts eat on Mars?", chat_mode=None, top_k=1))
    assert (missed.cause, missed.ask) == (Cause.ABSENT, None)


def test_nearest_non_answering_passage_is_named_although_seen(library: Library) -> None:
    """Nothing else was left to look at, and what it says may be what was meant."""
    missed = why(library, Ask("Who painted the tower blue?", chat_mode=None, top_k=10))
    assert (missed.cause, missed.rank) == (Cause.ABSENT, 1)
    assert missed.source is not None
    assert missed.source.file_name == "tower.txt"


def test_text_that_the_reader_rejects_is_not_called_an_answer(tmp_path: Path) -> None:
    opened = Library(tmp_path / "library")
    take_in(opened, TOWER, "tower.txt")
    asked = [
        why(opened, Ask(f"Who {did} in 1871?", chat_mode=None)).cause
        for did in ("built the tower", "painted the lamp")
    ]
    assert asked == [Cause.USED, Cause.ABSENT]
    opened.close()


def test_text_that_file_name_or_topic_answers_counts_as_answer(tmp_path: Path) -> None:
    opened = Library(tmp_path / "library")
    take_in(opened, "I built the tower in 1871. It is forty metres high.", "ada_penrose.txt")
    asked = ["What did Ada Penrose build in 1871?", "What does the text say about the tower in 1871?"]
    assert [why(opened, Ask(question, chat_mode=None)).cause for question in asked] == [
        Cause.USED,
        Cause.USED,
    ]
    opened.close()


def test_results_of_a_misspelt_question_are_judged_as_corrected(tmp_path: Path) -> None:
    opened = Library(tmp_path / "library")
    for name, text in (("tower.txt", TOWER), ("cellar.txt", CELLAR)):
        take_in(opened, text, name)
    message = answered(opened, Ask("How many barrles of cidder are there?", chat_mode=None))
    assert message.text.startswith("The cellar holds three hundred barrels of cider. [1]")
    assert message.facts is not None
    assert message.facts.meant == "How many barrels of cider are there?"
    missed = why_missed(opened, message)
    assert (missed.cause, missed.searched) == (Cause.USED, message.facts.meant)
    opened.close()


def test_what_was_expected_is_split_between_two_passages(tmp_path: Path) -> None:
    opened = Library(tmp_path / "library", embedder=HashEmbedding())
    opened.update_settings(AppSettings(ingest=IngestSettings(chunk_size=16)))
    take_in(
        opened,
        "The big bell was cast in the port of Antwerp by Peter Ghent. It fell in 1902 and cracked.",
        "bell.txt",
    )
    take_in(opened, "The bell, the bell! Where was it cast?", "song.txt")
    assert len(opened.store) == 3
    missed = why(
        opened, Ask("Where was the bell cast?", chat_mode=None, top_k=1), "by Peter Ghent. It fell in 1902"
    )
    assert missed.cause is Cause.SPLIT
    assert comes_in(opened, missed)
    opened.close()


def refused(library: Library, name: str, error: InputError) -> None:
    library.files.refuse(name, 1000, error)


def test_a_scan_a_failed_a_stopped_and_a_waiting_file(library: Library) -> None:
    balloon = Ask("What colour was the balloon?", chat_mode=None)
    refused(library, "old.doc", InputError("old.doc is damaged."))
    missed = why(library, balloon)
    assert missed.cause is Cause.FAILED
    assert missed.source is not None  # the nearest passage, in case that it is meant
    refused(library, "balloon scan.pdf", NoTextError("balloon scan.pdf has no text."))
    missed = why(library, balloon, "The balloon was red.")
    assert missed.cause is Cause.NO_TEXT
    assert missed.file is not None
    assert missed.file.name == "balloon scan.pdf"
    path = library.incoming / "given"
    path.write_text("The balloon was red and had no basket for the colour.")
    added = library.intake.add(path, "balloon colour.txt").file
    assert why(library, balloon).cause is Cause.READING
    library.files.queue.stop(added.id)
    assert why(library, balloon).cause is Cause.STOPPED


def test_unusable_file_is_no_cause_and_an_unrelated_name_last(library: Library) -> None:
    balloon = Ask("What colour was the balloon?", chat_mode=None)
    refused(library, "setup.exe", UnsupportedFileError("setup.exe is a program."))
    refused(library, "balloon.txt", EmptyFileError("balloon.txt is empty."))
    assert why(library, balloon).cause is Cause.ABSENT
    refused(library, "old.doc", DamagedFileError("old.doc is damaged."))
    assert why(library, balloon).cause is Cause.FAILED


def test_language_is_blamed_before_a_file_of_unrelated_name(tmp_path: Path) -> None:
    library = Library(tmp_path / "library", embedder=HashEmbedding())
    refused(library, "old.doc", DamagedFileError("old.doc is damaged."))
    take_in(
        library,
        "Der Leuchtturm ist vierzig Meter hoch und wurde im Jahr 1871 von Ada Penrose gebaut.",
        "turm.txt",
    )
    take_in(
        library,
        "Die alte Glocke wurde in der Stadt gegossen und hing dann in dem Turm am Hafen.",
        "glocke.txt",
    )
    assert (
        why(library, Ask("What is the name of the ship that was lost?", chat_mode=None, top_k=1)).cause
        is Cause.LANGUAGE
    )
    library.close()


BALLOON = Ask("What colour was the balloon?", chat_mode=None)
PAGES = ["The first page tells of nets.", "", "The third page tells of boats."]


def add_pdf(library: Library, path: Path, name: str) -> None:
    library.intake.add(path, name)
    worker_of(library).run_once()


def make_scan(path: Path, pages: Sequence[str], *, dust: int = 0) -> Path:
    """A page for each text, or for "" a picture of shapes, which has no words to recognise. With `dust`,
    the picture has only so many specks."""
    picture = Image.new("L", (595, 842), 244)
    draw = ImageDraw.Draw(picture)
    if dust:
        for number in range(dust):
            draw.point((40 + 7 * number, 60 + 11 * number), 90)
    else:
        draw.ellipse((100, 200, 400, 500), outline=20, width=6)
    canvas = Canvas(str(path), pagesize=A4)
    for page in pages:
        if page:
            canvas.drawString(72, 770, page)
        else:
            canvas.drawImage(ImageReader(picture), 0, 0, *A4)
        canvas.showPage()
    canvas.save()
    return path


def test_a_page_of_a_pdf_that_is_a_picture(library: Library) -> None:
    add_pdf(library, make_scan(library.incoming / "made.pdf", PAGES), "harbour.pdf")
    missed = why(library, BALLOON, "The balloon was red.")
    assert (missed.cause, missed.page) == (Cause.NO_TEXT, "2")
    assert missed.file is not None
    assert missed.file.name == "harbour.pdf"


def test_a_blank_page_is_never_the_cause(library: Library) -> None:
    add_pdf(library, make_pdf(library.incoming / "made.pdf", PAGES), "empty between.pdf")
    add_pdf(library, make_pdf(library.incoming / "made.pdf", [*PAGES[:1], "2", PAGES[2]]), "a number.pdf")
    add_pdf(library, make_scan(library.incoming / "made.pdf", PAGES, dust=30), "blank scan.pdf")
    assert why(library, BALLOON, "The balloon was red.").cause is Cause.ABSENT
    assert why(library, BALLOON).cause is Cause.ABSENT


def test_a_blank_page_hides_no_later_picture(library: Library) -> None:
    add_pdf(library, make_scan(library.incoming / "made.pdf", PAGES), "harbour.pdf")
    add_pdf(library, make_pdf(library.incoming / "made.pdf", PAGES), "blank.pdf")
    missed = why(library, BALLOON, "The balloon was red.")
    assert (missed.cause, missed.file and missed.file.name) == (Cause.NO_TEXT, "harbour.pdf")


def test_a_file_of_blank_pages_is_never_the_cause(library: Library) -> None:
    add_pdf(library, make_pdf(library.incoming / "made.pdf", ["", ""]), "balloon.pdf")
    assert why(library, BALLOON, "The balloon was red.").cause is Cause.ABSENT


def test_a_passage_without_words_is_never_the_missed_one(library: Library) -> None:
    library.update_settings(AppSettings(ingest=IngestSettings(chunk_size=16, chunk_overlap=0)))
    take_in(library, "1871 40\n" * 12 + "\n\n___\n", "figures.txt")
    missed = why(library, replace(ON_ITS_OWN, question="What about 1871 40?", top_k=1))
    assert missed.source is not None
    assert missed.source.file_name != "figures.txt"


def test_another_language_than_the_question(library: Library) -> None:
    take_in(
        library,
        "Der Leuchtturm wurde von Ada Penrose im Jahr 1871 gebaut und ist vierzig Meter hoch.",
        "turm.txt",
    )
    missed = why(
        library, Ask("What is the height of the light?", chat_mode=None, top_k=1), "vierzig Meter hoch"
    )
    assert (missed.cause, missed.languages) == (Cause.LANGUAGE, ("en", "de"))
    assert comes_in(library, missed)


@pytest.mark.parametrize(
    "ask", [replace(ON_ITS_OWN, response_mode="generation"), Ask("Who built the tower?", "simple")]
)
def test_a_way_of_answering_that_does_not_look(library: Library, ask: Ask) -> None:
    missed = why(library, ask)
    assert missed.cause is Cause.NOT_LOOKED
    assert missed.ask is not None
    assert "Penrose" in answered(library, missed.ask).text


def test_a_follow_up_that_became_another_question(tmp_path: Path) -> None:
    llm = ScriptedLLM(
        ["In the cellar. [1]", "How many barrels of cider does the cellar hold?", "I do not know."]
    )
    opened = Library(tmp_path / "library", embedder=HashEmbedding(), llm=llm)
    for name, text in (("tower.txt", TOWER), ("cellar.txt", CELLAR)):
        take_in(opened, text, name)
    talk = opened.conversations.create().id
    answered(opened, Ask("Where are the barrels of cider?", top_k=1), talk)
    message = answered(opened, Ask("Who built the tower?", top_k=1), talk)
    for expected in ("", "Ada Penrose"):
        missed = why_missed(opened, message, expected)
        assert missed.cause is Cause.CONDENSED
        assert missed.searched == "How many barrels of cider does the cellar hold?"
        assert missed.ask is not None
        assert missed.ask.chat_mode == "context"
    opened.close()


def test_a_passage_of_the_answer_is_reported_as_used(library: Library) -> None:
    missed = why(library, ON_ITS_OWN, "forty metres")
    assert (missed.cause, missed.rank) == (Cause.USED, 1)


@pytest.mark.parametrize("expected", ["", "Joan Mallory opens it"])
def test_missed_long_passage_names_the_page_of_its_sentence(library: Library, expected: str) -> None:
    pages = ["A cover.", "The museum was founded by sailors.", "Joan Mallory opens the museum at ten."]
    library.intake.add(make_pdf(library.incoming / "made.pdf", pages), "museum.pdf")
    worker_of(library).run_once()
    ask = Ask("Who opens the museum at ten?", chat_mode=None, file_ids=(id_of(library, "tower.txt"),))
    missed = why(library, ask, expected)
    assert missed.cause is Cause.FILTERED
    assert missed.source is not None
    assert missed.source.place == "museum.pdf, page 3"
    assert missed.source.text.startswith("A cover.")


def test_passages_added_since_are_retrieved_by_a_new_answer(library: Library) -> None:
    message = answered(library, replace(ON_ITS_OWN, top_k=1))
    take_in(library, "Who built the tower? Who built the tower? Joan built the tower.", "joan.txt")
    missed = why_missed(library, message, "Joan built")
    assert (missed.cause, missed.ask) == (Cause.ADDED_SINCE, message.ask)
    assert comes_in(library, missed)


def test_a_summary_of_everything_takes_central_passages(library: Library) -> None:
    for number in range(14):
        take_in(library, f"Room {number} has a window and a door. The room is warm.", f"room{number}.txt")
    missed = why(
        library, Ask("Summarise these documents.", chat_mode=None, top_k=2), "The garden has an old fig tree"
    )
    assert missed.cause in (Cause.SUMMARY, Cause.USED)
    if missed.cause is Cause.SUMMARY:
        assert comes_in(library, missed)
