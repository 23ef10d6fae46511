"""The words of a text for keyword search: folded, stemmed, and in scripts without spaces as pairs of
characters.

The stem depends on the word alone, so that a question and a passage have the same one. The script chooses the
Snowball stemmer (https://snowballstem.org): English for Latin letters, German for ä, ö, ü or ß, and Russian,
Greek, Arabic, Hindi, Tamil and Armenian. Chinese, Japanese and Korean become overlapping pairs of characters,
as in Lucene's CJKBigramFilter. Thai, Lao, Burmese and Khmer, whose characters are single sounds, become
overlapping threes, which are more specific; a text has their pairs too, for short questions.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Callable, Iterable
from functools import cache

from ragcore.text.word_forms import USUAL


def words(text: str) -> list[str]:
    """Every word in order, stemmed, without capitals or accents. Of Thai, Lao, Burmese and Khmer pairs and
    threes.

    >>> words("The writers wrote")
    ['the', 'writer', 'write']
    """
    return _terms(text, without_stop_words=False)


def content_words(text: str) -> list[str]:
    """Like `words`, without stop words such as "the" or "und", and without pairs that are in a three."""
    return _terms(text, without_stop_words=True)


def stem(word: str) -> str:
    """The stem of a single word."""
    known = _stems.get(word)
    if known is None:
        known = _stem(_fold(word))
        if len(word) > MAX_WORD:
            return known
        if len(_stems) > MAX_STEMS:
            _stems.clear()
        _stems[word] = known
    return known


def stems(words: Iterable[str]) -> tuple[str, ...]:
    """The stem of each word."""
    return tuple(stem(word) for word in words)


def _terms(text: str, *, without_stop_words: bool) -> list[str]:
    folded = _fold(text)
    if " up" in folded:
        folded = _GROW_UP.sub("growup", folded)
    if without_stop_words and "may " in folded:
        folded = _MAY.sub("", folded)
    plain_words = _WORD.findall(folded)
    if without_stop_words:
        plain_words = [word for word in plain_words if word not in STOP_WORDS]
    if folded.isascii() or not _UNSPACED.search(folded):
        return [_stems.get(word) or stem(word) for word in plain_words]
    terms: list[str] = []
    for word in plain_words:
        if _UNSPACED.search(word):
            for run in _RUNS.findall(word):
                terms += _grams(run, longest=without_stop_words) if _UNSPACED.match(run) else [stem(run)]
        else:
            terms.append(stem(word))
    return terms


def _fold(text: str) -> str:
    """The text in small letters, with one form of every letter and digit."""
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKC", text).casefold()
    folded = _OTHER_DIGIT.sub(lambda digit: str(unicodedata.decimal(digit[0])), folded)
    return folded.translate(_ALIKE) if any(chr(code) in folded for code in _ALIKE) else folded


def _grams(run: str, *, longest: bool) -> list[str]:
    pairs = [run[i : i + 2] for i in range(len(run) - 1)] or [run]
    if len(run) < 3 or not _SOUNDS.search(run):
        return pairs
    threes = [run[i : i + 3] for i in range(len(run) - 2)]
    return threes if longest else pairs + threes


@cache
def _stemmer(language: str) -> Callable[[str], str]:
    import snowballstemmer  # type: ignore[import-untyped]

    stem: Callable[[str], str] = snowballstemmer.stemmer(language).stemWord
    return stem


def _stem(word: str) -> str:
    word = word.replace("'s", "").replace("’s", "").replace("'", "").replace("’", "")
    language = "english" if word.isascii() else _language(word)
    if language == "english":
        word = USUAL.get(word, word)
    # Numbers, codes and very long words have no stem.
    if language and len(word) <= MAX_WORD and not any(letter.isdigit() for letter in word):
        with _stemming:  # a stemmer is not thread-safe
            word = _stemmer(language)(word)
    if word.isascii() or not _FOLDABLE.search(word):
        return word
    return (
        "".join(c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c))
        .replace("ł", "l")
        .replace("ø", "o")
    )


def _language(word: str) -> str:
    if re.search("[äöüß]", word):
        return "german"
    first = next((letter for letter in word if letter.isalpha()), "")
    for language, low, high in _SCRIPTS:
        if low <= first <= high:
            return language
    return ""


MAX_WORD = 40  # characters of a word that has a stem
MAX_STEMS = 200_000  # words in memory
_stems: dict[str, str] = {}
_stemming = threading.Lock()

_SCRIPTS = (
    ("english", "a", "\u024f"),
    ("greek", "\u0370", "\u03ff"),
    ("russian", "\u0400", "\u04ff"),
    ("armenian", "\u0530", "\u058f"),
    ("arabic", "\u0600", "\u06ff"),
    ("hindi", "\u0900", "\u097f"),
    ("tamil", "\u0b80", "\u0bff"),
)
_OTHER_DIGIT = re.compile(r"[^\D0-9]")
# Persian kaf and yeh are the Arabic letters; a soft hyphen is an invisible place for a line break.
_ALIKE = str.maketrans({"\u06a9": "\u0643", "\u06cc": "\u064a", "\u00ad": None})
_FOLDABLE = re.compile(r"[\u0591-\u05c7\u064b-\u0652\u00c0-\u024f\u0300-\u04ff\u1e00-\u1fff]")
# Vowel signs that \w does not match: Hebrew and Arabic points, the Indic blocks, Tibetan, Burmese, Khmer.
_MARKS = (
    r"\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0eff"
    r"\u0f18-\u0fbc\u1000-\u1049\u1780-\u17d3"
)
_WORD = re.compile(rf"[^\W_][^\W_{_MARKS}]*(?:[{_MARKS}]+[^\W_]*)*(?:['’][^\W_]+)*")
WITHOUT_SPACES = (
    r"\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff"
    r"\u3005-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Characters, for a regular expression, of scripts without spaces between words, and Korean, which joins
particles to words."""
_SOUNDS = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]")
_UNSPACED = re.compile(rf"[{WITHOUT_SPACES}]")
_RUNS = re.compile(rf"[{WITHOUT_SPACES}]+|[^{WITHOUT_SPACES}]+")

