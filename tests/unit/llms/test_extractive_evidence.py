from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ragcore.embeddings.base import Tokens
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.llms.evidence import Evidence
from ragcore.text.quotes import Quote

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

    def _tokens(self, text: str) -> Tokens:
        words = list(re.finditer(r"\w+", text))
        rows = super().embed_passages([word.group() for word in words])
        return Tokens(text, [word.span() for word in words], rows)


def quotes(*texts: str) -> list[Quote]:
    return [Quote(text, (), passage, "") for passage, text in enumerate(texts)]


def test_words_that_no_sentence_meets_speak_against_an_answer() -> None:
    evidence = Evidence(WordRows())
    answering = evidence.weighed(QUESTION, quotes("The Lisbon office opened in March 1998.")).margin(-1.06)
    another = evidence.weighed(QUESTION, quotes("The Porto office opened in March 1998."))
    assert answering > 0 > another.margin(-1.06)
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
    assert weighed.margin(-1.06) == pytest.approx(weighed.odds().max() + 1.06)


def test_of_no_sentences_nothing_answers() -> None:
    weighed = Evidence(HashEmbedding()).weighed(QUESTION, [])
    assert weighed.margin(-1.06) == -np.inf
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
