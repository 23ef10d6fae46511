"""Bytes to text: which encoding they are in, and what every reader removes from its text.

An encoding is taken from the byte order mark, else from what the file says of itself, else it is UTF-8 if that fits, else
it is guessed. No character is dropped: a byte that fits no encoding is read as Windows-1252 or Latin-1.
"""

from __future__ import annotations

import codecs
import re
import unicodedata

from ragcore.errors import DamagedFileError, EmptyFileError, UnsupportedFileError

GUESS_BYTES = 60_000  # enough to tell encodings apart, and quick

_MARKS = (  # UTF-32 first: its little-endian mark begins with UTF-16's
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SHIFTED = (  # seven-bit encodings that say so with an escape
    (b"\x1b$)C", "iso2022_kr"),
    (b"\x1b$B", "iso2022_jp_2"),
    (b"\x1b$@", "iso2022_jp_2"),
)
_DECLARED = re.compile(
    rb"""(?:<\?xml[^>]{0,200}?encoding|<meta[^>]{0,200}?charset)\s*=\s*["']?\s*([A-Za-z0-9_.:-]{2,40})""", re.I
)
_RARE = frozenset({"iso8859_4", "iso8859_10", "iso8859_13", "iso8859_14", "iso8859_16", "cp1258", "mac_latin2", "mac_iceland"})
# Statistics alone see Chinese in "Café" and take French for Czech, whose letters have the same bytes in cp1250.
_LATIN = ("cp1252", "iso8859_15", "cp1250", "iso8859_2", "cp1254", "cp1257")
ALPHABETS = (
    *("àâæçéèêëîïôœùûü", "äöüß", "áéíñóúü", "ãáâàçéêíóôõú", "àèéìòù", "åäöé", "æøåé", "áðéíóúýþæö"),
    *("ąćęłńóśźż", "áčďéěíňóřšťúůýž", "áäčďéíĺľňóôŕšťúýž", "áéíóöőúüű", "ăâîşţ", "čćđšž", "çğıöşüâî\u0307"),
    *("ąčęėįšųūž", "āčēģīķļņšūž", "äöõüšž"),
)
_CONTROLS = re.compile("[\x80-\x9f]")
_SURROGATES = re.compile("[\ud800-\udfff]")
_NOT_TEXT = bytes(set(range(32)) - {7, 8, 9, 10, 11, 12, 13, 26, 27}) + b"\x7f"


def decode(data: bytes, name: str, *, declares: bool = False, encoding: str | None = None, errors: str = "ignore") -> str:
    """The text that `data` is, cleaned. `declares`: the format may name its encoding (HTML, XML), and is believed.

    An `encoding` that is given goes before that. Where it does not fit, another is looked for; with `errors="replace"` what
    does not fit becomes �, and with "strict" it is a DamagedFileError.

    EmptyFileError, DamagedFileError (nothing but zeros), UnsupportedFileError (not text).
    """
    if not data:
        raise EmptyFileError(f"{name} is empty.", hint="Save it again from the program it comes from.")
    if not data.strip(b"\0"):
        raise DamagedFileError(
            f"{name} holds nothing but zeros, no text.",
            hint="Such a file is left by an interrupted copy or download. Copy or download it again.",
        )
    text = clean((encoding and _named(data, name, encoding, errors)) or _decoded(data, name, declares))
    if not text.strip():
        raise EmptyFileError(f"{name} holds nothing but blank space.", hint="Save it again from the program it comes from.")
    return text


def clean(text: str) -> str:
    """Line ends as \\n, no NUL, no form feed, no half of a surrogate pair, no byte order mark."""
    if _SURROGATES.search(text):
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "").replace("\ufeff", "")
    if "\f" in text:
        text = re.sub("\n?\f\n?", "\n", text)
    return text


def _named(data: bytes, name: str, encoding: str, errors: str) -> str:
    """By the encoding that was asked for; "" where another is to be looked for."""
    try:
        text = data.decode(encoding, "replace" if errors == "replace" else "strict")
    except UnicodeDecodeError as error:
        if errors == "ignore":
            return ""
        raise DamagedFileError(
            f"{name} is not in the encoding {encoding}.", hint='Name its encoding, or read it with errors="ignore".'
        ) from error
    _refuse_binary(text[:20_000].encode("utf-8", "replace"), name)
    return text


def _decoded(data: bytes, name: str, declares: bool) -> str:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _lenient(data, encoding)
    wide = _wide_encoding(data)
    if wide:
        text = _lenient(data, wide)
        _refuse_no_text(text, name)
        return text
    if declares and (declared := _DECLARED.search(data[:4096])):
        try:
            return data.decode(declared[1].decode("ascii"))
        except (LookupError, UnicodeError):
            pass  # it says something else than it is: look for ourselves
    for sign, encoding in _SHIFTED:
        if sign in data[:GUESS_BYTES]:
            try:
                return data.decode(encoding)
            except UnicodeDecodeError:
                continue
    _refuse_binary(data, name)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return _mostly_utf8(data) or _guessed(data)


