"""The speed of models in reading and writing, measured on their answers."""

from __future__ import annotations

import threading
from dataclasses import dataclass

FORGET = 0.7  # factor on the weight of earlier calls with each call


@dataclass(frozen=True, slots=True)
class Timings:
    """Of one call: the tokens read, without those in the cache, the tokens written, and the seconds for
    both."""

    prompt_tokens: int
    prompt_seconds: float
    completion_tokens: int
    completion_seconds: float


@dataclass(frozen=True, slots=True)
class Speed:
    prompt_tokens_per_second: float
    completion_tokens_per_second: float


class SpeedRecord:
    """The speed of one model on one server; later calls weigh more. Threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._read, self._written = (0.0, 0.0), (0.0, 0.0)  # tokens and seconds

    def add(self, timings: Timings) -> None:
        with self._lock:
            self._read = _add(self._read, timings.prompt_tokens, timings.prompt_seconds)
            self._written = _add(self._written, timings.completion_tokens, timings.completion_seconds)

    @property
    def speed(self) -> Speed | None:
        """None before both are measured."""
        with self._lock:
            (read, reading), (written, writing) = self._read, self._written
        return Speed(read / reading, written / writing) if read and written else None


def _add(before: tuple[float, float], tokens: int, seconds: float) -> tuple[float, float]:
    if tokens <= 0 or seconds <= 0:
        return before
    return before[0] * FORGET + tokens, before[1] * FORGET + seconds


_records: dict[tuple[str, str], SpeedRecord] = {}
_lock = threading.Lock()


def record_of(server: str, model: str) -> SpeedRecord:
    """The record of a model on a server in this process."""
    with _lock:
        return _records.setdefault((server, model), SpeedRecord())
