"""Estimates an answer before it is written: calls, tokens, seconds by the model's measured speed or this
library's history, and money if tokens have a price.

The estimate runs the real code with the real passages, and a model that only pretends to answer.
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

ANSWER_TOKENS = 150  # Estimate before the first answer of a model.
MAX_ANSWERS = 100  # the latest ones, from which the lengths of answers are estimated
ENOUGH_ANSWERS = 3  # in one mode, to ignore the answers in other modes
WRITING_FACTOR = 10.0  # Prior for the time to write a token, in times to read one.
PRIOR_WEIGHT = 0.3  # Weight of this prior; an answer has weight 1.
MAX_PASSAGES = 800  # in an estimate. A sample stands for more passages.
MAX_CALLS = 100  # in an estimate in which each passage has its own call
SOME_FILES = 25
SOME_QUESTIONS = 3
JUDGE_CALLS = 2  # per answer; each reads about as much as the calls of the answer
CLOSE_TOKENS = 1200  # per call. The extractive reader compares further tokens only by words.
SKIM_FACTOR = 0.16  # time for such a further token, relative to a close one; measured from 0.1 to 0.25
PASSAGE_FACTOR = 1.3  # Size of a passage with its number and place, in sizes of a passage.

_ONE_EACH = (ResponseMode.REFINE, ResponseMode.ACCUMULATE)
# for any number of passages
_SAME_CALLS = (ResponseMode.SIMPLE_SUMMARIZE, ResponseMode.GENERATION, ResponseMode.NO_TEXT)


def price(library: Library, ask: Ask, history: Sequence[ChatMessage] = ()) -> Price:
    """The price of an answer after `history`. It retrieves the passages, does not call the model, and stores
    nothing.

    Calls and tokens are exact if the reply is as long as the model's last replies, except for agents, which
    are expected to use one tool, and for more than MAX_PASSAGES passages. Raises QuestionError and
    ContextWindowError like the answer.
    """
    with under(Span("price")):
        if ask.reading == "each_file":
            sample, times = _sample(list(list_asked(library.files, ask)), SOME_FILES)
            alone = replace(ask, reading="best", chat_mode=None)
            return _multiply(
                together([price(library, replace(alone, file_ids=(id_,))) for id_ in sample]), times
            )
        return _simulate(library, ask, history, [] if ask.without_documents else library.passages(ask))


def at_most(library: Library, ask: Ask, history: Sequence[ChatMessage] = ()) -> Price:
    """An upper estimate without retrieval, for `top_k` passages of the greatest length."""
    size = library.rebuilds.current_settings().chunk_size
    text = " ".join(["word"] * round(size * PASSAGE_FACTOR))
    with under(Span("price")):
        return _simulate(
            library, ask, history, [NodeWithScore(TextNode(text=text)) for _ in range(ask.top_k)]
        )


def of_measuring(library: Library, questions: Sequence[str], asks: Sequence[Ask]) -> Price:
    """The price to answer these questions with each of the asks, and to judge the answers. Raises as `price`
    does."""
    sample, times = _sample(questions, SOME_QUESTIONS)
    answers = [
        price(library, replace(ask, question=question, chat_mode=None)) for ask in asks for question in sample
    ]
    judged = [_multiply(one, (one.calls + JUDGE_CALLS) / one.calls) if one.calls else one for one in answers]
    return _multiply(together(judged), times)


def basis(library: Library) -> Hashable:
    """All that a price depends on, except the ask and its history."""
    latest = tuple(library.conversations.latest_facts(1))  # each answer improves the estimate of the time
    index = library.store.versions.current(), len(library.store)
    return (
        library.name,
        index,
        library.settings.model_dump_json(),
        latest,
        repr(library.prompts.current()),
        _speed(library),
    )


def _speed(library: Library) -> tuple[str, ...]:
    """The speed of the model, with two digits, because each call changes it a little."""
    try:
        speed = library.llm().speed
    except RagError:  # `price` raises it too
        return ()
    return (
        ()
        if speed is None
        else (f"{speed.prompt_tokens_per_second:.2g}", f"{speed.completion_tokens_per_second:.2g}")
    )


def _multiply(one: Price, times: float) -> Price:
    return Price(
        round(one.calls * times),
        round(one.prompt_tokens * times),
        round(one.completion_tokens * times),
        None if one.seconds is None else one.seconds * times,
        None if one.money is None else one.money * times,
    )


def _simulate(
    library: Library, ask: Ask, history: Sequence[ChatMessage], nodes: list[NodeWithScore]
) -> Price:
    model, settings = library.llm(extractive=ask.extractive), library.settings
    learned = habits(library.conversations.latest_facts(MAX_ANSWERS), model.metadata.model_name, ask.mode)
    if (speed := model.speed) and (settings.llm.on_this_computer or learned.reading is None):
        # On one computer, parallel answers have slowed each other. On a server, the history includes its
        # parallel calls.
        learned = learned.at(speed)
    mode = ResponseMode(ask.response_mode)
    most = len(nodes) if mode in _SAME_CALLS else MAX_CALLS if mode in _ONE_EACH else MAX_PASSAGES
    sample, times = _sample(nodes, most)
    pretender = _Pretender(model, learned.answer_tokens)
    plan, wording = RetrievalPlan(_FixedRetriever(sample)), library.prompts.current()
    system_prompt = settings.answers.system_prompt
    answer(ask, history, llm=pretender, plan=plan, system_prompt=system_prompt, wording=wording).whole()
    calls, read, written = (
        round(number * times) for number in (pretender.calls, pretender.read, pretender.written)
    )
    free = model.metadata.is_extractive or settings.llm.provider == "llama_cpp"
    money = None if free else settings.price.money(read, written)
    return Price(calls, read, written, learned.seconds(pretender.effort * times, written), money)


def together(prices: Sequence[Price]) -> Price:
    """The price of several answers, one after another. Without a time if that of one is unknown."""
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
    """How many parallel calls are as fast as one. A single computer shares its speed between calls."""
    return 1 if settings.on_this_computer else settings.calls_at_once or REMOTE_CALLS


def at_once(prices: Sequence[Price], full_speed: int) -> list[Price]:
    """The prices of parallel answers, with the `seconds` until each ends. `full_speed` calls are as fast as
    one. More calls share that speed evenly, so an answer waits for as much of each other one as it takes
    itself."""
    alone = [each.seconds for each in prices if each.seconds is not None]
    if len(alone) < len(prices):
        return [replace(each, seconds=None) for each in prices]
    shared = [max(own, sum(min(own, other) for other in alone) / full_speed) for own in alone]
    return [replace(each, seconds=seconds) for each, seconds in zip(prices, shared, strict=True)]


def together_at_once(prices: Sequence[Price], full_speed: int) -> Price:
    """The price of parallel answers, with the `seconds` until the last one ends."""
    ends = [each.seconds for each in at_once(prices, full_speed) if each.seconds is not None]
    return replace(together(prices), seconds=max(ends) if ends else None)


def is_over(price: Price, settings: PriceSettings) -> bool:
    """Whether the price needs a confirmation."""
    calls, tokens = settings.ask_above_calls, settings.ask_above_tokens
    return bool((calls and price.calls > calls) or (tokens and price.tokens > tokens))


@dataclass(frozen=True, slots=True)
class Habits:
    """The last answers of a model: seconds to read and to write a token, None before its first answer, and
    the usual length of a reply in tokens."""

    reading: float | None = None
    writing: float | None = None
    answer_tokens: int = ANSWER_TOKENS

    def at(self, speed: Speed) -> Habits:
        """The same with a measured speed."""
        return replace(
            self, reading=1 / speed.prompt_tokens_per_second, writing=1 / speed.completion_tokens_per_second
        )

    def seconds(self, prompt_tokens: float, completion_tokens: float) -> float | None:
        if self.reading is None or self.writing is None:
            return None
        return prompt_tokens * self.reading + completion_tokens * self.writing


def _effort(prompt_tokens: float, *, extractive: bool) -> float:
    """The time to read a prompt, in tokens of a short one. The extractive reader is faster after CLOSELY
    tokens."""
    return (
        min(prompt_tokens, CLOSE_TOKENS) + SKIM_FACTOR * max(prompt_tokens - CLOSE_TOKENS, 0)
        if extractive
        else prompt_tokens
    )


def habits(facts: Sequence[AnswerFacts], model: str, mode: str) -> Habits:
    """Estimated from this model's answers in this mode, or in all modes if there are fewer than ALIKE.
    Recordings do not count, because they may be of another machine, nor do answers that waited for the
    embedder."""
    here = [each for each in facts if each.recorded is None and not each.unready]
    measured = [each for each in here if each.calls and each.seconds > 0 and each.prompt_tokens]
    by_model = [each for each in measured if each.model == model]
    alike = [each for each in by_model if each.mode == mode]
    known = alike if len(alike) >= ENOUGH_ANSWERS else by_model
    if not known:
        return Habits()
    # As if all calls of an answer had the same length.
    efforts = [
        each.calls * _effort(each.prompt_tokens / each.calls, extractive=each.extractive) for each in known
    ]
    reading, writing = _speeds(
        [(effort, each.completion_tokens, each.seconds) for effort, each in zip(efforts, known, strict=True)]
    )
    length = round(median(each.completion_tokens / each.calls for each in known))
    return Habits(reading, writing, max(1, length))


def _speeds(answers: Sequence[tuple[float, int, float]]) -> tuple[float, float]:
    """Seconds to read and to write a token, not negative. Their ratio minimizes the squares of the relative
    errors; they are scaled so that half of the answers took longer. One more equation says that writing takes
    WRITING times as long as reading, because answers that are all alike do not determine the ratio."""
    rows = [(read / seconds, written / seconds) for read, written, seconds in answers]
    scale = (
        PRIOR_WEIGHT
        * sum(read + WRITING_FACTOR * written for read, written in rows)
        / len(rows)
        / (1 + WRITING_FACTOR * WRITING_FACTOR)
    )
    known = [*((read, written, 1.0) for read, written in rows), (WRITING_FACTOR * scale, -scale, 0.0)]
    aa, ab, bb = (sum(row[i] * row[j] for row in known) for i, j in ((0, 0), (0, 1), (1, 1)))
    a, b = sum(row[0] * row[2] for row in known), sum(row[1] * row[2] for row in known)
    determinant = aa * bb - ab * ab
    reading, writing = (a * bb - b * ab) / determinant, (b * aa - a * ab) / determinant
    if reading < 0:
        reading, writing = 0.0, 1.0
    elif writing < 0:
        reading, writing = 1.0, 0.0
    longer = median(
        1 / (read * reading + written * writing)
        for read, written in rows
        if read * reading + written * writing
    )
    return reading * longer, writing * longer


def _sample(items: Sequence[T], most: int) -> tuple[list[T], float]:
    """A sample of items at equal distances, and the number of items that each stands for."""
    return spread(items, most), max(len(items) / most, 1.0)


class _FixedRetriever(BaseRetriever):
    """Always returns the same passages."""

    name = "found"

    def __init__(self, nodes: list[NodeWithScore]) -> None:
        self._nodes = nodes

    def _retrieve(self, query: QueryBundle, step: Span) -> list[NodeWithScore]:
        step.note(found=[])
        return self._nodes


class _Pretender(LLM):
    """Has the window and the tokenizer of another model, and writes answers of a fixed length without
    meaning. It repeats a question instead of condensing it, and as an agent calls the first tool once.
    Threads may share it."""

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
            return (
                (self.answer, ())
                if used
                else ("", (ToolCall.of("call", name, json.dumps({"input": "word"})),))
            )
        cards = [card for card in call.variables.get("tools", ()) if isinstance(card, ToolCard)]
        if not cards or any(isinstance(each, Passage) for each in call.variables.get("observations", ())):
            return f"Thought: I know.\nAnswer: {self.answer}", ()
        return f'Thought: I look.\nAction: {cards[0].name}\nAction Input: {{"input": "word"}}', ()
