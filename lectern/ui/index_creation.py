"""Creates an index from another one or from a copy in a thread, so that no screen waits."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from lectern.export.backup import Copied
from lectern.indexes import Index
from ragcore.errors import Problem, RagError
from ragcore.schema import new_id

logger = logging.getLogger(__name__)


class _StoppedError(RagError):
    """Ends the thread without an error message."""


@dataclass
class Making:
    """The creation of one index. `fraction` is from 0 to 1. At the end it has an `index`, with the counts of what was `copied`,
    or a `problem`, or neither if it was stopped."""

    name: str
    id: str = field(default_factory=new_id)
    fraction: float = 0.0
    index: Index | None = None
    copied: Copied | None = None
    problem: Problem | None = None
    stopped: bool = False
    ended: bool = False

    def tell(self, fraction: float) -> None:
        if self.stopped:
            raise _StoppedError("The index was not made: it was stopped.")
        self.fraction = fraction


class Makings:
    """Shared by all sessions of the process."""

    def __init__(self) -> None:
        self._known: dict[str, Making] = {}

    @property
    def busy(self) -> bool:
        return any(not making.ended for making in list(self._known.values()))

    def start(self, name: str, make: Callable[[Callable[[float], None]], tuple[Index, Copied | None]]) -> str:
        """Runs `make` with a function for its progress. Returns the id of the creation."""
        making = Making(name)
        self._known[making.id] = making
        threading.Thread(target=self._run, args=(making, make), name="make-index", daemon=True).start()
        return making.id

    def get(self, id_: str) -> Making | None:
        return self._known.get(id_)

    def stop(self, id_: str) -> None:
        """Stops at the next file and deletes the new index."""
        if making := self._known.get(id_):
            making.stopped = True

    def forget(self, id_: str) -> None:
        self._known.pop(id_, None)

    def _run(self, making: Making, make: Callable[[Callable[[float], None]], tuple[Index, Copied | None]]) -> None:
        try:
            making.index, making.copied = make(making.tell)
        except _StoppedError:
            pass
        except RagError as error:
            making.problem = Problem.of(error)
        except Exception:  # in a thread of its own nobody else would hear of it
            logger.exception("an index could not be made")
            making.problem = Problem("The index could not be made.", "Try again. If it happens again, please report it.")
        finally:
            making.ended = True
