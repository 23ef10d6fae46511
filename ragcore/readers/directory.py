"""Every file of a folder or a list as documents, and the reasons why some could not be read."""

from __future__ import annotations

import codecs
import logging
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol, TypeAlias

from ragcore.concurrency import awaitable
from ragcore.errors import DamagedFileError, MissingPackageError, Problem, RagError, UnreadableFileError
from ragcore.readers.base import ReadOptions
from ragcore.readers.file_listing import (
    FileFilter,
    FileSystem,
    LocalFiles,
    as_os_error,
    escape_path,
    files_in,
    iso_day,
    name_of,
    on_this_machine,
    with_dot,
)
from ragcore.readers.registry import read_file, suffix_of
from ragcore.schema import Document, Scalar

logger = logging.getLogger(__name__)

# Neither embedder nor language model sees these; they see file_path.
HIDDEN = ("file_name", "file_type", "file_size", "creation_date", "last_modified_date", "last_accessed_date")


class LoadsFiles(Protocol):
    def load_data(self, path: Path, /) -> Iterable[Document] | Document: ...


FileExtractor: TypeAlias = LoadsFiles | Callable[[Path], Iterable[Document] | Document]
FileMetadata: TypeAlias = Callable[[str], Mapping[str, Scalar]]


class SimpleDirectoryReader:
    """Reads each file into one document: PDF, Office files, tables, mail and other formats, or else plain
    text.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "fares.txt").write_text("Adults pay 4.50.")
    ...     documents = SimpleDirectoryReader(folder).load_data()
    >>> documents[0].text, documents[0].metadata["file_name"]
    ('Adults pay 4.50.', 'fares.txt')

    Metadata: file_path, file_name, file_type, file_size (bytes), creation_date and last_modified_date
    (YYYY-MM-DD, UTC), and title and author if the file has them. The embedder and the language model see only
    the file_path.

    `input_files` replaces `input_dir`. `exclude`, `exclude_hidden`, `exclude_empty`, `recursive`,
    `required_exts` and `num_files_limit` select files of `input_dir`, see
    `ragcore.readers.file_listing.FileFilter`. `file_extractor` maps an ending such as ".pdf" to your own
    reader: a function of a path, or an object with `load_data(path)`, which may return several documents.
    `file_metadata` is a function from a path to metadata that replaces ours. `fs` is a file system with
    fsspec's interface; files on other machines are copied to read them. With `filename_as_id` a document's id
    is its path, or `path_part_0`, `path_part_1`, ... if a reader returns several.

    Text that is not in `encoding` is recognised, and no byte is dropped. With `errors="strict"` such a file
    cannot be read, and with "replace" it has � for what does not fit. This applies to Markdown, tables, JSON,
    web pages and XML too. An encoding that the file itself names is used unless `encoding` or `errors` is
    changed.

    `failures` has the reason for each file that could not be read; with `raise_on_error` its
    UnreadableFileError is raised. A missing package is always raised. ValueError for a folder or file that
    does not exist, and if no file is selected.
    """

    def __init__(
        self,
        input_dir: str | Path | None = None,
        input_files: Sequence[str | Path] | None = None,
        exclude: Sequence[str | Path] | None = None,
        exclude_hidden: bool = True,
        exclude_empty: bool = False,
        errors: str = "ignore",
        recursive: bool = False,
        encoding: str = "utf-8",
        filename_as_id: bool = False,
        required_exts: Sequence[str] | None = None,
        file_extractor: Mapping[str, FileExtractor] | None = None,
        num_files_limit: int | None = None,
        file_metadata: FileMetadata | None = None,
        raise_on_error: bool = False,
        fs: FileSystem | None = None,
    ) -> None:
        for name, given in {
            "input_files": input_files,
            "exclude": exclude,
            "required_exts": required_exts,
        }.items():
            if isinstance(given, str):
                raise ValueError(f"{name} is {given!r}; it must be a list.")
        if num_files_limit is not None and num_files_limit < 1:
            raise ValueError(f"num_files_limit is {num_files_limit}; it must be at least 1.")
        patterns = [str(each) for each in exclude or ()]
        rules = FileFilter(patterns, exclude_hidden, exclude_empty, recursive, required_exts, num_files_limit)
        self._loader = _Loader(fs, encoding, errors, filename_as_id, file_extractor, file_metadata)
        self._raise_on_error = raise_on_error
        self.input_files = _list_files(input_dir, input_files, rules, fs or LocalFiles())
        self.failures: dict[str, Problem] = {}

    def load_data(self, show_progress: bool = False, num_workers: int | None = None) -> list[Document]:
        """The documents of all files, in the order of their paths. `failures` is set anew.

        `num_workers` processes read the files, at most one per processor. With several, `file_extractor` and
        `file_metadata` must be functions and classes of a module. `show_progress` logs each file.
        """
        with ExitStack() as stack:
            results: Iterator[list[Document] | RagError] | None = None
            workers, processors = num_workers or 1, os.cpu_count() or 1
            if workers > processors:
                warnings.warn(
                    f"num_workers is {num_workers}; {processors}, all processors there are, will be used.",
                    stacklevel=2,
                )
                workers = processors
            if workers > 1:
                import multiprocessing
                from concurrent.futures import ProcessPoolExecutor

                pool = ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn"))
                results = stack.enter_context(pool).map(partial(_try_to_load, self._loader), self.input_files)
            return [
                document for documents in self._documents(results, show_progress) for document in documents
            ]

    aload_data = awaitable(load_data)

    def iter_data(self, show_progress: bool = False) -> Iterator[list[Document]]:
        """The documents of one file after the other. `failures` grows meanwhile."""
        return self._documents(None, show_progress)

    def list_resources(self) -> list[str]:
        """The paths of the files, in order."""
        return list(self.input_files)

    def load_resource(self, resource_id: str) -> list[Document]:
        """The documents of one file, by its path. UnreadableFileError."""
        return self._loader.load(str(resource_id))

    @staticmethod
    def load_file(
        input_file: str | Path,
        file_metadata: FileMetadata | None = None,
        file_extractor: Mapping[str, FileExtractor] | None = None,
        filename_as_id: bool = False,
        encoding: str = "utf-8",
        errors: str = "ignore",
        fs: FileSystem | None = None,
    ) -> list[Document]:
        """The documents of one file. UnreadableFileError."""
        return _Loader(fs, encoding, errors, filename_as_id, file_extractor, file_metadata).load(
            str(input_file)
        )

    def _documents(
        self, results: Iterator[list[Document] | RagError] | None, show_progress: bool
    ) -> Iterator[list[Document]]:
        self.failures = {}
        if results is None:
            results = (_try_to_load(self._loader, path) for path in self.input_files)
        for number, (path, result) in enumerate(zip(self.input_files, results, strict=True), 1):
            if show_progress:
                logger.info("read %d of %d: %s", number, len(self.input_files), escape_path(path))
            if isinstance(result, RagError):
                if self._raise_on_error or isinstance(result, MissingPackageError):
                    raise result
                logger.warning("left out %s: %s", escape_path(path), result.what)
                self.failures[path] = Problem.of(result)
            else:
                yield result


