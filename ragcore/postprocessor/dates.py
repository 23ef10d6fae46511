"""When a passage was written, by its metadata."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from ragcore.schema import Metadata, NodeWithScore


def _form(form: str) -> Callable[[str], datetime]:
    return lambda text: datetime.strptime(text, form)


_FORMS = tuple(map(_form, ("%Y", "%Y-%m", "%Y/%m/%d", "%d.%m.%Y", "%d %B %Y", "%d %b %Y", "%B %d, %Y", "%b %d, %Y")))


def newest_first(nodes: Sequence[NodeWithScore], key: str) -> list[NodeWithScore]:
    """By the dates under `key`; what has none that can be read comes last, and ties stand as given."""
    return sorted(nodes, key=lambda hit: -written(hit.metadata, key))


def written(metadata: Metadata, key: str) -> float:
    """Seconds since the epoch; minus infinity where there is no date that can be read.

    Reads such seconds as a number, ISO 8601 ("2024-05-01", "2024-05-01T12:00:00Z"), dates as mails have them, and the forms of
    `_FORMS`; not "05/01/2024", which is a day in May or in January. A time without a zone is UTC.
    """
    value = metadata.get(key)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value) if abs(value) <= sys.float_info.max else -math.inf
    for read in (datetime.fromisoformat, parsedate_to_datetime, *_FORMS):
        try:
            date = read(str(value).strip())
        except (ValueError, OverflowError):  # not in this form, or in a zone that there is not
            continue
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    return -math.inf
