"""Estimates an answer before it is written: calls, tokens, seconds by the model's measured speed or this
library's history, and money if tokens have a price.

It needs the real passages, but no call of a model: see `call_sizes`.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import TypeVar

from lectern.ask.asked_documents import list_asked
from lectern.ask.suggested_questions import spread
from lectern.library import Library
from lectern.runs.call_sizes import Conversation, call_sizes
from lectern.schema import AnswerFacts, Ask, Price
from lectern.settings import LLMSettings, PriceSettings
from ragcore.errors import RagError
from ragcore.extractive.quoter import NAME, Quoter
from ragcore.llms.http_client import REMOTE_CALLS
from ragcore.llms.speed import Speed
from ragcore.observe import Span, under
from ragcore.response_synthesizers.base import passages_from
from ragcore.schema import ChatMessage, NodeWithScore, TextNode

T = TypeVar("T")

ANSWER_TOKENS = 150  # Estimate before the first answer of a model.
MAX_ANSWERS = 100  # the latest ones, from which the lengths of answers are estimated
ENOUGH_ANSWERS = 3  # in one mode, to ignore the answers in other modes
WRITING_FACTORS = (10.0, 20.0, 5.0, 40.0, 2.5)  # the time to write a token, in times to read one
SOME_FILES = 25
SOME_QUESTIONS = 3
JUDGE_CALLS = 2  # per answer; each reads about as much as the calls of the answer
CLOSE_TOKENS = 1200  # per call. The extractive reader compares further tokens only by words.
SKIM_FACTOR = 0.16  # time for such a further token, relative to a close one; measured from 0.1 to 0.25
PASSAGE_FACTOR = 1.3  # Size of a passage with its number and place, in sizes of a passage.


def price(library: Library, ask: Ask, history: Sequence[ChatMessage] = ()) -> Price:
    """The price of an answer after `history`. It retrieves the passages, does not call the model, and stores
    nothing.

    Calls are exact, and tokens nearly so, if the reply is as long as the model's last replies. Agents are
    expected to use one tool. Raises QuestionError and ContextWindowError like the answer.
    """
    with under(Span("price")):
        if ask.reading == "each_file":
            sample, times = _sample(list(list_asked(library.files, ask)), SOME_FILES)
            prices = []
            for file_id in sample:
                alone = replace(ask, chat_mode=None, file_ids=(file_id,))
                prices.append(_estimate(library, alone, (), library.passages(alone)))
            return _multiply(together(prices), times)
        if library.reply_to(ask):
            return Price(0, 0, 0, 0.0)
        return _estimate(library, ask, history, [] if ask.without_documents else library.passages(ask))


def at_most(library: Library, ask: Ask, history: Sequence[ChatMessage] = ()) -> Price:
    """An upper estimate without retrieval, for `top_k` passages of the greatest length."""
    size = library.rebuilds.current_settings().chunk_size
    text = " ".join(["word"] * round(size * PASSAGE_FACTOR))
    with under(Span("price")):
        return _estimate(
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
        writer = library.writer()
        speed = None if isinstance(writer, Quoter) else writer.speed
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


def _estimate(
    library: Library, ask: Ask, history: Sequence[ChatMessage], nodes: Sequence[NodeWithScore]
) -> Price:
    writer, settings = library.writer(extractive=ask.extractive), library.settings
    quotes = isinstance(writer, Quoter)
    name, speed = NAME, None
    if not isinstance(writer, Quoter):
        name, speed = writer.metadata.model_name, writer.speed
    learned = habits(library.conversations.latest_facts(MAX_ANSWERS), name, ask.mode)
    if speed and (settings.llm.on_this_computer or learned.reading is None):
        # On one computer, parallel answers have slowed each other. On a server, the history includes its
        # parallel calls.
        learned = learned.at(speed)
    conversation = Conversation(history, settings.answers.system_prompt, library.prompts.current())
    sizes = call_sizes(ask, writer, passages_from(nodes), conversation, learned.answer_tokens)
    effort = sum(_effort(prompt, extractive=quotes) for prompt in sizes.prompts)
    calls, read, written = len(sizes.prompts), sum(sizes.prompts), sizes.written
    free = quotes or settings.llm.provider == "llama_cpp"
    money = None if free else settings.price.money(read, written)
    return Price(calls, read, written, learned.seconds(effort, written), money)


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
    """Seconds to read and to write a token, from the effort to read, the tokens written and the seconds of
    answers. Half of the answers took longer. Of WRITING_FACTORS, the one with the smallest relative errors
    counts. Answers that are all alike do not determine it: the first counts."""
    best: tuple[float, float] = 0.0, 0.0
    least = math.inf
    for factor in WRITING_FACTORS:
        efforts = [read + factor * written for read, written, _seconds in answers]
        pairs = [(effort, row[2]) for effort, row in zip(efforts, answers, strict=True) if effort]
        if not pairs:
            continue
        reading = median(seconds / effort for effort, seconds in pairs)
        error = round(sum(abs(reading * effort / seconds - 1) for effort, seconds in pairs), 3)
        if error < least:
            least, best = error, (reading, factor * reading)
    return best


def _sample(items: Sequence[T], most: int) -> tuple[list[T], float]:
    """A sample of items at equal distances, and the number of items that each stands for."""
    return spread(items, most), max(len(items) / most, 1.0)
