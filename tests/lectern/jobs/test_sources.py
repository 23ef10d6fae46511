"""Documents from elsewhere: each becomes a file of the library, replaces what came from there before, and
none leads further than it may."""

from __future__ import annotations

import gc
import shutil
import socket
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import ModuleType
from typing import IO

import pytest

from lectern.jobs import sources
from lectern.jobs.file_rows import Stage
from lectern.library import Library
from lectern.settings import AllowedSources, allowed_sources
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.errors import ConfigError, InputError, TooLargeError
from ragcore.readers.database import SILENT_SECONDS
from tests.ragcore.readers.web.test_download import PAGE, Site

NOTHING = AllowedSources()
INSIDE = AllowedSources(private_network=True)


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    with closing(Library(tmp_path / "library", embedder=HashEmbedding())) as library:
        yield library


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as site:
        yield site


def text_of(library: Library, name: str) -> str:
    (file,) = (file for file in library.files.all() if file.name == name)
    return library.files.location(file).read_text("utf-8-sig")


def add_link(library: Library, link: str) -> str:
    (added,) = library.intake.take([sources.from_link(link, library.incoming, INSIDE, max_mb=5)])
    return added.outcome


def test_same_link_replaces_its_file_under_a_new_title(library: Library, site: Site) -> None:
    link = site.page("/", PAGE)
    assert add_link(library, link) == "added"
    (before,) = library.files.all()
    assert (before.origin, before.name) == (link, "Öffnung: der die Bahn.html")
    assert add_link(library, link) == "duplicate"
    site.page("/", PAGE.replace("Öffnung", "Eröffnung"))
    assert add_link(library, link) == "replaced"
    (after,) = library.files.all()
    assert (after.id, after.name) == (before.id, "Eröffnung: der die Bahn.html")


def test_two_links_with_the_same_title_are_two_files(library: Library, site: Site) -> None:
    for path in ("/a", "/b", "/c"):
        assert add_link(library, site.page(path, f"<title>Home</title><p>{path}</p>")) == "added"
    assert sorted(file.name for file in library.files.all()) == [
        "Home (2).html",
        "Home (3).html",
        "Home.html",
    ]
    own = library.incoming / "own"
    own.write_text("<p>My own.")
    assert library.intake.add(own, "Home.html").outcome == "replaced"  # a person's own file goes by its name


def test_a_link_into_the_network_is_refused_unless_allowed(library: Library, site: Site) -> None:
    link = site.page("/", PAGE)
    with pytest.raises(InputError, match="is an address of this computer"):
        sources.from_link(link, library.incoming, NOTHING, max_mb=5)
    with pytest.raises(TooLargeError):
        sources.from_link(
            site.page("/large", b"x" * 1_000_001, "text/plain"), library.incoming, INSIDE, max_mb=1
        )
    assert site.asked == [("/large", f"127.0.0.1:{site.port}")]
    assert list(library.incoming.iterdir()) == []


def test_pasted_text_is_called_by_its_first_words(library: Library) -> None:
    def add(text: str, title: str = "") -> tuple[str, str]:
        (added,) = library.intake.take([sources.from_text(text, title, library.incoming)])
        return added.file.name, added.outcome

    assert add("The harbour was built in 1902.\n\nIt has a wall.") == (
        "The harbour was built in 1902. It has a wall.txt",
        "added",
    )
    assert add("word " * 30)[0] == "word word word word word word word word word word word word.txt"
    assert add("word " * 31)[0].endswith("word (2).txt")  # begins alike, and is another text
    assert add("One.", "../My: notes") == ("My: notes.txt", "added")
    assert add("Two.", "../My: notes") == ("My: notes.txt", "replaced")
    with pytest.raises(InputError, match="no text"):
        sources.from_text(" \n", "Title", library.incoming)


