"""Readers by the names of LlamaHub."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragcore.errors import ConfigError, UnreadableFileError
from ragcore.llamaindex import download_loader
from ragcore.llamaindex.readers.download import FileReader
from ragcore.readers import DatabaseReader


@pytest.mark.parametrize("name", ["PDFReader", "DocxReader", "CSVReader", "UnstructuredReader", "FileReader"])
def test_a_reader_of_a_type_of_file_reads_every_supported_file(name: str, tmp_path: Path) -> None:
    path = tmp_path / "fares.csv"
    path.write_text("who,fare\nadult,4.50\n")
    (document,) = download_loader(name)().load_data(file=path, extra_info={"year": 2024})
    assert (document.text, document.metadata["year"]) == ("who | fare\nwho: adult; fare: 4.50", 2024)
    assert document.metadata["file_name"] == "fares.csv"


def test_own_readers_have_their_names_and_others_are_an_error(tmp_path: Path) -> None:
    assert download_loader("DatabaseReader") is DatabaseReader
    with pytest.raises(ConfigError, match="no reader WikipediaReader"):
        download_loader("WikipediaReader")
    (tmp_path / "broken.json").write_text("{")
    with pytest.raises(UnreadableFileError):
        FileReader().load_data(tmp_path / "broken.json")
