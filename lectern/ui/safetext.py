"""Makes text from outside (file names, documents, questions, models' answers) safe to show as Markdown.

The page's content policy blocks all requests to elsewhere. This module stops such text from trying, and from
looking like something else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape as escape_html

import httpx

from ragcore.text.citations import CITATION, cited_in
from ragcore.text.code_fences import mark_fenced, rewrite_outside_code, rewrite_outside_spans
from ragcore.text.replace import replace_between

_ACTIVE = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~$:^=&@/])")
_NUMBERED = re.compile(r"( {0,3})(?P<number>\d{1,9})([.)])(?=\s)")
_UNDERLINE = re.compile(r"^ {0,3}(-+|=+)[ \t]*$")  # makes a heading of the line above
# Brackets make links, images, references and directives. Colons make icons, emoji, directives and bare
# addresses. A single backtick would pair with one of another line. "!" makes a picture of a link. Existing
# escapes stay as they are.
_HARMFUL = re.compile(
    r"\\.|[\[\]<&$^~`]|\\$|!(?=$|[\ue000-\ue7ff])|:(?=[+/]|-\d|[^\s!-/:-@\[-`{-~])|(?i:(?<=\bwww)\.)"
    r"|(?<=\w)@(?=\w)"
)
# Streamlit replaces these in the text that it has parsed, where escapes are gone: the names of emoji, icons
# and its logo between colons, and arrows and comparisons. An invisible character after the first sign keeps
# them. A number of at most two digits is the minutes of a time of day.
_INVISIBLE = "\u2060"  # word joiner
_REPLACED = re.compile(
    r"(?a::(?!\d{1,2}\\?:)(?=(?:material\\?/)?(?:\\?[\w+-])+\\?:))"
    r"|(?<![\w-])(?:-(?=\\?>|\\?-(?!-))|<(?=\\?[-=])|[>~](?=\\?=))"
)
_TABLE_RULE = re.compile(r"[\s|:-]+")  # with a bar


# Private characters before and after each mark, while the text is escaped: _OPENS + n and _CLOSES + n for
# mark n. A badge has one, _BADGE.
_OPENS, _CLOSES, _MAX_MARKS = 0xE000, 0xF000, 0x0800
_BADGE = "\uf8ff"
_PRIVATE = re.compile("[\ue000-\uf8ff]")
_UNMARKABLE = re.compile(r"`+[^`]*`+|\\.?|[*_`~|\n]+", re.DOTALL)
_ADDRESS = re.compile(r"(?i)(?<![^\W_])https?://[^\s<>\"`\\^{|}\[\]]+")
_AUTOLINK = re.compile(  # addresses that become links even with escapes: of the web, and of mail
    r"(?i)(?<![^\W_])(?:https?://|www\.)[^\s<>\"`\\^{|}\[\]\ue000-\uf8ff]+"
    r"|(?<![\w.+\\-])[\w.+\\-]++@[\w\\-]++(?:\.[\w\\-]++)+"
)
_ESCAPED_ADDRESS = re.compile(r"(?i)(?<![^\W_])(?:https?(?:\\?[:/]){2,}|www\\\.)")
_PUNCTUATION = ".,;:!?*_~'"
_LEADING = re.compile(r"^(?:\s|>|[-+•–#]+\s|\d{1,9}[.)]\s)+")


@dataclass(frozen=True, slots=True)
class Mark:
    """A note on `text[start:end]` of an answer: `title` in plain words, and the link of a click."""

    start: int
    end: int
    title: str
    link: str


def label(text: str) -> str:
    """Escapes text for a label, caption or title: every character with a meaning in Markdown, and addresses
    become code.

    >>> label("https://127.0.0.1:1 did *not* answer.")
    '`https://127.0.0.1:1` did \\\\*not\\\\* answer\\\\.'
    """
    return _literal(" ".join(text.split()))


def plain_md(text: str) -> str:
    """Escapes text with several lines for a Markdown block."""
    return "  \n".join(_literal(line) if line.strip() else "&nbsp;" for line in text.strip().splitlines())


def breakable(text: str) -> str:
    """HTML in which a long file name breaks after _ . and - instead of within a word."""
    return re.sub(r"(?<=[_.-])(?=\w)", "<wbr>", escape_html(text))


def addresses_in(text: str) -> list[str]:
    """The web addresses in an answer (as text, links or pictures), each once and as a browser would request
    it: non-ASCII letters show what they are. Addresses with a user name are dropped, because that can look
    like a server's name.

    >>> addresses_in(
    ...     "See [the site](https://bücher.example/a_(b)) or https://user@evil.example, JavaScript:alert(1)."
    ... )
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
    """A link whose text is its whole address, one of `addresses_in`."""
    return f"[{_escape_all(address)}](<{address.replace('&', '&amp;')}>)"


_REPEATED_CITATION = re.compile(
    r"(?P<first>\[(?P<number>\d+)\]\(#[^)\s]*\))(?:\s*\[(?P=number)\]\(#[^)\s]*\))+"
)


def answer_md(
    text: str,
    links: Mapping[int, str] | None = None,
    marks: Sequence[Mark] = (),
    numbers: Mapping[int, int] | None = None,
    badges: Mapping[int, str] | None = None,
) -> str:
    """Escapes an answer. Headings, lists, tables and code stay; nothing loads, links or runs.

    `links[n]` is the target of citation [n]; a number without a link stays text. `numbers[n]` is the number
    to show instead of n. `marks` are in order and contain no citation; with other formatting inside, the
    longest plain part is marked. `badges` is Markdown to insert, by its places in the text.
    """
    linked = {
        number: f"[{(numbers or {}).get(number, number)}]({link})" for number, link in (links or {}).items()
    }
    places = sorted(badges or {})
    safe = _escape_markdown(_insert_mark_characters(text, marks[:_MAX_MARKS], places), linked)
    if numbers:
        safe = _REPEATED_CITATION.sub(r"\g<first>", safe)
    for number, mark in enumerate(marks[:_MAX_MARKS]):
        safe = safe.replace(chr(_OPENS + number), "[")
        safe = safe.replace(chr(_CLOSES + number), f']({mark.link} "{label(mark.title)}")')
    for place in places:
        safe = safe.replace(_BADGE, (badges or {})[place], 1)
    return safe


