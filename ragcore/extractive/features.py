"""Six features of each sentence that may answer a question, which `weights` turns into log odds.

Words are compared by late interaction (ColBERT, Khattab and Zaharia 2020, https://arxiv.org/abs/2004.12832):
each word of the question is compared to the nearest word of the sentence and of the heading above it. With an
embedder without word vectors, stems are compared instead.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Sequence

import numpy as np
import numpy.typing as npt

from ragcore.extractive.follow_up import remove_topic
from ragcore.extractive.languages.quantities import lacks_number
from ragcore.extractive.sentence_vectors import SentenceVectors, mean_cosine
from ragcore.text.keywords import content_words
from ragcore.text.quotable_sentences import Quote, introduces_list

FEATURES = (
    "cosine",  # of the sentence, with its heading, to the question; 0 for unrelated texts
    # mean cosine of the nearest words to the question's, weighted by idf; 0 for any two words
    "word_similarity",
    "least_word_similarity",  # the least of these cosines
    "relevance",  # the retriever's score of its passage, as a share of the best score; 1 if there is none
    "is_fragment",  # 1 for a heading, a letterhead, "Summary:" without a list
    # 1 if the question asks for a number, a date or a time, and the sentence, with its list, adds none
    "lacks_number",
)

# characters of the sentences that are embedded for a question; each sentence counts COST_PER_SENTENCE more
MAX_EMBEDDED = 1200
COST_PER_SENTENCE = 20  # characters, which take as long as the fixed cost of embedding a sentence
MIN_EMBEDDED = 4  # minimum number of sentences that are embedded, of any length
PRESELECTION = (14.7, 6.8, 7.7, -1.05, -1.0)  # weights of the features in `preselect`, the first four fitted
TOPIC_WEIGHT = 0.3  # weight of a word in the brackets of a follow-up; a typed word has 1
NAME_SIMILARITY = 0.6  # similarity of a word that is in the name of the sentence's document
MAX_OTHER_TEXTS = 50  # texts without any of the question's words, see `_idf`


def measure(
    question: str, quotes: Sequence[Quote], relevance: Sequence[float], vectors: SentenceVectors
) -> tuple[list[int], npt.NDArray[np.float64]]:
    """The rows of the quotes that are likeliest to answer, in order, and their FEATURES, (rows,
    len(FEATURES)). `relevance`: of the passage of each quote, 0 to 1."""
    if not quotes:
        return [], np.zeros((0, len(FEATURES)))
    shares = np.array(relevance)
    fragments = np.array([float(is_fragment(quote)) for quote in quotes])
    rows = preselect(question, quotes, shares, fragments, vectors)
    texts = [quotes[row].read_with_lead for row in rows]
    own, *others = vectors.words([question, *texts])
    similarities = np.array([own.nearest(words) for words in others]).reshape(len(rows), -1)  # (rows, words)
    if vectors.is_multilingual:  # such an embedder puts all words of a language close together
        unrelated = mean_cosine(own, others)
        similarities = (similarities - unrelated) / (1 - unrelated)
    similarities = np.maximum(
        similarities, NAME_SIMILARITY * _in_name(own.stems, [quotes[row] for row in rows])
    )
    weights = word_weights(question, own.stems, quotes)
    least = similarities.min(axis=1) if own.stems else np.zeros(len(rows))
    lacking = [lacks_number(question, quotes[row].with_list) for row in rows]
    return rows, np.column_stack(
        [
            vectors.closeness(question, texts),
            similarities @ weights,
            least,
            shares[rows],
            fragments[rows],
            lacking,
        ]
    )


def preselect(
    question: str,
    quotes: Sequence[Quote],
    shares: npt.NDArray[np.float64],
    fragments: npt.NDArray[np.float64],
    vectors: SentenceVectors,
) -> list[int]:
    """The rows of the quotes that are likeliest to answer, in order, up to MAX_EMBEDDED characters.

    They are chosen by static word vectors: the question's words in the sentence, those that only the sentence
    before it has, the score of the passage, and whether it is a fragment or lacks the number that the
    question asks for.
    """
    lengths = np.array([len(quote.read_with_lead) + COST_PER_SENTENCE for quote in quotes])
    if lengths.sum() <= MAX_EMBEDDED:
        return list(range(len(quotes)))
    own, *others = vectors.static_words([question, *(quote.read_with_lead for quote in quotes)])
    similarities = np.array([own.nearest(words) for words in others]).reshape(len(quotes), -1)
    follows = np.array(
        [False, *(one.passage == before.passage for before, one in itertools.pairwise(quotes))]
    )
    before = np.where(follows[:, None], np.roll(similarities, 1, axis=0), 0)  # (n, words)
    weights = word_weights(question, own.stems, quotes)
    in_sentence, added = similarities @ weights, np.maximum(before - similarities, 0) @ weights
    lacking = [lacks_number(question, quote.with_list) for quote in quotes]
    measured = np.column_stack([in_sentence, added, shares, fragments, lacking])
    order = np.argsort(-(measured @ np.array(PRESELECTION)), kind="stable")
    most = max(int((lengths[order].cumsum() <= MAX_EMBEDDED).sum()), MIN_EMBEDDED)
    return sorted(order[:most].tolist())


def word_weights(question: str, stems: Sequence[str], quotes: Sequence[Quote]) -> npt.NDArray[np.float64]:
    """(words,): the weight of each word of the question by its idf among the quotes; their sum is 1."""
    idf = _idf(stems, [set(content_words(quote.read_with_lead)) for quote in quotes])
    if (typed := remove_topic(question)) != question:
        own = set(content_words(typed))
        idf *= [1.0 if stem in own else TOPIC_WEIGHT for stem in stems]
    return np.asarray(idf / max(float(idf.sum()), 1e-9), dtype=np.float64)


def _in_name(stems: Sequence[str], quotes: Sequence[Quote]) -> npt.NDArray[np.float64]:
    """(n, words): 1 if the name of the quote's document has the word."""
    names = {
        document: set(content_words(_NO_WORD.sub(" ", document)))
        for document in {quote.document for quote in quotes}
    }
    has_word = [[stem in names[quote.document] for stem in stems] for quote in quotes]
    return np.array(has_word, dtype=np.float64).reshape(len(quotes), len(stems))


