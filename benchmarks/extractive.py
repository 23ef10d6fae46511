"""How well the extractive reader picks sentences and how well it says "not found".

    python -m benchmarks.extractive             # the figures, for the development and the validation half
    python -m benchmarks.extractive --fit       # fits SURE_WEIGHTS and SURE_BIAS anew on the development half
    python -m benchmarks.extractive --fit-order # fits WEIGHTS and BIAS anew, which order the sentences
    python -m benchmarks.extractive --foreign   # how well "not found" is said in other languages than English
    python -m benchmarks.extractive --foreign --fit # fits FOREIGN_WEIGHTS, _BIAS and _THRESHOLD anew

Reads the question sets in ../shared/data: squad2_500, clapnq_dev and azure_northwind (with questions that have no answer), and,
for fitting, xquad. Passages are those that the application finds with its default settings, and a question belongs to the half
that `lectern eval --part` says.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import platformdirs

from benchmarks.datasets.data_set import read_data_set
from benchmarks.datasets.index import indexed
from benchmarks.datasets.settings import setting_of
from benchmarks.datasets.token_overlap import token_recall
from lectern.ask.pipeline import plan_retrieval
from ragcore.embeddings.huggingface import HuggingFaceEmbedding
from ragcore.evaluation.answer_match import holds, plain
from ragcore.extractive import answer_ranking, answerer
from ragcore.extractive.evidence import Evidence, Weighed
from ragcore.response_synthesizers.synthesizer import passages_from
from ragcore.text.keywords import content_words
from ragcore.text.quotable_sentences import Quote, distinct, quotes_in

DATA = Path(__file__).parents[2] / "shared" / "data"
WORK = Path(platformdirs.user_cache_dir("lectern", appauthor=False)) / "eval"
MEASURED = ("squad2_500", "clapnq_dev", "azure_northwind")
ORDERED = ("squad2_500", "clapnq_dev", "xquad/en", "xquad/de", "xquad/zh")
SURE = (*MEASURED, "xquad/en")
FOREIGN = ("xquad/de", "xquad/zh", "xquad/ar")
RIDGE = 0.002
REFUSED = 0.09  # share of the answerable questions of a set that may be refused; of both halves, as one has too few


@dataclass(frozen=True)
class Case:
    """A question with the sentences that are found for it, what was measured of those that are weighed, and which are right."""

    name: str
    id: str
    question: str
    answers: tuple[str, ...]  # none: it cannot be answered
    development: bool
    quotes: list[Quote]
    weighed: Weighed
    word_match: npt.NDArray[np.float64]  # (quotes,), BM25 among them, to compare with
    right: npt.NDArray[np.bool_]  # (quotes,)

    def said(self, rows: Iterable[int]) -> str:
        return " ".join(self.quotes[row].text for row in rows)

    def with_words(self) -> npt.NDArray[np.float64]:
        """(weighed, features + 1)"""
        assert self.weighed.met is not None
        return np.column_stack([self.weighed.measured, self.weighed.met])


def cases(name: str, evidence: Evidence, work: Path, *, corpus_of: str = "", without_own: bool = False) -> list[Case]:
    """What the application finds. `corpus_of`: the questions are put to the documents of another set, where nothing answers;
    `without_own`: to those of their set that do not answer them."""
    setting, data_set = setting_of("default"), read_data_set(DATA / name)
    gold = {str(item["id"]): item.get("gold_sentences", ()) for item in lines(DATA / name / "qa.jsonl")}
    found: list[Case] = []
    with indexed(read_data_set(DATA / (corpus_of or name)), setting, work, print, evidence.embedder) as opened:
        for trial in data_set.trials:
            question = trial.question.text
            others = tuple(text.id for text in data_set.texts if not trial.grades.get(text.id)) if without_own else None
            how = plan_retrieval(
                replace(setting.ask, question=question, file_ids=others), opened.library.store, evidence.embedder
            )
            passages = passages_from(how.passages(question))
            quotes = distinct(quote for at, each in enumerate(passages) for quote in quotes_in(each.text, number=1, passage=at))
            if not quotes:
                continue
            wanted = {plain(sentence) for sentences in gold[trial.question.id] for sentence in sentences}
            answers = () if corpus_of or without_own else tuple(trial.question.answers)
            right = [bool(answers) and (plain(q.text) in wanted if wanted else holds(q.text, answers)) for q in quotes]
            words = bm25(set(content_words(question)), [Counter(content_words(quote.text)) for quote in quotes])
            weighed, development = evidence.answering(question, quotes), trial.part == "development"
            id_ = trial.question.id + " without its own" * without_own  # asked twice, it has two
            found.append(Case(name, id_, question, answers, development, quotes, weighed, words, np.array(right)))
    return found


def foreign(evidence: Evidence, work: Path) -> list[Case]:
    """Questions that are put to all documents, and to all but their own, which have other paragraphs of the same article."""
    return [case for name in FOREIGN for without in (False, True) for case in cases(name, evidence, work, without_own=without)]


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


def auroc(positive: Sequence[float], negative: Sequence[float]) -> float:
    above = np.subtract.outer(np.array(positive), np.array(negative))
    return float((above > 0).mean() + (above == 0).mean() / 2)


def report(some: Sequence[Case]) -> dict[str, float]:
    odds = {case.id: case.weighed.odds() for case in some}
    sure = {case.id: case.weighed.margin(answerer.THRESHOLD) for case in some}
    answerable = [case for case in some if case.answers]
    figures: dict[str, float] = {}
    for label, scores in (("BM25", {case.id: case.word_match for case in some}), ("reader", odds)):
        for count in (1, 3):
            said = [case.said(np.argsort(-scores[case.id], kind="stable")[:count]) for case in answerable]
            figures |= quality(f"{label}, best {count}", said, answerable)
    chosen = [answerer.choose(case.question, odds[case.id], case.quotes) for case in answerable]
    figures |= quality(
        "reader, as quoted", [case.said(rows) for case, rows in zip(answerable, chosen, strict=True)], answerable
    )
    figures["sentences quoted"] = float(np.mean([len(rows) for rows in chosen]))
    yes = [sure[case.id] for case in some if case.answers]
    no = [sure[case.id] for case in some if not case.answers]
    figures["answerable refused"] = float(np.mean(np.array(yes) < 0))
    figures["unanswerable refused"] = float(np.mean(np.array(no) < 0))
    figures["AUROC of answerable"] = auroc(yes, no)
    return figures


def quality(label: str, said: Sequence[str], asked: Sequence[Case]) -> dict[str, float]:
    pairs = [(text, case.answers) for text, case in zip(said, asked, strict=True)]
    return {
        f"{label}: holds the answer": float(np.mean([holds(*pair) for pair in pairs])),
        f"{label}: token recall": float(np.mean([token_recall(*pair) for pair in pairs])),
    }


def order(some: Sequence[Case]) -> None:
    """WEIGHTS and BIAS."""
    asked = [case for case in some if case.development and (case.right[case.weighed.rows].any() or not case.answers)]
    weights, bias = fit(asked, [case.weighed.measured for case in asked], [case.right[case.weighed.rows] for case in asked])
    told("WEIGHTS", "BIAS", weights, bias)


def sure(some: Sequence[Case]) -> None:
    """SURE_WEIGHTS and SURE_BIAS. The answers of azure_northwind are told in other words: there any sentence may be right."""
    some = [case for case in some if case.weighed.met is not None]
    asked, right = [], []
    for case in [case for case in some if case.development]:
        known = case.right[case.weighed.rows]
        if case.answers and case.name == "azure_northwind":
            known = np.ones(len(known), np.bool_)
        if known.any() or not case.answers:
            asked.append(case)
            right.append(known)
    weights, bias = fit(asked, [case.with_words() for case in asked], right)
    limits = []
    for name in MEASURED:
        best = [case.with_words() @ weights for case in some if case.name == name and case.answers]
        limits.append(float(np.quantile([scores.max() for scores in best], REFUSED)))
    told("SURE_WEIGHTS", "SURE_BIAS", weights, -min(limits))
    print(f"as fitted, before the limit: {bias:.3f}")


def sure_foreign(some: Sequence[Case]) -> None:
    """FOREIGN_WEIGHTS, FOREIGN_BIAS and FOREIGN_THRESHOLD."""
    some = [case for case in some if case.development and case.weighed.foreign]
    asked = [case for case in some if not case.answers or case.right[case.weighed.rows].any()]
    weights, bias = fit(asked, [case.weighed.measured for case in asked], [case.right[case.weighed.rows] for case in asked])
    limits = []
    for name in FOREIGN:
        best = [(case.weighed.measured @ weights).max() for case in some if case.name == name and case.answers]
        limits.append(float(np.quantile(best, REFUSED)))
    told("FOREIGN_WEIGHTS", "FOREIGN_BIAS", weights, bias)
    print(f"FOREIGN_THRESHOLD = {min(limits) + bias:.3f}")


def told(weights_name: str, bias_name: str, weights: npt.NDArray[np.float64], bias: float) -> None:
    for name, value in zip((*answer_ranking.FEATURES, "met words"), weights, strict=False):
        print(f"{name:18s} {value:8.3f}")
    print(f"{weights_name} = (" + ", ".join(f"{value:.3f}" for value in weights) + ")")
    print(f"{bias_name} = {bias:.3f}")


def fit(
    asked: Sequence[Case], measured: Sequence[npt.NDArray[np.float64]], rights: Sequence[npt.NDArray[np.bool_]]
) -> tuple[npt.NDArray[np.float64], float]:
    """A conditional logit with "none of them" as one more choice, every question set weighing the same."""
    from scipy.optimize import minimize  # type: ignore[import-untyped]

    sizes = Counter(case.name for case in asked)
    share = np.array([1 / sizes[case.name] / len(sizes) for case in asked])
    rows, right = np.concatenate(measured), np.concatenate(rights)
    middle, spread = rows.mean(axis=0), rows.std(axis=0)
    rows = np.column_stack([(rows - middle) / spread, np.ones(len(rows))])
    starts = np.cumsum([0, *[len(each) for each in rights[:-1]]])
    question = np.repeat(np.arange(len(asked)), [len(each) for each in rights])
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
    return weights, float(found[-1] - weights @ middle)


def table(name: str, halves: Sequence[dict[str, float]]) -> None:
    print(f"{name:44s} development  validation")
    for line in halves[0]:
        print(f"  {line:42s} {halves[0][line]:11.3f} {halves[1][line]:11.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fit", action="store_true", help="fit what tells that there is an answer")
    parser.add_argument("--foreign", action="store_true", help="questions in other languages than English")
    parser.add_argument("--fit-order", action="store_true", help="fit what orders the sentences")
    parser.add_argument("--work", type=Path, default=WORK, help="where indexes are kept, as for lectern eval")
    given = parser.parse_args()
    evidence = Evidence(HuggingFaceEmbedding())
    if given.foreign:
        asked = foreign(evidence, given.work)
        if given.fit:
            sure_foreign(asked)
        else:
            for name in FOREIGN:
                halves = [
                    report([case for case in asked if case.name == name and case.development is half]) for half in (True, False)
                ]
                table(name, halves)
        return
    fits: list[tuple[bool, Callable[[Sequence[Case]], None], tuple[str, ...]]] = [
        (given.fit, sure, SURE),
        (given.fit_order, order, ORDERED),
    ]
    for wanted, fitted, names in fits:
        if wanted:
            fitted([case for name in names for case in cases(name, evidence, given.work)])
    if given.fit or given.fit_order:
        return
    for name in MEASURED:
        found = cases(name, evidence, given.work)
        halves = [report([case for case in found if case.development is half]) for half in (True, False)]
        table(name, halves)
    print("questions put to documents about other things")
    for name, other in (MEASURED[:2], MEASURED[1::-1]):
        margins = [case.weighed.margin(answerer.THRESHOLD) for case in cases(name, evidence, given.work, corpus_of=other)]
        print(f"  {name} to {other}: refused {np.mean(np.array(margins) < 0):26.3f}")


if __name__ == "__main__":
    main()
