from __future__ import annotations

import pytest

from ragcore.questions.acronyms import spelt_out

TEXTS = [
    "Ask human resources.\nHuman\nresources: room 3. The Chief of General Staff and the Head of Research met.",
    "The PTO is paid.",
]


@pytest.mark.parametrize(
    ("question", "meant"),
    [
        ("Where is HR?", "Where is human resources?"),
        ("Who is the HR's head?", "Who is the human resources' head?"),
        ("Whom did the CGS meet?", "Whom did the Chief of General Staff meet?"),  # said once, but as a name
        ("What is PTO?", "What is PTO?"),  # the texts have it
        ("What is RM?", "What is RM?"),  # nothing begins so
        ("What is RH?", "What is RH?"),  # "resources: ..." ends there
        ("WHERE IS HR?", "WHERE IS HR?"),
        ("Where is hr?", "Where is hr?"),
    ],
)
def test_an_abbreviation_that_the_texts_lack_becomes_their_words_that_begin_so(question: str, meant: str) -> None:
    assert spelt_out(question, TEXTS) == meant


def test_words_that_happen_to_begin_so_once_are_not_meant() -> None:
    assert spelt_out("Who is the VP?", ["The village paid twice."]) == "Who is the VP?"
    assert spelt_out("Who is the HR?", ["He has read it. She has read it."]) == "Who is the HR?"


def test_a_word_said_with_stress_is_no_abbreviation() -> None:
    said = ["The National Oversight Team, the Duty Office, the Operating Room and the Information Technology desk decide."]
    for question in ("Which drugs are NOT covered?", "What do I DO?", "Is it red OR blue?"):
        assert spelt_out(question, said) == question
    assert spelt_out("Who leads IT?", said) == "Who leads Information Technology?"
    named = ["The United Nations and the World Health Organization met."]
    assert spelt_out("Did the UN meet the WHO?", named) == "Did the United Nations meet the World Health Organization?"
