"""Choosing without a model: what the reader finds likeliest to answer. Replies have the form that a task's parser reads."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ragcore.extractive import fixed_replies
from ragcore.extractive.reader import Reader
from ragcore.prompts.prompt import Choice, Passage, ToolCard
from ragcore.text.keywords import content_words
from ragcore.text.quotable_sentences import LEANS, Quote

if TYPE_CHECKING:
    import numpy.typing as npt

BEHIND = 1.5  # log odds that a further choice may lie behind the best one
NUMBERS = 1.0  # log odds that a tool gains whose numbers are exactly those of the question
RELEVANCE = 1.5  # log odds of one step of relevance, from 1 for the least that is worth showing to 10
NO_TOOL = fixed_replies.NO_TOOL["en"]


def select(reader: Reader, query: str, choices: Sequence[Choice], most: int) -> str:
    """JSON: the best choice and, up to `most`, those that are nearly as good."""
    chosen = _nearest(reader, query, choices)[: max(most, 1)]
    return json.dumps([{"choice": each.number, "reason": _reason(query, each)} for each in chosen], ensure_ascii=False)


def rank(reader: Reader, query: str, passages: Sequence[Passage]) -> str:
    """A line "Doc: 2, Relevance: 7" for each passage that may help, the best first; "" where none does."""
    reading = reader.read(query, passages)
    best: dict[int, float] = {}
    for quote, odds in zip(reading.candidates, reading.log_odds, strict=True):
        best[quote.passage] = max(best.get(quote.passage, -np.inf), float(odds))
    least = reader.weights.closest
    return "\n".join(
        f"Doc: {passages[at].number or at + 1}, Relevance: {min(1 + int((best[at] - least) / RELEVANCE), 10)}"
        for at in sorted(best, key=lambda at: (-best[at], at))
        if best[at] >= least
    )


def divide(reader: Reader, query: str, choices: Sequence[Choice]) -> str:
    """JSON: each part of the question for the tool nearest to it; a question in one part for all that are nearly as near."""
    parts = list(_parts(query))
    if len(parts) > 1:
        pairs = [(part, choice.name) for part in parts for choice in _nearest(reader, part, choices)[:1]]
    else:
        nearest = _nearest(reader, query, choices)
        pairs = [(query, choice.name) for choice in choices if choice in nearest]
    return json.dumps([{"sub_question": part, "tool_name": name} for part, name in dict.fromkeys(pairs)], ensure_ascii=False)


def direction(query: str, passage: str) -> str:
    """ "previous" or "next" where the question asks for what came before or after, or the passage is plainly cut there."""
    if found := _BEFORE_OR_AFTER.search(query):
        return "previous" if found["before"] else "next"
    text = passage.strip()
    if LEANS.match(text) or text[:1].islower():
        return "previous"
    return "next" if text and not _SENTENCE_END.search(text) else "none"


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool to call, and with what."""

    name: str
    arguments: Mapping[str, Any]


def choose_tool(reader: Reader, query: str, tools: Sequence[ToolCard]) -> ToolUse | None:
    """The tool nearest to the question among those that it can be given to: as their one text, or with its numbers.

    None where there is no such tool. A text that is not named as a question or a search is filled only for a tool whose
    description shares a word with the question.
    """
    callable_ = [(tool, arguments) for tool in tools if (arguments := _arguments(tool, query)) is not None]
    if not callable_:
        return None
    odds = _log_odds(reader, query, [_described(tool.name, tool.description) for tool, _ in callable_])
    odds += [NUMBERS * (query not in arguments.values()) for _, arguments in callable_]
    tool, arguments = callable_[int(odds.argmax())]
    return ToolUse(tool.name, arguments)


def card_of(tool: Mapping[str, Any]) -> ToolCard:
    """A tool in OpenAI's format as a prompt would show it."""
    function = tool["function"]
    return ToolCard(function["name"], function.get("description", ""), json.dumps(function.get("parameters", {})))


def _nearest(reader: Reader, query: str, choices: Sequence[Choice]) -> list[Choice]:
    """The best choice, and those that are nearly as good, best first."""
    odds = _log_odds(reader, query, [_described(each.name, each.text) for each in choices])
    return [choices[row] for row in np.argsort(-odds, kind="stable") if odds[row] >= odds.max() - BEHIND]


