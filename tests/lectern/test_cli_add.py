"""What may be added from a terminal: whatever its account may read."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from lectern import cli
from lectern.library import Library
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.errors import ConfigError, InputError, TooLargeError
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


def test_text_over_the_limit_is_said_at_once_and_not_copied(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "huge.log"
    path.write_text("a line of a log\n" * 70_000)
    where = tmp_path / "library"
    with closing(Library(where, embedder=HashEmbedding())) as library:
        ingest = library.settings.ingest.model_copy(update={"max_text_mb": 1})
        library.update_settings(library.settings.model_copy(update={"ingest": ingest}))
        (source,) = cli.read_source(library, str(path), None)
        assert source.problem is not None
        assert list(library.incoming.iterdir()) == []
    assert cli.main(["--library", str(where), "add", str(path)]) == 1
    assert capsys.readouterr().out == (
        "huge.log has more than 1 MB of text, the limit for one file. "
        "Split it into several files, or raise the limit in Settings. Then add it again.\n"
    )


def test_a_query_over_the_limit_of_text_ends_at_the_limit(tmp_path: Path) -> None:
    import sqlite3

    with closing(sqlite3.connect(tmp_path / "a.db")) as database:
        database.execute("CREATE TABLE peaks (name TEXT)")
        database.executemany("INSERT INTO peaks VALUES (?)", [("x" * 1_000,)] * 1_500)
        database.commit()
    query = "SELECT * FROM peaks"
    with closing(Library(tmp_path / "library", embedder=HashEmbedding())) as library:
        ingest = library.settings.ingest.model_copy(update={"max_text_mb": 1})
        library.update_settings(library.settings.model_copy(update={"ingest": ingest}))
        with pytest.raises(TooLargeError, match="more than 1 MB of text"):
            list(cli.read_source(library, f"sqlite:///{tmp_path / 'a.db'}", query))
