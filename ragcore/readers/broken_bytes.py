"""Decodes East Asian text with broken bytes. A character has two bytes or more, so a broken byte shifts all
characters after it on its line. Dynamic programming finds the reading of a line with the lowest cost: a
character in daily use costs nothing, while a rare character and an unused byte have a cost.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from functools import lru_cache

# of a rare character, of an unused byte, and of one at the end of a line
RARE_COST, BROKEN_COST, CUT_COST = 1.0, 2.5, 1.2
WINDOW = 4_000  # bytes of a line that are decoded at once
RARE_SHARE = 0.2  # of the characters of a window; with more they are probably shifted
SAMPLE_BYTES = 2_000  # of a text, to judge an encoding

# The first bytes of the characters in daily use: punctuation, kana and the first level of each standard.
# Korean is first: all its syllables are daily characters in Chinese and Japanese.
DAILY = {
    "cp949": (*range(0xA1, 0xA4), *range(0xB0, 0xC9)),
    "cp932": (*range(0x81, 0x84), *range(0x88, 0x98)),
    "euc_jp": (*range(0xA1, 0xA6), *range(0xB0, 0xD0)),
    "gb18030": (*range(0xA1, 0xA4), *range(0xB0, 0xD8)),
    "big5hkscs": (*range(0xA1, 0xA4), *range(0xA4, 0xC7)),
}
_UNASSIGNED = re.compile("[\x80\uf8f0-\uf8f3]")  # Python's result for bytes without a meaning in Shift JIS
_WIDTHS = {"gb18030": (1, 2, 4), "euc_jp": (1, 2, 3)}


def _decode_line(line: bytes, encoding: str) -> tuple[str, float]:
    """The most likely text of a line, with � for each broken byte, and its cost, which is 0 for daily
    text."""
    widths = _WIDTHS.get(encoding, (1, 2))
    costs: list[float] = [0.0] + [float("inf")] * len(line)
    origins: list[tuple[int, str]] = [(0, "")] * (len(line) + 1)
    for start in range(len(line)):
        cost = costs[start]
        for width in widths:
            chunk = line[start : start + width]
            if len(chunk) < width:
                break
            text, price = _character(chunk, encoding)
            if text == "�" and line[start + 1 : start + 2] in (b"", b"\n", b"\r"):
                price = CUT_COST
            if text and cost + price < costs[start + width]:
                costs[start + width], origins[start + width] = cost + price, (start, text)
    parts, end = [], len(line)
    while end:
        end, text = origins[end]
        parts.append(text)
    return "".join(reversed(parts)), costs[-1]


def repair(data: bytes, encoding: str) -> str:
    """The text, with � for broken bytes. Each line is decoded alone."""
    return "".join(_repair_line(line, encoding) for line in data.splitlines(keepends=True))


def unlikeliness(sample: bytes, encoding: str) -> float:
    """The cost per byte above ASCII: about 0 for a text in this encoding, 0.2 and more for another. 1 without
    such bytes."""
    high = len(re.findall(rb"[\x80-\xff]", sample[:SAMPLE_BYTES]))
    if not high:
        return 1.0
    lines = sample[:SAMPLE_BYTES].splitlines(keepends=True)
    if len(sample) > SAMPLE_BYTES and len(lines) > 1:
        lines.pop()  # the last line is cut
    return sum(_decode_line(line, encoding)[1] for line in lines) / high


def _repair_line(line: bytes, encoding: str) -> str:
    text = line.decode(encoding, "replace")
    if "�" not in text and not _UNASSIGNED.search(text):
        return text
    parts, start = [], 0
    while start < len(line):
        text, length = _window(line[start : start + WINDOW], encoding, is_last=start + WINDOW >= len(line))
        parts.append(text)
        start += length
    return "".join(parts)


def _window(data: bytes, encoding: str, *, is_last: bool) -> tuple[str, int]:
    """The text of a part of a line, and how many of its bytes are used: the last character may be cut."""
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        text = decoder.decode(data, final=is_last)
    except UnicodeDecodeError:
        text = ""
    if text and len(data) == WINDOW and not _UNASSIGNED.search(text):
        counts = Counter(sign for sign in text if sign > "\x7f").items()
        if sum(
            count for sign, count in counts if sign.encode(encoding)[0] not in DAILY[encoding]
        ) < RARE_SHARE * len(text):
            return text, len(data) - len(decoder.getstate()[0])
    text, _cost = _decode_line(data, encoding)
    return (text[:-1], len(data) - 1) if text.endswith("�") and not is_last else (text, len(data))


@lru_cache(200_000)
def _character(chunk: bytes, encoding: str) -> tuple[str, float]:
    """The character and its cost; "" if the bytes are no character. A single byte may always be broken."""
    try:
        text = chunk.decode(encoding)
    except UnicodeDecodeError:
        text = ""
    if len(text) == 1 and not _UNASSIGNED.match(text):
        return text, 0.0 if chunk[0] < 0x80 or (
            len(chunk) == 2 and chunk[0] in DAILY[encoding]
        ) else RARE_COST
    return ("�", BROKEN_COST) if len(chunk) == 1 else ("", 0.0)
