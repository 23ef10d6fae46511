"""What was measured, as a table for people and as one line of JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from statistics import fmean

from benchmarks.datasets.data_set import Part
from benchmarks.datasets.measure import Measured
from ragcore.evaluation.significance import Difference, Mean, difference

NAME = 26  # characters of a metric's name


def table(made: Measured, part: Part) -> Iterator[str]:
    """Lines: each metric with its 95% interval and how many questions have it, then the time."""
    size = f"{len(made.tried):,} questions, {made.documents:,} documents, {made.passages:,} passages"
    yield f"{made.data_set.title}, {_part(part)}{size}"
    yield f"setting: {made.setting.name}"
    for name, figure in made.means.items():
        yield f"  {name:{NAME}} {figure.value:.3f}   {figure.low:.3f} to {figure.high:.3f}   of {figure.number:,}"
    seconds, embedding, cpu = _seconds(made)
    of_processor = "" if cpu is None else f"{cpu:.3f} of the processor, "
    yield f"  {'seconds a question':{NAME}} {seconds:.3f}   {of_processor}beside {embedding:.3f} for embedding it"


def compared(first: Measured, second: Measured) -> dict[str, Difference]:
    """By metric: the second to the first, over the questions that have it in both."""
    found = {}
    for name in first.means:
        one, other = first.scores(name), second.scores(name)
        both = [id_ for id_ in one if id_ in other]
        change = difference([one[id_] for id_ in both], [other[id_] for id_ in both])
        if change is not None:
            found[name] = change
    return found


def comparison(first: Measured, second: Measured) -> Iterator[str]:
    """Lines: each metric in both, the difference with its 95% interval, and how often chance makes as large a one."""
    yield f"{first.setting.name} against {second.setting.name}: the second's figure less the first's"
    for name, change in compared(first, second).items():
        yield (
            f"  {name:{NAME}} {change.value:+.3f}   {change.low:+.3f} to {change.high:+.3f}   p = {change.p:.4f}"
            f"   higher on {change.higher:,}, lower on {change.lower:,} of {change.number:,}"
        )


def as_json(made: Sequence[Measured], part: Part) -> str:
    """One line. With two, also how they compare."""
    said: dict[str, object] = {"data_set": made[0].data_set.title, "part": part, "settings": [_plain(one) for one in made]}
    if len(made) == 2:
        said["compared"] = {name: asdict(change) for name, change in compared(*made).items()}
    return json.dumps(said, ensure_ascii=False)


def each_question(made: Measured) -> Iterator[str]:
    """A line of JSON for every question: its scores, what was found, what was answered."""
    for one in made.tried:
        said = {
            "setting": made.setting.name, "id": one.trial.question.id, "question": one.trial.question.text,
            "searched": one.searched, "answers": one.trial.question.answers, "relevant": dict(one.trial.grades),
            "scores": one.scores, "seconds": round(one.seconds, 4), "found": one.found, "answer": one.answer,
        }  # fmt: skip
        yield json.dumps(said, ensure_ascii=False)


def _plain(made: Measured) -> dict[str, object]:
    seconds, embedding, cpu = _seconds(made)
    return {
        "setting": made.setting.name,
        "questions": len(made.tried),
        "documents": made.documents,
        "passages": made.passages,
        "metrics": {name: _rounded(figure) for name, figure in made.means.items()},
        "seconds_a_question": round(seconds, 4),
        "cpu_seconds_a_question": None if cpu is None else round(cpu, 4),
        "seconds_embedding_a_question": round(embedding, 4),
        "seconds_indexing": round(made.indexing, 3),
    }


def _rounded(figure: Mean) -> dict[str, float]:
    return {
        "value": round(figure.value, 4),
        "low": round(figure.low, 4),
        "high": round(figure.high, 4),
        "number": figure.number,
    }


def _seconds(made: Measured) -> tuple[float, float, float | None]:
    """Means a question: to find and answer, to embed it, and of the processor to find and answer, where that is known."""
    cpu = [one.cpu_seconds for one in made.tried if one.cpu_seconds is not None]
    seconds, embedding = fmean(one.seconds for one in made.tried), fmean(one.embedding for one in made.tried)
    return seconds, embedding, fmean(cpu) if cpu else None


def _part(part: Part) -> str:
    return "" if part == "all" else f"{part} part: "
