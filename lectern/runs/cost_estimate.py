"""What answering would take, said before it is asked for: calls, tokens, seconds by the model's measured speed or by this
library's own history, and money where tokens have a price.

The answer is made for real, with the passages that would be found, by a model that only pretends to answer.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import TypeVar

from lectern.ask.asked_documents import list_asked
from lectern.ask.pipeline import RetrievalPlan, answer
from lectern.ask.suggested_questions import spread
from lectern.library import Library
from lectern.schema import AnswerFacts, Ask, Price
from lectern.settings import LLMSettings, PriceSettings
from ragcore.errors import RagError
from ragcore.llms.base import LLM, Generation, LLMCall, LLMMetadata
from ragcore.llms.http_client import REMOTE_CALLS
from ragcore.llms.speed import Speed
from ragcore.llms.tool_call import ToolCall
from ragcore.observe import Span, under
from ragcore.prompts.prompt import Passage, RenderedMessage, Task, ToolCard
from ragcore.response_synthesizers.modes import ResponseMode
from ragcore.retrievers.base import BaseRetriever
from ragcore.schema import ChatMessage, MessageRole, NodeWithScore, QueryBundle, TextNode

T = TypeVar("T")

ANSWER_TOKENS = 150  # of a model that has not answered yet
LATEST = 100  # answers that a model's habits are learned from
ALIKE = 3  # answers in one way that make the others uninteresting
WRITING = 10.0  # times as long for a token written as for one read, before there is anything to learn from
TRUST = 0.3  # how much that counts beside what was learned; an answer counts 1
SOME = 800  # of more passages so many stand for all, spread evenly; where each has a call of its own, fewer
SOME_CALLS = 100
SOME_FILES = 25
SOME_QUESTIONS = 3
JUDGES = 2  # calls that judge an answer; each reads what an answer is made from
CLOSELY = 1200  # tokens of a call that the built-in reader weighs sentence by sentence; of more it only compares words
SKIMS = 0.16  # times as long for a token beyond; between 0.1 and 0.25 where everything was read
SLACK = 1.3  # a passage with its number and place, in sizes of a passage

_ONE_EACH = (ResponseMode.REFINE, ResponseMode.ACCUMULATE)
_SAME_CALLS = (ResponseMode.SIMPLE_SUMMARIZE, ResponseMode.GENERATION, ResponseMode.NO_TEXT)  # however many passages


def price(library: Library, ask: Ask, history: Sequence[ChatMessage] = ()) -> Price:
    """What answering after `history` would take. The passages are looked up, the model is not asked; nothing is noted.

    Calls and tokens are exact if each reply is as long as the model's replies were of late, but for agents, which are
    supposed to use a tool once, and beyond SOME passages, where a part of them stands for all. QuestionError,
    ContextWindowError where answering would raise them.
    """
    with under(Span("price")):
        if ask.reading == "each_file":
            return _of_each_file(library, ask)
        return _priced(library, ask, history, [] if ask.without_documents else library.passages(ask))


def at_most(library: Library, ask: Ask, history: Sequence[ChatMessage] = ()) -> Price:
    """Hardly less than what answering would take, without looking for passages: as many as asked for, at their greatest
    length. For an ask of the best passages of all."""
    size = (library.store.versions.sizes() or (library.settings.ingest.chunk_size, 0))[0]
    text = " ".join(["word"] * round(size * SLACK))
    with under(Span("price")):
        return _priced(library, ask, history, [NodeWithScore(TextNode(text=text)) for _ in range(ask.top_k)])


def of_measuring(library: Library, questions: Sequence[str], asks: Sequence[Ask]) -> Price:
    """What answering these questions as each of the asks says, and judging the answers, would take; SOME_QUESTIONS of them
    stand for all. Raises as `price` does."""
    chosen, times = _some(questions, SOME_QUESTIONS)
    answers = [price(library, replace(ask, question=asked, chat_mode=None)) for ask in asks for asked in chosen]
    return _many(together([_many(one, (one.calls + JUDGES) / one.calls) if one.calls else one for one in answers]), times)


def basis(library: Library) -> Hashable:
    """All that a price depends on beside the ask and its history: while it is the same, so is the price."""
    latest = tuple(library.conversations.latest_facts(1))  # an answer more is a better guess of the time
    index = library.store.versions.current(), len(library.store)
    return library.name, index, library.settings.model_dump_json(), latest, repr(library.prompts.current()), _speed(library)


def _speed(library: Library) -> tuple[str, ...]:
    """Of the model, with two digits: it is measured anew with each call."""
    try:
        speed = library.llm().speed
    except RagError:  # the price says that there is no model
        return ()
    return () if speed is None else (f"{speed.prompt_tokens_per_second:.2g}", f"{speed.completion_tokens_per_second:.2g}")


def _of_each_file(library: Library, ask: Ask) -> Price:
    """So many of the documents stand for all."""
    chosen, times = _some(list(list_asked(library.files, ask)), SOME_FILES)
    alone = replace(ask, reading="best", chat_mode=None)
    return _many(together([price(library, replace(alone, file_ids=(id_,))) for id_ in chosen]), times)


def _many(one: Price, times: float) -> Price:
    return Price(
        round(one.calls * times),
        round(one.prompt_tokens * times),
        round(one.completion_tokens * times),
        None if one.seconds is None else one.seconds * times,
        None if one.money is None else one.money * times,
    )


def _priced(library: Library, ask: Ask, history: Sequence[ChatMessage], nodes: list[NodeWithScore]) -> Price:
    model, settings = library.llm(extractive=ask.extractive), library.settings
    learned = habits(library.conversations.latest_facts(LATEST), model.metadata.model_name, ask.mode)
    if (speed := model.speed) and (settings.llm.on_this_computer or learned.reading is None):
        # The history has answers that shared a computer with others. Elsewhere it knows which calls a server makes at once.
        learned = learned.at(speed)
    mode = ResponseMode(ask.response_mode)
    most = len(nodes) if mode in _SAME_CALLS else SOME_CALLS if mode in _ONE_EACH else SOME
    shown, times = _some(nodes, most)
    pretender = _Pretender(model, learned.answer_tokens)
    plan, wording = RetrievalPlan(_Found(shown)), library.prompts.current()
    system_prompt = settings.answers.system_prompt
    answer(ask, history, llm=pretender, plan=plan, system_prompt=system_prompt, wording=wording).whole()
    calls, read, written = (round(number * times) for number in (pretender.calls, pretender.read, pretender.written))
    money = None if model.metadata.is_extractive else settings.price.money(read, written)
    return Price(calls, read, written, learned.seconds(pretender.effort * times, written), money)


def together(prices: Sequence[Price]) -> Price:
    """Of several answers, one after another. No time, or no money, where that of one is not known."""
    seconds = [each.seconds for each in prices if each.seconds is not None]
    money = [each.money for each in prices if each.money is not None]
    return Price(
        sum(each.calls for each in prices),
        sum(each.prompt_tokens for each in prices),
        sum(each.completion_tokens for each in prices),
        sum(seconds) if len(seconds) == len(prices) else None,
        sum(money) if money else None,
    )


def calls_at_full_speed(settings: LLMSettings) -> int:
    """How many calls at once the model's server works on as fast as on one. Those on one computer share its speed."""
    return 1 if settings.on_this_computer else settings.calls_at_once or REMOTE_CALLS