def test_a_folder_gives_its_documents_and_nothing_outside_it(library: Library, tmp_path: Path) -> None:
    root, outside = tmp_path / "shared", tmp_path / "secret.txt"
    (root / "below").mkdir(parents=True)
    outside.write_text("secret")
    for name in ("a.md", "below/a.md", ".hidden.md"):
        (root / name).write_text(f"# {name}")
    (root / "picture.xyz").write_bytes(bytes(range(256)))
    (root / "link.txt").symlink_to(outside)
    (root / "inner.txt").symlink_to(root / "a.md")
    allowed = AllowedSources(folders=(root,))
    assert len(library.intake.take(sources.from_folder(str(root), library.incoming, allowed, max_mb=5))) == 3
    files = {file.name: file for file in library.files.all()}
    assert sorted(files) == ["a (2).md", "a.md", "link.txt", "shared"]
    assert files["shared"].problem is not None
    assert files["shared"].problem.what == (
        "One file in shared was skipped, as it is hidden: .hidden.md."
        " One file in shared was skipped, as it is of a type that cannot be read: picture.xyz."
    )
    assert files["link.txt"].stage is Stage.FAILED
    assert "link that leads out of its folder" in str(files["link.txt"].problem)
    (root / "below" / "a.md").write_text("# changed")
    assert [
        added.outcome
        for added in library.intake.take(
            sources.from_folder(str(root / "below"), library.incoming, allowed, max_mb=5)
        )
    ] == ["replaced"]
    assert text_of(library, "a (2).md") == "# changed"


@pytest.mark.parametrize("place", ["", "..", "../other", "link", "nowhere", "/etc", "a.md", "\0"])
def test_forbidden_folder_is_refused_like_a_missing_one(tmp_path: Path, place: str) -> None:
    root = tmp_path / "shared"
    (tmp_path / "other").mkdir()
    root.mkdir()
    (root / "a.md").write_text("text")
    (root / "link").symlink_to(tmp_path / "other")
    given = str(root / place) if place else str(tmp_path)
    with pytest.raises(InputError, match="is not among the folders"):
        list(sources.from_folder(given, tmp_path, AllowedSources(folders=(root,)), max_mb=5))
    with pytest.raises(InputError, match="is not among the folders"):
        list(sources.from_folder(str(root), tmp_path, NOTHING, max_mb=5))


def test_what_is_allowed_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LECTERN_FOLDERS", "LECTERN_STORAGE", "LECTERN_PRIVATE_NETWORK"):
        monkeypatch.delenv(name, raising=False)
    assert allowed_sources() == NOTHING
    monkeypatch.setenv("LECTERN_FOLDERS", "/srv/one:/srv/two")
    monkeypatch.setenv("LECTERN_STORAGE", "s3://a/, gs://b")
    monkeypatch.setenv("LECTERN_PRIVATE_NETWORK", "allow")
    assert allowed_sources() == AllowedSources(
        folders=(Path("/srv/one"), Path("/srv/two")), storage=("s3://a/", "gs://b"), private_network=True
    )


@pytest.fixture
def database(tmp_path: Path) -> str:
    sqlalchemy = pytest.importorskip("sqlalchemy")
    (tmp_path / "data").mkdir()
    address = f"sqlite:///{tmp_path / 'data' / 'peaks.db'}"
    engine = sqlalchemy.create_engine(address)
    with engine.begin() as connection:
        connection.execute(
            sqlalchemy.text("CREATE TABLE peaks (id INTEGER, name TEXT, height REAL, note TEXT)")
        )
        connection.execute(
            sqlalchemy.text(
                "INSERT INTO peaks VALUES (1, 'Grey', 940.5, NULL), (2, 'Black', 871, 'steep; wet')"
            )
        )
    engine.dispose()
    return address


def query(library: Library, address: str, sql: str, allowed: AllowedSources) -> str:
    (added,) = library.intake.take([sources.from_database(address, sql, library.incoming, allowed, max_mb=5)])
    return added.outcome


def test_every_row_of_a_query_says_what_its_values_are(
    library: Library, tmp_path: Path, database: str
) -> None:
    allowed = AllowedSources(folders=(tmp_path / "data",))
    assert query(library, database, "SELECT * FROM peaks ORDER BY id;", allowed) == "added"
    assert text_of(library, "peaks from peaks.txt").split("\n\n")[1:3] == [
        "id: 1; name: Grey; height: 940.5",
        "id: 2; name: Black; height: 871.0; note: steep; wet",
    ]
    assert query(library, database, "SELECT *  FROM peaks\nORDER BY id", allowed) == "duplicate"
    import sqlite3

    with closing(sqlite3.connect(tmp_path / "data" / "peaks.db")) as changing, changing:
        changing.execute("INSERT INTO peaks VALUES (3, 'White', 1200, NULL)")
    assert query(library, database, "SELECT * FROM peaks ORDER BY id", allowed) == "replaced"
    assert len(library.files.all()) == 1


