"""Selects among several choices for a question, by a language model or by the vectors of the choices.

There is always a selection. If a model's reply names no existing choice, the choice whose description is
nearest to the question is selected; the reason and the trace record that.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, Self, TypeAlias

from ragcore.concurrency import awaitable
from ragcore.embeddings.base import Embedder, query_vector
from ragcore.llms.base import LLM, LLMCall
from ragcore.llms.context_window import shorten_texts
from ragcore.observe import Span, span
from ragcore.prompts.mixin import PromptMixin
from ragcore.prompts.prompt import Choice, Prompt, Variable
from ragcore.prompts.structured_output import list_schema
from ragcore.prompts.templates import BaseOutputParser, Wording, replace_prompt
from ragcore.prompts.wording import SELECT_MULTI, SELECT_SINGLE
from ragcore.schema import QueryBundle, as_bundle
from ragcore.settings import embedder, services
from ragcore.text.json_replies import parse_json_values
from ragcore.vector_stores.search import unit_query


class HasDescription(Protocol):
    """A choice with a name and a description, such as a `ToolMetadata`."""

    @property
    def name(self) -> str | None: ...

    @property
    def description(self) -> str: ...


Choices: TypeAlias = Sequence[HasDescription | str]


@dataclass(frozen=True, slots=True)
class SingleSelection:
    """`index` counts from 0."""

    index: int
    reason: str = ""


@dataclass(frozen=True, slots=True)
class SelectorResult:
    """At least one selection, best first. `ind` and `reason` belong to a single selection; ValueError for
    several.

    >>> SelectorResult((SingleSelection(2, "It is about trees."), SingleSelection(0))).inds
    [2, 0]
    """

    selections: tuple[SingleSelection, ...]

    @property
    def ind(self) -> int:
        return self._only().index

    @property
    def reason(self) -> str:
        return self._only().reason

    @property
    def inds(self) -> list[int]:
        return [selection.index for selection in self.selections]

    @property
    def reasons(self) -> list[str]:
        return [selection.reason for selection in self.selections]

    def _only(self) -> SingleSelection:
        if len(self.selections) != 1:
            raise ValueError(f"there are {len(self.selections)} selections; use inds and reasons")
        return self.selections[0]


class BaseSelector(PromptMixin, ABC):
    """Has no state of a question: threads may share it.

    >>> class First(BaseSelector):
    ...     def _select(self, choices, query, step):
    ...         return [SingleSelection(0, "It is the first.")]
    >>> First().select(["boats", "trees"], "Which tree?").ind
    0
    """

    @classmethod
    def from_defaults(cls, *args: Any, **options: Any) -> Self:
        """The arguments are those of the constructor."""
        return cls(*args, **options)

    def select(self, choices: Choices, query: str | QueryBundle) -> SelectorResult:
        """ValueError without choices; LLMErrors, EmbeddingErrors; DimensionError for a question's vector of
        another width.

        The span "select" notes `selected` (indexes) and `reasons`; if they apply, also `no_such_choices`,
        `fell_back`, and `shortened`, the number of choices that were cut to fit the model's window.
        """
        if not choices:
            raise ValueError("there is nothing to select from")
        bundle = as_bundle(query)
        with span(
            "select", selector=type(self).__name__, question=bundle.query_str, choices=len(choices)
        ) as step:
            result = SelectorResult(tuple(self._select(choices, bundle, step)))
            step.note(selected=result.inds, reasons=result.reasons)
        return result

    aselect = awaitable(select)

    @abstractmethod
    def _select(self, choices: Choices, query: QueryBundle, step: Span) -> Sequence[SingleSelection]: ...


class EmbeddingSingleSelector(BaseSelector):
    """Selects the choice whose description has the highest cosine to the question, without a call of a
    language model.

    >>> from ragcore.embeddings import HashEmbedding
    >>> selector = EmbeddingSingleSelector(HashEmbedding())
    >>> selector.select(["notes about boats", "notes about trees"], "Which trees?").ind
    1
    """

    def __init__(self, embed_model: Embedder | None = None) -> None:
        self._embedder = embedder(embed_model)

    def _select(self, choices: Choices, query: QueryBundle, step: Span) -> Sequence[SingleSelection]:
        return [_nearest(self._embedder, choices, query)]


class _AskingSelector(BaseSelector):
    """Selects with one call. `embed_model` is used if the reply names no choice."""

    prompt_attributes: ClassVar = {"prompt": "_prompt"}
    by_function = False

    def __init__(
        self, llm: LLM | None, embed_model: Embedder | None, ours: Prompt, prompt: Wording, most: int | None
    ) -> None:
        if most is not None and most < 1:
            raise ValueError(f"max_outputs must be at least 1, not {most}")
        chosen = services(llm, embed_model)
        self._llm = chosen.llm
        self._embedder = chosen.embed_model
        self._prompt = replace_prompt(ours, prompt, self._llm)
        self._most = most

    def _select(self, choices: Choices, query: QueryBundle, step: Span) -> Sequence[SingleSelection]:
        most = self._most or len(choices)
        names = [_name(choice) for choice in choices]
        values: dict[str, Variable] = {
            "query_str": query.query_str,
            "max_outputs": str(most),
            "num_choices": str(len(choices)),
        }
        described = [_description(choice) for choice in choices]
        fitting = shorten_texts(
            self._llm, self._prompt, {**values, "choices": " ".join(names)}, described, step
        )
        cards = tuple(
            Choice(place, text, name)
            for place, (text, name) in enumerate(zip(fitting, names, strict=True), 1)
        )
        selections = self._ask({**values, "choices": cards, "context_list": cards}, cards)
        reasons = dict(reversed(selections))  # the first reason of each choice wins
        named = list(dict.fromkeys(number for number, _ in selections))
        chosen = [number for number in named if 1 <= number <= len(cards)][:most]
        if unknown := [number for number in named if not 1 <= number <= len(cards)]:
            step.note(no_such_choices=unknown)
        if chosen:
            return [SingleSelection(number - 1, reasons[number]) for number in chosen]
        step.note(fell_back=True)
        nearest = _nearest(self._embedder, choices, query)
        return [
            replace(nearest, reason=f"The model named none of the {len(cards)} choices. {nearest.reason}")
        ]

    def _ask(self, variables: Mapping[str, Variable], cards: Sequence[Choice]) -> list[tuple[int, str]]:
        """The numbers that the reply names, each with its reason."""
        call = LLMCall(self._prompt, variables, schema=_SELECTIONS)
        if self.by_function and self._llm.metadata.is_function_calling_model:
            call = replace(call, tools=(_SELECT,), tool_choice="select")
        generation = self._llm.generate(call)
        replies = [str(called["function"]["arguments"]) for called in generation.tool_calls] or [
            generation.text
        ]
        return [selection for reply in replies for selection in read_selections(reply, cards)]


class LLMSingleSelector(_AskingSelector):
    """Selects one choice in one call; if the reply names several, the first.

    >>> from ragcore.llms import ScriptedLLM
    >>> llm = ScriptedLLM(['[{"choice": 2, "reason": "It is about trees."}]'])
    >>> LLMSingleSelector(llm).select(["notes about boats", "notes about trees"], "Which trees?").reason
    'It is about trees.'
    """

    def __init__(
        self, llm: LLM | None = None, *, embed_model: Embedder | None = None, prompt: Wording = SELECT_SINGLE
    ) -> None:
        super().__init__(llm, embed_model, SELECT_SINGLE, prompt, 1)


class LLMMultiSelector(_AskingSelector):
    """Selects at most `max_outputs` choices (None: no limit) in one call, best first.

    >>> from ragcore.llms import ScriptedLLM
    >>> llm = ScriptedLLM(['[{"choice": 3, "reason": "b"}, {"choice": 1, "reason": "a"}]'])
    >>> LLMMultiSelector(llm, max_outputs=2).select(["boats", "trees", "ships"], "What sails?").inds
    [2, 0]
    """

    def __init__(
        self,
        llm: LLM | None = None,
        max_outputs: int | None = None,
        *,
        embed_model: Embedder | None = None,
        prompt: Wording = SELECT_MULTI,
    ) -> None:
        super().__init__(llm, embed_model, SELECT_MULTI, prompt, max_outputs)


class PydanticSingleSelector(LLMSingleSelector):
    """As LLMSingleSelector. A model that calls functions must reply by a function call.

    >>> from ragcore.llms import ScriptedLLM, ToolCall
    >>> call = ToolCall.of(
    ...     "call_1", "select", '{"selections": [{"choice": 2, "reason": "It is about trees."}]}'
    ... )
    >>> llm = ScriptedLLM([call], is_function_calling_model=True)
    >>> PydanticSingleSelector(llm).select(["boats", "trees"], "Which tree?").ind
    1
    """

    by_function = True


class PydanticMultiSelector(LLMMultiSelector):
    """As LLMMultiSelector. A model that calls functions must reply by a function call.

    >>> from ragcore.llms import ScriptedLLM, ToolCall
    >>> arguments = '{"selections": [{"choice": 3, "reason": "b"}, {"choice": 1, "reason": "a"}]}'
    >>> llm = ScriptedLLM([ToolCall.of("call_1", "select", arguments)], is_function_calling_model=True)
    >>> PydanticMultiSelector(llm).select(["boats", "trees", "ships"], "What sails?").inds
    [2, 0]
    """

    by_function = True


def get_selector_from_llm(llm: LLM | None = None, is_multi: bool = False) -> BaseSelector:
    """A Pydantic selector if the model calls functions, else an LLM selector.

    >>> from ragcore.llms import ScriptedLLM
    >>> type(get_selector_from_llm(ScriptedLLM(), is_multi=True)).__name__
    'LLMMultiSelector'
    """
    by_function = services(llm).llm.metadata.is_function_calling_model
    if is_multi:
        return PydanticMultiSelector(llm) if by_function else LLMMultiSelector(llm)
    return PydanticSingleSelector(llm) if by_function else LLMSingleSelector(llm)


def read_selections(reply: str, choices: Sequence[Choice]) -> list[tuple[int, str]]:
    """The (number, reason) pairs of a model's reply, in its order; the numbers may not exist as choices.

    The formats are tried in this order: JSON of any nesting; only numbers, as in "1 and 3"; broken JSON or
    YAML; lines that all begin with a number, as in "(3) notes" or "3 - because"; words that name one choice,
    as in "Choice 2 is best". From broken JSON on, the reason is the whole reply. Lines with words for every
    choice judge each of them, and select none.
    """
    counts = Counter(choice.name.casefold() for choice in choices if choice.name)
    names = {
        choice.name.casefold(): choice.number for choice in choices if counts[choice.name.casefold()] == 1
    }
    if selections := list(_in(parse_json_values(reply), names)):
        return selections
    reply = reply.strip()
    if _ALONE.fullmatch(reply):
        return [(int(number), "") for number in re.findall(r"\d+", reply)]
    named = _KEYED.findall(reply) or _numbered_lines(reply, choices)
    if not named:
        named = list(dict.fromkeys(_SINGLE.findall(reply)))
        if len(named) > 1:
            return []  # the words may explain why one of them is not the choice
    return [(int(number), reply) for number in named]


@dataclass(frozen=True, slots=True)
class Answer:
    """A choice that a reply names. The first choice is 1."""

    choice: int
    reason: str = ""


@dataclass(frozen=True, slots=True)
class StructuredOutput:
    """A reply and its parsed form."""

    raw_output: str
    parsed_output: Any = None


class SelectionOutputParser(BaseOutputParser):
    """Reads the choices in a reply's JSON. ValueError if it names none.

    >>> SelectionOutputParser().parse('[{"choice": 1, "reason": "It is newer."}]').parsed_output
    [Answer(choice=1, reason='It is newer.')]
    """

    def parse(self, output: str) -> StructuredOutput:
        selections = list(_in(parse_json_values(output), {}))
        if not selections:
            raise ValueError(f"the reply names no choice in JSON: {output[:200]!r}")
        return StructuredOutput(output, [Answer(number, reason) for number, reason in selections])


def _numbered_lines(reply: str, choices: Sequence[Choice]) -> list[str]:
    """The numbers at the beginnings of all lines; [] if one line begins differently, because it may negate
    the others."""
    begun = [_NUMBERED.match(line) for line in reply.splitlines() if line.strip()]
    numbers = [(match["marked"] or match["plain"], match.string[match.end() :]) for match in begun if match]
    names = {choice.name.casefold() for choice in choices}
    judged = len({number for number, _ in numbers}) >= len(choices) > 1
    judged = judged and any(rest.strip().casefold() not in names for _, rest in numbers)
    return [number for number, _ in numbers] if all(begun) and not judged else []


_SELECTIONS = list_schema("selections", {"choice": {"type": "integer"}, "reason": {"type": "string"}})
_SELECT: Mapping[str, Any] = {"type": "function", "function": {"name": "select", "parameters": _SELECTIONS}}

_KEYED = re.compile(r"""\bchoice["']?\s*:\s*["'(]*(-?\d{1,9})\b""")  # of broken JSON, or of YAML
_ONE = r"\(?\d{1,9}\)?\.?"
_ALONE = re.compile(rf"{_ONE}(?:(?:\s*[,;&+]\s*(?:and\s+)?|\s+and\s+|[ \t\r]*\n\s*){_ONE})*", re.IGNORECASE)
_NUMBERED = re.compile(
    r"\s*(?:[-*•]\s+)?(?:\((?P<marked>\d{1,9})\)|(?P<plain>\d{1,9})(?:[.):]\s+|\s+[-–—]+\s+|\s*$)(?!\d))"
)
_SINGLE = re.compile(
    r"\b(?:choice|option|answer|number)\b[\"'*]*\s*(?:is|:|=|#|number)?[\s\"'*(#]*(-?\d{1,9})\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\s*(?:[^\W\d]+\s*)?[(#]*(-?\d{1,9})\b")


def _in(value: Any, names: Mapping[str, int]) -> Iterator[tuple[int, str]]:
    """A number counts by itself, in a list, and as the "choice" of an object. Other values of an object are
    searched for nested objects and lists."""
    if isinstance(value, Mapping):
        number = _number(value.get("choice"), names)
        if number is not None:
            yield number, str(value.get("reason") or "")
            return
        for item in value.values():
            if isinstance(item, Mapping | list):
                yield from _in(item, names)
    elif isinstance(value, list):
        for item in value:
            yield from _in(item, names)
    elif (number := _number(value, names)) is not None:
        yield number, ""


def _number(value: Any, names: Mapping[str, int]) -> int | None:
    if isinstance(value, str):
        match = _NUMBER.match(value)
        return names.get(value.strip().casefold()) or (int(match.group(1)) if match else None)
    whole = (isinstance(value, int) and not isinstance(value, bool)) or (
        isinstance(value, float) and value.is_integer()
    )
    return int(value) if whole else None


def _nearest(embedder: Embedder, choices: Choices, query: QueryBundle) -> SingleSelection:
    rows = embedder.embed_passages([_description(choice) for choice in choices])
    cosines = rows @ unit_query(query_vector(embedder, query), rows.shape[1])  # (n, d) @ (d,) -> (n,)
    best = int(cosines.argmax())
    return SingleSelection(
        best, f"Its description is the nearest to the question (cosine {float(cosines[best]):.2f})."
    )


def _description(choice: HasDescription | str) -> str:
    return choice if isinstance(choice, str) else choice.description


def _name(choice: HasDescription | str) -> str:
    return "" if isinstance(choice, str) else choice.name or ""
