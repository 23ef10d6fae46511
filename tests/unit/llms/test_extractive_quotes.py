from __future__ import annotations

from ragcore.text.quotes import Quote, distinct, joined, quotes_in


def said(quotes: list[Quote]) -> list[str]:
    return [str(quote) for quote in quotes]


def test_each_sentence_of_a_passage_carries_its_number_and_its_document() -> None:
    quotes = quotes_in("One is\nhere. Two is  there.", number=3, source="a, b.pdf, page 12", passage=5)
    assert said(quotes) == ["One is here. [3]", "Two is there. [3]"] or said(quotes) == [
        "One is here. [3]",
        "- Two is there. [3]",
    ]
    assert {(quote.document, quote.passage) for quote in quotes} == {("a, b.pdf", 5)}


def test_marks_of_an_earlier_answer_stay_with_their_sentence() -> None:
    assert said(quotes_in("One is here. Two is there. [4][5] Three came. [6]", number=None)) == [
        "One is here.",
        "Two is there. [4][5]",
        "Three came. [6]",
    ]


def test_marks_inside_a_numbered_passage_are_left_out() -> None:
    assert said(quotes_in("It rose by half.[12][13] Then it fell [14].", number=1)) == [
        "It rose by half. [1]",
        "Then it fell. [1]",
    ]


def test_bullets_headings_and_lines_without_letters_are_not_quoted_as_such() -> None:
    assert said(quotes_in("# Vacation\n\n---\n\n- Take it early.", number=1)) == ["Vacation [1]", "Take it early. [1]"]


def test_of_repeated_sentences_the_first_and_of_cut_ones_the_whole_is_kept() -> None:
    whole = Quote("The office opened in 1998.", (2,), 1, "a")
    cut = Quote("opened in 1998.", (1,), 0, "a")
    again = Quote("The office opened in 1998.", (3,), 2, "a")
    assert said(distinct([cut, whole, again])) == ["The office opened in 1998. [2]"]


def test_documents_are_parted_by_paragraphs() -> None:
    quotes = [Quote("A.", (1,), 0, "x"), Quote("B.", (1,), 0, "x"), Quote("C.", (2,), 1, "y")]
    assert joined(quotes) == "A. [1] B. [1]\n\nC. [2]"
    assert joined([]) == ""
