"""The arithmetic of the figures, and the table they are printed as."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True, slots=True)
class Row:
    """A measure in milliseconds: ours, and that of the peer where it has one."""

    name: str
    goal: str
    ours: Sequence[float]
    peer: Sequence[float] = ()


def percentile(values: Sequence[float], share: float) -> float:
    """By nearest rank: the least value that at least this share, 0 to 1, of all values do not exceed. At
    least one value."""
    return sorted(values)[max(math.ceil(share * len(values)) - 1, 0)]


def table(rows: Iterable[Row]) -> str:
    lines = [
        "| | goal | median ms | p95 ms | of | peer: median ms | p95 ms | ratio |",
        "|---|---|--:|--:|--:|--:|--:|--:|",
    ]
    lines += [f"| {row.name} | {row.goal} | {_cells(row)} |" for row in rows]
    return "\n".join(lines)


def _cells(row: Row) -> str:
    ours = f"{median(row.ours):,.0f} | {percentile(row.ours, 0.95):,.0f} | {len(row.ours):,}"
    if not row.peer:
        return f"{ours} | | | "
    ratio = median(row.ours) / median(row.peer)
    return f"{ours} | {median(row.peer):,.0f} | {percentile(row.peer, 0.95):,.0f} | {ratio:.1f}"


def over_model(seconds: float, calls: int, delay: float) -> float:
    """Milliseconds that a wait of `seconds` has beyond the model's own: `calls` one after the other, each
    silent for `delay` seconds."""
    return 1000 * (seconds - calls * delay)


def each(before: int, after: int, sessions: int) -> float:
    """Bytes that one of so many sessions added."""
    return (after - before) / sessions
