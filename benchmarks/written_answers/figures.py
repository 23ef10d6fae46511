"""The table: figures with their numerators and denominators, from rows alone."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.written_answers.judging import (
    echoes,
    has_all,
    is_refused,
    is_right,
    is_supported,
    statements,
    supports,
)
from benchmarks.written_answers.tasks import is_done

Row = Mapping[str, Any]
Rows = Mapping[str, Sequence[Row]]  # by part; those of the peer as "squad2-peer"

REFINING = ("refine", "tree_summarize", "accumulate")


@dataclass(frozen=True, slots=True)
class Figure:
    name: str
    value: str
    goal: str = ""


def share(name: str, goal: str, results: Iterable[bool]) -> Figure:
    known = list(results)
    return Figure(
        name, f"{sum(known) / len(known):.2f} ({sum(known)} of {len(known)})" if known else "-", goal
    )


def figures(rows: Rows) -> Iterator[Figure]:
    """The figures of the parts that have rows."""
    if answered := [
        row for part in ("squad2", "clapnq") for row in rows.get(part, ()) if not is_refused(row)
    ]:
        yield from support(answered)
    for part, title, goal_right, goal_refused in (
        ("squad2", "SQuAD 2", ".95", ".40"),
        ("clapnq", "CLAPnq", "", ".65"),
    ):
        for suffix in ("", "-peer"):
            yield from answerable(
                title + suffix.replace("-", ", "), rows.get(part + suffix, ()), goal_right, goal_refused
            )
    for suffix in ("", "-peer"):
        yield from household("household" + suffix.replace("-", ", "), rows.get(f"household{suffix}", ()))
    for suffix in ("", "-peer"):
        yield from modes(rows.get(f"modes{suffix}", ()), suffix.replace("-", ", "))
    tools = rows.get("tools", ())
    for agent in dict.fromkeys(row["agent"] for row in tools):
        yield share(
            f"{agent}: tasks done", "8 of 10", [is_done(row) for row in tools if row["agent"] == agent]
        )
    for suffix in ("", "-peer"):
        yield from selections(rows.get(f"select{suffix}", ()), suffix.replace("-", ", "))
    yield from latency(rows.get("latency", ()))


def support(rows: Sequence[Row]) -> Iterator[Figure]:
    statements_ = [(sentence, row) for row in rows for sentence in statements(row)]
    unmarked = [(sentence, row) for sentence, row in statements_ if not sentence.marked]
    marked = [(sentence, row) for sentence, row in statements_ if sentence.marked]
    yield share(
        "sentences: the shown source supports it, of those not marked",
        ".95",
        [is_supported(*each) for each in unmarked],
    )
    yield share(
        "sentences: not marked, and no source shown", "0", [not sentence.cited for sentence, _ in unmarked]
    )
    yield share(
        "sentences: marked as weak or not in the documents",
        "",
        [sentence.marked for sentence, _ in statements_],
    )
    anyway = [
        any(supports(each, sentence.text, row["gold"]) for each in row["passages"])
        for sentence, row in marked
    ]
    yield share("sentences: a passage supports it, of those marked", "", anyway)


def answerable(title: str, rows: Sequence[Row], goal_right: str, goal_refused: str) -> Iterator[Figure]:
    if not rows:
        return
    yes, no = [row for row in rows if row["gold"]], [row for row in rows if not row["gold"]]
    if goal_right:
        yield share(f"{title}: right, of the answerable", goal_right, map(is_right, yes))
    yield share(f"{title}: refused or marked, of the answerable", "at most .10", map(is_refused, yes))
    yield share(f"{title}: refused or marked, of the unanswerable", goal_refused, map(is_refused, no))


def household(title: str, rows: Sequence[Row]) -> Iterator[Figure]:
    if not rows:
        return
    yield share(
        f"{title}: right", ".70", [has_all(row, row["must"]) for row in rows if row["must"] is not None]
    )
    yield share(
        f"{title}: invented, where nothing stands there",
        "0",
        [not is_refused(row) for row in rows if row["must"] is None],
    )


def modes(rows: Sequence[Row], suffix: str) -> Iterator[Figure]:
    compact = {row["question"]: is_right(row) for row in rows if row["mode"] == "compact"}
    judged = [(row, faulty(row, compact[row["question"]])) for row in rows if row["question"] in compact]
    for mode in REFINING:
        if of_mode := [fault for row, fault in judged if row["mode"] == mode]:
            yield share(f"{mode}{suffix}: shows its prompt, or misses what compact has", "0", of_mode)


def faulty(row: Row, compact_is_right: bool) -> bool:
    return row["state"] != "done" or echoes(row) or (compact_is_right and not is_right(row))


def selections(rows: Sequence[Row], suffix: str) -> Iterator[Figure]:
    for kind in ("selection", "sub-questions"):
        of_kind = [row for row in rows if row["kind"] == kind]
        if of_kind:
            gold = [name in row["chosen"] for row in of_kind for name in row["gold"]]
            yield share(f"{kind}{suffix}: right documents that are chosen", "as the peer", gold)
            chosen = [name in row["gold"] for row in of_kind for name in row["chosen"]]
            yield share(f"{kind}{suffix}: chosen documents that are right", "as the peer", chosen)


def latency(rows: Sequence[Row]) -> Iterator[Figure]:
    def median(name: str, goal: str, unit: str, value: Callable[[Row], float], some: Sequence[Row]) -> Figure:
        text = f"{statistics.median(map(value, some)):.2f}{unit} ({len(some)} questions)" if some else "-"
        return Figure(name, text, goal)

    if rows:
        yield median("first place shown, median", "1.5 s", " s", lambda row: row["place"], rows)
        read = [row for row in rows if row["reading"]]
        ratio = "first word, in times of what llama.cpp reads the prompt in, median"
        yield median(ratio, "1.1", "", lambda row: row["word"] / row["reading"], read)


def table(rows: Rows) -> str:
    all_figures = list(figures(rows))
    width = max((len(figure.name) for figure in all_figures), default=0)
    return "\n".join(
        f"{figure.name:{width}}  {figure.value:22}  {figure.goal}".rstrip() for figure in all_figures
    )
