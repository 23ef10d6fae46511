"""Notes above a passage that stands for more than itself in an overview: the table or the group of documents that it is of.

A passage of a spreadsheet does not know how many rows there are, and one of sixty documents not which others are like it.
`OverviewRetriever` does, and writes it into the metadata that readers, with a model or without, are shown above the text.
"""

from __future__ import annotations

TABLE = "the whole table"
GROUP = "group of documents"
DOCUMENTS_OF_GROUP = "documents of the group"
_KEYS = (TABLE, GROUP, DOCUMENTS_OF_GROUP)


def split_notes(text: str) -> tuple[dict[str, str], str]:
    """The notes above a passage, and its text without them and other metadata; ({}, text) where it has no notes.

    >>> split_notes("group of documents: railways\\n\\nThe train climbs.")
    ({'group of documents': 'railways'}, 'The train climbs.')
    """
    above, _, below = text.partition("\n\n")
    entries = (line.partition(": ") for line in above.split("\n"))
    notes = {key: value for key, colon, value in entries if colon and key in _KEYS}
    return (notes, below) if notes else ({}, text)
