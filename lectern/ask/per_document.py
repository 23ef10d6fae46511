"""One answer per document: the question asked of each on its own, from its own best passages, as the rows of a table."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing
from contextvars import copy_context
from dataclasses import dataclass
from threading import Event
from typing import TypeAlias

from lectern.ask.read_everything import says_nothing
from lectern.schema import FileAnswer, Found
from ragcore.errors import RagError
from ragcore.extractive.fixed_replies import NOTHING_FOUND, in_language_of, is_closest
from ragcore.extractive.summary import heading_of
from ragcore.observe import Span, finish, start, stream_in, within
from ragcore.query_engine.base import QueryEngine
from ragcore.response_synthesizers.answer import AnswerStream
from ragcore.response_synthesizers.parallel_calls import GRACE, HEARTBEAT
from ragcore.response_synthesizers.progress import Progress
from ragcore.response_synthesizers.synthesizer import WORKERS, tallied
from ragcore.schema import NodeWithScore
from ragcore.text.citations import Citations

EngineOf: TypeAlias = Callable[[str], QueryEngine]


@dataclass(frozen=True, slots=True)
class _Said:
    """What one document said, [n] being `nodes[n - 1]`; or why it could not be asked."""

    text: str
    nodes: Sequence[NodeWithScore] = ()
    error: RagError | None = None


class AnswerPerDocument(AnswerStream):
    """Iterate for the answers below each other; `rows` grow with them, in the order of `files`, whose keys are their ids.

    `source_nodes` are the passages that the answers cite, [n] the n-th. At most `workers` documents are asked at once. One
    that fails is a row with its reason, and the others go on. Closing ends the questions that are running.
    """

    def __init__(self, question: str, files: Mapping[str, str], engine_of: EngineOf, *, workers: int = WORKERS) -> None:
        self.rows: tuple[FileAnswer, ...] = ()
        self._question = question
        self._files = dict(files)
        self._engine_of = engine_of
        self._workers = workers
        self._citations = Citations()
        self._read: list[NodeWithScore] = []
        step = start("query", question=question, engine=type(self).__name__, documents=len(files))
        super().__init__(stream_in(step, tallied(step, self._answers())), trace=step)

    def progress(self) -> Progress:
        """Of documents."""
        steps = self.trace.children if self.trace is not None else ()
        return Progress(sum(step.seconds >= 0 for step in list(steps)), len(self._files))

    def read(self) -> Sequence[NodeWithScore]:
        return tuple(self._read)

    def _answers(self) -> Generator[str, None, None]:
        if not self._files:
            if self.trace is not None:
                self.trace.note(outcome="nothing")
            yield in_language_of(self._question, NOTHING_FOUND)
            return
        steps = [start("document", file=name) for name in self._files.values()]
        stopped = Event()
        pool = ThreadPoolExecutor(max_workers=max(1, min(self._workers, len(steps))), thread_name_prefix="document")
        asked = [
            pool.submit(copy_context().run, self._ask, step, file_id, stopped)
            for step, file_id in zip(steps, self._files, strict=True)
        ]
        try:
            for name, waited in zip(self._files.values(), asked, strict=True):
                while not wait([waited], timeout=HEARTBEAT).done:
                    yield ""
                yield self._row(name, waited)
        finally:
            stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)
            wait(asked, timeout=GRACE)
            for step in steps:
                if step.seconds < 0:
                    step.note(never_begun=True)
                    finish(step)

    def _ask(self, step: Span, file_id: str, stopped: Event) -> _Said:
        try:
            with within(step):
                answer = self._engine_of(file_id).stream_query(self._question)
                with closing(answer):
                    for _piece in answer:
                        if stopped.is_set():
                            break
                return _Said(answer.text.strip(), answer.source_nodes)
        except RagError as error:
            return _Said("", error=error)

    def _row(self, name: str, waited: Future[_Said]) -> str:
        """Add the row of a document whose answer is there; gives it as text."""
        said = waited.result()
        known = len(self.source_nodes)
        heading = heading_of(name)
        self._read += said.nodes
        summary = said.text.removeprefix(heading).lstrip()  # which is headed by the name of its document
        text = self._citations.anew(summary, said.nodes) if said.error is None else said.error.what
        self.source_nodes = tuple(self._citations.cited)
        cited = self.source_nodes[known:]
        row = FileAnswer(name, text, _found(said, cited), *_pages(cited))
        if said.error is not None:
            row = FileAnswer(name, text, "failed", hint=said.error.hint)
        self.rows = (*self.rows, row)
        between = "\n\n" if len(self.rows) > 1 else ""
        return f"{between}{heading}\n\n{text}"


def _found(said: _Said, cited: Sequence[NodeWithScore]) -> Found:
    if is_closest(said.text):
        return "closest"
    if cited:
        return "found"
    return "nothing" if says_nothing(said.text) else "uncited"


def _pages(cited: Sequence[NodeWithScore]) -> tuple[tuple[str, ...], str]:
    """The labels of the pages that are cited, each once and in the order of the document, and what such a page is called."""
    in_order = sorted(cited, key=lambda found: found.node.start_char_idx or 0)
    labels = [str(found.node.metadata["page_label"]) for found in in_order if found.node.metadata.get("page_label") is not None]
    word = next((str(found.node.metadata["page_word"]) for found in cited if "page_word" in found.node.metadata), "page")
    return tuple(dict.fromkeys(labels)), word
