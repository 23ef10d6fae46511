"""Answers that need no language model and no search: which documents there are, what is on a page or below a
heading, and what somebody said."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from lectern.ask.asked_documents import asked_files
from lectern.ask.library_questions import (
    LibraryKind,
    LocationQuestion,
    PageQuestion,
    find_library_question,
)
from lectern.ask.section_questions import SectionQuestion, find_location_question
from lectern.jobs.file_rows import FileRow
from lectern.jobs.files import Files
from lectern.schema import Ask
from ragcore.errors import UnknownDocumentError
from ragcore.extractive.quoter import in_pieces
from ragcore.extractive.summary import escape_name, heading_of
from ragcore.extractive.topic import quoted_names
from ragcore.observe import start, stream_in
from ragcore.response_synthesizers.answer import AnswerStream
from ragcore.schema import Document, NodeWithScore, Outcome, TextNode, Value
from ragcore.text.citations import MARKS
from ragcore.text.document_versions import READ_CHARS, Version, are_versions, newest_first, read_version
from ragcore.vector_stores.base import Store

MAX_NAMES = 50  # listed file names
MAX_DOCUMENTS = 3  # whose pages are quoted
MAX_CHARS = 3000  # of all quoted pages together
MAX_OUTLINES = 300  # documents whose text is searched for a heading or a speaker
VAGUE_KINDS = ("part", "paragraph", "point")  # words that need not mean a numbered part of a document
_LINE_END = re.compile(r"(?<!\n)\n(?!\n)")  # Markdown would join the lines


@dataclass(frozen=True, slots=True)
class _Wordings:
    """The replies in one language. Those of no, one and several documents are a tuple."""

    all: tuple[str, str, str]
    today: tuple[str, str, str]
    week: tuple[str, str, str]
    more: str
    newest: str
    longest: str
    separator: str  # of thousands
    pages: tuple[str, str]  # of one page, and of several
    slides: tuple[str, str]
    no_pages: str
    no_text: str
    no_section: tuple[str, str]  # in one document, and in none of several
    several: str
    many: str
    cut: str


_WORDINGS: Mapping[str, _Wordings] = {
    "en": _Wordings(
        all=("There are no documents.", "1 document.", "{count} documents."),
        today=(
            "No document was added today.",
            "1 document was added today.",
            "{count} documents were added today.",
        ),
        week=(
            "No document was added this week.",
            "1 document was added this week.",
            "{count} documents were added this week.",
        ),
        more="and {count} more",
        newest="The newest document is {name}, added on {date}.",
        longest="The longest document is {name}, with {count} characters of text.",
        separator=",",
        pages=("{name} has 1 page.", "{name} has {count} pages."),
        slides=("{name} has 1 slide.", "{name} has {count} slides."),
        no_pages="{name} was read without page numbers.",
        no_text="This page of {name} has no text that could be read.",
        no_section=("{name} has no {words}.", "None of the {count} documents has {words}."),
        several="Found in {count} documents.",
        many="Found in several documents. Here are {count} of them; for another one, name the file.",
        cut="This is only the beginning.",
    ),
    "de": _Wordings(
        all=("Es gibt keine Dokumente.", "1 Dokument.", "{count} Dokumente."),
        today=(
            "Heute wurde kein Dokument hinzugefügt.",
            "Heute wurde 1 Dokument hinzugefügt.",
            "Heute wurden {count} Dokumente hinzugefügt.",
        ),
        week=(
            "Diese Woche wurde kein Dokument hinzugefügt.",
            "Diese Woche wurde 1 Dokument hinzugefügt.",
            "Diese Woche wurden {count} Dokumente hinzugefügt.",
        ),
        more="und {count} weitere",
        newest="Das neueste Dokument ist {name}, hinzugefügt am {date}.",
        longest="Das längste Dokument ist {name} mit {count} Zeichen Text.",
        separator=".",
        pages=("{name} hat 1 Seite.", "{name} hat {count} Seiten."),
        slides=("{name} hat 1 Folie.", "{name} hat {count} Folien."),
        no_pages="{name} wurde ohne Seitenzahlen gelesen.",
        no_text="Diese Seite von {name} hat keinen lesbaren Text.",
        no_section=(
            "In {name} gibt es „{words}“ nicht.",
            "In keinem der {count} Dokumente gibt es „{words}“.",
        ),
        several="In {count} Dokumenten gefunden.",
        many="In mehreren Dokumenten gefunden. Hier sind {count}; für ein anderes nennen Sie die Datei.",
        cut="Das ist nur der Anfang.",
    ),
    "fr": _Wordings(
        all=("Il n’y a aucun document.", "1 document.", "{count} documents."),
        today=(
            "Aucun document n’a été ajouté aujourd’hui.",
            "1 document a été ajouté aujourd’hui.",
            "{count} documents ont été ajoutés aujourd’hui.",
        ),
        week=(
            "Aucun document n’a été ajouté cette semaine.",
            "1 document a été ajouté cette semaine.",
            "{count} documents ont été ajoutés cette semaine.",
        ),
        more="et {count} de plus",
        newest="Le document le plus récent est {name}, ajouté le {date}.",
        longest="Le document le plus long est {name}, avec {count} caractères de texte.",
        separator="\N{NARROW NO-BREAK SPACE}",
        pages=("{name} a 1 page.", "{name} a {count} pages."),
        slides=("{name} a 1 diapositive.", "{name} a {count} diapositives."),
        no_pages="{name} a été lu sans numéros de page.",
        no_text="Cette page de {name} n’a pas de texte lisible.",
        no_section=("{name} n’a pas de « {words} ».", "Aucun des {count} documents n’a de « {words} »."),
        several="Trouvé dans {count} documents.",
        many="Trouvé dans plusieurs documents. En voici {count} ; pour un autre, nommez le fichier.",
        cut="Ce n’est que le début.",
    ),
    "es": _Wordings(
        all=("No hay documentos.", "1 documento.", "{count} documentos."),
        today=(
            "Hoy no se ha añadido ningún documento.",
            "Hoy se ha añadido 1 documento.",
            "Hoy se han añadido {count} documentos.",
        ),
        week=(
            "Esta semana no se ha añadido ningún documento.",
            "Esta semana se ha añadido 1 documento.",
            "Esta semana se han añadido {count} documentos.",
        ),
        more="y {count} más",
        newest="El documento más reciente es {name}, añadido el {date}.",
        longest="El documento más largo es {name}, con {count} caracteres de texto.",
        separator=".",
        pages=("{name} tiene 1 página.", "{name} tiene {count} páginas."),
        slides=("{name} tiene 1 diapositiva.", "{name} tiene {count} diapositivas."),
        no_pages="{name} se ha leído sin números de página.",
        no_text="Esta página de {name} no tiene texto legible.",
        no_section=("{name} no tiene «{words}».", "Ninguno de los {count} documentos tiene «{words}»."),
        several="Encontrado en {count} documentos.",
        many="Encontrado en varios documentos. Estos son {count}; para otro, nombre el archivo.",
        cut="Este es solo el principio.",
    ),
    "zh": _Wordings(
        all=("没有文档。", "1 个文档。", "{count} 个文档。"),
        today=("今天没有添加文档。", "今天添加了 1 个文档。", "今天添加了 {count} 个文档。"),
        week=("本周没有添加文档。", "本周添加了 1 个文档。", "本周添加了 {count} 个文档。"),
        more="还有 {count} 个",
        newest="最新的文档是 {name}，添加于 {date}。",
        longest="最长的文档是 {name}，共 {count} 个字符。",
        separator=",",
        pages=("{name} 有 1 页。", "{name} 有 {count} 页。"),
        slides=("{name} 有 1 张幻灯片。", "{name} 有 {count} 张幻灯片。"),
        no_pages="{name} 读取时没有页码。",
        no_text="{name} 的这一页没有可读的文字。",
        no_section=("{name} 中没有“{words}”。", "{count} 个文档中都没有“{words}”。"),
        several="在 {count} 个文档中找到。",
        many="在多个文档中找到。这里是其中 {count} 个；要看其他文档，请说出文件名。",
        cut="这只是开头。",
    ),
}


@dataclass(frozen=True, slots=True)
class LibraryReply:
    """A finished answer; [n] in its text is `nodes[n - 1]`."""

    text: str
    outcome: Outcome = "answer"
    nodes: tuple[TextNode, ...] = ()


@dataclass(frozen=True, slots=True)
class _FoundLocation:
    """A place in a document. `passages` are cut at its beginning and end."""

    name: str
    document: Document
    passages: list[TextNode]
    version: Version


@dataclass(frozen=True, slots=True)
class _AskedLocation:
    """The place of a question, in the documents that have it; a page in up to MAX_DOCUMENTS + 1.

    `files`: where it was looked for. `missing`: the names of documents that have such places, but not
    this one, if no document speaks of it.
    """

    question: LocationQuestion
    wants_text: bool
    files: list[FileRow]
    found: list[_FoundLocation]
    missing: list[str]


def reply_from_library(
    ask: Ask, files: Files, store: Store, *, now: datetime | None = None
) -> LibraryReply | None:
    """The reply to a question about the library, or for the text of a page or section; None for any other
    question."""
    if ask.reading != "best" or ask.node_ids is not None or not (ask.reads_documents and ask.writes):
        return None
    if asked := find_library_question(ask.question):
        kind, language = asked
        return _describe_files(
            kind, asked_files(files, ask), store, _WORDINGS[language], now or datetime.now()
        )
    location = _find_location(ask, files, store)
    return _quote_location(location) if location is not None else None


def passages_of_location(ask: Ask, files: Files, store: Store) -> list[TextNode]:
    """The passages of the page or section that the question is about; none if it is about no such place, or
    about something in a place that many documents have."""
    if ask.reading != "best" or ask.node_ids is not None:
        return []
    location = _find_location(ask, files, store)
    if location is None or (len(location.found) > MAX_DOCUMENTS and not location.wants_text):
        return []
    return [node for found in location.found[:MAX_DOCUMENTS] for node in found.passages]


def stream_reply(ask: Ask, reply: LibraryReply) -> AnswerStream:
    """The reply as an answer, with a trace that notes its outcome.

    >>> answer = stream_reply(Ask("Which files do I have?"), LibraryReply("There are no documents."))
    >>> str(answer), answer.outcome
    ('There are no documents.', 'answer')
    """
    step = start("query", question=ask.question, engine="library", outcome=reply.outcome)
    pieces = stream_in(step, (piece for piece in in_pieces(reply.text)))
    return AnswerStream(pieces, [NodeWithScore(node) for node in reply.nodes], trace=step)


def _describe_files(
    kind: LibraryKind, files: Sequence[FileRow], store: Store, wordings: _Wordings, now: datetime
) -> LibraryReply:
    if not files or kind == "all":
        return LibraryReply(_list(files, wordings.all, wordings))
    if kind == "newest":
        newest = max(files, key=lambda file: file.added)
        date = datetime.fromtimestamp(newest.added).date().isoformat()
        return LibraryReply(wordings.newest.format(name=escape_name(newest.name), date=date))
    if kind == "longest":
        characters = {document.id_: document.characters for document in store.documents()}
        longest = max(files, key=lambda file: characters.get(file.id, 0))
        count = f"{characters.get(longest.id, 0):,}".replace(",", wordings.separator)
        return LibraryReply(wordings.longest.format(name=escape_name(longest.name), count=count))
    since = now.replace(hour=0, minute=0, second=0, microsecond=0)
    if kind == "week":
        since -= timedelta(days=since.weekday())
    added = [file for file in files if file.added >= since.timestamp()]
    return LibraryReply(_list(added, wordings.week if kind == "week" else wordings.today, wordings))


def _list(files: Sequence[FileRow], sentences: tuple[str, str, str], wordings: _Wordings) -> str:
    """The number of files, and their names."""
    names = [f"- {escape_name(file.name)}" for file in files[:MAX_NAMES]]
    if len(files) > MAX_NAMES:
        names.append(f"- {wordings.more.format(count=len(files) - MAX_NAMES)}")
    sentence = sentences[min(len(files), 2)].format(count=len(files))
    return "\n\n".join([sentence, "\n".join(names)]).strip()


def _find_location(ask: Ask, files: Files, store: Store) -> _AskedLocation | None:
    """None if the question is about no place, or about something else than the text of one."""
    question = find_location_question(ask.question)
    if question is None:
        return None
    chosen = asked_files(files, ask)
    named = quoted_names(question.remainder, {file.name for file in chosen})
    wants_text = question.wants_text(named)
    if not (wants_text or question.wants_summary or question.is_inside):
        return None
    chosen = [file for file in chosen if not named or file.name in named]
    if len(chosen) > MAX_OUTLINES and not isinstance(question, PageQuestion):
        return None
    found: list[_FoundLocation] = []
    missing: list[str] = []
    is_mentioned = False
    for file in chosen:
        if not question.may_be_in(file):
            continue
        with suppress(UnknownDocumentError):  # deleted meanwhile
            document = store.document(file.id)
            if spans := question.find(document):
                passages = _cut_passages(document, list(store.passages(file.id)), spans)
                version = read_version(file.name, document.text[:READ_CHARS], file.added)
                found.append(_FoundLocation(file.name, document, passages, version))
            elif isinstance(question, SectionQuestion):
                missing += [file.name] if question.is_missing(document) else []
                is_mentioned = is_mentioned or question.is_mentioned(document)
        if len(found) > MAX_DOCUMENTS and isinstance(question, PageQuestion):
            break
    versions = [location.version for location in found]
    found.sort(key=lambda location: _is_older(location.version, versions))
    exact = [location for location in found if question.is_exact(location.document)]
    return _AskedLocation(question, wants_text, chosen, exact or found, [] if is_mentioned else missing)


def _is_older(version: Version, versions: Sequence[Version]) -> bool:
    """Whether a newer version of the same document is among them."""
    family = [other for other in versions if are_versions(version, other)]
    return newest_first([version, *family])[0] is not version


def _cut_passages(
    document: Document, passages: Sequence[TextNode], spans: Iterable[tuple[int, int]]
) -> list[TextNode]:
    """The parts of the passages that are in the spans."""
    parts = []
    for first, last in spans:
        for node in passages:
            start, end = max(node.start_char_idx or 0, first), min(node.end_char_idx or 0, last)
            text = document.text[start:end]
            if text.strip():
                metadata = {**node.metadata, **_page_of(document, start)}
                parts.append(
                    replace(node, text=text, start_char_idx=start, end_char_idx=end, metadata=metadata)
                )
    return parts


def _page_of(document: Document, start: int) -> dict[str, Value]:
    """The metadata of the page at this place; empty without pages."""
    page = document.page_at(start)
    return {} if page is None else {"page_label": page.label, "page_index": document.pages.index(page)}


def _quote_location(location: _AskedLocation) -> LibraryReply | None:
    wordings = _WORDINGS[location.question.language]
    if not location.found:
        return _say_missing(location, wordings)
    if not location.wants_text:
        return None
    quoted = location.found[:MAX_DOCUMENTS]
    texts, nodes = [], list[TextNode]()
    if len(location.found) > 1:
        sentence = wordings.many if len(location.found) > MAX_DOCUMENTS else wordings.several
        texts.append(sentence.format(count=len(quoted)))
    for found in quoted:
        text, cited = _quote(found, len(nodes) + 1, MAX_CHARS // len(quoted), wordings)
        nodes += cited
        texts += [heading_of(found.name), text] if len(quoted) > 1 else [text]
    return LibraryReply("\n\n".join(texts), "answer" if nodes else "nothing", tuple(nodes))


def _say_missing(location: _AskedLocation, wordings: _Wordings) -> LibraryReply | None:
    """That no document has it; None if it is unknown whether they have such places."""
    if isinstance(location.question, PageQuestion):
        return _count_pages(location, wordings)
    question = location.question
    if not isinstance(question, SectionQuestion) or not location.missing:
        return None
    if question.kind in VAGUE_KINDS and not location.wants_text:
        return None
    one, several = wordings.no_section
    sentence = one if len(location.missing) == 1 else several
    name = escape_name(location.missing[0])
    text = sentence.format(name=name, count=len(location.files), words=question.words)
    return LibraryReply(text, "nothing")


def _count_pages(location: _AskedLocation, wordings: _Wordings) -> LibraryReply | None:
    """How many pages the documents have, if the question is only about one that none of them has."""
    question = location.question
    is_sheet = isinstance(question, PageQuestion) and question.is_sheet
    if is_sheet or not (location.wants_text or question.wants_summary):
        return None
    files = [file for file in location.files if question.may_be_in(file)]
    if not files:
        names = [escape_name(file.name) for file in location.files]
        return LibraryReply(wordings.no_pages.format(name=names[0]), "nothing") if len(names) == 1 else None
    longest = sorted(files, key=lambda file: -file.pages)[:MAX_DOCUMENTS]
    sentences = []
    for file in longest:
        one, several = wordings.slides if file.page_word == "slide" else wordings.pages
        sentence = one if file.pages == 1 else several
        sentences.append(sentence.format(name=escape_name(file.name), count=file.pages))
    return LibraryReply(" ".join(sentences), "nothing")


def _quote(found: _FoundLocation, first: int, room: int, wordings: _Wordings) -> tuple[str, list[TextNode]]:
    """Up to `room` characters of a place, each passage with its citation, the first of them [first]."""
    text, end, cited = "", 0, list[TextNode]()
    for node in found.passages:
        start, passage_end = node.start_char_idx or 0, node.end_char_idx or 0
        between = found.document.text[end:start] if cited else ""
        part = found.document.text[max(start, end) : passage_end]  # passages may overlap
        part = (between if not between.strip() else "\n") + MARKS.sub("", part).rstrip()
        end = max(end, passage_end)
        shown = part if len(part) <= room else _shorten(part, room)
        if shown.strip():
            cited.append(node)
            text += " " if text and not shown[0].isspace() else ""
            # In a row of a table, a citation would be one more cell.
            is_row = shown.rpartition("\n")[2].startswith("|")
            text += _LINE_END.sub("  \n", shown) + ("\n\n" if is_row else " ") + f"[{first + len(cited) - 1}]"
        if shown != part:
            return f"{text.strip()}\n\n{wordings.cut}", cited
        room -= len(shown)
    return text.strip() or wordings.no_text.format(name=escape_name(found.name)), cited


def _shorten(text: str, room: int) -> str:
    """The text up to the last end of a line, sentence or word before `room` characters."""
    for end in ("\n", "。", ". ", " "):
        place = text.rfind(end, room // 2, room)
        if place >= 0:
            return text[: place + 1].rstrip()
    return text[:room]
