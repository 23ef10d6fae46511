"""A conversation asked once more in other ways of chatting, side by side: the same questions in order, each way with the
history of its own answers.

Each way is a lane: a conversation of kind "replay", hidden from the lists and deleted together with the one it replays. So its
answers have passages, facts and traces as any others, are written down while they grow, and outlive a reload.
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
from ragcore.llms.base import LLMMetadata
from ragcore.observe import Span, condensed_question
from ragcore.schema import new_id

logger = logging.getLogger(__name__)

MODES: tuple[ChatMode, ...] = get_args(ChatMode)
AT_ONCE = 3  # lanes that are asked at the same time

Lack = Literal["model", "functions"]


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool that was called; `arguments` are JSON as the model wrote them."""

    tool: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Steps:
    """What was done for an answer. `rewritten`: the question as it was looked up, where a call made another of it.

    `passages`: how many were found, each counted once; None when the documents were not searched. `worked_as`: the mode that
    answered, which for "best" is another. "" while it is not known.
    """

    rewritten: str | None = None
    passages: int | None = None
    tools: tuple[ToolUse, ...] = ()
    worked_as: str = ""


@dataclass(frozen=True, slots=True)
class Cell:
    """A question answered in one mode. `steps` are None until the answer is whole, and of one that failed or was stopped."""

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
    """One mode: its answers so far, in the order of the questions."""

    mode: str
    conversation_id: str
    cells: tuple[Cell, ...]

    @property
    def calls(self) -> int:
        return sum(cell.facts.calls for cell in self.cells if cell.facts)

    @property
    def tokens(self) -> int:
        """Read and written."""
        return sum(cell.facts.prompt_tokens + cell.facts.completion_tokens for cell in self.cells if cell.facts)

    @property
    def seconds(self) -> float:
        return sum(cell.facts.seconds for cell in self.cells if cell.facts)

    @property
    def is_broken(self) -> bool:
        """Whether its last answer is not whole and is not being written: what comes after it was not asked."""
        return bool(self.cells) and self.cells[-1].state in ("failed", "stopped", "interrupted")


@dataclass(frozen=True, slots=True)
class Turns:
    """What is to be asked in a lane, in order; first the answer `again`, if any, is given once more."""

    lane_id: str
    asks: Sequence[Ask]
    again: str = ""


@dataclass(frozen=True, slots=True)
class Replay:
    """`questions` are the rows, `lanes` the columns. A lane that has fewer answers was not asked further, or not yet."""

    questions: tuple[str, ...]
    lanes: tuple[Lane, ...]
    running: bool


def lacking(mode: str, model: LLMMetadata) -> Lack | None:
    """What `mode` needs that this model, or the extractive reader, is not; None when it can be asked."""
    if mode == "simple" and model.is_extractive:
        return "model"
    if mode == "openai" and not (model.is_function_calling_model or model.is_extractive):
        return "functions"
    return None


def steps_of(trace: Span) -> Steps:
    """Read from the trace of a whole answer."""
    found = {hit["id"] for step in trace.named("retrieve") for hit in step.facts.get("followed", step.facts.get("found", ()))}
    condensed = condensed_question(trace)
    return Steps(
        rewritten=condensed if condensed != trace.facts.get("question") else None,
        passages=len(found) if trace.named("retrieve") else None,
        tools=tuple(ToolUse(str(step.facts["tool"]), str(step.facts["arguments"])) for step in trace.named("tool")),
        worked_as=str(trace.facts.get("mode", "")),
    )


def _in_mode(ask: Ask, mode: str) -> Ask:
    """By the model that is set, also where one of the answers was given without it."""
    return replace(ask, chat_mode=mode, extractive=False, reading="best")


