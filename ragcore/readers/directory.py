"""Every file of a folder, or every one of a list, as documents; what could not be read is told beside them."""

from __future__ import annotations

import codecs
import logging
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Protocol, TypeAlias

from ragcore.concurrency import awaitable
from ragcore.errors import DamagedFileError, MissingPackageError, Problem, RagError, UnreadableFileError
from ragcore.readers.base import ReadOptions
from ragcore.readers.file_listing import (
    FileSystem,
    LocalFiles,
    Wanted,
    as_os_error,
    day,
    files_in,
    name_of,
    on_this_machine,
    with_dot,
    written,
)
from ragcore.readers.registry import read_file, suffix_of
from ragcore.schema import Document, Scalar

logger = logging.getLogger(__name__)

# Seen by neither embedder nor language model; file_path is.
UNSEEN = ("file_name", "file_type", "file_size", "creation_date", "last_modified_date", "last_accessed_date")


class LoadsFiles(Protocol):
    def load_data(self, path: Path, /) -> Iterable[Document] | Document: ...


FileExtractor: TypeAlias = LoadsFiles | Callable[[Path], Iterable[Document] | Document]
FileMetadata: TypeAlias = Callable[[str], Mapping[str, Scalar]]


@dataclass(frozen=True, slots=True)
class _HowToRead:
    fs: FileSystem
    encoding: str = "utf-8"
    errors: str = "ignore"
    filename_as_id: bool = False
    file_extractor: Mapping[str, FileExtractor] = field(default_factory=dict)
    file_metadata: FileMetadata | None = None


