"""Stage mode: answers about the sample documents, recorded as they were given and played again at their original pace, so that
a demonstration cannot fail. Playing one needs no model, no embedder, no network, and not even the sample.

A recording is a JSON file in sample/recorded, made by `lectern record` (sample/record.py) with whatever model is set; its facts
name that model.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path

from lectern.jobs.intake import SAMPLE
from lectern.library import Library
from lectern.runs.answer_runs import AnswerRuns, Run, SharedPassages
from lectern.schema import AnswerFacts, Ask, Message, Price, Source, State
from ragcore.errors import DamagedFileError
from ragcore.extractive.sentence_support import CheckedSentence
from ragcore.observe import Span
from ragcore.schema import ChatMessage, MessageRole

FORM = 2
RECORDED = SAMPLE.parent / "recorded"


@dataclass(frozen=True, slots=True)
class Recording:
    """`before`: the questions of the same conversation that had been answered. `pieces`: seconds since the question, and what
    was said then. `text`: the whole answer with its checked citations; `sentences`: the verdict on each of its
    sentences. `made`: seconds since the epoch."""

    made: float
    before: tuple[str, ...]
    ask: Ask
    pieces: tuple[tuple[float, str], ...]
    sources: tuple[Source, ...]
    facts: AnswerFacts
    trace: Span
    text: str
    sentences: tuple[CheckedSentence, ...] = ()

    @property
    def name(self) -> str:
        """What its file is called: unlike others, and alike when it is made again with the same model."""
        how = f"chat-{self.ask.chat_mode}" if self.ask.chat_mode else f"query-{self.ask.response_mode}"
        words = re.sub(r"[^a-z0-9]+", "-", f"{self.facts.model} {how} {len(self.before) + 1}".lower())
        return f"{words.strip('-')}.json"

    def to_json(self) -> str:
        kept = {
            "form": FORM,
            "made": self.made,
            "before": self.before,
            "ask": json.loads(self.ask.to_json()),
            "pieces": self.pieces,
            "sources": [asdict(source) for source in self.sources],
            "facts": asdict(self.facts),
            "trace": self.trace.to_dict(),
            "text": self.text,
            "sentences": [asdict(sentence) for sentence in self.sentences],
        }
        return json.dumps(kept, ensure_ascii=False, separators=(",", ":")) + "\n"

    @classmethod
    def from_json(cls, text: str, name: str) -> Recording:
        """DamagedFileError, which calls it `name`, for one of another version or form."""
        try:
            kept = json.loads(text)
            if kept["form"] != FORM:
                raise ValueError(f"its form is {kept['form']}")
            return cls(
                made=float(kept["made"]),
                before=tuple(kept["before"]),
                ask=Ask.from_json(json.dumps(kept["ask"])),
                pieces=tuple((float(at), str(piece)) for at, piece in kept["pieces"]),
                sources=tuple(Source(**source) for source in kept["sources"]),
                facts=AnswerFacts.from_json(json.dumps(kept["facts"])),
                trace=Span.from_dict(kept["trace"]),
                text=str(kept["text"]),
                sentences=tuple(CheckedSentence(**sentence) for sentence in kept["sentences"]),
            )
        except (ValueError, KeyError, TypeError) as error:
            raise DamagedFileError(
                f"The recording {name} cannot be read.", hint="Make the recordings again, with: lectern record"
            ) from error


@lru_cache(maxsize=4)
def recordings(folder: Path = RECORDED) -> tuple[Recording, ...]:
    """Those in a folder, read once, the newest first; the extractive reader's last. DamagedFileError."""
    found = [Recording.from_json(path.read_text("utf-8"), path.name) for path in sorted(folder.glob("*.json"))]
    return tuple(sorted(found, key=lambda one: (one.facts.extractive, -one.made)))


def recorded(ask: Ask, before: Sequence[str], among: Sequence[Recording]) -> Recording | None:
    """The recording of the same question, asked in the same way, about all documents, after the same questions."""
    if ask.file_ids is not None or ask.reading != "best":
        return None
    for one in among:
        same_way = one.ask.chat_mode == ask.chat_mode and (
            ask.chat_mode is not None or one.ask.response_mode == ask.response_mode
        )
        if same_way and _plain(one.ask.question) == _plain(ask.question) and _follows(one, before):
            return one
    return None


