"""Choosing without a model: by closeness of meaning and words in common. Replies have the form that a task's parser reads."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ragcore.extractive.evidence import Evidence
from ragcore.prompts.prompt import Choice, Passage, ToolCard
from ragcore.questions import fixed_replies
from ragcore.text.keywords import content_words
from ragcore.text.quotable_sentences import quotes_in

ALSO = 0.75  # what a further choice needs of the best one's evidence
UNHELPFUL = -3.3  # log odds below which a passage does not help: well under those of an answer, for others judge after this
CLEAR = 3.0  # log odds of the fullest relevance
NO_TOOL = fixed_replies.NO_TOOL["en"]


def select(evidence: Evidence, query: str, choices: Sequence[Choice], most: int) -> str:
    """JSON: the best choice and, up to `most`, those that are nearly as good."""
    scores = evidence.near(query, [_described(choice) for choice in choices])
    rows = sorted(range(len(choices)), key=lambda row: -scores[row])
    good = [row for place, row in enumerate(rows) if place == 0 or scores[row] >= max(ALSO * scores[rows[0]], 0.05)]
    return json.dumps(
        [{"choice": choices[row].number, "reason": _why(query, _described(choices[row]))} for row in good[: max(most, 1)]],
        ensure_ascii=False,
    )


def rank(evidence: Evidence, query: str, passages: Sequence[Passage]) -> str:
    """A line "Doc: 2, Relevance: 7" for each passage that may help, the best first; "" where none does."""
    quotes = [
        quote
        for at, passage in enumerate(passages)
        for quote in quotes_in(passage.text, number=passage.number or 0, passage=at)
    ]
    best: dict[int, float] = {}
    for quote, odds in zip(quotes, evidence.odds(query, quotes), strict=True):
        best[quote.passage] = max(best.get(quote.passage, -np.inf), float(odds))
    lines = [
        f"Doc: {passages[at].number or at + 1}, Relevance: {_of_ten(best[at])}"
        for at in sorted(best, key=lambda at: (-best[at], at))
        if best[at] >= UNHELPFUL
    ]
    return "\n".join(lines)


def divide(evidence: Evidence, query: str, choices: Sequence[Choice]) -> str:
    """JSON: each part of the question for the tool nearest to it; a question in one part goes to every tool that it names."""
    if not choices:
        return "[]"
    parts = list(_parts(query))
    if len(parts) > 1:
        asked = [(part, choices[int(evidence.near(part, [_described(c) for c in choices]).argmax())]) for part in parts]
    else:
        best = choices[int(evidence.near(query, [_described(choice) for choice in choices]).argmax())]
        asked = [(query, choice) for choice in _named_in(query, choices) or [best]]
    pairs = [{"sub_question": part, "tool_name": choice.name} for part, choice in asked]
    return json.dumps([pair for at, pair in enumerate(pairs) if pair not in pairs[:at]], ensure_ascii=False)


def direction(query: str, passage: str) -> str:
    """ "previous" or "next" where the question asks for what came before or after, or the passage is plainly cut there."""
    if found := _BEFORE_OR_AFTER.search(query):
        return "previous" if found["before"] else "next"
    text = passage.strip()
    if _CUT_BEFORE.match(text):
        return "previous"
    return "next" if text and not _SENTENCE_END.search(text) else "none"


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool to call, and with what."""

    name: str
    arguments: Mapping[str, Any]


def choose_tool(evidence: Evidence, query: str, tools: Sequence[ToolCard]) -> ToolUse | None:
    """The tool nearest to the question among those that it can be given to: as their one text, or with its numbers.

    None where there is no such tool. A text that is not named as a question or a search is filled only for a tool whose
    description shares a word with the question.
    """
    fit = [(tool, arguments) for tool in tools if (arguments := _filled(tool, query)) is not None]
    if not fit:
        return None
    scores = evidence.near(query, [f"{tool.name.replace('_', ' ')}: {tool.description}" for tool, _ in fit])
    # A question that holds exactly the numbers a tool needs is likelier meant for it.
    scores += [0.1 * (query not in arguments.values()) for _, arguments in fit]
    tool, arguments = fit[int(scores.argmax())]
    return ToolUse(tool.name, arguments)


def card_of(tool: Mapping[str, Any]) -> ToolCard:
    """A tool in OpenAI's format as a prompt would show it."""
    about = tool["function"]
    return ToolCard(about["name"], about.get("description", ""), json.dumps(about.get("parameters", {})))


