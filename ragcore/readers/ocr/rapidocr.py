"""Text recognition with rapidocr, a Python package that includes its models
(https://github.com/RapidAI/RapidOCR).

Its models read Latin letters, Chinese and Japanese. Its classifier of turned lines is not used, because it
also turns upright lines; `ragcore.readers.ocr.recognition` turns pages instead.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from ragcore.readers.encodings import clean
from ragcore.readers.ocr.reading_order import Box, reading_order
from ragcore.readers.ocr.recognised_page import MIN_CONFIDENCE, MIN_UNREAD, Line, RecognisedPage, Word
from ragcore.text.language import language_of

if TYPE_CHECKING:
    from PIL.Image import Image

MAX_SIDE = 2000  # pixels; a larger picture takes longer and is not read better
KNOWN_SCORE = 0.6  # score of a line with letters that the models do not know; other lines have nearly 1
KNOWN_DENSITY = 0.5  # characters per square of a line's box; lines of unknown letters have fewer
_WIDE = "\u2e80-\u9fff\uff00-\uffef"
_WORDS = re.compile(rf"[{_WIDE}]|[^\s{_WIDE}]+")


def is_installed() -> bool:
    """Whether the package, its models and their runtime are installed."""
    return find_spec("onnxruntime") is not None and len(_models()) == 2


def reads(language: str) -> bool:
    """Whether its models know the letters of a language (ISO 639-1). They do not know Greek letters with
    accents."""
    return language not in ("ar", "el", "he", "hi", "ko", "ru", "th")


def _models() -> dict[str, str]:
    """The paths of the models that find lines ("Det") and read them ("Rec")."""
    package = find_spec("rapidocr")
    folder = Path(package.origin).parent / "models" if package and package.origin else Path()
    files = {part: sorted(folder.glob(f"*_{part.lower()}_*.onnx")) for part in ("Det", "Rec")}
    return {part: str(paths[0]) for part, paths in files.items() if paths}


@cache
def _engine() -> Any:
    from rapidocr import RapidOCR

    threads = {f"EngineConfig.onnxruntime.{kind}_op_num_threads": 1 for kind in ("intra", "inter")}
    # Without a path, rapidocr would download the model.
    models = {f"{part}.model_path": path for part, path in _models().items()}
    settings = {"log_level": "critical", "text_score": 0.0, "max_side_len": MAX_SIDE}
    return RapidOCR(
        params={**threads, **models, **{f"Global.{name}": value for name, value in settings.items()}}
    )


def read_lines(picture: Image, name: str) -> RecognisedPage:
    """The lines in the picture in reading order. `name` is for errors of other engines."""
    import numpy as np

    pixels = np.asarray(picture.convert("RGB"))
    output = _engine()(pixels, use_cls=False, use_rec=True)
    corners: list[_Corners] = [] if output.boxes is None else output.boxes.tolist()
    lines = []
    boxes = _deskew(corners)
    horizontal = reading_order([box for box in boxes if not _is_vertical(corners[box.line])])
    vertical = [([box], True) for box in boxes if _is_vertical(corners[box.line])]
    for row, starts_paragraph in [*horizontal, *vertical]:
        words = [
            word
            for box in row
            for word in _words(corners[box.line], output.txts[box.line], output.scores[box.line])
        ]
        lines.append(Line(tuple(words), starts_paragraph, sum(_capacity(corners[box.line]) for box in row)))
    page = RecognisedPage(lines, picture.width, picture.height)
    if page.confidence >= MIN_CONFIDENCE or sum(line.letters for line in lines) >= MIN_UNREAD:
        return page
    # The output has no lines without any known letter.
    detected = _engine()(pixels, use_cls=False, use_rec=False).boxes
    capacity = sum(map(_capacity, detected.tolist())) if detected is not None else 0
    return replace(
        page, candidates=[*lines, Line((), capacity=capacity - sum(line.capacity for line in lines))]
    )


# x and y of the four corners of a line, clockwise from the start of its upper side
_Corners = list[list[float]]


def _deskew(lines: Sequence[_Corners]) -> list[Box]:
    """The boxes of the lines after the page is rotated by the few degrees of their slope."""
    slope = median([_slope(corners) for corners in lines]) if lines else 0.0
    cos, sin = math.cos(-slope), math.sin(-slope)
    boxes = []
    for index, corners in enumerate(lines):
        across, down = [x * cos - y * sin for x, y in corners], [x * sin + y * cos for x, y in corners]
        boxes.append(Box(min(across), min(down), max(across), max(down), index))
    return boxes


def _slope(corners: _Corners) -> float:
    """The slope in radians; 0 for a vertical line."""
    (x0, top), (x1, bottom) = corners[0], corners[1]
    slope = math.atan2(bottom - top, x1 - x0)
    return slope if abs(slope) < math.radians(20) and not _is_vertical(corners) else 0.0


def _is_vertical(corners: _Corners) -> bool:
    """Whether the line runs downwards. rapidocr turns such a line before it reads it."""
    return math.dist(corners[0], corners[3]) >= 1.5 * math.dist(corners[0], corners[1])


def _words(corners: _Corners, text: str, score: float) -> Iterator[Word]:
    """The words of a line, each with the part of the line's box that its characters fill."""
    text = clean(text)
    confidence = _confidence(corners, text, score)
    begin, end = ((corners[0], corners[3]), (corners[1], corners[2]))
    if _is_vertical(corners):
        begin, end = ((corners[1], corners[0]), (corners[2], corners[3]))
    for match in _WORDS.finditer(text):
        points = [
            _interpolate(edge, to, place / len(text))
            for place in match.span()
            for edge, to in zip(begin, end, strict=True)
        ]
        across, down = [x for x, _ in points], [y for _, y in points]
        joined = match.start() > 0 and not text[match.start() - 1].isspace()
        yield Word(match[0], min(across), min(down), max(across), max(down), confidence, joined)


def _interpolate(begin: Sequence[float], end: Sequence[float], share: float) -> tuple[float, float]:
    return begin[0] + share * (end[0] - begin[0]), begin[1] + share * (end[1] - begin[1])


def _capacity(corners: _Corners) -> int:
    """The number of squares that fit into the line. A square has one character of Chinese or about two Latin
    letters."""
    shorter, longer = sorted((math.dist(corners[0], corners[1]), math.dist(corners[0], corners[3])))
    return round(longer / max(shorter, 1.0))


def _confidence(corners: _Corners, text: str, score: float) -> float:
    """0 to 1, from the score and from the number of characters compared to the size of the line."""
    density = min(
        sum(not sign.isspace() for sign in text) / max(KNOWN_DENSITY * _capacity(corners), 1.0), 1.0
    )
    known = reads(language_of(text))
    return density * min(max((score - KNOWN_SCORE) / (1 - KNOWN_SCORE), 0.0), 1.0) if known else 0.0
