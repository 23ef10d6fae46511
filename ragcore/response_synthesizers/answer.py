"""An answer that is still being written, with the trace of how, and an end that can come early."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Generator, Sequence
from inspect import GEN_CREATED, getgeneratorstate
from typing import Any

from ragcore.concurrency import in_threads
from ragcore.observe import Span, finish
from ragcore.response_synthesizers.progress import Progress, progress
from ragcore.schema import NodeWithScore, Outcome, Response, StreamingResponse, outcome_of

logger = logging.getLogger(__name__)


class AnswerStream(StreamingResponse):
    """Iterate for its pieces; "" is a sign of life of a step whose words are not part of the answer.

    Leaving the loop, or `close()`, ends the answer and its requests; `text` is the answer so far.
    """

    def __init__(
        self,
        pieces: Generator[str, None, object],
        source_nodes: Sequence[NodeWithScore] = (),
        *,
        trace: Span | None = None,
        extra: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(pieces, source_nodes)
        self.pieces = pieces  # iterating this object also collects them in `text`
        self.trace = trace
        self.extra = {} if extra is None else extra  # as in Response; may grow until the end
        self._closed = False

    def __iter__(self) -> Generator[str, None, None]:
        try:
            for piece in super().__iter__():
                yield piece
                if self._closed:
                    return
        finally:
            self.close()

    def async_response_gen(self) -> AsyncGenerator[str, None]:
        """The same pieces, for an event loop. Leaving the loop ends the answer, as there."""
        return in_threads(iter(self))

    @property
    def response(self) -> str:
        """The whole answer; waits for its end."""
        return str(self)

    @property
    def outcome(self) -> Outcome:
        """Of the answer so far."""
        return outcome_of(self.trace)

    def close(self) -> None:
        """Ends the answer. If another thread is waiting for a piece, it ends with that piece."""
        self._closed = True
        unread = getgeneratorstate(self.pieces) == GEN_CREATED
        try:
            self.pieces.close()
        except ValueError:
            if not getattr(self.pieces, "gi_running", False):
                raise
        if unread and self.trace is not None:
            # The steps end when their generators do, and a generator that never began does not end.
            for step in self.trace.walk():
                if step.seconds < 0:
                    finish(step)

    def read(self) -> Sequence[NodeWithScore]:
        """The passages that were read so far."""
        return self.source_nodes

    def so_far(self) -> tuple[str, Sequence[NodeWithScore]]:
        """The text and the sources of an answer that is stopped now."""
        return self.text, self.source_nodes

    def progress(self) -> Progress | None:
        """None if it is unknown."""
        return progress(self.trace) if self.trace is not None else None

    def whole(self) -> Response:
        """The answer once it is finished."""
        text = str(self)
        return Response(self.extra.get("output", text), self.source_nodes, self.trace, self.extra)

    get_response = whole

    @property
    def metadata(self) -> dict[str, Any]:
        """As in Response."""
        return Response("", self.source_nodes, self.trace, self.extra).metadata

    def get_formatted_sources(self, length: int = 100) -> str:
        """As in Response."""
        return Response("", self.source_nodes).get_formatted_sources(length)


def log_trace(step: Span, pieces: Generator[str, None, object], verbose: bool) -> Generator[str, None, None]:
    """`pieces`; when they end, early or not, the outline of the trace is logged where `verbose`."""
    try:
        yield from pieces
    finally:
        if verbose:
            logger.info("%s", step.outline())