def _lenient(data: bytes, encoding: str) -> str:
    """What is broken becomes �: an odd byte at the end, half of a surrogate pair."""
    return data.decode(encoding, "replace")


def _wide_encoding(data: bytes) -> str | None:
    """UTF-16 or UTF-32 without a mark: zeros stand at the same place of every unit."""
    head = data[:4000]
    head = head[: len(head) // 4 * 4]
    if len(head) < 8 or head.count(0) < len(head) // 5:
        return None
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
    return None


def _refuse_binary(data: bytes, name: str) -> None:
    head = data[:20_000]
    if len(head) - len(head.translate(None, _NOT_TEXT)) > max(len(head) // 50, 8):
        raise _binary(name)


def _refuse_no_text(text: str, name: str) -> None:
    """Zeros at the same places are in tables of numbers too, which are no signs as UTF-16."""
    head = text[:20_000]
    strange = sum(unicodedata.category(sign) in ("Cc", "Cn", "Co") and sign not in "\t\n\v\f\r" for sign in head)
    if strange > max(len(head) // 50, 8):
        raise _binary(name)


def _binary(name: str) -> UnsupportedFileError:
    return UnsupportedFileError(
        f"{name} is not text: it holds binary data.",
        hint="Open it in the program it comes from and save it as PDF, or as text.",
    )


def _mostly_utf8(data: bytes) -> str:
    """UTF-8 with a few stray bytes, such as two files put together; "" where it is something else."""
    text = data.decode("utf-8", "surrogateescape")
    stray = _SURROGATES.findall(text)
    fitting = len(re.findall("[^\x00-\x7f\ud800-\udfff]", text))
    if fitting < 4 * len(stray):
        return ""
    return _SURROGATES.sub(lambda match: _single(ord(match[0]) - 0xDC00), text)


def _single(byte: int) -> str:
    raw = bytes([byte])
    try:
        return raw.decode("cp1252")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def _guessed(data: bytes) -> str:
    sample = _sample(data)
    for encoding in ("cp932", "euc_jp"):
        if _is_japanese(sample, encoding):
            return data.decode(encoding, "replace")
    for encoding in (_latin(sample) or _likeliest(sample), "cp1252"):
        try:
            return data.decode(encoding)
        except (UnicodeError, LookupError):
            continue
    return "".join(_single(byte) for byte in data) if len(data) < 1_000_000 else data.decode("latin-1")


def _latin(sample: bytes) -> str | None:
    """The encoding of a text in Latin letters, whose accents are those of one language; None where it is in other letters."""
    words_without_plain_letters = re.findall(rb"(?<![A-Za-z\x80-\xff])[\x80-\xff]{2,}(?![A-Za-z\x80-\xff])", sample)
    if 2 * sum(map(len, words_without_plain_letters)) > len(re.findall(rb"[\x80-\xff]", sample)):
        return None
    fits: dict[str, float] = {}
    for encoding in _LATIN:
        try:
            text = sample.decode(encoding)
        except UnicodeDecodeError:
            continue
        accented = [letter for letter in text.lower() if letter > "\x7f" and letter.isalpha() and letter not in "µªº"]
        foreign = min(sum(letter not in alphabet for letter in accented) for alphabet in ALPHABETS)
        wrong = foreign + _signs_in_words(text) + len(_CONTROLS.findall(text))
        fits[encoding] = wrong / max(len(accented), 1)
    best = min(fits, key=lambda encoding: fits[encoding], default=None)  # the first of equal ones
    return best if best and fits[best] < 0.3 else None


def _likeliest(sample: bytes) -> str:
    from charset_normalizer import from_bytes

    candidates = list(from_bytes(sample))[:12]
    likely = [candidate for candidate in candidates if candidate.chaos <= candidates[0].chaos + 0.02]
    best = min(
        likely,
        key=lambda one: (_signs_in_words(str(one)), one.encoding in _RARE, one.chaos, -one.coherence),
        default=None,
    )
    return best.encoding if best else "cp1252"


def _is_japanese(sample: bytes, encoding: str) -> bool:
    """Hiragana are a third of any Japanese text, and hardly ever what another encoding looks like."""
    text = sample.decode(encoding, "replace")
    far = [sign for sign in text if sign > "\x7f"]
    return text.count("�") <= len(text) // 500 and 4 * sum("ぁ" <= sign <= "ゖ" for sign in far) >= len(far) > 0


def _signs_in_words(text: str) -> int:
    """Signs between small letters, such as ¾ for ž: what a neighbouring encoding makes of a letter."""
    return len(re.findall(r"(?<=[^\W\d_])(?:[¹²³¼½¾]|[^\w\s\x00-\x7f’‘“”–—…·])(?=[^\W\d_])", text))


def _sample(data: bytes) -> bytes:
    """The lines that say most about the encoding: those with bytes above ASCII, up to GUESS_BYTES."""
    if len(data) <= GUESS_BYTES:
        return data
    telling = re.findall(rb"[^\n]{0,200}[\x80-\xff\x1b][^\n]{0,200}", data[: 20 * GUESS_BYTES])
    return b"\n".join(telling)[:GUESS_BYTES] or data[:GUESS_BYTES]
