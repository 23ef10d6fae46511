"""Web links whose files are to be fetched. Each is a row among the files until its file has a row of its
own."""

from __future__ import annotations

from dataclasses import dataclass

from lectern.db.tables import Tables
from lectern.jobs.file_rows import OF_LINK, WORKING, FileRow, Lane, Stage, queue_row, require_row
from ragcore.schema import new_id
from ragcore.sql.base import Connection, writable

LINKS_TABLE = """
CREATE TABLE IF NOT EXISTS links (
    file_id TEXT PRIMARY KEY,        -- of a row without bytes, whose file is to be fetched
    link TEXT NOT NULL,
    anywhere INTEGER NOT NULL        -- 1 if it may lead to this machine and the local network
);
"""


@dataclass(frozen=True, slots=True)
class Link:
    """A web link whose file is to be fetched; `anywhere`: also from this machine and the local network."""

    address: str
    anywhere: bool


class Links(Tables):
    """The queued links, in the tables of files."""

    def add(self, link: Link) -> FileRow:
        """Queue a web link, in a row with the link as its name. The fetched file gets a row of its own. A
        link that is added again while it has a row is fetched again."""
        name = writable(link.address)
        with self._database.transaction() as db:
            row = db.execute(
                "SELECT id, stage, stop_asked FROM files WHERE name = ? AND path = ''", (name,)
            ).fetchone()
            file_id = row["id"] if row else new_id()[:16]
            if row is None:
                db.execute(
                    "INSERT INTO files (id, name, path, hash, size, lane, added, stage)"
                    " VALUES (?, ?, '', ?, 0, ?, ?, 'queued')",
                    (file_id, name, f"{OF_LINK}{file_id}", Lane.LINK, self._clock()),
                )
            elif Stage(row["stage"]) not in WORKING or row["stop_asked"]:
                queue_row(db, file_id, anew=True)
            db.execute(
                "INSERT INTO links (file_id, link, anywhere) VALUES (?, ?, ?)"
                " ON CONFLICT (file_id) DO UPDATE SET anywhere = excluded.anywhere",
                (file_id, name, int(link.anywhere)),
            )
            return require_row(db, file_id, self._clock())

    def get(self, file_id: str) -> Link | None:
        """The link of a row; None for the row of a file."""
        row = self._read_one("SELECT link, anywhere FROM links WHERE file_id = ?", file_id)
        return Link(row["link"], bool(row["anywhere"])) if row else None


def forget_link(db: Connection, file_id: str) -> None:
    """Delete the link of a row, in the caller's transaction."""
    db.execute("DELETE FROM links WHERE file_id = ?", (file_id,))


def move_links(db: Connection) -> None:
    """Move links into their lane: a library of an earlier version has them in the lanes of files."""
    db.execute(
        "UPDATE files SET lane = ? WHERE lane != ? AND id IN (SELECT file_id FROM links)",
        (Lane.LINK, Lane.LINK),
    )
