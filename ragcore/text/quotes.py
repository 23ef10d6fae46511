"""Sentences that can be quoted with their citations, from documents and from earlier answers that hold `[1]` marks already."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ragcore.text.sentences import sentence_spans


@dataclass(frozen=True, slots=True)
class Quote:
    """A whole sentence, white space evened out; the citations it carries; which passage it is from, and which document."""

    text: str
    marks: tuple[int, ...]
    passage: int
    document: str

    def __str__(self) -> str:
        return self.text + (" " + "".join(f"[{mark}]" for mark in self.marks) if self.marks else "")


_MARKS = re.compile(r"(?:\s*\[\d{1,4}\])+")
_MARK = re.compile(r"\[(\d{1,4})\]")
_BULLET = re.compile(r"^(?:[-*•–#>|]+\s+)+")
_PAGE = re.compile(r", (?:page|slide|sheet|chapter|message)\b[^,]*$")


def quotes_in(text: str, *, number: int | None, source: str = "", passage: int = 0) -> list[Quote]:
    """The sentences of a passage that is cited as [number]. Without a number, marks in the text are citations and are kept.

    With one, such marks are the document's own references; beside ours they would mislead, so they are left out.
    """
    document = _PAGE.sub("", source)
    if number is not None:
        return [Quote(said, (number,), passage, document) for said in _sentences(_MARKS.sub("", text))]
    found: list[Quote] = []
    start = 0
    for match in _MARKS.finditer(text):
        marks = tuple(dict.fromkeys(int(mark) for mark in _MARK.findall(match.group())))
        said = _sentences(text[start : match.start()])
        found += [Quote(sentence, (), passage, document) for sentence in said[:-1]]
        found += [Quote(sentence, marks, passage, document) for sentence in said[-1:]]
        start = match.end()
    return found + [Quote(sentence, (), passage, document) for sentence in _sentences(text[start:])]


def _sentences(text: str) -> list[str]:
    spans = (text[start:end] for start, end in sentence_spans(text))
    said = (_BULLET.sub("", " ".join(span.split())) for span in spans)
    return [sentence for sentence in said if any(char.isalnum() for char in sentence)]


def distinct(quotes: Iterable[Quote]) -> list[Quote]:
    """Each sentence once, where it stands first and whole: overlapping passages repeat sentences and cut them at the edge."""
    kept: list[Quote] = []
    for quote in quotes:
        same = next((at for at, other in enumerate(kept) if quote.text in other.text or other.text in quote.text), None)
        if same is None:
            kept.append(quote)
        elif len(quote.text) > len(kept[same].text):
            kept[same] = replace(quote, passage=kept[same].passage)
    return kept


def joined(quotes: Sequence[Quote]) -> str:
    """One text: sentences of one document follow each other, another document begins a new paragraph."""
    text = ""
    for before, quote in zip((None, *quotes), quotes, strict=False):
        text += ("" if before is None else " " if before.document == quote.document else "\n\n") + str(quote)
    return text