@pytest.mark.parametrize(
    "sql", ["DELETE FROM peaks", "SELECT 1; DELETE FROM peaks", "PRAGMA query_only = OFF", "", "WITH x AS"]
)
def test_a_database_gets_only_reading_statements(
    library: Library, tmp_path: Path, database: str, sql: str
) -> None:
    before = (tmp_path / "data" / "peaks.db").read_bytes()
    with pytest.raises(InputError):
        query(library, database, sql, AllowedSources(folders=(tmp_path,)))
    assert (tmp_path / "data" / "peaks.db").read_bytes() == before
    assert list(library.incoming.iterdir()) == []


def test_a_query_that_writes_in_disguise_writes_nothing(
    library: Library, tmp_path: Path, database: str
) -> None:
    with pytest.raises(InputError, match="readonly"):
        query(
            library,
            database,
            "WITH n AS (SELECT 9) INSERT INTO peaks (id) SELECT * FROM n",
            AllowedSources(folders=(tmp_path,)),
        )


def test_a_kind_of_database_that_reads_any_file_is_refused() -> None:
    sqlalchemy = pytest.importorskip("sqlalchemy")
    with pytest.raises(InputError, match="type duckdb cannot be read"):
        sources._check_server(
            sqlalchemy.make_url("duckdb://8.8.8.8/:memory:"), AllowedSources(private_network=True)
        )


def test_a_query_without_end_is_ended(
    monkeypatch: pytest.MonkeyPatch, library: Library, tmp_path: Path, database: str
) -> None:
    monkeypatch.setattr("ragcore.readers.database.SECONDS", 0.1)
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    with pytest.raises(InputError, match="interrupted"):
        query(library, database, endless, AllowedSources(folders=(tmp_path,)))


def test_a_query_may_have_colons_in_its_texts(library: Library, tmp_path: Path, database: str) -> None:
    sql = """SELECT '{"a":1}' AS a, ' :b' AS b, '::c' AS c, ':d:' AS d"""
    assert query(library, database, sql, AllowedSources(folders=(tmp_path,))) == "added"
    assert text_of(library, "rows from peaks.txt").split("\n\n")[1] == 'a: {"a":1}; b: :b; c: ::c; d: :d:'


def test_a_database_is_read_only_where_files_and_links_may_lead(
    library: Library, tmp_path: Path, database: str
) -> None:
    for address in (database, "sqlite://", "sqlite:////etc/passwd"):
        with pytest.raises(InputError, match="is not among the files"):
            query(library, address, "SELECT 1", AllowedSources(folders=(tmp_path / "other",)))
    for address, said in (
        ("postgresql+pg8000://ann:hush@127.0.0.1/db", "is this computer or in its network"),
        ("postgresql+pg8000://ann:hush@[::1]/db", "is this computer or in its network"),
        ("postgresql+pg8000:///db", "and nothing else"),
        ("postgresql+pg8000://ann:hush@8.8.8.8/db?unix_sock=/run/x", "and nothing else"),
    ):
        with pytest.raises(InputError, match=said) as caught:
            query(library, address, "SELECT 1", NOTHING)
        assert "hush" not in caught.value.what + caught.value.hint
    at_home = AllowedSources(folders=(tmp_path,), private_network=True)
    with pytest.raises(InputError, match="and nothing else"):
        query(library, "postgresql+pg8000://ann:hush@127.0.0.1/db?unix_sock=/run/x", "SELECT 1", at_home)
    with pytest.raises(ConfigError, match="cannot be understood"):
        query(library, "my database", "SELECT 1", NOTHING)


