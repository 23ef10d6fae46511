"""Retrieval metrics over random rankings, and what judges make of a model's words."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from typing import Any

from tests.differential.cases import Case
from tests.differential.doubles import in_turn, our_embedding, our_llm, their_embedding, their_llm

METRICS = ["hit_rate", "mrr", "precision", "recall", "ap", "ndcg"]
VERDICTS = ["YES", "NO", "yes", "No.", "YES\nIt is there.", "The answer is not there."]
GRADES = ["4.5\nGood.", "2\nWrong.", "4.0\n\nFine", "no number here", "5", "3.9\nclose"]
PAIRS = [["[[A]]", "[[B]]"], ["[[B]]", "[[A]]"], ["[[A]]", "[[A]]"], ["[[C]]", "[[C]]"]]
SENTENCES = [
    "the river is long",
    "a long river",
    "mountains are high",
    "the river is long and the mountains are high",
]


def cases() -> Iterator[Case]:
    chance = random.Random(22)
    for number in range(12):
        expected = chance.sample("abcdefgh", chance.randint(1, 4))
        found = chance.sample("abcdefgh", chance.randint(1, 6))
        yield Case(
            f"metrics-{number}",
            {"kind": "metrics", "expected": expected, "found": found, "granular": number % 2 == 0},
        )
    yield Case("nothing-found", {"kind": "metrics", "expected": ["a"], "found": [], "granular": False})
    yield Case("nothing-expected", {"kind": "metrics", "expected": [], "found": ["a"], "granular": False})
    for name in ("faithfulness", "relevancy"):
        for number, reply in enumerate(VERDICTS):
            yield Case(f"{name}-{number}", {"kind": name, "replies": [reply, reply]})
    for number, reply in enumerate(GRADES):
        yield Case(f"correctness-{number}", {"kind": "correctness", "replies": [reply]})
    for number, replies in enumerate(PAIRS):
        yield Case(f"pairwise-{number}", {"kind": "pairwise", "replies": replies})
    for number in range(4):
        pair = [SENTENCES[number], SENTENCES[(number + 1) % 4]]
        yield Case(f"semantic-{number}", {"kind": "semantic", "pair": pair, "replies": []})


def theirs(given: Any) -> Any:
    from llama_index.core import Settings, evaluation
    from llama_index.core.evaluation.retrieval import metrics

    if given["kind"] == "metrics":
        kinds: dict[str, Any] = {name: getattr(metrics, known) for name, known in _NAMES.items()}
        return _metrics(kinds, given)
    Settings.embed_model = their_embedding()
    Settings.tokenizer = str.split
    return _judged(evaluation, given, their_llm(in_turn(given["replies"])), their_embedding())


def ours(given: Any) -> Any:
    from ragcore import evaluation
    from ragcore.evaluation import metrics

    if given["kind"] == "metrics":
        return _metrics({name: getattr(metrics, known) for name, known in _NAMES.items()}, given)
    return _judged(evaluation, given, our_llm(in_turn(given["replies"])), our_embedding())


_NAMES = {
    "hit_rate": "HitRate",
    "mrr": "MRR",
    "precision": "Precision",
    "recall": "Recall",
    "ap": "AveragePrecision",
    "ndcg": "NDCG",
}


def _metrics(kinds: dict[str, Any], given: Any) -> Any:
    granular = (
        {"hit_rate": {"use_granular_hit_rate": True}, "mrr": {"use_granular_mrr": True}}
        if given["granular"]
        else {}
    )
    scores = {}
    for name, kind in kinds.items():
        metric = kind(**granular.get(name, {}))
        try:
            scores[name] = round(
                metric.compute(expected_ids=given["expected"], retrieved_ids=given["found"]).score, 6
            )
        except ValueError:
            scores[name] = "error"
    return scores


def _judged(evaluation: Any, given: Any, llm: Any, embed_model: Any) -> Any:
    kind = given["kind"]
    if kind == "semantic":
        answer, reference = given["pair"]
        judge = evaluation.SemanticSimilarityEvaluator(embed_model=embed_model)
        result = judge.evaluate(response=answer, reference=reference)
    elif kind == "pairwise":
        judge = evaluation.PairwiseComparisonEvaluator(llm=llm)
        result = judge.evaluate(query="q", response="first", second_response="second")
    elif kind == "correctness":
        result = evaluation.CorrectnessEvaluator(llm=llm).evaluate(query="q", response="r", reference="s")
    else:
        judge = {
            "faithfulness": evaluation.FaithfulnessEvaluator,
            "relevancy": evaluation.RelevancyEvaluator,
        }[kind](llm=llm)
        result = judge.evaluate(query="q", response="r", contexts=["one text"])
    score = None if result.score is None else round(float(result.score), 4)
    return {"score": score, "passing": result.passing, "invalid": bool(result.invalid_result)}


def explain(given: Any, theirs: Any, ours: Any) -> str:
    if given["kind"] == "metrics":
        if not given["found"]:
            # Nothing found is the worst of all results, and no mistake of the caller's.
            return "1.22" if set(ours.values()) == {0.0} and set(theirs.values()) == {"error"} else ""
        return "1.22" if ours == _by_hand(given) else ""
    reply = given["replies"][0]
    if given["kind"] in ("faithfulness", "relevancy"):
        # Theirs takes any reply without "yes" for a NO; one that says neither is no verdict.
        says_neither = reply not in ("YES", "NO", "yes", "No.", "YES\nIt is there.")
        return "no verdict" if says_neither and ours["invalid"] and ours["score"] is None else ""
    if given["kind"] == "correctness" and reply == "5":
        return "1.22" if [str(ours["score"]), ours["passing"]] == ["5.0", True] else ""  # a grade alone
    if given["kind"] == "correctness" and not any(character.isdigit() for character in reply):
        return "no verdict" if ours["invalid"] and ours["score"] is None else ""
    return ""


def _by_hand(given: Any) -> dict[str, Any]:
    expected, found = set(given["expected"]), given["found"]
    places = [place for place, id_ in enumerate(found, 1) if id_ in expected]
    gains = sum(1 / math.log2(place + 1) for place in places)
    best = sum(1 / math.log2(place + 1) for place in range(1, len(expected) + 1))
    precisions = [hits / place for hits, place in enumerate(places, 1)]
    inverse = [1 / place for place in places]
    granular = given["granular"]
    values = {
        "hit_rate": len(places) / len(expected) if granular else float(bool(places)),
        "mrr": (sum(inverse) / len(inverse) if granular else inverse[0]) if inverse else 0.0,
        "precision": len(places) / len(found),
        "recall": len(places) / len(expected),
        "ap": sum(precisions) / len(expected),
        "ndcg": gains / best,
    }
    return {name: round(value, 6) for name, value in values.items()}