class Replays:
    """The replays of this process, and those that are kept. A conversation has one; a new one takes its place."""

    def __init__(self, library: Library, runs: AnswerRuns) -> None:
        self._library = library
        self._runs = runs
        self._lock = threading.Lock()
        self._stops: dict[str, threading.Event] = {}  # by the conversation that is being replayed
        self._priced: tuple[Hashable, dict[tuple[str, str], Price]] = (None, {})  # by message and mode, for one basis
        self._steps: dict[str, Steps] = {}  # by message; a whole answer of a replay is never made anew

    def questions(self, conversation_id: str) -> tuple[Ask, ...]:
        """What was asked in a conversation and got an answer, or part of one."""
        return tuple(message.ask for message in self._answers(conversation_id) if message.ask)

    def _answers(self, conversation_id: str) -> list[Message]:
        messages = self._library.conversations.messages(conversation_id)
        return [message for message in messages if message.ask is not None and message.ask.chat_mode is not None]

    def price(self, conversation_id: str, modes: Sequence[str]) -> Price:
        """About what replaying would take. The first question is priced, and of the others the middle one for all of them, as
        what is remembered grows evenly."""
        answers, now = self._answers(conversation_id), basis(self._library)
        if self._priced[0] != now:
            self._priced = now, {}
        priced = self._priced[1]
        return together([each for mode in modes for each in self._prices(answers, mode, priced)])

    def _prices(self, answers: Sequence[Message], mode: str, priced: dict[tuple[str, str], Price]) -> list[Price]:
        if not answers:
            return []
        first, others = answers[0], answers[1:]
        later = [self._price(others[len(others) // 2], mode, priced)] * len(others) if others else []
        return [self._price(first, mode, priced), *later]

    def _price(self, message: Message, mode: str, priced: dict[tuple[str, str], Price]) -> Price:
        known = (message.id, mode)
        if known not in priced and message.ask is not None:
            ask = _in_mode(message.ask, mode)
            priced[known] = at_most(self._library, ask, self._runs.history(message.conversation_id, before=message.id))
        return priced[known]

    def start(self, conversation_id: str, modes: Sequence[str]) -> None:
        """Ask in each of `modes`, and forget the replay before. InputError without a question or a mode, or while one runs."""
        asks = self.questions(conversation_id)
        if not asks or not modes:
            raise InputError(
                "There is nothing to replay." if not asks else "No chat mode is chosen.",
                hint="Ask something in the chat first." if not asks else "Choose at least one.",
            )
        conversations = self._library.conversations
        with self._lock:
            if conversation_id in self._stops:
                raise _running()
            stopped = self._stops[conversation_id] = threading.Event()
        try:
            for lane in self._lanes(conversation_id):
                conversations.delete(lane.id)
            ordered = [mode for mode in MODES if mode in modes]
            name = new_id()[:8]  # so that whoever still writes the one before writes into nothing
            made = [conversations.create("replay", id_=f"{conversation_id}.{name}.{mode}").id for mode in ordered]
        except RagError:
            del self._stops[conversation_id]
            raise
        self._begin(
            conversation_id,
            [Turns(id_, [_in_mode(ask, mode) for ask in asks]) for id_, mode in zip(made, ordered, strict=True)],
            stopped,
        )

    def go_on(self, conversation_id: str, mode: str) -> None:
        """Give the last answer of this lane, which failed or was broken off, once more, and ask the questions after it.
        InputError while a replay runs, or where nothing is to be done."""
        with self._lock:
            if conversation_id in self._stops:
                raise _running()
            left = self._left(conversation_id, mode)
            stopped = self._stops[conversation_id] = threading.Event()
        self._begin(conversation_id, [left], stopped)

    def _left(self, conversation_id: str, mode: str) -> Turns:
        """What a lane lacks. Where the conversation has changed since, no more than the one answer."""
        replay = self.get(conversation_id)
        lane = next((lane for lane in replay.lanes if lane.mode == mode), None) if replay else None
        if lane is None or not lane.is_broken:
            raise InputError("There is nothing to try again.", hint="Replay the conversation again.")
        asks, there = self.questions(conversation_id), len(lane.cells)
        same = [ask.question for ask in asks[:there]] == [cell.question for cell in lane.cells]
        return Turns(lane.conversation_id, [_in_mode(ask, mode) for ask in asks[there:] if same], lane.cells[-1].message_id)

    def _begin(self, conversation_id: str, lanes: Sequence[Turns], stopped: threading.Event) -> None:
        play = (conversation_id, deque(lanes), stopped)
        threading.Thread(target=self._play, args=play, name="replay", daemon=True).start()

    def stop(self, conversation_id: str) -> None:
        """Keep what there is. Returns at once."""
        stopped = self._stops.get(conversation_id)
        if stopped is not None:
            stopped.set()
        for lane in self._lanes(conversation_id):
            for message in self._library.conversations.messages(lane.id):
                if message.state == "writing":
                    self._runs.stop(message.id)

    @property
    def busy(self) -> bool:
        """Whether any conversation is being replayed, also between two of its answers."""
        return bool(self._stops)

    def stop_all(self) -> None:
        """Ask nothing more, in any replay. The answers being given are those of the runs."""
        for stopped in list(self._stops.values()):
            stopped.set()

    def get(self, conversation_id: str) -> Replay | None:
        """As far as it has come; None when the conversation was never replayed."""
        kept = self._lanes(conversation_id)
        if not kept:
            return None
        here = conversation_id in self._stops
        lanes = tuple(Lane(lane.id.rpartition(".")[2], lane.id, self._cells(lane.id)) for lane in kept)
        asked = max((tuple(cell.question for cell in lane.cells) for lane in lanes), key=len)
        coming = tuple(ask.question for ask in self.questions(conversation_id)) if here else ()
        writing = any(cell.state == "writing" for lane in lanes for cell in lane.cells)
        order: dict[str, int] = {mode: place for place, mode in enumerate(MODES)}
        return Replay(
            questions=(*asked, *coming[len(asked) :]),
            lanes=tuple(sorted(lanes, key=lambda lane: order.get(lane.mode, len(order)))),
            running=here or writing,
        )

    def _lanes(self, conversation_id: str) -> list[Conversation]:
        return self._library.conversations.belonging_to(conversation_id)

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
        if message.id not in self._steps and (trace := self._library.conversations.trace(message.id)) is not None:
            self._steps[message.id] = steps_of(trace)
        return self._steps.get(message.id)

    def _play(self, conversation_id: str, waiting: deque[Turns], stopped: threading.Event) -> None:
        """Ask lane after lane, several at a time, until none waits."""
        threads = [
            threading.Thread(target=self._take, args=(waiting, stopped), name="replay-lane", daemon=True)
            for _ in range(min(AT_ONCE, len(waiting)))
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
            except IndexError:  # another thread was quicker
                return
            try:
                self._ask(turns, stopped)
            except RagError as error:  # the conversation was deleted, or the database is away: what there is stays
                logger.warning("the replay %s ended early: %s", turns.lane_id, error)

    def _ask(self, turns: Turns, stopped: threading.Event) -> None:
        """One question after another; what stands on an answer that failed or was stopped is not asked."""
        begin = [partial(self._runs.retry, turns.again)] if turns.again else []
        for begun in [*begin, *(partial(self._runs.start, turns.lane_id, ask) for ask in turns.asks)]:
            if stopped.is_set():
                return
            run = begun()
            if stopped.is_set():  # only now, when whoever stops did not see the run yet
                run.stop()
            run.wait()
            message = self._library.conversations.message(run.message_id)
            if message is None or message.state != "done":
                return


def _running() -> InputError:
    return InputError("This conversation is already being replayed.", hint="Wait for it, or stop it.")
