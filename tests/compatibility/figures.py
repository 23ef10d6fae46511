"""What is counted: for each page or folder, how many there are and how many of them ragcore does as well."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Outcome:
    """One snippet or test that the peer passes: where it is, and what ragcore makes of it; "" where it passes
    too."""

    group: str
    name: str
    problem: str = ""


@dataclass(slots=True)
class Figure:
    title: str
    outcomes: list[Outcome] = field(default_factory=list)

    def lines(self, by_group: bool = False) -> Iterable[str]:
        passed = sum(not outcome.problem for outcome in self.outcomes)
        share = 100 * passed / len(self.outcomes) if self.outcomes else 0.0
        yield f"{self.title}: {passed} of {len(self.outcomes)} ({share:.1f} %)"
        if by_group:
            total = Counter(outcome.group for outcome in self.outcomes)
            same = Counter(outcome.group for outcome in self.outcomes if not outcome.problem)
            yield from (f"  {group:32}{same[group]:5} of {total[group]}" for group in sorted(total))

    def problems(self) -> Iterable[str]:
        for outcome in self.outcomes:
            if outcome.problem:
                yield f"  {outcome.group} {outcome.name}: {outcome.problem}"
