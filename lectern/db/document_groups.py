"""Groups of documents in the library's database: labels, any number for a document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from lectern.db.tables import Tables
from ragcore.sql.base import writable

LABEL_CHARS = 60

SCHEMA = """
CREATE TABLE IF NOT EXISTS document_groups (
    file_id TEXT NOT NULL REFERENCES files (id) ON DELETE CASCADE,
    label TEXT NOT NULL,
    PRIMARY KEY (file_id, label)
);
"""

_INSERT = (
    "INSERT INTO document_groups (file_id, label) SELECT id, ? FROM files WHERE id = ? ON CONFLICT DO NOTHING"
)


class DocumentGroups(Tables):
    """A deleted document leaves its groups, and a group without documents does not exist."""

    def replace(self, file_id: str, labels: Iterable[str]) -> None:
        """Sets the groups of a document. Does nothing for a deleted document."""
        with self._database.transaction() as db:
            db.execute("DELETE FROM document_groups WHERE file_id = ?", (file_id,))
            for label in filter(None, map(_normalize, labels)):
                db.execute(_INSERT, (label, file_id))

    def of(self, file_id: str) -> list[str]:
        rows = self._read("SELECT label FROM document_groups WHERE file_id = ?", file_id)
        return sorted((row["label"] for row in rows), key=str.casefold)

    def all(self) -> dict[str, list[str]]:
        """The groups in alphabetical order, each with the ids of its documents."""
        groups: dict[str, list[str]] = {}
        for row in self.dump():
            groups.setdefault(row["label"], []).append(row["file_id"])
        return {label: groups[label] for label in sorted(groups, key=str.casefold)}

    def dump(self) -> Iterator[dict[str, str]]:
        """All pairs of a document and a group, as plain values for `restore`."""
        for row in self._read("SELECT file_id, label FROM document_groups ORDER BY label, file_id"):
            yield {"file_id": row["file_id"], "label": row["label"]}

    def restore(self, row: Mapping[str, str], file_ids: Mapping[str, str]) -> None:
        """Add a document to a group, see `CopiedGroup`. `file_ids`: the new ids of the files; others are
        ignored."""
        if label := _normalize(row["label"]):
            self._change(_INSERT, label, file_ids.get(row["file_id"], ""))


def _normalize(label: str) -> str:
    return writable(" ".join(label.split()))[:LABEL_CHARS].rstrip()
