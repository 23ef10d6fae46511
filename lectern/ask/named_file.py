"""The file that a question names, as in "How many rooms are there in rooms.csv?"."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePath

_BEFORE = r"在?\s*(?:\b(?:in|from|of|aus|dans|de|en)\s+)?[\"“„«]?"
_AFTER = r"[\"”“»]?(?:\s*[中里]?[，,])?"
_LETTER = r"[^\W\u4e00-\u9fff]"  # Chinese has no spaces


def split_file_name(question: str, names: Iterable[str]) -> tuple[str, str]:
    """The question without the file that it names, and that name; "" if it names none of these files. A name
    without its suffix is none: "in 2025" may be a year.

    >>> split_file_name("How many rooms are there in rooms.csv?", ["stock.csv", "rooms.csv"])
    ('How many rooms are there?', 'rooms.csv')
    """
    for name in sorted(names, key=len, reverse=True):
        named = re.compile(
            rf"{_BEFORE}(?<!{_LETTER})(?<![.-]){re.escape(name)}(?!{_LETTER}){_AFTER}", re.IGNORECASE
        )
        if PurePath(name).suffix and named.search(question):
            return named.sub("", question, count=1).replace(" ?", "?").strip(), name
    return question, ""
