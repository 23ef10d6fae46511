"""Notes above a passage that represents a whole table or a group of documents in an overview.

`OverviewRetriever` writes them into the metadata, which is above the text in a prompt: for example how many
rows the spreadsheet of the passage has, or which other documents are similar to its own.
"""

from __future__ import annotations

TABLE = "the whole table"
GROUP = "group of documents"
DOCUMENTS_OF_GROUP = "documents of the group"
_KEYS = (TABLE, GROUP, DOCUMENTS_OF_GROUP)


def split_notes(text: str) -> tuple[dict[str, str], str]:
    """The notes above a passage, and its text without them and other metadata; ({}, text) if it has no notes.

    >>> split_notes("group of documents: railways\\n\\nThe train climbs.")
    ({'group of documents': 'railways'}, 'The train climbs.')
    """
    above, _, below = text.partition("\n\n")
    entries = (line.partition(": ") for line in above.split("\n"))
    notes = {key: value for key, colon, value in entries if colon and key in _KEYS}
    return (notes, below) if notes else ({}, text)
