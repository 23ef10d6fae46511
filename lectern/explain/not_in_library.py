"""Why no passage answers: unread files, pages without text, another language, or no answer at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lectern.explain.missed_cause import Cause, Missed
from lectern.explain.repeated_search import RepeatedSearch, place_among
from lectern.jobs.file_rows import FileRow, Stage
from ragcore.schema import TextNode
from ragcore.text.keywords import content_words
from ragcore.text.language import language_of
from ragcore.text.quotable_sentences import quotes_in

MAX_NEAREST = 10  # best passages, from which the nearest to an answer is chosen
MAX_DOCUMENTS = 40  # searched for pages without text


def explain_absence(search: RepeatedSearch, expected: str = "") -> Missed:
    """`expected`: the text that a person expected in the answer, or ""."""
    everywhere = search.everywhere
    node = _find_nearest(search, [hit.node for hit in everywhere[:MAX_NEAREST]])
    rank = place_among(node, everywhere)[0] if node else None
    unread = [file for file in search.library.files.all() if _may_hold_more(file)]
    if named := _named_by(f"{search.searched} {expected}", unread):
        return _not_read(search, named, node, rank)
    if bare := _page_without_text(search):
        return search.report(Cause.NO_TEXT, node, rank, file=bare[0], page=bare[1])
    if foreign := _other_language(search, expected):
        return foreign
    if unread:
        return _not_read(search, unread[0], node, rank)
    if expected and not search.library.store.keyword_search(expected, 1):
        return replace(search.report(Cause.ABSENT), unknown=expected)
    return search.report(Cause.ABSENT, node, rank)


def _named_by(text: str, files: list[FileRow]) -> FileRow | None:
    """The file whose name shares most words with the text; None if no name shares any."""
    own = set(content_words(text))
    shared = [len(own & set(content_words(file.name))) for file in files]
    return files[shared.index(max(shared))] if any(shared) else None


def _other_language(search: RepeatedSearch, expected: str) -> Missed | None:
    """The report if the best passages are all in other languages than the question."""
    spoken = language_of(expected or search.ask.question)
    others = [
        language
        for each in search.everywhere[: search.ask.top_k]
        if (language := language_of(each.node.text))
    ]
    missed = next((hit.node for hit in search.everywhere if hit.node.id_ not in search.used), None)
    if missed is None or not spoken or not others or spoken in others:
        return None
    report = search.report(Cause.LANGUAGE, missed, place_among(missed, search.everywhere)[0])
    return replace(report, languages=(spoken, others[0]))


def _not_read(search: RepeatedSearch, file: FileRow, node: TextNode | None, rank: int | None) -> Missed:
    cause = _cause_of(file)
    return search.report(cause, node, rank, file=file, ask=search.ask if cause is Cause.READING else None)


def _page_without_text(search: RepeatedSearch) -> tuple[FileRow, str] | None:
    selected, library = search.ask.file_ids, search.library
    ready = [file for file in library.files.all() if file.ready and file.kind == "PDF" and file.pages > 1]
    for file in [file for file in ready if selected is None or file.id in selected][:MAX_DOCUMENTS]:
        document = library.store.document(file.id)
        for page in document.pages:
            if not document.text[page.start : page.end].strip():
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
    problem = file.problem
    return (
        Cause.NO_TEXT if problem is not None and problem.details.startswith("NoTextError") else Cause.FAILED
    )


def _find_nearest(search: RepeatedSearch, nodes: Sequence[TextNode]) -> TextNode | None:
    """The one with the sentence that is most likely to answer."""
    quotes = [quote for at, node in enumerate(nodes) for quote in quotes_in(node.text, number=1, passage=at)]
    odds = search.check.reader.log_odds(search.searched, quotes)
    return nodes[quotes[int(odds.argmax())].passage] if quotes else None
