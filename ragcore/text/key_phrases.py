"""Key phrases of a text in its own spelling: keywords, a title, and other wordings of a question."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from ragcore.text.keywords import content_words
from ragcore.text.quotable_sentences import quotes_in
from ragcore.text.quotable_units import MAX_HEADING

_TOKEN = re.compile(r"[^\W_][^\s.,;:!?()\[\]{}<>\"“”„«»|/\\*#=+…。，、；：！？「」]*(?<=\w)")
_SAME_LINE = re.compile(r"[ \t]")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_HEADING_MARKS = re.compile(r"^[#\s]+|[\s*]+$")
_WEAK = frozenset(
    """
    able almost always another anything around away back bad become best better big came come day days
    different done early easy end enough even ever every everyone everything far feel felt find first found
    gave get gets getting give go goes going gone good got great hard high idea kind knew know known last
    later least left less life like little live long look lot made make makes making maybe mean might need
    never new next nothing now number often old one ones part people per place point put quite real really
    right said saw say says second see seem seemed seems several since small someone something sometimes soon
    start started still sure take taken taking talk thing things think thought three time times today took
    tried try trying turned two use used using usually want wanted way ways well went whole without word words
    work worked working world would write year years yet
    """.split()  # noqa: SIM905  # one word a line would be a page
)
MAX_ABBREVIATION = 5  # letters
TITLE_WORDS = 3  # keywords of a title, where a text has no heading


def keywords(text: str, most: int) -> list[str]:
    """At most `most` names and frequent words, the best first, in their first spelling, without stop words.

    Of scripts without spaces they are pairs of characters, as keyword search compares them.

    >>> keywords("Maria Silva chairs the board. The board thanks Maria Silva.", 2)
    ['Maria Silva', 'board']
    """
    spelling: dict[tuple[str, ...], str] = {}
    counts: Counter[tuple[str, ...]] = Counter()
    for phrase in _phrases(text):
        stems = tuple(content_words(phrase))
        spelling.setdefault(stems, phrase)
        counts[stems] += 1

    def weight(stems: tuple[str, ...]) -> float:
        return counts[stems] * (1 + 0.75 * (len(stems) - 1) if is_distinctive(spelling[stems]) else 0.2)

    best = sorted(spelling, key=weight, reverse=True)  # stable: first seen first
    return [spelling[stems] for stems in best[: max(most, 0)]]


def is_distinctive(phrase: str) -> bool:
    """Whether the phrase is neither a number nor a word that is frequent in texts of any kind."""
    return not phrase.isdigit() and phrase.lower() not in _WEAK


def in_ordinary_case(phrase: str, text: str) -> str:
    """A phrase in capitals, with each word as `text` spells it elsewhere, or in small letters. A single short
    word may be an abbreviation and stays."""
    if not phrase.isupper() or len(phrase) <= MAX_ABBREVIATION:
        return phrase
    # small letters last: they may begin a sentence too
    words = sorted(set(re.findall(r"[^\W\d_]+", text)), key=str.islower)
    usual = {word.upper(): word for word in words if not word.isupper()}
    spelt = re.sub(r"[^\W\d_]+", lambda word: usual.get(word.group(), word.group().lower()), phrase)
    return spelt[:1].upper() + spelt[1:] if phrase.endswith("?") else spelt


def _phrases(text: str) -> Iterator[str]:
    """Names of several words as one phrase, and every other content word."""
    name = 0  # start of the current name
    end = -1  # its end; -1 without a name
    for match in _TOKEN.finditer(text):
        word = match.group()
        if _UNSPACED.search(word):
            yield from content_words(word)
            continue
        is_name = word[0].isupper() and bool(content_words(word))
        if is_name and end >= 0 and _SAME_LINE.fullmatch(text[end : match.start()]):
            end = match.end()
            continue
        if end >= 0:
            yield text[name:end]
            end = -1
        if is_name:
            name, end = match.span()
        elif content_words(word) and (len(word) > 1 or word.isdigit()):
            yield word
    if end >= 0:
        yield text[name:end]


def title(text: str) -> str:
    """The heading that `text` begins with, or else its best keywords; "" if it has none."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    heading = _HEADING_MARKS.sub("", first)
    lead = next((quote.lead for quote in quotes_in(text, number=0)), "")
    leads = first.lstrip().startswith("#") or (lead and lead.startswith(" ".join(heading.split())))
    if heading and len(heading.split()) <= MAX_HEADING and leads:
        return heading
    return ", ".join(keywords(text, TITLE_WORDS))


def rephrase(question: str, most: int) -> list[str]:
    """At most `most` other search texts for the question; the question itself if there are none."""
    bare = question.strip(" ?？¿!.")
    words = bare.split()
    start = next((at for at, word in enumerate(words) if content_words(word)), 0)
    distinctive = [match.group() for match in _TOKEN.finditer(bare) if content_words(match.group())]
    names = [word for word in distinctive[1:] if word[0].isupper() or word[0].isdigit()]
    ways = (" ".join(distinctive), " ".join(words[start:]), bare, " ".join(names))
    return [way for way in dict.fromkeys(ways) if way and way != question][: max(most, 0)] or [question]
