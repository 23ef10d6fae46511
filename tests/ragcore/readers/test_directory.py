"""SimpleDirectoryReader: which files, what each document says of itself, and what becomes of files that
cannot be read."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from datetime import UTC, datetime
from pathlib import Path

import fsspec
import pytest

from ragcore.errors import DamagedFileError, MissingPackageError, UnreadableFileError
from ragcore.readers import SimpleDirectoryReader
from ragcore.schema import Document, MetadataMode
from tests.making import make_docx, make_eml, make_ipynb, make_json, make_pdf

FILES = (
    "b.txt",
    "a.md",
    "A.TXT",
    ".hidden.txt",
    "empty.txt",
    "sub/c.txt",
    "sub/deep/d.md",
    ".git/e.txt",
    "sub/.f.txt",
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in FILES:
        path = tmp_path / "data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("" if name == "empty.txt" else f"The text of {name}.")
    return tmp_path / "data"


def names(folder: Path, **options: object) -> list[str]:
    reader = SimpleDirectoryReader(folder, **options)  # type: ignore[arg-type]
    return [Path(path).relative_to(folder).as_posix() for path in reader.list_resources()]


@pytest.mark.smoke
def test_folder_files_alone_are_read_in_path_order(folder: Path) -> None:
    assert names(folder) == ["A.TXT", "a.md", "b.txt", "empty.txt"]
    assert names(folder, exclude_empty=True) == ["A.TXT", "a.md", "b.txt"]
    documents = SimpleDirectoryReader(folder, exclude_empty=True).load_data()
    assert [document.text for document in documents] == [
        "The text of A.TXT.",
        "The text of a.md.",
        "The text of b.txt.",
    ]


def test_with_recursive_those_below_are_too(folder: Path) -> None:
    assert names(folder, recursive=True) == [
        "A.TXT",
        "a.md",
        "b.txt",
        "empty.txt",
        "sub/c.txt",
        "sub/deep/d.md",
    ]


def test_a_folder_s_files_stand_together_whatever_its_name(tmp_path: Path) -> None:
    for name in ("a/x.txt", "a b/x.txt", "a.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    assert names(tmp_path, recursive=True) == ["a/x.txt", "a b/x.txt", "a.txt"]


def test_hidden_means_a_leading_full_stop_in_file_or_folder(folder: Path) -> None:
    assert set(names(folder, recursive=True, exclude_hidden=False)) == set(FILES)
    inside = folder.parent / ".app" / "data"
    inside.mkdir(parents=True)
    inside.joinpath("x.txt").write_text("x")
    assert names(inside) == ["x.txt"]  # where the folder itself is does not count


@pytest.mark.parametrize("given", ["../other/../data", "as it is", "link"])
@pytest.mark.parametrize("excluded", ["../other/../data", "as it is", "link"])
def test_full_path_excludes_however_it_is_written(
    folder: Path, given: str, excluded: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder.parent / "other").mkdir()
    (folder.parent / "elsewhere.txt").write_text("elsewhere")
    (folder / "z.txt").symlink_to(folder.parent / "elsewhere.txt")
    (folder.parent / "link").symlink_to(folder)
    monkeypatch.chdir(folder.parent / "other")
    forms = {"../other/../data": Path("../other/../data"), "as it is": folder, "link": folder.parent / "link"}
    exclude = [f"{forms[excluded].absolute()}/{name}" for name in ("z.txt", "b.txt", "*.md", "sub/deep")]
    reader = SimpleDirectoryReader(forms[given], exclude=exclude, recursive=True)
    assert [Path(path).name for path in reader.list_resources()] == ["A.TXT", "empty.txt", "c.txt"]


@pytest.mark.parametrize(
    ("exclude", "recursive", "left"),
    [
        (["*.md"], False, ["A.TXT", "b.txt", "empty.txt"]),
        (["*.md"], True, ["A.TXT", "b.txt", "empty.txt", "sub/c.txt"]),
        (["sub"], True, ["A.TXT", "a.md", "b.txt", "empty.txt"]),
        (["deep"], True, ["A.TXT", "a.md", "b.txt", "empty.txt", "sub/c.txt"]),
        (["sub/*.txt", "?.md"], True, ["A.TXT", "b.txt", "empty.txt"]),
        (["**/d.*", "[ab].*"], True, ["A.TXT", "empty.txt", "sub/c.txt"]),
        ([Path("sub/deep")], True, ["A.TXT", "a.md", "b.txt", "empty.txt", "sub/c.txt"]),
        (["[!ab].*"], True, ["a.md", "b.txt", "empty.txt"]),
        (["s*.md"], True, ["A.TXT", "a.md", "b.txt", "empty.txt", "sub/c.txt", "sub/deep/d.md"]),
        (["*.TX", "d", "b"], True, ["A.TXT", "a.md", "b.txt", "empty.txt", "sub/c.txt", "sub/deep/d.md"]),
        (["./a.md", "sub/./deep/"], True, ["A.TXT", "b.txt", "empty.txt", "sub/c.txt"]),
    ],
)
def test_excluded_files_and_folders_are_skipped(
    folder: Path, exclude: list[str], recursive: bool, left: list[str]
) -> None:
    assert names(folder, exclude=exclude, recursive=recursive) == left


def test_a_full_path_excludes_that_file_or_folder_alone(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.joinpath("sub/a.md").write_text("another")
    exclude = [folder / "a.md", str(folder / "sub" / "*.txt"), f"{folder / 'sub/deep'}/"]
    assert names(folder, exclude=exclude, recursive=True) == ["A.TXT", "b.txt", "empty.txt", "sub/a.md"]
    monkeypatch.chdir(folder)
    files = fsspec.filesystem("file")
    for reader in (
        SimpleDirectoryReader(".", exclude=exclude, recursive=True),
        SimpleDirectoryReader(".", exclude=exclude, recursive=True, fs=files),
    ):
        assert [Path(path).absolute().relative_to(folder).as_posix() for path in reader.list_resources()] == [
            "A.TXT",
            "b.txt",
            "empty.txt",
            "sub/a.md",
        ]


def test_parent_folders_do_not_count_for_exclusion(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside = folder.parent / ".app" / "h1" / "data"
    inside.mkdir(parents=True)
    inside.joinpath("x.txt").write_text("x")
    for place, given in ((inside, "."), (inside.parent, "data")):
        monkeypatch.chdir(place)
        reader = SimpleDirectoryReader(given, fs=fsspec.filesystem("file"), exclude=["h1", "h1/data"])
        assert reader.list_resources() == [str(inside / "x.txt")]


def test_suffixes_and_a_limit_select_among_the_other_files(folder: Path) -> None:
    assert names(folder, required_exts=[".txt"]) == ["A.TXT", "b.txt", "empty.txt"]
    assert names(folder, required_exts=["md"], recursive=True) == ["a.md", "sub/deep/d.md"]
    assert names(folder, required_exts=[".txt"], exclude_empty=True, num_files_limit=2) == ["A.TXT", "b.txt"]
    assert names(folder, required_exts=[".md"], recursive=True, num_files_limit=1) == ["a.md"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "give input_dir, a folder, or input_files"),
        ({"input_dir": "nowhere"}, "Directory nowhere does not exist."),
        ({"input_files": ["b.txt", "gone.txt"]}, "File gone.txt does not exist."),
        ({"input_dir": ".", "required_exts": [".xyz"]}, "No files found in ."),
        ({"input_dir": ".", "num_files_limit": 0}, "num_files_limit is 0"),
        ({"input_dir": ".", "errors": "silent"}, "errors is 'silent'"),
        ({"input_dir": ".", "encoding": "utf-9"}, "encoding is 'utf-9'"),
        ({"input_dir": ".", "exclude": "*.md"}, "exclude is '[*].md'; it must be a list"),
        ({"input_dir": ".", "required_exts": ".md"}, "required_exts is '.md'; it must be a list"),
        ({"input_files": "b.txt"}, "input_files is 'b.txt'; it must be a list"),
    ],
)
def test_a_missing_file_or_folder_is_reported_at_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, object], said: str
) -> None:
    monkeypatch.chdir(folder)
    with pytest.raises(ValueError, match=said):
        SimpleDirectoryReader(**options)  # type: ignore[arg-type]


def test_document_records_its_origin_and_shows_only_its_path(folder: Path) -> None:
    path = folder / "b.txt"
    os.utime(path, (0, 86_400 * 365 - 1))  # the last second of 1970, in UTC
    (document,) = SimpleDirectoryReader(input_files=[path]).load_data()
    assert dict(document.metadata) == {
        "file_path": str(path),
        "file_name": "b.txt",
        "file_type": "text/plain",
        "file_size": len("The text of b.txt."),
        "creation_date": datetime.now(UTC).date().isoformat(),
        "last_modified_date": "1970-12-31",
    }
    for mode in (MetadataMode.EMBED, MetadataMode.LLM):
        assert document.get_content(mode) == f"file_path: {path}\n\nThe text of b.txt."


def test_unknown_metadata_of_a_file_is_omitted(tmp_path: Path) -> None:
    path = tmp_path / "notes.unheard-of"
    path.write_text("words")
    (document,) = SimpleDirectoryReader(tmp_path).load_data()
    assert "file_type" not in document.metadata
    assert document.text == "words"


def test_every_format_is_read_by_its_reader_into_one_document(tmp_path: Path) -> None:
    make_pdf(tmp_path / "a.pdf", ["First page.", "Second page."], title="Pages")
    make_docx(tmp_path / "b.docx", ["A paragraph."])
    make_json(tmp_path / "c.json", {"station": "Cliff Top"})
    make_ipynb(tmp_path / "d.ipynb", [("markdown", "A note.")])
    make_eml(tmp_path / "e.eml", "A message.")
    documents = SimpleDirectoryReader(tmp_path).load_data()
    expected = ("First page.", "A paragraph.", "station: Cliff Top", "A note.", "A message.")
    assert all(words in document.text for words, document in zip(expected, documents, strict=True))
    assert [page.label for page in documents[0].pages] == ["1", "2"]
    assert documents[0].metadata["title"] == "Pages"
    assert "Pages" not in documents[0].get_content(MetadataMode.EMBED)


def test_ids_are_random_or_the_path(folder: Path) -> None:
    (one,), (two,) = (SimpleDirectoryReader(input_files=[folder / "b.txt"]).load_data() for _ in range(2))
    assert one.id_ != two.id_
    named = SimpleDirectoryReader(folder, filename_as_id=True, exclude_empty=True).load_data()
    assert [document.id_ for document in named] == [str(folder / name) for name in ("A.TXT", "a.md", "b.txt")]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
def test_non_text_file_name_is_stored_in_escaped_form(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for name in (b"\xfe.txt", b"\xff.txt"):
        tmp_path.joinpath(os.fsdecode(name)).write_text("words")
    caplog.set_level(logging.INFO)
    reader = SimpleDirectoryReader(tmp_path, filename_as_id=True)
    documents = reader.load_data(show_progress=True)
    assert [document.id_ for document in documents] == [f"{tmp_path}/\\udcfe.txt", f"{tmp_path}/\\udcff.txt"]
    assert [document.metadata["file_name"] for document in documents] == ["\\udcfe.txt", "\\udcff.txt"]
    for document in documents:
        document.get_content(MetadataMode.ALL).encode("utf-8")
    tmp_path.joinpath(os.fsdecode(b"\xff.txt")).write_bytes(b"")
    reader.load_data()
    assert [problem.what for problem in reader.failures.values()] == ["\\udcff.txt is empty."]
    assert len(caplog.text.encode("utf-8").splitlines()) == 3


def by_line(path: Path) -> list[Document]:
    return [Document(line, metadata={"line": line, "file_name": "?"}) for line in path.read_text().split()]


class ByLine:
    def load_data(self, path: Path) -> list[Document]:
        return by_line(path)


@pytest.mark.parametrize(("ending", "reader"), [(".txt", by_line), ("TXT", ByLine())])
def test_custom_reader_goes_first_and_may_return_many_documents(
    folder: Path, ending: str, reader: object
) -> None:
    options = {ending: reader}
    documents = SimpleDirectoryReader(
        folder, file_extractor=options, filename_as_id=True, exclude=["b.txt"]
    ).load_data()  # type: ignore[arg-type]
    path = str(folder / "A.TXT")
    assert [document.id_ for document in documents[:4]] == [f"{path}_part_{number}" for number in range(4)]
    assert [document.text for document in documents] == ["The", "text", "of", "A.TXT.", "The text of a.md."]
    assert documents[0].metadata["file_name"] == "A.TXT"
    assert documents[0].get_content(MetadataMode.LLM) == f"file_path: {path}\nline: The\n\nThe"


def test_custom_metadata_replaces_ours_and_is_visible(folder: Path) -> None:
    reader = SimpleDirectoryReader(
        folder, file_metadata=lambda path: {"shelf": Path(path).stem}, required_exts=[".md"]
    )
    (document,) = reader.load_data()
    assert document.metadata["shelf"] == "a"
    assert "file_size" not in document.metadata
    assert document.get_content(MetadataMode.EMBED) == "shelf: a\n\nThe text of a.md."


def test_unreadable_files_are_skipped_and_reported(folder: Path) -> None:
    folder.joinpath("bad.pdf").write_bytes(b"%PDF-1.7 nonsense")
    folder.joinpath("c.7z").write_bytes(b"7z\xbc\xaf\x27\x1c" + bytes(99))
    folder.joinpath("d.mp3").write_bytes(b"ID3\x04" + bytes(99))
    reader = SimpleDirectoryReader(folder)
    texts = [document.text for document in reader.load_data()]
    assert texts == ["The text of A.TXT.", "The text of a.md.", "The text of b.txt."]
    failures = {Path(path).name: problem for path, problem in reader.failures.items()}
    assert set(failures) == {"bad.pdf", "c.7z", "d.mp3", "empty.txt"}
    assert "damaged" in failures["bad.pdf"].what
    assert "archive" in failures["c.7z"].what
    assert "sound" in failures["d.mp3"].what
    assert all(problem.hint for problem in failures.values())
    for name in failures:
        folder.joinpath(name).unlink()
    folder.joinpath("bad.pdf").write_text("<html>Mended.</html>")
    for name in ("c.7z", "d.mp3", "empty.txt"):
        folder.joinpath(name).write_text("Mended.")
    assert len(reader.load_data()) == 7
    assert reader.failures == {}  # it is of the last call


def test_with_raise_on_error_the_first_of_them_raises(folder: Path) -> None:
    with pytest.raises(UnreadableFileError, match=r"empty\.txt is empty"):
        SimpleDirectoryReader(folder, raise_on_error=True).load_data()


def broken(path: Path) -> list[Document]:
    raise KeyError("no such cell")


def lacking(path: Path) -> list[Document]:
    raise MissingPackageError("cellar", extra="cellar")


def importing(path: Path) -> list[Document]:
    raise ModuleNotFoundError("No module named 'cellar'")


def strings(path: Path) -> list[Document]:
    return ["", path.read_text()]  # type: ignore[list-item]


def test_custom_reader_errors_are_reported_except_import_errors(folder: Path) -> None:
    reader = SimpleDirectoryReader(folder, file_extractor={".md": broken}, required_exts=[".md"])
    assert reader.load_data() == []
    (problem,) = reader.failures.values()
    assert problem.what == "a.md could not be read: 'no such cell'."
    assert problem.details.startswith("KeyError")
    with pytest.raises(MissingPackageError):
        SimpleDirectoryReader(folder, file_extractor={".md": lacking}).load_data()
    with pytest.raises(ModuleNotFoundError):
        SimpleDirectoryReader(folder, file_extractor={".md": importing}).load_data()


def test_a_custom_reader_without_documents_is_reported(folder: Path) -> None:
    reader = SimpleDirectoryReader(folder, file_extractor={".md": strings}, exclude_empty=True)
    assert [document.text for document in reader.load_data()] == ["The text of A.TXT.", "The text of b.txt."]
    (problem,) = reader.failures.values()
    assert problem.what == "a.md could not be read: it gave a str, which is no Document."


@pytest.mark.parametrize("call", ["open", "info", "modified"])
def test_any_error_of_a_file_system_is_reported_with_the_file(
    cloud: fsspec.AbstractFileSystem, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = getattr(cloud, call)
    reader = SimpleDirectoryReader("bucket", fs=cloud, exclude_empty=True)

    def throttled(path: str, *args: object) -> object:
        if path.endswith("a.md"):
            raise RuntimeError("throttled")
        return whole(path, *args)

    monkeypatch.setattr(cloud, call, throttled)
    assert [document.text for document in reader.load_data()] == ["The text of A.TXT.", "The text of b.txt."]
    assert [problem.what for problem in reader.failures.values()] == ["a.md could not be opened: throttled."]
    with pytest.raises(UnreadableFileError, match="throttled"):
        SimpleDirectoryReader("bucket", fs=cloud, raise_on_error=True).load_data()


def test_other_encoding_is_detected_without_losing_a_byte(tmp_path: Path) -> None:
    text = "Über die Brücke führt ein Weg für müde Füße. " * 5
    tmp_path.joinpath("a.txt").write_bytes(text.encode("cp1252"))
    assert SimpleDirectoryReader(tmp_path).load_data()[0].text == text
    assert SimpleDirectoryReader(tmp_path, encoding="cp1252").load_data()[0].text == text
    assert SimpleDirectoryReader(tmp_path, encoding="ascii").load_data()[0].text == text
    assert SimpleDirectoryReader(tmp_path, errors="replace").load_data()[0].text == text.encode(
        "cp1252"
    ).decode("utf-8", "replace")
    with pytest.raises(DamagedFileError, match="not in the encoding utf-8"):
        SimpleDirectoryReader(tmp_path, errors="strict", raise_on_error=True).load_data()


@pytest.mark.parametrize("encoding", ["UTF-8", "utf8", "U8"])
def test_utf_8_is_the_same_by_each_of_its_names(tmp_path: Path, encoding: str) -> None:
    tmp_path.joinpath("a.txt").write_bytes(("Plain words of a report.\n" * 20).encode("utf-16-le"))
    tmp_path.joinpath("b.txt").write_bytes("これは日本語の文章です。\n".encode("iso2022_jp"))
    (one, other) = SimpleDirectoryReader(tmp_path, encoding=encoding).load_data()
    assert one.text.startswith("Plain words")
    assert other.text.startswith("これは日本語")


def test_a_named_encoding_is_believed_where_every_byte_fits(tmp_path: Path) -> None:
    tmp_path.joinpath("a.txt").write_bytes("¥ ÷".encode("cp437", "replace") + b"\x9d")
    assert SimpleDirectoryReader(tmp_path, encoding="cp437").load_data()[0].text.endswith("¥")


KINDS = {
    "a.txt": "José",
    "a.md": "# José",
    "a.csv": "name,city\nJosé,Málaga",
    "a.json": '["José"]',
    "a.ipynb": '{"cells": [{"cell_type": "markdown", "source": "José"}]}',
    "a.html": '<meta charset="iso-8859-1"><p>José</p>',
    "a.xml": '<?xml version="1.0" encoding="iso-8859-1"?><a>José</a>',
    "a.unheard-of": "José",
}


@pytest.mark.parametrize("name", KINDS)
def test_the_encoding_argument_applies_to_every_kind_of_text(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(KINDS[name].encode("cp437"))

    def text(**options: str) -> str:
        return SimpleDirectoryReader(input_files=[path], raise_on_error=True, **options).load_data()[0].text  # type: ignore[arg-type]

    assert "José" in text(encoding="cp437")
    assert "José" in text(encoding="cp437", errors="strict")
    assert "Jos�" in text(errors="replace")
    with pytest.raises(DamagedFileError, match=rf"{name} is not in the encoding utf-8"):
        text(errors="strict")
    with pytest.raises(DamagedFileError, match=rf"{name} is not in the encoding ascii"):
        text(encoding="ascii", errors="strict")


def test_binary_is_not_text_even_in_a_single_byte_encoding(tmp_path: Path) -> None:
    for name in ("a.txt", "a.unheard-of"):
        tmp_path.joinpath(name).write_bytes(bytes(range(256)) * 20)
    reader = SimpleDirectoryReader(tmp_path, encoding="latin-1")
    assert reader.load_data() == []
    assert [problem.what for problem in reader.failures.values()] == [
        "a.txt is not text: it contains binary data.",
        "a.unheard-of is a .unheard-of file, which cannot be read.",
    ]


def test_one_file_is_read_with_its_options(folder: Path, cloud: fsspec.AbstractFileSystem) -> None:
    load = SimpleDirectoryReader.load_file
    folder.joinpath("b.txt").write_bytes("¥".encode("cp437"))
    assert load(folder / "b.txt", encoding="cp437")[0].text == "¥"
    assert load(folder / "b.txt", errors="replace")[0].text == "�"
    assert load(folder / "a.md", lambda path: {"shelf": Path(path).stem})[0].metadata["shelf"] == "a"
    assert [document.text for document in load(folder / "a.md", file_extractor={"md": by_line})] == [
        "The",
        "text",
        "of",
        "a.md.",
    ]
    assert load("/bucket/a.md", fs=cloud)[0].text == "The text of a.md."


def test_files_come_one_after_the_other_or_singly(folder: Path) -> None:
    reader = SimpleDirectoryReader(folder)
    assert [[document.text for document in documents] for documents in reader.iter_data()] == [
        ["The text of A.TXT."],
        ["The text of a.md."],
        ["The text of b.txt."],
    ]
    assert len(reader.failures) == 1
    path = str(folder / "a.md")
    assert reader.load_resource(path)[0].text == "The text of a.md."
    assert SimpleDirectoryReader.load_file(path, filename_as_id=True)[0].id_ == path
    with pytest.raises(UnreadableFileError, match=r"gone\.md could not be opened"):
        SimpleDirectoryReader.load_file(folder / "gone.md")


def test_parallel_processes_give_the_same_order_and_failures(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    readers = [SimpleDirectoryReader(folder, recursive=True, filename_as_id=True) for _ in range(2)]
    alone, together = readers[0].load_data(), readers[1].load_data(num_workers=2)
    assert [(one.id_, one.text, one.metadata) for one in together] == [
        (one.id_, one.text, one.metadata) for one in alone
    ]
    assert list(readers[1].failures) == list(readers[0].failures) == [str(folder / "empty.txt")]


def process_of(path: str) -> dict[str, int]:
    return {"process": os.getpid()}


def test_with_several_workers_another_process_reads(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    reader = SimpleDirectoryReader(input_files=[folder / "a.md"], file_metadata=process_of)
    assert reader.load_data()[0].metadata["process"] == os.getpid()
    assert reader.load_data(num_workers=2)[0].metadata["process"] != os.getpid()


def test_more_workers_than_processors_are_too_many(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    with pytest.warns(UserWarning, match="num_workers is 7; 1, all processors"):
        # A function without a name could not go to another process.
        documents = SimpleDirectoryReader(
            input_files=[folder / "a.md"], file_metadata=lambda path: {}
        ).load_data(num_workers=7)
    assert [document.text for document in documents] == ["The text of a.md."]


@pytest.fixture
def cloud(folder: Path) -> fsspec.AbstractFileSystem:
    files = fsspec.filesystem("memory", skip_instance_cache=True)
    files.store.clear()
    for path in folder.rglob("*"):
        if path.is_file():
            files.pipe(f"/bucket/{path.relative_to(folder).as_posix()}", path.read_bytes())
    return files


def test_remote_files_are_chosen_and_read_by_the_same_rules(
    cloud: fsspec.AbstractFileSystem, folder: Path
) -> None:
    make_pdf(folder / "z.pdf", ["Far away."])
    cloud.pipe("/bucket/z.pdf", (folder / "z.pdf").read_bytes())
    for place in ("bucket", "/bucket", "/bucket/"):
        reader = SimpleDirectoryReader(place, fs=cloud, recursive=True, exclude=["deep"], exclude_empty=True)
        assert reader.list_resources() == [
            f"/bucket/{name}" for name in ("A.TXT", "a.md", "b.txt", "sub/c.txt", "z.pdf")
        ]
        assert [document.text for document in reader.load_data()][2:] == [
            "The text of b.txt.",
            "The text of sub/c.txt.",
            "Far away.",
        ]
    document = SimpleDirectoryReader(input_files=["/bucket/a.md"], fs=cloud, filename_as_id=True).load_data()[
        0
    ]
    assert document.id_ == "/bucket/a.md"
    assert document.metadata["file_size"] == len("The text of a.md.")
    assert document.metadata["last_modified_date"] == datetime.now(UTC).date().isoformat()
    with pytest.raises(ValueError, match="File /bucket/gone does not exist"):
        SimpleDirectoryReader(input_files=["/bucket/gone"], fs=cloud)


def test_a_file_system_that_keeps_no_dates_gives_none(
    cloud: fsspec.AbstractFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    # as of many
    monkeypatch.setattr(cloud, "created", lambda path: fsspec.AbstractFileSystem.created(cloud, path))
    monkeypatch.setattr(cloud, "modified", lambda path: cloud.info(path)["no such entry"])
    (document,) = SimpleDirectoryReader(input_files=["/bucket/a.md"], fs=cloud).load_data()
    assert not {"creation_date", "last_modified_date"} & document.metadata.keys()


def test_fsspec_s_own_local_files_are_the_same_as_without(folder: Path) -> None:
    plain = SimpleDirectoryReader(folder, recursive=True, filename_as_id=True).load_data()
    through = SimpleDirectoryReader(
        folder, recursive=True, filename_as_id=True, fs=fsspec.filesystem("file")
    ).load_data()
    assert [(one.id_, one.text, one.metadata) for one in through] == [
        (one.id_, one.text, one.metadata) for one in plain
    ]


def test_nothing_of_a_copied_file_stays_behind(
    cloud: fsspec.AbstractFileSystem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.joinpath("scratch").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "scratch"))
    SimpleDirectoryReader("bucket", fs=cloud, recursive=True).load_data()
    assert list(tmp_path.joinpath("scratch").iterdir()) == []


def test_files_can_be_read_from_an_event_loop(folder: Path) -> None:
    reader = SimpleDirectoryReader(folder)
    assert [each.text for each in asyncio.run(reader.aload_data())] == [
        each.text for each in reader.load_data()
    ]