def to_ask(among: Sequence[Recording], before: Sequence[str], *, chat: bool, mode: str | None = None) -> list[str]:
    """The recorded questions that could be asked now, each once; in a chat in this `mode` alone, where it is given."""
    fitting = (
        one.ask.question
        for one in among
        if (one.ask.chat_mode is not None) == chat
        and (mode is None or mode in (one.ask.chat_mode, one.ask.response_mode))
        and _follows(one, before)
    )
    return list(dict.fromkeys(fitting))


def recorded_price(library: Library, ask: Ask, history: Sequence[ChatMessage] = ()) -> Price | None:
    """What the answer took that would be played; None where the question would be answered as usual."""
    before = [message.content for message in history if message.role is MessageRole.USER]
    found = recorded(ask, before, recordings()) if library.settings.stage else None
    if found is None:
        return None
    facts = found.facts
    return Price(facts.calls, facts.prompt_tokens, facts.completion_tokens, facts.seconds, facts.money)


def _follows(recording: Recording, before: Sequence[str]) -> bool:
    return recording.ask.chat_mode is None or tuple(map(_plain, recording.before)) == tuple(map(_plain, before))


def _plain(question: str) -> str:
    return " ".join(question.casefold().split())


def paced(pieces: Sequence[tuple[float, str]], clock: Callable[[], float], pause: Callable[[float], object]) -> Iterator[str]:
    """Each piece at its time, counted from now; one that is late comes at once."""
    began = clock()
    for at, piece in pieces:
        left = began + at - clock()
        if left > 0:
            pause(left)
        yield piece


class PlayedRun(Run):
    """A recording that is played: to whoever follows it, an answer being given."""

    def __init__(
        self,
        library: Library,
        message: Message,
        recording: Recording,
        expected: Price | None = None,
        same: SharedPassages | None = None,
    ) -> None:
        self._recording = recording
        super().__init__(library, message, [], expected, same)

    def _stream_answer(self) -> None:
        sources = located(self._recording.sources, self._library)
        conversations = self._library.conversations
        if self._same is not None:
            conversations.note_found(self.conversation_id, sources)
        conversations.note_ask(self.message_id, self._recording.ask)
        with self._changed:
            self.sources = sources
        for piece in paced(self._recording.pieces, time.perf_counter, self.wait):
            with self._changed:
                if self.finished:
                    return
                self.text += piece
                self._changed.notify_all()
        with self._changed:
            if not self.finished:
                self._attributed = self._recording.text
        if self._recording.sentences:
            self._library.checks.keep(self.message_id, self._recording.text, self._recording.sentences)

    def _note(self, state: State) -> None:
        recording = self._recording
        self._facts = replace(recording.facts, recorded=recording.made, expected=self._expected)
        self._trace = recording.trace if state == "done" else None


class RecordedOrLiveRuns(AnswerRuns):
    """As AnswerRuns; in stage mode, a question that was recorded is answered by its recording."""

    def __init__(self, library: Library, folder: Path = RECORDED) -> None:
        super().__init__(library)
        self._folder = folder

    def _run(self, message: Message, history: list[ChatMessage], expected: Price | None, same: SharedPassages | None) -> Run:
        recording = self._recording(message) if self._library.settings.stage else None
        if recording is None:
            return super()._run(message, history, expected, same)
        return PlayedRun(self._library, message, recording, expected, same)

    def _recording(self, message: Message) -> Recording | None:
        before = questions(self._library.conversations.messages(message.conversation_id), message.id)
        return recorded(message.ask, before, recordings(self._folder)) if message.ask else None


def questions(messages: Sequence[Message], before: str | None = None) -> list[str]:
    """What was asked in a conversation; with the id of an answer, before its question."""
    asked: list[str] = []
    for message in messages:
        if message.id == before:
            return asked[:-1]
        if message.role == "user":
            asked.append(message.text)
    return asked


def located(sources: Sequence[Source], library: Library) -> tuple[Source, ...]:
    """The sources as those of the documents of the same names that are in the library; others stay as they were recorded."""
    here = {file.name: file.id for file in library.files.all() if file.ready}
    return tuple(replace(source, file_id=here.get(source.file_name, source.file_id)) for source in sources)
