"""Measures the extractive reader on each of its data sets, and fits its weights.

    python -m benchmarks.reader          # a table of each set: development and validation half
    python -m benchmarks.reader --fit    # fits `ragcore.extractive.weights` again, and prints them
    python -m benchmarks.reader --fit --without-words  # for embedders without vectors of words
    python -m benchmarks.reader --fit --multilingual   # for the multilingual embedder

Reads squad2_500, clapnq_dev, azure_northwind and household in ../shared/data, and the everyday documents: 24
invented ones, each the only passage for its questions: eight that it answers, in its own words or others, and
three that it does not. Other passages are retrieved with the application's default settings. `--sets` selects
sets, separated by commas; `--data` is another folder. "xquad/en<xquad/de" is xquad/en with the German
questions, each also without the passages that answer it. Weights are fitted to the development halves of
FIT_SETS, or FIT_SETS_MULTILINGUAL.
"""

from __future__ import annotations

import argparse
import json
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import numpy.typing as npt
import platformdirs

from benchmarks.datasets.data_set import DataSet, Trial, read_data_set
from benchmarks.datasets.index import open_index
from benchmarks.datasets.outcomes import has_must_words
from benchmarks.datasets.settings import setting_of
from benchmarks.datasets.token_overlap import token_recall
from lectern.ask.pipeline import plan_retrieval
from ragcore.embeddings import bundled_model, multilingual_e5
from ragcore.embeddings.base import Embedder
from ragcore.embeddings.huggingface import HuggingFaceEmbedding
from ragcore.embeddings.spelling_correction import correct_spelling
from ragcore.evaluation.answer_match import contains_answer, plain
from ragcore.extractive import features
from ragcore.extractive.follow_up import add_topic
from ragcore.extractive.quoter import Quoter
from ragcore.extractive.reader import Reader, candidates
from ragcore.prompts.prompt import Passage
from ragcore.response_synthesizers.base import passages_from
from ragcore.schema import ChatMessage, MessageRole, Outcome
from ragcore.text.citations import MARKS
from ragcore.text.quotable_sentences import join_quotes

EVERYDAY = Path(__file__).with_name("everyday_documents")
DATA = Path(__file__).parents[2] / "shared" / "data"
WORK = Path(platformdirs.user_cache_dir("lectern", appauthor=False)) / "eval"
SETS = ("squad2_500", "clapnq_dev", "azure_northwind", "everyday", "household")
FIT_SETS = ("squad2_500", "clapnq_dev", "everyday")
FIT_SETS_MULTILINGUAL = ("squad2_500", "everyday", "xquad/de", "xquad/zh", "xquad/en<xquad/de")
MAX_XQUAD = 200  # questions of xquad
RIDGE = 0.002
FIT_CHARS = 2000  # of the sentences that are measured for a fit; more than the reader measures


@dataclass(frozen=True)
class Case:
    """A question and its passages. `gold`: the sentences that answer it, word for word, if the set has them.
    Without `answers` and `must`, the passages have no answer."""

    name: str
    question: str
    passages: list[Passage]
    answers: tuple[str, ...]
    gold: frozenset[str]
    must: tuple[tuple[str, ...], ...]
    development: bool

    @property
    def answerable(self) -> bool:
        return bool(self.answers or self.must)

    def right_share(self, text: str) -> float:
        """0 to 1: the share of must-words or of an answer's tokens; 1 or 0 if an answer is a name or a
        number."""
        if self.must:
            return float(has_must_words(text, self.must))
        plain_text = MARKS.sub("", text)
        return (
            token_recall(plain_text, self.answers)
            if self.gold or self.name == "azure_northwind"
            else float(contains_answer(plain_text, self.answers))
        )


@dataclass(frozen=True)
class Reply:
    """`ranked`: sentences, best first."""

    outcome: Outcome
    text: str
    ranked: list[str]


class WithoutWords:
    """The default embedder without vectors of words."""

    def __init__(self) -> None:
        self._embedder = HuggingFaceEmbedding()
        self.name, self.dimension = self._embedder.name, self._embedder.dimension
        self.embed_passages, self.embed_query = self._embedder.embed_passages, self._embedder.embed_query


