from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ragcore.embeddings.base import Tokens
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.embeddings.huggingface import HuggingFaceEmbedding
from ragcore.extractive.answerer import THRESHOLD
from ragcore.extractive.evidence import Evidence, Weighed
from ragcore.text.quotable_sentences import Quote, quotes_in

if TYPE_CHECKING:
    from ragcore.schema import Vectors

QUESTION = "When did the Lisbon office open?"


class WordRows(HashEmbedding):
    """Every word is a token, its vector that of the word alone. Notes what it was asked to embed."""

    def __init__(self, *, knows_words: bool = True) -> None:
        super().__init__()
        self.knows_words = knows_words
        self.embedded: list[str] = []

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        self.embedded += texts
        return super().embed_passages(texts)

    def embed_tokens(self, texts: Sequence[str]) -> tuple[Vectors, list[Tokens]] | None:
        if not self.knows_words:
            return None
        self.embedded += texts
        return super().embed_passages(texts), [self._tokens(text) for text in texts]

    def knows(self, word: str) -> bool:
        return True

    def _tokens(self, text: str) -> Tokens:
        words = list(re.finditer(r"\w+", text))
        rows = super().embed_passages([word.group() for word in words])
        return Tokens(text, [word.span() for word in words], rows)


def quotes(*texts: str) -> list[Quote]:
    return [Quote(text, (), passage, "") for passage, text in enumerate(texts)]


def test_words_that_no_sentence_meets_speak_against_an_answer() -> None:
    evidence = Evidence(WordRows())
    answering = evidence.weighed(QUESTION, quotes("The Lisbon office opened in March 1998.")).margin(THRESHOLD)
    another = evidence.weighed(QUESTION, quotes("The Porto office opened in March 1998."))
    assert answering > 0 > another.margin(THRESHOLD)
    assert another.odds() > 0  # by all else it answers


@pytest.mark.parametrize(
    ("embedder", "question"),
    [
        (HashEmbedding(), QUESTION),
        (WordRows(knows_words=False), QUESTION),
        (WordRows(), "Wann wurde das Büro in Lissabon eröffnet?"),
    ],
)
def test_where_words_have_no_vectors_the_best_sentence_must_reach_the_threshold(embedder: HashEmbedding, question: str) -> None:
    said = quotes("The Lisbon office opened in March 1998.", "Das Büro in Lissabon wurde 1998 eröffnet.")
    weighed = Evidence(embedder).weighed(question, said)
    assert weighed.met is None
    assert weighed.margin(THRESHOLD) == pytest.approx(weighed.odds().max() - THRESHOLD)


def test_of_no_sentences_nothing_answers() -> None:
    weighed = Evidence(HashEmbedding()).weighed(QUESTION, [])
    assert weighed.margin(THRESHOLD) == -np.inf
    assert weighed.odds().tolist() == []


def test_what_is_not_weighed_has_no_odds_and_is_not_embedded() -> None:
    embedder = WordRows()
    said = quotes(*(f"The Lisbon office opened on day {day}." for day in range(30)), "Rain fell on the hills.")
    odds = Evidence(embedder).odds(QUESTION, said)
    assert np.isfinite(odds).sum() == len([text for text in embedder.embedded if text.startswith("The Lisbon")])
    assert odds[-1] == -np.inf
    assert "Rain fell on the hills." not in embedder.embedded


def test_each_text_is_embedded_once() -> None:
    embedder = WordRows()
    evidence = Evidence(embedder)
    for question in (QUESTION, "Who opened the office?", QUESTION):
        evidence.weighed(question, quotes("The Lisbon office opened in March 1998.", "Parking is free."))
    assert embedder.embedded.count("Parking is free.") == 1
    assert embedder.embedded.count(QUESTION) == 1


GERMAN = (
    "Der Leuchtturm von Gannerby wurde 1871 von Ada Penrose gebaut. Er ist vierzig Meter hoch.",
    "Die Fähre nach Lund fährt täglich um acht Uhr. An Sonntagen ruht der Verkehr.",
)
FRENCH = (
    "Le phare de Gannerby a été construit en 1871 par Ada Penrose. Il mesure quarante mètres.",
    "Le bac pour Lund part tous les jours à huit heures. Il ne circule pas le dimanche.",
)


