"""The questions of each part, drawn in an order that is always the same: more of them begin with the
fewer."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from benchmarks.datasets.data_set import DataSet, Part, Trial, read_data_set
from benchmarks.reader import lines

T = TypeVar("T")


@dataclass(frozen=True)
class TestQuestion:
    """A question with its accepted answers, none where the documents do not answer it, and the ids of those
    that do."""

    id: str
    question: str
    gold: tuple[str, ...]
    documents: tuple[str, ...]
    development: bool


def draw(items: Sequence[T], count: int) -> list[T]:
    return random.Random(0).sample(list(items), len(items))[:count]


def in_turn(*kinds: Sequence[T]) -> list[T]:
    """All of them; any number of the first has about the same share of each kind as all have."""
    places = [
        ((place + 0.5) / len(kind), at, each)
        for at, kind in enumerate(kinds)
        for place, each in enumerate(kind)
    ]
    return [each for _, _, each in sorted(places, key=lambda one: one[:2])]


def draw_questions(folder: Path, part: Part, answerable: int, unanswerable: int) -> list[TestQuestion]:
    """So many of each kind, in turn."""
    trials = read_data_set(folder).only(part).trials
    rows = {row["id"]: row for row in lines(folder / "qa.jsonl")}
    questions = [
        TestQuestion(
            each.question.id, each.question.text, tuple(each.question.answers),
            tuple(rows[each.question.id]["doc_ids"]), each.part == "development",
        )
        for each in trials
    ]  # fmt: skip
    yes = draw([each for each in questions if each.gold], answerable)
    no = draw([each for each in questions if not each.gold], unanswerable)
    return in_turn(yes, no)


def household(data: Path, count: int) -> list[Trial]:
    """The first `count` of those that the papers of a household answer and those that they do not, in
    turn."""
    trials = read_data_set(data / "household").trials
    yes, no = ([each for each in trials if each.answerable is answerable] for answerable in (True, False))
    return in_turn(draw(yes, len(yes)), draw(no, len(no)))[:count]


def household_documents(data: Path) -> DataSet:
    """The papers of a household, with the handbooks and the essay in the same library."""
    more_folders = (data / "azure_northwind" / "data", data / "paul_graham")
    return replace(read_data_set(data / "household", more_folders=more_folders), trials=())


def documents_of(folder: Path) -> DataSet:
    return replace(read_data_set(folder), trials=())
