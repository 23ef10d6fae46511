"""Search functions of all stores: the nearest rows, the terms of a question, and BM25.

The variant of BM25 (Robertson and Zaragoza 2009, https://doi.org/10.1561/1500000019) and its constants are
those of SQLite's FTS5 (https://sqlite.org/fts5.html#the_bm25_function).
"""

from __future__ import annotations

import hashlib
import math
import unicodedata
from collections import Counter
from collections.abc import Container, Sequence
from functools import cache
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

from ragcore.errors import DimensionError
from ragcore.schema import TextNode, Vector, Vectors
from ragcore.text.keywords import content_words, words
from ragcore.text.word_forms import USUAL
from ragcore.vector_stores.validation import STORED_ROUNDING, unit

if TYPE_CHECKING:
    from ragcore.vector_stores.binary_quantization import Signs

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
Number = TypeVar("Number", float, Array)

# upper bound of the rounding error of a product of two float32 unit vectors, in any order of addition
ROUNDING = 1e-5
BLOCK = 4096  # rows rescored at a time
BLOCK_BYTES = 16 << 20  # of rows multiplied at a time
CANDIDATES = 1000  # rows that `nearest_by_signs` compares exactly
CANDIDATES_EACH = 200  # further ones for each of the `k` results
# standard deviations of differing bits beyond the mean of the nearest; all rows up to that are compared
SURE = 3.0

K1 = 1.2
B = 0.75
LEAST_IDF = 1e-6  # so that a word in half of the passages or more still counts

# A change in the rules of `words` or in Python's character tables changes its words. Stored keyword indexes
# are then rebuilt.
_PROBE = (
    "Ärzte's re-growing up ﬁles, naïve CAFÉ_3.14 don't О́чень كتاب ภาษา 東京都に住む 한국어 x² İstanbul کی ۱۴ "
    "don\u00adau"
)


def unit_query(query: Vector, dimension: int) -> Vector:
    """The query at length 1. DimensionError for another width; ValueError for NaN or infinity."""
    vector = unit(np.asarray(query))
    if vector.shape != (dimension,):
        raise DimensionError(vector.size, dimension)
    return vector


def top_k(scores: Array, k: int) -> Array:
    """The indexes of the `k` highest scores, best first; equal ones in order. -inf never counts."""
    if k <= 0 or not len(scores):
        return np.empty(0, np.intp)
    if k < len(scores):
        least = np.partition(scores, len(scores) - k)[len(scores) - k]
        candidates = np.flatnonzero((scores >= least) & (scores > -np.inf))
    else:
        candidates = np.flatnonzero(scores > -np.inf)
    return candidates[np.argsort(-scores[candidates], kind="stable")[:k]]


@np.errstate(over="ignore", invalid="ignore")  # of rows that are damaged
def nearest(rows: Vectors, query: Vector, k: int, chosen: Array | None = None) -> tuple[Array, Array]:
    """The `k` unit rows with the highest cosine to the unit `query`: their indexes and cosines, best first.

    `chosen` is a mask of the rows to compare, shape (n,). Ties are in order of index. One matrix product
    may round equal rows differently: all near the k-th score are computed again one by one.
    """
    if k <= 0 or not len(rows):
        return np.empty(0, np.intp), np.empty(0)
    if not query.any():  # everything ties
        first = (np.arange(len(rows)) if chosen is None else np.flatnonzero(chosen))[:k]
        return first, np.zeros(len(first))
    candidates = _find_candidates(rows, query, k, chosen)
    wide = query.astype(np.float64)
    exact = np.empty(len(candidates))
    for start in range(0, len(candidates), BLOCK):
        block = candidates[start : start + BLOCK]
        exact[start : start + BLOCK] = _mask_damaged((rows[block].astype(np.float64) * wide).sum(axis=1))
    # float32 has noise after the sixth digit, which must not decide between two equally near rows.
    cosines = np.where(exact > -np.inf, np.clip(np.round(exact, 6), -1.0, 1.0), -np.inf)
    best = top_k(cosines, k)
    return candidates[best], cosines[best]


def nearest_by_signs(
    rows: Vectors, signs: Signs, query: Vector, k: int, chosen: Array | None = None
) -> tuple[Array, Array]:
    """`nearest`, but only among rows whose signs are most like the query's; nearly always the same result.

    Rows without signs are all compared. If the nearest rows are clearly nearer than the others, few rows
    differ from the query in so few bits. If not, as among random directions, these few would miss many; then
    more rows are compared, up to all.
    """
    count = CANDIDATES + CANDIDATES_EACH * k
    if not query.any():
        return nearest(rows, query, k, chosen)
    differing = signs.count_differing_bits(query)
    known = differing if chosen is None else differing[chosen[: len(signs)]]
    if count >= len(known):
        return nearest(rows, query, k, chosen)

    def nearest_within(most: float) -> tuple[Array, Array]:
        mask = np.ones(len(rows), bool) if chosen is None else chosen.copy()
        mask[: len(signs)] &= differing <= most
        return nearest(rows, query, k, mask)

    most = float(np.partition(known, count - 1)[count - 1])
    best = nearest_within(most)
    bits = differing[best[0][best[0] < len(signs)]]
    if len(bits):
        # The bits of rows at one angle differ from the query's in about a binomially distributed number.
        mean = float(bits.mean())
        needed = mean + SURE * math.sqrt(mean * (1 - mean / len(query)))
        if needed > most:
            best = nearest_within(needed)
    return best


