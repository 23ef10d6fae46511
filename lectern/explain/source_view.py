"""A cited passage in its context: on the pages of its PDF, or in the text of its document."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Literal

from lectern.explain.laid_out_text import Card, lay_out, layout_of
from lectern.explain.text_blocks import Layout
from lectern.jobs.file_rows import FileRow
from lectern.library import Library
from lectern.schema import Source
from ragcore.errors import InputError, StoreError, UnknownDocumentError
from ragcore.schema import Document
from ragcore.text.quote_places import first_place, place_of, quoted_from, quoted_places
from ragcore.vector_stores.base import Store

if TYPE_CHECKING:
    from ragcore.readers.pdf.page_images import Box

SURROUNDING_CHARS = 1500  # characters of text on each side of a passage


@dataclass(frozen=True, slots=True)
class SourceView:
    """A cited passage in its document: boxes on the images of its pages, or marked text with its
    surroundings.

    `boxes`, in percent of the page, are those of the page at `page_index` and of each later page of the
    passage. `page_labels` are theirs, `all_labels` those of the whole file, and `opens` is the index of the
    page of the source. The quotes from the passage are `quoted_boxes`, or `quoted`, (start, end) in `marked`.

    A text with a `layout` also has `cards` of blocks, which are stretches of the document's `text`. The
    passage begins there at `start`.
    """

    kind: Literal["page", "text"]
    file_id: str
    file_name: str
    page_word: str
    page_labels: tuple[str, ...] = ()
    page_index: int = 0
    opens: int = 0
    all_labels: tuple[str, ...] = ()
    page_count: int = 0
    boxes: tuple[tuple[Box, ...], ...] = ()
    quoted_boxes: tuple[tuple[Box, ...], ...] = ()
    quoted: tuple[tuple[int, int], ...] = ()
    before: str = ""
    marked: str = ""
    after: str = ""
    layout: Layout | None = None
    cards: tuple[Card, ...] = ()
    text: str = ""
    start: int = 0


def view_source(
    library: Library,
    source: Source,
    quoted: Sequence[tuple[int, int]] = (),
    *,
    around: int = SURROUNDING_CHARS,
) -> SourceView:
    """The passage in the current document. InputError if the document, or the passage in it, is gone.

    `quoted`: (start, end) of the quotes in the text of the source. `around`: characters of text on each side.
    """
    file, document = find_document(library, source)
    start, end = locate_passage(source, document)
    # Until a new version of a file is read, the document has the old text, which is not that of the new
    # pages.
    if document.metadata.get("path") != file.path or not (
        pages := _pages_reached(library, file, document, start, end)
    ):
        text, layout = document.text, layout_of(file, document)
        return SourceView(
            "text",
            file.id,
            file.name,
            document.page_word,
            before=text[max(start - around, 0) : start],
            marked=text[start:end],
            quoted=tuple(quoted),
            after=text[end : end + around],
            layout=layout,
            cards=lay_out(library, file, document, layout, start, end, around) if layout else (),
            text=text,
            start=start,
        )
    labels = tuple(document.pages[each].label for each in pages) if document.pages else ("1",)
    boxes, quoted_boxes = _find_boxes(library, file, pages, source.text, quoted)
    return SourceView(
        "page",
        file.id,
        file.name,
        document.page_word,
        labels,
        pages.start,
        opens=pages.start + (labels.index(source.page_label) if source.page_label in labels else 0),
        all_labels=tuple(page.label for page in document.pages),
        page_count=len(document.pages) or 1,
        boxes=boxes,
        quoted_boxes=quoted_boxes,
    )


def find_document(library: Library, source: Source) -> tuple[FileRow, Document]:
    """The document of a passage as it is now. InputError if it was deleted."""
    file = library.files.get(source.file_id)
    if file is not None:
        try:
            return file, library.store.document(source.file_id)
        except UnknownDocumentError:
            pass
    raise InputError(
        f"{source.file_name} has been deleted since this answer was given.",
        hint="The passage itself was kept with the answer and is shown below.",
    )


def locate_passage(source: Source, document: Document) -> tuple[int, int]:
    """(start, end) of the passage in the document's current text. InputError if the text has changed."""
    if document.text[source.start : source.end] == source.text:
        return source.start, source.end
    start = document.text.find(source.text)
    if start < 0:
        raise InputError(
            f"{source.file_name} has changed since this answer was given, and no longer contains this "
            "passage.",
            hint="Ask again to get an answer from the document as it is now.",
        )
    return start, start + len(source.text)


