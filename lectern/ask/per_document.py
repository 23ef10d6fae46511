"""One answer per document, each from the best passages of that document, as the rows of a table."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing
from contextvars import copy_context
from dataclasses import dataclass
from threading import Event

from lectern.ask.citation_numbers import Citations
from lectern.ask.read_everything import judge_reply
from lectern.schema import FileAnswer, FileOutcome
from ragcore.errors import RagError
from ragcore.extractive.fixed_replies import NOTHING_FOUND, in_language_of
from ragcore.extractive.summary import heading_of
from ragcore.observe import Span, finish, start, stream_in, within
from ragcore.query_engine.base import QueryEngine
from ragcore.response_synthesizers.answer import AnswerStream
from ragcore.response_synthesizers.base import count_calls
from ragcore.response_synthesizers.parallel_calls import GRACE, HEARTBEAT
from ragcore.response_synthesizers.progress import PartialAnswer, Progress
from ragcore.response_synthesizers.synthesizer import WORKERS
from ragcore.schema import NodeWithScore, Outcome


@dataclass(frozen=True, slots=True)
class _Answer:
    """The answer of one document, in which [n] is `nodes[n - 1]`, or the error."""

    text: str
    nodes: Sequence[NodeWithScore] = ()
    outcome: Outcome = "answer"
    error: RagError | None = None


class AnswerPerDocument(AnswerStream):
    """Streams the answers below each other, and adds each to `rows`, in the order of `files`, names by id.

    `source_nodes` are the passages that the answers cite, [n] the n-th. At most `workers` documents answer at
    once. A document that fails is a row with the error. Closing the stream stops the running questions.
    """

    def __init__(
        self,
        question: str,
        files: Mapping[str, str],
        engine_of: Callable[[str], QueryEngine],
        *,
        workers: int = WORKERS,
    ) -> None:
        self.rows: tuple[FileAnswer, ...] = ()
        self._question = question
        self._files = dict(files)
        self._engine_of = engine_of
        self._workers = workers
        self._citations = Citations()
        self._read: list[NodeWithScore] = []
        step = start("query", question=question, engine=type(self).__name__, documents=len(files))
        super().__init__(stream_in(step, count_calls(step, self._answers())), trace=step)

    def progress(self) -> Progress:
        """Counts documents."""
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
        pool = ThreadPoolExecutor(
            max_workers=max(1, min(self._workers, len(steps))), thread_name_prefix="document"
        )
        futures = [
            pool.submit(copy_context().run, self._ask, step, file_id, stopped)
            for step, file_id in zip(steps, self._files, strict=True)
        ]
        try:
            for name, future in zip(self._files.values(), futures, strict=True):
                while not wait([future], timeout=HEARTBEAT).done:
                    yield ""
                yield self._add_row(name, future.result())
        finally:
            stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)
            wait(futures, timeout=GRACE)
            for step in steps:
                if step.seconds < 0:
                    step.note(never_begun=True)
                    finish(step)

    def _ask(self, step: Span, file_id: str, stopped: Event) -> _Answer:
        try:
            with within(step):
                answer = self._engine_of(file_id).stream_query(self._question)
                with closing(answer):
                    for _piece in answer:
                        if stopped.is_set():
                            break
                return _Answer(answer.text.strip(), answer.source_nodes, answer.outcome)
        except RagError as error:
            return _Answer("", error=error)

    def _add_row(self, name: str, answer: _Answer) -> str:
        """Adds the row of a document, and returns it as text."""
        known = len(self.source_nodes)
        heading = heading_of(name)
        self._read += answer.nodes
        if answer.error is not None:
            text = answer.error.what
            row = FileAnswer(name, text, "failed", hint=answer.error.hint)
        else:
            without_heading = answer.text.removeprefix(heading).lstrip()  # a summary begins with its heading
            text = self._citations.renumber(without_heading, answer.nodes)
            self.source_nodes = tuple(self._citations.cited)
            cited = self.source_nodes[known:]
            row = _row(name, text, answer.outcome, cited)
        self.rows = (*self.rows, row)
        between = "\n\n" if len(self.rows) > 1 else ""
        return f"{between}{heading}\n\n{text}"


def _row(name: str, text: str, outcome: Outcome, cited: Sequence[NodeWithScore]) -> FileAnswer:
    """`outcome` as the engine reports it; a language model reports "answer"."""
    pages, page_word = _pages(cited)
    if outcome == "closest":
        notice, _, text = text.partition("\n\n")
        return FileAnswer(name, text, "closest", pages, page_word, notice=notice)
    if outcome == "nothing":
        return FileAnswer(name, "", "nothing", pages, page_word, notice=text)
    found: FileOutcome = "found"
    if not cited:
        found = "nothing" if judge_reply(PartialAnswer(text, None)) == "nothing" else "uncited"
    return FileAnswer(name, text, found, pages, page_word)


def _pages(cited: Sequence[NodeWithScore]) -> tuple[tuple[str, ...], str]:
    """The labels of the cited pages in order, and the word for such a page."""
    metadata = [hit.node.metadata for hit in sorted(cited, key=lambda hit: hit.node.start_char_idx or 0)]
    labels = [str(each["page_label"]) for each in metadata if each.get("page_label") is not None]
    word = next(
        (str(hit.node.metadata["page_word"]) for hit in cited if "page_word" in hit.node.metadata), "page"
    )
    return tuple(dict.fromkeys(labels)), word
