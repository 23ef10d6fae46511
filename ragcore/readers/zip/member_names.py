"""The names of a zip's members. A zip that does not declare their encoding (APPNOTE.TXT, appendix D) uses the
code page of the Windows that created it, which is guessed from all names together.

The best code page gives the fewest unusual characters: signs that do not occur in names, rare characters,
accents of another language, capitals in the middle of a word.
"""

from __future__ import annotations

import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache

from ragcore.readers.guessed_encodings import ALPHABETS, HANGUL, RARE_SYLLABLES

UTF8 = 1 << 11  # the flag of a member with a name in UTF-8
UNICODE_PATH = (
    0x7075  # the extra field with the name in UTF-8 and a checksum of the name that it replaces (4.6.9)
)
UNUSUAL = 0.5  # of the characters beyond ASCII; with more a code page is wrong

_WORD = re.compile(r"[^\W\d_]+")
_LONE = re.compile(r"(?<!\S)\w(?!\S)")
_VOWEL = re.compile("[аеёиоуыэюяіїє]", re.I)
_FAR = re.compile(r"[^\x00-\x7f]")
_PUNCTUATION = "[\u3000-\u303f\uff01-\uff5e·ー]"


def names_of(entries: Sequence[zipfile.ZipInfo]) -> list[str]:
    """The name of each member."""
    names = [_declared_name(entry) for entry in entries]
    page = _code_page([name for name in names if isinstance(name, bytes)])
    return [name.decode(page, "replace") if isinstance(name, bytes) else name for name in names]


def _declared_name(entry: zipfile.ZipInfo) -> str | bytes:
    """The name, or its bytes if they are in an unknown encoding. macOS writes UTF-8 without declaring it."""
    if entry.flag_bits & UTF8:
        return entry.filename
    # zipfile decodes every name as code page 437
    bare = entry.orig_filename.partition("\0")[0].encode("cp437", "replace")
    for kind, data in _extras(entry.extra):
        if kind == UNICODE_PATH and data[:5] == struct.pack("<BL", 1, zlib.crc32(bare)):
            return data[5:].decode("utf-8", "replace")
    try:
        return bare.decode("utf-8")
    except UnicodeDecodeError:
        return bare


def _extras(data: bytes) -> Iterator[tuple[int, bytes]]:
    while len(data) >= 4:
        kind, size = struct.unpack_from("<HH", data)
        yield kind, data[4 : 4 + size]
        data = data[4 + size :]


def _code_page(names: Sequence[bytes]) -> str:
    """The code page in which the names are least unusual, or 437, the default of the format, if none fits."""
    shares: dict[str, float] = {}
    for page, unusual in _PAGES.items():
        try:
            texts = [name.decode(page) for name in names]
        except UnicodeDecodeError:
            continue
        far = sum(len(_FAR.findall(text)) for text in texts)
        shares[page] = unusual(texts) / max(far, 1)
    best = min(shares, key=lambda page: shares[page])  # the first of equal ones; 437 never fails to decode
    return best if shares[best] < UNUSUAL else "cp437"


def _in_latin(texts: Iterable[str]) -> float:
    whole = " ".join(texts)
    words = _WORD.findall(_LONE.sub("", whole))
    accented = _FAR.findall(whole.lower())
    foreign = min(sum(letter not in alphabet for letter in accented) for alphabet in ALPHABETS)
    # more accents than plain letters
    crowded = sum(max(2 * len(_FAR.findall(word)) - len(word), 0) for word in words)
    return foreign + crowded + _strange_capitals(words)


def _in_cyrillic(texts: Iterable[str]) -> float:
    whole = " ".join(texts)
    words = _WORD.findall(whole)
    other = sum(not ("Ѐ" <= sign <= "ӿ" or sign == "№") for sign in _FAR.findall(whole))
    mixed = sum(len(word) for word in words if re.search("[A-Za-z]", word) and not word.isascii())
    mute = sum(not _VOWEL.search(word) for word in words if not word.isascii())
    return other + mixed + mute + _strange_capitals(words)


def _strange_capitals(words: Iterable[str]) -> int:
    return sum(
        not (word.islower() or word.isupper() or word.istitle()) and not word.isascii() for word in words
    )


def _in_characters(page: str, rows: range) -> Callable[[Iterable[str]], float]:
    """`rows` has the first bytes of the characters in daily use."""

    def unusual(texts: Iterable[str]) -> float:
        return sum(
            sign not in usual() and not re.match(_PUNCTUATION, sign) for sign in _FAR.findall("".join(texts))
        )

    @cache
    def usual() -> str:
        kana = "".join(map(chr, range(0x3041, 0x30FF))) if page == "cp932" else ""
        return kana + "".join(
            bytes([row, cell]).decode(page, "ignore") for row in rows for cell in _CELLS[page]
        )

    return unusual


def _in_hangul(texts: Iterable[str]) -> float:
    signs = _FAR.findall("".join(texts))
    other = sum(not ("가" <= sign <= "힣" or re.match(_PUNCTUATION, sign)) for sign in signs)
    rare = sum(sign not in HANGUL for sign in signs)
    return other + max(rare - RARE_SYLLABLES * len(signs), 0)


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