def _pages_reached(library: Library, file: FileRow, document: Document, start: int, end: int) -> range:
    """The indexes of the pages of a passage that have images."""
    page = document.page_at(start)
    if page is None and not document.pages:  # a photograph
        page_index, last = 0, 1
    elif page is not None:
        page_index = document.pages.index(page)
        # the first one after the passage
        last = bisect_left(document.pages, end, key=lambda page: page.start)
    else:
        return range(0)
    reached = range(page_index, max(last, page_index + 1))
    return (
        reached
        if (file.kind == "PDF" and page) or library.files.page_words.of(file.id, reached)
        else range(0)
    )


_PageBoxes = tuple[tuple["Box", ...], ...]  # of each page


def _find_boxes(
    library: Library, file: FileRow, reached: range, passage: str, quoted: Sequence[tuple[int, int]]
) -> tuple[_PageBoxes, _PageBoxes]:
    """The boxes of the passage and of its quotes, in the text of the PDF and among recognised words."""
    if not passage.strip():
        return tuple(() for _ in reached), tuple(() for _ in reached)
    from lectern.jobs.sandbox import find_isolated
    from ragcore.readers.base import ReadOptions

    boxes: dict[int, tuple[list[Box], list[Box]]] = {index: ([], []) for index in reached}
    if file.kind == "PDF":
        whole_and_parts = find_isolated(
            library.files.location(file),
            list(reached),
            passage,
            ReadOptions(file.name, library.files.password(file.id)),
            parts=quoted,
            memory_mb=library.settings.ingest.read_memory_mb,
            scratch=library.files.storage.scratch(),
        )
        boxes = dict(zip(reached, zip(*whole_and_parts, strict=True), strict=True))
    for index, words in library.files.page_words.of(file.id, reached).items():
        drawn = boxes[index]
        boxes[index] = (
            [*drawn[0], *words.highlight_boxes(passage)],
            [*drawn[1], *words.highlight_boxes(passage, quoted)],
        )
    return tuple(tuple(whole) for whole, _ in boxes.values()), tuple(
        tuple(parts) for _, parts in boxes.values()
    )


def draw_page(library: Library, file_id: str, page_index: int, scale: float = 1.6) -> bytes:
    """An image of a page or a picture; `scale` 1.0 is 72 dots per inch. UnknownDocumentError, InputError."""
    from lectern.jobs.sandbox import draw_isolated
    from ragcore.readers.base import ReadOptions

    file = library.files.get(file_id)
    words = library.files.page_words.of(file_id, [page_index]).get(page_index)
    if file is None or (file.kind != "PDF" and words is None):
        raise UnknownDocumentError(file_id)
    options, memory_mb = (
        ReadOptions(file.name, library.files.password(file_id)),
        library.settings.ingest.read_memory_mb,
    )
    path, scratch = library.files.location(file), library.files.storage.scratch()
    turn = words.turn if words else 0
    return draw_isolated(
        path, page_index, options, scale=scale, memory_mb=memory_mb, turn=turn, scratch=scratch
    )


def locate_quotes(store: Store, sources: Sequence[Source], answer: str) -> tuple[Source, ...]:
    """The sources, each with the page of the first sentence that the answer cites it for, in any words."""
    quoted, document_of = quoted_from(answer), cache(store.document)

    def locate(source: Source) -> Source:
        if not source.page_label:
            return source
        place = first_place(quoted.get(source.number, ()), source.text)
        if place is None:
            place = next((start for start, _ in quoted_places(answer, source.number, source.text)), None)
        if not place:  # None, or the beginning of the passage
            return source
        return replace(source, page_label=_part(source, place, len(source.text), document_of).page_label)

    return tuple(map(locate, sources))


def locate_sentence(store: Store, source: Source, sentence: str) -> Source:
    """This sentence of the source with its page; or the source, if the document has changed."""
    place = place_of(sentence, source.text)
    return _part(source, *place, store.document) if place else source


def _part(source: Source, start: int, end: int, document_of: Callable[[str], Document]) -> Source:
    """`source.text[start:end]` as a source with the page of its beginning."""
    try:
        document = document_of(source.file_id)
    except StoreError:  # deleted since the answer was given, or damaged
        return source
    page = document.page_at(source.start + start)
    if document.text[source.start : source.end] != source.text:
        return source
    part = replace(source, start=source.start + start, end=source.start + end, text=source.text[start:end])
    return replace(part, page_label=page.label) if page and source.page_label else part
