"""Makes choices without a model by the ratings of the reader, in the output format of each task."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ragcore.extractive.reader import Reader
from ragcore.prompts.prompt import Choice, Passage, ToolCard
from ragcore.text.keywords import content_words
from ragcore.text.quotable_sentences import DEPENDS_ON_PREVIOUS, Quote

CHOICE_MARGIN = 1.5  # maximum difference of log odds between the best choice and another one
NUMBERS = 1.0  # log odds added to a tool whose arguments are exactly the numbers of the question
RELEVANCE = (
    1.5  # log odds of one step of relevance, which is 1 at the threshold of closest passages, and at most 10
)


def select(reader: Reader, query: str, choices: Sequence[Choice], most: int) -> str:
    """JSON: at most `most` choices, the best one and those that are nearly as good."""
    chosen = _nearest(reader, query, choices)[: max(most, 1)]
    return json.dumps(
        [{"choice": each.number, "reason": _reason(query, each)} for each in chosen], ensure_ascii=False
    )


def rank(reader: Reader, query: str, passages: Sequence[Passage]) -> str:
    """A line "Doc: 2, Relevance: 7" for each passage that may help, the best first; "" if none may."""
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
    """JSON: each part of the question with its best tool. An undivided question has all tools that are nearly
    as good."""
    parts = list(_parts(query))
    if len(parts) > 1:
        pairs = [(part, choice.name) for part in parts for choice in _nearest(reader, part, choices)[:1]]
    else:
        nearest = _nearest(reader, query, choices)
        pairs = [(query, choice.name) for choice in choices if choice in nearest]
    return json.dumps(
        [{"sub_question": part, "tool_name": name} for part, name in dict.fromkeys(pairs)], ensure_ascii=False
    )


def direction(query: str, passage: str) -> str:
    """ "previous", "next" or "none": what the question asks for, or where the passage is cut."""
    if match := _BEFORE_OR_AFTER.search(query):
        return "previous" if match["before"] else "next"
    text = passage.strip()
    if DEPENDS_ON_PREVIOUS.match(text) or text[:1].islower():
        return "previous"
    return "next" if text and not _SENTENCE_END.search(text) else "none"


def choose_tool(reader: Reader, query: str, tools: Sequence[ToolCard]) -> tuple[str, str] | None:
    """(name, arguments as JSON) of the best tool that takes the question as its one string, or its numbers.

    None if there is none. If the name of the string is not that of a question or a search, the description of
    the tool must share a word with the question.
    """
    callable_ = [(tool, arguments) for tool in tools if (arguments := _arguments(tool, query)) is not None]
    if not callable_:
        return None
    odds = _log_odds(reader, query, [_describe(tool.name, tool.description) for tool, _ in callable_])
    odds += [NUMBERS * (query not in arguments.values()) for _, arguments in callable_]
    tool, arguments = callable_[int(odds.argmax())]
    return tool.name, json.dumps(arguments, ensure_ascii=False)


def card_of(tool: Mapping[str, Any]) -> ToolCard:
    """A tool in OpenAI's format as a ToolCard."""
    function = tool["function"]
    return ToolCard(
        function["name"], function.get("description", ""), json.dumps(function.get("parameters", {}))
    )


def _nearest(reader: Reader, query: str, choices: Sequence[Choice]) -> list[Choice]:
    """The best choice, and those that are nearly as good, best first."""
    odds = _log_odds(reader, query, [_describe(each.name, each.text) for each in choices])
    return [
        choices[row] for row in np.argsort(-odds, kind="stable") if odds[row] >= odds.max() - CHOICE_MARGIN
    ]


def _log_odds(reader: Reader, query: str, texts: Sequence[str]) -> npt.NDArray[np.float64]:
    return reader.log_odds(query, [Quote(text, (), at, "") for at, text in enumerate(texts)])


def _arguments(tool: ToolCard, query: str) -> dict[str, Any] | None:
    schema = json.loads(tool.parameters or "{}")
    types = {name: facts.get("type", "string") for name, facts in schema.get("properties", {}).items()}
    required = [name for name in schema.get("required", ()) if name in types] or list(types)[:1]
    if len(required) == 1 and types[required[0]] == "string":
        shares_a_word = set(content_words(query)) & set(content_words(_describe(tool.name, tool.description)))
        return {required[0]: query} if required[0] in _QUESTIONS or shares_a_word else None
    numbers = _NUMBER.findall(query)
    if not required or len(numbers) != len(required) or not all(map(_PLAIN_NUMBER.fullmatch, numbers)):
        return None
    if any(types[name] not in ("integer", "number") for name in required):
        return None
    values = [float(number.replace(",", "")) for number in numbers]
    return {
        name: int(value) if value.is_integer() else value
        for name, value in zip(required, values, strict=True)
    }


def _describe(name: str, text: str) -> str:
    return f"{name.replace('_', ' ')}: {text}" if name else text


def _reason(query: str, choice: Choice) -> str:
    stems = set(content_words(_describe(choice.name, choice.text)))
    shared = [
        word for word in re.findall(r"[\w'’-]+", query) if (own := set(content_words(word))) and own <= stems
    ]
    return (
        f"It has words of the question: {', '.join(dict.fromkeys(shared))}."
        if shared
        else "It is nearest in meaning."
    )


def _parts(query: str) -> Iterator[str]:
    """Divide a query into its sentences, the questions that "and" joins, and the two things of a
    comparison."""
    for sentence in _SENTENCE.findall(query):
        parts = [part.strip(" ,") for part in _AND_ASKS.split(sentence)]
        pair = _PAIR.match(parts[0]) if len(parts) == 1 else None
        yield from (
            (f"{pair[1]}{thing}{pair[4]}" for thing in pair.group(2, 3))
            if pair
            else filter(content_words, parts)
        )


# a name of one or more words, or a year
_THING = r"(?:[^\W\d_a-zà-ÿ][\w'’-]*(?: [^\W\d_a-zà-ÿ][\w'’-]*| \d+)*|\d{4})"
_PAIR = re.compile(
    rf"(.*\S )({_THING}),? (?:and|or|with|to|versus|vs\.?|und|oder|mit|et|ou|y|o|compared (?:with"
    r"|to))(?: (?:in|of|for))?"
    rf" ({_THING})([.?!]*)$"
)
_SENTENCE = re.compile(r"[^?？!。]+[?？!。]*")
_AND_ASKS = re.compile(
    r",? (?:and|und|et|y|but) (?=(?:who|what|when|where|why|which|how|is|are|was|were|do|does|did|can"
    r"|wer|was|wann|wo|warum|wie|qui|que|quand|où|pourquoi|comment|quién|qué|cuándo|dónde|cómo)\b)|; ",
    re.IGNORECASE,
)
_BEFORE_OR_AFTER = re.compile(
    r"\b(?:(?P<before>before|previous(?:ly)?|earlier|led (?:up|to)|leading to|cause[ds]?|vorher|davor"
    r"|zuvor|avant|antes)"
    r"|after|afterwards?|next|then|later|following|since|result(?:s|ed)?|danach|später|après|ensuite"
    r"|después|luego)\b",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[.!?…。！？؟।][\"'”’»)\]\s]*$")
_NUMBER = re.compile(r"(?<![\w.])-?(?>\d+(?:[.,]\d+)*)(?!\w)")
# "1,5" may be one and a half, or two numbers
_PLAIN_NUMBER = re.compile(r"-?(?:\d+|[1-9]\d{0,2}(?:,\d{3})+)(?:\.\d+)?")
_QUESTIONS = frozenset(
    ("input", "query", "query_str", "question", "text", "message", "search", "q", "topic", "prompt")
)
