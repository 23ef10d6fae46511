"""The questions of each part, drawn in an order that is always the same: more of them begin with the fewer."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from benchmarks.datasets.data_set import DataSet, Part, read_data_set
from benchmarks.extractive import lines

T = TypeVar("T")


@dataclass(frozen=True)
class Asked:
    """A question with its accepted answers, none where the documents do not answer it, and the ids of those that do."""

    id: str
    question: str
    gold: tuple[str, ...]
    documents: tuple[str, ...]
    development: bool


@dataclass(frozen=True)
class Household:
    """`must`: groups of strings, of each of which a right answer holds one; None where the documents do not say it. `before`:
    the questions that were asked before it in the same conversation."""

    id: str
    question: str
    must: tuple[tuple[str, ...], ...] | None
    before: tuple[str, ...]
    document: str


def drawn(items: Sequence[T], count: int) -> list[T]:
    return random.Random(0).sample(list(items), len(items))[:count]


def in_turn(*kinds: Sequence[T]) -> list[T]:
    """All of them; any number of the first has about the same share of each kind as all have."""
    places = [((place + 0.5) / len(kind), at, each) for at, kind in enumerate(kinds) for place, each in enumerate(kind)]
    return [each for _, _, each in sorted(places, key=lambda one: one[:2])]


def asked_of(folder: Path, part: Part, answerable: int, unanswerable: int) -> list[Asked]:
    """So many of each kind, in turn."""
    trials = read_data_set(folder).only(part).trials
    rows = {row["id"]: row for row in lines(folder / "qa.jsonl")}
    found = [
        Asked(
            each.question.id, each.question.text, tuple(each.question.answers), tuple(rows[each.question.id]["doc_ids"]),
            each.part == "development",
        )
        for each in trials
    ]  # fmt: skip
    yes = drawn([each for each in found if each.gold], answerable)
    no = drawn([each for each in found if not each.gold], unanswerable)
    return in_turn(yes, no)


def household(data: Path, count: int) -> list[Household]:
    rows = lines(data / "household" / "questions.jsonl")
    earlier = {row["question"]: row["after"] for row in rows}

    def before(question: str) -> tuple[str, ...]:
        asked = earlier[question]
        return (*before(asked), asked) if asked else ()

    found = [
        Household(
            f"household {row['id']}", row["question"],
            None if row["must"] is None else tuple(map(tuple, row["must"])), before(row["question"]), row["document"],
        )
        for row in rows
    ]  # fmt: skip
    right, nothing = ([each for each in found if (each.must is None) is missing] for missing in (False, True))
    return in_turn(drawn(right, len(right)), drawn(nothing, len(nothing)))[:count]


def household_documents(data: Path) -> DataSet:
    """The papers of a household, with the handbooks and the essay in the same library."""
    folders = (data / "household" / "documents", data / "azure_northwind" / "data", data / "paul_graham")
    files = [path for folder in folders for path in sorted(folder.iterdir())]
    return DataSet("household", (), files=tuple(files))


def documents_of(folder: Path) -> DataSet:
    return replace(read_data_set(folder), trials=())
