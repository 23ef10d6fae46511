"""The figures of a measurement, as a table for people and as one line of JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from statistics import fmean

from benchmarks.datasets.data_set import Part
from benchmarks.datasets.measure import Measurement
from ragcore.evaluation.significance import Difference, Mean, difference

NAME = 26  # characters of a metric's name


def table(measurement: Measurement, part: Part) -> Iterator[str]:
    """Lines: each metric with its 95% interval and how many questions have it, then the time."""
    size = (
        f"{len(measurement.results):,} questions, {measurement.documents:,} documents, "
        f"{measurement.passages:,} passages"
    )
    yield f"{measurement.data_set.title}, {_part(part)}{size}"
    yield f"setting: {measurement.setting.name}"
    for name, figure in measurement.means.items():
        yield (
            f"  {name:{NAME}} {figure.value:.3f}   {figure.low:.3f} to {figure.high:.3f}   of "
            f"{figure.number:,}"
        )
    seconds, embedding, cpu = _seconds(measurement)
    of_processor = "" if cpu is None else f"{cpu:.3f} of the processor, "
    yield (
        f"  {'seconds a question':{NAME}} {seconds:.3f}   {of_processor}beside {embedding:.3f} for "
        "embedding it"
    )


def compare(first: Measurement, second: Measurement) -> dict[str, Difference]:
    """By metric: the second to the first, over the questions that have it in both."""
    changes = {}
    for name in first.means:
        one, other = first.scores(name), second.scores(name)
        both = [id_ for id_ in one if id_ in other]
        change = difference([one[id_] for id_ in both], [other[id_] for id_ in both])
        if change is not None:
            changes[name] = change
    return changes


def comparison(first: Measurement, second: Measurement) -> Iterator[str]:
    """Lines: each metric in both, the difference with its 95% interval, and how often chance makes as large a
    one."""
    yield f"{first.setting.name} against {second.setting.name}: the second's figure less the first's"
    for name, change in compare(first, second).items():
        yield (
            f"  {name:{NAME}} {change.value:+.3f}   {change.low:+.3f} to {change.high:+.3f}   p = "
            f"{change.p:.4f}"
            f"   higher on {change.higher:,}, lower on {change.lower:,} of {change.number:,}"
        )


def as_json(measurements: Sequence[Measurement], part: Part) -> str:
    """One line. With two, also how they compare."""
    report: dict[str, object] = {
        "data_set": measurements[0].data_set.title,
        "part": part,
        "settings": [_plain(measurement) for measurement in measurements],
    }
    if len(measurements) == 2:
        report["compared"] = {name: asdict(change) for name, change in compare(*measurements).items()}
    return json.dumps(report, ensure_ascii=False)


def each_question(measurement: Measurement) -> Iterator[str]:
    """A line of JSON for every question: its scores, passages and answer."""
    for result in measurement.results:
        row = {
            "setting": measurement.setting.name, "id": result.trial.question.id,
            "question": result.trial.question.text, "searched": result.searched,
            "answers": result.trial.question.answers, "relevant": dict(result.trial.grades),
            "scores": result.scores, "seconds": round(result.seconds, 4), "found": result.passages,
            "answer": result.answer,
        }  # fmt: skip
        yield json.dumps(row, ensure_ascii=False)


def _plain(measurement: Measurement) -> dict[str, object]:
    seconds, embedding, cpu = _seconds(measurement)
    return {
        "setting": measurement.setting.name,
        "questions": len(measurement.results),
        "documents": measurement.documents,
        "passages": measurement.passages,
        "metrics": {name: _round(figure) for name, figure in measurement.means.items()},
        "seconds_a_question": round(seconds, 4),
        "cpu_seconds_a_question": None if cpu is None else round(cpu, 4),
        "seconds_embedding_a_question": round(embedding, 4),
        "seconds_indexing": round(measurement.indexing, 3),
    }


def _round(figure: Mean) -> dict[str, float]:
    return {
        "value": round(figure.value, 4),
        "low": round(figure.low, 4),
        "high": round(figure.high, 4),
        "number": figure.number,
    }


def _seconds(measurement: Measurement) -> tuple[float, float, float | None]:
    """Means a question: to find and answer, to embed it, and of the processor to find and answer, where that
    is known."""
    results = measurement.results
    cpu = [result.cpu_seconds for result in results if result.cpu_seconds is not None]
    seconds, embedding = (
        fmean(result.seconds for result in results),
        fmean(result.embedding for result in results),
    )
    return seconds, embedding, fmean(cpu) if cpu else None


def _part(part: Part) -> str:
    return "" if part == "all" else f"{part} part: "
