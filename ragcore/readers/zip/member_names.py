"""The names of a zip's members. Where the zip does not say how they are written (APPNOTE.TXT, appendix D), they are in the code
page of the Windows that packed it, which is told from all the names together.

A code page is taken for the right one when hardly anything that it makes of the names is unusual: a sign that is in no name, a
rare character, an accent of another language, a capital in the middle of a word.
"""

from __future__ import annotations

import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache

from ragcore.readers.guessed_encodings import ALPHABETS, HANGUL

UTF8 = 1 << 11  # among a member's flags: its name is UTF-8
UNICODE_PATH = 0x7075  # the extra field with the name in UTF-8 and a sum of the name that it stands for (4.6.9)
UNUSUAL = 0.5  # of the characters beyond ASCII, from which on a code page is not the right one
SELDOM = 0.7  # of the syllables of a Korean name may be such as are not often written

_WORD = re.compile(r"[^\W\d_]+")
_LONE = re.compile(r"(?<!\S)\w(?!\S)")
_VOWEL = re.compile("[аеёиоуыэюяіїє]", re.I)
_FAR = re.compile(r"[^\x00-\x7f]")
_PUNCTUATION = "[\u3000-\u303f\uff01-\uff5e·ー]"


def names_of(entries: Sequence[zipfile.ZipInfo]) -> list[str]:
    """One for each member."""
    said = [_said(entry) for entry in entries]
    bare = [_bare(entry) for entry in entries]
    page = _code_page([name for name, known in zip(bare, said, strict=True) if known is None])
    return [known if known is not None else name.decode(page, "replace") for known, name in zip(said, bare, strict=True)]


def _said(entry: zipfile.ZipInfo) -> str | None:
    """What the member says that it is called. macOS writes UTF-8 without saying so."""
    if entry.flag_bits & UTF8:
        return entry.filename
    bare = _bare(entry)
    for kind, data in _extras(entry.extra):
        if kind == UNICODE_PATH and data[:5] == struct.pack("<BL", 1, zlib.crc32(bare)):
            return data[5:].decode("utf-8", "replace")
    try:
        return bare.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _bare(entry: zipfile.ZipInfo) -> bytes:
    """The name's bytes, which zipfile has taken for a text in code page 437."""
    return entry.orig_filename.partition("\0")[0].encode("cp437", "replace")


def _extras(data: bytes) -> Iterator[tuple[int, bytes]]:
    while len(data) >= 4:
        kind, size = struct.unpack_from("<HH", data)
        yield kind, data[4 : 4 + size]
        data = data[4 + size :]


def _code_page(names: Sequence[bytes]) -> str:
    """The one in which the names are least unusual; that of the format, 437, where none fits."""
    shares: dict[str, float] = {}
    for page, unusual in _PAGES.items():
        try:
            texts = [name.decode(page) for name in names]
        except UnicodeDecodeError:
            continue
        far = sum(len(_FAR.findall(text)) for text in texts)
        shares[page] = unusual(texts) / max(far, 1)
    best = min(shares, key=lambda page: shares[page])  # the first of equal ones; every byte is something in 437
    return best if shares[best] < UNUSUAL else "cp437"


def _in_latin(texts: Iterable[str]) -> float:
    whole = " ".join(texts)
    words = _WORD.findall(_LONE.sub("", whole))
    accented = _FAR.findall(whole.lower())
    foreign = min(sum(letter not in alphabet for letter in accented) for alphabet in ALPHABETS)
    crowded = sum(max(2 * len(_FAR.findall(word)) - len(word), 0) for word in words)  # more accents than plain letters
    return foreign + crowded + _strange_capitals(words)


def _in_cyrillic(texts: Iterable[str]) -> float:
    whole = " ".join(texts)
    words = _WORD.findall(whole)
    other = sum(not ("Ѐ" <= sign <= "ӿ" or sign == "№") for sign in _FAR.findall(whole))
    mixed = sum(len(word) for word in words if re.search("[A-Za-z]", word) and not word.isascii())
    mute = sum(not _VOWEL.search(word) for word in words if not word.isascii())
    return other + mixed + mute + _strange_capitals(words)


def _strange_capitals(words: Iterable[str]) -> int:
    return sum(not (word.islower() or word.isupper() or word.istitle()) and not word.isascii() for word in words)


def _in_characters(page: str, rows: range) -> Callable[[Iterable[str]], float]:
    """`rows`: the first bytes of those characters of the standard that are in daily use."""

    def unusual(texts: Iterable[str]) -> float:
        return sum(sign not in usual() and not re.match(_PUNCTUATION, sign) for sign in _FAR.findall("".join(texts)))

    @cache
    def usual() -> str:
        kana = "".join(map(chr, range(0x3041, 0x30FF))) if page == "cp932" else ""
        return kana + "".join(bytes([row, cell]).decode(page, "ignore") for row in rows for cell in _CELLS[page])

    return unusual


def _in_hangul(texts: Iterable[str]) -> float:
    signs = _FAR.findall("".join(texts))
    other = sum(not ("가" <= sign <= "힣" or re.match(_PUNCTUATION, sign)) for sign in signs)
    seldom = sum(sign not in HANGUL for sign in signs)
    return other + max(seldom - SELDOM * len(signs), 0)


_CELLS = {"cp932": range(0x40, 0xFD), "gbk": range(0xA1, 0xFF), "big5": range(0x40, 0xFF)}
_PAGES: dict[str, Callable[[Iterable[str]], float]] = {
    "cp437": _in_latin,
    "cp850": _in_latin,
    "cp852": _in_latin,
    "cp857": _in_latin,
    "cp866": _in_cyrillic,
    "cp932": _in_characters("cp932", range(0x88, 0x98)),
    "cp949": _in_hangul,
    "gbk": _in_characters("gbk", range(0xB0, 0xD8)),
    "big5": _in_characters("big5", range(0xA4, 0xC7)),
}
