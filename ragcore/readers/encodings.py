"""From bytes to text: recognises the encoding, and removes what no reader wants in its text.

The encoding is that of the byte order mark, or the one that the file declares, or UTF-8 if it fits, or else
it is guessed. A broken byte becomes �, and the text around it is not changed.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from pathlib import Path
from typing import IO

from ragcore.errors import DamagedFileError, EmptyFileError, UnsupportedFileError
from ragcore.readers import broken_bytes
from ragcore.readers.guessed_encodings import GUESS_BYTES, guess

BLOCK_BYTES = 1 << 20  # of a file that is counted
SAMPLE_BYTES = 20_000  # at the beginning, the middle and the end of a file, to decide whether it is text

_MARKS = (  # UTF-32 first: its little-endian mark begins with UTF-16's
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SHIFTED = (  # seven-bit encodings with escape sequences
    (b"\x1b$)C", "iso2022_kr"),
    (b"\x1b$B", "iso2022_jp_2"),
    (b"\x1b$@", "iso2022_jp_2"),
)
_DECLARED = re.compile(
    rb"""(?:<\?xml[^>]{0,200}?encoding|<meta[^>]{0,200}?charset)\s*=\s*["']?\s*([A-Za-z0-9_.:-]{2,40})""",
    re.I,
)
_SUPERSETS = {  # what files contain that declare these
    "iso8859-1": "cp1252",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "big5hkscs",
    "cp950": "big5hkscs",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
}
_SURROGATES = re.compile("[\ud800-\udfff]")
_STRAY = re.compile("[\udc80-\udcff]+")
# a character of UTF-8
_CUT = re.compile(rb"(?:[\xc2-\xdf]|[\xe0-\xef][\x80-\xbf]?|[\xf0-\xf4][\x80-\xbf]{0,2})\Z")
_STOPS = re.compile("[ \n\r，。、,.]")
_DAILY_SCRIPTS = re.compile(
    "[\\s "
    "-~\u0370-\u06ff\u0900-\u0dff\u0e00-\u0e7f\u2010-\u2026\u3000-\u30ff\u4e00-\u9fff\uac00-\ud7a3\uff00-\uffef]"
)
_NOT_TEXT = bytes(set(range(32)) - {7, 8, 9, 10, 11, 12, 13, 26, 27}) + b"\x7f"


def decode(data: bytes, name: str, *, declares: bool = False) -> str:
    """The cleaned text of `data`. `declares`: the format may name its encoding (HTML, XML), which is then
    used.

    EmptyFileError, DamagedFileError (only zeros), UnsupportedFileError (not text).
    """
    return decode_and_count(data, name, declares=declares)[0]


def decode_and_count(
    data: bytes, name: str, *, declares: bool = False, encoding: str | None = None, errors: str = "ignore"
) -> tuple[str, int]:
    """Like `decode`, with the number of broken bytes that became �.

    `encoding` is preferred to what the file declares. If it does not fit, the encoding is recognised; with
    `errors="replace"` the bytes that do not fit become �, and "strict" raises a DamagedFileError.
    """
    if not data:
        raise EmptyFileError(f"{name} is empty.", hint="Save it again from the program it comes from.")
    if not data.strip(b"\0"):
        raise DamagedFileError(
            f"{name} contains nothing but zeros, no text.",
            hint="An interrupted copy or download leaves such a file. Copy or download it again.",
        )
    decoded, broken = (encoding and _decode_in(data, name, encoding, errors)) or _recognise(
        data, name, declares
    )
    text = clean(decoded)
    if not text.strip():
        raise EmptyFileError(
            f"{name} contains nothing but blank space.", hint="Save it again from the program it comes from."
        )
    return text, broken


def clean(text: str) -> str:
    """The text with \\n as line end, and without NUL, form feed, half surrogate pairs and byte order
    marks."""
    if _SURROGATES.search(text):
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "").replace("\ufeff", "")
    if "\f" in text:
        text = re.sub("\n?\f\n?", "\n", text)
    return text


def is_text_file(path: Path) -> bool:
    """Whether a file is text, judged by its beginning, middle and end."""
    with path.open("rb") as file:
        return is_text(file, path.stat().st_size)


