"""Answers that quote the passages: no model, no prompt and no limit of tokens."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from ragcore.extractive.quoter import Answer, Quoter, in_pieces, outcome_of_reply, record
from ragcore.observe import finish, span, start, within
from ragcore.prompts.prompt import Origin, Passage
from ragcore.prompts.templates import Wording
from ragcore.response_synthesizers.base import AnySynthesizer
from ragcore.response_synthesizers.modes import Pieces, Prompts, part_heading
from ragcore.response_synthesizers.packer import Passages
from ragcore.response_synthesizers.response_mode import ResponseMode
from ragcore.schema import ChatMessage

MAX_CHARS = 120_000  # of the passages of one step; a longer passage is a step of its own


@dataclass(frozen=True, slots=True)
class Batch:
    """The passages of one step, and the number of those that wait for the next."""

    passages: Passages = ()
    waiting: int = 0


class QuotingSynthesizer(AnySynthesizer):
    """Answers in one mode by quoting. It ignores the conversation and the wording of prompts.

    >>> from ragcore.embeddings.hashing import HashEmbedding
    >>> from ragcore.schema import NodeWithScore, TextNode
    >>> hits = [NodeWithScore(TextNode("The office opened in 1998."))]
    >>> str(QuotingSynthesizer(Quoter(HashEmbedding())).synthesize("When did the office open?", hits))
    'The office opened in 1998. [1]'
    """

    reads_conversation: ClassVar[bool] = False

    def __init__(
        self,
        quoter: Quoter,
        mode: ResponseMode | str | None = None,
        prompts: Prompts | None = None,
        *,
        templates: Mapping[str, Wording | None] | None = None,
        streaming: bool = False,
        verbose: bool = False,
    ) -> None:
        """`prompts` and `templates` are not used, but `get_prompts` has them."""
        super().__init__(quoter, mode, prompts, templates or {}, streaming=streaming, verbose=verbose)
        self.quoter = quoter

    def answer_from(
        self,
        passages: Passages,
        question: str,
        extra: dict[str, Any],
        history: Sequence[ChatMessage] = (),
        prev_response: str = "",
    ) -> Pieces:
        """A mode of a language model becomes what quoting can do in its place."""
        if not self.mode.reads_passages:
            return self._answer_without_passages(question) if self.mode.writes else _in_pieces("")
        match self.mode.traits.shape:
            case "strip":
                return self._improve(question, passages, prev_response)
            case "tree":
                return self._summarize(question, passages)
            case "rows":
                return self._accumulate(question, passages)
            case _:
                return self._answer_at_once(question, passages)

    def _improve(self, question: str, passages: Passages, existing: str) -> Pieces:
        """An answer from the first passages, improved with the others."""
        answer = Answer(existing, outcome_of_reply(existing))
        for batch in _batches(passages, self.mode.max_passages):
            if answer.text:
                refine = partial(self.quoter.refine, question, answer, batch.passages)
                answer = self._read(self.prompts.refine.name, question, batch, refine, answer.text)
            else:
                read = partial(self.quoter.answer, question, batch.passages)
                answer = self._read(self.prompts.text_qa.name, question, batch, read)
            yield ""
        return (yield from _in_pieces(answer.text))

    def _answer_at_once(self, question: str, passages: Passages) -> Pieces:
        read = partial(self.quoter.answer, question, passages)
        answer = self._read(self.prompts.text_qa.name, question, Batch(passages), read)
        return (yield from _in_pieces(answer.text))

    def _summarize(self, question: str, passages: Passages) -> Pieces:
        """A summary by document. Of many passages, the summaries of parts are combined."""
        name = self.prompts.summary.name
        batches = list(_batches(passages)) or [Batch()]
        if len(batches) == 1:
            read = partial(self.quoter.summarize, question, passages)
        else:
            answers = []
            with closing(self._read_parts(name, question, batches, self.quoter.summarize)) as parts:
                for part in parts:
                    answers.append(part)
                    yield ""
            batches = [Batch(tuple(Passage(part.text) for part in answers))]
            read = partial(self.quoter.combine, question, answers)
        return (yield from _in_pieces(self._read(name, question, batches[0], read).text))

    def _accumulate(self, question: str, passages: Passages) -> Pieces:
        """Answers from one passage each, or from as many as fit a step, one below the other."""
        batches = list(_batches(passages, self.mode.max_passages)) or [Batch()]
        text = ""
        with closing(
            self._read_parts(self.prompts.text_qa.name, question, batches, self.quoter.answer)
        ) as parts:
            for number, part in enumerate(parts, 1):
                heading = part_heading(number)
                text += heading + part.text
                yield heading
                yield from _in_pieces(part.text)
        return text

    def _answer_without_passages(self, question: str) -> Pieces:
        reply = partial(self.quoter.answer_without_passages, question)
        answer = self._step(self.prompts.simple.name, question, (), reply)
        return (yield from _in_pieces(answer.text))

    def _read_parts(
        self,
        name: str,
        question: str,
        batches: Sequence[Batch],
        quote: Callable[[str, Passages], Answer],
    ) -> Generator[Answer, None, None]:
        """The answer from each batch. All spans begin before the first answer, so that progress is known."""
        for batch in batches:
            _note_batch(name, batch)
        steps = [start("part", part=number, of=len(batches)) for number in range(1, len(batches) + 1)]
        try:
            for batch, step in zip(batches, steps, strict=True):
                with within(step):
                    read = partial(quote, question, batch.passages)
                    answer = self._step(name, question, batch.passages, read)
                yield answer
        finally:
            for step in steps:
                if step.seconds < 0:
                    step.note(never_begun=True)
                    finish(step)

    def _read(
        self, name: str, question: str, batch: Batch, quote: Callable[[], Answer], existing: str = ""
    ) -> Answer:
        _note_batch(name, batch)
        return self._step(name, question, batch.passages, quote, existing)

    def _step(
        self, name: str, question: str, passages: Passages, quote: Callable[[], Answer], existing: str = ""
    ) -> Answer:
        """The result of `quote`; `existing` is the answer that it improves."""
        documents = "\n\n".join(_with_heading(passage) for passage in passages)
        read = ((Origin.DOCUMENTS, documents), (Origin.ANSWER, existing), (Origin.QUESTION, question))
        return record(name, read, quote)


def _batches(passages: Passages, most: int | None = None) -> Iterator[Batch]:
    """The passages in order: at most `most` of them and MAX_CHARS in each batch, at least one."""
    start = end = 0
    while start < len(passages):
        chars = 0
        while end < len(passages) and end - start != most:
            chars += len(passages[end].text)
            if chars > MAX_CHARS and end > start:
                break
            end += 1
        yield Batch(passages[start:end], len(passages) - end)
        start = end


def _with_heading(passage: Passage) -> str:
    if passage.number is None:
        return passage.text
    return f"[{passage.number}] {passage.source}".rstrip() + f"\n{passage.text}"


def _note_batch(name: str, batch: Batch) -> None:
    """The span that says which passages a step reads, and how many wait for the next."""
    with span(
        "pack", prompt=name, passages=[passage.number for passage in batch.passages], waiting=batch.waiting
    ):
        pass


def _in_pieces(text: str) -> Pieces:
    yield from in_pieces(text)
    return text