def at_once(prices: Sequence[Price], full_speed: int) -> list[Price]:
    """Of several answers that are begun at the same time: `seconds` until each ends. `full_speed` calls are as fast as one.
    More share that speed evenly, so that an answer waits for as much of each other one as it takes itself."""
    alone = [each.seconds for each in prices if each.seconds is not None]
    if len(alone) < len(prices):
        return [replace(each, seconds=None) for each in prices]
    shared = [max(own, sum(min(own, other) for other in alone) / full_speed) for own in alone]
    return [replace(each, seconds=seconds) for each, seconds in zip(prices, shared, strict=True)]


def together_at_once(prices: Sequence[Price], full_speed: int) -> Price:
    """Of several answers that are begun at the same time, until the last one ends."""
    ends = [each.seconds for each in at_once(prices, full_speed) if each.seconds is not None]
    return replace(together(prices), seconds=max(ends) if ends else None)


def is_over(found: Price, settings: PriceSettings) -> bool:
    """Whether the person is to be asked first."""
    calls, tokens = settings.ask_above_calls, settings.ask_above_tokens
    return bool((calls and found.calls > calls) or (tokens and found.tokens > tokens))


@dataclass(frozen=True, slots=True)
class Habits:
    """How a model has answered on this machine: seconds for a token read and for one written, None before its first answer;
    and the usual length of its replies in tokens."""

    reading: float | None = None
    writing: float | None = None
    answer_tokens: int = ANSWER_TOKENS

    def at(self, speed: Speed) -> Habits:
        """With a speed that was measured."""
        return replace(self, reading=1 / speed.prompt_tokens_per_second, writing=1 / speed.completion_tokens_per_second)

    def seconds(self, prompt_tokens: float, completion_tokens: float) -> float | None:
        if self.reading is None or self.writing is None:
            return None
        return prompt_tokens * self.reading + completion_tokens * self.writing


def _effort(prompt_tokens: float, *, extractive: bool) -> float:
    """What reading the prompt of a call takes, in tokens of a short one: the built-in reader skims long ones."""
    return min(prompt_tokens, CLOSELY) + SKIMS * max(prompt_tokens - CLOSELY, 0) if extractive else prompt_tokens