def _find_candidates(rows: Vectors, query: Vector, k: int, chosen: Array | None) -> Array:
    """All rows that may be among the `k` nearest, in order. If few are chosen, only these are multiplied."""
    indexes: list[Array] = []
    scores: list[Array] = []
    least = -np.inf  # score of the `k`-th row so far
    step = max(BLOCK_BYTES // (4 * rows.shape[1]), 1)
    for start in range(0, len(rows), step):
        block = rows[start : start + step]
        if chosen is None:
            products = _mask_damaged(block @ query)  # (step, d) @ (d,) -> (step,)
        else:
            inside = np.flatnonzero(chosen[start : start + step])
            products = _mask_damaged(
                block[inside] @ query if 4 * len(inside) < len(block) else (block @ query)[inside]
            )
        if least == -np.inf:
            least = _kth(products, k)
        near = np.flatnonzero(products >= least - ROUNDING)  # excludes most of the later rows
        indexes.append(start + (near if chosen is None else inside[near]))
        scores.append(products[near])
    all_scores = np.concatenate(scores)
    return np.concatenate(indexes)[all_scores >= _kth(all_scores, k) - ROUNDING]


def _mask_damaged(cosines: Array) -> Array:
    """The cosines with impossible values, NaN or far above 1, replaced by -inf, which is never a result."""
    return np.where(np.abs(cosines) <= 1 + STORED_ROUNDING, cosines, -np.inf)


def _kth(scores: Array, k: int) -> float:
    """The k-th highest score; -inf for `k` or fewer scores."""
    return float(np.partition(scores, len(scores) - k)[len(scores) - k]) if k < len(scores) else -np.inf


def mask_of(spans: Sequence[tuple[int, int]], size: int) -> Array:
    """A mask of `size` rows, True for the `count` rows from `first` of each span (first, count)."""
    mask = np.zeros(size, bool)
    for first, count in spans:
        mask[first : first + count] = True
    return mask


def passage_terms(node: TextNode) -> list[str]:
    """The terms of a passage in the keyword index: its words, and those of its document's title and file
    name, so that a question that names the file finds passages without the name."""
    title, name = node.metadata.get("title"), node.metadata.get("file_name")
    return words("\n".join([str(title or ""), PurePath(str(name or "")).stem, node.text]))


def query_terms(query: str) -> list[str]:
    """The different words of a question, without stop words unless it has no others."""
    return list(dict.fromkeys(content_words(query) or words(query)))


@cache
def terms_version() -> str:
    """Changes whenever the same text may give other terms than before."""
    from importlib.metadata import version  # two megabytes of memory, for keywords only

    rules = (
        words(_PROBE),
        USUAL,
        unicodedata.unidata_version,
        version("snowballstemmer"),
        "title, name, text",
        "postings",
    )
    return hashlib.sha256(repr(rules).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def rarity(with_term: int, passages: int) -> float:
    """BM25's weight of a term that n of N passages have: ln((N - n + 0.5) / (n + 0.5)), at least 1e-6."""
    return max(math.log((passages - with_term + 0.5) / (with_term + 0.5)), LEAST_IDF)


def length_norm(lengths: Number, average: float) -> Number:
    """BM25's summand for the length of a passage, in words."""
    return K1 * (1 - B + B * lengths / average)


def term_scores(weight: float, counts: Number, norms: Number) -> Number:
    """BM25's score of a term with this rarity and count in a passage with this length norm."""
    scores: Number = weight * counts * (K1 + 1) / (counts + norms)
    return scores


class KeywordIndex:
    """BM25 in memory; `bm25_index` does the same in a database. Passages are numbered by position."""

    def __init__(self) -> None:
        self._lengths: dict[int, int] = {}
        self._counts: dict[str, dict[int, int]] = {}  # occurrences by term and position
        self._total = 0

    def add(self, position: int, terms: Sequence[str]) -> None:
        self._lengths[position] = len(terms)
        self._total += len(terms)
        for term, count in Counter(terms).items():
            self._counts.setdefault(term, {})[position] = count

    def remove(self, position: int, terms: Sequence[str]) -> None:
        self._total -= self._lengths.pop(position)
        for term in set(terms):
            del self._counts[term][position]
            if not self._counts[term]:
                del self._counts[term]

    def search(
        self, terms: Sequence[str], k: int, positions: Container[int] | None = None
    ) -> list[tuple[int, float]]:
        """The `k` best (position, score) among `positions`, or all; ties by position."""
        if k <= 0 or not self._lengths:
            return []
        average = self._total / len(self._lengths)
        scores: dict[int, float] = {}
        for term in terms:
            postings = self._counts.get(term, {})
            weight = rarity(len(postings), len(self._lengths))
            for position, count in postings.items():
                if positions is None or position in positions:
                    norm = length_norm(self._lengths[position], average)
                    scores[position] = scores.get(position, 0.0) + term_scores(weight, count, norm)
        return sorted(scores.items(), key=lambda hit: (-hit[1], hit[0]))[:k]
