"""Recognises text in pictures with tesseract if it has the language, or with rapidocr.

A page is read in the direction of the picture. If hardly anything can be read, it is turned by 90, 180 and
270 degrees at low resolution, and read again in the turn with the most text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from types import ModuleType
from typing import TYPE_CHECKING, Protocol, cast

from ragcore.errors import NoTextError
from ragcore.readers.ocr import rapidocr, tesseract
from ragcore.readers.ocr.recognised_page import TRUSTED_CONFIDENCE, RecognisedPage
from ragcore.text.language import language_of

if TYPE_CHECKING:
    from PIL.Image import Image

SKETCH_SIDE = 1200  # pixels of the longer side, at which the turns of a page are compared
MIN_LETTERS = 4  # minimum letters of a page, read or not, to compare other turns
BETTER_TURN = 1.5  # times the evidence of the page; another turn with more is better
BLANK_CONTRAST = 40  # shades of 255 between the darkest and the lightest part of a blank page
BLOCK = 8  # side of such a part in pixels
LISTED = 12  # pages in a report

INSTALL = (
    "Install tesseract (on Debian and Ubuntu: apt install tesseract-ocr), or Lectern's extra for text "
    "recognition"
    ' (pip install "lectern[ocr]"), then try again.'
)
INSTALL_LANGUAGE = (
    "If there is text, it is unclear, or in an alphabet that is not installed. Install its language for "
    "tesseract "
    "(on Debian and Ubuntu: apt install tesseract-ocr-rus for Russian), or scan it larger, then try again."
)


class Engine(Protocol):
    __name__: str

    def is_installed(self) -> bool: ...

    def reads(self, language: str) -> bool:
        """Whether the engine knows a language (ISO 639-1). True for "", an unknown language."""

    def read_lines(self, picture: Image, name: str) -> RecognisedPage:
        """The lines in the picture, which is not turned; none without words. Errors have the `name` of the
        file."""


def installed_engines() -> list[Engine]:
    """The installed engines, the faster one first: tesseract takes a fifth of rapidocr's time."""
    return [engine for engine in cast(Sequence[Engine], ENGINES) if engine.is_installed()]


ENGINES: Sequence[ModuleType] = (tesseract, rapidocr)


def has_engine() -> bool:
    """Whether an engine is installed. This may change at any time."""
    return bool(installed_engines())


def recognise(picture: Image, name: str, *, engines: Sequence[Engine] | None = None) -> RecognisedPage:
    """The lines of a page after it is turned upright; none without words. TooLargeError.

    `engines` are by default `installed_engines()`.
    """
    pages = [RecognisedPage((), picture.width, picture.height)]
    darkest, lightest = picture.convert("L").getextrema()
    if darkest == lightest:
        return pages[0]
    for engine in installed_engines() if engines is None else engines:
        page = _read_upright(engine, picture, name)
        if page.confidence >= TRUSTED_CONFIDENCE and engine.reads(language_of(page.text)):
            return page
        pages.append(page)
    return max(pages, key=lambda page: (page.confidence, page.unread))


def _read_upright(engine: Engine, picture: Image, name: str) -> RecognisedPage:
    page = engine.read_lines(picture, name)
    if page.confidence >= TRUSTED_CONFIDENCE or sum(line.letters for line in page.candidates) < MIN_LETTERS:
        return page
    sketch = picture.copy()
    sketch.thumbnail((SKETCH_SIDE, SKETCH_SIDE))
    turns = {turn: engine.read_lines(turn_picture(sketch, turn), name) for turn in (90, 180, 270)}
    turn = max(turns, key=lambda turn: turns[turn].evidence)
    if turns[turn].evidence <= BETTER_TURN * page.evidence or not turns[turn].text:
        return page
    again = replace(engine.read_lines(turn_picture(picture, turn), name), turn=turn)
    # unknown letters may look like known ones upside down
    return again if again.confidence >= TRUSTED_CONFIDENCE else page


def turn_picture(picture: Image, turn: int) -> Image:
    """The picture turned clockwise by 0, 90, 180 or 270 degrees."""
    from PIL.Image import Transpose

    how = {90: Transpose.ROTATE_270, 180: Transpose.ROTATE_180, 270: Transpose.ROTATE_90}
    return picture.transpose(how[turn]) if turn else picture


def is_blank(picture: Image) -> bool:
    """Whether the picture is blank paper, such as the back of a scanned page."""
    darkest, lightest = cast(tuple[int, int], picture.convert("L").reduce(BLOCK).getextrema())
    return lightest - darkest < BLANK_CONTRAST


class RecognitionReport:
    """Collects what could not be recognised on the pages of one file, and gives an error for each kind.

    `engines` are those that read the pages, by default `installed_engines()`.
    """

    def __init__(self, name: str, *, engines: Sequence[Engine] | None = None) -> None:
        self._name = name
        self._engines = engines
        self._wordless: list[str] = []
        self._unread: list[str] = []
        self._languages: dict[str, list[str]] = {}

    def note(self, label: str, picture: Image | None, page: RecognisedPage) -> None:
        """`label` names the page, such as its number; "" if the picture has one page. `picture` is None if it
        is certainly not blank."""
        language = language_of(page.text)
        if page.unread:
            self._unread.append(label)
        elif not page.text and not (picture and is_blank(picture)):
            self._wordless.append(label)
        elif page.text and not self._can_read(language):
            self._languages.setdefault(language, []).append(label)

    def _can_read(self, language: str) -> bool:
        engines = installed_engines() if self._engines is None else self._engines
        return any(engine.reads(language) for engine in engines)

    def errors(self) -> Iterator[NoTextError]:
        name = self._name
        if self._wordless:
            pages = _list_labels(self._wordless)
            yield NoTextError(
                f"No words were recognised on these pages of {name}: {pages}.", hint=INSTALL_LANGUAGE
            )
        if unread := self.unread_text():
            yield unread
        if self._languages:
            pages = _list_labels(list(dict.fromkeys(chain.from_iterable(self._languages.values()))))
            packages = " ".join(
                f"tesseract-ocr-{tesseract.LANGUAGES[language]}" for language in self._languages
            )
            yield NoTextError(
                f"Accents may be wrong on these pages of {name}: {pages}."
                if pages
                else f"Accents may be wrong in {name}.",
                hint=(
                    "Install their language for tesseract (on Debian and Ubuntu: apt install "
                    f"{packages}), then try again."
                ),
            )

    def unread_text(self) -> NoTextError | None:
        """The error for text that was not read; None if all was read."""
        if not self._unread:
            return None
        pages, name = _list_labels(self._unread), self._name
        what = f"Text was not recognised on these pages of {name}: {pages}."
        return NoTextError(
            what if pages else f"The text in {name} was not recognised.", hint=INSTALL_LANGUAGE
        )


def _list_labels(labels: Sequence[str]) -> str:
    return ", ".join([*labels[:LISTED], *(["…"] if len(labels) > LISTED else [])])


def scan_without_engine(what: str) -> NoTextError:
    """`what` names the file that is a scan or a picture."""
    return NoTextError(f"{what}, and no text recognition (OCR) is installed.", hint=INSTALL)
