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


def asked_of(folder: Path, part: Part, answerable: int, unanswerable: int) -> list[Asked]:
    """So many of each kind, in turn, so that an early end leaves some of both."""
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
    places = sorted([(place / max(len(kind), 1), each.id) for kind in (yes, no) for place, each in enumerate(kind)])
    by_id = {each.id: each for each in (*yes, *no)}
    return [by_id[id_] for _, id_ in places]


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
    return drawn(found, count)


def household_documents(data: Path) -> DataSet:
    """The papers of a household, with the handbooks and the essay in the same library."""
    folders = (data / "household" / "documents", data / "azure_northwind" / "data", data / "paul_graham")
    files = [path for folder in folders for path in sorted(folder.iterdir())]
    return DataSet("household", (), files=tuple(files))


def documents_of(folder: Path) -> DataSet:
    return replace(read_data_set(folder), trials=())