@dataclass(frozen=True, slots=True)
class _Loader:
    """Loads single files with the options of a SimpleDirectoryReader."""

    fs: FileSystem | None
    encoding: str
    errors: str
    filename_as_id: bool
    file_extractor: Mapping[str, FileExtractor] | None
    file_metadata: FileMetadata | None

    def __post_init__(self) -> None:
        if self.errors not in ("ignore", "strict", "replace"):
            raise ValueError(f'errors is {self.errors!r}; it is "ignore", "strict" or "replace".')
        try:
            codecs.lookup(self.encoding)
        except LookupError as error:
            raise ValueError(f"encoding is {self.encoding!r}, which is no encoding.") from error

    def load(self, path: str) -> list[Document]:
        fs = self.fs or LocalFiles()
        path_text = escape_path(path)
        name = name_of(path_text)
        extractors = {with_dot(suffix): reader for suffix, reader in (self.file_extractor or {}).items()}
        extractor = extractors.get(suffix_of(path))
        try:
            with on_this_machine(path, fs) as local:
                documents = _extract(local, name, extractor) if extractor else [self._read(local, name)]
            metadata = self.file_metadata(path) if self.file_metadata else _file_metadata(path, path_text, fs)
        except OSError as error:
            raise UnreadableFileError(
                f"{name} could not be opened: {error.strerror or error}.",
                hint="Check that it still exists and that you may read it.",
            ) from error
        ids: Sequence[str | None] = [None] * len(documents)
        if self.filename_as_id:
            ids = (
                [path_text]
                if len(documents) == 1
                else [f"{path_text}_part_{number}" for number in range(len(documents))]
            )
        return [_describe(document, id_, metadata) for document, id_ in zip(documents, ids, strict=True)]

    def _read(self, local: Path, name: str) -> Document:
        """Read with our own readers. Neither embedder nor language model sees the metadata that these find in
        the file."""
        is_default = (codecs.lookup(self.encoding).name, self.errors) == ("utf-8", "ignore")
        options = ReadOptions(name, encoding=None if is_default else self.encoding, errors=self.errors)
        document = read_file(local, options)
        return _describe(document, None, {}, tuple(document.metadata))


