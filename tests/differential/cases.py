"""What a differential case is: one input, run through LlamaIndex and through ragcore, and a verdict on the
two outcomes.

An area is a module in `areas` with four functions. Inputs and outcomes are plain values, as JSON keeps them.

    def cases() -> Iterator[Case]             generated ones from a fixed seed
    def theirs(given) -> outcome              runs in the interpreter that has llama-index-core; imports it
                                              inside
    def ours(given) -> outcome                imports ragcore inside
    def explain(given, theirs, ours) -> str   where they differ: the reason, such as "D32", seen in the
                                              values; else ""
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol, cast

import tests.differential.areas as folder


@dataclass(frozen=True, slots=True)
class Case:
    id_: str
    given: Any


class Area(Protocol):
    def cases(self) -> Iterator[Case]: ...

    def theirs(self, given: Any) -> Any: ...

    def ours(self, given: Any) -> Any: ...

    def explain(self, given: Any, theirs: Any, ours: Any) -> str: ...


def area_names() -> list[str]:
    return sorted(module.name for module in pkgutil.iter_modules(folder.__path__))


def area(name: str) -> Area:
    return cast(Area, importlib.import_module(f"tests.differential.areas.{name}"))


def error(problem: BaseException) -> dict[str, str]:
    """An outcome that is a failure. Which one is not compared: the two name theirs differently."""
    return {"error": type(problem).__name__}
