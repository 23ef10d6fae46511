"""The causes why an answer lacks something, and the report of one."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from lectern.jobs.file_rows import FileRow
from lectern.schema import Ask, Source


class Cause(str, Enum):
    NOT_LOOKED = "not_looked"  # this mode does not use the documents
    USED = "used"  # it was among the passages
    FILTERED = "filtered"  # it is not in the selected documents
    CUT_OFF = "cut_off"  # its score is below the cutoff
    WEAKER = "weaker"  # its score is far below that of the best passage
    REORDERED = "reordered"  # a later step preferred others
    SUMMARY = "summary"  # central passages were chosen, for a summary
    CONDENSED = "condensed"  # the follow-up was condensed to another question
    SPLIT = "split"  # the expected text begins in one passage and ends in the next
    ADDED_SINCE = "added_since"  # the search finds it now
    LANGUAGE = "language"  # it is in another language than the question
    TOP_K = "top_k"  # it is below top_k
    FAR = "far"  # it is not even among the hundred best
    NO_TEXT = "no_text"  # a scan, or a page that is a picture
    READING = "reading"  # a file is not read yet
    STOPPED = "stopped"  # a file was stopped
    FAILED = "failed"  # a file could not be read
    ABSENT = "absent"  # it is in no document


@dataclass(frozen=True, slots=True)
class Missed:
    """`searched`: the question of the search, with corrected spelling. `source`: the best missed passage, or
    the nearest one if none seems to answer, with the page of its best sentence. `rank`: its rank, 1 for the
    best, in the selected documents, or in the whole library if it is in others; None below the hundredth.

    `ask`: the ask with the setting changed, or None. `file`: the one that is the cause; `page`: the label of
    its page without text. `languages`: of the question and of the passage, as ISO 639-1 codes. `unknown`: the
    expected text, if no passage has a word of it.
    """

    cause: Cause
    searched: str
    looked_at: int = 0
    source: Source | None = None
    rank: int | None = None
    ask: Ask | None = None
    file: FileRow | None = None
    page: str = ""
    languages: tuple[str, str] = ("", "")
    unknown: str = ""
