"""Asks the questions of a conversation again in other chat modes, side by side. Each mode has the history of
its own answers.

Each mode is a lane: a conversation of kind "replay", which is not in the lists and is deleted with the
replayed conversation. So its answers have passages, facts and traces like others, are stored while they grow,
and survive a reload.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, get_args

from lectern.library import Library
from lectern.runs.answer_runs import AnswerRuns
from lectern.runs.cost_estimate import at_most, basis, together
from lectern.schema import AnswerFacts, Ask, Conversation, Message, Price, Source, State
from lectern.settings import ChatMode
from ragcore.errors import InputError, Problem, RagError
from ragcore.extractive.answerer import Writer
from ragcore.extractive.quoter import Quoter
from ragcore.observe import Span, condensed_question
from ragcore.schema import new_id

logger = logging.getLogger(__name__)

MODES: tuple[ChatMode, ...] = get_args(ChatMode)
MAX_LANES = 3  # in progress at the same time

Lack = Literal["model", "functions"]


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A call of a tool; `arguments` are the model's JSON."""

    tool: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps of an answer."""

    rewritten: str | None = None  # the question of the retrieval, if it is another one
    passages: int | None = None  # number of different passages; None without a search
    tools: tuple[ToolUse, ...] = ()
    worked_as: str = ""  # the mode that answered, which differs for "best"; "" while unknown


@dataclass(frozen=True, slots=True)
class Cell:
    """An answer in one mode. `steps` is None for an incomplete answer."""

    message_id: str
    question: str
    text: str
    state: State
    steps: Steps | None = None
    sources: tuple[Source, ...] = ()
    facts: AnswerFacts | None = None
    problem: Problem | None = None


@dataclass(frozen=True, slots=True)
class Lane:
    """The answers of one mode, in the order of the questions."""

    mode: str
    conversation_id: str
    cells: tuple[Cell, ...]

    @property
    def calls(self) -> int:
        return sum(cell.facts.calls for cell in self.cells if cell.facts)

    @property
    def tokens(self) -> int:
        return sum(
            cell.facts.prompt_tokens + cell.facts.completion_tokens for cell in self.cells if cell.facts
        )

    @property
    def seconds(self) -> float:
        return sum(cell.facts.seconds for cell in self.cells if cell.facts)

    @property
    def is_broken(self) -> bool:
        """Whether its last answer failed or was stopped, so that the next questions were not asked."""
        return bool(self.cells) and self.cells[-1].state in ("failed", "stopped", "interrupted")


@dataclass(frozen=True, slots=True)
class Turns:
    """The questions to ask in a lane, in order, after a retry of the answer `again`, if any."""

    lane_id: str
    asks: Sequence[Ask]
    again: str = ""


@dataclass(frozen=True, slots=True)
class Replay:
    """`questions` are the rows, `lanes` the columns. A lane may have fewer answers than there are
    questions."""

    questions: tuple[str, ...]
    lanes: tuple[Lane, ...]
    running: bool


def find_lack(mode: str, writer: Writer) -> Lack | None:
    """What `mode` needs and this writer does not have; None if nothing."""
    if isinstance(writer, Quoter):
        return "model" if mode == "simple" else None
    if mode == "openai" and not writer.metadata.is_function_calling_model:
        return "functions"
    return None


def steps_of(trace: Span) -> Steps:
    """The steps in the trace of a complete answer."""
    ids = {
        hit["id"]
        for step in trace.spans("retrieve")
        for hit in step.facts.get("followed", step.facts.get("found", ()))
    }
    condensed = condensed_question(trace)
    return Steps(
        rewritten=condensed if condensed != trace.facts.get("question") else None,
        passages=len(ids) if trace.spans("retrieve") else None,
        tools=tuple(
            ToolUse(str(step.facts["tool"]), str(step.facts["arguments"])) for step in trace.spans("tool")
        ),
        worked_as=str(trace.facts.get("mode", "")),
    )


def _in_mode(ask: Ask, mode: str) -> Ask:
    return replace(ask, chat_mode=mode, extractive=False, reading="best")


class Replays:
    """The replays of a library, and those that run in this process. A new replay of a conversation replaces
    the old one."""

    def __init__(self, library: Library, runs: AnswerRuns) -> None:
        self._library = library
        self._runs = runs
        self._lock = threading.Lock()
        self._stops: dict[str, threading.Event] = {}  # by conversation
        # by message and mode, for one basis
        self._prices: tuple[Hashable, dict[tuple[str, str], Price]] = (None, {})
        # by message, because a complete answer of a replay does not change
        self._steps: dict[str, Steps] = {}

    def questions(self, conversation_id: str) -> tuple[Ask, ...]:
        """The questions of a conversation that have an answer."""
        return tuple(message.ask for message in self._answers(conversation_id) if message.ask)

    def _answers(self, conversation_id: str) -> list[Message]:
        messages = self._library.conversations.messages(conversation_id)
        return [
            message for message in messages if message.ask is not None and message.ask.chat_mode is not None
        ]

    def price(self, conversation_id: str, modes: Sequence[str]) -> Price:
        """An estimate of a replay. Of the questions after the first, the middle one counts for all, because
        the history grows evenly."""
        answers, now = self._answers(conversation_id), basis(self._library)
        if self._prices[0] != now:
            self._prices = now, {}
        first, later = answers[:1], answers[1:]
        counted = [*first, *[later[len(later) // 2]] * len(later)] if later else first
        return together([self._price(message, mode) for mode in modes for message in counted])

    def _price(self, message: Message, mode: str) -> Price:
        prices, key = self._prices[1], (message.id, mode)
        if key not in prices and message.ask is not None:
            ask = _in_mode(message.ask, mode)
            prices[key] = at_most(
                self._library, ask, self._runs.history(message.conversation_id, before=message.id)
            )
        return prices[key]

    def start(self, conversation_id: str, modes: Sequence[str]) -> None:
        """Replay in each of `modes`, and delete the old replay. InputError without a question or a mode, or
        during a replay."""
        asks = self.questions(conversation_id)
        if not asks or not modes:
            raise InputError(
                "There is nothing to replay." if not asks else "No chat mode is chosen.",
                hint="Ask something in the chat first." if not asks else "Choose at least one.",
            )
        conversations = self._library.conversations
        with self._lock:
            self._must_be_idle(conversation_id)
            stopped = self._stops[conversation_id] = threading.Event()
        try:
            for lane in self._lanes(conversation_id):
                conversations.delete(lane.id)
            ordered = [mode for mode in MODES if mode in modes]
            name = new_id()[:8]  # new, because another process may still write to the old replay
            ids = [
                conversations.create("replay", id_=f"{conversation_id}.{name}.{mode}").id for mode in ordered
            ]
        except RagError:
            del self._stops[conversation_id]
            raise
        turns = [
            Turns(id_, [_in_mode(ask, mode) for ask in asks]) for id_, mode in zip(ids, ordered, strict=True)
        ]
        self._begin(conversation_id, turns, stopped)

    def go_on(self, conversation_id: str, mode: str) -> None:
        """Retry the last answer of this lane, which failed or was stopped, and ask the next questions.
        InputError during a replay, or if there is nothing to do."""
        with self._lock:
            self._must_be_idle(conversation_id)
            turns = self._remaining_turns(conversation_id, mode)
            stopped = self._stops[conversation_id] = threading.Event()
        self._begin(conversation_id, [turns], stopped)

    def _must_be_idle(self, conversation_id: str) -> None:
        if conversation_id in self._stops:
            raise InputError("This conversation is already being replayed.", hint="Wait for it, or stop it.")

    def _remaining_turns(self, conversation_id: str, mode: str) -> Turns:
        """If the conversation has changed since the replay, only the retry."""
        replay = self.get(conversation_id)
        lane = next((lane for lane in replay.lanes if lane.mode == mode), None) if replay else None
        if lane is None or not lane.is_broken:
            raise InputError("There is nothing to try again.", hint="Replay the conversation again.")
        asks, count = self.questions(conversation_id), len(lane.cells)
        same = [ask.question for ask in asks[:count]] == [cell.question for cell in lane.cells]
        return Turns(
            lane.conversation_id,
            [_in_mode(ask, mode) for ask in asks[count:] if same],
            lane.cells[-1].message_id,
        )

    def _begin(self, conversation_id: str, lanes: Sequence[Turns], stopped: threading.Event) -> None:
        play = (conversation_id, deque(lanes), stopped)
        threading.Thread(target=self._play, args=play, name="replay", daemon=True).start()

    def stop(self, conversation_id: str) -> None:
        """Stop a replay. Its answers so far stay. Returns at once."""
        stopped = self._stops.get(conversation_id)
        if stopped is not None:
            stopped.set()
        for lane in self._lanes(conversation_id):
            for message in self._library.conversations.messages(lane.id):
                if message.state == "writing":
                    self._runs.stop(message.id)

    @property
    def busy(self) -> bool:
        """Whether a replay runs in this process."""
        return bool(self._stops)

    def stop_all(self) -> None:
        """Ask no more questions in any replay. `AnswerRuns.stop_all` stops the current answers."""
        for stopped in list(self._stops.values()):
            stopped.set()

    def get(self, conversation_id: str) -> Replay | None:
        """The replay of a conversation so far, or None."""
        conversations = self._lanes(conversation_id)
        if not conversations:
            return None
        running = conversation_id in self._stops
        lanes = tuple(
            Lane(lane.id.rpartition(".")[2], lane.id, self._cells(lane.id)) for lane in conversations
        )
        questions = max((tuple(cell.question for cell in lane.cells) for lane in lanes), key=len)
        if running:
            questions += tuple(ask.question for ask in self.questions(conversation_id))[len(questions) :]
        writing = any(cell.state == "writing" for lane in lanes for cell in lane.cells)
        order: dict[str, int] = {mode: place for place, mode in enumerate(MODES)}
        return Replay(
            questions,
            tuple(sorted(lanes, key=lambda lane: order.get(lane.mode, len(order)))),
            running or writing,
        )

    def _lanes(self, conversation_id: str) -> list[Conversation]:
        return self._library.conversations.list_replays(conversation_id)

    def _cells(self, lane_id: str) -> tuple[Cell, ...]:
        run = self._runs.get(lane_id)
        cells = []
        question = ""
        for message in self._library.conversations.messages(lane_id):
            if message.role == "user":
                question = message.text
                continue
            growing = run if run is not None and run.message_id == message.id else None
            cells.append(
                Cell(
                    message.id,
                    question,
                    growing.text if growing else message.text,
                    message.state,
                    self._steps_of(message),
                    growing.sources if growing else message.sources,
                    message.facts,
                    message.problem,
                )
            )
        return tuple(cells)

    def _steps_of(self, message: Message) -> Steps | None:
        if message.state != "done":
            return None
        if (
            message.id not in self._steps
            and (trace := self._library.conversations.trace(message.id)) is not None
        ):
            self._steps[message.id] = steps_of(trace)
        return self._steps.get(message.id)

    def _play(self, conversation_id: str, waiting: deque[Turns], stopped: threading.Event) -> None:
        """Ask all lanes, MAX_LANES at a time."""
        threads = [
            threading.Thread(target=self._take, args=(waiting, stopped), name="replay-lane", daemon=True)
            for _ in range(min(MAX_LANES, len(waiting)))
        ]
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        finally:
            del self._stops[conversation_id]

    def _take(self, waiting: deque[Turns], stopped: threading.Event) -> None:
        while waiting and not stopped.is_set():
            try:
                turns = waiting.popleft()
            except IndexError:  # another thread took the last one
                return
            try:
                self._ask(turns, stopped)
            except RagError as error:  # the conversation was deleted, or the database cannot be reached
                logger.warning("the replay %s ended early: %s", turns.lane_id, error)

    def _ask(self, turns: Turns, stopped: threading.Event) -> None:
        """Ask one question after another, until an answer fails or is stopped."""
        retry = [partial(self._runs.retry, turns.again)] if turns.again else []
        for begin in [*retry, *(partial(self._runs.start, turns.lane_id, ask) for ask in turns.asks)]:
            if stopped.is_set():
                return
            run = begin()
            if stopped.is_set():  # `stop` was called before it could see this run
                run.stop()
            run.wait()
            message = self._library.conversations.message(run.message_id)
            if message is None or message.state != "done":
                return
