"""Recognises questions about a part of a document: "What does chapter 3 say?", "clause 8", "the section on
parking", "What did Ida answer?"; in English, German, French, Spanish and Chinese."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from lectern.ask.library_questions import LocationQuestion, find_page_question
from ragcore.extractive.topic import KINDS
from ragcore.schema import Document
from ragcore.structure.outline import (
    NUMBER,
    NUMBER_WORDS,
    WORDS,
    Section,
    find_last,
    find_numbered,
    has_kind,
    kind_of,
    outline_of,
    read_number,
)
from ragcore.text.keywords import content_words
from ragcore.text.language import language_of
from ragcore.text.turns import turns_of

MAX_ALIKE = 3  # sections with the same number in one document; of more, it is unclear which is meant
CACHED_OUTLINES = 64

_ONE = r"(?!\s*(?:[-–,/&]|to|and|or|bis|und|oder|à|et|ou|y|o)\s*\d)(?![.,]?\d|\s?%)"  # and not "3 and 4"
_INSIDE = {
    "en": "in|of|from|under|at|to|does|per|by",
    "de": "in|im|von|aus|laut|nach|gemäß|unter|sagt|zu",
    "fr": "à|dans|de|du|selon|dit|sous|au",
    "es": "en|de|del|según|dice|al",
}
_ARTICLE = "the|das|der|die|dem|den|des|le|la|l['’]|el"
_LAST = {"en": "last|final", "de": "letzte[nrsm]?", "fr": "derni(?:er|ère)", "es": "últim[oa]"}
_TITLED = {
    "en": "(?:on|about|called|titled|entitled|named)",
    "de": "(?:über|zum|zur|zu|namens|mit dem titel)",
    "fr": "(?:sur|intitulée?|consacrée? à)",
    "es": "(?:sobre|titulad[oa]|llamad[oa])",
}
_NOT_OF_LIFE = (  # "in chapter 3 of my life"
    r"(?!\s+(?:(?:of|in|from|von|de) (?:my|your|our|his|her|their|mein|dein|ma|mon|ta|sa|notre|mi|tu|su)"
    rf"|(?:mein|dein|sein|ihr|unser)e[rs])\w*\s(?!{KINDS}))"
)
_SAYS = r"(?=\s+(?:say|state|read)s?\b|\s*[?.!]?\s*$)"
_QUOTED = r"[\"“„«](?P<quoted>[^\"”“»]+)[\"”“»]"


def _pattern(language: str) -> re.Pattern[str]:
    words = "|".join(WORDS[language].values())
    if language == "zh":
        ordinals = "|".join(other for kind, other in WORDS["zh"].items() if kind != "appendix")
        return re.compile(
            rf"(?:第\s*(?P<number>\d{{1,3}}|[一二三四五六七八九十]{{1,3}})\s*(?P<word>{ordinals})"
            rf"|最后一个?(?P<last>章|条|节|部分)|(?P<annex>{WORDS['zh']['appendix']})\s*(?P<letter>[A-Z\d])"
            rf"|{_QUOTED}(?:这?一?)(?P<named>章|节|部分))(?P<inside>中|里|的|关于|对)?"
        )
    return re.compile(
        rf"(?:\b(?P<inside>{_INSIDE[language]})\s+)?(?:\b(?:{_ARTICLE})\s*)?"
        rf"(?:(?<!\w)(?P<word>{words})\s*(?:(?:number|nummer|numéro|número|n[or°º]\.?)\s)?"
        rf"(?:(?<=\W)|(?<=§))(?P<number>(?-i:{NUMBER}|[ivx]{{2,5}}\b)|(?:{NUMBER_WORDS})\b){_ONE}"
        rf"|\b(?P<ordinal>{NUMBER_WORDS}|\d{{1,2}}(?:st|nd|rd|th|e|º|ª|\.))\s+(?P<numbered>{words})\b(?!\s\d)"
        rf"|\b(?:{_LAST[language]})\s+(?P<last>{words})\b"
        rf"|\b(?P<named>{words})\s+(?:{_TITLED[language]}\s+)?{_QUOTED}"
        rf"|\b(?P<titled>{words})\s+{_TITLED[language]}\s+(?:(?:{_ARTICLE})\s*)?(?P<title>\w[^?.!,]*?){_SAYS}){_NOT_OF_LIFE}",
        re.IGNORECASE,
    )


_NAMES_OF_KIND = ("word", "numbered", "last", "named", "titled", "annex")
_ORDINAL_END = re.compile(r"(?<=\d)(?:st|nd|rd|th|e|º|ª|\.)$")
_SECTIONS = {language: _pattern(language) for language in WORDS}
_WORDS_OF_NAME = r"[^\W\d_](?:[^\W\d_]|[.'’ -]){0,40}?"
_NAME = rf"(?P<name>{_WORDS_OF_NAME})"
_SPEAKERS = {
    "en": rf"what (?:did|does|has) {_NAME} (?:say|said|answer|answered|reply|replied|write|written|respond)",
    "de": rf"was (?:hat {_NAME} (?:gesagt|geantwortet|geschrieben|erwidert)"
    rf"|(?:sagte?|sagt|antwortete?|schrieb|schreibt) (?P<name2>{_WORDS_OF_NAME}))",
    "fr": rf"(?:qu['’]est-ce que {_NAME} a (?:dit|répondu|écrit)"
    rf"|qu['’]a (?:dit|répondu|écrit) (?P<name2>{_WORDS_OF_NAME}))",
    "es": rf"qu[eé] (?:dijo|ha dicho|dice|respondió|ha respondido|contestó|escribió) {_NAME}",
    "zh": rf"{_NAME}(?:说|回答|回复|写)了?(?:什么|些什么)",
}
_WHOLE_SPEAKERS = {
    language: re.compile(rf"\W*(?:{pattern})\W*", re.IGNORECASE) for language, pattern in _SPEAKERS.items()
}


@dataclass(frozen=True, slots=True)
class SectionQuestion(LocationQuestion):
    """A question with a section: of a `kind` (see WORDS) and a `number`, the last one, or with a title.
    `words` are what the question calls it."""

    kind: str
    number: str
    title: str
    words: str

    def find(self, document: Document) -> list[tuple[int, int]]:
        return [(section.start, section.end) for section in self._sections(document)]

    def is_exact(self, document: Document) -> bool:
        return all(section.kind == self.kind for section in self._sections(document))

    def _sections(self, document: Document) -> list[Section]:
        sections = _outline(document.text)
        if self.number:
            found = find_numbered(sections, self.kind, self.number)
        elif self.title:
            found = [section for section in sections if _is_titled(section, self.title)]
        else:
            found = find_last(sections, self.kind)
        return found if len(found) <= MAX_ALIKE else []

    def is_missing(self, document: Document) -> bool:
        """Whether a document without this section has other numbered ones of its kind."""
        return bool(self.number) and has_kind(_outline(document.text), self.kind)

    def is_mentioned(self, document: Document) -> bool:
        """Whether its text speaks of it."""
        return re.search(rf"{re.escape(self.words)}(?![\w.]*\d)", document.text, re.IGNORECASE) is not None


@dataclass(frozen=True, slots=True)
class SpeakerQuestion(LocationQuestion):
    """A question for all that a person said in a conversation."""

    name: str

    def find(self, document: Document) -> list[tuple[int, int]]:
        name = self.name.casefold().rstrip(".")
        spans = []
        for turn in turns_of(document.text):
            speaker = turn.speaker.casefold().rstrip(".")
            if name == speaker or name in speaker.split():
                spans.append((turn.start, turn.end))
        return spans


def find_location_question(question: str) -> LocationQuestion | None:
    """The page, section or speaker that the question is about; None if it names none, or several.

    >>> asked = find_location_question("What does clause 8 of the contract say?")
    >>> asked.words, asked.wants_text([])
    ('clause 8', True)
    """
    return find_page_question(question) or _find_section(question) or _find_speaker(question)


def _find_section(question: str) -> SectionQuestion | None:
    found = {language: list(pattern.finditer(question)) for language, pattern in _SECTIONS.items()}
    matches = {language: sections[0] for language, sections in found.items() if sections}
    if not matches or any(len(sections) > 1 for sections in found.values()):
        return None
    # The longest, because "section" is a word of two languages.
    likely = language_of(question)
    language, match = max(matches.items(), key=lambda item: (len(item[1][0]), item[0] == likely))
    groups = {name: words for name, words in match.groupdict().items() if words and name != "inside"}
    number = groups.get("number") or groups.get("letter") or groups.get("ordinal") or ""
    word = next(words for name, words in groups.items() if name in _NAMES_OF_KIND)
    start = min(map(match.start, groups)) - (language == "zh" and "number" in groups)
    return SectionQuestion(
        is_inside=match["inside"] is not None,
        remainder=" ".join(f"{question[: match.start()]} {question[match.end() :]}".split()),
        language=language,
        kind=kind_of(word),
        number=read_number(_ORDINAL_END.sub("", number)) if number else "",
        title=(groups.get("quoted") or groups.get("title") or "").strip(),
        words=question[start : max(map(match.end, groups))],
    )


def _find_speaker(question: str) -> SpeakerQuestion | None:
    text = " ".join(question.split())
    for language, pattern in _WHOLE_SPEAKERS.items():
        if match := pattern.fullmatch(text):
            name = match["name"] or match.groupdict().get("name2")
            return SpeakerQuestion(is_inside=False, remainder="", language=language, name=str(name).strip())
    return None


def _is_titled(section: Section, title: str) -> bool:
    """Whether it has this title, or another with the same words."""
    if not section.is_titled or not section.title:
        return False
    same_words = set(content_words(section.title)) == set(content_words(title)) != set()
    return same_words or section.title.casefold() == title.casefold()


@lru_cache(maxsize=CACHED_OUTLINES)
def _outline(text: str) -> Sequence[Section]:
    return outline_of(text)
