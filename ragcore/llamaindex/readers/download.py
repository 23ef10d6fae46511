"""Readers by the names that older scripts load them with from LlamaHub. ragcore has them already: nothing is
downloaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ragcore import readers
from ragcore.errors import ConfigError
from ragcore.readers.base import BaseReader
from ragcore.readers.directory import SimpleDirectoryReader
from ragcore.readers.registry import supported_suffixes
from ragcore.schema import Document


class FileReader(BaseReader):
    """Reads one file of any supported type into a document."""

    def load_data(self, file: str | Path, extra_info: dict[str, Any] | None = None) -> list[Document]:
        """`extra_info` joins the metadata. UnreadableFileError."""
        documents = SimpleDirectoryReader(input_files=[file], raise_on_error=True).load_data()
        for document in documents:
            document.metadata |= extra_info or {}
        return documents


def download_loader(loader_class: str) -> Any:
    """The reader of ragcore by this name, or `FileReader` for a type of file. ConfigError for a reader of
    something else.

    >>> download_loader("PDFReader")
    <class 'ragcore.llamaindex.readers.download.FileReader'>
    """
    suffix = f".{loader_class.removesuffix('Reader').lower()}"
    if isinstance(own := getattr(readers, loader_class, None), type):
        return own
    if suffix in (*supported_suffixes(), ".file", ".unstructured"):
        return FileReader
    raise ConfigError(
        f"There is no reader {loader_class}.",
        hint="Load the texts, and make documents of them: Document(text).",
    )