@pytest.mark.parametrize(
    ("driver", "named"),
    [("postgresql+pg8000", "host"), ("mysql+pymysql", "host"), ("postgresql+psycopg2", "hostaddr")],
)
def test_checked_database_address_is_the_one_connected_to(
    library: Library, monkeypatch: pytest.MonkeyPatch, driver: str, named: str
) -> None:
    """And no other that the name stands for a moment later."""
    pytest.importorskip("sqlalchemy")
    given: list[dict[str, object]] = []

    class Driver(ModuleType):
        __version__, paramstyle = "9.9.9", "pyformat"
        Error = InterfaceError = InternalError = OperationalError = ProgrammingError = OSError
        extras = extensions = ModuleType("more")

        def connect(self, **parameters: object) -> None:
            given.append(parameters)
            raise OSError("not today")

    monkeypatch.setitem(sys.modules, driver.partition("+")[2], Driver(driver))
    addresses = iter(["8.8.8.8", "127.0.0.1"])
    monkeypatch.setattr(
        socket,
        "getaddrinfo",
        lambda *_args, **_more: [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (next(addresses), 0))],
    )
    with pytest.raises(InputError, match="not today"):
        query(library, f"{driver}://ann:hush@db.example/db", "SELECT 1", NOTHING)
    assert [parameters[named] for parameters in given] == ["8.8.8.8"]
    assert SILENT_SECONDS in given[0].values()


# pg8000 leaves its socket to the collector
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_silent_database_is_abandoned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pg8000")
    monkeypatch.setattr("ragcore.readers.database.SILENT_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"postgresql+pg8000://ann:hush@127.0.0.1:{silent.getsockname()[1]}/db"
        with pytest.raises(InputError, match=r"did not respond for 0\.2 seconds"):
            sources.from_database(address, "SELECT 1", tmp_path, INSIDE, max_mb=5)
    gc.collect()


@pytest.mark.parametrize(
    ("sql", "row"),
    [
        ("SELECT 'a; b' AS x, 1 AS y", "x: a; b; y: 1"),
        ("SELECT 'it''s; so' AS x, 1 AS y;", "x: it's; so; y: 1"),
        ("""SELECT 'b"c;' AS "x;y", 1 AS z""", 'x;y: b"c;; z: 1'),
    ],
)
def test_a_query_may_have_semicolons_in_its_texts(
    library: Library, tmp_path: Path, database: str, sql: str, row: str
) -> None:
    assert query(library, database, sql, AllowedSources(folders=(tmp_path,))) == "added"
    assert text_of(library, "rows from peaks.txt").split("\n\n")[1] == row


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 'a; b'; DROP TABLE peaks",
        "SELECT 1 -- '\n; DROP TABLE peaks -- '",
        "SELECT 1 /* ' */; DROP TABLE peaks /* ' */",
        "SELECT 1 # '\n; DROP TABLE peaks # '",
        "SELECT 'a\\' AND '; DROP TABLE peaks; SELECT '",
        'SELECT "a\\" AND "; DROP TABLE peaks; SELECT "',
        "SELECT 'a\\\\'; DROP TABLE peaks; SELECT 'b'",
        "SELECT `a'`; DROP TABLE peaks; SELECT `'`",
        "SELECT $$'$$; DROP TABLE peaks; SELECT $$'$$",
        "SELECT 'a; DROP TABLE peaks",
    ],
)
def test_second_statement_is_refused_wherever_text_seems_to_end(sql: str, tmp_path: Path) -> None:
    """Not every database takes the same for a text or a comment."""
    with pytest.raises(InputError, match="Only queries that read"):
        sources.from_database("postgresql+pg8000://ann@8.8.8.8/db", sql, tmp_path, NOTHING, max_mb=5)


@pytest.fixture
def storage() -> Iterator[str]:
    fsspec = pytest.importorskip("fsspec")
    files = fsspec.filesystem("memory")
    for name, content in (("a.md", b"# One"), ("below/b.txt", b"Two."), ("c.xyz", b"\0\1\2")):
        files.pipe(f"/reports/{name}", content)
    files.pipe("/secret/d.md", b"secret")
    yield "memory://reports"
    files.rm("/reports", recursive=True)
    files.rm("/secret", recursive=True)


