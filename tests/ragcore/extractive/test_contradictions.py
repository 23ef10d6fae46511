"""Sentences that have the words of a question and say something else."""

from __future__ import annotations

import pytest

from ragcore.extractive.contradictions import contradict
from ragcore.text.quotable_sentences import Quote


def says_something_else(
    question: str, *sentences: str, at: int = 0, document: str = "plan.pdf", lead: str = ""
) -> bool:
    quotes = [Quote(sentence, (), 0, document, lead=lead) for sentence in sentences]
    return contradict(question, quotes)[at]


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("What is not covered?", "Visits to the dentist are covered."),
        ("Which rooms can't be booked?", "The large hall can be booked by anyone."),
        ("Who never pays a fee?", "Members pay a fee each year."),
        ("What is not covered?", "The plan covers many lessons, including but not limited to:"),
        ("What is not covered?", "The plan covers not only lessons, but also gyms and preventive care."),
        ("Was ist nicht versichert?", "Das Fahrrad ist versichert."),
        ("Qu'est-ce qui n'est pas remboursé ?", "Les lunettes font partie du contrat."),
        ("¿Qué no cubre el seguro?", "El seguro cubre las gafas."),
    ],
)
def test_what_is_answers_no_question_for_what_is_not(question: str, sentence: str) -> None:
    assert says_something_else(question, sentence)


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("What is not covered?", "Cosmetic surgery is excluded."),
        ("What is not covered?", "Cosmetic surgery is never covered."),
        ("Was ist nicht versichert?", "Für Schmuck besteht kein Schutz."),
        ("Qu'est-ce qui n'est pas remboursé ?", "Les lunettes sont exclues."),
        ("¿Qué no cubre el seguro?", "Las gafas no están cubiertas."),
        # It is no such question: what is asked stands before the condition, or both are wanted, or what to
        # do, or whether.
        ("What happens if I do not pay?", "The gym closes the account."),
        ("What is covered and not covered?", "The plan covers glasses."),
        ("What should I do when I can't log in?", "Reset the password."),
        ("What was the goal of not using force?", "The goal was peace."),
        ("Why is the hall not heated?", "The boiler broke in May."),
        ("Isn't the hall heated?", "The hall is heated."),
        ("Was the hall not heated?", "The hall was heated."),
        ("What is the no. 1 hall?", "The large hall is the number one."),
        ("What is not covered?", "Cosmetic surgery: see the limitations."),
    ],
)
def test_denial_or_open_question_is_no_contradiction(question: str, sentence: str) -> None:
    assert not says_something_else(question, sentence)


def test_what_a_heading_denies_is_denied_below_it() -> None:
    assert not says_something_else("What is not covered?", "Cosmetic surgery", lead="Not covered")
    assert says_something_else("What is not covered?", "Cosmetic surgery", lead="Covered")


def test_a_word_is_another_one_without_its_prefix() -> None:
    question = "How many non-members visit the club?"
    assert says_something_else(question, "Some 300 members visit the club.")
    assert not says_something_else(question, "Some 300 non-members visit the club.")
    assert not says_something_else(question, "Some 300 nonmembers visit the club.")
    assert not says_something_else(question, "Some 300 guests visit the club.")
    # Said elsewhere in the passage, it may be meant here.
    assert not says_something_else(
        question, "Some 300 members visit the club.", "Fees of non-members", "Fees"
    )


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("How many people came in February 2015?", "In March 2015 ten million people came."),
        ("Was geschah im März?", "Im Mai geschah nichts."),
        ("Who sits on Tuesdays and Fridays?", "The council sits on Tuesdays and Wednesdays."),
        ("What was sold in 2019?", "In 2018 three mills were sold."),
        ("2月发生了什么？", "3月发生了地震。"),
    ],
)
def test_another_time_is_no_answer(question: str, sentence: str) -> None:
    assert says_something_else(question, sentence)


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("How many people came in February?", "In February ten million people came, in March none."),
        ("What happened in March?", "Im März geschah nichts, im Mai viel."),  # in either language
        ("What was sold in 2019?", "Three mills were sold."),
        ("What was sold in 2019?", "In 2018/19 three mills were sold."),
        ("What was sold in 2019?", "From 2018 to 2019 three mills were sold."),
        ("May I bring a dog?", "In June dogs may be brought."),
        ("Can I march on?", "In June you can march on."),
        ("How did the 1990s end?", "In 2001 all was over."),
        ("What has changed since 2019?", "In 2021 the fees changed."),
        ("What is due before the end of March?", "In January the fee is due."),
        ("Was geschah nach 1990?", "1995 kam die Bahn."),
        ("What weighs 1,500 kg?", "In 1998 the bell was weighed."),
    ],
)
def test_a_stated_or_unrelated_time_is_no_contradiction(question: str, sentence: str) -> None:
    assert not says_something_else(question, sentence)


def test_time_may_be_anywhere_in_the_passage_or_file_name() -> None:
    question, sentence = "What was sold in 2019?", "Since 2018 three mills were sold."
    assert says_something_else(question, sentence)
    assert not says_something_else(question, sentence, "Year of 2019", at=0)
    assert not says_something_else(question, sentence, document="report-2019.pdf")


@pytest.mark.timeout(60)
@pytest.mark.parametrize("question", ["What was sold in March 2019?", "Where do non-Muslims live?"])
def test_long_passage_is_searched_once_for_all_its_sentences(question: str) -> None:
    # minutes, if for each
    sentences = [f"In April 2018 mill {number} was sold to Muslims." for number in range(8000)]
    quotes = [Quote(sentence, (), 0, "plan.pdf") for sentence in sentences]
    assert all(contradict(question, quotes))
    assert not any(
        contradict(
            question, [*quotes, Quote("Some were sold to non-Muslims in March 2019.", (), 0, "plan.pdf")]
        )
    )


def test_of_years_that_the_question_names_it_may_ask_for_one() -> None:
    assert not says_something_else("Which year was better, 2018 or 2019?", "Sales | 2018: 3; 2019: 4")


@pytest.mark.parametrize(
    ("question", "sentence"),
    [("What is not paid?", "Проезд оплачен."), ("Was ist nicht bezahlt?", "Проезд оплачен.")],
)
def test_unknown_script_is_never_a_contradiction(question: str, sentence: str) -> None:
    assert not says_something_else(question, sentence)


def test_without_sentences_there_is_none() -> None:
    assert contradict("What is not covered?", []) == []
