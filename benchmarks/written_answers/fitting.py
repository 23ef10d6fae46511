"""Fits when a written answer is doubted: see `ragcore.response_synthesizers.attribution`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]

from benchmarks.written_answers.answers import Row
from ragcore.embeddings.huggingface import HuggingFaceEmbedding
from ragcore.prompts.prompt import Passage
from ragcore.response_synthesizers.attribution import FEATURES, AnswerCheck

DOUBTED = 0.1  # of the answerable questions, at most


def fit(rows: Sequence[Row]) -> str:
    """The weights and the bias, and how many questions with and without an answer they doubt."""
    check = AnswerCheck(HuggingFaceEmbedding())
    answered = [row for row in rows if row["state"] == "done" and row["passages"]]
    measured = np.array([_measure(check, row) for row in answered])
    answerable = np.array([bool(row["gold"]) for row in answered])
    model = LogisticRegression(C=0.5, class_weight="balanced").fit(measured, answerable)
    odds = measured @ model.coef_[0]
    least = float(np.sort(odds[answerable])[int(DOUBTED * answerable.sum())])
    lines = [f"{name}: {weight:.2f}" for name, weight in zip(FEATURES, model.coef_[0], strict=True)]
    doubted = odds < least
    shares = f"doubted: {doubted[answerable].mean():.2f} of the answerable, {doubted[~answerable].mean():.2f} of the others"
    return "\n".join([*lines, f"bias: {-least:.2f}", shares])


def _measure(check: AnswerCheck, row: Row) -> list[float]:
    passages = [Passage(each["text"], each["number"], each["place"]) for each in row["passages"]]
    answer = check.check(row["question"], row["reply"], passages)
    return [float(each) for each in check.measure(row["question"], answer, passages)]
