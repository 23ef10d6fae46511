from __future__ import annotations

import time
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.embeddings.hashing import HashEmbedding
from ragcore.extractive.sentence_vectors import SentenceVectors
from ragcore.extractive.summary import summarize
from ragcore.extractive.summary_requests import (
    Length,
    is_summary_request,
    request_language,
    requested_length,
    topic_of,
)
from ragcore.prompts.prompt import Passage
from ragcore.text.overview_notes import DOCUMENTS_OF_GROUP, GROUP, TABLE
from ragcore.text.quotable_sentences import quotes_in
from ragcore.text.salience import centrality, diverse, shares, stretches


@pytest.mark.parametrize(
    ("message", "topic"),
    [
        ("Summarise this document", ""),
        ("What is this about?", ""),
        ("What are the main points?", ""),
        ("Give me a summary of the report in three sentences, please", ""),
        (
            (
                "Describe what the provided text is about. Also describe some of the questions that this "
                "text can answer."
            ),
            "",
        ),
        ("Worum geht es in dem Dokument?", ""),
        ("Fasse den Text zusammen", ""),
        ("Résume ce document", ""),
        ("De quoi parle ce texte ?", ""),
        ("¿De qué trata este documento?", ""),
        ("Resume el documento", ""),
        ("总结这篇文章", ""),
        ("这篇文章讲了什么？", ""),
        ("Give me a short overview of the dental benefits", "dental benefits"),
        ("Give me a summary of the two documents", ""),
    ],
)
def test_a_wish_for_a_summary_is_understood(message: str, topic: str) -> None:
    assert is_summary_request(message)
    assert topic_of(message) == topic


@pytest.mark.parametrize(
    "message",
    [
        "Can you give me a summary?",
        "Could you summarise this?",
        "Could we please have a summary?",
        "May I see an overview of the plan?",
        "Is it possible to get a summary?",
        "Could somebody give me an overview?",
        "How about a summary?",
        "How can this be summarised?",
        "What is the summary of the report?",
        "Is the plan any good? Give me an overview of it.",
    ],
)
def test_a_request_for_a_summary_may_be_a_question(message: str) -> None:
    assert is_summary_request(message)


@pytest.mark.parametrize(
    ("message", "sentences", "topic"),
    [
        ("Summarise this in one sentence", 1, ""),
        ("Summarise the report in a short sentence, please.", 1, ""),
        ("What are the 5 main points?", 5, ""),
        ("What are the top three takeaways about whales?", 3, "whales"),
        ("Summarise in exactly twelve sentences", None, None),  # as far as ten in words
        ("Fasse die Dokumente in drei Sätzen zusammen.", 3, ""),
        ("Résume le texte en deux phrases", 2, ""),
        ("Resume el texto en cuatro frases", 4, ""),
        ("用三句话总结这篇文章", 3, ""),
        ("总结5个要点", 5, ""),
        ("What are the main points?", None, ""),
        ("Summarise chapter 3", None, "chapter 3"),
        ("Summarise the 2024 findings", None, None),
        ("Summarise it in 0 sentences", None, ""),
    ],
)
def test_how_many_sentences_a_summary_is_to_have(
    message: str, sentences: int | None, topic: str | None
) -> None:
    assert requested_length(message) == Length(sentences)
    assert topic is None or topic_of(message) == topic


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("Summarise this in 50 words", 50),
        ("Give me an overview in under 100 words", 100),
        ("Fass das in höchstens 40 Wörtern zusammen", 40),
        ("Résume en moins de 30 mots", 30),
        ("Resume esto en 20 palabras como máximo", 20),
    ],
)
def test_how_many_words_a_summary_may_have(message: str, words: int) -> None:
    assert requested_length(message) == Length(words=words)


@pytest.mark.parametrize(
    "message",
    [
        "Who wrote the summary?",
        "What is the capital of France?",
        "Where did they resume talks?",
        "多少人住在华沙？",
        "How do I upload my résumé?",
        "How do I get a Summary of Benefits?",
        "Is the price listed in an overview?",
        "Does the report begin with a summary?",
        "Can I upload a résumé?",
        "Do we have an overview of the plan?",
    ],
)
def test_a_question_is_no_wish_for_a_summary(message: str) -> None:
    assert not is_summary_request(message)


