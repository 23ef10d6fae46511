"""The ends of sentences in any script, by rules about punctuation, without a model or data files.

A sentence also ends at a blank line, before a list item, and around headings and table rows. Thai and Lao,
which have no full stop, are divided at their spaces.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from ragcore.text.citations import CITATION


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Consecutive (start, end) that cover all of `text`; the white space after a sentence belongs to it. []
    for ""."""
    breaks = {*_breaks(text), len(text)} - {0}
    if _SPACED_SCRIPT.search(text):
        breaks.update(match.end() for match in _SCRIPT_SPACE.finditer(text))
    return list(pairwise([0, *sorted(breaks)]))


def sentences(text: str) -> list[str]:
    """The sentences without the white space around them.

    >>> sentences("Dr. Silva left at 5 p.m. on Monday. Why?")
    ['Dr. Silva left at 5 p.m. on Monday.', 'Why?']
    """
    return [stripped for start, end in sentence_spans(text) if (stripped := text[start:end].strip())]


def letterhead(text: str) -> str:
    """The lines of names, addresses, numbers and a date above the first sentence, and its salutation; "" if
    the text does not begin with such lines.

    These are at least three short lines, two with a capital and two with a number. No line goes on in the
    next. Only above a salutation may there be empty lines.

    >>> letterhead(
    ...     "Brook Ltd\\n12 Quay Street\\nOldport, 3 March 2025\\nDear Mr Cole,\\nThe rent rises in May."
    ... )
    'Brook Ltd\\n12 Quay Street\\nOldport, 3 March 2025\\nDear Mr Cole,\\n'
    """
    lines = [*text.splitlines(keepends=True), ""]
    end = next(
        at
        for at, line in enumerate(lines)
        if (not at or line.strip() or not line) and (not _NAMES.match(line) or line[0].islower())
    )
    end -= lines[end][:1].islower()  # the line before it begins the sentence
    salutation = [line for line in lines[end : end + 1] if _SALUTATION.match(line)]
    if not salutation and not all(map(str.strip, lines[:end])):
        return ""
    head, rest = [line for line in lines[:end] if line.strip()], lines[end:-1]
    capitals, numbers = (
        sum(line[0].isupper() for line in head),
        sum(_DIGIT.search(line) is not None for line in head),
    )
    if len(head) < 3 or capitals < 2 or numbers < 2 or not head[0][0].isupper() or not rest:
        return ""
    return "".join([*lines[:end], *salutation])


def _breaks(text: str) -> Iterator[int]:
    """The starts of all sentences but the first, ascending."""
    lower_case = text == text.lower()  # without any capitals, a small letter may begin a sentence
    for match in _MARK.finditer(text):
        kind = match.lastgroup
        after = match.end(kind or 0)
        if after >= len(text) or after == 0:
            continue
        if kind == "soft":
            if _ends(text, match, after, lower_case=lower_case):
                yield after
        elif (
            kind == "hard"
            or text.count("\n", match.start(), after) > 1
            or _separates_lines(text, match.start(), after)
        ):
            yield after


def _separates_lines(text: str, end: int, after: int) -> bool:
    """Whether the line that ends at `end`, or that of `after`, is a heading, a row or an item."""
    before, line = text.rfind("\n", 0, end) + 1, text.rfind("\n", 0, after) + 1
    return _OWN_LINE.match(text, before) is not None or _NEW_LINE.match(text, line) is not None


def _ends(text: str, mark: re.Match[str], following: int, *, lower_case: bool) -> bool:
    """Whether . ! ? or … before white space ends a sentence; the next word begins at `following`."""
    first = text[following]
    if first in _OPENING:
        head = _OPENERS.match(text, following)
        following = head.end() if head else following
        first = text[following] if following < len(text) else ""
    # In Unicode, all Georgian letters are small.
    if first.islower() and not lower_case and not "\u10d0" <= first <= "\u10ff":
        return False
    if mark.group() != "." and not _FULL_STOP.fullmatch(mark.group()):
        return True
    start = mark.start()
    before = text[max(start - 24, 0) : start]
    if not before or before[-1].isspace():
        return True
    word = before.rsplit(None, 1)[-1]
    return not _abbreviates(word.lstrip(_OPENING), text, start - len(word), following)


def _abbreviates(word: str, text: str, start: int, following: int) -> bool:
    """Whether the full stop after `word`, which begins at `start`, belongs to it and ends no sentence before
    `following`."""
    small = word.casefold()
    if small in _BEFORE_NAMES:
        return True
    if small in _BEFORE_NUMBERS and _NUMBER.match(text, following):
        return True
    if word.isdecimal():
        # "1. Scope" opens a list item; "am 3. Mai" is a day.
        return len(word) <= 3 and (
            _at_line_start(text, start) or _word_at(text, following).casefold() in _AFTER_ORDINALS
        )
    return _INITIALS.fullmatch(word) is not None and _word_at(text, following) not in _STARTERS


def _word_at(text: str, position: int) -> str:
    match = _WORD.match(text, position)
    return match.group() if match else ""


