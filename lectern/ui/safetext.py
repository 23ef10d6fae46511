"""Text from outside - file names, documents, questions, models' answers - made safe for places that read Markdown.

The page's content policy lets nothing be loaded from elsewhere; this keeps such text from trying, and from looking like
something it is not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape

import httpx

from ragcore.text.citations import CITATION, cited_in
from ragcore.text.code_fences import fenced, rewrite_outside_code, rewrite_outside_spans
from ragcore.text.replace import replace_between

_ACTIVE = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~$:^=&@/])")
_NUMBERED = re.compile(r"( {0,3})(?P<number>\d{1,9})([.)])(?=\s)")
_UNDERLINE = re.compile(r"^ {0,3}(-+|=+)[ \t]*$")  # makes a heading of the line above
# Brackets make links, images, references and directives; colons make icons, emoji, directives and bare addresses. What is
# escaped already stays so; a lone backtick would pair with one of another line; "!" makes a picture of a link.
_HARMFUL = re.compile(r"\\.|[\[\]<&$^~`]|\\$|!(?=$|[\ue000-\ue7ff])|(?a::(?=[\w+/]|-\d))|(?i:(?<=\bwww)\.)|(?<=\w)@(?=\w)")


# Characters of no script, which stand for what a mark becomes while the text around it is made safe.
_OPENS, _CLOSES, _MOST_MARKS = 0xE000, 0xF000, 0x0800
_PRIVATE = re.compile("[\ue000-\uf8ff]")
_UNMARKABLE = re.compile(r"`+[^`]*`+|\\.?|[*_`~|\n]+", re.DOTALL)
_ADDRESS = re.compile(r"(?i)(?<![^\W_])https?://[^\s<>\"`\\^{|}\[\]]+")
_AUTOLINK = re.compile(  # of the web, and of mail, in which escapes do not help
    r"(?i)(?<![^\W_])(?:https?://|www\.)[^\s<>\"`\\^{|}\[\]\ue000-\uf8ff]+"
    r"|(?<![\w.+\\-])[\w.+\\-]++@[\w\\-]++(?:\.[\w\\-]++)+"
)
_ESCAPED_ADDRESS = re.compile(r"(?i)(?<![^\W_])(?:https?(?:\\?[:/]){2,}|www\\\.)")
_PUNCTUATION = ".,;:!?*_~'"
_LEADING = re.compile(r"^(?:\s|>|[-+•–#]+\s|\d{1,9}[.)]\s)+")


@dataclass(frozen=True, slots=True)
class Mark:
    """Of the stretch `text[start:end]` of an answer: what is said of it, in plain words, and where a click on it leads."""

    start: int
    end: int
    title: str
    link: str


def label(text: str) -> str:
    """`text` as it is, in any label, caption or title: every character that Markdown would act on is escaped, and an address
    becomes code, as in answers.

    >>> label("https://127.0.0.1:1 did *not* answer.")
    '`https://127.0.0.1:1` did \\\\*not\\\\* answer\\\\.'
    """
    return _literal(" ".join(text.split()))


def plain_md(text: str) -> str:
    """`text` as it is, over several lines, in a Markdown block."""
    return "  \n".join(_literal(line) if line.strip() else "&nbsp;" for line in text.strip().splitlines())


def breakable(text: str) -> str:
    """`text` as HTML in which a long file name breaks after its _ . and - rather than within a word."""
    return re.sub(r"(?<=[_.-])(?=\w)", "<wbr>", escape(text))


def addresses_in(text: str) -> list[str]:
    """The web addresses in an answer, whether written out, in a link or of a picture, each once and as a browser would ask for
    it: other letters than ASCII show what they are. None with a user name, which looks like a server's.

    >>> addresses_in("See [the site](https://bücher.example/a_(b)) or https://user@evil.example, JavaScript:alert(1).")
    ['https://xn--bcher-kva.example/a_(b)']
    """
    addresses: list[str] = []
    for candidate in _ADDRESS.findall(text):
        try:
            url = httpx.URL(_without_punctuation(candidate))
        except httpx.InvalidURL:
            continue
        if url.raw_host and not url.userinfo:
            addresses.append(f"{url.scheme}://{url.netloc.decode('ascii')}{url.raw_path.decode('ascii')}")
    return list(dict.fromkeys(addresses))


def address_md(address: str) -> str:
    """A link whose text is its whole address, which is one of `addresses_in`."""
    return f"[{_escape_all(address)}](<{address.replace('&', '&amp;')}>)"


_TWICE = re.compile(r"(?P<first>\[(?P<number>\d+)\]\(#[^)\s]*\))(?:\s*\[(?P=number)\]\(#[^)\s]*\))+")  # shown as one


def answer_md(
    text: str, links: Mapping[int, str] | None = None, marks: Sequence[Mark] = (), numbers: Mapping[int, int] | None = None
) -> str:
    """An answer, with its headings, lists, tables and code, but nothing that loads, links or runs.

    `links[n]` is where the citation [n] leads, and `numbers[n]` what it is shown as, else n; a number without a link stays
    text. `marks` are in order, and have no
    citation in them; of a stretch with other formatting the longest part without is marked.
    """
    written = {number: f"[{(numbers or {}).get(number, number)}]({link})" for number, link in (links or {}).items()}
    safe = _safe(_with_places(text, marks[:_MOST_MARKS]), written)
    if numbers:
        safe = _TWICE.sub(r"\g<first>", safe)
    for number, mark in enumerate(marks[:_MOST_MARKS]):
        safe = safe.replace(chr(_OPENS + number), "[")
        safe = safe.replace(chr(_CLOSES + number), f']({mark.link} "{label(mark.title)}")')
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
    edges = [start, *(edge for match in _UNMARKABLE.finditer(text, start, end) for edge in match.span()), end]
    first, last = max(zip(edges[::2], edges[1::2], strict=True), key=lambda span: span[1] - span[0])
    if lead := _LEADING.match(text[first:last]):
        first += lead.end()
    return first, first + len(text[first:last].rstrip())


def _safe(text: str, links: Mapping[int, str]) -> str:
    """`links`: each citation as it is written."""
    return rewrite_outside_code(_separate_lists(text), line=partial(_line, links=links), language=_code_language)


def _separate_lists(text: str) -> str:
    """A number that does not follow from the list item before becomes text. Markdown would count on: "4. Duties" of another
    document after "6. Bake" would be shown as item 7."""
    out, number, is_paragraph = [], 0, False  # the number of the item before; whether the line before has words
    lines = text.splitlines()
    for line, in_code in zip(lines, fenced(lines), strict=True):
        item = None if in_code else _NUMBERED.match(line)
        if item and number and int(item["number"]) != number + 1:
            out.append(_NUMBERED.sub(r"\1\g<number>\\\3", line, count=1))
            number = 0
        else:
            out.append(line)
            if item:
                number = int(item["number"])
            elif line.strip() and not (in_code or is_paragraph or line.startswith(" ")):
                number = 0  # a new paragraph ends the list
        is_paragraph = bool(line.strip())
    return "\n".join(out)


def _code_language(info: str) -> str:
    """Without those that draw: a diagram can load pictures."""
    language = re.sub(r"[^\w+#-]", "", info.split(" ")[0])
    return "" if language.lower() in ("mermaid", "math") else language


def _line(line: str, links: Mapping[int, str]) -> str:
    if _UNDERLINE.match(line):
        return "\n---\n" if len(line.strip()) >= 3 else "\\" + line.strip()
    safe = rewrite_outside_spans(line, partial(_inline, links=links))
    # A heading inside an answer must not outshine the page's own.
    return re.sub(r"^( {0,3})#{1,6}\s+(.*?)\s*#*$", r"\1#### \2", safe)


def _inline(text: str, links: Mapping[int, str]) -> str:
    def link_citation(citation: re.Match[str]) -> str:
        numbers = cited_in(citation.group())
        return "".join(links.get(number, f"\\[{number}\\]") for number in numbers)

    return replace_between(CITATION, text, link_citation, _defang)


def _defang(text: str) -> str:
    text = _ESCAPED_ADDRESS.sub(lambda match: match.group().replace("\\", ""), text)
    return replace_between(_AUTOLINK, text, lambda match: _as_code(match, _escape), _escape)


def _literal(text: str) -> str:
    return replace_between(_AUTOLINK, text, lambda match: _as_code(match, _escape_all), _escape_all)


def _as_code(match: re.Match[str], around: Callable[[str], str]) -> str:
    """An address as code: the page makes links of those in any other text, also where their signs are escaped."""
    address = _without_punctuation(match.group())
    return f"`{address.replace(chr(92), '')}`{around(match.group()[len(address) :])}"


def _escape_all(text: str) -> str:
    return _ACTIVE.sub(r"\\\1", text)


def _escape(text: str) -> str:
    return _HARMFUL.sub(lambda match: match.group() if len(match.group()) > 1 else f"\\{match.group()}", text)


def _without_punctuation(address: str) -> str:
    """Without what belongs to the sentence around it."""
    address = address.rstrip(_PUNCTUATION)
    while address.endswith(")") and address.count(")") > address.count("("):
        address = address[:-1].rstrip(_PUNCTUATION)
    return address
