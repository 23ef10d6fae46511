"""Guesses the encoding of a text that is older than Unicode. A sample is decoded in each candidate, and the
result that looks most like a language wins. A few broken bytes do not exclude an encoding.
"""

from __future__ import annotations

import re

from ragcore.readers.broken_bytes import DAILY, unlikeliness

GUESS_BYTES = 60_000  # enough to distinguish encodings, and fast
EAST_ASIAN = (
    0.12  # maximum cost per byte above ASCII, see `unlikeliness`; Russian in KOI8-R as Chinese costs 0.2
)
FEW_BYTES = 6  # above ASCII; with fewer, Chinese and Russian cannot be distinguished from single accents
KOREAN = (
    0.06  # subtracted from the cost of Korean, as its syllables are daily characters in Chinese encodings
)
ADJACENT = (
    0.1  # minimum share of bytes above ASCII with such a neighbour, in text that is not in Latin letters
)
RARE_SYLLABLES = 0.7  # of a Korean text may not be in HANGUL
CYRILLIC = 0.05  # of the letters of a Russian text may be out of place
BROKEN = 0.005  # of the accented letters of a Western text may be invalid bytes

_RARE = frozenset(
    {
        "iso8859_4",
        "iso8859_10",
        "iso8859_13",
        "iso8859_14",
        "iso8859_16",
        "cp1258",
        "mac_latin2",
        "mac_iceland",
    }
)
# Statistics alone guess Chinese for "Café", and Czech for French, whose letters have the same bytes in
# cp1250.
_LATIN = ("cp1252", "iso8859_15", "cp1250", "iso8859_2", "cp1254", "cp1257")
_CYRILLIC = ("cp1251", "koi8_r", "cp866", "iso8859_5", "mac_cyrillic")
ALPHABETS = (
    *("àâæçéèêëîïôœùûü", "äöüß", "áéíñóúü", "ãáâàçéêíóôõú", "àèéìòù", "åäöé", "æøåé", "áðéíóúýþæö"),
    *("ąćęłńóśźż", "áčďéěíňóřšťúůýž", "áäčďéíĺľňóôŕšťúýž", "áéíóöőúüű", "ăâîşţ", "čćđšž", "çğıöşüâî\u0307"),
    *("ąčęėįšųūž", "āčēģīķļņšūž", "äöõüšž"),
)
# The syllables of more than half of any Korean text. Chinese decoded as Korean has few of them.
HANGUL = frozenset(
    "이다는의에가고을하지어로사기서리자나인도스대일시정그한들보수라해아은부전제여니과구상게만주적장공원안인경세신조성면동오유비국선계"
    "물회생우무학산민간무위연문방관현용개당소명트모치내실결재입중업드미말마분년발행술반의심약표통화직회식진요저록청서출력감처기금"
)
_IN_CHARACTERS = bytes(range(0x30, 0x100))  # bytes that may be the second byte of a character
_CONTROLS = re.compile("[\x80-\x9f]")


def guess(data: bytes) -> str:
    """The name of the most likely encoding."""
    sample = _sample(data)
    high = len(re.findall(rb"[\x80-\xff]", sample))
    adjacent = sum(map(len, re.findall(rb"[\x80-\xff]{2,}", sample)))  # accents are rarely neighbours
    if (
        high >= FEW_BYTES
        and adjacent > ADJACENT * high
        and (encoding := _cyrillic(sample) or _east_asian(sample))
    ):
        return encoding
    return _latin(sample) or _most_likely(sample)


def _sample(data: bytes) -> bytes:
    """Up to GUESS_BYTES of lines with bytes above ASCII. A long line is cut behind an ASCII character."""
    if len(data) <= GUESS_BYTES:
        return data
    lines, size = [], 0
    for match in re.finditer(rb"[^\n]*[\x80-\xff][^\n]*\n?", data[: 20 * GUESS_BYTES]):
        line = match[0]
        if len(line) > GUESS_BYTES - size:
            line = line[: GUESS_BYTES - size]
            line = line[: len(line.rstrip(_IN_CHARACTERS))] or line
        lines.append(line)
        size += len(line)
        if size >= GUESS_BYTES - 200:
            break
    return b"".join(lines) or data[:GUESS_BYTES]


