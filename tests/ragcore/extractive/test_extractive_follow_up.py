from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.questions.follow_up import stand_alone, without_topic
from ragcore.schema import ChatMessage, MessageRole
from ragcore.text.keywords import content_words


def after(*asked: str) -> list[ChatMessage]:
    """A conversation in which the person said this, each answered."""
    return [
        message
        for question in asked
        for message in (ChatMessage(MessageRole.USER, question), ChatMessage(MessageRole.ASSISTANT, "Contoso did. [1]"))
    ]


@pytest.mark.parametrize(
    ("before", "question", "alone"),
    [
        ("Who owns Northwind Health?", "When was it founded?", "When was Northwind Health founded?"),
        ("Who was Marie Curie?", "What did she discover?", "What did Marie Curie discover?"),
        ("Tell me about Northwind Health", "Who are its members?", "Who are Northwind Health's members?"),
        ("Who owns Northwind Health?", "WHEN WAS IT FOUNDED?", "WHEN WAS Northwind Health FOUNDED?"),
        ("Who owns Northwind Health?", "Is it its IT?", "Is Northwind Health its IT?"),
        ("Who owns Northwind Health?", "What if it's closed?", "What if it's closed? (owns Northwind Health)"),
        ("Who owns Northwind Health?", "And what if they’re late?", "And what if they’re late? (owns Northwind Health)"),
        ("Who was Marie Curie?", "Who told her about it?", "Who told Marie Curie about it?"),
        ("Who was Marie Curie?", "Who was her brother?", "Who was Marie Curie's brother?"),
        ("Who was Marie Curie?", "What was her most famous book?", "What was Marie Curie's most famous book?"),
        ("How many people lived in Warsaw in 1920?", "And in 1921?", "And in 1921? (people lived Warsaw)"),
        ("what is the vacation policy", "why?", "why? (vacation policy)"),
        ("Wer ist Albert Einstein?", "Wann wurde er geboren?", "Wann wurde er geboren? (Albert Einstein)"),
        ("Who leads marketing?", "What about sales?", "What about sales? (leads marketing)"),
        ("Tell me about Warsaw", "What is the population?", "What is the population? (Warsaw)"),
        ("Summarise the employee handbook in two sentences", "And the holidays?", "And the holidays? (employee handbook)"),
        ("Zusammenfassung des Handbuchs in zwei Sätzen", "Und der Urlaub?", "Und der Urlaub? (Handbuchs)"),
        ("埃菲尔铁塔在哪里？", "它有多高？", "它有多高？ (埃菲尔铁塔在哪里)"),
    ],
)
def test_a_follow_up_gets_the_subject_of_the_question_before(before: str, question: str, alone: str) -> None:
    assert stand_alone(question, after(before)) == alone


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
        "When is the dentist?",
        "How much is the rent?",
        "Where's my boat?",
        "Is there a pool?",
        "Wann ist der Zahnarzt?",
        "Wie hoch ist die Miete?",
        "Où est le bateau ?",
        "¿Cuándo es el dentista?",
    ],
)
def test_a_question_that_stands_alone_is_left_as_it_is(question: str) -> None:
    assert stand_alone(question, after("Who was Marie Curie?")) == question


def test_a_wish_for_a_summary_of_everything_gives_no_subject() -> None:
    assert stand_alone("And the holidays?", after("Summarise these documents")) == "And the holidays?"


def test_the_subject_is_found_behind_earlier_follow_ups() -> None:
    assert (
        stand_alone("And how was it financed?", after("Who built the Eiffel Tower?", "When was it built?")).count("Eiffel") == 1
    )


def test_the_subject_is_that_of_the_latest_question_that_has_one() -> None:
    history = after("Who built the Eiffel Tower?", "Where does Marie Curie live?")
    assert stand_alone("When was she born?", history) == "When was Marie Curie born?"


def test_without_an_earlier_question_nothing_is_added() -> None:
    assert stand_alone("When was it founded?", []) == "When was it founded?"
    assert stand_alone("Why?", [ChatMessage(MessageRole.ASSISTANT, "Northwind Health is a company.")]) == "Why?"


@pytest.mark.parametrize(
    ("question", "alone"),
    [
        ("What about the boat? (leads marketing)", "What about the boat?"),
        ("Why? (leads marketing)", "Why? (leads marketing)"),
        ("And in 1921? (people lived Warsaw)", "And in 1921? (people lived Warsaw)"),
        ("Who is the president (of Brazil)?", "Who is the president (of Brazil)?"),
    ],
)
def test_the_topic_is_left_out_again_where_the_question_says_something_without(question: str, alone: str) -> None:
    assert without_topic(question) == alone


message = st.lists(
    st.sampled_from(
        ["and", "it", "what", "about", "Warsaw", "1921", "its", "policy", "?", "er", "它", "the", "Northwind", "she"]
    )
).map(" ".join)


@given(question=message, asked=st.lists(message, max_size=3))
def test_no_content_word_of_the_question_is_lost_and_the_result_is_stable(question: str, asked: list[str]) -> None:
    alone = stand_alone(question, after(*asked))
    assert set(content_words(question)) - {"它"} <= set(content_words(alone))
    assert stand_alone(question, after(*asked)) == alone
