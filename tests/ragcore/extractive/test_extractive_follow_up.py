from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.extractive.follow_up import add_topic, depends_on_context, names_compared
from ragcore.schema import ChatMessage, MessageRole


def after(*asked: str) -> list[ChatMessage]:
    """A conversation in which the person said this, each answered."""
    return [
        message
        for question in asked
        for message in (
            ChatMessage(MessageRole.USER, question),
            ChatMessage(MessageRole.ASSISTANT, "Contoso did. [1]"),
        )
    ]


@pytest.mark.parametrize(
    ("before", "question", "alone"),
    [
        ("Who owns Northwind Health?", "When was it founded?", "When was it founded? (Northwind Health)"),
        ("Who was Marie Curie?", "What did she discover?", "What did she discover? (Marie Curie)"),
        ("Tell me about Northwind Health", "WHO ARE ITS MEMBERS?", "WHO ARE ITS MEMBERS? (Northwind Health)"),
        ("How many people lived in Warsaw in 1920?", "And in 1921?", "And in 1921? (people lived Warsaw)"),
        ("what is the vacation policy", "why?", "why? (vacation policy)"),
        ("Who leads marketing?", "What about sales?", "What about sales? (leads marketing)"),
        (
            "Summarise the employee handbook in two sentences",
            "And the holidays?",
            "And the holidays? (employee handbook)",
        ),
        ("Zusammenfassung des Handbuchs in zwei Sätzen", "Und der Urlaub?", "Und der Urlaub? (Handbuchs)"),
        ("I would like to bake a cake.", "How long does it take?", "How long does it take? (like bake cake)"),
        ("I lost my key.", "What should I do?", "What should I do? (lost key)"),
        ("Mein Schlüssel ist weg.", "Was kostet das?", "Was kostet das? (Schlüssel)"),
        ("Ich backe einen Kuchen.", "Wie lange dauert es?", "Wie lange dauert es? (Kuchen)"),
        ("Où est le bail ?", "Et les animaux ?", "Et les animaux ? (bail)"),
        ("Quiero un pastel.", "¿Puedo congelarlo?", "¿Puedo congelarlo? (Quiero pastel)"),
        ("埃菲尔铁塔在哪里？", "它有多高？", "它有多高？ (埃菲尔铁塔在哪里)"),
        ("How many seats does Cedar have?", "And Elm?", "How many seats does Elm have?"),
        ("When does the office in Porto close?", "And in Lisbon?", "When does the office in Lisbon close?"),
        ("Who leads Marketing at Contoso?", "And at Fabrikam?", "Who leads Marketing at Fabrikam?"),
        ("Who leads Marketing at Contoso?", "And Sales?", "And Sales? (leads Marketing Contoso)"),
        ("Wie viele Plätze hat Cedar?", "Und Elm?", "Wie viele Plätze hat Elm?"),
        ("Combien de places a Cedar ?", "Et Elm ?", "Combien de places a Elm ?"),
        ("¿Cuántas plazas tiene Cedar?", "¿Y Elm?", "¿Cuántas plazas tiene Elm?"),
        ("Cedar有多少个座位？", "Elm呢？", "Elm有多少个座位？"),
        ("Who was Marie Curie?", "And why?", "And why? (Marie Curie)"),
        ("How much is invoice 17?", "And 20?", "How much is invoice 20?"),
        ("Was kostet Zimmer 4?", "Und 12?", "Was kostet Zimmer 12?"),
        ("How many seats are there?", "And 20?", "And 20? (seats)"),
    ],
)
def test_a_follow_up_gets_the_subject_of_the_question_before(before: str, question: str, alone: str) -> None:
    assert add_topic(question, after(before)) == alone


@pytest.mark.parametrize(
    "question",
    [
        "How tall is the Eiffel Tower?",
        "When did Einstein get his prize?",
        "So does the office in Lisbon close early on Fridays?",
        "Is it true that the office in Lisbon closed?",
        "Which benefits does the company give to new employees?",
        "What is the budget of the IT department?",
        "How do I call IT support?",
        "How many chairs are in the flat and what are they worth?",
        "How much is the rent?",
        "Where's my boat?",
        "Wie hoch ist die Miete?",
        "Y a-t-il une piscine ?",
        "¿Cuándo es el dentista?",
    ],
)
def test_a_standalone_question_does_not_change(question: str) -> None:
    assert add_topic(question, after("Who was Marie Curie?")) == question


def test_a_wish_for_a_summary_of_everything_gives_no_subject() -> None:
    assert add_topic("And the holidays?", after("Summarise these documents")) == "And the holidays?"


def test_the_subject_is_recognised_before_earlier_follow_ups() -> None:
    assert (
        add_topic(
            "And how was it financed?", after("Who built the Eiffel Tower?", "When was it built?")
        ).count("Eiffel")
        == 1
    )


def test_the_subject_is_that_of_the_latest_question_that_has_one() -> None:
    history = after("Who built the Eiffel Tower?", "Where does Marie Curie live?")
    assert add_topic("When was she born?", history) == "When was she born? (Marie Curie)"


def test_without_an_earlier_question_nothing_is_added() -> None:
    assert add_topic("When was it founded?", []) == "When was it founded?"
    assert add_topic("Why?", [ChatMessage(MessageRole.ASSISTANT, "Northwind Health is a company.")]) == "Why?"


def test_a_greeting_between_them_does_not_count() -> None:
    assert add_topic("Why?", after("Who pays the rent?", "Thanks!")) == "Why? (pays rent)"


message = st.lists(
    st.sampled_from(
        [
            "and",
            "it",
            "what",
            "about",
            "Warsaw",
            "1921",
            "its",
            "policy",
            "?",
            "er",
            "它",
            "the",
            "Northwind",
            "she",
        ]
    )
).map(" ".join)


@given(question=message, asked=st.lists(message, max_size=3))
def test_the_question_stays_as_it_is_and_the_result_is_stable(question: str, asked: list[str]) -> None:
    alone = add_topic(question, after(*asked))
    last = question.replace("?", " ").split()[-1:]
    assert alone.startswith(question.rstrip()) or last[0] in alone  # a name in another's place
    assert not asked or depends_on_context(question) or alone == question
    assert add_topic(question, after(*asked)) == alone


def test_a_name_in_the_place_of_another_is_what_the_next_question_is_about() -> None:
    history = after("How many seats does Cedar have?", "And Elm?")
    assert add_topic("What does it cost?", history) == "What does it cost? (Elm)"


def test_another_topic_takes_the_place_of_a_pronoun() -> None:
    history = after("When did the mill open?", "Who was its keeper?")
    assert add_topic("And of the bridge?", history) == "And of the bridge? (keeper)"
    assert add_topic("And when was it built?", history) == "And when was it built? (mill open)"


def test_names_are_compared_only_within_one_question() -> None:
    asked = ["How many seats does Cedar have?", "And Elm?", "And Fir?"]
    assert names_compared(after(*asked)) == ("How many seats does Fir have?", ["Cedar", "Elm", "Fir"])
    assert names_compared(after(*asked, "What does it cost?"))[0] == "What does it cost?"
    assert names_compared(after(*asked, "What does Birch cost?")) == ("What does Birch cost?", [])