def _try_to_load(loader: _Loader, path: str) -> list[Document] | RagError:
    try:
        return loader.load(path)
    except RagError as error:
        return error


def _list_files(
    folder: str | Path | None, files: Sequence[str | Path] | None, rules: FileFilter, fs: FileSystem
) -> tuple[str, ...]:
    if files:
        paths = [str(Path(file)) if isinstance(fs, LocalFiles) else str(file) for file in files]  # without ./
        if missing := next((path for path in paths if not fs.isfile(path)), None):
            raise ValueError(f"File {missing} does not exist.")
        return tuple(paths[: rules.num_files_limit])
    if not folder:
        raise ValueError("Say what to read: give input_dir, a folder, or input_files, a list of files.")
    if not fs.isdir(str(folder)):
        raise ValueError(f"Directory {folder} does not exist.")
    paths = files_in(str(folder), rules, fs)
    if not paths:
        raise ValueError(f"No files found in {folder}.")
    return tuple(paths)


def _extract(local: Path, name: str, extractor: FileExtractor) -> list[Document]:
    load = extractor if callable(extractor) else extractor.load_data
    try:
        result = load(local)
        documents = [result] if isinstance(result, Document) else list(result)
        if others := [each for each in documents if not isinstance(each, Document)]:
            raise TypeError(f"it gave a {type(others[0]).__name__}, which is no Document")
        return documents
    except (RagError, OSError, ImportError):
        raise
    except Exception as error:  # of any type, as the reader is not ours
        raise DamagedFileError(
            f"{name} could not be read: {error}.",
            hint="See whether the reader given for its ending can read such a file.",
        ) from error


def _file_metadata(path: str, path_text: str, fs: FileSystem) -> dict[str, Scalar]:
    import mimetypes

    name = name_of(path_text)
    with as_os_error():
        entries: dict[str, Scalar] = {
            "file_path": path_text,
            "file_name": name,
            "file_type": mimetypes.guess_type(name)[0],
            "file_size": fs.info(path).get("size"),
            "creation_date": iso_day(fs.created, path),
            "last_modified_date": iso_day(fs.modified, path),
        }
    return {key: value for key, value in entries.items() if value is not None}


def _describe(
    document: Document, id_: str | None, metadata: Mapping[str, Scalar], hidden: Sequence[str] = HIDDEN
) -> Document:
    """The document with more metadata and more hidden keys, and with a new id unless `id_` is None."""
    return Document(
        document.text,
        id_ or document.id_,
        {**metadata, **document.metadata, **metadata},  # the first one sets the order
        document.pages,
        document.page_word,
        tuple(dict.fromkeys((*document.excluded_embed_metadata_keys, *hidden))),
        tuple(dict.fromkeys((*document.excluded_llm_metadata_keys, *hidden))),
        document.template,
    )