def _log_odds(reader: Reader, query: str, texts: Sequence[str]) -> npt.NDArray[np.float64]:
    """(n,): of each text being what the question is about."""
    return reader.log_odds(query, [Quote(text, (), at, "") for at, text in enumerate(texts)])


def _arguments(tool: ToolCard, query: str) -> dict[str, Any] | None:
    schema = json.loads(tool.parameters or "{}")
    types = {name: facts.get("type", "string") for name, facts in schema.get("properties", {}).items()}
    required = [name for name in schema.get("required", ()) if name in types] or list(types)[:1]
    if len(required) == 1 and types[required[0]] == "string":
        shares_a_word = set(content_words(query)) & set(content_words(_described(tool.name, tool.description)))
        return {required[0]: query} if required[0] in _QUESTIONS or shares_a_word else None
    numbers = _NUMBER.findall(query)
    if not required or len(numbers) != len(required) or not all(map(_PLAIN_NUMBER.fullmatch, numbers)):
        return None
    if any(types[name] not in ("integer", "number") for name in required):
        return None
    values = [float(number.replace(",", "")) for number in numbers]
    return {name: int(value) if value.is_integer() else value for name, value in zip(required, values, strict=True)}


def _described(name: str, text: str) -> str:
    return f"{name.replace('_', ' ')}: {text}" if name else text


def _reason(query: str, choice: Choice) -> str:
    stems = set(content_words(_described(choice.name, choice.text)))
    shared = [word for word in re.findall(r"[\w'’-]+", query) if (own := set(content_words(word))) and own <= stems]
    return f"It has words of the question: {', '.join(dict.fromkeys(shared))}." if shared else "It is nearest in meaning."


def _parts(query: str) -> Iterator[str]:
    """The questions in a question: its sentences, what "and" joins to a full question, and each of two things compared."""
    for sentence in _SENTENCE.findall(query):
        parts = [part.strip(" ,") for part in _AND_ASKS.split(sentence)]
        pair = _PAIR.match(parts[0]) if len(parts) == 1 else None
        yield from (f"{pair[1]}{thing}{pair[4]}" for thing in pair.group(2, 3)) if pair else filter(content_words, parts)


_THING = r"(?:[^\W\d_a-zà-ÿ][\w'’-]*(?: [^\W\d_a-zà-ÿ][\w'’-]*| \d+)*|\d{4})"  # a name of one or more words, or a year
_PAIR = re.compile(
    rf"(.*\S )({_THING}),? (?:and|or|with|to|versus|vs\.?|und|oder|mit|et|ou|y|o|compared (?:with|to))(?: (?:in|of|for))?"
    rf" ({_THING})([.?!]*)$"
)
_SENTENCE = re.compile(r"[^?？!。]+[?？!。]*")
_AND_ASKS = re.compile(
    r",? (?:and|und|et|y|but) (?=(?:who|what|when|where|why|which|how|is|are|was|were|do|does|did|can|wer|was|wann|wo|warum|"
    r"wie|qui|que|quand|où|pourquoi|comment|quién|qué|cuándo|dónde|cómo)\b)|; ",
    re.IGNORECASE,
)
_BEFORE_OR_AFTER = re.compile(
    r"\b(?:(?P<before>before|previous(?:ly)?|earlier|led (?:up|to)|leading to|cause[ds]?|vorher|davor|zuvor|avant|antes)"
    r"|after|afterwards?|next|then|later|following|since|result(?:s|ed)?|danach|später|après|ensuite|después|luego)\b",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[.!?…。！？؟।][\"'”’»)\]\s]*$")
_NUMBER = re.compile(r"(?<![\w.])-?(?>\d+(?:[.,]\d+)*)(?!\w)")
_PLAIN_NUMBER = re.compile(r"-?(?:\d+|[1-9]\d{0,2}(?:,\d{3})+)(?:\.\d+)?")  # "1,5" may be one and a half, or two numbers
_QUESTIONS = frozenset(("input", "query", "query_str", "question", "text", "message", "search", "q", "topic", "prompt"))
