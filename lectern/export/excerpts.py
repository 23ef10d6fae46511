"""The part of a passage that an answer quotes, for exports."""

from __future__ import annotations

import re
from itertools import accumulate, groupby, pairwise

from ragcore.text.quotable_units import LISTED
from ragcore.text.quote_places import quoted_places
from ragcore.text.sentences import sentence_spans

CONTEXT_CHARS = 200  # Maximum length of a sentence before or after a quote. A longer one is left out.
START_CHARS = 300  # of a passage without a quote

_BLANK_LINE = re.compile(r"\n\s*\n")
_HEADING_OR_ROW = re.compile(r"#{1,6}\s|\||[^|]*\S \| |[^:;]{1,60}: [^;]*; [^:;]{1,60}: ")


def quoted_excerpt(passage: str, answer: str, number: int) -> str:
    """The sentences of the passage that the answer cites as [number], each with its neighbours. Without such
    a sentence, the start of the passage. "…" stands for omitted text.

    Headings, rows of tables and items of lists have their own lines. Other line breaks become spaces.
    """
    spans = sentence_spans(passage)
    sentences = [passage[start:end] for start, end in spans]
    places = quoted_places(answer, number, passage)
    quoted = [any(start < last and first < end for first, last in places) for start, end in spans]
    if not any(quoted):
        return _start(sentences)
    near = [before or after for before, after in zip([False, *quoted], [*quoted[1:], False], strict=False)]
    chosen = [
        is_quoted or (is_near and len(sentence) <= CONTEXT_CHARS)
        for is_quoted, is_near, sentence in zip(quoted, near, sentences, strict=True)
    ]
    return _join(sentences, chosen)


def _start(sentences: list[str]) -> str:
    """Whole sentences; or words, if the first sentence is too long."""
    chosen = [end <= START_CHARS for end in accumulate(map(len, sentences))]
    if not any(chosen) and sentences:
        start = " ".join(sentences[0][:START_CHARS].split())
        return f"{start.rpartition(' ')[0] or start} …"  # not every script has spaces
    return _join(sentences, chosen)


def _join(sentences: list[str], chosen: list[bool]) -> str:
    """The chosen sentences. Those after a gap begin a paragraph."""
    parts = []
    for is_chosen, run in groupby(zip(chosen, sentences, strict=True), key=lambda pair: pair[0]):
        text = "".join(sentence for _chosen, sentence in run)
        parts.append(_lay_out(text) if is_chosen else "" if text.isspace() else "…")
    pieces = [part for part in parts if part]
    text = pieces[0] if pieces else ""
    for before, piece in pairwise(pieces):
        text += f"\n\n{piece}" if before == "…" and text != "…" else f" {piece}"
    return text


def _lay_out(text: str) -> str:
    return "\n\n".join(map(_join_lines, _BLANK_LINE.split(text.strip())))


def _join_lines(paragraph: str) -> str:
    lines = [" ".join(line.split()) for line in paragraph.split("\n")]
    text = lines[0]
    for before, line in pairwise(lines):
        own_line = LISTED.match(line) or _HEADING_OR_ROW.match(line) or _HEADING_OR_ROW.match(before)
        text += f"\n{line}" if own_line else f" {line}"
    return text
