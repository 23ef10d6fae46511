"""How well the sentence check separates what a passage says from what it does not.

    python -m benchmarks.sentence_check             # the figures of the validation half
    python -m benchmarks.sentence_check --fit       # fits weights and limits on the development half

From ../shared/data/clapnq_dev: each sentence of a gold answer is compared with its own passage, which says
it, and with others that do not: a random one, the next best for the question, and its own passage with a
falsified sentence: another number, another name, a "not", or another number or name that stands elsewhere in
the passage. The hash of its id decides about the half of a question.
"""

from __future__ import annotations

import argparse
import random
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from benchmarks.reader import DATA, lines
from ragcore.embeddings.huggingface import HuggingFaceEmbedding
from ragcore.extractive.sentence_support import (
    BIAS,
    FEATURES,
    SUPPORTED,
    WEAK,
    WEIGHTS,
    SentenceCheck,
    claims,
    claims_nothing,
)
from ragcore.text.keywords import content_words

FOLDER = DATA / "clapnq_dev"
RIDGE = 0.002
MAX_DOUBTED = 0.1  # share of true sentences that may be less than supported
MAX_PASSED = 0.05  # share of sentences about another passage that may be weak
RESAMPLES = 1000
KINDS = ("random", "next best", "number", "name", "not", "its number", "its name")


@dataclass(frozen=True)
class Case:
    id: str
    kind: str  # "own", or one of KINDS
    measured: npt.NDArray[np.float64]

    @property
    def odds(self) -> float:
        return float(self.measured @ np.asarray(WEIGHTS) + BIAS)

    @property
    def development(self) -> bool:
        return zlib.crc32(self.id.encode()) % 2 == 0


def cases() -> list[Case]:
    check, lot, second_lot = SentenceCheck(HuggingFaceEmbedding()), random.Random(0), random.Random(2)
    corpus = {item["_id"]: item["text"] for item in lines(FOLDER / "corpus.jsonl")}
    items = [item for item in lines(FOLDER / "qa.jsonl") if item["answers"] and item["doc_ids"]]
    texts, ids = list(corpus.values()), list(corpus)
    terms = [Counter(content_words(text)) for text in texts]
    names = sorted({name for text in texts for name in NAME.findall(text)})
    results: list[Case] = []
    for item in items:
        own = {str(each) for each in item["doc_ids"]}
        passage = "\n\n".join(corpus[each] for each in item["doc_ids"])
        ranked = np.argsort(-bm25(set(content_words(item["question"])), terms), kind="stable")
        next_best = corpus[next(ids[at] for at in ranked if ids[at] not in own)]
        other = corpus[lot.choice([each for each in ids if each not in own])]
        for _, end, claim, _ in claims(item["answers"][0]):
            if claims_nothing(claim, item["answers"][0][end:]):
                continue
            against = [("own", claim, passage), ("random", claim, other), ("next best", claim, next_best)]
            against += [(kind, false, passage) for kind, false in falsify(claim, passage, names, lot)]
            against += [(kind, false, passage) for kind, false in exchange(claim, passage, second_lot)]
            for kind, statement, text in against:
                results.append(Case(item["id"], kind, check.measure(statement, text)))
    return results


def falsify(claim: str, passage: str, names: Sequence[str], lot: random.Random) -> Iterator[tuple[str, str]]:
    """The claim with one thing changed, where it has such a thing."""
    if number := re.search(r"\d+", claim):
        other = str(int(number.group()) + lot.randint(1, 9))
        if other not in passage:
            yield "number", claim[: number.start()] + other + claim[number.end() :]
    if name := NAME.search(claim):
        other = lot.choice([each for each in names if each not in passage])
        yield "name", claim[: name.start()] + other + claim[name.end() :]
    if verb := re.search(r"\b(?:is|are|was|were|has|have|had|can|will|would)\b(?! not)", claim):
        yield "not", claim[: verb.end()] + " not" + claim[verb.end() :]


def exchange(claim: str, passage: str, lot: random.Random) -> Iterator[tuple[str, str]]:
    """The claim with a number or a name of another statement of its passage."""
    for kind, form in (("its number", NUMBER), ("its name", NAME)):
        own = form.search(claim)
        others = [each for each in form.findall(passage) if each not in claim]
        if own and others:
            yield kind, claim[: own.start()] + lot.choice(others) + claim[own.end() :]


NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]{3,}")


