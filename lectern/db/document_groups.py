"""Groups of documents: plain labels, any number for a document. In the library's database."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ragcore.sql.base import Database, writable

LABEL_CHARS = 60

SCHEMA = """
CREATE TABLE IF NOT EXISTS document_groups (
    file_id TEXT NOT NULL REFERENCES files (id) ON DELETE CASCADE,
    label TEXT NOT NULL,
    PRIMARY KEY (file_id, label)
);
"""

_INSERT = "INSERT INTO document_groups (file_id, label) SELECT id, ? FROM files WHERE id = ? ON CONFLICT DO NOTHING"


class DocumentGroups:
    """Of the files in the same database. A document leaves its groups when it is deleted; a group without one is none."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, file_id: str, labels: Iterable[str]) -> None:
        """Have the document in these groups and no others; nothing where it was deleted."""
        with self._database.transaction() as db:
            db.execute("DELETE FROM document_groups WHERE file_id = ?", (file_id,))
            for label in filter(None, map(_tidied, labels)):
                db.execute(_INSERT, (label, file_id))

    def of(self, file_id: str) -> list[str]:
        with self._database.snapshot() as db:
            rows = db.execute("SELECT label FROM document_groups WHERE file_id = ?", (file_id,)).fetchall()
        return sorted((row["label"] for row in rows), key=str.casefold)

    def all(self) -> dict[str, list[str]]:
        """The ids of the documents in each group, in the order of the alphabet."""
        groups: dict[str, list[str]] = {}
        for row in self.dump():
            groups.setdefault(row["label"], []).append(row["file_id"])
        return {label: groups[label] for label in sorted(groups, key=str.casefold)}

    def dump(self) -> Iterator[dict[str, str]]:
        """Each document in each of its groups, as plain values for `restore`."""
        with self._database.snapshot() as db:
            rows = db.execute("SELECT file_id, label FROM document_groups ORDER BY label, file_id").fetchall()
        for row in rows:
            yield {"file_id": row["file_id"], "label": row["label"]}

    def restore(self, dumped: Mapping[str, str], file_ids: Mapping[str, str]) -> None:
        """Put a document into a group. `file_ids`: what the files there are called here; others are passed over."""
        with self._database.transaction() as db:
            db.execute(_INSERT, (_tidied(str(dumped["label"])), file_ids.get(dumped["file_id"], "")))


def _tidied(label: str) -> str:
    return writable(" ".join(label.split()))[:LABEL_CHARS].rstrip()
