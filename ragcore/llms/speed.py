"""How fast models read and write, measured on their own answers."""

from __future__ import annotations

import threading
from dataclasses import dataclass

FORGET = 0.7  # what each call leaves of the weight of those before it


@dataclass(frozen=True, slots=True)
class Timings:
    """Of one call: tokens that the model really read, without those that it remembered, and tokens that it wrote; seconds."""

    prompt_tokens: int
    prompt_seconds: float
    completion_tokens: int
    completion_seconds: float


@dataclass(frozen=True, slots=True)
class Speed:
    prompt_tokens_per_second: float
    completion_tokens_per_second: float


class SpeedRecord:
    """Of one model on one server, the latest calls counting most. Several threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._read, self._written = (0.0, 0.0), (0.0, 0.0)  # tokens and seconds

    def add(self, timings: Timings) -> None:
        with self._lock:
            self._read = _add(self._read, timings.prompt_tokens, timings.prompt_seconds)
            self._written = _add(self._written, timings.completion_tokens, timings.completion_seconds)

    @property
    def speed(self) -> Speed | None:
        """None until both were measured."""
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
    """The one of this process for a model on a server."""
    with _lock:
        return _records.setdefault((server, model), SpeedRecord())
