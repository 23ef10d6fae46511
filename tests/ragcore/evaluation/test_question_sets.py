"""Question sets as files: what is read comes back the same, and what is wrong is told by its line."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.errors import RagError
from ragcore.evaluation.question_sets import (
    MOST_QUESTIONS,
    ExpectedSource,
    Question,
    QuestionSetError,
    as_csv,
    as_jsonl,
    read_question_set,
)

WORDS = st.text(
    st.characters(categories=("L", "N", "P", "S", "Zs"), exclude_characters="|"), min_size=1, max_size=30
).map(lambda text: " ".join(text.split()))
NAMES = WORDS.filter(bool)
PAGES = st.lists(NAMES.filter(lambda text: not set(text) & {",", ";"}), max_size=2, unique=True).map(tuple)


@st.composite
def questions(draw: st.DrawFn) -> Question:
    documents = draw(st.lists(NAMES, max_size=3, unique=True))
    pages = draw(PAGES)
    span = draw(st.none() | st.tuples(st.integers(0, 50), st.integers(51, 99)))
    start, end = span or (None, None)
    wanted = tuple(ExpectedSource(document, pages, start, end) for document in documents)
    return Question(draw(NAMES), tuple(draw(st.lists(NAMES, max_size=2, unique=True))), wanted)


SPANS = st.just((None, None)) | st.tuples(st.integers(0, 50), st.integers(51, 99))
DOCUMENTS = st.sampled_from(["a.pdf", "b.pdf"]) | NAMES
WANTED = st.builds(
    lambda document, pages, span: ExpectedSource(document, pages, *span), DOCUMENTS, PAGES, SPANS
)


def same(one: Question) -> Question:
    return replace(one, id="")


@given(st.lists(questions(), min_size=1, max_size=4))
def test_a_set_that_is_written_is_read_again_as_it_was(written: list[Question]) -> None:
    for text, name in ((as_csv(written), "set.csv"), (as_jsonl(written), "set.jsonl")):
        read = read_question_set(text.encode(), name)
        assert list(map(same, read.questions)) == list(map(same, written))
        assert read.ignored == ()


@given(st.lists(WANTED, max_size=4).map(tuple))
def test_json_lines_preserve_the_expected_sources(wanted: tuple[ExpectedSource, ...]) -> None:
    (question,) = read_question_set(
        as_jsonl([Question("Who?", expected=wanted)]).encode(), "set.jsonl"
    ).questions
    assert question.expected == wanted


def test_no_cell_of_a_set_is_a_formula_to_a_spreadsheet() -> None:
    ran = "=HYPERLINK(A1)"
    cells = next(csv.DictReader(io.StringIO(as_csv([Question(ran, (ran,), (ExpectedSource(ran, (ran,)),))]))))
    assert {cells[name] for name in ("question", "answers", "documents", "pages")} == {f"'{ran}"}


@given(st.binary(max_size=300), st.sampled_from(["set.csv", "set.jsonl"]))
def test_any_bytes_are_read_or_refused_in_words(data: bytes, name: str) -> None:
    told = ""
    try:
        told = read_question_set(data, name).questions[0].text
    except RagError as error:
        told = error.what and error.hint
    assert told


@given(st.lists(NAMES, min_size=1, max_size=6), st.data())
def test_the_line_that_is_wrong_is_named(asked: list[str], data: st.DataObject) -> None:
    bad = data.draw(st.integers(0, len(asked) - 1))
    rows = [{"question": text} for text in asked]
    rows[bad] = {"answer": "forty-two"}
    with pytest.raises(QuestionSetError, match=f"line {bad + 1} has no question") as refused:
        read_question_set("\n".join(map(json.dumps, rows)).encode(), "set.jsonl")
    assert refused.value.lines == (bad + 1,)
    out = io.StringIO()
    writer = csv.DictWriter(out, ["question", "answer"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    with pytest.raises(QuestionSetError, match=f"line {bad + 2} has no question"):
        read_question_set(out.getvalue().encode(), "set.csv")


def test_columns_may_have_other_names_and_cells_hold_several() -> None:
    table = "Query;Answer;File;Page;Kind\nWho built it?;Ada | Ada Penrose;a.pdf | b.pdf;3, 4;fact\n"
    read = read_question_set(table.encode("utf-8-sig"), "set.csv")
    (question,) = read.questions
    assert question.answers == ("Ada", "Ada Penrose")
    assert question.expected == (ExpectedSource("a.pdf", ("3", "4")), ExpectedSource("b.pdf", ("3", "4")))
    assert read.ignored == ("Kind",)


@pytest.mark.parametrize("columns", ["question,query,answer,answers", "query,question,answers,answer"])
@pytest.mark.parametrize("cells", ["Who?,,Ada,", ",Who?,,Ada", "Who?,Who?,Ada,Ada"])
def test_of_two_columns_for_one_thing_the_filled_one_counts(columns: str, cells: str) -> None:
    (question,) = read_question_set(f"{columns}\n{cells}\n".encode(), "set.csv").questions
    assert (question.text, question.answers) == ("Who?", ("Ada",))


@pytest.mark.parametrize("mark", ["\u2028", "\u2029", "\x85"])
def test_json_line_ends_only_at_a_line_feed(mark: str) -> None:
    row = json.dumps({"question": f"Who{mark}built it?"}, ensure_ascii=False)
    (question,) = read_question_set(f"{row}\r\n".encode(), "set.jsonl").questions
    assert question.text == "Who built it?"


def test_each_document_may_have_pages() -> None:
    row = {"question": "Who?", "files": ["a.pdf", "b.pdf"], "pages": {"a.pdf": 7}}
    (question,) = read_question_set(json.dumps(row).encode(), "set.jsonl").questions
    assert question.expected == (ExpectedSource("a.pdf", ("7",)), ExpectedSource("b.pdf"))


@pytest.mark.parametrize(
    ("text", "name", "told"),
    [
        ("text\nWho?\n", "set.csv", "line 1: there is no column “question”"),
        ("question,document\nWho?,a.pdf,b.pdf\n", "set.csv", "line 2 has more cells"),
        ("question,page\nWho?,3\n", "set.csv", "line 2 names a page or place, and no document"),
        ("question,document,start\nWho?,a.pdf,soon\n", "set.csv", "“soon” for start"),
        ("question,document,start,end\nWho?,a.pdf,9,4\n", "set.csv", "start before end"),
        ('{"question": "Who?"}\nnot json\n', "set.jsonl", "line 2 is not JSON"),
        ('["Who?"]\n', "set.jsonl", "line 1 is not an object"),
        ('{"question": 3}\n', "set.jsonl", "line 1 has no question"),
        (
            '{"question": "Who?", "answer": {"a": 1}}\n',
            "set.jsonl",
            "line 1 has something for answer that is neither",
        ),
        ("question,answer,answers\nWho?,Ada,Ida\n", "set.csv", "line 2 has two different values for answers"),
        (
            '{"question": "Who?", "documents": [{"start": 1}]}\n',
            "set.jsonl",
            "line 1 has something for document",
        ),
        (
            '{"question": "Who?", "documents": [{"file": "a", "end": 1}]}\n',
            "set.jsonl",
            "line 1 needs both start and end",
        ),
        ("question\n\n", "set.csv", "contains no questions"),
        ("question\n" + "Who?\n" * (MOST_QUESTIONS + 1), "set.csv", "the limit is 5,000"),
        ("question\n,x\n,y\n,z\n,u\n", "set.csv", "more cells"),
    ],
)
def test_unusable_lines_are_reported(text: str, name: str, told: str) -> None:
    with pytest.raises(QuestionSetError, match=told):
        read_question_set(text.encode(), name)


def test_document_may_be_an_object_that_inherits_from_question() -> None:
    row = {
        "question": "Who?",
        "page": 3,
        "documents": [{"file": "a.pdf", "pages": [1, 2]}, {"file": "b.pdf"}],
    }
    (question,) = read_question_set(json.dumps(row).encode(), "set.jsonl").questions
    assert question.expected == (ExpectedSource("a.pdf", ("1", "2")), ExpectedSource("b.pdf", ("3",)))


def test_first_of_many_wrong_lines_are_named_and_others_counted() -> None:
    with pytest.raises(QuestionSetError, match="and 2 more lines are wrong") as refused:
        read_question_set(b'{"a": 1}\n' * 5, "set.jsonl")
    assert refused.value.lines == (1, 2, 3, 4, 5)
