"""What the application keeps of questions and answers: plain values that its packages hand to each other."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Literal

from ragcore.errors import Problem
from ragcore.schema import NodeWithScore, Outcome
from ragcore.text.citations import cited_in, renumber

Kind = Literal["chat", "query", "compare", "replay"]  # those of a replay belong to the chat that their id begins with

State = Literal["writing", "done", "stopped", "failed", "interrupted"]

Reading = Literal["best", "everything", "each_file"]


Found = Literal["found", "closest", "uncited", "nothing", "failed"]


@dataclass(frozen=True, slots=True)
class Source:
    """A passage an answer was made from; citation [number] in its text. A copy, so that it outlives its document."""

    number: int
    node_id: str
    file_id: str
    file_name: str
    start: int  # characters of the document's text
    end: int
    text: str
    score: float | None = None
    page_label: str | None = None
    page_word: str = "page"
    page_index: int | None = None

    @property
    def place(self) -> str:
        """ "handbook.pdf, page 4" """
        return f"{self.file_name}, {self.page_word} {self.page_label}" if self.page_label else self.file_name


def build_sources(nodes: Sequence[NodeWithScore], first: int = 1) -> list[Source]:
    """The passages of an answer as it keeps them; [n] in its text is the n-th, counted from `first`."""
    return [
        Source(
            number=number,
            node_id=found.node.id_,
            file_id=str(found.node.ref_doc_id),
            file_name=str(found.node.metadata["file_name"]),
            start=found.node.start_char_idx or 0,
            end=found.node.end_char_idx or 0,
            text=found.node.text,
            score=found.score,
            page_label=_text(found.node.metadata.get("page_label")),
            page_word=str(found.node.metadata.get("page_word", "page")),
            page_index=_index(found.node.metadata.get("page_index")),
        )
        for number, found in enumerate(nodes, first)
    ]


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _index(value: object) -> int | None:
    return value if isinstance(value, int) else None


@dataclass(frozen=True, slots=True)
class Price:
    """What answering takes, as it was said before. `seconds` is None where there was no history to tell from, `money` where
    tokens cost nothing."""

    calls: int
    prompt_tokens: int
    completion_tokens: int
    seconds: float | None = None
    money: float | None = None

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True, slots=True)
class FileAnswer:
    """What one document said, where each was asked on its own. `found`: cites it; `closest`: quotes what comes close to an
    answer; `uncited`: says something and cites nothing.

    `pages`: labels of the pages it cites. Where it failed, `text` and `hint` are the reason.
    """

    file_name: str
    text: str
    found: Found
    pages: tuple[str, ...] = ()
    page_word: str = "page"
    hint: str = ""


@dataclass(frozen=True, slots=True)
class AnswerFacts:
    """How an answer was made: which mode, how many calls, how long, and how much of the library it saw."""

    mode: str
    mode_label: str
    calls: int
    seconds: float
    passages_used: int
    passages_total: int
    prompt_tokens: int = 0
    completion_tokens: int = 0
    extractive: bool = False
    model: str = ""
    condensed: str | None = None  # a follow-up as it was searched for, where it differs from what was typed
    meant: str | None = None  # what was searched for, where words of it are misspelt
    money: float | None = None  # what the tokens cost, where they have a price
    currency: str = ""
    expected: Price | None = None  # where the price was shown before
    reading: Reading = "best"
    files_used: int = 0
    files_total: int = 0
    rows: tuple[FileAnswer, ...] = ()  # where each document was asked on its own
    recorded: float | None = None  # when it was given, in seconds since the epoch, where a recording of it was played
    files_unread: int = 0  # documents that were still being read when it was given
    tokens_estimated: bool = False  # where the model's server did not say how many there were
    unready: bool = False  # whether the embedder was still being loaded, which takes longer than most answers
    outcome: Outcome = "answer"  # of one that is finished

    @property
    def is_doubtful(self) -> bool:
        """Whether a model wrote an answer that the documents may not hold; what is quoted says so itself."""
        return self.outcome == "closest" and not self.extractive

    @property
    def is_unsure(self) -> bool:
        """Whether it quotes what comes close to an answer, in place of one."""
        return self.outcome == "closest" and self.extractive

    @classmethod
    def from_json(cls, text: str) -> AnswerFacts:
        kept = json.loads(text)
        rows = tuple(FileAnswer(**row | {"pages": tuple(row["pages"])}) for row in kept.get("rows", ()))
        return cls(**kept | {"expected": Price(**kept["expected"]) if kept.get("expected") else None, "rows": rows})


@dataclass(frozen=True, slots=True)
class Retrieval:
    """How passages are found, beyond their number. The steps are taken in the order of the fields."""

    dense_share: float | None = None  # 0 looks at words alone, 1 at meaning alone; None is the usual balance
    weaker: bool = False  # as many passages as are wanted, also where some are far weaker than the best
    cutoff: float | None = None  # passages with a lower score, 0 to 1, are left out
    reranker: str = ""  # a cross-encoder on this machine that puts them in order: its folder or its name
    diverse: bool = False  # rather different passages than several that say the same


@dataclass(frozen=True, slots=True)
class Ask:
    """A question and how to answer it: in a conversation by `chat_mode`, or on its own by `response_mode`.

    `reading`: the best passages; everything, or each document on its own, which are answered by `response_mode` alone.
    """

    question: str
    chat_mode: str | None = "condense_plus_context"
    response_mode: str = "compact"
    top_k: int = 6
    file_ids: tuple[str, ...] | None = None  # None asks all documents
    extractive: bool = False  # answer without the language model, even where there is one
    node_ids: tuple[str, ...] | None = None  # exactly these passages, in this order, without a search
    retrieval: Retrieval = Retrieval()
    reading: Reading = "best"

    @property
    def mode(self) -> str:
        """The one that answers: of the chat, or of the response where there is no chat or more is read than the best."""
        return self.response_mode if self.reading != "best" or self.chat_mode is None else self.chat_mode

    @property
    def reads_documents(self) -> bool:
        """Whether the answer is made from passages."""
        return not self.without_documents and self.mode not in ("generation", "no_text")

    @property
    def without_documents(self) -> bool:
        """Answered by the model alone."""
        return self.reading == "best" and self.chat_mode == "simple"

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Ask:
        """What an ask that was kept by an earlier version does not say is as it always was."""
        kept = json.loads(text)
        for name in ("file_ids", "node_ids"):
            if kept.get(name) is not None:
                kept[name] = tuple(kept[name])
        return cls(**kept | {"retrieval": Retrieval(**kept.get("retrieval", {}))})


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
    saved: bool = True  # False for what this process has and could not write

    @property
    def shown_numbers(self) -> dict[int, int]:
        """The number that a reader sees for each citation of a chat: 1, 2, 3 … in the order of the text, the same for passages
        of one page. In the lab, where all passages are listed or answers are compared, each keeps its own.

        >>> source = Source(4, "a", "f", "lease.pdf", 0, 9, "The rent.", page_label="2")
        >>> Message("m", "c", "assistant", "It is 980 [4].", sources=(source,), ask=Ask("?")).shown_numbers
        {4: 1}
        """
        in_lab = self.ask is None or self.ask.chat_mode is None or "." in self.conversation_id  # the last: of a replay
        if in_lab:
            return {source.number: source.number for source in self.sources}
        places: dict[tuple[str, str], int] = {}
        return {
            source.number: places.setdefault((source.file_id, source.page_label or source.node_id), len(places) + 1)
            for source in [*self.cited, *self.sources]
        }

    @property
    def as_shown(self) -> Message:
        """With the numbers that a reader sees, the cited passages of a place as one: what is copied, exported and kept."""
        if not self.sources:
            return self
        numbers = self.shown_numbers
        shown: dict[int, Source] = {}
        for source in self.cited or self.sources:
            number = numbers[source.number]
            before = shown.get(number)
            shown[number] = (
                replace(before, text=f"{before.text}\n\n{source.text}") if before else replace(source, number=number)
            )
        return replace(self, text=renumber(self.text, numbers), sources=tuple(shown[number] for number in sorted(shown)))

    @property
    def cited(self) -> list[Source]:
        """The passages that the text refers to, each once, in its order."""
        by_number = {source.number: source for source in self.sources}
        return [by_number[number] for number in dict.fromkeys(cited_in(self.text)) if number in by_number]


@dataclass(frozen=True, slots=True)
class Conversation:
    id: str
    kind: Kind
    title: str
    created: float
    updated: float
