"""Versions of one document: which documents are versions of each other, and which of them is the newest.

The name of a version is that of another but for a number, a date or a word such as "final", and most of its
text is the same. The issues of a series, such as minutes or invoices, have such names too and often a form in
common, but a newer one does not replace an older one. So documents are versions only if their names or texts
say so, by "v2", "draft" or "valid from", or if only the years in their names differ.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePath
from zlib import crc32

from ragcore.text.dates import FoundDate, find_date
from ragcore.text.keywords import words

HEAD = 700  # characters in which a document says its version
FIRST_LINES = 3  # which may have the date of the document
AROUND = 40  # characters beside "valid from", among which its date is
READ_CHARS = 40_000  # of a text, in its signature
SHINGLE = 3  # words
SIGNATURE = 256  # hashes of shingles
CACHED_NAMES = 16_384  # in memory with their stems
MIN_ALIKE = 0.3  # Jaccard index of texts that say their version
MIN_ALIKE_BY_YEAR = 0.5  # the same, if only the years in the names differ

_DIGIT = re.compile(r"\d")
_LETTERS = re.compile(r"[^\W\d_]+")
_NUMBER = re.compile(
    r"(?:(?<![^\W_])(?:v|ver|rev|version|versión|revision|revisión|fassung|auflage)[ ._-]?|第(?=\d+版))"
    r"(\d{1,3}(?:\.\d+)*)(?!\d)",
    re.IGNORECASE,
)
_COPY_NUMBER = re.compile(r"\((\d{1,2})\)")
_EARLY = re.compile(
    r"(?<![^\W\d_])(?:drafts?|old|entwurf|alte?|brouillon|ancien(?:ne)?|borrador|antigu[oa]|viej[oa])"
    r"(?![^\W\d_])|草稿|旧版?",
    re.IGNORECASE,
)
_LATE = re.compile(
    r"(?<![^\W\d_])(?:final|new|latest|updated|revised|endfassung|neue?|aktuell|finale|définiti(?:f|ve)"
    r"|nouve(?:au|lle)|definitiv[oa]|nuev[oa]|actualizad[oa])(?![^\W\d_])|最终版?|最新版?|定稿|终稿|新版?|修订版?",
    re.IGNORECASE,
)
_VERSION_WORD = re.compile(
    r"(?<![^\W\d_])(?:v|ver|rev|version|versión|revision|revisión|fassung|auflage|stand|copy|kopie|copie"
    r"|copia)(?![^\W\d_])|副本|第?版本?",
    re.IGNORECASE,
)
_SINCE = re.compile(
    r"\b(?:valid|effective|in (?:force|effect)|applies|applicable|as (?:of|at)|updated|revised"
    r"|version (?:of|from|vom|du|del)|stand|gültig|gilt|gelten|wirksam|in kraft|fassung vom|en vigueur"
    r"|valables?|applicables?|mise? à jour|en vigor|vigentes?|válid[oa]s?|actualizad[oa]s?)\b"
    r"|生效|施行|实施|有效|更新",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Version:
    """What a document says of its version.

    `stem`: its name without numbers, dates and words of versions. `since`: the date from which it is valid.
    `date`: that, or another date of the document. `number`: (3, 0) of "Version 3.0". `rank`: -1 for a draft,
    1 for a final version. `says_so`, `name_says_so`: whether its text or name says that it is a version.
    `signature`: the smallest hashes of its shingles (bottom-k sketch, Cohen and Kaplan 2007). `added`:
    seconds since the epoch.
    """

    name: str
    stem: str
    since: FoundDate | None
    date: FoundDate | None
    number: tuple[int, ...]
    rank: int
    says_so: bool
    name_says_so: bool
    signature: frozenset[int]
    added: float


@lru_cache(maxsize=CACHED_NAMES)
def stem_of(name: str) -> str:
    """The name without its suffix, numbers, dates and words of versions.

    >>> stem_of("Report final (2).docx"), stem_of("travel_rules_2026.txt")
    ('report', 'travel rules')
    """
    stem = PurePath(name).stem
    while _DIGIT.search(stem) and (found := find_date(stem)):
        stem = f"{stem[: found.start]} {stem[found.start + len(found.text) :]}"
    for pattern in (_NUMBER, _EARLY, _LATE, _VERSION_WORD):
        stem = pattern.sub(" ", stem)
    return " ".join(_LETTERS.findall(stem)).casefold()


def read_version(name: str, text: str, added: float = 0.0) -> Version:
    """The version of a document with this file name.

    >>> version = read_version("rules_v3.txt", "Rules, valid from 1 March 2026. No smoking.")
    >>> version.stem, version.since.date, version.number
    ('rules', (2026, 3, 1), (3,))
    """
    stem, head = PurePath(name).stem, text[:HEAD]
    rank = (_LATE.search(stem) is not None) - (_EARLY.search(stem) is not None)
    in_name, in_head = _NUMBER.search(stem), _NUMBER.search(head)
    number = in_name or in_head or _COPY_NUMBER.search(stem)
    since = _find_since(head)
    first_lines = "\n".join(head.strip().splitlines()[:FIRST_LINES])
    return Version(
        name=name,
        stem=stem_of(name),
        since=since,
        date=since or find_date(stem) or find_date(first_lines),
        number=tuple(map(int, number[1].split("."))) if number else (),
        rank=rank,
        says_so=since is not None or in_head is not None,
        name_says_so=_name_says_so(name),
        signature=_sign(text),
        added=added,
    )


def are_versions(one: Version, other: Version) -> bool:
    """Whether they are versions of one document.

    >>> text = "The daily allowance is 34 euro. Rail tickets are second class."
    >>> def read(name):
    ...     return read_version(name, text)
    >>> are_versions(read("rules_2024.txt"), read("rules_2026.txt"))
    True
    >>> are_versions(read("minutes_2026-09.txt"), read("minutes_2026-10.txt"))
    False
    """
    if not one.stem or one.stem != other.stem or one.name == other.name:
        return False
    alike = _estimate_jaccard(one.signature, other.signature)
    if (one.says_so and other.says_so) or one.name_says_so or other.name_says_so:
        return alike >= MIN_ALIKE
    return _has_only_year(one.name) and _has_only_year(other.name) and alike >= MIN_ALIKE_BY_YEAR


def likeness(text: str, other: str) -> float:
    """The Jaccard index of the shingles of two texts, 0 to 1, in which all numbers are the same.

    >>> likeness("The hotel is 95 euro a night.", "The hotel is 130 euro a night.")
    1.0
    """
    return _estimate_jaccard(_sign(text), _sign(other))


def may_be_version(version: Version, name: str) -> bool:
    """Whether a document of this name and the same stem may be another version, before its text is read."""
    by_year = _has_only_year(version.name) and _has_only_year(name)
    return version.says_so or version.name_says_so or _name_says_so(name) or by_year


def newest_first(versions: Sequence[Version]) -> list[Version]:
    """By what all of them have: the dates since when they are valid, else their numbers, else other dates;
    versions that are the same in these by the words of their names, and at last by when they were added."""
    has_since = all(version.since for version in versions)
    has_number = all(version.number for version in versions)
    has_date = all(version.date for version in versions)

    def order(version: Version) -> tuple[object, ...]:
        return (
            version.since.date if has_since and version.since else (),
            (version.rank, version.number) if has_number else (),
            version.date.date if has_date and version.date else (),
            version.rank,
            version.number,
            version.added,
        )

    return sorted(versions, key=order, reverse=True)


@lru_cache(maxsize=CACHED_NAMES)
def _name_says_so(name: str) -> bool:
    """Whether the name says that the document is a version."""
    stem = PurePath(name).stem
    return any(pattern.search(stem) for pattern in (_NUMBER, _EARLY, _LATE))


def _find_since(head: str) -> FoundDate | None:
    """The date behind words such as "valid from", or before them."""
    for match in _SINCE.finditer(head):
        for around in (head[match.end() :][:AROUND], head[max(match.start() - AROUND, 0) : match.start()]):
            if found := find_date(around):
                return found
    return None


def _sign(text: str) -> frozenset[int]:
    """The SIGNATURE smallest hashes of the shingles, in which all numbers are the same."""
    terms = ["#" if _DIGIT.search(word) else word for word in words(text[:READ_CHARS])]
    shingles = {" ".join(terms[at : at + SHINGLE]) for at in range(max(len(terms) - SHINGLE + 1, 1))}
    return frozenset(sorted(crc32(shingle.encode()) for shingle in shingles)[:SIGNATURE])


def _estimate_jaccard(one: frozenset[int], other: frozenset[int]) -> float:
    """The estimated Jaccard index of two sets of shingles, 0 to 1, from their signatures."""
    smallest = sorted(one | other)[:SIGNATURE]
    return len(one & other & {*smallest}) / len(smallest)


@lru_cache(maxsize=CACHED_NAMES)
def _has_only_year(name: str) -> bool:
    """Whether a year is all the number that its name has."""
    stem = PurePath(name).stem
    found = find_date(stem)
    return found is not None and found.text.isdigit() and _DIGIT.search(stem.replace(found.text, "")) is None
