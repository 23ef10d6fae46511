"""The words that each engine of text recognition reads on ten pages whose words are known, and its processor
time.

    python -m benchmarks.ocr                        # a table: recall of words, their order, processor-seconds
    python -m benchmarks.ocr --chinese-font FILE    # if no font with Chinese characters is installed
    python -m benchmarks.ocr --save FOLDER          # the pages as pictures

An engine that is not installed is skipped. "as read" is the setting of Lectern: the first engine that is sure
of its result, and pages on their side turned.
"""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Callable
from difflib import SequenceMatcher
from functools import partial
from pathlib import Path
from typing import NamedTuple

from PIL import Image

from benchmarks.scanned_pages import ScannedPage, save_pages, scanned_pages, words_of
from ragcore.readers.ocr import recognition
from ragcore.readers.ocr.recognised_page import RecognisedPage


class Outcome(NamedTuple):
    """`recall` and `ordered` are shares of a page's words: read at all, and read in the right order."""

    recall: float
    ordered: float
    seconds: float


def measure(page: ScannedPage, read: Callable[[Image.Image, str], RecognisedPage]) -> Outcome:
    """With the processor-seconds of this process and of those that it started."""
    before = _seconds()
    words = words_of(read(page.picture, page.name).text)
    seconds = _seconds() - before
    common = (Counter(page.words) & Counter(words)).total()
    blocks = SequenceMatcher(None, page.words, words, autojunk=False).get_matching_blocks()
    return Outcome(common / len(page.words), sum(block.size for block in blocks) / len(page.words), seconds)


def _seconds() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--chinese-font")
    parser.add_argument("--save", type=Path)
    arguments = parser.parse_args()
    pages = scanned_pages(arguments.chinese_font)
    if arguments.save:
        save_pages(pages, arguments.save)
    readings: dict[str, Callable[[Image.Image, str], RecognisedPage]] = {
        engine.__name__.rpartition(".")[2]: partial(recognition.recognise, engines=[engine])
        for engine in recognition.installed_engines()
    }
    readings["as read"] = recognition.recognise
    print("| page | words |" + "".join(f" {name}: recall, in order, seconds |" for name in readings))
    print("|---|--:|" + "--:|" * len(readings))
    for page in pages:
        cells = [measure(page, read) for read in readings.values()]
        print(
            f"| {page.name} | {len(page.words)} |"
            + "".join(f" {cell.recall:.0%}, {cell.ordered:.0%}, {cell.seconds:.1f} |" for cell in cells),
            flush=True,
        )


if __name__ == "__main__":
    main()