class SimpleDirectoryReader:
    """Reads each file into one document: a PDF, Word file, table or mail by its own reader, anything else as text.

    Metadata: file_path, file_name, file_type, file_size (bytes), creation_date and last_modified_date (YYYY-MM-DD, UTC), and
    a title and author where the file names them. Of these the embedder and the language model see the file_path alone.

    `exclude`, `exclude_hidden`, `exclude_empty`, `recursive`, `required_exts` and `num_files_limit` choose the files of
    `input_dir`, as in `ragcore.readers.file_listing.Wanted`; `input_files` are taken as they are, and go before `input_dir`.
    `file_extractor` maps an ending such as ".pdf" to a reader that goes before our own: a function of a path, or an object
    with `load_data(path)`, which may give several documents. `file_metadata` is a function from a path to the metadata to be
    used in place of ours. `fs` is a file system of fsspec's kind; what is not on this machine is copied while it is read.
    With `filename_as_id` a document's id is its path, and `path_part_0`, `path_part_1`, ... where a reader gives several.

    Text in another encoding than `encoding` is recognised, and no byte is dropped. `errors="strict"` makes such a file a
    failure, and "replace" puts � where it does not fit. That holds for Markdown, tables, JSON, web pages and XML as for
    plain text. What names an encoding itself is believed unless another than UTF-8 is given, or another treatment of errors.

    A file that cannot be read is left out, and `failures` says why; with `raise_on_error` it raises its UnreadableFileError.
    A missing package is always raised. ValueError, at once, for a folder or file that is not there, and where no file is left.
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
        for name, given in {"input_files": input_files, "exclude": exclude, "required_exts": required_exts}.items():
            if isinstance(given, str):
                raise ValueError(f"{name} is {given!r}; it must be a list.")
        if num_files_limit is not None and num_files_limit < 1:
            raise ValueError(f"num_files_limit is {num_files_limit}; it must be at least 1.")
        wanted = Wanted(
            [str(each) for each in exclude or ()], exclude_hidden, exclude_empty, recursive, required_exts, num_files_limit
        )
        self._how = _how(fs, encoding, errors, filename_as_id, file_extractor, file_metadata)
        self._raise_on_error = raise_on_error
        self.input_files = _listed(input_dir, input_files, wanted, self._how.fs)
        self.failures: dict[str, Problem] = {}

    def load_data(self, show_progress: bool = False, num_workers: int | None = None) -> list[Document]:
        """The documents of all files, in the order of their paths; `failures` has the files of this call that were left out.

        With more than one worker files are read in as many processes, at most as many as this machine has processors; what
        `file_extractor` and `file_metadata` name must then be functions and classes of a module. `show_progress` logs each
        file.
        """
        with ExitStack() as stack:
            results: Iterator[list[Document] | RagError] | None = None
            if (workers := _capped(num_workers or 1)) > 1:
                import multiprocessing
                from concurrent.futures import ProcessPoolExecutor

                pool = ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn"))
                results = stack.enter_context(pool).map(partial(_attempt, how=self._how), self.input_files)
            return [document for documents in self._collected(results, show_progress) for document in documents]

    aload_data = awaitable(load_data)

    def iter_data(self, show_progress: bool = False) -> Iterator[list[Document]]:
        """The documents of one file after the other; `failures` grows meanwhile."""
        return self._collected(None, show_progress)

    def list_resources(self) -> list[str]:
        """The paths of the files, in order."""
        return list(self.input_files)

    def load_resource(self, resource_id: str) -> list[Document]:
        """The documents of one file, by its path. UnreadableFileError."""
        return _read(str(resource_id), self._how)

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
        return _read(str(input_file), _how(fs, encoding, errors, filename_as_id, file_extractor, file_metadata))

    def _collected(self, results: Iterator[list[Document] | RagError] | None, show_progress: bool) -> Iterator[list[Document]]:
        self.failures = {}
        if results is None:
            results = (_attempt(path, self._how) for path in self.input_files)
        for number, (path, result) in enumerate(zip(self.input_files, results, strict=True), 1):
            if show_progress:
                logger.info("read %d of %d: %s", number, len(self.input_files), written(path))
            if isinstance(result, RagError):
                if self._raise_on_error or isinstance(result, MissingPackageError):
                    raise result
                logger.warning("left out %s: %s", written(path), result.what)
                self.failures[path] = Problem.of(result)
            else:
                yield result


def _how(
    fs: FileSystem | None,
    encoding: str,
    errors: str,
    filename_as_id: bool,
    file_extractor: Mapping[str, FileExtractor] | None,
    file_metadata: FileMetadata | None,
) -> _HowToRead:
    if errors not in ("ignore", "strict", "replace"):
        raise ValueError(f'errors is {errors!r}; it is "ignore", "strict" or "replace".')
    try:
        codecs.lookup(encoding)
    except LookupError as error:
        raise ValueError(f"encoding is {encoding!r}, which is no encoding.") from error
    extractors = {with_dot(suffix): reader for suffix, reader in (file_extractor or {}).items()}
    return _HowToRead(fs or LocalFiles(), encoding, errors, filename_as_id, extractors, file_metadata)


def _listed(folder: str | Path | None, files: Sequence[str | Path] | None, wanted: Wanted, fs: FileSystem) -> tuple[str, ...]:
    if files:
        paths = [str(Path(file)) if isinstance(fs, LocalFiles) else str(file) for file in files]  # no ./ before it
        if missing := next((path for path in paths if not fs.isfile(path)), None):
            raise ValueError(f"File {missing} does not exist.")
        return tuple(paths[: wanted.num_files_limit])
    if not folder:
        raise ValueError("Say what to read: give input_dir, a folder, or input_files, a list of files.")
    if not fs.isdir(str(folder)):
        raise ValueError(f"Directory {folder} does not exist.")
    paths = files_in(str(folder), wanted, fs)
    if not paths:
        raise ValueError(f"No files found in {folder}.")
    return tuple(paths)


def _capped(num_workers: int) -> int:
    processors = os.cpu_count() or 1
    if num_workers > processors:
        warnings.warn(f"num_workers is {num_workers}; {processors}, all processors there are, will be used.", stacklevel=3)
    return min(num_workers, processors)


def _attempt(path: str, how: _HowToRead) -> list[Document] | RagError:
    try:
        return _read(path, how)
    except RagError as error:
        return error


def _read(path: str, how: _HowToRead) -> list[Document]:
    shown = written(path)
    name = name_of(shown)
    extractor = how.file_extractor.get(suffix_of(path))
    try:
        with on_this_machine(path, how.fs) as local:
            found = _extracted(local, name, extractor) if extractor else [_document(local, name, how)]
        metadata = how.file_metadata(path) if how.file_metadata else _metadata(path, shown, how.fs)
    except OSError as error:
        raise UnreadableFileError(
            f"{name} could not be opened: {error.strerror or error}.",
            hint="Check that it still exists and that you may read it.",
        ) from error
    ids: Sequence[str | None] = [None] * len(found)
    if how.filename_as_id:
        ids = [shown] if len(found) == 1 else [f"{shown}_part_{number}" for number in range(len(found))]
    return [_described(document, id_, metadata) for document, id_ in zip(found, ids, strict=True)]


def _document(local: Path, name: str, how: _HowToRead) -> Document:
    """By our own readers. What they say of the file is seen by neither embedder nor language model."""
    named = (codecs.lookup(how.encoding).name, how.errors) != ("utf-8", "ignore")
    options = ReadOptions(name, encoding=how.encoding if named else None, errors=how.errors)
    document = read_file(local, options)
    hidden = tuple(document.metadata)
    return _described(document, None, {}, hidden)


def _extracted(local: Path, name: str, extractor: FileExtractor) -> list[Document]:
    load = extractor if callable(extractor) else extractor.load_data
    try:
        found = load(local)
        documents = [found] if isinstance(found, Document) else list(found)
        if others := [each for each in documents if not isinstance(each, Document)]:
            raise TypeError(f"it gave a {type(others[0]).__name__}, which is no Document")
        return documents
    except (RagError, OSError, ImportError):
        raise
    except Exception as error:  # a reader of somebody else's raises whatever it likes
        raise DamagedFileError(
            f"{name} could not be read: {error}.", hint="See whether the reader given for its ending can read such a file."
        ) from error


def _metadata(path: str, shown: str, fs: FileSystem) -> dict[str, Scalar]:
    import mimetypes

    name = name_of(shown)
    with as_os_error():
        entries: dict[str, Scalar] = {
            "file_path": shown,
            "file_name": name,
            "file_type": mimetypes.guess_type(name)[0],
            "file_size": fs.info(path).get("size"),
            "creation_date": day(fs.created, path),
            "last_modified_date": day(fs.modified, path),
        }
    return {key: value for key, value in entries.items() if value is not None}


def _described(document: Document, id_: str | None, metadata: Mapping[str, Scalar], hidden: Sequence[str] = UNSEEN) -> Document:
    """The document under another id, with more metadata and fewer that are seen."""
    return Document(
        document.text,
        id_ or document.id_,
        {**metadata, **document.metadata, **metadata},  # the first for their order
        document.pages,
        document.page_word,
        tuple(dict.fromkeys((*document.excluded_embed_metadata_keys, *hidden))),
        tuple(dict.fromkeys((*document.excluded_llm_metadata_keys, *hidden))),
        document.template,
    )
