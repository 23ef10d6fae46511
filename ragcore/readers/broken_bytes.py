"""East Asian text with broken bytes. Its characters have two bytes or more, so that one broken byte shifts all that follow on
its line: read as they come, they are other characters. Here a line is read the way that costs least, by dynamic programming:
a character in daily use costs nothing, a rare one and a byte that is left over cost something.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from functools import lru_cache

RARE, BROKEN, CUT = 1.0, 2.5, 1.2  # costs of a character not in daily use, of a byte that is none, and of one at a line's end
WINDOW = 4_000  # bytes of a line that are read at once
RARE_SHARE = 0.2  # of the characters of a window, from which on they are taken for shifted ones
JUDGED_BYTES = 2_000  # of a text, to tell its encoding

# The first bytes of the characters in daily use: punctuation, kana and the first level of each standard. Korean goes first, as
# its syllables are all daily characters in Chinese and Japanese.
DAILY = {
    "cp949": (*range(0xA1, 0xA4), *range(0xB0, 0xC9)),
    "cp932": (*range(0x81, 0x84), *range(0x88, 0x98)),
    "euc_jp": (*range(0xA1, 0xA6), *range(0xB0, 0xD0)),
    "gb18030": (*range(0xA1, 0xA4), *range(0xB0, 0xD8)),
    "big5hkscs": (*range(0xA1, 0xA4), *range(0xA4, 0xC7)),
}
_NONE = re.compile("[\x80\uf8f0-\uf8f3]")  # what Python makes of the bytes that Shift JIS leaves free
_WIDTHS = {"gb18030": (1, 2, 4), "euc_jp": (1, 2, 3)}


def reading(line: bytes, encoding: str) -> tuple[str, float]:
    """The likeliest text of a line, with � for each byte that is broken, and what reading it so costs, 0 for daily text."""
    widths = _WIDTHS.get(encoding, (1, 2))
    costs: list[float] = [0.0] + [float("inf")] * len(line)
    came: list[tuple[int, str]] = [(0, "")] * (len(line) + 1)
    for start in range(len(line)):
        cost = costs[start]
        for width in widths:
            chunk = line[start : start + width]
            if len(chunk) < width:
                break
            text, price = _character(chunk, encoding)
            if text == "�" and line[start + 1 : start + 2] in (b"", b"\n", b"\r"):
                price = CUT
            if text and cost + price < costs[start + width]:
                costs[start + width], came[start + width] = cost + price, (start, text)
    parts, end = [], len(line)
    while end:
        end, text = came[end]
        parts.append(text)
    return "".join(reversed(parts)), costs[-1]


def repair(data: bytes, encoding: str) -> str:
    """The text, with � for what is broken, each line of it by itself."""
    return "".join(_line(line, encoding) for line in data.splitlines(keepends=True))


def unlikeliness(sample: bytes, encoding: str) -> float:
    """What reading a sample so costs for each of its bytes above ASCII, about 0 for a text in that encoding, 0.2 and more for
    another; 1 where there are none."""
    high = len(re.findall(rb"[\x80-\xff]", sample[:JUDGED_BYTES]))
    if not high:
        return 1.0
    lines = sample[:JUDGED_BYTES].splitlines(keepends=True)
    if len(sample) > JUDGED_BYTES and len(lines) > 1:
        lines.pop()  # which is cut
    return sum(reading(line, encoding)[1] for line in lines) / high


def _line(line: bytes, encoding: str) -> str:
    text = line.decode(encoding, "replace")
    if "�" not in text and not _NONE.search(text):
        return text
    parts, start = [], 0
    while start < len(line):
        text, length = _window(line[start : start + WINDOW], encoding, is_last=start + WINDOW >= len(line))
        parts.append(text)
        start += length
    return "".join(parts)


def _window(data: bytes, encoding: str, *, is_last: bool) -> tuple[str, int]:
    """The text of a part of a line that begins with a character, and how many bytes that has: the last one may be cut."""
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        text = decoder.decode(data, final=is_last)
        if len(data) == WINDOW and _rare_share(text, encoding) < RARE_SHARE and not _NONE.search(text):
            return text, len(data) - len(decoder.getstate()[0])
    except UnicodeDecodeError:
        pass
    text, _cost = reading(data, encoding)
    return (text[:-1], len(data) - 1) if text.endswith("�") and not is_last else (text, len(data))


def _rare_share(text: str, encoding: str) -> float:
    counts = Counter(text)
    rare = (count for sign, count in counts.items() if sign > "\x7f" and sign.encode(encoding)[0] not in DAILY[encoding])
    return sum(rare) / max(len(text), 1)


@lru_cache(200_000)
def _character(chunk: bytes, encoding: str) -> tuple[str, float]:
    """What the bytes are, and its cost; "" where they are no character. A byte alone may always be broken."""
    try:
        text = chunk.decode(encoding)
    except UnicodeDecodeError:
        text = ""
    if len(text) == 1 and not _NONE.match(text):
        return text, 0.0 if chunk[0] < 0x80 or (len(chunk) == 2 and chunk[0] in DAILY[encoding]) else RARE
    return ("�", BROKEN) if len(chunk) == 1 else ("", 0.0)
