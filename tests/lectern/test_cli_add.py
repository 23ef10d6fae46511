"""What may be added from a terminal: whatever its account may read."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from lectern import cli
from lectern.library import Library
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.errors import ConfigError, InputError
from tests.ragcore.readers.web.test_download import PAGE, Site


def test_add_distinguishes_files_folders_links_and_databases(tmp_path: Path) -> None:
    import sqlite3

    site = Site()
    folder = tmp_path / "papers"
    (folder / "below").mkdir(parents=True)
    note = folder / "below" / "note.md"
    note.write_text("# Note\n\nThe harbour was built in 1902.")
    with closing(sqlite3.connect(tmp_path / "a.db")) as database:
        database.execute("CREATE TABLE peaks (id INTEGER, name TEXT)")
        database.execute("INSERT INTO peaks VALUES (1, 'Grey')")
        database.commit()
    address = f"sqlite:///{tmp_path / 'a.db'}"
    with closing(Library(tmp_path / "library", embedder=HashEmbedding())) as library:
        try:
            found = [
                file.name
                for what, query in (
                    (site.page("/", PAGE), None),
                    (str(folder), None),
                    (str(note), None),
                    (address, "SELECT * FROM peaks"),
                )
                for file in cli.read_source(library, what, query)
            ]
        finally:
            site.server.shutdown()
            site.server.server_close()
        assert found == ["Öffnung: der die Bahn.html", "note.md", "note.md", "peaks from a.txt"]
        assert note.exists()  # a copy is taken in
        with pytest.raises(ConfigError, match=r"There is no file .*nowhere"):
            list(cli.read_source(library, str(tmp_path / "nowhere"), None))
        with pytest.raises(InputError, match="has a password in it"):
            list(cli.read_source(library, "https://ann:hush@example.org/", None))
