"""Fits when a written answer is doubted: see `ragcore.response_synthesizers.attribution`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.written_answers.answers import Row
from ragcore.embeddings.huggingface import HuggingFaceEmbedding
from ragcore.prompts.prompt import Passage
from ragcore.response_synthesizers.attribution import AnswerCheck

MAX_DOUBTED = 0.1  # of the answerable questions, at most


def fit(rows: Sequence[Row]) -> str:
    """The limit, and how many questions with and without an answer it doubts."""
    check = AnswerCheck(HuggingFaceEmbedding())
    answered = [row for row in rows if row["state"] == "done" and row["passages"]]
    measured = np.array([_measure(check, row) for row in answered])
    answerable = np.array([bool(row["gold"]) for row in answered])
    least = float(np.sort(measured[answerable])[int(MAX_DOUBTED * answerable.sum())])
    doubted = measured < least
    shares = (
        f"{doubted[answerable].mean():.2f} of the answerable, {doubted[~answerable].mean():.2f} of the others"
    )
    return f"LEAST = {least:.2f}\ndoubted: {shares}"


def _measure(check: AnswerCheck, row: Row) -> float:
    passages = [Passage(each["text"], each["number"], each["place"]) for each in row["passages"]]
    return check.measure(row["question"], check.check(row["question"], row["reply"], passages))
