"""The outline of a text: its headings, chapters, articles, numbered clauses and items, in English, German,
French, Spanish and Chinese.

A reader of files keeps a heading as a line of its own, so the outline is derived from lines: "# Fees",
"Chapter 3: The sea", "Article 4. Every adult pays ...", "7.1 The tenant may not ...", "第三章 海", or a short
line between empty lines. A line of a table of contents is no heading.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from ragcore.text.quotable_units import is_row

MAX_TITLE = 12  # words of a title
MAX_HEAD = 200  # characters of the first line of a record
MIN_RECORDS = 2
MIN_LABELS = 2  # lines "Label: value" of a record
WORDS: dict[str, dict[str, str]] = {
    "en": {
        "part": "part",
        "chapter": "chapter",
        "section": "section",
        "article": "article",
        "paragraph": "paragraph|§",
        "clause": "clause",
        "point": "point|item|rule|step",
        "appendix": "appendix|annex|schedule",
    },
    "de": {
        "part": "teil",
        "chapter": "kapitel",
        "section": "abschnitt",
        "article": "artikel",
        "paragraph": "paragraph|§",
        "clause": "klausel|ziffer",
        "point": "punkt|top|tagesordnungspunkt|regel|schritt",
        "appendix": "anhang|anlage",
    },
    "fr": {
        "part": "partie",
        "chapter": "chapitre",
        "section": "section",
        "article": "article",
        "paragraph": "paragraphe",
        "clause": "clause",
        "point": "point|règle|étape",
        "appendix": "annexe",
    },
    "es": {
        "part": "parte",
        "chapter": "cap[ií]tulo",
        "section": "secci[oó]n",
        "article": "art[ií]culo",
        "paragraph": "p[aá]rrafo",
        "clause": "cl[aá]usula",
        "point": "punto|regla|paso",
        "appendix": "anexo",
    },
    "zh": {
        "part": "部分|编|篇",
        "chapter": "章",
        "section": "节",
        "article": "条",
        "paragraph": "款",
        "point": "项|点|步",
        "appendix": "附录|附件",
    },
}
"""The words for parts of a text by language and kind, as regular expressions. Chinese ones follow the number,
except that of an appendix."""

_NUMBERS = (  # in words, from 1
    "one|first|eins|erste[rsn]?|un|premi(?:er|ère)|uno|primer[oa]?|一",
    "two|second|zwei|zweite[rsn]?|deux|deuxième|dos|segund[oa]|二",
    "three|third|drei|dritte[rsn]?|trois|troisième|tres|tercer[oa]?|三",
    "four|fourth|vier|vierte[rsn]?|quatre|quatrième|cuatro|cuart[oa]|四",
    "five|fifth|fünf|fünfte[rsn]?|cinq|cinquième|cinco|quint[oa]|五",
    "six|sixth|sechs|sechste[rsn]?|sixième|seis|sext[oa]|六",
    "seven|seventh|sieben|siebte[rsn]?|sept|septième|siete|séptim[oa]|七",
    "eight|eighth|acht|achte[rsn]?|huit|huitième|ocho|octav[oa]|八",
    "nine|ninth|neun|neunte[rsn]?|neuf|neuvième|nueve|noven[oa]|九",
    "ten|tenth|zehn|zehnte[rsn]?|dix|dixième|diez|décim[oa]|十",
)
NUMBER_WORDS = "|".join(_NUMBERS)
_ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}
NUMBER = r"\d{1,3}(?:\.\d{1,3})*[a-z]?\b|[IVXLC]{1,6}\b|[A-Z]\b"
_SPACED_WORDS = "|".join(
    words for language, kinds in WORDS.items() if language != "zh" for words in kinds.values()
)
_ORDINALS = "|".join(words for kind, words in WORDS["zh"].items() if kind != "appendix")
_WORDED = re.compile(
    rf"(?:(?P<word>{_SPACED_WORDS}|{WORDS['zh']['appendix']})(?:\s*n[or°º]\.?)?\s*"
    rf"(?P<number>(?-i:{NUMBER})|(?:{NUMBER_WORDS})\b)"
    rf"|第\s*(?P<ordinal>\d{{1,3}}|[一二三四五六七八九十百]{{1,4}})\s*(?P<unit>{_ORDINALS}))"
    r"(?:(?P<mark>\s*[.:：,)–—-])(?=\s|$|[\u3400-\u9fff])|(?=\s|$|[\u3400-\u9fff]))",
    re.IGNORECASE,
)
_NUMBERED = re.compile(
    r"(?P<number>\d{1,2}(?:\.\d{1,3})*|[IVXLC]{1,6}(?=\.)|[一二三四五六七八九十]{1,3}(?=、))"
    r"(?P<mark>[.)、]?)(?:(?<=、)|\s+)(?=[\"“„«¿¡]?(?:[^\W\d_a-zß-ÿ]|[\u3400-\u9fff]))"
)
_MARKDOWN = re.compile(r"(?P<hashes>#{1,6})\s+")
_SENTENCE_END = re.compile(r"[.!?…:;,。！？：；，][\"'”’»)\]]*$")
_CONTENTS = re.compile(r"(?:\.[ .]{3,}|…+|\t)\s*\d{1,4}$")
_IS_TITLE = re.compile(r"[\"“„«¿¡*]*(?:[^\W\d_a-zß-ÿ]|[\u3400-\u9fff])[^|;\n]*")
_LABEL = re.compile(r"[^:：]{2,40}[:：] \S")
_BLOCK = re.compile(r"\S[^\n]*(?:\n[^\S\n]*\S[^\n]*)*")
_RECORD = re.compile(
    r"[#*\s]*(?P<name>[^\W\d_][^\n:：\d#№/]{0,30}?)(?:\s*\b(?:no|nr|n°|nº|number|nummer|numéro|número)\.?)?"
    r"\s*(?:[:：]\s*\S|[\s#№]\s*\S*\d|\d)",
    re.IGNORECASE,
)
_GENERIC = ("clause", "section", "point")  # words for a numbered part of any kind
_BELOW_GENERIC = ("", *_GENERIC, "article", "paragraph")


@dataclass(frozen=True, slots=True)
class Section:
    """What stands below a heading, with the heading: `text[start:end]`; `body` is the end of its first line.

    `kind` is one of WORDS, or "" if the heading has no such word. `number` is "3", "7.1", "B", or "" if there
    is none. `title` is the rest of the line. Sections of a higher `level` are parts of those of a lower one.
    """

    kind: str
    number: str
    title: str
    level: int
    start: int
    body: int
    end: int

    @property
    def is_titled(self) -> bool:
        """Whether its first line is a title, and not the text itself."""
        return not _SENTENCE_END.search(self.title) and len(self.title.split()) <= MAX_TITLE


def outline_of(text: str) -> list[Section]:
    """The sections in the order of the text.

    >>> lease = (
    ...     "1 Term\\nIt runs for a year.\\n\\n2 Use\\n2.1 No welding.\\n2.2 No noise.\\n\\n3 End\\nIn May."
    ... )
    >>> [(section.number, section.title) for section in outline_of(lease)]
    [('1', 'Term'), ('2', 'Use'), ('2.1', 'No welding.'), ('2.2', 'No noise.'), ('3', 'End')]
    """
    sections = list(_headings(text))
    open_at: list[int] = []  # sections that have not ended, from the highest level down
    for at, heading in enumerate(sections):
        while open_at and heading.level <= sections[open_at[-1]].level:
            ended = open_at.pop()
            sections[ended] = replace(sections[ended], end=heading.start)
        open_at.append(at)
    return _without_contents(sections, text)


def find_numbered(sections: Sequence[Section], kind: str, number: str) -> list[Section]:
    """The sections with this number that a person may call so: a "clause 4" may be an Article 4, and a
    "chapter 3" the title "3 The sea". Several if it is ambiguous.

    >>> [section.title for section in find_numbered(outline_of("# 1 Sea\\n# 2 Land"), "chapter", "2")]
    ['Land']
    """
    numbered = [section for section in sections if section.number == number and _may_be(section, kind)]
    exact = [section for section in numbered if section.kind == kind]
    return exact or numbered


def find_last(sections: Sequence[Section], kind: str) -> list[Section]:
    """The last section of this kind, or the last of the highest level that a person may call so; [] if there
    is none."""
    found = [section for section in sections if section.kind == kind]
    found = found or [section for section in sections if section.number and _may_be(section, kind)]
    highest = min((section.level for section in found), default=0)
    return [section for section in found if section.level == highest][-1:]


def has_kind(sections: Sequence[Section], kind: str) -> bool:
    """Whether numbered sections are called so, or may be, as a clause may be an article."""
    if kind in _GENERIC:
        return any(section.number and _may_be(section, kind) for section in sections)
    return any(section.number and section.kind == kind for section in sections)


def read_number(number: str) -> str:
    """The number in digits: "3" of "three", "III" or "三"; "7.1" and "B" stay.

    >>> read_number("IV"), read_number("dritte"), read_number("十二"), read_number("07.1")
    ('4', '3', '12', '7.1')
    """
    word = number.strip().rstrip(".").casefold()
    for value, words in enumerate(_NUMBERS, 1):
        if re.fullmatch(words, word):
            return str(value)
    if re.fullmatch("[一二三四五六七八九]?十[一二三四五六七八九]?", word):
        tens, _, ones = word.partition("十")
        return str(10 * int(read_number(tens or "一")) + int(read_number(ones or "0")))
    if re.fullmatch("[ivxlc]+", word):
        values = [_ROMAN[letter] for letter in word]
        pairs = zip(values, [*values[1:], 0], strict=True)
        return str(sum(value if value >= after else -value for value, after in pairs))
    return ".".join(part.lstrip("0") or "0" for part in word.upper().split("."))


def kind_of(word: str) -> str:
    """The kind that a word of WORDS is for; "" if it is none."""
    for kinds in WORDS.values():
        for kind, words in kinds.items():
            if re.fullmatch(words, word, re.IGNORECASE):
                return kind
    return ""


def records_of(text: str) -> list[tuple[int, int, str]]:
    """(start, end, first line) of each record of a text in order, which cover all of it; [] if it has none.

    Records are blocks that begin alike and have the same labels: "Invoice no. 17" or "Patient: Ada", above
    lines such as "Total: 20 euro". A block that begins otherwise belongs to the record before it.

    >>> text = "Order 1\\nItem: bolt\\nPrice: 2\\n\\nOrder 2\\nItem: nut\\nPrice: 3\\n"
    >>> records_of(text)
    [(0, 29, 'Order 1'), (29, 56, 'Order 2')]
    """
    blocks = [match.span() for match in _BLOCK.finditer(text)]
    names: dict[str, list[int]] = {}
    for start, end in blocks:
        first, *rest = text[start:end].split("\n")
        head = _RECORD.match(first)
        labels = [line.partition(":")[0] for line in rest if _LABEL.match(line) and not is_row(line)]
        if head and not is_row(first) and len(labels) >= MIN_LABELS:
            names.setdefault(f"{head['name'].casefold()} {labels[0].casefold()}", []).append(start)
    starts = max(names.values(), key=len, default=[])
    if len(starts) < MIN_RECORDS or 2 * len(starts) < len(blocks):
        return []
    heads = [text[start : start + MAX_HEAD].partition("\n")[0].strip() for start in starts]
    spans = pairwise([0, *starts[1:], len(text)])
    return [(start, end, head) for (start, end), head in zip(spans, heads, strict=True)]


def _may_be(section: Section, kind: str) -> bool:
    if section.kind == kind:
        return True
    if kind in _GENERIC:
        return section.kind in _BELOW_GENERIC
    return kind == "chapter" and not section.kind and "." not in section.number and section.is_titled


def _headings(text: str) -> Iterator[Section]:
    """The headings, each with the end of the text as its `end`."""
    levels = _Levels()
    start, above, is_heading_above = 0, "", True
    lines = text.split("\n")
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        words = line.strip()
        # A line that goes on from the one above is no heading.
        is_apart = not above or is_heading_above or _SENTENCE_END.search(above) is not None
        heading = (
            _read_heading(words, is_between=not above and not below.strip()) if words and is_apart else None
        )
        is_heading_above = False
        if heading is not None and not _CONTENTS.search(words):
            level = levels.of(words, heading)
            is_heading_above = heading.is_titled
            yield replace(heading, level=level, start=start, body=start + len(line), end=len(text))
        above = words
        start += len(line) + 1


def _read_heading(line: str, *, is_between: bool) -> Section | None:
    """The heading in this line, which begins at its first character. `is_between`: it is between empty
    lines."""
    markdown = _MARKDOWN.match(line)
    rest = line[markdown.end() :].rstrip("# ") if markdown else line.strip("*")
    worded, numbered = _WORDED.match(rest), _NUMBERED.match(rest)
    kind = number = ""
    title = rest
    if worded:
        kind = kind_of(worded["word"] or worded["unit"])
        number = read_number(worded["number"] or worded["ordinal"])
        title = rest[worded.end() :].strip()
    elif numbered:
        number = read_number(numbered["number"])
        title = rest[numbered.end() :].strip()
    heading = Section(kind, number, title, 0, 0, 0, 0)
    is_title = heading.is_titled and _IS_TITLE.fullmatch(title) is not None
    if markdown:
        return heading
    if worded:
        is_item = worded["ordinal"] is not None and kind in ("article", "paragraph", "point")
        begins_text = worded["mark"] or (is_item and rest[worded.end()].isspace()) if title else True
        return heading if begins_text or is_title else None
    if numbered:
        return heading if numbered["mark"] or "." in number or is_title else None
    return heading if is_between and is_title and not _LABEL.match(line) else None


class _Levels:
    """The levels of the headings of one text: Markdown's; then those of words, in the order in which they
    first appear; then those of numbers; then those of titles alone."""

    def __init__(self) -> None:
        self._ranks: list[str] = []  # kinds, and the marks after numbers
        self._open: dict[str, list[int]] = {}  # by mark, the numbers of lists within lists

    def of(self, line: str, heading: Section) -> int:
        if markdown := _MARKDOWN.match(line):
            self._open.clear()
            return len(markdown["hashes"])
        if heading.kind:
            self._open.clear()
            return 10 if heading.kind == "appendix" else 10 + self._rank(heading.kind)
        if not heading.number:
            return 99
        parts = heading.number.split(".")
        if len(parts) > 1 or not parts[0].isdigit():
            return 20 + len(parts)
        numbered = _NUMBERED.match(line.strip("*"))
        mark = f"number{numbered['mark'] if numbered else ''}"
        return 21 + 10 * self._rank(mark) + self._depth(mark, int(parts[0]))

    def _rank(self, name: str) -> int:
        """The place of the name among those of its sort."""
        if name not in self._ranks:
            self._ranks.append(name)
        sort = [other for other in self._ranks if other.startswith("number") == name.startswith("number")]
        return sort.index(name)

    def _depth(self, mark: str, number: int) -> int:
        """How many lists are open around the one that goes on with this number."""
        numbers = self._open.setdefault(mark, [])
        while numbers and numbers[-1] != number - 1 and number - 1 in numbers:
            numbers.pop()
        if numbers and number > numbers[-1]:
            numbers[-1] = number
        else:
            numbers.append(number)
        return len(numbers) - 1


def _without_contents(sections: Sequence[Section], text: str) -> list[Section]:
    """The sections without lines of a table of contents, and with those of a running head as one."""
    kept: list[Section] = []
    last = {_heading_of(section): at for at, section in enumerate(sections)}
    for at, section in enumerate(sections):
        heading = _heading_of(section)
        is_empty = not text[section.body : section.end].strip()
        is_below = at > 0 and not text[sections[at - 1].body : section.start].strip()
        if last[heading] > at and section.number and (is_empty or is_below):
            continue
        before = next((row for row in reversed(range(len(kept))) if kept[row].level <= section.level), -1)
        if section.number and before >= 0 and _heading_of(kept[before]) == heading:
            kept[before] = replace(kept[before], end=section.end)
        else:
            kept.append(section)
    return kept


def _heading_of(section: Section) -> tuple[str, str, str]:
    """Equal for two headings of the same section, of which one may lack the title."""
    return section.kind, section.number, "" if section.kind else section.title.casefold()
