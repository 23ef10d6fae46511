"""Asks Lectern questions with its default settings. Each result is a row, a plain dictionary that is stored
as JSON.

Rows are appended to a file at once, so that a run may stop anywhere and continue later, and judging needs no
model.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.datasets.data_set import DataSet
from benchmarks.datasets.index import open_index
from benchmarks.datasets.settings import setting_of
from benchmarks.reader import WORK
from benchmarks.written_answers.model_server import CALL_SECONDS, WINDOW, ModelServer
from lectern.library import Library
from lectern.models import open_llm
from lectern.runs.answer_runs import AnswerRuns
from lectern.schema import Ask, Message, Retrieval
from lectern.settings import LLMSettings
from ragcore.llms.base import LLM
from ragcore.observe import Span

Row = dict[str, Any]
Questions = list[tuple[str, Callable[[], Row]]]  # a key, and what makes its row


class Answers:
    """The rows of a part, in a file of its own; `key` tells them apart. Rows of another model are refused."""

    def __init__(self, folder: Path, part: str, model: str, deadline: float) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path, self._model, self._deadline = folder / f"{part}.jsonl", model, deadline
        self.rows: dict[str, Row] = {row["key"]: row for row in read_rows(folder, part)}
        if others := {row["model"] for row in self.rows.values()} - {model, ""}:
            raise SystemExit(
                f"{self._path} has answers of {', '.join(others)}, not of {model}: name another folder "
                "with --answers"
            )

    def fill(self, questions: Questions) -> list[Row]:
        """The rows of these keys. Asks the missing questions until the deadline."""
        for key, answer in questions:
            if key not in self.rows and time.monotonic() < self._deadline:
                row = {"key": key, **answer(), "model": self._model}
                with self._path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row, ensure_ascii=False) + "\n")
                self.rows[key] = row
                print(f"    {self._path.stem} {key}: {row.get('seconds', 0):.0f} s", flush=True)
        return [self.rows[key] for key, _ in questions if key in self.rows]


def read_rows(folder: Path, part: str) -> list[Row]:
    path = folder / f"{part}.jsonl"
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


def language_model(server: ModelServer, *, calls_functions: bool = False) -> LLM:
    """As the settings open it, with their defaults; only the time-out is longer, as speed is not what is
    measured."""
    settings = LLMSettings(
        provider="openai_compatible", base_url=server.url, model=server.model, timeout=CALL_SECONDS,
        context_window=WINDOW, calls_functions=calls_functions,
    )  # fmt: skip
    return open_llm(settings, "")


class Asker:
    """Asks one library. `passages` is the number per answer; None is the application's default."""

    def __init__(self, library: Library, server: ModelServer, passages: int | None) -> None:
        self._library, self._server, self._runs = library, server, AnswerRuns(library)
        self._default_ask = Ask("") if passages is None else Ask("", top_k=passages)

    def default_ask(self, question: str) -> Ask:
        return replace(self._default_ask, question=question)

    def ask(
        self,
        question: str,
        *,
        before: Sequence[str] = (),
        mode: str = "",
        verdict: bool = False,
        weaker: bool = False,
    ) -> Row:
        """In a conversation of its own, after the questions `before`; or outside of any, by a response mode.
        `weaker`: always with the full number of passages, even if some are far weaker than the best."""
        conversation = self._library.conversations.create().id
        for earlier in before:
            self._wait_for_answer(conversation, self.default_ask(earlier))
        ask = self.default_ask(question)
        if mode:
            ask = replace(ask, chat_mode=None, response_mode=mode)
        message = self._wait_for_answer(conversation, replace(ask, retrieval=Retrieval(weaker=weaker)))
        trace = self._library.conversations.trace(message.id)
        checked = self._library.checks.of(conversation).get(message.id, [])
        self._library.conversations.delete(conversation)
        row = row_of(message, trace)
        # "not in your documents"
        row["absent"] = [[one.start, one.end] for one in checked if one.verdict == "absent"]
        row["marked"] = [[one.start, one.end] for one in checked if one.verdict in ("absent", "weak")]
        if verdict:
            row["verdict"] = self._server.verdict(row["messages"]) if row["messages"] else None
        return {"question": question, **row}

    def measure_latency(self, question: str) -> Row:
        """Seconds until the places of the passages are known, and from then until the first word; and what
        the server spent on reading the prompt."""
        conversation = self._library.conversations.create().id
        read, began = self._server.prompt_seconds(), time.perf_counter()
        run = self._runs.start(conversation, self.default_ask(question))
        while not run.sources and not run.is_finished:
            time.sleep(0.005)
        place = time.perf_counter()
        while not run.text and not run.is_finished:
            time.sleep(0.005)
        word = time.perf_counter()
        run.wait()
        spent = None if read is None else (self._server.prompt_seconds() or 0.0) - read
        self._library.conversations.delete(conversation)
        return {
            "question": question,
            "place": place - began,
            "word": word - place,
            "reading": spent,
            "seconds": word - began,
        }

    def _wait_for_answer(self, conversation: str, ask: Ask) -> Message:
        run = self._runs.start(conversation, ask)
        run.wait()
        message = self._library.conversations.message(run.message_id)
        assert message is not None
        return message


def row_of(message: Message, trace: Span | None) -> Row:
    """The row for the judges: the text, its sources as on the screen, and its calls."""
    calls = [step for step in (trace.spans("llm") if trace else ()) if "reply" in step.facts]
    facts = message.facts
    return {
        "answer": message.text,
        "state": message.state,
        "problem": message.problem.what if message.problem else "",
        "passages": [
            {
                "number": each.number,
                "text": each.text,
                "document": each.file_id,
                "place": each.place,
                "score": each.score,
            }
            for each in message.sources
        ],
        "messages": _messages(calls[-1]) if calls else [],
        "reply": calls[-1].facts["reply"] if calls else "",
        "replies": [call.facts["reply"] for call in calls],
        "instructions": sorted({part for call in calls for part in _instructions(call)}),
        "outcome": facts.outcome if facts else "answer",
        "calls": len(calls),
        "seconds": facts.seconds if facts else 0.0,
        "prompt_tokens": facts.prompt_tokens if facts else 0,
        "completion_tokens": facts.completion_tokens if facts else 0,
    }


def _messages(call: Span) -> list[list[str]]:
    return [
        [each["role"], "".join(part["text"] for part in each["parts"])] for each in call.facts["messages"]
    ]


def _instructions(call: Span) -> Iterator[str]:
    for message in call.facts["messages"]:
        yield from (part["text"] for part in message["parts"] if part["origin"] == "instructions")


@contextmanager
def library_of(data_set: DataSet, server: ModelServer) -> Iterator[Library]:
    """A library of these documents with the model. Its index is cached."""
    with open_index(data_set, setting_of("default"), WORK, print) as opened:
        library = Library(opened.library.folder, embedder=opened.embedder, llm=language_model(server))
        try:
            yield library
        finally:
            library.close()
