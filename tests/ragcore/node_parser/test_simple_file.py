"""SimpleFileNodeParser: each kind of file by its own rules, and nothing lost where a reader was there
before."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragcore.node_parser import SimpleFileNodeParser
from ragcore.readers import FlatReader, SimpleDirectoryReader
from ragcore.schema import Document

MARKDOWN, HTML, JSON = "# A\nx\n# B\ny", "<h1>A</h1><p>x</p>", '{"a": {"b": "x"}}'


@pytest.mark.parametrize("key", ["extension", "file_name", "file_path"])
@pytest.mark.parametrize(
    ("ending", "text", "expected"),
    [
        (".md", MARKDOWN, ["# A\nx", "# B\ny"]),
        (".HTML", HTML, ["A", "x"]),
        (".json", JSON, ["a b x"]),
        (".txt", HTML, [HTML]),
    ],
)
def test_the_kind_is_what_the_metadata_says(key: str, ending: str, text: str, expected: list[str]) -> None:
    name = ending if key == "extension" else f"folder.x/notes{ending}"
    nodes = SimpleFileNodeParser()([Document(text, metadata={key: name})])
    assert [node.text for node in nodes] == expected


def test_the_extension_goes_before_the_name() -> None:
    document = Document(MARKDOWN, metadata={"file_path": "a.json", "file_name": "a.html", "extension": ".md"})
    assert [node.text for node in SimpleFileNodeParser()([document])] == ["# A\nx", "# B\ny"]


def test_document_without_a_type_is_one_passage_and_a_blank_none() -> None:
    nodes = SimpleFileNodeParser.from_defaults()([Document(MARKDOWN), Document(" ")])
    assert [(node.text, node.start_char_idx, node.end_char_idx) for node in nodes] == [
        (MARKDOWN, 0, len(MARKDOWN))
    ]


def test_files_are_read_as_they_stand_to_be_split_by_their_marks(tmp_path: Path) -> None:
    for name, text in (("a.html", HTML), ("b.json", JSON)):
        tmp_path.joinpath(name).write_text(text)
    document = FlatReader().load_data(tmp_path / "a.html")[0]
    assert (document.text, dict(document.metadata)) == (HTML, {"filename": "a.html", "extension": ".html"})
    reader = SimpleDirectoryReader(tmp_path, file_extractor={".html": FlatReader(), ".json": FlatReader()})
    assert [node.text for node in SimpleFileNodeParser()(reader.load_data())] == ["A", "x", "a b x"]


def test_text_that_a_reader_converted_stays_whole(tmp_path: Path) -> None:
    for name, text in (("a.html", HTML), ("b.json", JSON)):
        tmp_path.joinpath(name).write_text(text)
    documents = SimpleDirectoryReader(tmp_path).load_data()
    assert [node.text for node in SimpleFileNodeParser()(documents)] == [
        document.text for document in documents
    ]