def test_a_storage_gives_its_documents(library: Library, storage: str) -> None:
    allowed = AllowedSources(storage=("memory://reports/",))
    added = library.intake.take(sources.from_storage(storage, library.incoming, allowed, max_mb=5))
    assert sorted((each.file.name, each.file.origin) for each in added) == [
        ("a.md", "memory://reports/a.md"),
        ("b.txt", "memory://reports/below/b.txt"),
    ]
    (again,) = library.intake.take(
        sources.from_storage(f"{storage}/a.md", library.incoming, allowed, max_mb=5)
    )
    assert again.outcome == "duplicate"
    with pytest.raises(InputError, match="no documents at"):
        library.intake.take(sources.from_storage(f"{storage}/nowhere", library.incoming, allowed, max_mb=5))


def test_interrupted_storage_file_is_named_and_others_arrive(
    library: Library, storage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = shutil.copyfileobj

    def half_of_the_first(source: IO[bytes], target: IO[bytes]) -> None:
        if not first:
            first.append(target.write(source.read(1)))
            raise OSError("the connection was lost")
        whole(source, target)

    first: list[int] = []
    monkeypatch.setattr(shutil, "copyfileobj", half_of_the_first)
    gathered = list(sources.from_storage(storage, tmp_path, AllowedSources(storage=(storage,)), max_mb=5))
    assert [str(each.problem and each.problem.what) for each in gathered] == [
        "memory://reports/a.md could not be read: the connection was lost.",
        "None",
        "One file in reports was skipped, as it is of a type that cannot be read: c.xyz.",
    ]
    assert [path for path in tmp_path.iterdir() if path.is_file()] == [gathered[1].path]
    assert [added.file.name for added in library.intake.take(gathered)] == ["b.txt"]
    assert {failed.name for failed in library.files.all(Stage.FAILED)} == {"a.md", "reports"}


def test_file_deleted_from_storage_before_its_turn_is_named(storage: str, tmp_path: Path) -> None:
    import fsspec

    gathering = sources.from_storage(storage, tmp_path, AllowedSources(storage=(storage,)), max_mb=5)
    assert next(gathering).problem is None
    fsspec.filesystem("memory").rm("/reports/below/b.txt")
    gone, _passed_over = gathering
    assert gone.problem is not None
    assert gone.problem.what.startswith("memory://reports/below/b.txt could not be read: ")


@pytest.mark.parametrize(
    "address",
    ["memory://secret/d.md", "memory://reports/../secret/d.md", "memory://reportsandmore", "s3://x"],
)
def test_a_storage_that_is_not_allowed_is_refused(tmp_path: Path, storage: str, address: str) -> None:
    with pytest.raises(InputError, match="may not be read here"):
        list(sources.from_storage(address, tmp_path, AllowedSources(storage=(storage,)), max_mb=5))


@pytest.mark.parametrize(
    "address",
    ["file:///etc/passwd", "local:///etc", "/etc", "simplecache::memory://reports", "ftp://x/y", "http://x"],
)
def test_what_is_no_storage_is_refused_whatever_is_allowed(tmp_path: Path, address: str) -> None:
    with pytest.raises(InputError, match="is not the address of a storage"):
        list(
            sources.from_storage(
                address, tmp_path, AllowedSources(storage=("file:///", "local:///", address)), max_mb=5
            )
        )


def test_what_is_too_large_is_not_even_copied(library: Library, tmp_path: Path, storage: str) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "large.md").write_bytes(b"x" * 1_000_001)
    fsspec = pytest.importorskip("fsspec")
    fsspec.filesystem("memory").pipe("/reports/vast.md", b"x" * 1_000_001)
    allowed = AllowedSources(folders=(tmp_path,), storage=(storage,))
    gathered = [
        *sources.from_folder(str(tmp_path / "shared"), library.incoming, allowed, max_mb=1),
        *sources.from_storage(f"{storage}/vast.md", library.incoming, allowed, max_mb=1),
    ]
    assert [type(each.problem) for each in gathered] == [TooLargeError, TooLargeError]
    assert list(library.incoming.iterdir()) == []
    assert library.intake.take(gathered) == []
    assert sorted(file.name for file in library.files.all()) == ["large.md", "vast.md"]