def _filled(tool: ToolCard, query: str) -> dict[str, Any] | None:
    schema = json.loads(tool.parameters or "{}")
    kinds = {name: about.get("type", "string") for name, about in schema.get("properties", {}).items()}
    needed = [name for name in schema.get("required", ()) if name in kinds] or list(kinds)[:1]
    if len(needed) == 1 and kinds[needed[0]] == "string":
        shares_a_word = set(content_words(query)) & set(content_words(f"{tool.name.replace('_', ' ')} {tool.description}"))
        return {needed[0]: query} if needed[0] in _ASKING or shares_a_word else None
    said = _NUMBER.findall(query)
    readable = len(said) == len(needed) and all(map(_PLAIN_NUMBER.fullmatch, said))
    if needed and readable and all(kinds[name] in ("integer", "number") for name in needed):
        numbers = [float(number.replace(",", "")) for number in said]
        return {name: int(number) if number.is_integer() else number for name, number in zip(needed, numbers, strict=True)}
    return None


def _described(choice: Choice) -> str:
    return f"{choice.name.replace('_', ' ')}: {choice.text}" if choice.name else choice.text


def _why(query: str, text: str) -> str:
    said = set(content_words(text))
    shared = [word for word in re.findall(r"[\w'’-]+", query) if (meant := content_words(word)) and set(meant) <= said]
    return f"It has words of the question: {', '.join(dict.fromkeys(shared))}." if shared else "It is nearest in meaning."


def _of_ten(odds: float) -> int:
    return int(np.clip(round(1 + 9 * (odds - UNHELPFUL) / (CLEAR - UNHELPFUL)), 1, 10))


def _named_in(query: str, choices: Sequence[Choice]) -> list[Choice]:
    """The choices of which the question says a word that only their name has."""
    words = [set(content_words(choice.name.replace("_", " "))) for choice in choices]
    asked = set(content_words(query))
    return [
        choice
        for at, choice in enumerate(choices)
        if asked & (words[at] - {word for other, said in enumerate(words) if other != at for word in said})
    ]


def _parts(query: str) -> Iterator[str]:
    """The questions in a question: its sentences, what "and" joins to a full question, and each of two things compared."""
    for sentence in _SENTENCE.findall(query):
        first, *others = (part.strip(" ,") for part in _AND_ASKS.split(sentence))
        if others or not (pair := _PAIR.match(first)):
            yield from (part for part in (first, *others) if content_words(part))
        else:
            yield f"{pair['head']}{pair['one']}{pair['end']}"
            yield f"{pair['head']}{pair['two']}{pair['end']}"


_THING = r"[^\W\d_a-zà-ÿ][\w'’-]*(?: [^\W\d_a-zà-ÿ][\w'’-]*| \d+)*|\d{4}"  # a name of one or more words, or a year
_PAIR = re.compile(
    rf"(?P<head>.*\S )(?P<one>{_THING}),? (?:and|or|with|to|versus|vs\.?|und|oder|mit|et|ou|y|o|compared (?:with|to))"
    r"(?: (?:in|of|for))?"
    rf" (?P<two>{_THING})(?P<end>[.?!]*)$"
)
_SENTENCE = re.compile(r"[^?？!。]+[?？!。]*")
_AND_ASKS = re.compile(
    r",? (?:and|und|et|y|but) (?=(?:who|what|when|where|why|which|how|is|are|was|were|do|does|did|can|wer|was|wann|wo|warum|"
    r"wie|qui|que|quand|où|pourquoi|comment|quién|qué|cuándo|dónde|cómo)\b)|; ",
    re.IGNORECASE,
)
_BEFORE_OR_AFTER = re.compile(
    r"\b(?:(?P<before>before|previous(?:ly)?|earlier|led up|led to|leading to|beforehand|cause[ds]?|vorher|davor|zuvor|avant|"
    r"antes)|after|afterwards?|next|then|later|following|followed|since|result(?:s|ed)?|danach|später|après|ensuite|después|luego)\b",
    re.IGNORECASE,
)
_CUT_BEFORE = re.compile(r"[a-zà-ÿ,;)]|(?:He|She|It|They|This|These|Those|But|Then|However|Therefore|Thus)\b")
_SENTENCE_END = re.compile(r"[.!?…。！？؟।][\"'”’»)\]\s]*$")
_NUMBER = re.compile(r"(?<![\w.])-?(?>\d+(?:[.,]\d+)*)(?!\w)")
_PLAIN_NUMBER = re.compile(r"-?(?:\d+|[1-9]\d{0,2}(?:,\d{3})+)(?:\.\d+)?")  # "1,5" may be one and a half, or two numbers
_ASKING = frozenset(("input", "query", "query_str", "question", "text", "message", "search", "q", "topic", "prompt"))