@pytest.mark.parametrize(
    ("texts", "question", "answers"),
    [
        (GERMAN, "Wie hoch ist der Leuchtturm?", True),
        (GERMAN, "Leuchtturm Höhe?", True),  # the language is that of the passages
        (GERMAN, "Wann fährt die Fähre?", True),
        (GERMAN, "Wer war der erste Kaiser von China?", False),
        (GERMAN, "Wie viele Planeten hat das Sonnensystem?", False),
        (FRENCH, "Quelle est la hauteur du phare ?", True),
        (FRENCH, "Qui est le président de la Chine ?", False),
        (FRENCH, "Combien coûte un billet de tramway ?", False),
    ],
)
def test_in_a_language_that_the_embedder_does_not_know_words_say_whether_there_is_an_answer(
    texts: tuple[str, ...], question: str, answers: bool
) -> None:
    said = [quote for at, text in enumerate(texts) for quote in quotes_in(text, number=1, passage=at)]
    weighed = Evidence(HuggingFaceEmbedding()).weighed(question, said)
    assert weighed.foreign
    assert (weighed.margin(THRESHOLD) > 0) is answers


def test_what_says_something_else_than_is_asked_does_not_answer_however_near_it_is() -> None:
    evidence = Evidence(HuggingFaceEmbedding())
    said = quotes("The Lisbon office opened in March 1998.", "Parking is free.")
    question = "In what month of 1997 did the Lisbon office open?"
    assert evidence.weighed(question, said).rows == [0, 1]
    assert evidence.answering(question, said).rows == [1]
    assert evidence.answering(question, said).odds()[0] == -np.inf
    nothing = evidence.answering("Which office did not open?", said[:1])
    assert nothing.margin(THRESHOLD) == -np.inf
    assert nothing.odds().tolist() == [-np.inf]


def test_words_order_the_sentences_where_cosines_tell_little() -> None:
    holds_words = (0.6, 0.6, 0.2, 0.2, 0.3, 0.0, 0.0, 1.0)
    seems_near = (0.1, 0.1, 0.7, 0.75, 0.6, 0.0, 0.0, 1.0)
    measured = np.array([holds_words, seems_near])
    assert Weighed(2, [0, 1], measured, None, foreign=True, unread=True).odds().argmax() == 0
    assert Weighed(2, [0, 1], measured, None, foreign=True).odds().argmax() == 1


def test_a_short_english_question_whose_language_nothing_tells_is_judged_by_the_best_sentence() -> None:
    weighed = Evidence(HuggingFaceEmbedding()).weighed("May I bring a large dog?", quotes("A dog must sit on a lap."))
    assert not weighed.foreign
    assert weighed.met is None
    assert weighed.margin(THRESHOLD) == pytest.approx(weighed.odds().max() - THRESHOLD)


@pytest.mark.parametrize(
    ("question", "unread"),
    [
        ("灯塔有多高？", True),
        ("GDP是多少？", True),
        ("كم ارتفاع المنارة؟", True),
        ("Wie hoch ist der Leuchtturm?", False),
        ("How high is it?", False),
    ],
)
def test_a_script_that_the_embedder_does_not_know_is_told_from_a_language(question: str, unread: bool) -> None:
    said = quotes("灯塔高四十米。", "The lighthouse is high.")
    assert Evidence(HuggingFaceEmbedding()).weighed(question, said).unread is unread
    assert not Evidence(HashEmbedding()).weighed(question, said).unread  # another embedder may know it


def test_a_word_that_an_answer_need_not_have_need_not_be_met() -> None:
    evidence, said = Evidence(HuggingFaceEmbedding()), quotes("The rent is 950 euros.")
    high, what = (evidence.weighed(question, said).met for question in ("How high is the rent?", "What is the rent?"))
    assert high is not None
    assert what is not None
    assert high == pytest.approx(what, abs=0.1)