_GROW_UP = re.compile(r"\bgr(?:ow(?:s|n|ing)?|ew) up\b(?! to\b)")  # to become an adult, not to get larger
# not the month
_MAY = re.compile(r"(?:^|(?<=[.!?] ))may(?= (?:i|we|you|he|she|they|one|my|our|your)\b)", re.MULTILINE)

# English, German, French, Spanish, Italian, Portuguese and Dutch, without words that have another meaning in
# English ("die").
STOP_WORDS = frozenset(
    """
    a about above after again against all also am an and any are aren't as at be because been before being
    below between both but by can can't cannot could couldn't did didn't do does doesn't doing don't down
    during each few for from further had hadn't has hasn't have haven't having he her here hers herself him
    himself his how i i'm i've if in into is isn't it it's its itself just let's me more most mustn't my
    myself no nor not of off on once only or other ought our ours ourselves out over own same shall she should
    shouldn't so some such than that that's the their theirs them themselves then there there's these they
    they're they've this those through to too under until up upon very was wasn't we we're we've were weren't
    what what's when where which while who who's whom whose why will with won't would wouldn't you you're
    you've your yours yourself yourselves please tell many much aber als auch auf aus bei bin bis bist da
    dadurch daher damit dann darum das dass daß dein deine dem der des dessen dies diese dieser dieses doch
    dort du durch ein eine einem einen einer eines er es euer eure für hatte hatten hattest hattet hier hinter
    ich ihr ihre im ist ja jede jedem jeden jeder jedes jener jenes jetzt kann kannst können könnt machen mein
    meine mit muß muss müssen nach nachdem nein nicht nun oder seid sein seine sich sie sind soll sollen
    sollst sollt sonst soweit sowie um und uns unser unsere unter vom von vor wann warum weiter weitere welche
    welcher welches wenn wer werde werden werdet weshalb wie wieder wieso wir wird wirst wo woher wohin wurde
    wurden zu zum zur über alors au aucun aussi autre aux avec ce cela ces cet cette ceux chaque comme dans de
    depuis donc dont elle elles en est et eu il ils je la le les leur leurs lui ma mais mes moi mon même ne ni
    nos notre nous ont ou où par pas pourquoi qu quand que quel quelle quelles quels qui sa se ses si sont
    sous sur ta te tes toi tous tout tu un une vos votre vous c'est d'un d'une l'on n'est qu'il qu'elle al
    algo como contra cual cuando del desde donde el ella ellas ellos entre esa ese eso esta estaba estas este
    esto estos fue ha han hasta las lo los más mi mis muy o otra otro para pero por porque qué quien ser sobre
    su sus también tiene todo todos una uno unos y ya alla alle anche che chi ci cosa cui dal dalla dei della
    delle di dove e fra gli hanno io nel nella non perché più quale quando quanto questa questo sono sua suo
    sul sulla tra ao aos até com dos ela ele eles em essa esse foi isso isto já mas mesmo meu minha muito na
    nas num numa não nós os pela pelas pelo pelos quem sem seu seus suas são só também tem uma você à às é aan
    bij dan dat deze dit een haar heb hebben heeft het hij hun iets ik kan maar meer mijn moet naar niet nog
    nu om onder ook op tot uit veel voor waar wat wel werd wij wordt worden zal ze zich zij zijn zo zou
    """.split()  # noqa: SIM905  # one word a line would be a page
)
