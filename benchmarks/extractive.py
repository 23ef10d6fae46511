"""How well the extractive reader picks sentences and how well it says "not found".

    python -m benchmarks.extractive             # the figures, for the development and the validation half
    python -m benchmarks.extractive --fit       # fits WEIGHTS, BIAS and THRESHOLD anew on the development half

Reads the question sets in ../shared/data: squad2_500 and clapnq_dev (with questions that have no answer), and, for fitting,
xquad (English, German, Chinese). Passages come from the same simple hybrid retrieval everywhere: BM25 and the bundled embedder,
reciprocal rank fusion, the best six. A question belongs to the half that the hash of its id says.
"""

from __future__ import annotations

import argparse
import json
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ragcore.embeddings.base import Embedder
from ragcore.embeddings.huggingface import HuggingFaceEmbedding
from ragcore.evaluation.said import holds, plain, token_recall
from ragcore.llms import extractive
from ragcore.text import relevance
from ragcore.text.keywords import content_words
from ragcore.text.quotes import Quote, distinct, quotes_in

DATA = Path(__file__).parents[2] / "shared" / "data"
MEASURED = ("squad2_500", "clapnq_dev")
FITTED = (*MEASURED, "xquad/en", "xquad/de", "xquad/zh")
PASSAGES = 6
RIDGE = 0.001
REFUSED = 0.08  # share of the answerable questions that the threshold may refuse, on the development half


@dataclass(frozen=True)
class Case:
    """A question with the sentences retrieved for it, what was measured of them, and which of them are right."""

    name: str
    id: str
    question: str
    answers: tuple[str, ...]  # none: it cannot be answered
    quotes: list[Quote]
    measured: npt.NDArray[np.float64]  # (sentences, features)
    word_match: npt.NDArray[np.float64]  # (sentences,), BM25 among them, to compare with
    right: npt.NDArray[np.bool_]  # (sentences,)

    @property
    def development(self) -> bool:
        return zlib.crc32(self.id.encode()) % 2 == 0

    def said(self, rows: Iterable[int]) -> str:
        return " ".join(self.quotes[row].text for row in rows)


def cases(name: str, embedder: Embedder, *, corpus_of: str = "") -> list[Case]:
    """`corpus_of`: the questions are put to the documents of another set, where nothing answers them."""
    corpus = lines(DATA / (corpus_of or name) / "corpus.jsonl")
    asked = [item | ({"answers": [], "gold_sentences": []} if corpus_of else {}) for item in lines(DATA / name / "qa.jsonl")]
    passages = [
        distinct(quotes_in(item["text"], number=at, source=item["title"], passage=at)) for at, item in enumerate(corpus)
    ]
    texts = [quote.read_with_lead for passage in passages for quote in passage]
    vectors = dict(zip(texts, embedder.embed_passages(texts), strict=True))
    dense = embedder.embed_passages([item["text"] for item in corpus])
    words = [Counter(content_words(item["title"] + " " + item["text"])) for item in corpus]
    floor = relevance.unrelated_cosine(embedder.embed_passages(relevance.UNRELATED))
    found: list[Case] = []
    for item in asked:
        query = embedder.embed_query(item["question"])
        top = fused(bm25(set(content_words(item["question"])), words), dense @ query)[:PASSAGES]
        quotes = [quote for at in top for quote in passages[at]]
        stacked = np.stack([vectors[quote.read_with_lead] for quote in quotes])
        measured = relevance.measure(item["question"], query, quotes, stacked, floor=floor)
        gold = {plain(sentence) for sentences in item.get("gold_sentences", ()) for sentence in sentences}
        right = np.array([plain(quote.text) in gold if gold else holds(quote.text, item["answers"]) for quote in quotes])
        word_match = bm25(set(content_words(item["question"])), [Counter(content_words(quote.text)) for quote in quotes])
        found.append(Case(name, item["id"], item["question"], tuple(item["answers"]), quotes, measured, word_match, right))
    return found


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def bm25(asked: set[str], documents: Sequence[Counter[str]]) -> npt.NDArray[np.float64]:
    lengths = np.array([words.total() for words in documents])
    scores = np.zeros(len(documents))
    for term in sorted(asked):
        count = np.array([words[term] for words in documents], dtype=np.float64)
        holding = np.count_nonzero(count)
        idf = np.log(1 + (len(documents) - holding + 0.5) / (holding + 0.5))
        scores += idf * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * lengths / lengths.mean()))
    return scores


def fused(*scores: npt.NDArray[np.floating]) -> list[int]:
    """Reciprocal rank fusion with the usual 60."""
    total = np.zeros(len(scores[0]))
    for score in scores:
        total[np.argsort(-score, kind="stable")] += 1 / (60 + np.arange(1, len(score) + 1))
    return [int(row) for row in np.argsort(-total, kind="stable")]