def habits(facts: Sequence[AnswerFacts], model: str, mode: str) -> Habits:
    """Learned from this model's answers in this mode, or in any where there are fewer than ALIKE; not from recordings, which
    may be of another machine, and not from those that waited for the embedder."""
    of_here = [each for each in facts if each.recorded is None and not each.unready]
    given = [each for each in of_here if each.calls and each.seconds > 0 and each.prompt_tokens]
    by_model = [each for each in given if each.model == model]
    alike = [each for each in by_model if each.mode == mode]
    known = alike if len(alike) >= ALIKE else by_model
    if not known:
        return Habits()
    reading, writing = _speeds([(_reading(each), each.completion_tokens, each.seconds) for each in known])
    length = round(median(each.completion_tokens / each.calls for each in known))
    return Habits(reading, writing, max(1, length))


def _reading(facts: AnswerFacts) -> float:
    """Of all calls of an answer, as if they were alike."""
    return facts.calls * _effort(facts.prompt_tokens / facts.calls, extractive=facts.extractive)


def _speeds(answers: Sequence[tuple[float, int, float]]) -> tuple[float, float]:
    """Seconds a token (read, written), not negative: in the ratio that gives the least squares of the relative errors, and so
    that half of the answers took longer. One more equation says that writing takes WRITING times as long as reading, as
    answers that are all alike cannot tell the two apart."""
    rows = [(read / seconds, written / seconds) for read, written, seconds in answers]
    scale = TRUST * sum(read + WRITING * written for read, written in rows) / len(rows) / (1 + WRITING * WRITING)
    known = [*((read, written, 1.0) for read, written in rows), (WRITING * scale, -scale, 0.0)]
    aa, ab, bb = (sum(row[i] * row[j] for row in known) for i, j in ((0, 0), (0, 1), (1, 1)))
    a, b = sum(row[0] * row[2] for row in known), sum(row[1] * row[2] for row in known)
    determinant = aa * bb - ab * ab
    reading, writing = (a * bb - b * ab) / determinant, (b * aa - a * ab) / determinant
    if reading < 0:
        reading, writing = 0.0, 1.0
    elif writing < 0:
        reading, writing = 1.0, 0.0
    longer = median(1 / (read * reading + written * writing) for read, written in rows if read * reading + written * writing)
    return reading * longer, writing * longer


def _some(all_: Sequence[T], most: int) -> tuple[list[T], float]:
    """At most so many, evenly spread, that stand for all of them, and for how many each."""
    return spread(all_, most), max(len(all_) / most, 1.0)


class _Found(BaseRetriever):
    """Finds what was found before."""

    name = "found"

    def __init__(self, nodes: list[NodeWithScore]) -> None:
        self._nodes = nodes

    def _retrieve(self, query: QueryBundle, step: Span) -> list[NodeWithScore]:
        step.note(found=[])
        return self._nodes


class _Pretender(LLM):
    """Has the window and the tokens of another model, and answers nothing in particular at the given length. It repeats the
    question that it is to condense, and as an agent calls the first tool once. Threads may share it."""

    def __init__(self, llm: LLM, answer_tokens: int) -> None:
        self._llm = llm
        self.answer = " ".join(["word"] * min(answer_tokens, llm.metadata.num_output))
        self._lock = threading.Lock()
        self.calls = self.read = self.written = 0
        self.effort = 0.0
        self._extractive = llm.metadata.is_extractive

    @property
    def metadata(self) -> LLMMetadata:
        return self._llm.metadata

    def count_tokens(self, text: str) -> int:
        return self._llm.count_tokens(text)

    def _generate(self, call: LLMCall, messages: Sequence[RenderedMessage]) -> Generation:
        text, tools = self._reply(call, messages)
        usage = self.usage(messages, text, call.tools, tools)
        with self._lock:
            self.calls += 1
            self.read += usage.prompt_tokens
            self.written += usage.completion_tokens
            self.effort += _effort(usage.prompt_tokens, extractive=self._extractive)
        return Generation(text, usage, tools)

    def _reply(self, call: LLMCall, messages: Sequence[RenderedMessage]) -> tuple[str, tuple[ToolCall, ...]]:
        if call.prompt.task is Task.CONDENSE:
            return str(call.variables["question"]), ()
        if call.prompt.task is not Task.ACT:
            return self.answer, ()
        if call.tools:  # a model that calls functions
            used = any(message.role is MessageRole.TOOL for message in messages)
            name = str(call.tools[0]["function"]["name"])
            return (self.answer, ()) if used else ("", (ToolCall.of("call", name, json.dumps({"input": "word"})),))
        cards = [card for card in call.variables.get("tools", ()) if isinstance(card, ToolCard)]
        if not cards or any(isinstance(each, Passage) for each in call.variables.get("observations", ())):
            return f"Thought: I know.\nAnswer: {self.answer}", ()
        return f'Thought: I look.\nAction: {cards[0].name}\nAction Input: {{"input": "word"}}', ()
