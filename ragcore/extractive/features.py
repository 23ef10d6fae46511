"""What is measured of each sentence that may answer a question: six numbers, of which `weights` makes log odds.

Words are compared by late interaction (ColBERT, Khattab and Zaharia 2020, https://arxiv.org/abs/2004.12832): each word of the
question looks for the word nearest to it in the sentence and in the heading above it. An embedder without vectors of words
compares stems instead.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ragcore.extractive.follow_up import without_carried
from ragcore.extractive.languages.quantities import lacks_number
from ragcore.extractive.sentence_vectors import SentenceVectors
from ragcore.extractive.word_vectors import mean_cosine
from ragcore.text.keywords import content_words
from ragcore.text.quotable_sentences import Quote, introduces_list

if TYPE_CHECKING:
    import numpy.typing as npt

FEATURES = (
    "cosine",  # of the sentence, with its heading, to the question; 0 is that of texts about different things
    "word_similarity",  # the mean, over the question's words by their idf, of the nearest word's cosine; 0 is that of any two
    "least_word_similarity",  # that of the question's word that has none near it
    "relevance",  # the retriever's score of its passage, as a share of the best passage's; 1 where it gives none
    "is_fragment",  # 1 for what says nothing by itself: a heading, a letterhead, "Summary:" without a list
    "lacks_number",  # 1 where a number, a date or a time is asked for, and the sentence, with its list, adds none
)

EMBEDDED = 1200  # characters of one question's sentences, with those that stand for each sentence's own cost
EACH = 20  # characters that embedding a sentence costs beside its own
FEWEST = 4  # sentences, however long
PRESELECTION = (14.7, 6.8, 7.7, -1.05)  # fitted weights of what `likely` measures
CARRIED = 0.3  # weight of a word that a follow-up carries in brackets at its end, where a typed one has 1
NAMED = 0.6  # similarity of a word that the name of the sentence's document has
ELSEWHERE = 50  # texts without any of the question's words, see `_idf`


def measure(
    question: str, quotes: Sequence[Quote], relevance: Sequence[float], vectors: SentenceVectors
) -> tuple[list[int], npt.NDArray[np.float64]]:
    """The rows of the quotes that are likeliest to answer, in order, and their FEATURES, (rows, len(FEATURES)). `relevance`:
    that of each quote's passage, 0 to 1."""
    if not quotes:
        return [], np.zeros((0, len(FEATURES)))
    shares = np.array(relevance)
    fragments = np.array([float(is_fragment(quote)) for quote in quotes])
    rows = likely(question, quotes, shares, fragments, vectors)
    texts = [quotes[row].read_with_lead for row in rows]
    asked, *said = vectors.words([question, *texts])
    similarities = np.array([asked.nearest(words) for words in said]).reshape(len(rows), -1)  # (rows, words)
    if vectors.is_multilingual:  # of which words of one language are nearer to each other, whatever they mean
        unrelated = mean_cosine(asked, said)
        similarities = (similarities - unrelated) / (1 - unrelated)
    similarities = np.maximum(similarities, NAMED * _in_name(asked.stems, [quotes[row] for row in rows]))
    weights = word_weights(question, asked.stems, quotes)
    least = similarities.min(axis=1) if asked.stems else np.zeros(len(rows))
    lacking = [lacks_number(question, quotes[row].with_list) for row in rows]
    return rows, np.column_stack(
        [vectors.closeness(question, texts), similarities @ weights, least, shares[rows], fragments[rows], lacking]
    )


def likely(
    question: str,
    quotes: Sequence[Quote],
    shares: npt.NDArray[np.float64],
    fragments: npt.NDArray[np.float64],
    vectors: SentenceVectors,
) -> list[int]:
    """The rows of the quotes that are likeliest to answer, in order, EMBEDDED characters together.

    They are chosen by the vectors that words have out of context: the question's words in the sentence, how many more are met
    with the sentence before it, the passage's score, and whether it is a fragment.
    """
    lengths = np.array([len(quote.read_with_lead) + EACH for quote in quotes])
    if lengths.sum() <= EMBEDDED:
        return list(range(len(quotes)))
    asked, *said = vectors.static_words([question, *(quote.read_with_lead for quote in quotes)])
    similarities = np.array([asked.nearest(words) for words in said]).reshape(len(quotes), -1)
    follows = np.array([False, *(one.passage == before.passage for before, one in itertools.pairwise(quotes))])
    before = np.where(follows[:, None], np.roll(similarities, 1, axis=0), 0)  # (n, words)
    weights = word_weights(question, asked.stems, quotes)
    found, added = similarities @ weights, np.maximum(before - similarities, 0) @ weights
    order = np.argsort(-(np.column_stack([found, added, shares, fragments]) @ np.array(PRESELECTION)), kind="stable")
    most = max(int((lengths[order].cumsum() <= EMBEDDED).sum()), FEWEST)
    return sorted(order[:most].tolist())


def word_weights(question: str, stems: Sequence[str], quotes: Sequence[Quote]) -> npt.NDArray[np.float64]:
    """(words,): the share of each of the question's words by its idf among the quotes; they sum to 1, if there are any."""
    idf = _idf(stems, [set(content_words(quote.read_with_lead)) for quote in quotes])
    if (typed := without_carried(question)) != question:
        own = set(content_words(typed))
        idf *= [1.0 if stem in own else CARRIED for stem in stems]
    return np.asarray(idf / max(float(idf.sum()), 1e-9), dtype=np.float64)


def _in_name(stems: Sequence[str], quotes: Sequence[Quote]) -> npt.NDArray[np.float64]:
    """(n, words): 1 where the name of the quote's document has the word."""
    names = {document: set(content_words(_NO_WORD.sub(" ", document))) for document in {quote.document for quote in quotes}}
    holds = [[stem in names[quote.document] for stem in stems] for quote in quotes]
    return np.array(holds, dtype=np.float64).reshape(len(quotes), len(stems))


def _idf(stems: Sequence[str], said: Sequence[Collection[str]]) -> npt.NDArray[np.float64]:
    """(words,). The texts were found by these words, so what the question is about is common among them; it must not count
    for nothing, nor for less where fewer were found: as many again, at most ELSEWHERE, are counted without any of the words."""
    holding = np.array([sum(stem in words for words in said) for stem in stems], dtype=np.float64)
    without = len(said) - holding + min(len(said), ELSEWHERE)
    return np.asarray(1 + np.log(1 + (without + 0.5) / (holding + 0.5)), dtype=np.float64)


def is_fragment(quote: Quote) -> bool:
    introduces_nothing = introduces_list(quote.text) and not quote.introduces
    says_something = _SENTENCE_END.search(quote.text) or quote.is_row or quote.introduces or introduces_list(quote.lead)
    return introduces_nothing or not says_something or is_heading(quote)


def is_heading(quote: Quote) -> bool:
    """Whether each of several words begins with a capital or is a number, as in a letterhead, and it is no row of a table."""
    words = quote.text.split()
    begun = [word[0] for word in words if word[0].isalnum()]
    capitals = len(words) > 2 and quote.text != quote.text.lower() and all(char.isupper() or char.isdigit() for char in begun)
    return capitals and not quote.is_row


_NO_WORD = re.compile(r"[\W_]+")
_SENTENCE_END = re.compile(r"[.!?…。！？؟।:;][\"'”’»)\]\s]*$")