def cases_in(name: str, data: Path, embedder: Embedder) -> Iterator[Case]:
    if name == "everyday":
        yield from _everyday()
        return
    documents, _, other_name = name.partition("<")
    data_set = _data_set(documents, data)
    # in the documents' language
    answers_by_id = {trial.question.id: trial.question.answers for trial in data_set.trials}
    if documents.startswith("xquad"):
        chosen = sorted(data_set.trials, key=lambda trial: zlib.crc32(trial.question.id.encode()[::-1]))[
            :MAX_XQUAD
        ]
        data_set = replace(data_set, trials=tuple(chosen))
    if other_name:
        data_set = data_set.with_questions_of(_data_set(other_name, data))
    gold = (
        {row["id"]: row.get("gold_sentences", ()) for row in lines(data / documents / "qa.jsonl")}
        if data_set.texts
        else {}
    )
    setting = setting_of("default")
    with ExitStack() as stack:
        opened = stack.enter_context(open_index(data_set, setting, WORK, print, embedder))
        for trial in data_set.trials:
            if trial.computes:
                continue
            question = _stand_alone(trial)
            ask = replace(setting.ask, question=question)
            nodes = plan_retrieval(ask, opened.library.store, opened.embedder).passages(question)
            sentences = frozenset(plain(each) for group in gold.get(trial.question.id, ()) for each in group)
            answers = tuple(answers_by_id[trial.question.id])
            development = trial.part == "development" and not data_set.conversations
            passages = list(passages_from(nodes))
            yield Case(name, question, passages, answers, sentences, trial.must, development)
            if documents.startswith("xquad"):
                others = [passage for passage in passages if not contains_answer(passage.text, answers)]
                yield Case(name, question, others, (), sentences, (), development)


def _data_set(name: str, data: Path) -> DataSet:
    more_folders = (data / "azure_northwind" / "data", data / "paul_graham") if name == "household" else ()
    return read_data_set(data / name, more_folders=more_folders)


def _stand_alone(trial: Trial) -> str:
    return add_topic(
        trial.question.text, [ChatMessage(MessageRole.USER, message) for message in trial.previous]
    )


def _everyday() -> Iterator[Case]:
    """Each document is one passage, the only one for its questions."""
    rows = [json.loads(line) for line in (EVERYDAY / "qa.jsonl").read_text("utf-8").splitlines()]
    documents = sorted({row["document"] for row in rows})
    texts = [(EVERYDAY / document).read_text("utf-8") for document in documents]
    for row in rows:
        document = row["document"]
        passage = Passage(texts[documents.index(document)], 1, document)
        development = documents.index(document) % 2 == 0
        yield Case(
            "everyday", row["question"], [passage], tuple(row["answers"]), frozenset(), (), development
        )


def read_case(quoter: Quoter, case: Case) -> Reply:
    reading = quoter.quote(case.question, case.passages)
    return Reply(
        reading.outcome,
        join_quotes(reading.quotes),
        [quote.text for quote in reading.best_first],
    )


def figures(cases: Sequence[Case], answers: Sequence[Reply]) -> dict[str, float]:
    """Shares; those of `answerable` questions first."""
    pairs = list(zip(cases, answers, strict=True))
    yes, no = ([pair for pair in pairs if pair[0].answerable is answerable] for answerable in (True, False))

    def mean(values: Iterator[float]) -> float:
        return float(np.mean(list(values)))

    return {
        "best sentence": mean(case.right_share(" ".join(reply.ranked[:1])) for case, reply in yes),
        "best three": mean(case.right_share(" ".join(reply.ranked[:3])) for case, reply in yes),
        "right, shown": mean(case.right_share(reply.text) for case, reply in yes),
        "right, as answer": mean(
            case.right_share(reply.text) * (reply.outcome == "answer") for case, reply in yes
        ),
        **{
            f"{outcome}, answerable": mean(float(reply.outcome == outcome) for _, reply in yes)
            for outcome in get_args(Outcome)
        },
        **{
            f"{outcome}, not there": mean(float(reply.outcome == outcome) for _, reply in no)
            for outcome in get_args(Outcome)
        },
        "characters": mean(float(len(reply.text)) for _, reply in pairs),
    }


def print_table(name: str, cases: Sequence[Case], embedder: Embedder) -> None:
    quoter = Quoter(embedder)
    for half in (True, False):
        selected = [case for case in cases if case.development is half]
        if selected:
            print(f"{name}, {'development' if half else 'validation'}: {len(selected)} questions")
            for figure, value in figures(selected, [read_case(quoter, case) for case in selected]).items():
                print(f"  {figure:34} {value:8.3f}")


