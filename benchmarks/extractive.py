"""How well the extractive reader picks sentences and how well it says "not found".

    python benchmarks/extractive.py             # the figures, for the development and the validation half
    python benchmarks/extractive.py --fit       # fits WEIGHTS, BIAS and THRESHOLD anew on the development half

Reads the question sets in ../shared/data: squad2_500 and clapnq_dev (with questions that have no answer), and, for fitting,
xquad (English, German, Chinese). Passages come from the same simple hybrid retrieval everywhere: BM25 and the bundled embedder,
reciprocal rank fusion, the best six. A question belongs to the half that the hash of its id says.
"""

from __future__ import annotations

import argparse
import json
import re
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ragcore.embeddings.base import Embedder
from ragcore.embeddings.huggingface import HuggingFaceEmbedding
from ragcore.llms import extractive
from ragcore.text import relevance
from ragcore.text.keywords import content_words
from ragcore.text.quotes import Quote, distinct, quotes_in

DATA = Path(__file__).parents[2] / "shared" / "data"
MEASURED = ("squad2_500", "clapnq_dev")
FITTED = (*MEASURED, "xquad/en", "xquad/de", "xquad/zh")
PASSAGES = 6
REFUSED = 0.10  # share of the answerable questions that the threshold may refuse, on the development half


@dataclass(frozen=True)
class Case:
    """A question with the sentences retrieved for it, what was measured of them, and which of them are right."""

    name: str
    id: str
    question: str
    answers: tuple[str, ...]  # none: it cannot be answered
    quotes: list[Quote]
    measured: npt.NDArray[np.float64]  # (sentences, features)
    right: npt.NDArray[np.bool_]  # (sentences,)

    @property
    def development(self) -> bool:
        return zlib.crc32(self.id.encode()) % 2 == 0


def cases(name: str, embedder: Embedder) -> list[Case]:
    folder = DATA / name
    corpus = [json.loads(line) for line in (folder / "corpus.jsonl").read_text("utf-8").splitlines()]
    asked = [json.loads(line) for line in (folder / "qa.jsonl").read_text("utf-8").splitlines()]
    passages = [
        distinct(quotes_in(item["text"], number=at, source=item["title"], passage=at)) for at, item in enumerate(corpus)
    ]
    texts = [quote.text for passage in passages for quote in passage]
    vectors = dict(zip(texts, embedder.embed_passages(texts), strict=True))
    dense = embedder.embed_passages([item["text"] for item in corpus])
    words = [Counter(content_words(item["title"] + " " + item["text"])) for item in corpus]
    found: list[Case] = []
    for item in asked:
        query = embedder.embed_query(item["question"])
        top = fused(bm25(set(content_words(item["question"])), words), dense @ query)[:PASSAGES]
        quotes = [quote for at in top for quote in passages[at]]
        texts = [quote.text for quote in quotes]
        stacked = np.stack([vectors[text] for text in texts])
        measured = relevance.measure(item["question"], query, texts, stacked, [quote.passage for quote in quotes])
        gold = {plain(sentence) for sentences in item.get("gold_sentences", ()) for sentence in sentences}
        right = np.array([plain(quote.text) in gold if gold else holds(quote.text, item["answers"]) for quote in quotes])
        found.append(Case(name, item["id"], item["question"], tuple(item["answers"]), quotes, measured, right))
    return found


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


def plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


def holds(sentence: str, answers: Sequence[str]) -> bool:
    return any((plain(answer) or answer) in (plain(sentence) if plain(answer) else sentence) for answer in answers)


def token_recall(said: str, answers: Sequence[str]) -> float:
    """The best share of an answer's tokens that was said, over the acceptable answers."""
    have = Counter(plain(said).split())
    wanted = [Counter(plain(answer).split()) for answer in answers]
    return max((have & want).total() / max(want.total(), 1) for want in wanted)


def auroc(positive: Sequence[float], negative: Sequence[float]) -> float:
    above = np.subtract.outer(np.array(positive), np.array(negative))
    return float((above > 0).mean() + (above == 0).mean() / 2)


def report(some: Sequence[Case]) -> dict[str, float]:
    answerable = [case for case in some if case.answers]
    chances = {id(case): relevance.probabilities(case.measured) for case in some}
    best = {key: float(chance.max()) for key, chance in chances.items()}
    figures: dict[str, float] = {}
    for label, score in (("BM25", lambda case: case.measured[:, 0]), ("reader", lambda case: chances[id(case)])):
        order = {id(case): np.argsort(-score(case), kind="stable") for case in answerable}
        for count in (1, 3):
            said = {id(case): " ".join(case.quotes[row].text for row in order[id(case)][:count]) for case in answerable}
            figures[f"{label} best {count} holds the answer"] = mean(holds(said[id(c)], c.answers) for c in answerable)
            figures[f"{label} best {count} token recall"] = mean(token_recall(said[id(c)], c.answers) for c in answerable)
    chosen = [[case.quotes[row] for row in extractive.choose(chances[id(case)], case.quotes)] for case in answerable]
    quoted = [" ".join(quote.text for quote in quotes) for quotes in chosen]
    figures["quoted holds the answer"] = mean(holds(text, c.answers) for text, c in zip(quoted, answerable, strict=True))
    figures["quoted token recall"] = mean(token_recall(text, c.answers) for text, c in zip(quoted, answerable, strict=True))
    figures["sentences quoted"] = mean(len(quotes) for quotes in chosen)
    yes, no = [best[id(c)] for c in some if c.answers], [best[id(c)] for c in some if not c.answers]
    figures["answerable refused"] = mean(value < extractive.THRESHOLD for value in yes)
    if no:
        figures["unanswerable refused"] = mean(value < extractive.THRESHOLD for value in no)
        figures["AUROC answerable"] = auroc(yes, no)
    return figures


def mean(values: object) -> float:
    return float(np.mean(list(values)))  # type: ignore[call-overload]


def fit(some: Sequence[Case]) -> None:
    from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]

    development = [case for case in some if case.development]
    rows = np.concatenate([case.measured for case in development])
    right = np.concatenate([case.right for case in development])
    # Every question counts the same in each set, every set the same.
    sizes = Counter(case.name for case in development)
    weight = np.concatenate([np.full(len(case.right), 1 / sizes[case.name] / len(case.right)) for case in development])
    model = LogisticRegression(C=10.0, max_iter=2000).fit(rows, right, weight / weight.mean())
    weights, bias = model.coef_[0], float(model.intercept_[0])
    best = [
        float((1 / (1 + np.exp(-(c.measured @ weights + bias)))).max()) for c in development if c.answers and c.name in MEASURED
    ]
    print("WEIGHTS = (" + ", ".join(f"{value:.3f}" for value in weights) + ")")
    for name, value in zip(relevance.FEATURES, weights, strict=True):
        print(f"  {name:18s} {value:8.3f}")
    print(f"BIAS = {bias:.3f}")
    print(f"THRESHOLD = {np.quantile(best, REFUSED):.3f}")


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


if __name__ == "__main__":
    main()
