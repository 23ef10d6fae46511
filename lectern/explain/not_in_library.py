"""Why no passage answers: unread files, pages without text, another language, or no answer at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lectern.explain.blank_pages import has_words, is_blank, shows_something
from lectern.explain.missed_cause import Cause, Missed
from lectern.explain.repeated_search import RepeatedSearch, place_among
from lectern.jobs.file_rows import FileRow, Stage
from ragcore.schema import TextNode
from ragcore.text.keywords import content_words
from ragcore.text.language import language_of
from ragcore.text.quotable_sentences import quotes_in

MAX_NEAREST = 10  # best passages, from which the nearest to an answer is chosen
MAX_DOCUMENTS = 40  # searched for pages without text
MAX_DRAWN = 12  # pages without text, which are drawn to see whether they are blank


def explain_absence(search: RepeatedSearch, expected: str = "") -> Missed:
    """`expected`: the text that a person expected in the answer, or ""."""
    everywhere = search.everywhere
    with_words = [hit.node for hit in everywhere if has_words(hit.node.text)]
    node = _find_nearest(search, with_words[:MAX_NEAREST])
    rank = place_among(node, everywhere)[0] if node else None
    unread = [file for file in search.library.files.all() if _may_hold_more(file)]
    for file in _named_by(f"{search.searched} {expected}", unread):
        if not _is_blank(search, file):
            return _not_read(search, file, node, rank)
    if bare := _page_without_text(search):
        return search.report(Cause.NO_TEXT, node, rank, file=bare[0], page=bare[1])
    if foreign := _other_language(search, expected):
        return foreign
    for file in unread[:MAX_DOCUMENTS]:
        if not _is_blank(search, file):
            return _not_read(search, file, node, rank)
    if expected and not search.library.store.keyword_search(expected, 1):
        return replace(search.report(Cause.ABSENT), unknown=expected)
    return search.report(Cause.ABSENT, node, rank)


def _named_by(text: str, files: list[FileRow]) -> list[FileRow]:
    """The files whose names share a word with the text, those that share most first."""
    own = set(content_words(text))
    shared = {file.id: len(own & set(content_words(file.name))) for file in files}
    named = [file for file in files if shared[file.id]]
    return sorted(named, key=lambda file: shared[file.id], reverse=True)


def _is_blank(search: RepeatedSearch, file: FileRow) -> bool:
    """Whether a file without text has nothing to see, either."""
    return file.kind == "PDF" and _has_no_text(file) and is_blank(search.library, file.id)


def _other_language(search: RepeatedSearch, expected: str) -> Missed | None:
    """The report if the best passages are all in other languages than the question."""
    spoken = language_of(expected or search.ask.question)
    others = [
        language
        for each in search.everywhere[: search.ask.top_k]
        if (language := language_of(each.node.text))
    ]
    missed = next(iter(search.missed(search.searched)), None)
    if missed is None or not spoken or not others or spoken in others:
        return None
    report = search.report(Cause.LANGUAGE, missed, place_among(missed, search.everywhere)[0])
    return replace(report, languages=(spoken, others[0]))


def _not_read(search: RepeatedSearch, file: FileRow, node: TextNode | None, rank: int | None) -> Missed:
    cause = _cause_of(file)
    return search.report(cause, node, rank, file=file, ask=search.ask if cause is Cause.READING else None)


def _page_without_text(search: RepeatedSearch) -> tuple[FileRow, str] | None:
    """The first page that shows something, but no words; and its file."""
    selected, library, drawn = search.ask.file_ids, search.library, 0
    ready = [file for file in library.files.all() if file.ready and file.kind == "PDF" and file.pages > 1]
    for file in [file for file in ready if selected is None or file.id in selected][:MAX_DOCUMENTS]:
        document = library.store.document(file.id)
        for index, page in enumerate(document.pages):
            if drawn < MAX_DRAWN and not has_words(document.text[page.start : page.end]):
                drawn += 1
                if shows_something(library, file.id, index):
                    return file, page.label
    return None


def _may_hold_more(file: FileRow) -> bool:
    """Whether it is not read, and may have text, unlike a program or an empty file."""
    details = "" if file.problem is None else file.problem.details
    return not file.ready and not details.startswith(("UnsupportedFileError", "EmptyFileError"))


def _cause_of(file: FileRow) -> Cause:
    if file.active:
        return Cause.READING
    if file.stage is Stage.STOPPED:
        return Cause.STOPPED
    return Cause.NO_TEXT if _has_no_text(file) else Cause.FAILED


def _has_no_text(file: FileRow) -> bool:
    return file.problem is not None and file.problem.details.startswith("NoTextError")


def _find_nearest(search: RepeatedSearch, nodes: Sequence[TextNode]) -> TextNode | None:
    """The one with the sentence that is most likely to answer."""
    quotes = [quote for at, node in enumerate(nodes) for quote in quotes_in(node.text, number=1, passage=at)]
    odds = search.check.reader.log_odds(search.searched, quotes)
    return nodes[quotes[int(odds.argmax())].passage] if quotes else None
