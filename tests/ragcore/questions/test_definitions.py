from __future__ import annotations

import pytest

from ragcore.questions.definitions import asked_what_it_is, says_what_it_is
from ragcore.text.keywords import content_words


@pytest.mark.parametrize(
    ("question", "thing"),
    [
        ("What is a pinion?", "pinion"),
        ("what's a rack railway", "rack railway"),
        ("What are the brake blocks?", "brake blocks"),
        ("Who was Ada Penrose?", "Ada Penrose"),
        ("What is meant by adhesion?", "adhesion"),
        ("What is the meaning of adhesion?", "adhesion"),
        ("What does FSA stand for?", "FSA"),
        ("What does the handbook say about adhesion?", "adhesion"),
        ("Tell me about adhesion.", "adhesion"),
        ("Define adhesion", "adhesion"),
        ("adhesion", "adhesion"),
        ("What is a pinion? (Cliff Railway)", "pinion"),
        ("Was ist ein Ritzel?", "Ritzel"),
        ("Was bedeutet Haftung?", "Haftung"),
        ("Qu’est-ce qu’un pignon ?", "pignon"),
        ("Qui était Ada Penrose ?", "Ada Penrose"),
        ("¿Qué es un piñón?", "piñón"),
        ("¿Quién fue Ada Penrose?", "Ada Penrose"),
        ("什么是齿轮？", "齿轮"),
        ("齿轮是什么意思？", "齿轮"),
        ("What is a pinion and how does it turn?", "pinion"),
        ("Was ist ein Ritzel, und wie dreht es sich?", "Ritzel"),
        ("When did the railway open to the public?", ""),
        ("How many teeth has a pinion of the railway?", ""),
        ("Who built the tower, and what is it?", ""),
    ],
)
def test_what_is_to_be_explained_is_known_by_the_question(question: str, thing: str) -> None:
    assert asked_what_it_is(question) == frozenset(content_words(thing))


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("What is a pinion?", "A pinion is a small gear."),
        ("What is a pinion?", "A pinion (ten teeth) is a small gear."),
        ("What are pinions?", "The pinion was a gear of iron."),
        ("What is a pinion?", "On a rack railway, the pinion is what pulls."),
        ("What is a pinion?", "A pinion, also called a gear, is round."),
        ("What is a pinion?", "Pinion: a small gear."),
        ("What is a pinion?", "Pinion: A pinion is a small gear."),
        ("What is a pinion?", "A pinion, the smaller of two gears, turns faster."),
        ("What is a pinion?", "Meet the pinion - a small gear that pulls."),
        ("What is an FSA?", "A Flexible Spending Account (FSA) is free of tax."),
        ("What was the Korean War?", "The Korean War was fought from 1950 on."),
        ("What does adhesion mean?", "Adhesion means that the wheels hold."),
        ("Was ist ein Ritzel?", "Ein Ritzel ist ein Zahnrad."),
        ("Qu’est-ce qu’un pignon ?", "Le pignon est une roue."),
        ("¿Qué es un piñón?", "El piñón es una rueda."),
        ("什么是齿轮？", "齿轮是一种轮子。"),
    ],
)
def test_a_sentence_that_begins_with_the_thing_and_its_verb_says_what_it_is(question: str, sentence: str) -> None:
    assert says_what_it_is(asked_what_it_is(question), sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "The pinion may be oiled every day.",
        "Every day the oil of the pinion is changed.",
        "For a pinion, a spare is kept.",
        "For the pinion there is a cover.",
        "The pinion’s son was a gear.",
        "The driver of the pinion is paid by the hour.",
        "It is turned by a pinion.",
        "Pinion",
        "",
    ],
)
def test_a_sentence_that_tells_something_else_of_it_does_not(sentence: str) -> None:
    assert not says_what_it_is(asked_what_it_is("What is a pinion?"), sentence)


def test_where_nothing_is_to_be_explained_nothing_does() -> None:
    assert not says_what_it_is(frozenset(), "There is.")
