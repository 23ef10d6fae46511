"""The words that keyword search compares: forms of a word meet, different words do not."""

from __future__ import annotations

import sys
import threading
import tracemalloc
from string import ascii_lowercase as LETTERS

import pytest
import snowballstemmer
from hypothesis import given
from hypothesis import strategies as st

from ragcore.text.keywords import content_words, stem, words

SAME = [
    ("herons", "Heron"),
    ("running", "runs"),
    ("connected", "connections"),
    ("wrote", "Writing"),
    ("built", "builds"),
    ("children", "child’s"),
    ("analyses", "analysis"),
    ("grew up", "growing up"),
    ("naïve", "NAIVE"),
    ("company's", "companies"),
    ("company’s", "company"),
    ("ＡＢＣ", "abc"),
    ("ﬁle", "files"),
    ("Städte", "Stadt"),
    ("Straße", "STRASSE"),
    ("книгами", "книга"),
    ("الكتاب", "كتاب"),
    ("cafe\u0301", "café"),
    ("שָׁלוֹם", "שלום"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_forms_of_a_word_meet(one: str, other: str) -> None:
    assert words(one) == words(other)
    assert len(words(one)) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("university", "universe"),
        ("2019", "2020"),
        ("GPT-4", "GPT-5"),
        ("wales", "whales"),
        ("rose", "rise"),
        ("growing up", "growing"),
        ("grew up", "grew up to"),
    ],
)
def test_different_words_stay_apart(one: str, other: str) -> None:
    assert words(one) != words(other)


def test_words_come_in_order_and_stop_words_only_on_request() -> None:
    assert words("The dogs of the town") == ["the", "dog", "of", "the", "town"]
    assert content_words("The dogs of the town") == ["dog", "town"]
    assert content_words("Was ist eine Quittung?") == ["quittung"]
    assert content_words("What is it?") == []


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("May I bring a dog?", "bring dog"),
        ("Two dogs. May they travel?", "two dog travel"),
        ("May 2019", "may 2019"),
        ("In May we closed.", "may close"),
        ("May Day", "may day"),
    ],
)
def test_may_is_a_month_unless_a_question_begins_with_it(text: str, kept: str) -> None:
    assert content_words(text) == kept.split()
    assert "may" in words(text)


def test_stop_words_of_other_languages_stay_in_english() -> None:
    assert content_words("Did the son die in the car?") == ["son", "die", "car"]


def test_scripts_without_spaces_become_pairs_of_characters() -> None:
    assert words("東京都 and 東") == ["東京", "京都", "and", "東"]
    assert words("GPU版です") == ["gpu", "版で", "です"]
    assert set(words("한국어")) == {"한국", "국어"}
    assert set(words("ภาษา")) <= set(words("ภาษาไทย"))


def test_unspaced_scripts_become_trigrams_or_a_single_bigram() -> None:
    assert words("ภาษา") == ["ภา", "าษ", "ษา", "ภาษ", "าษา"]
    assert content_words("ภาษา") == ["ภาษ", "าษา"]
    assert content_words("ยา") == words("ยา") == ["ยา"]


def test_vowel_signs_do_not_break_a_word() -> None:
    assert len(words("हिन्दी बाङ्ला తెలుగు")) == 3


@given(st.text())
def test_every_text_has_words_of_letters_and_digits_only(text: str) -> None:
    found = words(text)
    assert all(word and not any(c.isspace() for c in word) for word in found)
    assert words(text) == found


@given(
    st.lists(st.sampled_from(["heron", "rates", "Ufer", "naïve", "don't"])),
    st.lists(st.sampled_from(["tax", "été", "42"])),
)
def test_a_text_has_the_words_of_its_lines(first: list[str], second: list[str]) -> None:
    assert words("\n".join([*first, *second])) == words(" ".join(first)) + words(" ".join(second))
    assert words(" ".join(first)) == [stem(word) for word in first]


def test_long_runs_of_letters_are_not_remembered() -> None:
    tracemalloc.start()
    try:
        for letter in LETTERS:
            assert words(letter * 1_000_000) == [letter * 1_000_000]
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 5_000_000  # bytes


def test_eight_threads_stem_alike() -> None:
    texts = [" ".join(f"{start}{a}{b}nections" for a in LETTERS for b in LETTERS) for start in "abcdefgh"]
    found: dict[str, list[str]] = {}
    threads = [threading.Thread(target=lambda text=text: found.update({text: words(text)})) for text in texts]
    pause = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(pause)
    alone = snowballstemmer.stemmer("english")
    for text in texts:
        assert found[text] == [alone.stemWord(word) for word in text.split()]