def _insert_mark_characters(text: str, marks: Sequence[Mark], badges: Sequence[int]) -> str:
    """Inserts a private character before and after each mark, and at the place of each badge."""
    text = _PRIVATE.sub("\ufffd", text)
    inserted = [(place, _BADGE) for place in badges]
    end = 0
    for number, mark in enumerate(marks):
        start, stop = _longest_plain_part(text, max(mark.start, end), mark.end)
        if start < stop:
            inserted += [(start, chr(_OPENS + number)), (stop, chr(_CLOSES + number))]
            end = stop
    parts = []
    end = 0
    for place, character in sorted(inserted, key=lambda insertion: insertion[0]):
        parts += [text[end:place], character]
        end = place
    return "".join([*parts, text[end:]])


def _longest_plain_part(text: str, start: int, end: int) -> tuple[int, int]:
    """The start and end of the part without formatting that has most letters and digits; empty in a block of
    code."""
    if text.count("```", 0, start) % 2 or text.count("~~~", 0, start) % 2:
        return start, start
    edges = [start, *(edge for match in _UNMARKABLE.finditer(text, start, end) for edge in match.span()), end]
    parts = list(zip(edges[::2], edges[1::2], strict=True))
    # Signs alone can be the rule of a table or the line under a heading.
    letters = [len(re.findall(r"\w", text[first:last])) for first, last in parts]
    if not any(letters):
        return start, start
    first, last = parts[letters.index(max(letters))]
    if lead := _LEADING.match(text[first:last]):
        first += lead.end()
    return first, first + len(text[first:last].rstrip())


def _escape_markdown(text: str, links: Mapping[int, str]) -> str:
    """`links` maps citation numbers to Markdown."""
    return rewrite_outside_code(
        _separate_lists(text), line=partial(_line, links=links), language=_code_language
    )


def _separate_lists(text: str) -> str:
    """Escapes a list number that does not follow the item before. Markdown would renumber it: "4. Duties" of
    another document after "6. Bake" would appear as item 7."""
    out = []
    number = 0  # of the previous item
    is_paragraph = False  # the previous line has words
    lines = text.splitlines()
    for line, in_code in zip(lines, mark_fenced(lines), strict=True):
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
    """Drops the languages that Streamlit draws as a diagram or formula: a diagram can load pictures."""
    language = re.sub(r"[^\w+#-]", "", info.split(" ")[0])
    return "" if language.lower() in ("mermaid", "math") else language


def _line(line: str, links: Mapping[int, str]) -> str:
    if _UNDERLINE.match(line):
        return "\n---\n" if len(line.strip()) >= 3 else "\\" + _prevent_replacements(line.strip())
    if "|" in line and _TABLE_RULE.fullmatch(line):
        return line
    safe = rewrite_outside_spans(line, partial(_beside_code, links=links)).strip(_INVISIBLE)
    # A heading in an answer must be smaller than those of the page.
    return re.sub(r"^( {0,3})#{1,6}\s+(.*?)\s*#*$", r"\1#### \2", safe)


def _beside_code(text: str, links: Mapping[int, str]) -> str:
    """Text between spans of code. A backtick at its edge would lengthen the mark of the code beside it, which
    then would not end there."""
    safe = _inline(text, links)
    if safe.startswith("`"):
        safe = _INVISIBLE + safe
    return safe + _INVISIBLE if safe.endswith("`") else safe


def _inline(text: str, links: Mapping[int, str]) -> str:
    def link_citation(citation: re.Match[str]) -> str:
        numbers = cited_in(citation.group())
        return "".join(links.get(number, f"\\[{number}\\]") for number in numbers)

    return replace_between(CITATION, text, link_citation, _escape_with_addresses)


def _escape_with_addresses(text: str) -> str:
    text = _ESCAPED_ADDRESS.sub(lambda match: match.group().replace("\\", ""), text)
    return replace_between(_AUTOLINK, text, lambda match: _as_code(match, _escape), _escape)


def _literal(text: str) -> str:
    return replace_between(_AUTOLINK, text, lambda match: _as_code(match, _escape_all), _escape_all)


def _as_code(match: re.Match[str], escape: Callable[[str], str]) -> str:
    """The address as code, because Streamlit turns it into a link in any other text. `escape` is for
    punctuation after it."""
    address = _without_punctuation(match.group())
    return f"`{address.replace(chr(92), '')}`{escape(match.group()[len(address) :])}"


def _escape_all(text: str) -> str:
    return _ACTIVE.sub(r"\\\1", _prevent_replacements(text))


def _escape(text: str) -> str:
    def escape(match: re.Match[str]) -> str:
        return match.group() if len(match.group()) > 1 else f"\\{match.group()}"

    return _HARMFUL.sub(escape, _prevent_replacements(text))


def _prevent_replacements(text: str) -> str:
    return _REPLACED.sub(lambda match: match.group() + _INVISIBLE, text)


def _without_punctuation(address: str) -> str:
    """Drops punctuation that belongs to the sentence around the address."""
    address = address.rstrip(_PUNCTUATION)
    while address.endswith(")") and address.count(")") > address.count("("):
        address = address[:-1].rstrip(_PUNCTUATION)
    return address
