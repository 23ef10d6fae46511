"""Questions made from sentences by rule: each is a whole question about what the sentence says, and names
what it is about."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.extractive.question_generation import questions_in, questions_of_sentences, stands_in
from ragcore.extractive.question_patterns import question_for
from ragcore.text.key_phrases import in_ordinary_case


@pytest.mark.parametrize(
    ("sentence", "question"),
    [
        ("The Penrose Tower was built in 1871 by Ada.", "When was the Penrose Tower built?"),
        ("The railway opened on 16 June 1894.", "When did the railway open?"),
        (
            "Harvard College ended its early admissions program in 2007.",
            "When did Harvard College end its early admissions program?",
        ),
        ("The tower was built by Ada Penrose.", "Who built the tower?"),
        ("The kettle is kept in the upper station.", "Where is the kettle kept?"),
        ("Dr Greaves recommended that the railway stop at gusts of 38.", "What did Dr Greaves recommend?"),
        ("The committee resolved to accept the tender.", "What did the committee resolve?"),
        ("William Farel was a student of Lefevre.", "Who was William Farel?"),
        ("Northwind Health covers emergency services and drugs.", "What does Northwind Health cover?"),
        ("Oslo is the largest city in Norway.", "What is the largest city in Norway?"),
        ("Der Turm wurde 1871 gebaut.", "Wann wurde der Turm gebaut?"),
        ("Goethe war ein Dichter.", "Wer war Goethe?"),
    ],
)
def test_a_sentence_gives_the_question_that_it_answers(sentence: str, question: str) -> None:
    assert question_for(sentence, {"lost", "employees"}) == question


@pytest.mark.parametrize(
    "sentence",
    [
        "He was born in 1871.",
        "It costs £2.50.",
        "This tower was built in 1871.",
        "Their house was built in 1871.",
        "In the winter they must stop the cars if the wind is strong.",
        "If they are late, the driver must wait for them.",
        "The same rule was made in 1871.",
        "The man who came was a painter.",
        "Heute ist die Bahn die steilste des Landes.",
        "Im Wagen ist das Rauchen verboten.",
        "Was 1871 geschah, war das Ende.",
    ],
)
def test_questions_without_a_clear_subject_are_not_generated(sentence: str) -> None:
    assert question_for(sentence) == ""


def test_question_comes_from_the_head_of_its_answer() -> None:
    faq = (
        "Where are the tickets sold?\nAt the lower station, from ten.\n\nThe rope is new. Who knows the "
        "price of ropes?"
    )
    assert [question.text for question in questions_of_sentences(faq)] == ["Where are the tickets sold?"]


@pytest.mark.parametrize("label", ["Q: ", "Q1. ", "Question 12: ", "Frage: "])
def test_the_label_of_a_question_is_no_part_of_it(label: str) -> None:
    text = f"{label}How high is the upper station?\nThe upper station is 84 metres above the sea."
    assert next(questions_in(text)) == "How high is the upper station?"


def test_questions_write_capital_headings_in_ordinary_letters() -> None:
    text = (
        "WHERE ARE THE TICKETS OF THE GANNERBY RAILWAY SOLD?\nThe Gannerby Railway sells them at the "
        "lower station."
    )
    assert next(questions_in(text)) == "Where are the tickets of the Gannerby Railway sold?"
    assert in_ordinary_case("FAQ", text) == "FAQ"
    assert in_ordinary_case("The Rope", text) == "The Rope"


def test_first_word_is_no_name_if_the_document_has_it_lowercase() -> None:
    sentence = "Lost property is kept in the upper station."
    assert next(questions_in(sentence)) == "Where is Lost property kept?"
    assert (
        next(questions_in(sentence, f"{sentence} Whoever has lost a hat asks here."))
        == "Where is lost property kept?"
    )


@given(st.text(max_size=300))
def test_any_text_gives_short_questions_without_repeats(text: str) -> None:
    asked = list(questions_in(text))
    assert len(asked) == len(set(asked))
    assert all(question.strip() and question.rstrip()[-1] in "?？؟" for question in asked)


@pytest.mark.parametrize(
    ("text", "question"),
    [
        (
            "# The mills\n\nThe mills turn with the wind and the flour is in the sacks.",
            "What can you tell me about flour?",
        ),
        (
            "# Les moulins\n\nLes moulins tournent avec le vent et la farine est dans les sacs.",
            "Que dit-on ici de « sacs » ?",
        ),
        (
            "# Los molinos\n\nLos molinos giran con el viento y la harina está en los sacos.",
            "¿Qué se dice aquí de «sacos»?",
        ),
        (
            "# Die Mühlen\n\nDie Mühlen drehen sich mit dem Wind und das Mehl ist in den Säcken.",
            "Was steht hier über „Mehl“?",
        ),
        ("# 水车\n\n水车由河水推动。水车磨面粉。", "面粉是什么？"),
        (
            "# I mulini\n\nI mulini girano con il vento e la farina è nei sacchi.",
            "What can you tell me about sacchi?",
        ),
    ],
)
def test_unknown_sentences_get_a_question_in_their_language(text: str, question: str) -> None:
    assert question in list(questions_in(text))


def test_a_question_of_small_words_stands_in_no_sentence() -> None:
    sentence = "What this is: the tower was built in 1871."
    assert stands_in("When was the tower built?", sentence)
    assert not stands_in("What is this?", sentence)
