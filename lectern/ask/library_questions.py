"""Recognises questions that no passage resembles: about the library itself, and about a page by its number.

They may be in English, German, French, Spanish or Chinese. A question about the library must match as a
whole, because "How many documents must I bring?" is about what the documents say.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal

from lectern.jobs.file_rows import FileRow
from ragcore.extractive.summary_requests import is_summary_request, topic_of
from ragcore.extractive.topic import KINDS
from ragcore.schema import Document
from ragcore.text.language import language_of

LibraryKind = Literal["all", "today", "week", "newest", "longest"]


@dataclass(frozen=True, slots=True)
class _Patterns:
    """Regular expressions of a language, in which FILES, FILE, HERE, HAVE and WHEN stand for these words.

    `every`: how many or which documents there are. `added`: since WHEN. `page`: a page by its LABEL, or the
    group "first" or "last", after or before a word "inside", with which the rest of a question is about the
    text of that page; the group "name" is of a sheet. `filler`: words of a question about the whole page.
    """

    files: str
    file: str
    here: str
    have: str
    every: str
    added: str
    today: str
    week: str
    newest: str
    longest: str
    page: str
    filler: str


_LANGUAGES = {
    "en": _Patterns(
        files="documents|files",
        file="document|file",
        here="here|now|right now|currently|in total|altogether|in all|loaded|uploaded|indexed|in lectern"
        "|in (?:the|my|our|this) (?:library|index|collection)",
        have="are there|are HERE|(?:do|have) (?:i|we|you) (?:have|got|uploaded|added)"
        "|did (?:i|we) (?:add|upload)",
        every="(?:how many|which|what) FILES HAVE(?: HERE)*"
        "|(?:list|show|name)(?: me)? (?:(?:all )?(?:of )?(?:my|our|your) FILES(?: HERE)*"
        "|all(?: the)? FILES(?: HERE)+)",
        added="(?:what|which FILES|how many FILES) (?:(?:was|were|has been|have been) (?:added|uploaded)"
        "|did (?:i|we) (?:add|upload)|have (?:i|we) (?:added|uploaded)) WHEN",
        today="today",
        week="this week",
        newest="(?:what|which)(?: is|['’]s) (?:the|my|our) (?:newest|latest|most recent(?:ly added)?) FILE"
        "(?: HERE)*|which FILE is (?:the )?(?:newest|latest|most recent)(?: one)?"
        "|(?:what|which FILE) (?:was (?:added|uploaded)|did (?:i|we) (?:add|upload)) (?:last|most recently)",
        longest="(?:what|which)(?: is|['’]s) (?:the|my|our) longest FILE(?: HERE)*"
        "|which FILE is (?:the )?longest(?: one)?",
        page=r"(?:\b(?P<inside>on|at|in|of|from|does) )?(?:the )?"
        r"(?:\b(?:page|slide) (?:number )?LABEL(?: say\b)?"
        r"|\b(?:(?P<first>first)|(?P<last>last)) (?:page|slide)\b|\b(?:work)?sheet NAME)",
        filler="what|what['’]?s|is|are|does|do|says?|said|there|written|stands?|printed|shown?|shows|contains?"
        "|reads?|stated|on|in|at|of|from|to|the|a|this|please|me|us|i|you|tell|give|quote|cite|display|go"
        "|contents?|text|exactly|and|now|can|could|see|find|documents?|file|pdf|deck|presentation|whole"
        "|entire|everything|all|about",
    ),
    "de": _Patterns(
        files="dokumente|dateien",
        file="dokument|datei",
        here="hier|da|jetzt|derzeit|gerade|insgesamt|vorhanden|geladen|hochgeladen|hinzugefügt|in lectern"
        "|in (?:der|meiner|unserer|dieser) (?:bibliothek|sammlung)",
        have="gibt es|habe ich|haben wir|hast du|haben sie|sind es|sind HERE",
        every="(?:wie ?viele|welche) FILES HAVE(?: HERE)*"
        "|(?:zeige?|nenne?|liste)(?: mir)?(?: bitte)?"
        " (?:(?:alle )?(?:meine|unsere) FILES(?: HERE)*|alle FILES(?: HERE)+)(?: auf)?",
        added="(?:was|(?:welche|wie ?viele) FILES) (?:wurden?|habe ich|haben wir|ist|sind) WHEN(?: neu)?"
        " (?:hinzugefügt|hochgeladen|hinzugekommen|dazugekommen)",
        today="heute",
        week="(?:in )?dieser? woche",
        newest="(?:(?:was|welche[rs]?) ist|wie heißt) (?:das|die|meine?|unsere?)"
        " (?:neu(?:e?ste)|aktuellste|zuletzt (?:hinzugefügte|hochgeladene)) FILE(?: HERE)*"
        "|welche[rs]? FILE (?:ist (?:am neu?esten|(?:das|die) neu?este)"
        "|(?:wurde|habe ich|haben wir) zuletzt (?:hinzugefügt|hochgeladen))",
        longest="(?:(?:was|welche[rs]?) ist|wie heißt) (?:das|die|meine?|unsere?) (?:längste|umfangreichste)"
        " FILE(?: HERE)*|welche[rs]? FILE ist (?:am (?:längsten|umfangreichsten)|(?:das|die) längste)",
        page=r"(?:\b(?P<inside>auf|in|von|aus|laut|sagt) )?(?:(?:der|die) )?(?:\b(?:seite|folie)"
        r" (?:nr\.? |nummer )?LABEL|\b(?:(?P<first>ersten?)|(?P<last>letzten?)) (?:seite|folie)\b"
        r"|\b(?:tabellen|arbeits)?blatt NAME)",
        filler="was|steht|stehen|stand|sagt|ist|es|auf|in|im|von|vom|aus|der|die|das|den|dem|des|dieser?"
        "|bitte|mir|uns|zeige?|zitiere?|nenne|gib|lies|inhalt|wortlaut|genau|und|jetzt|kannst|du|können|sie"
        "|ich|geschrieben|enthält|zu|dokuments?|datei|präsentation|gehe?|ganze[nr]?|alles|vor",
    ),
    "fr": _Patterns(
        files="documents|fichiers",
        file="document|fichier",
        here="ici|là|maintenant|actuellement|en tout|au total|chargés|ajoutés|importés|dans lectern"
        "|dans (?:la|ma|notre|cette) (?:bibliothèque|collection)",
        have="y a-t-il|il y a|ai-je|avons-nous|as-tu|avez-vous|est-ce (?:que j['’]ai|qu['’]il y a)|j['’]ai"
        "|sont HERE",
        every="combien (?:y a-t-il|ai-je|avons-nous|as-tu|avez-vous) de FILES(?: HERE)*"
        "|(?:combien de|quels) FILES HAVE(?: HERE)*|quels sont (?:mes|nos|tes|vos) FILES(?: HERE)*"
        "|(?:liste|montre|affiche)[rz]?(?:-moi)?"
        " (?:(?:tous )?(?:mes|nos|tes|vos) FILES(?: HERE)*|tous les FILES(?: HERE)+)",
        added="(?:qu['’]est-ce qui|(?:quels|combien de) FILES) (?:a|ont) été (?:ajoutés?|importés?) WHEN"
        "|(?:qu['’]|(?:quels|combien de) FILES )(?:ai-je|avons-nous) (?:ajoutés?|importés?) WHEN",
        today="aujourd['’]hui",
        week="cette semaine",
        newest="quel est (?:le|mon|notre) (?:FILE (?:le plus récent|ajouté en dernier)|plus récent FILE"
        "|dernier FILE (?:ajouté|importé))(?: HERE)*"
        "|quel FILE (?:est le plus récent|a été (?:ajouté|importé) en dernier)",
        longest="quel est (?:le|mon|notre) (?:FILE le plus long|plus long FILE)(?: HERE)*"
        "|quel FILE est le plus long",
        page=r"(?:\b(?P<inside>à|sur|de|dans|en|dit) )?(?:la )?(?:\b(?:page|diapo(?:sitive)?)"
        r" (?:n[°º] ?|numéro )?LABEL|\b(?:(?P<first>première)|(?P<last>dernière)) (?:page|diapo(?:sitive)?)\b"
        r"|\bfeuille NAME)",
        filler="que|qu|quoi|quel(?:le)?|est|ce|dit|contient|y|a|t|il|écrit|trouve|se|à|sur|dans|de|du|la|le"
        "|les|l|d|en|cette|s['’]il (?:te|vous) plaît|montre[rz]?|affiche[rz]?|cite[rz]?|donne[rz]?|lis|moi"
        "|contenu|texte|et|document|fichier|présentation|peux|tu|pouvez|vous|tout",
    ),
    "es": _Patterns(
        files="documentos|archivos|ficheros",
        file="documento|archivo|fichero",
        here="aquí|ahora|actualmente|en total|cargados|subidos|añadidos|agregados|en lectern"
        "|en (?:la|mi|nuestra|esta) (?:biblioteca|colección)",
        have="hay|tengo|tenemos|tienes|(?:he|hemos) (?:subido|añadido|agregado)|están HERE",
        every="(?:cu[aá]ntos|qu[eé]|cu[aá]les) FILES HAVE(?: HERE)*"
        "|cu[aá]les son (?:mis|nuestros|tus) FILES(?: HERE)*|(?:lista|enumera|muestra|muéstrame|enséñame)"
        " (?:(?:todos )?(?:mis|nuestros|tus) FILES(?: HERE)*|todos los FILES(?: HERE)+)",
        added="(?:qu[eé](?: FILES)?|cu[aá]ntos FILES) (?:(?:se han?|he|hemos) (?:añadido|agregado|subido)"
        "|se (?:añadi|agreg|sub)(?:ó|eron|aron|ieron)) WHEN",
        today="hoy",
        week="esta semana",
        newest="cu[aá]l es (?:el|mi|nuestro) (?:FILE más (?:reciente|nuevo)"
        "|último FILE (?:añadido|subido|agregado))(?: HERE)*|qu[eé] FILE es (?:el )?más (?:reciente|nuevo)",
        longest="cu[aá]l es (?:el|mi|nuestro) FILE más (?:largo|extenso)(?: HERE)*"
        "|qu[eé] FILE es (?:el )?más (?:largo|extenso)",
        page=r"(?:\b(?P<inside>en|de|dice) )?(?:la )?(?:\b(?:página|diapositiva) (?:n[°º.] ?|número )?LABEL"
        r"|\b(?:(?P<first>primera)|(?P<last>última)) (?:página|diapositiva)\b|\bhoja NAME)",
        filler="qu[eé]|dice|hay|pone|está|escrito|contiene|en|de|del|la|el|los|las|esta|este|muestra"
        "|muéstrame|cita|dame|lee|me|contenido|texto|y|documento|archivo|presentación|por favor|puedes"
        "|puede|se|todo|aparece|cu[aá]l|es",
    ),
    "zh": _Patterns(
        files="文件|文档|文檔",
        file="文件|文档|文檔",
        here="这里|这儿|库[里中]|文档库[里中]?|现在|目前|总共|一共|共",
        have="有|上传了|添加了",
        every="(?:我们?|你|您|HERE)*HAVE(?:多少|几|哪些|什么)[个份篇]?FILES|FILES(?:HERE)*有(?:多少|几)[个份篇]"
        "|(?:列出|显示)(?:所有|全部)?我们?的(?:所有|全部)?FILES",
        added="WHEN我?们?(?:添加|上传|新增|加入)了(?:哪些|什么|多少|几)[个份篇]?FILES?",
        today="今天",
        week="本周|这周|这个?星期",
        newest="最(?:新|近添加)的(?:一?[个份篇])?FILES是(?:哪一?[个份篇]?|什么)|哪一?[个份篇]FILES是?最新的?",
        longest="最长的(?:一?[个份篇])?FILES是(?:哪一?[个份篇]?|什么)|哪一?[个份篇]FILES是?最长的?",
        page=r"(?:第\s*(?P<label>\d{1,4})\s*(?:[页頁]|张幻灯片)|(?P<first>第一(?:页|张幻灯片)|首页)"
        r"|(?P<last>最后一(?:页|张幻灯片)|末页)|工作表\s*NAME)(?P<inside>上|中|里|的|关于|对)?",
        filler="请问?|告诉我|显示|引用|朗?读|一下|上面?|中|里面?|的|内容|文字|原文|全文|有|是|[写说讲]了?|些"
        "|什么|哪些|了|在|那|呢|和|把|给我|看看?|文件|文档|这|该",
    ),
}
_LEAD = (
    r"\W*(?:(?:please|so|and|ok(?:ay)?|hi|hello|(?:can you )?tell me|bitte|und|sag mir|et|dis-moi|y|por favor"
    r"|dime)\b[\s,:]*|请问?|那么?)*[¿¡\s]*"
)
_TRAIL = r"(?:[\s,]*(?:please|bitte|s['’]il (?:te|vous) plaît|por favor))?\W*"
# Only one page: "page 3-5" and "page 3 and 4" are several.
_LABEL = (
    r"(?P<label>\d{1,4}[a-z]?|(?-i:[ivxlc]{2,7}))\b(?![.,]?\d)"
    r"(?!\s*(?:[-–,/&]|to|and|or|bis|und|oder|à|et|ou|y|o)\s*\d)"
)
_NAME = r"(?:[\"“„«'](?P<quoted>[^\"”“»']+)[\"”“»']|(?P<name>\w+))"


def _compile(patterns: _Patterns, pattern: str, when: str = "") -> re.Pattern[str]:
    """The pattern of a whole question, with the words of its language."""
    for word, expression in (
        ("HAVE", patterns.have),
        ("HERE", patterns.here),
        ("FILES", patterns.files),
        ("FILE", patterns.file),
        ("WHEN", when),
    ):
        pattern = pattern.replace(word, f"(?:{expression})")
    return re.compile(f"{_LEAD}(?:{pattern}){_TRAIL}", re.IGNORECASE)


_KINDS: list[tuple[LibraryKind, str, re.Pattern[str]]] = []
for _language, _patterns in _LANGUAGES.items():
    _KINDS += [
        ("all", _language, _compile(_patterns, _patterns.every)),
        ("today", _language, _compile(_patterns, _patterns.added, _patterns.today)),
        ("week", _language, _compile(_patterns, _patterns.added, _patterns.week)),
        ("newest", _language, _compile(_patterns, _patterns.newest)),
        ("longest", _language, _compile(_patterns, _patterns.longest)),
    ]
_PAGES = {
    language: re.compile(patterns.page.replace("LABEL", _LABEL).replace("NAME", _NAME), re.IGNORECASE)
    for language, patterns in _LANGUAGES.items()
}
_SPACED = "|".join(patterns.filler for language, patterns in _LANGUAGES.items() if language != "zh")
_DOCUMENT = re.compile(  # "of the contract"
    r"\b(?:(?:of|in|from|von|in|aus|de|dans|en) (?:the|this|my|our|der|dem|la|l['’]|el|mi|nuestr[oa])"
    rf"|des|der|im|du|del)\s*(?:hand)?{KINDS}s?\b",
    re.IGNORECASE,
)
_FILLER = re.compile(rf"\b(?:{_SPACED})\b|{_LANGUAGES['zh'].filler}", re.IGNORECASE)


def find_library_question(question: str) -> tuple[LibraryKind, str] | None:
    """What is asked about the library, and the language of the question; None for any other question.

    >>> find_library_question("How many documents are there?")
    ('all', 'en')
    >>> find_library_question("How many documents must I bring?")
    """
    text = " ".join(question.split())
    return next(((kind, language) for kind, language, pattern in _KINDS if pattern.fullmatch(text)), None)


@dataclass(frozen=True, slots=True)
class LocationQuestion(ABC):
    """A question with a place in documents. `remainder`: the question without it."""

    is_inside: bool  # whether the rest of the question is about the text of that place
    remainder: str
    language: str

    @property
    def wants_summary(self) -> bool:
        return is_summary_request(_FILLER.sub(" ", self.remainder))

    def wants_text(self, names: Iterable[str]) -> bool:
        """Whether the question is for the whole text of the place. `names` are of files that it names."""
        rest = self.remainder
        for name in names:
            spoken = f"{re.escape(name)}|{re.escape(PurePath(name).stem)}"
            rest = re.sub(spoken, " ", rest, flags=re.IGNORECASE)
        rest = _FILLER.sub(" ", _DOCUMENT.sub(" ", rest))
        return not (is_summary_request(rest) or re.search(r"\w", topic_of(rest)))

    def may_be_in(self, file: FileRow) -> bool:
        """Whether the file can have such a place at all."""
        return True

    def is_exact(self, document: Document) -> bool:
        """Whether what it finds in the document is called as in the question."""
        return True

    @abstractmethod
    def find(self, document: Document) -> list[tuple[int, int]]:
        """The (start, end) of the place in the text, in order; [] if it is not there."""


@dataclass(frozen=True, slots=True)
class PageQuestion(LocationQuestion):
    """A question with a page, slide or sheet. `label` is its printed number or its name; the first and the
    last page have no label, but the `index` 0 or -1."""

    label: str
    index: int | None
    is_sheet: bool

    def may_be_in(self, file: FileRow) -> bool:
        words = ("sheet",) if self.is_sheet else ("page", "slide")
        return file.pages > 0 and file.page_word in words

    def find(self, document: Document) -> list[tuple[int, int]]:
        pages = document.pages
        if self.index is not None:
            found = pages[self.index :][:1]
        else:
            found = tuple(page for page in pages if page.label.casefold() == self.label.casefold())[:1]
        return [(page.start, page.end) for page in found]


def find_page_question(question: str) -> PageQuestion | None:
    """The page that the question is about; None if it names no page, or several.

    >>> asked = find_page_question("What does page 3 of lease.pdf say?")
    >>> asked.label, asked.wants_text(["lease.pdf"])
    ('3', True)
    """
    found = {language: list(pattern.finditer(question)) for language, pattern in _PAGES.items()}
    matches = {language: pages[0] for language, pages in found.items() if pages}
    if not matches or any(len(pages) > 1 for pages in found.values()):
        return None
    language = language_of(question)
    language = language if language in matches else next(iter(matches))
    groups = matches[language].groupdict()
    name = groups.get("quoted") or groups.get("name")
    index = {"first": 0, "last": -1}.get(next((end for end in ("first", "last") if groups[end]), ""))
    return PageQuestion(
        label=groups.get("label") or name or "",
        index=index,
        is_sheet=name is not None,
        is_inside=groups["inside"] is not None,
        remainder=" ".join(_PAGES[language].sub(" ", question).split()),
        language=language,
    )
