"""Which of several choices serve a question: a language model says it, or the choices' vectors do.

However a model replies, something is selected. Where its reply names no choice that there is, that is the choice whose
description is nearest to the question; the reason and the trace say so.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias

from ragcore.aliases import SameAsConstructor
from ragcore.concurrency import awaitable
from ragcore.embeddings.base import query_vector
from ragcore.llms.base import LLMCall
from ragcore.llms.context_window import shorten_texts
from ragcore.observe import Span, span
from ragcore.prompts.mixin import PromptMixin
from ragcore.prompts.prompt import Choice, Prompt, Variable
from ragcore.prompts.structured_output import list_schema
from ragcore.prompts.templates import BaseOutputParser, Wording, in_place_of
from ragcore.prompts.wording import SELECT_MULTI, SELECT_SINGLE
from ragcore.schema import QueryBundle, as_bundle
from ragcore.settings import embedder, services
from ragcore.text.json_replies import json_values
from ragcore.vector_stores.search import unit_query

__path__: list[str] = []  # inner paths are looked up in `ragcore.inner_paths`

if TYPE_CHECKING:
    from ragcore.embeddings.base import Embedder
    from ragcore.llms.base import LLM


class Described(Protocol):
    """What a choice must tell of itself, as a `ToolMetadata` does."""

    @property
    def name(self) -> str | None: ...

    @property
    def description(self) -> str: ...


Choices: TypeAlias = Sequence[Described | str]


@dataclass(frozen=True, slots=True)
class SingleSelection:
    """`index` counts from 0."""

    index: int
    reason: str = ""


@dataclass(frozen=True, slots=True)
class SelectorResult:
    """At least one selection, the best first. `ind` and `reason` are for results of one; ValueError where there are more."""

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
    """Holds nothing of a question: threads may share it."""

    from_defaults = SameAsConstructor()

    def select(self, choices: Choices, query: str | QueryBundle) -> SelectorResult:
        """ValueError without choices; LLMErrors, EmbeddingErrors; DimensionError for a question's vector of another width.

        In the trace: a span "select" with `selected` (indexes), `reasons`, and where it was so `no_such_choices`, `fell_back`,
        and `shortened`: of so many choices a model saw the beginning alone.
        """
        if not choices:
            raise ValueError("there is nothing to select from")
        bundle = as_bundle(query)
        with span("select", selector=type(self).__name__, question=bundle.query_str, choices=len(choices)) as step:
            result = SelectorResult(tuple(self._select(choices, bundle, step)))
            step.note(selected=result.inds, reasons=result.reasons)
        return result

    aselect = awaitable(select)

    @abstractmethod
    def _select(self, choices: Choices, query: QueryBundle, step: Span) -> Sequence[SingleSelection]: ...


class EmbeddingSingleSelector(BaseSelector):
    """The choice whose description has the highest cosine to the question, the first of equal ones. No call to a model."""

    def __init__(self, embed_model: Embedder | None = None) -> None:
        self._embedder = embedder(embed_model)

    def _select(self, choices: Choices, query: QueryBundle, step: Span) -> Sequence[SingleSelection]:
        return [_nearest(self._embedder, choices, query)]


class _AskingSelector(BaseSelector):
    """One call. `embed_model` is for a reply that names no choice."""

    prompt_attributes: ClassVar = {"prompt": "_prompt"}
    by_function = False

    def __init__(self, llm: LLM | None, embed_model: Embedder | None, ours: Prompt, prompt: Wording, most: int | None) -> None:
        if most is not None and most < 1:
            raise ValueError(f"max_outputs must be at least 1, not {most}")
        found = services(llm, embed_model)
        self._llm = found.llm
        self._embedder = found.embed_model
        self._prompt = in_place_of(ours, prompt, self._llm)
        self._most = most

    def _select(self, choices: Choices, query: QueryBundle, step: Span) -> Sequence[SingleSelection]:
        most = self._most or len(choices)
        names = [_name(choice) for choice in choices]
        told: dict[str, Variable] = {"query_str": query.query_str, "max_outputs": str(most), "num_choices": str(len(choices))}
        described = [_description(choice) for choice in choices]
        fitting = shorten_texts(self._llm, self._prompt, {**told, "choices": " ".join(names)}, described, step)
        cards = tuple(Choice(place, text, name) for place, (text, name) in enumerate(zip(fitting, names, strict=True), 1))
        said = self._ask({**told, "choices": cards, "context_list": cards}, cards)
        reasons = dict(reversed(said))  # the first that is given for each
        named = list(dict.fromkeys(number for number, _ in said))
        kept = [number for number in named if 1 <= number <= len(cards)][:most]
        if unknown := [number for number in named if not 1 <= number <= len(cards)]:
            step.note(no_such_choices=unknown)
        if kept:
            return [SingleSelection(number - 1, reasons[number]) for number in kept]
        step.note(fell_back=True)
        nearest = _nearest(self._embedder, choices, query)
        return [replace(nearest, reason=f"The model named none of the {len(cards)} choices. {nearest.reason}")]

    def _ask(self, variables: Mapping[str, Variable], cards: Sequence[Choice]) -> list[tuple[int, str]]:
        """The numbers that the reply names, each with its reason."""
        call = LLMCall(self._prompt, variables, schema=_SELECTIONS)
        if self.by_function and self._llm.metadata.is_function_calling_model:
            call = replace(call, tools=(_SELECT,), tool_choice="select")
        generation = self._llm.generate(call)
        replies = [str(called["function"]["arguments"]) for called in generation.tool_calls] or [generation.text]
        return [selection for reply in replies for selection in read_selections(reply, cards)]


class LLMSingleSelector(_AskingSelector):
    """One choice, in one call; of a reply that names several, the first."""

    def __init__(self, llm: LLM | None = None, *, embed_model: Embedder | None = None, prompt: Wording = SELECT_SINGLE) -> None:
        super().__init__(llm, embed_model, SELECT_SINGLE, prompt, 1)


class LLMMultiSelector(_AskingSelector):
    """At most `max_outputs` choices (None: as many as there are), the best first, in one call."""

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
    """The same through a function that the model must call, where it can call functions."""

    by_function = True


class PydanticMultiSelector(LLMMultiSelector):
    """The same through a function that the model must call, where it can call functions."""

    by_function = True


def get_selector_from_llm(llm: LLM | None = None, is_multi: bool = False) -> BaseSelector:
    """One that asks by a function where the model can call functions, else by words."""
    by_function = services(llm).llm.metadata.is_function_calling_model
    if is_multi:
        return PydanticMultiSelector(llm) if by_function else LLMMultiSelector(llm)
    return PydanticSingleSelector(llm) if by_function else LLMSingleSelector(llm)


def read_selections(reply: str, choices: Sequence[Choice]) -> list[tuple[int, str]]:
    """The (number, reason) pairs that a model's reply names, in its order, whether or not there are such choices.

    Read as JSON of any nesting; where that names none, as numbers alone: "1 and 3"; as broken JSON or YAML; as lines that all
    begin with a number: "(3) notes", "3 - because"; or as words that name one choice: "Choice 2 is best" is 2. But for numbers
    alone the reason is the whole reply then. Lines with words for every choice are a verdict on each, and name none.
    """
    said = Counter(choice.name.casefold() for choice in choices if choice.name)
    names = {choice.name.casefold(): choice.number for choice in choices if said[choice.name.casefold()] == 1}
    if found := list(_in(json_values(reply), names)):
        return found
    reply = reply.strip()
    if _ALONE.fullmatch(reply):
        return [(int(number), "") for number in re.findall(r"\d+", reply)]
    named = _KEYED.findall(reply) or _listed(reply, choices)
    if not named:
        named = list(dict.fromkeys(_SAID.findall(reply)))
        if len(named) > 1:
            return []  # words may also say why one of them is not the choice
    return [(int(number), reply) for number in named]


@dataclass(frozen=True, slots=True)
class Answer:
    """A choice that a reply names. The first choice is 1."""

    choice: int
    reason: str = ""


@dataclass(frozen=True, slots=True)
class StructuredOutput:
    """A reply, and what it says."""

    raw_output: str
    parsed_output: Any = None


class SelectionOutputParser(BaseOutputParser):
    """Reads the choices of a reply, as the selectors do. ValueError where it names none.

    >>> SelectionOutputParser().parse('[{"choice": 1, "reason": "It is newer."}]').parsed_output
    [Answer(choice=1, reason='It is newer.')]
    """

    def parse(self, output: str) -> StructuredOutput:
        found = list(_in(json_values(output), {}))
        if not found:
            raise ValueError(f"the reply names no choice in JSON: {output[:200]!r}")
        return StructuredOutput(output, [Answer(number, reason) for number, reason in found])


def _listed(reply: str, choices: Sequence[Choice]) -> list[str]:
    """The numbers with which all lines begin; none where another line is among them, which may say anything of the others."""
    begun = [_LISTED.match(line) for line in reply.splitlines() if line.strip()]
    found = [(match["marked"] or match["plain"], match.string[match.end() :]) for match in begun if match]
    names = {choice.name.casefold() for choice in choices}
    judged = len({number for number, _ in found}) >= len(choices) > 1
    judged = judged and any(rest.strip().casefold() not in names for _, rest in found)
    return [number for number, _ in found] if all(begun) and not judged else []


_SELECTIONS = list_schema("selections", {"choice": {"type": "integer"}, "reason": {"type": "string"}})
_SELECT: Mapping[str, Any] = {"type": "function", "function": {"name": "select", "parameters": _SELECTIONS}}

_KEYED = re.compile(r"""\bchoice["']?\s*:\s*["'(]*(-?\d{1,9})\b""")  # of broken JSON, or of YAML
_ONE = r"\(?\d{1,9}\)?\.?"
_ALONE = re.compile(rf"{_ONE}(?:(?:\s*[,;&+]\s*(?:and\s+)?|\s+and\s+|[ \t\r]*\n\s*){_ONE})*", re.IGNORECASE)
_LISTED = re.compile(r"\s*(?:[-*•]\s+)?(?:\((?P<marked>\d{1,9})\)|(?P<plain>\d{1,9})(?:[.):]\s+|\s+[-–—]+\s+|\s*$)(?!\d))")
_SAID = re.compile(r"\b(?:choice|option|answer|number)\b[\"'*]*\s*(?:is|:|=|#|number)?[\s\"'*(#]*(-?\d{1,9})\b", re.IGNORECASE)
_NUMBER = re.compile(r"\s*(?:[^\W\d]+\s*)?[(#]*(-?\d{1,9})\b")


def _in(value: Any, names: Mapping[str, int]) -> Iterator[tuple[int, str]]:
    """A number counts alone, in a list, and as the "choice" of an object, whose other values are only looked into."""
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
    whole = (isinstance(value, int) and not isinstance(value, bool)) or (isinstance(value, float) and value.is_integer())
    return int(value) if whole else None


def _nearest(embedder: Embedder, choices: Choices, query: QueryBundle) -> SingleSelection:
    rows = embedder.embed_passages([_description(choice) for choice in choices])
    cosines = rows @ unit_query(query_vector(embedder, query), rows.shape[1])  # (n, d) @ (d,) -> (n,)
    best = int(cosines.argmax())
    return SingleSelection(best, f"Its description is the nearest to the question (cosine {float(cosines[best]):.2f}).")


def _description(choice: Described | str) -> str:
    return choice if isinstance(choice, str) else choice.description


def _name(choice: Described | str) -> str:
    return "" if isinstance(choice, str) else choice.name or ""
