"""Creates an index from another one or from a copy, or adds a copy to an index, in a thread, so that no
screen waits."""

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
class IndexCreation:
    """The creation of one index, or the addition of a copy to one. At the end it has the new `index`, the
    counts of what was `copied`, or a `problem`; nothing if it was stopped."""

    name: str
    id: str = field(default_factory=new_id)
    fraction: float = 0.0  # finished share, 0 to 1
    index: Index | None = None
    copied: Copied | None = None
    problem: Problem | None = None
    stopped: bool = False
    ended: bool = False

    def report_progress(self, fraction: float) -> None:
        if self.stopped:
            raise _StoppedError("The index was not made: it was stopped.")
        self.fraction = fraction


class IndexCreations:
    """Shared by all sessions of the process."""

    def __init__(self) -> None:
        self._known: dict[str, IndexCreation] = {}

    @property
    def busy(self) -> bool:
        return any(not creation.ended for creation in list(self._known.values()))

    def start(
        self, name: str, make: Callable[[Callable[[float], None]], tuple[Index | None, Copied | None]]
    ) -> str:
        """Runs `make` with a function for its progress. Returns the id of the creation."""
        creation = IndexCreation(name)
        self._known[creation.id] = creation
        threading.Thread(target=self._run, args=(creation, make), name="make-index", daemon=True).start()
        return creation.id

    def get(self, id_: str) -> IndexCreation | None:
        return self._known.get(id_)

    def stop(self, id_: str) -> None:
        """Stops at the next file and deletes the new index."""
        if creation := self._known.get(id_):
            creation.stopped = True

    def forget(self, id_: str) -> None:
        self._known.pop(id_, None)

    def _run(
        self,
        creation: IndexCreation,
        make: Callable[[Callable[[float], None]], tuple[Index | None, Copied | None]],
    ) -> None:
        try:
            creation.index, creation.copied = make(creation.report_progress)
        except _StoppedError:
            pass
        except RagError as error:
            creation.problem = Problem.of(error)
        except Exception:  # nobody else sees an error in this thread
            logger.exception("an index could not be made")
            creation.problem = Problem(
                "This could not be finished.", "Try again. If it happens again, please report it."
            )
        finally:
            creation.ended = True