def fit(cases_: Sequence[Case]) -> None:
    """Logistic regression. The true sentences have the same weight as all others together."""
    from scipy.optimize import minimize  # type: ignore[import-untyped]

    rows = np.array([case.measured for case in cases_])
    right = np.array([case.kind == "own" for case in cases_])
    sizes = Counter(case.kind for case in cases_)
    share = np.array([(1.0 if case.kind == "own" else PART[case.kind]) / sizes[case.kind] for case in cases_])
    middle, spread = rows.mean(axis=0), rows.std(axis=0)
    scaled = np.column_stack([(rows - middle) / spread, np.ones(len(rows))])
    sign = np.where(right, 1.0, -1.0)

    def loss(weights: npt.NDArray[np.float64]) -> tuple[float, npt.NDArray[np.float64]]:
        margin = sign * (scaled @ weights)
        penalty = RIDGE * np.append(weights[:-1], 0)
        slope = -share * sign / (1 + np.exp(margin))
        return float(share @ np.logaddexp(0, -margin) + penalty @ weights), scaled.T @ slope + 2 * penalty

    solution = minimize(loss, np.zeros(scaled.shape[1]), jac=True, method="L-BFGS-B").x
    weights = solution[:-1] / spread
    bias = float(solution[-1] - weights @ middle)
    odds = rows @ weights + bias
    for name, value in zip(FEATURES, weights, strict=True):
        print(f"{name:18s} {value:8.3f}")
    others = odds[[case.kind in KINDS[:2] for case in cases_]]
    print("WEIGHTS = (" + ", ".join(f"{value:.3f}" for value in weights) + ")")
    print(f"BIAS = {bias:.3f}")
    print(
        f"SUPPORTED, WEAK = {np.quantile(odds[right], MAX_DOUBTED):.2f}, "
        f"{np.quantile(others, 1 - MAX_PASSED):.2f}"
    )


PART = {
    "random": 0.3,
    "next best": 0.3,
    "number": 0.1,
    "name": 0.1,
    "not": 0.1,
    "its number": 0.1,
    "its name": 0.1,
}


def report(some: Sequence[Case]) -> None:
    odds = {kind: np.array([case.odds for case in some if case.kind == kind]) for kind in ("own", *KINDS)}
    print(f"{'':14s} cases   AUC   95% interval  supported  weak  absent")
    for kind in ("own", *KINDS):
        share = [np.mean(odds[kind] >= SUPPORTED), np.mean((odds[kind] < SUPPORTED) & (odds[kind] >= WEAK))]
        share.append(1 - share[0] - share[1])
        shares = "  ".join(f"{each:6.3f}" for each in share)
        if kind == "own":
            print(f"{kind:14s} {len(odds[kind]):5d}                        {shares}")
            continue
        low, high = interval(odds["own"], odds[kind])
        print(
            f"{kind:14s} {len(odds[kind]):5d}  {auroc(odds['own'], odds[kind]):.3f}  {low:.3f} - "
            f"{high:.3f}   {shares}"
        )


def interval(positive: npt.NDArray[np.float64], negative: npt.NDArray[np.float64]) -> tuple[float, float]:
    """The middle 95% of the AUCs of sets drawn anew from these, with replacement (Efron 1979)."""
    random_ = np.random.default_rng(0)
    drawn = [
        auroc(random_.choice(positive, len(positive)), random_.choice(negative, len(negative)))
        for _ in range(RESAMPLES)
    ]
    return float(np.quantile(drawn, 0.025)), float(np.quantile(drawn, 0.975))


def bm25(terms: set[str], documents: Sequence[Counter[str]]) -> npt.NDArray[np.float64]:
    lengths = np.array([words.total() for words in documents])
    scores = np.zeros(len(documents))
    for term in sorted(terms):
        count = np.array([words[term] for words in documents], dtype=np.float64)
        holding = np.count_nonzero(count)
        idf = np.log(1 + (len(documents) - holding + 0.5) / (holding + 0.5))
        scores += idf * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * lengths / lengths.mean()))
    return scores


def auroc(positive: Sequence[float], negative: Sequence[float]) -> float:
    above = np.subtract.outer(np.array(positive), np.array(negative))
    return float((above > 0).mean() + (above == 0).mean() / 2)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--fit", action="store_true", help="fit the weights and the limits")
    all_cases = cases()
    if parser.parse_args().fit:
        fit([case for case in all_cases if case.development])
        return
    report([case for case in all_cases if not case.development])


if __name__ == "__main__":
    main()