def _at_line_start(text: str, position: int) -> bool:
    begin = max(position - 40, 0)
    line = text.rfind("\n", begin, position) + 1
    return (line > 0 or begin == 0) and not text[line or begin : position].strip("#>*- \t")


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_CLOSING = "\"'”’»›)]}）」』】〕〉》*_"
_OPENING = "\"'“”‘’„‚«»‹›([{（「『【〔〈《*_¿¡"
_STOPS = "。！？｡﹒﹖﹗।॥؟۔։።፧፨။།༎។៕᙮᠃᠉⸮꓿"  # always end a sentence
_SOFT = ".!?…‼‽⁇⁈⁉"  # end one before white space, depending on the words before and after
# The pattern begins with a set of single characters, so that the search is fast.
_MARK = re.compile(
    rf"[\n{_SOFT}{_STOPS}](?:"
    r"(?<=\n)(?P<line>\s*)"
    rf"|(?<=[{_STOPS}])(?P<hard>[{_SOFT}{_STOPS}]*[{re.escape(_CLOSING)}]*\s*)"
    rf"|(?<![{_SOFT}][{_SOFT}])[{_SOFT}]*[{re.escape(_CLOSING)}]*(?:{CITATION.pattern})*(?=(?P<soft>\s+)))"
)
_FULL_STOP = re.compile(rf"\.(?:{CITATION.pattern})*")
_WORD = re.compile(r"\w*")
_OPENERS = re.compile(rf"[{re.escape(_OPENING)}]*")
# "Adult | £2.50", "Year: 2014; Passengers: 101240"
_ROW = r"[^\n|]*\S \| |[^\n:;]{1,60}: [^\n;]*; [^\n:;]{1,60}: "
_NEW_LINE = re.compile(
    rf"{_ROW}|"
    r"[^\S\n]*(?:[-*•‣⁃▪●◦○■–—]\s|"
    r"\[\d[\d/. :,apmAPM-]{6,24}\]\s|"  # when a message came
    r"\(?\d{1,3}[.)]\s|\(?[a-zA-Z]\)\s|\([ivxIVX]{1,5}\)\s|#{1,6}\s|\||[-=*_]{3,}\s*$)",
    re.M,
)
_OWN_LINE = re.compile(
    _ROW + r"|[^\S\n]*(?:#{1,6}\s|\||[-=*_]{3,}[^\S\n]*\n)"
)  # headings, table rows and rules end with their line
_GOES_ON = r"[.!?…:;,&(/-]|\b(?:of|in|an|at|by|to|or|and|the|for|with|from|a)"
# a line of a letterhead
_NAMES = re.compile(rf"(?=\S)(?=[^\n]{{1,60}}$)(?![^\n]*(?:{_GOES_ON})\s*$)", re.MULTILINE)
_DIGIT = re.compile(r"\d")
_SALUTATION = re.compile(r"\S+(?: \S+){0,4},\s*$")
_SPACED_SCRIPT = re.compile(r"[\u0e00-\u0eff]")
_SCRIPT_SPACE = re.compile(r"(?<=[\u0e00-\u0eff])\s+(?=[\u0e00-\u0eff\"“(])")
_INITIALS = re.compile(r"(?:[^\W\d_]\.(?:-?[^\W\d_]\.)*-?)?[^\W\d_]")  # J  U.S  e.g  J.-P
_BEFORE_NAMES = _set(
    """
    mr mrs ms mx dr prof st ste mt ft rev hon pres gov sen rep gen col lt sgt capt cmdr adm maj messrs mme
    mlle sr sra srta dra dott ing dipl hr fr bzw vgl z.b d.h u.a i.d.r s.o s.u o.ä m.e evtl ggf sog ca cca cf
    vs v e.g i.e eg ie viz incl excl resp approx p.ej п.е т.е т.к т.н г ул им напр
    """
)
_NUMBER = re.compile(r"\+?(?:[A-Z]{1,4}-?)?\d")  # "part no. AF-20"
_BEFORE_NUMBERS = _set(
    """
    no nos nr nrs num núm fig figs eq eqs eqn sec sect secs ch chap chapt vol vols art arts abs para par p pp
    pg pgs ed tab tbl ref refs app ex exh cap kap abb bd bl n nn col ver jan feb mar apr jun jul aug sep sept
    oct nov dec mär okt dez стр рис tel fax ext
    """
)
_AFTER_ORDINALS = _set(
    """
    januar februar märz april mai juni juli august september oktober november dezember jänner jahrhundert
    jahrhunderts jh jhd jahrestag klasse auflage januari februari mars maj augusti december mei augustus
    """
)
_STARTERS = _set(
    """
    The This That These Those There Then It Its He His She Her They Their We Our You Your I In On At By For
    From With As After Before But And Or So If When While Where What Who Why How However Although Though
    Because Since Thus Hence Most Many Some Another Not Der Die Das Ein Eine Es Er Sie Wir Und Aber Im Am Dies
    Diese Le La Les Un Une Il Elle Ils Nous Et Mais Ce Cette El Los Las Una Pero Y
    """
)