def auroc(positive: Sequence[float], negative: Sequence[float]) -> float:
    above = np.subtract.outer(np.array(positive), np.array(negative))
    return float((above > 0).mean() + (above == 0).mean() / 2)


def report(some: Sequence[Case]) -> dict[str, float]:
    odds = {case.id: relevance.log_odds(case.measured) for case in some}
    answerable = [case for case in some if case.answers]
    figures: dict[str, float] = {}
    for label, scores in (("BM25", {case.id: case.word_match for case in some}), ("reader", odds)):
        for count in (1, 3):
            said = [case.said(np.argsort(-scores[case.id], kind="stable")[:count]) for case in answerable]
            figures |= quality(f"{label}, best {count}", said, answerable)
    chosen = [extractive.choose(case.question, odds[case.id], case.quotes) for case in answerable]
    figures |= quality(
        "reader, as quoted", [case.said(rows) for case, rows in zip(answerable, chosen, strict=True)], answerable
    )
    figures["sentences quoted"] = float(np.mean([len(rows) for rows in chosen]))
    yes = [float(odds[case.id].max()) for case in some if case.answers]
    no = [float(odds[case.id].max()) for case in some if not case.answers]
    figures["answerable refused"] = float(np.mean(np.array(yes) < extractive.THRESHOLD))
    figures["unanswerable refused"] = float(np.mean(np.array(no) < extractive.THRESHOLD))
    figures["AUROC of answerable"] = auroc(yes, no)
    return figures


def quality(label: str, said: Sequence[str], asked: Sequence[Case]) -> dict[str, float]:
    pairs = [(text, case.answers) for text, case in zip(said, asked, strict=True)]
    return {
        f"{label}: holds the answer": float(np.mean([holds(*pair) for pair in pairs])),
        f"{label}: token recall": float(np.mean([token_recall(*pair) for pair in pairs])),
    }


def fit(some: Sequence[Case]) -> None:
    """Conditional logit with "none of them" as one more choice, every question set weighing the same."""
    from scipy.optimize import minimize  # type: ignore[import-untyped]

    asked = [case for case in some if case.development and (case.right.any() or not case.answers)]
    sizes = Counter(case.name for case in asked)
    share = np.array([1 / sizes[case.name] / len(sizes) for case in asked])
    rows = np.concatenate([case.measured for case in asked])
    right = np.concatenate([case.right for case in asked])
    middle, spread = rows.mean(axis=0), rows.std(axis=0)
    rows = np.column_stack([(rows - middle) / spread, np.ones(len(rows))])
    starts = np.cumsum([0, *[len(case.right) for case in asked[:-1]]])
    question = np.repeat(np.arange(len(asked)), [len(case.right) for case in asked])
    answered = np.logical_or.reduceat(right, starts)

    def loss(weights: npt.NDArray[np.float64]) -> tuple[float, npt.NDArray[np.float64]]:
        odds = np.exp(rows @ weights)
        everything = 1 + np.add.reduceat(odds, starts)
        wanted = np.where(answered, np.add.reduceat(odds * right, starts), 1)
        slope = share[question] * odds * (1 / everything[question] - right / wanted[question])
        penalty = RIDGE * np.append(weights[:-1], 0)
        return float(share @ np.log(everything / wanted) + penalty @ weights), rows.T @ slope + 2 * penalty

    found = minimize(loss, np.zeros(rows.shape[1]), jac=True, method="L-BFGS-B").x
    weights = found[:-1] / spread
    bias = float(found[-1] - weights @ middle)
    best = [float((case.measured @ weights + bias).max()) for case in asked if case.answers and case.name in MEASURED]
    for name, value in zip(relevance.FEATURES, weights, strict=True):
        print(f"{name:18s} {value:8.3f}")
    print("WEIGHTS = (" + ", ".join(f"{value:.3f}" for value in weights) + ")")
    print(f"BIAS = {bias:.3f}")
    print(f"THRESHOLD = {np.quantile(best, REFUSED):.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fit", action="store_true", help="fit the weights and the threshold")
    fitting = parser.parse_args().fit
    embedder = HuggingFaceEmbedding()
    if fitting:
        fit([case for name in FITTED for case in cases(name, embedder)])
        return
    for name in MEASURED:
        found = cases(name, embedder)
        halves = [report([case for case in found if case.development is half]) for half in (True, False)]
        print(f"{name:44s} development  validation")
        for line in halves[0]:
            print(f"  {line:42s} {halves[0][line]:11.3f} {halves[1][line]:11.3f}")
    print("questions put to documents about other things")
    for name, other in (MEASURED, MEASURED[::-1]):
        best = [relevance.log_odds(case.measured).max() for case in cases(name, embedder, corpus_of=other)]
        print(f"  {name} to {other}: refused {np.mean(np.array(best) < extractive.THRESHOLD):26.3f}")


if __name__ == "__main__":
    main()