def _east_asian(sample: bytes) -> str | None:
    costs = {encoding: unlikeliness(sample, encoding) for encoding in DAILY}
    costs["cp949"] -= KOREAN
    for encoding in sorted(costs, key=lambda encoding: costs[encoding]):  # the first of equal ones
        if costs[encoding] > EAST_ASIAN:
            return None
        syllables = [sign for sign in sample.decode("cp949", "replace") if "가" <= sign <= "힣"]
        is_korean = sum(sign not in HANGUL for sign in syllables) <= RARE_SYLLABLES * len(syllables)
        if encoding != "cp949" or is_korean:
            return encoding
    return None


def _cyrillic(sample: bytes) -> str | None:
    costs: dict[str, float] = {}
    for encoding in _CYRILLIC:
        text = sample.decode(encoding, "replace")
        far = [sign for sign in text if sign > "\x7f"]
        letters: float = sum("Ѐ" <= sign <= "ӿ" for sign in far)
        # letters of few languages, and rare there
        letters -= sum(sign in "ђѓѕјљњћќўџѐѝЂЃЅЈЉЊЋЌЎЏ" for sign in far) / 2
        signs = sum(sign in "«»—–№…“”„’ " for sign in far)
        within = len(re.findall("[а-яёіїє][А-ЯЁІЇЄ]|[A-Za-z][Ѐ-ӿ]|[Ѐ-ӿ][A-Za-z]", text))
        # KOI8 exchanges capitals and small letters
        capitals = max(sum(sign.isupper() for sign in far) - letters / 2, 0)
        costs[encoding] = (len(far) - letters - signs + within + capitals) / len(far)
    best = min(costs, key=lambda encoding: costs[encoding])
    return best if costs[best] <= CYRILLIC else None


def _latin(sample: bytes) -> str | None:
    """The encoding of a text in Latin letters with the accents of one language. None for text in other
    letters."""
    words_without_plain_letters = re.findall(
        rb"(?<![A-Za-z\x80-\xff])[\x80-\xff]{2,}(?![A-Za-z\x80-\xff])", sample
    )
    if 2 * sum(map(len, words_without_plain_letters)) > len(re.findall(rb"[\x80-\xff]", sample)):
        return None
    fits: dict[str, float] = {}
    for encoding in _LATIN:
        text = sample.decode(encoding, "replace")
        accented = [
            letter for letter in text.lower() if letter > "\x7f" and letter.isalpha() and letter not in "µªº"
        ]
        broken = text.count("�")
        if broken > max(1, BROKEN * len(accented)):
            continue
        foreign = min(sum(letter not in alphabet for letter in accented) for alphabet in ALPHABETS)
        wrong = foreign + _signs_in_words(text) + len(_CONTROLS.findall(text)) + broken
        fits[encoding] = wrong / max(len(accented), 1)
    best = min(fits, key=lambda encoding: fits[encoding], default=None)  # the first of equal ones
    return best if best and fits[best] < 0.3 else None


def _most_likely(sample: bytes) -> str:
    from charset_normalizer import from_bytes

    candidates = list(from_bytes(sample))[:12]
    likely = [candidate for candidate in candidates if candidate.chaos <= candidates[0].chaos + 0.02]
    best = min(
        likely,
        key=lambda one: (_signs_in_words(str(one)), one.encoding in _RARE, one.chaos, -one.coherence),
        default=None,
    )
    return best.encoding if best else "cp1252"


def _signs_in_words(text: str) -> int:
    """The number of signs between small letters, such as ¾ for ž in a similar encoding."""
    return len(re.findall(r"(?<=[^\W\d_])(?:[¹²³¼½¾]|[^\w\s\x00-\x7f’‘“”–—…·])(?=[^\W\d_])", text))