def is_text(file: IO[bytes], size: int) -> bool:
    """Like `is_text_file`, for an open file at its beginning."""
    head = file.read(SAMPLE_BYTES)
    if (wide := _marked_encoding(head) or _wide_encoding(head)) and wide != "utf-8-sig":
        return not _is_strange(head.decode(wide, "replace"))
    samples = [head]
    for place in (size // 2, size - SAMPLE_BYTES):
        if place >= SAMPLE_BYTES:
            file.seek(place)
            samples.append(file.read(SAMPLE_BYTES))
    return all(_controls(sample) <= max(len(sample) // 50, 1) for sample in samples)


def has_more_characters(path: Path, most: int) -> bool:
    """Whether the text of this file certainly has more than `most` characters. It reads no further, one block
    at a time. What `clean` removes is not counted."""
    if path.stat().st_size <= most:  # no encoding has more characters than bytes
        return False
    with path.open("rb") as file:
        head = file.read(GUESS_BYTES)
        shifted = (encoding for sign, encoding in _SHIFTED if sign in head)
        encoding = _marked_encoding(head) or _wide_encoding(head) or next(shifted, "utf-8")
        decoder = codecs.getincrementaldecoder(encoding)("replace")
        file.seek(0)
        count = 0
        while count <= most and (block := file.read(BLOCK_BYTES)):
            text = decoder.decode(block)
            # A byte that is not UTF-8 may be the first of two of a letter. Line ends around \f are removed.
            count += len(text) - sum(map(text.count, "\r\0\ufeff")) - 2 * sum(map(text.count, "�\f"))
    return count > most


def decode_as(data: bytes, charset: str) -> tuple[str, int] | None:
    """The text in an encoding, and how many of its bytes are broken. None if the encoding is unknown or does
    not fit."""
    try:
        encoding = codecs.lookup(charset).name
        text, broken = _lenient(data, _SUPERSETS.get(encoding, encoding))
    except (LookupError, UnicodeError, ValueError):
        return None
    high = len(data) - len(data.translate(None, bytes(range(128, 256))))
    return (text, broken) if broken <= max(2, high // 50) else None


def _decode_in(data: bytes, name: str, encoding: str, errors: str) -> tuple[str, int] | None:
    """The text in this encoding, and how many bytes are broken. None if it does not fit."""
    try:
        text, broken = data.decode(encoding), 0
    except UnicodeDecodeError as error:
        if errors == "ignore":
            return None
        if errors == "strict":
            raise DamagedFileError(
                f"{name} is not in the encoding {encoding}.",
                hint='Name its encoding, or read it with errors="ignore".',
            ) from error
        text, broken = _lenient(data, encoding)
    if _controls(text[:SAMPLE_BYTES].encode("utf-8", "replace")) > max(len(text[:SAMPLE_BYTES]) // 50, 8):
        raise _binary(name)
    return text, broken


def _recognise(data: bytes, name: str, declares: bool) -> tuple[str, int]:
    """The text in the recognised encoding, and how many of its bytes are broken."""
    if marked := _marked_encoding(data):
        return _lenient(data, marked)
    if wide := _wide_encoding(data):
        text, broken = _lenient(data, wide)
        if _is_strange(text[:SAMPLE_BYTES]):
            raise _binary(name)
        return text, broken
    if (
        declares
        and (declared := _DECLARED.search(data[:4096]))
        and (result := decode_as(data, declared[1].decode("ascii")))
    ):
        return result
    for sign, encoding in _SHIFTED:
        if sign in data[:GUESS_BYTES]:
            return _lenient(data, encoding)
    if _controls(data[:SAMPLE_BYTES]) > max(len(data[:SAMPLE_BYTES]) // 50, 8):
        raise _binary(name)
    try:
        return data.decode("utf-8"), 0
    except UnicodeDecodeError:
        return _mostly_utf8(data) or _lenient(data, guess(data))


def _lenient(data: bytes, encoding: str) -> tuple[str, int]:
    """The text with � for broken bytes, such as an odd byte at the end or half of a surrogate pair, and their
    number."""
    if encoding in broken_bytes.DAILY:
        text = broken_bytes.repair(data, encoding)
        return text, text.count("�")
    text = data.decode(encoding, "replace")
    return text, text.count("�") - data.decode(encoding, "ignore").count("�") if "�" in text else 0


def _marked_encoding(data: bytes) -> str | None:
    return next((encoding for mark, encoding in _MARKS if data.startswith(mark)), None)


def _wide_encoding(data: bytes) -> str | None:
    """UTF-16 or UTF-32 without a byte order mark: its units have zeros at the same place."""
    head = data[:4000]
    head = head[: len(head) // 4 * 4]
    if len(head) >= 8 and head.count(0) >= len(head) // 5:
        zeros = [head[place::4].count(0) / (len(head) // 4) for place in range(4)]
        if zeros[0] > 0.9 and zeros[1] > 0.6 and zeros[3] < 0.1:
            return "utf-32-be"
        if zeros[3] > 0.9 and zeros[2] > 0.6 and zeros[0] < 0.1:
            return "utf-32-le"
        even, odd = (zeros[0] + zeros[2]) / 2, (zeros[1] + zeros[3]) / 2
        if even > 0.4 and odd < 0.05:
            return "utf-16-be"
        if odd > 0.4 and even < 0.05:
            return "utf-16-le"
    return _wide_letters(data[:GUESS_BYTES])


def _wide_letters(head: bytes) -> str | None:
    """UTF-16 of letters without zeros, with no byte order mark or a broken one.

    Nearly all its letters are of scripts in daily use, and it has stops and blanks, whose bytes occur in no
    other encoding.
    """
    texts = {
        encoding: head[: len(head) // 2 * 2].decode(encoding, "replace")
        for encoding in ("utf-16-le", "utf-16-be")
    }
    stops = {encoding: len(_STOPS.findall(text)) for encoding, text in texts.items()}
    best = max(stops, key=lambda encoding: stops[encoding])
    is_text = len(_DAILY_SCRIPTS.findall(texts[best])) >= 0.97 * len(texts[best]) - 2
    return (
        best
        if is_text and stops[best] > 1 and stops[best] > 2 * (sum(stops.values()) - stops[best])
        else None
    )


def _controls(sample: bytes) -> int:
    """The number of bytes that do not occur in text."""
    return len(sample) - len(sample.translate(None, _NOT_TEXT))


def _is_strange(head: str) -> bool:
    """Whether this is no text. Tables of numbers have zeros at the same places too, but give no characters in
    UTF-16."""
    strange = sum(
        unicodedata.category(sign) in ("Cc", "Cn", "Co") and sign not in "\t\n\v\f\r" for sign in head
    )
    return strange > max(len(head) // 50, 8)


def _binary(name: str) -> UnsupportedFileError:
    return UnsupportedFileError(
        f"{name} is not text: it contains binary data.",
        hint="Open it in the program it comes from and save it as PDF, or as text.",
    )


def _mostly_utf8(data: bytes) -> tuple[str, int] | None:
    """UTF-8 with a few broken bytes, or with the bytes of another file at the end. None if it is another
    encoding."""
    cut = _CUT.search(data)
    text = data.decode("utf-8", "surrogateescape")
    strays = _STRAY.findall(text)
    stray = sum(map(len, strays))
    fitting = len(re.findall("[^\x00-\x7f\ud800-\udfff]", text))
    is_cut = (
        cut is not None and len(cut[0]) == stray and (fitting > 0 or len(cut[0]) > 1 or cut[0] in b"\xc2\xc3")
    )
    if not is_cut and fitting < stray and not (len(strays) == 1 and stray <= 3 and fitting):
        return None
    repaired = _STRAY.sub(_repair_stray, text)
    return repaired, repaired.count("�") - text.count("�")


def _repair_stray(match: re.Match[str]) -> str:
    """The letter or sign of a single stray byte in Windows-1252, or else �. Some bytes are more likely half
    of a character."""
    byte = bytes([ord(match[0][0]) - 0xDC00])
    letter = byte.decode("cp1252", "ignore")
    is_alone = len(match[0]) == 1 and match.end() < len(match.string) and byte not in b"\xc2\xc3"
    return letter if is_alone and letter and (letter.isalpha() or letter in "€’‘“”–—…•£§©°") else "�"