REPEATED = """this these those the it they my our your all provided given uploaded following text texts
document documents file paper report article page essay book content passage theyour summary overview fasse
zusammen points 3 in about resume résumé"""


@pytest.mark.parametrize("count", [22, 1000])
@pytest.mark.parametrize("opening", ["what is ", "what ", "fasse ", "in the top "])
def test_message_with_many_repetitions_is_parsed_quickly(opening: str, count: int) -> None:
    for said in REPEATED.split():
        for message in (f"{opening}{said * count} x", f"{opening}{f'{said} ' * count}x"):
            began = time.perf_counter()
            is_summary_request(message)
            topic_of(message)
            assert time.perf_counter() - began < 1, message[:80]


def test_centrality_is_the_stationary_share_of_the_walk() -> None:
    rng = np.random.default_rng(3)
    vectors = rng.normal(size=(6, 4)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    likeness = np.clip(vectors.astype(float) @ vectors.T, 0, None)
    np.fill_diagonal(likeness, 1)
    walk = 0.85 * likeness / likeness.sum(axis=1, keepdims=True) + 0.15 / 6
    values, directions = np.linalg.eig(walk.T)
    share = np.abs(np.real(directions[:, np.argmax(np.real(values))]))
    assert centrality(vectors) == pytest.approx(share / share.max(), abs=1e-6)
    assert centrality(vectors[:0]).shape == (0,)


def test_the_second_choice_does_not_repeat_the_first() -> None:
    vectors = np.array([[1, 0], [1, 0], [0, 1]], dtype=np.float32)
    assert diverse(np.array([1.0, 0.9, 0.5]), vectors, [0, 0, 0], {0: 2}) == [0, 2]


def test_a_group_gives_as_many_rows_as_it_has_places() -> None:
    vectors = np.eye(4, dtype=np.float32)
    assert sorted(diverse(np.array([4.0, 3.0, 2.0, 1.0]), vectors, [0, 0, 0, 1], {0: 1, 1: 1})) == [0, 3]
    assert diverse(np.ones(4), vectors, [0, 0, 0, 0], {}) == []


@given(sizes=st.lists(st.integers(1, 30), min_size=1, max_size=8), count=st.integers(0, 20))
def test_places_add_up_and_follow_size(sizes: list[int], count: int) -> None:
    named = dict(enumerate(sizes))
    places = shares(named, count)
    assert sum(places.values()) == count
    if count > len(sizes):
        spare = count - len(sizes)
        assert all(abs(places[group] - 1 - spare * size / sum(sizes)) < 1 for group, size in named.items())


@given(sizes=st.lists(st.integers(4, 30), min_size=1, max_size=4), count=st.integers(1, 8))
def test_stretches_are_contiguous_and_of_nearly_equal_length(sizes: list[int], count: int) -> None:
    groups = [group for group, size in enumerate(sizes) for _ in range(size)]
    places = shares(dict(enumerate(sizes)), count)
    found = stretches(groups, places)
    kept = [stretch for stretch in found if stretch >= 0]
    assert kept == sorted(kept)
    for group in places:
        lengths = Counter(stretch for stretch, of in zip(found, groups, strict=True) if of == group)
        assert len(lengths) == min(places[group], sizes[group])
        assert max(lengths.values()) - min(lengths.values()) <= 1


HARBOUR = (
    "The harbour of Penmouth was built in 1871 for the ships of the Coast Company. It has two basins. "
    "Ferries to the islands leave the harbour of Penmouth every hour in summer."
)
BAKERY = (
    "The bakery of Ann Lee sells bread and cake in the market hall. "
    "The bakery opens at six in the morning on every day but Monday."
)
ROWS = "\n".join(f"Day: 2025-01-{day:02d}; Bread: {day}" for day in range(1, 25))


def summary(query: str, *passages: Passage, again: bool = False) -> str:
    return summarize(SentenceVectors(HashEmbedding()), query, passages, again=again)


def test_each_document_has_its_name_and_cited_sentences() -> None:
    passages = (
        Passage(HARBOUR, 1, "harbour [1].pdf, page 2"),
        Passage(BAKERY, 2, "bakery.txt"),
        Passage(ROWS, 3, "sales.csv"),
    )
    parts = summary("Fasse alles zusammen", *passages).split("\n\n")
    assert parts[::2] == [r"**harbour \[1\].pdf**", "**bakery.txt**", "**sales.csv**"]
    assert parts[3] == BAKERY.replace(". ", ". [2] ") + " [2]"
    assert parts[5] == "24 Zeilen; Spalten Day, Bread; Day 2025-01-01 bis 2025-01-24; Bread 1 bis 24. [3]"
    assert {quote.marks for quote in quotes_in(parts[1], number=None)} == {(1,)}


def test_table_facts_of_the_whole_go_before_those_of_a_part() -> None:
    passage = Passage(f"{TABLE}: 9000 rows; columns Day, Bread.\n\n{ROWS}", 1, "sales.csv, sheet 2")
    assert summary("Summarise everything", passage) == "**sales.csv**\n\n9000 rows; columns Day, Bread. [1]"


def test_a_group_of_documents_has_its_topic_and_their_names() -> None:
    notes = f"{GROUP}: sea, harbour\n{DOCUMENTS_OF_GROUP}: a.txt, b.txt\n\n"
    text = summary(
        "Summarise everything", Passage(notes + HARBOUR, 1, "a.txt"), Passage(f"{notes}{BAKERY}", 2, "b.txt")
    )
    assert text.startswith("**sea, harbour**\na.txt, b.txt\n\n")
    assert {mark for quote in quotes_in(text, number=None) for mark in quote.marks} == {1, 2}


def test_summaries_are_merged_under_the_same_headings() -> None:
    first = summary(
        "Summarise everything", Passage(HARBOUR, 1, "harbour.pdf"), Passage(BAKERY, 2, "bakery.txt")
    )
    more = summary(
        "Summarise everything",
        Passage("The harbour master of Penmouth is called Tom Berg.", 3, "harbour.pdf"),
    )
    both = summary("Summarise everything", Passage(first), Passage(more), again=True)
    assert both.split("\n\n")[::2] == ["**harbour.pdf**", "**bakery.txt**"]
    assert "The harbour master of Penmouth is called Tom Berg. [3]" in both


def test_a_list_stays_whole_when_summaries_are_merged() -> None:
    listed = "**cake.txt**\n\nIngredients\n- 4 eggs\n- 1 lemon [1]"
    assert summary(
        "Summarise everything", Passage(listed), Passage("**b.txt**\n\nBread is baked. [2]"), again=True
    ) == (f"{listed}\n\n**b.txt**\n\nBread is baked. [2]")


def test_a_disclaimer_that_several_documents_have_tells_of_none() -> None:
    legal = "No liability is accepted for the contents of this document by the Coast Company."
    text = summary(
        "Summarise", *(Passage(f"{legal} {own}", at, f"{at}") for at, own in enumerate((HARBOUR, BAKERY), 1))
    )
    assert legal not in text
    versions = summary(
        "Summarise", Passage(HARBOUR, 1, "old.txt"), Passage(f"{HARBOUR} It is deep.", 2, "new.txt")
    )
    assert versions.count("The harbour of Penmouth was built in 1871") == 2


@pytest.mark.parametrize(
    ("message", "language"),
    [
        ("Summarise everything", "en"),
        ("Fasse alle Dokumente zusammen", "de"),
        ("Resume todos los documentos", "es"),
        ("Résume tous les documents", "fr"),
        ("总结所有文档", "zh"),
    ],
)
def test_everything_may_be_summarised_in_five_languages(message: str, language: str) -> None:
    assert is_summary_request(message)
    assert topic_of(message) == ""
    assert request_language(message) == language


def test_what_something_is_about_asks_for_its_summary() -> None:
    assert is_summary_request("What is the rental contract about?")
    assert topic_of("What is the rental contract about? Answer in one sentence.") == "rental contract"
    assert topic_of("Fasse das Protokoll in höchstens 30 Wörtern zusammen") == "Protokoll"
    assert topic_of("Worum geht es im Mietvertrag? Antworte in zwei Sätzen") == "Mietvertrag"