def fit_weights(data: Path, embedder: Embedder, sets: Sequence[str]) -> None:
    features.MAX_EMBEDDED = FIT_CHARS
    vectors = Reader(embedder).vectors
    cases, measured, rights = [], [], []
    for name in sets:
        for one in cases_in(name, data, embedder):
            if not one.development:
                continue
            quotes = candidates(one.passages)
            question = correct_spelling(one.question, [quote.read_with_lead for quote in quotes], embedder)
            rows, numbers = features.measure(
                question, quotes, [one.passages[quote.passage].relevance for quote in quotes], vectors
            )
            right = np.array([_is_right(one, quotes[row].text) for row in rows], np.bool_)
            if right.any() or (rows and not one.answerable):
                cases.append(one)
                measured.append(numbers)
                rights.append(right)
    weights, bias = fit([one.name for one in cases], measured, rights)
    print("(" + ", ".join(f"{value:.3f}" for value in weights) + f"), bias={bias:.3f}")
    _print_odds(cases, [rows @ weights + bias for rows in measured])


def fit(
    sets: Sequence[str], measured: Sequence[npt.NDArray[np.float64]], rights: Sequence[npt.NDArray[np.bool_]]
) -> tuple[npt.NDArray[np.float64], float]:
    """A conditional logit with "none of them" as one more choice, every question set weighing the same.
    `sets`: that of each question."""
    from scipy.optimize import minimize  # type: ignore[import-untyped]

    sizes = Counter(sets)
    share = np.array([1 / sizes[name] / len(sizes) for name in sets])
    rows, right = np.concatenate(measured), np.concatenate(rights)
    middle, spread = rows.mean(axis=0), rows.std(axis=0)
    rows = np.column_stack([(rows - middle) / spread, np.ones(len(rows))])
    starts = np.cumsum([0, *[len(each) for each in rights[:-1]]])
    question = np.repeat(np.arange(len(sets)), [len(each) for each in rights])
    answered = np.logical_or.reduceat(right, starts)

    def loss(weights: npt.NDArray[np.float64]) -> tuple[float, npt.NDArray[np.float64]]:
        odds = np.exp(rows @ weights)
        everything = 1 + np.add.reduceat(odds, starts)
        right_odds = np.where(answered, np.add.reduceat(odds * right, starts), 1)
        slope = share[question] * odds * (1 / everything[question] - right / right_odds[question])
        penalty = RIDGE * np.append(weights[:-1], 0)
        return float(
            share @ np.log(everything / right_odds) + penalty @ weights
        ), rows.T @ slope + 2 * penalty

    solution = minimize(loss, np.zeros(rows.shape[1]), jac=True, method="L-BFGS-B").x
    weights = solution[:-1] / spread
    return weights, float(solution[-1] - weights @ middle)


def _is_right(case: Case, sentence: str) -> bool:
    return (
        plain(sentence) in case.gold
        if case.gold
        else bool(case.answers) and contains_answer(sentence, case.answers)
    )


def _print_odds(cases: Sequence[Case], odds: Sequence[npt.NDArray[np.float64]]) -> None:
    """Prints quantiles of the best sentence's log odds, for the choice of thresholds."""
    shares = (0.02, 0.1, 0.25, 0.5, 0.6, 0.75, 0.9)
    print(f"log odds of the best sentence at {shares}")
    for name in dict.fromkeys(case.name for case in cases):
        for answerable in (True, False):
            best = [
                row.max()
                for case, row in zip(cases, odds, strict=True)
                if (case.name, case.answerable) == (name, answerable)
            ]
            quantiles = " ".join(f"{value:6.2f}" for value in np.quantile(best, shares))
            print(f"  {name + (', answerable' if answerable else ', not there'):28} {quantiles}")


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--fit", action="store_true", help="fit the weights anew")
    parser.add_argument(
        "--without-words", action="store_true", help="with an embedder that gives no vectors of words"
    )
    parser.add_argument("--multilingual", action="store_true", help="with the embedder for every language")
    parser.add_argument("--sets", default=",".join(SETS), help="which sets are measured")
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of the sets")
    options = parser.parse_args()
    model = multilingual_e5.NAME if options.multilingual else bundled_model.NAME
    embedder: Embedder = WithoutWords() if options.without_words else HuggingFaceEmbedding(model)
    if options.fit:
        fit_weights(options.data, embedder, FIT_SETS_MULTILINGUAL if options.multilingual else FIT_SETS)
        return
    for name in options.sets.split(","):
        print_table(name, list(cases_in(name, options.data, embedder)), embedder)


if __name__ == "__main__":
    main()