def _idf(stems: Sequence[str], texts: Sequence[Collection[str]]) -> npt.NDArray[np.float64]:
    """(words,). The texts were retrieved by these words, so most of them have the words of its topic. To give
    these some weight, the same number of texts without them is added, at most MAX_OTHER_TEXTS."""
    with_word = np.array([sum(stem in words for words in texts) for stem in stems], dtype=np.float64)
    without = len(texts) - with_word + min(len(texts), MAX_OTHER_TEXTS)
    return np.asarray(1 + np.log(1 + (without + 0.5) / (with_word + 0.5)), dtype=np.float64)


def is_fragment(quote: Quote) -> bool:
    introduces_nothing = introduces_list(quote.text) and not quote.introduces
    says_something = (
        _SENTENCE_END.search(quote.text) or quote.is_row or quote.introduces or introduces_list(quote.lead)
    )
    return introduces_nothing or not says_something or _is_letterhead(quote)


def _is_letterhead(quote: Quote) -> bool:
    """Whether each of several words begins with a capital or is a number, but not in a row of a table."""
    words = quote.text.split()
    initials = [word[0] for word in words if word[0].isalnum()]
    is_capitalised = quote.text != quote.text.lower() and all(
        char.isupper() or char.isdigit() for char in initials
    )
    return len(words) > 2 and is_capitalised and not quote.is_row


_NO_WORD = re.compile(r"[\W_]+")
_SENTENCE_END = re.compile(r"[.!?…。！？؟।:;][\"'”’»)\]\s]*$")
