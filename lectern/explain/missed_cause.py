"""Why an answer lacks something: the causes there are, and what is said of one."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from lectern.jobs.file_rows import FileRow
from lectern.schema import Ask, Source


class Cause(str, Enum):
    NOT_LOOKED = "not_looked"  # this way of answering does not look into the documents
    USED = "used"  # it was among the passages
    FILTERED = "filtered"  # other documents were chosen
    CUT_OFF = "cut_off"  # it scores less than the least score
    WEAKER = "weaker"  # it scores far less than the best passage
    REORDERED = "reordered"  # a later step put others before it
    SUMMARY = "summary"  # central passages were taken, for a summary
    CONDENSED = "condensed"  # the follow-up was made into another question
    SPLIT = "split"  # what was expected begins in one passage and ends in the next
    ADDED_SINCE = "added_since"  # it is found now
    LANGUAGE = "language"  # it is written in another language than the question
    TOP_K = "top_k"  # it stands below those that were looked at
    FAR = "far"  # it is not even among the hundred best
    NO_TEXT = "no_text"  # a scan, or a page that is a picture
    READING = "reading"  # a file is not read yet
    STOPPED = "stopped"  # a file was stopped
    FAILED = "failed"  # a file could not be read
    ABSENT = "absent"  # no document says it


@dataclass(frozen=True, slots=True)
class Missed:
    """`searched`: the question as it was looked up, nothing misspelt. `source`: the best missed passage, or the nearest one
    where none seems to say it; and `rank`, 1 for the best, where it stands among all that were to be looked through (the
    whole library where others were chosen); None below the hundredth. Its page is that of the sentence nearest to what was
    looked for.

    `ask`: the question with the very setting changed; None where another place must be visited first. `file`: the one that is
    to blame; `page`: the label of its page without text. `languages`: of the question and of the passage, as ISO 639-1 codes.
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
