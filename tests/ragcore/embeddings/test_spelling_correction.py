from __future__ import annotations

import pytest

from ragcore.embeddings.hashing import HashEmbedding
from ragcore.embeddings.huggingface import HuggingFaceEmbedding
from ragcore.embeddings.spelling_correction import correct_spelling

SAID = (
    "The service covers two types of hearing care, and the deductible is due in Windermere each March.",
    "Its trail is long.",
)


@pytest.mark.parametrize(
    ("question", "meant"),
    [
        ("Which typs of hearin care are there?", "Which types of hearing care are there?"),
        ("What is due in Windermre?", "What is due in Windermere?"),
        ("Which types of hearing care are there?", None),
        ("Whose servises in hearign cqre?", "Whose servises in hearing care?"),  # two slips stay
        ("When is the trial?", None),  # a word, though trail is nearer to what is said
        ("What does the Zanzibar plan cover?", None),  # nothing is like it
        ("Is a dervice due?", None),  # the first letter is taken to be right
        ("Which Windermeres are there?", None),  # a form of a word that is said
        ("Are TYPFS or TyCes covered?", None),  # abbreviations, though types are one slip away
        ("E-4711x and 12thh?", None),
        ("", None),
    ],
)
def test_unknown_word_becomes_the_nearest_known_word(question: str, meant: str | None) -> None:
    assert correct_spelling(question, SAID, HuggingFaceEmbedding()) == (meant or question)


def test_no_vocabulary_or_another_language_changes_nothing() -> None:
    question = "Which typs of hearin care are there?"
    assert correct_spelling(question, SAID, HashEmbedding()) == question
    german = "Welche Regeln gelten hier für die Mutterschutzfrist?"
    assert (
        correct_spelling(german, ["Für die Mieterschutzfrist gilt eine Regel."], HuggingFaceEmbedding())
        == german
    )
