"""The values of questions and answers that the packages of the application share."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from typing import Annotated, Any, Literal, TypeVar, get_args

from pydantic import Field, TypeAdapter

from lectern.retrieval import Retrieval
from lectern.settings import ChatMode, ResponseModeName
from ragcore.errors import Problem
from ragcore.extractive.languages.quantities import lacks_total
from ragcore.response_synthesizers.base import LEADER_KEY, VERSION_KEY
from ragcore.response_synthesizers.response_mode import ResponseMode, find_mode
from ragcore.schema import NodeWithScore, Outcome
from ragcore.text.citations import cited_in, renumber

Kind = Literal["chat", "query", "compare", "replay"]  # The id of a replay begins with that of its chat.

State = Literal["writing", "done", "stopped", "failed", "interrupted"]

Reading = Literal["best", "everything", "each_file"]

FileOutcome = Literal["found", "closest", "uncited", "nothing", "failed"]

# What stored values may be: a date outside this range, for example, could not be displayed.
LATEST = 250_000_000_000.0  # seconds since the epoch: in the year 9892
MOST = 10**15
Moment = Annotated[float, Field(ge=0, le=LATEST)]  # seconds since the epoch
Amount = Annotated[float, Field(ge=-MOST, le=MOST)]  # neither infinite nor NaN
Count = Annotated[int, Field(ge=0, le=MOST)]
ChatModeName = Annotated[str, Field(pattern="^(" + "|".join(get_args(ChatMode)) + r")\z")]

T = TypeVar("T")


def parse_json(kind: type[T], text: str | bytes) -> T:
    """The value of this type in stored JSON. Unknown fields are ignored; ValueError for invalid ones.

    >>> parse_json(Price, '{"calls": 2, "prompt_tokens": 10, "completion_tokens": 5, "colour": "red"}').tokens
    15
    """
    return adapter(kind).validate_json(text)  # type: ignore[no-any-return, arg-type]


@cache
def adapter(kind: Any) -> TypeAdapter[Any]:
    """Checks values of this type, see pydantic."""
    return TypeAdapter(kind)


def is_moment(value: object) -> bool:
    """Whether the value is a time that can be displayed, in seconds since the epoch."""
    return isinstance(value, int | float) and 0 <= value <= LATEST


@dataclass(frozen=True, slots=True)
class Source:
    """A copy of a passage of an answer, which the text cites as [number]. It stays when its document is
    deleted. `version`: the date of the document, if it has other versions. `leader`: the name of the version
    that leads, if it is another one.

    >>> Source(1, "node", "file", "handbook.pdf", 0, 20, "Bring your own lamp.", page_label="4").place
    'handbook.pdf, page 4'
    """

    number: Count
    node_id: str
    file_id: str
    file_name: str
    start: Count  # characters of the document's text
    end: Count
    text: str
    score: Amount | None = None
    page_label: str | None = None
    page_word: str = "page"
    page_index: Count | None = None
    version: str = ""
    leader: str = ""

    @property
    def place(self) -> str:
        return f"{self.file_name}, {self.page_word} {self.page_label}" if self.page_label else self.file_name


def build_sources(nodes: Sequence[NodeWithScore], first: int = 1) -> list[Source]:
    """The sources of an answer, numbered from `first`."""
    sources = []
    for number, hit in enumerate(nodes, first):
        node, metadata = hit.node, hit.node.metadata
        label, index = metadata.get("page_label"), metadata.get("page_index")
        sources.append(
            Source(
                number=number,
                node_id=node.id_,
                file_id=str(node.ref_doc_id),
                file_name=str(metadata["file_name"]),
                start=node.start_char_idx or 0,
                end=node.end_char_idx or 0,
                text=node.text,
                score=hit.score,
                page_label=None if label is None else str(label),
                page_word=str(metadata.get("page_word", "page")),
                page_index=index if isinstance(index, int) else None,
                version=str(metadata.get(VERSION_KEY, "")),
                leader=str(metadata.get(LEADER_KEY, "")),
            )
        )
    return sources


@dataclass(frozen=True, slots=True)
class Price:
    """The estimated price of an answer. `seconds` is None if it is unknown, `money` if tokens have no
    price."""

    calls: Count
    prompt_tokens: Count
    completion_tokens: Count
    seconds: Amount | None = None
    money: Amount | None = None

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True, slots=True)
class FileAnswer:
    """The answer for one document, if each is asked separately. It may be a citation ("found"), a quote of
    the "closest" passage, or a text without citation ("uncited").

    `notice`: the program's own words, above the closest passages or instead of an answer. `pages`: labels of
    the cited pages. If it failed, `text` and `hint` are the reason.
    """

    file_name: str
    text: str
    found: FileOutcome
    pages: tuple[str, ...] = ()
    page_word: str = "page"
    hint: str = ""
    notice: str = ""


@dataclass(frozen=True, slots=True)
class AnswerPart:
    """One of several answers that stand below each other: `text[start:end]` of the whole."""

    start: Count  # characters
    end: Count
    outcome: Outcome = "answer"


@dataclass(frozen=True, slots=True)
class AnswerFacts:
    """Facts about an answer: its mode, calls, time, and passages."""

    mode: str
    mode_label: str
    calls: Count
    seconds: Amount
    passages_used: Count
    passages_total: Count
    prompt_tokens: Count = 0
    completion_tokens: Count = 0
    extractive: bool = False
    model: str = ""
    condensed: str | None = None  # the question of the retrieval, if a follow-up was condensed
    meant: str | None = None  # the question of the retrieval, if misspelt words were corrected
    money: Amount | None = None  # the price of the tokens, if they have one
    currency: str = ""
    expected: Price | None = None  # the estimate that the screen has displayed
    reading: Reading = "best"
    files_used: Count = 0
    files_total: Count = 0
    rows: tuple[FileAnswer, ...] = ()  # if each document was asked separately
    recorded: Moment | None = None  # of a played recording: its time in seconds since the epoch
    files_unread: Count = 0  # documents that were not read yet
    tokens_estimated: bool = False  # if the model's server did not report them
    unready: bool = False  # whether the answer waited for the embedder, which is slow to load
    outcome: Outcome = "answer"  # of a finished answer
    parts: tuple[AnswerPart, ...] = ()  # of answers below each other; none if citations were corrected

    @property
    def is_doubtful(self) -> bool:
        """Whether a model wrote an answer that the documents may not support."""
        return self.outcome == "closest" and not self.extractive

    @property
    def is_unsure(self) -> bool:
        """Whether it only quotes the closest passages."""
        return self.outcome == "closest" and self.extractive

    @property
    def writes(self) -> bool:
        """See `ResponseMode.writes`. A chat mode always writes."""
        mode = find_mode(self.mode)
        return mode is None or mode.writes

    @property
    def has_sources(self) -> bool:
        """See `ResponseMode.has_sources`."""
        mode = find_mode(self.mode)
        return mode is None or mode.has_sources

    @classmethod
    def from_json(cls, text: str) -> AnswerFacts:
        """See `parse_json`."""
        return parse_json(cls, text)


@dataclass(frozen=True, slots=True)
class Ask:
    """A question and how to answer it: in a conversation with `chat_mode`, or without one with
    `response_mode`.

    `reading`: the best passages, everything, or each document separately; the last two use `response_mode`.

    >>> ask = Ask("Who keeps the tower?", chat_mode=None, top_k=3)
    >>> ask.mode, Ask.from_json(ask.to_json()) == ask
    ('compact', True)
    """

    question: str
    chat_mode: ChatModeName | None = "condense_plus_context"
    response_mode: ResponseModeName = "compact"
    top_k: Count = 6
    file_ids: tuple[str, ...] | None = None  # None asks all documents
    extractive: bool = False  # answer without the language model
    node_ids: tuple[str, ...] | None = None  # exactly these passages, in this order, without a search
    node_scores: tuple[float | None, ...] = ()  # of these passages, by the search that found them
    retrieval: Retrieval = field(default_factory=Retrieval)
    reading: Reading = "best"

    @property
    def mode(self) -> str:
        """The chat mode, or the response mode without a chat or for more than the best passages."""
        return self.response_mode if self.reading != "best" or self.chat_mode is None else self.chat_mode

    @property
    def reads_documents(self) -> bool:
        """Whether the answer uses passages."""
        mode = find_mode(self.mode)
        return not self.without_documents and (mode is None or mode.reads_passages)

    @property
    def needs_model(self) -> bool:
        """Whether only a language model can answer, because no passage is read."""
        mode = find_mode(self.mode)
        return self.without_documents or (mode is not None and mode.writes and not mode.reads_passages)

    @property
    def writes(self) -> bool:
        """See `ResponseMode.writes`."""
        return ResponseMode(self.response_mode).writes

    @property
    def has_sources(self) -> bool:
        """See `ResponseMode.has_sources`."""
        return ResponseMode(self.response_mode).has_sources

    @property
    def answers_in_parts(self) -> bool:
        """Whether the text may be several answers below each other."""
        return self.reading == "best" and ResponseMode(self.response_mode).answers_in_parts

    @property
    def without_documents(self) -> bool:
        """Whether the model answers without retrieval."""
        return self.reading == "best" and self.chat_mode == "simple"

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Ask:
        """See `parse_json`. The JSON of earlier versions has fewer fields."""
        return parse_json(cls, text)


@dataclass(frozen=True, slots=True)
class Message:
    id: str
    conversation_id: str
    role: Literal["user", "assistant"]
    text: str
    state: State
    created: float
    ask: Ask | None = None
    facts: AnswerFacts | None = None
    sources: tuple[Source, ...] = ()
    problem: Problem | None = None
    saved: bool = True  # False if this process could not store it

    @property
    def standalone_question(self) -> str:
        """The question of an answer; of a follow-up, the one it was condensed to. "" without a question."""
        if self.facts is not None and self.facts.condensed:
            return self.facts.condensed
        return self.ask.question if self.ask is not None else ""

    @property
    def is_remembered(self) -> bool:
        """Whether it is an answer, complete or not, that later questions refer to. The reply that no passage
        was found is none."""
        facts = self.facts
        found_nothing = facts is not None and facts.outcome == "nothing" and not facts.passages_used
        return self.state in ("done", "stopped", "interrupted") and bool(self.text) and not found_nothing

    @property
    def needs_no_passages(self) -> bool:
        """Whether it answers without a passage or a model: with the names of the documents."""
        facts = self.facts
        return (
            facts is not None and facts.extractive and facts.outcome == "answer" and not facts.passages_used
        )

    @property
    def only_closest(self) -> bool:
        """Whether the whole text quotes the closest passages. In an answer in parts, each part is marked."""
        return self.facts is not None and self.facts.is_unsure and not self.facts.parts

    @property
    def leaves_adding(self) -> bool:
        """Whether it only quotes the figures whose total was the question."""
        if self.facts is None or self.ask is None:
            return False
        if not self.facts.extractive or not self.facts.passages_used:
            return False
        return lacks_total(self.ask.question, self.text)

    @property
    def shown_numbers(self) -> dict[int, int]:
        """The number on the screen for each citation of a chat: 1, 2, 3 … in the order of the text, the same
        for passages of one page. In the lab, where all passages are listed or answers are compared, the
        numbers do not change.

        >>> source = Source(4, "a", "f", "lease.pdf", 0, 9, "The rent.", page_label="2")
        >>> text = "It is 980 [4]."
        >>> message = Message("m", "c", "assistant", text, "done", 0.0, Ask("?"), sources=(source,))
        >>> message.shown_numbers
        {4: 1}
        """
        # the last is a replay
        if self.ask is None or self.ask.chat_mode is None or "." in self.conversation_id:
            return {source.number: source.number for source in self.sources}
        places: dict[tuple[str, str], int] = {}
        return {
            source.number: places.setdefault(
                (source.file_id, source.page_label or source.node_id), len(places) + 1
            )
            for source in [*self.cited, *self.sources]
        }

    @property
    def as_shown(self) -> Message:
        """The message with the numbers on the screen, for copies and exports. Cited passages of one place are
        joined."""
        if not self.sources:
            return self
        numbers = self.shown_numbers
        sources: dict[int, Source] = {}
        for source in self.cited or self.sources:
            number = numbers[source.number]
            before = sources.get(number)
            sources[number] = (
                replace(before, text=f"{before.text}\n\n{source.text}")
                if before
                else replace(source, number=number)
            )
        return replace(
            self,
            text=renumber(self.text, numbers),
            sources=tuple(sources[number] for number in sorted(sources)),
        )

    @property
    def cited(self) -> list[Source]:
        """The cited passages, each once, in the order of the text."""
        by_number = {source.number: source for source in self.sources}
        return [by_number[number] for number in dict.fromkeys(cited_in(self.text)) if number in by_number]


@dataclass(frozen=True, slots=True)
class Conversation:
    id: str
    kind: Kind
    title: str
    created: float
    updated: float
