"""Text from outside - file names, documents, questions, models' answers - made safe for places that read Markdown.

The page's content policy lets nothing be loaded from elsewhere; this keeps such text from trying, and from looking like
something it is not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from ragcore.text.citations import CITATION, cited_in

_ACTIVE = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~$:^=&@/])")
_FENCE = re.compile(r"^( {0,3})(`{3,}|~{3,})(.*)$")
_UNDERLINE = re.compile(r"^ {0,3}(-+|=+)[ \t]*$")  # makes a heading of the line above
_CODE_SPAN = re.compile(r"(?<![\\`])(`+)(?!`)(.+?)(?<!`)\1(?!`)")
# Brackets make links, images, references and directives; colons make icons, emoji, directives and bare addresses. What is
# escaped already stays so; a lone backtick would pair with one of another line; "!" makes a picture of a link.
_HARMFUL = re.compile(r"\\.|[\[\]<&$^~`]|\\$|!(?=$|[\ue000-\ue7ff])|(?a::(?=[\w+/]|-\d))|(?i:(?<=\bwww)\.)|(?<=\w)@(?=\w)")


# Characters of no script, which stand for what a mark becomes while the text around it is made safe.
_OPENS, _CLOSES, _MOST_MARKS = 0xE000, 0xF000, 0x0800
_PRIVATE = re.compile("[\ue000-\uf8ff]")
_UNMARKABLE = re.compile(r"`+[^`]*`+|\\.?|[*_`~|\n]+", re.DOTALL)
_LEADING = re.compile(r"^(?:\s|>|[-+•–#]+\s|\d{1,9}[.)]\s)+")


@dataclass(frozen=True, slots=True)
class Mark:
    """Of the stretch `text[start:end]` of an answer: what is said of it, in plain words, and where a click on it leads."""

    start: int
    end: int
    told: str
    link: str


def label(text: str) -> str:
    """`text` as it is, in any label, caption or title: every character that Markdown would act on is escaped."""
    return _ACTIVE.sub(r"\\\1", " ".join(text.split()))


def plain_md(text: str) -> str:
    """`text` as it is, over several lines, in a Markdown block."""
    return "  \n".join(_ACTIVE.sub(r"\\\1", line) if line.strip() else "&nbsp;" for line in text.strip().splitlines())


def breakable(text: str) -> str:
    """`text` as HTML in which a long file name breaks after its _ . and - rather than within a word."""
    return re.sub(r"(?<=[_.-])(?=\w)", "<wbr>", escape(text))


def answer_md(text: str, links: Mapping[int, str] | None = None, marks: Sequence[Mark] = ()) -> str:
    """An answer, with its headings, lists, tables and code, but nothing that loads, links or runs.

    `links[n]` is where the citation [n] leads; a number that is not in it stays text. `marks` are in order, and have no
    citation in them; of a stretch with other formatting the longest part without is marked.
    """
    safe = _safe(_with_places(text, marks[:_MOST_MARKS]), links or {})
    for number, mark in enumerate(marks[:_MOST_MARKS]):
        safe = safe.replace(chr(_OPENS + number), "[")
        safe = safe.replace(chr(_CLOSES + number), f']({mark.link} "{label(mark.told)}")')
    return safe


def _with_places(text: str, marks: Sequence[Mark]) -> str:
    """The text with a character of its own before and behind what is to be marked."""
    text = _PRIVATE.sub("\ufffd", text)
    parts, end = [], 0
    for number, mark in enumerate(marks):
        start, stop = _markable(text, max(mark.start, end), mark.end)
        if start < stop:
            parts += [text[end:start], chr(_OPENS + number), text[start:stop], chr(_CLOSES + number)]
            end = stop
    return "".join([*parts, text[end:]])


def _markable(text: str, start: int, end: int) -> tuple[int, int]:
    """The longest stretch in it that is plain text; an empty one in a block of code."""
    if text.count("```", 0, start) % 2 or text.count("~~~", 0, start) % 2:
        return start, start
    edges = [start, *(edge for found in _UNMARKABLE.finditer(text, start, end) for edge in found.span()), end]
    first, last = max(zip(edges[::2], edges[1::2], strict=True), key=lambda span: span[1] - span[0])
    if lead := _LEADING.match(text[first:last]):
        first += lead.end()
    return first, first + len(text[first:last].rstrip())


def _safe(text: str, links: Mapping[int, str]) -> str:
    out: list[str] = []
    fence = ""
    for line in text.splitlines():
        found = _FENCE.match(line)
        if fence:
            if found and found.group(2).startswith(fence) and not found.group(3).strip():
                fence = ""
            out.append(line)
        elif found and not (found.group(2)[0] == "`" and "`" in found.group(3)):
            fence = found.group(2)
            # The language is dropped where it would draw: a diagram can load pictures.
            language = re.sub(r"[^\w+#-]", "", found.group(3).strip().split(" ")[0])
            out.append(f"{found.group(1)}{fence}{'' if language.lower() in ('mermaid', 'math') else language}")
        elif _UNDERLINE.match(line):
            out += ["", "---", ""] if len(line.strip()) >= 3 else ["\\" + line.strip()]
        else:
            out.append(_line(line, links))
    if fence:
        out.append(fence)
    return "\n".join(out)


def _line(line: str, links: Mapping[int, str]) -> str:
    parts: list[str] = []
    end = 0
    for span in _CODE_SPAN.finditer(line):
        parts += [_inline(line[end : span.start()], links), span.group(0)]
        end = span.end()
    parts.append(_inline(line[end:], links))
    joined = "".join(parts)
    # A heading inside an answer must not outshine the page's own.
    return re.sub(r"^( {0,3})#{1,6}\s+(.*?)\s*#*$", r"\1#### \2", joined)


def _inline(text: str, links: Mapping[int, str]) -> str:
    parts: list[str] = []
    end = 0
    for citation in CITATION.finditer(text):
        parts.append(_defang(text[end : citation.start()]))
        for number in cited_in(citation.group()):
            parts.append(f"[{number}]({links[number]})" if number in links else f"\\[{number}\\]")
        end = citation.end()
    parts.append(_defang(text[end:]))
    return "".join(parts)


def _defang(text: str) -> str:
    return _HARMFUL.sub(lambda found: found.group() if len(found.group()) > 1 else f"\\{found.group()}", text)
