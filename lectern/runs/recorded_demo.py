"""Stage mode: answers about the sample documents are recorded and played at their original pace, so that a
demonstration cannot fail. Playing needs no model, no embedder, no network and no sample.

A recording is a JSON file in sample/recorded. `lectern record` (sample/record.py) writes it with the current
model, which its facts name.
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
from lectern.runs.answer_runs import AnswerRuns, Run
from lectern.runs.shared_passages import SharedPassages
from lectern.schema import AnswerFacts, Ask, Message, Price, Source, State
from ragcore.errors import DamagedFileError
from ragcore.extractive.sentence_support import CheckedSentence
from ragcore.observe import Span
from ragcore.schema import ChatMessage, MessageRole

FORM = 2  # version of the JSON of recordings; others are not read
RECORDED = SAMPLE.parent / "recorded"


@dataclass(frozen=True, slots=True)
class Recording:
    """A recorded answer and its question, which follows the questions `before`."""

    created: float  # seconds since the epoch
    before: tuple[str, ...]
    ask: Ask
    pieces: tuple[tuple[float, str], ...]  # seconds since the question, and text
    sources: tuple[Source, ...]
    facts: AnswerFacts
    trace: Span
    text: str  # the whole answer with its checked citations
    sentences: tuple[CheckedSentence, ...] = ()

    @property
    def name(self) -> str:
        """A unique file name, the same each time it is recorded with the same model."""
        how = f"chat-{self.ask.chat_mode}" if self.ask.chat_mode else f"query-{self.ask.response_mode}"
        words = re.sub(r"[^a-z0-9]+", "-", f"{self.facts.model} {how} {len(self.before) + 1}".lower())
        return f"{words.strip('-')}.json"

    def to_json(self) -> str:
        value = {
            "form": FORM,
            "made": self.created,
            "before": self.before,
            "ask": json.loads(self.ask.to_json()),
            "pieces": self.pieces,
            "sources": [asdict(source) for source in self.sources],
            "facts": asdict(self.facts),
            "trace": self.trace.to_dict(),
            "text": self.text,
            "sentences": [asdict(sentence) for sentence in self.sentences],
        }
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"

    @classmethod
    def from_json(cls, text: str, name: str) -> Recording:
        """DamagedFileError, with `name` in its message, for another FORM or wrong content."""
        try:
            value = json.loads(text)
            if value["form"] != FORM:
                raise ValueError(f"its form is {value['form']}")
            return cls(
                created=float(value["made"]),
                before=tuple(value["before"]),
                ask=Ask.from_json(json.dumps(value["ask"])),
                pieces=tuple((float(at), str(piece)) for at, piece in value["pieces"]),
                sources=tuple(Source(**source) for source in value["sources"]),
                facts=AnswerFacts.from_json(json.dumps(value["facts"])),
                trace=Span.from_dict(value["trace"]),
                text=str(value["text"]),
                sentences=tuple(CheckedSentence(**sentence) for sentence in value["sentences"]),
            )
        except (ValueError, KeyError, TypeError) as error:
            raise DamagedFileError(
                f"The recording {name} cannot be read.",
                hint="Make the recordings again, with: lectern record",
            ) from error


@lru_cache(maxsize=4)
def recordings(folder: Path = RECORDED) -> tuple[Recording, ...]:
    """The recordings of a folder, the newest first; those without a language model last. DamagedFileError."""
    recordings = [
        Recording.from_json(path.read_text("utf-8"), path.name) for path in sorted(folder.glob("*.json"))
    ]
    return tuple(sorted(recordings, key=lambda recording: (recording.facts.extractive, -recording.created)))


def find_recording(ask: Ask, before: Sequence[str], among: Sequence[Recording]) -> Recording | None:
    """The recording of the same question in the same mode, about all documents, after the same questions."""
    if ask.file_ids is not None or ask.reading != "best":
        return None
    for one in among:
        same_mode = one.ask.chat_mode == ask.chat_mode and (
            ask.chat_mode is not None or one.ask.response_mode == ask.response_mode
        )
        if same_mode and _normalize(one.ask.question) == _normalize(ask.question) and _follows(one, before):
            return one
    return None


def next_questions(
    among: Sequence[Recording], before: Sequence[str], *, chat: bool, mode: str | None = None
) -> list[str]:
    """The recorded questions that can be asked now, each once; with `mode`, only those in this mode."""
    questions = (
        one.ask.question
        for one in among
        if (one.ask.chat_mode is not None) == chat
        and (mode is None or mode in (one.ask.chat_mode, one.ask.response_mode))
        and _follows(one, before)
    )
    return list(dict.fromkeys(questions))


def recorded_price(library: Library, ask: Ask, history: Sequence[ChatMessage] = ()) -> Price | None:
    """The price of the recorded answer; None if the question would be answered as usual."""
    before = [message.content for message in history if message.role is MessageRole.USER]
    recording = find_recording(ask, before, recordings()) if library.settings.stage else None
    if recording is None:
        return None
    facts = recording.facts
    return Price(facts.calls, facts.prompt_tokens, facts.completion_tokens, facts.seconds, facts.money)


def _follows(recording: Recording, before: Sequence[str]) -> bool:
    return recording.ask.chat_mode is None or list(map(_normalize, recording.before)) == list(
        map(_normalize, before)
    )


def _normalize(question: str) -> str:
    return " ".join(question.casefold().split())


def play(
    pieces: Sequence[tuple[float, str]], clock: Callable[[], float], pause: Callable[[float], object]
) -> Iterator[str]:
    """Yields each piece at its time from now; a late piece at once."""
    began = clock()
    for at, piece in pieces:
        seconds = began + at - clock()
        if seconds > 0:
            pause(seconds)
        yield piece


class PlayedRun(Run):
    """Plays a recording. Its followers see no difference to another answer."""

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
        sources = map_sources(self._recording.sources, self._library)
        conversations = self._library.conversations
        if self._same is not None:
            conversations.save_sources(self.conversation_id, sources)
        conversations.save_ask(self.message_id, self._recording.ask)
        with self._changed:
            self.sources = sources
        for piece in play(self._recording.pieces, time.perf_counter, self.wait):
            with self._changed:
                if self.is_finished:
                    return
                self.text += piece
                self._changed.notify_all()
        with self._changed:
            if not self.is_finished:
                self._attributed = self._recording.text
        if self._recording.sentences:
            self._library.checks.keep(self.message_id, self._recording.text, self._recording.sentences)

    def _collect_facts(self, state: State) -> None:
        recording = self._recording
        self._facts = replace(recording.facts, recorded=recording.created, expected=self._expected)
        self._trace = recording.trace if state == "done" else None


class RecordedOrLiveRuns(AnswerRuns):
    """As AnswerRuns, but in stage mode, the recording of a question is its answer."""

    def __init__(self, library: Library, folder: Path = RECORDED) -> None:
        super().__init__(library)
        self._folder = folder

    def _run(
        self,
        message: Message,
        history: list[ChatMessage],
        expected: Price | None,
        same: SharedPassages | None,
    ) -> Run:
        if self._library.settings.stage and message.ask:
            before = questions(self._library.conversations.messages(message.conversation_id), message.id)
            if recording := find_recording(message.ask, before, recordings(self._folder)):
                return PlayedRun(self._library, message, recording, expected, same)
        return super()._run(message, history, expected, same)


def questions(messages: Sequence[Message], answer_id: str | None = None) -> list[str]:
    """The questions of a conversation; with `answer_id`, those before the question of that answer."""
    texts: list[str] = []
    for message in messages:
        if message.id == answer_id:
            return texts[:-1]
        if message.role == "user":
            texts.append(message.text)
    return texts


def map_sources(sources: Sequence[Source], library: Library) -> tuple[Source, ...]:
    """Replace the file ids of sources by those of the library's documents with the same names, if there are
    any."""
    ids = {file.name: file.id for file in library.files.all() if file.ready}
    return tuple(replace(source, file_id=ids.get(source.file_name, source.file_id)) for source in sources)
