"""Selects the files of a folder to read, on this machine or on any file system with fsspec's interface."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import IO, Any, Protocol

from ragcore.errors import PassedOverError
from ragcore.readers.registry import suffix_of

LISTED = 3  # names of skipped files in a message
SYSTEM_FILES = frozenset({".DS_Store", "Thumbs.db", "desktop.ini"})  # created by operating systems
PACKAGE_FOLDERS = frozenset({"node_modules", "bower_components", "site-packages", "__pycache__"})
_KINDS = {  # the reason for one skipped file, and for several
    "hidden": ("is hidden", "are hidden"),
    "package": ("belongs to an installed package", "belong to installed packages"),
    "empty": ("is empty", "are empty"),
    "no text": ("is of a type that cannot be read", "are of types that cannot be read"),
}


class FileSystem(Protocol):
    """The part of fsspec's AbstractFileSystem that is used here."""

    def isfile(self, path: str) -> bool: ...
    def isdir(self, path: str) -> bool: ...
    def find(self, path: str, maxdepth: int | None = None) -> Sequence[str]:
        """The files in the folder and in the folders below, down to `maxdepth`."""

    def info(self, path: str) -> Mapping[str, Any]:
        """Has `size`, in bytes, and `name`: the path as `find` returns it."""

    def created(self, path: str) -> datetime: ...
    def modified(self, path: str) -> datetime: ...
    def open(self, path: str, mode: str = "rb") -> IO[bytes]: ...


class LocalFiles:
    """The files of this machine. A relative folder has relative files."""

    def isfile(self, path: str) -> bool:
        return Path(path).is_file()

    def isdir(self, path: str) -> bool:
        return Path(path).is_dir()

    def find(self, path: str, maxdepth: int | None = None) -> list[str]:
        paths = []
        for folder, folders, names in os.walk(path):
            paths += [str(Path(folder, name)) for name in names if Path(folder, name).is_file()]
            if maxdepth == 1:
                folders.clear()
        return paths

    def info(self, path: str) -> dict[str, Any]:
        return {"name": path, "size": Path(path).stat().st_size}

    def created(self, path: str) -> datetime:
        return datetime.fromtimestamp(Path(path).stat().st_ctime, UTC)

    def modified(self, path: str) -> datetime:
        return datetime.fromtimestamp(Path(path).stat().st_mtime, UTC)

    def open(self, path: str, mode: str = "rb") -> IO[bytes]:
        return Path(path).open("rb")


@dataclass(frozen=True, slots=True)
class FileFilter:
    """Which files of a folder are selected.

    `exclude` has shell patterns, which must match the end of the path of a file or folder below the folder. A
    pattern that begins with the folder's full path must match the whole path. All files in an excluded folder
    are excluded. A file is hidden if its name or that of a folder around it begins with a full stop.
    `required_exts` are endings such as ".md". The limit counts the files that pass the other rules.
    """

    exclude: Sequence[str] = ()
    exclude_hidden: bool = True
    exclude_empty: bool = False
    recursive: bool = False
    required_exts: Sequence[str] | None = None
    num_files_limit: int | None = None


def files_in(folder: str, rules: FileFilter, fs: FileSystem) -> list[str]:
    """The paths of the selected files, sorted part by part."""
    root = fs.info(folder)["name"]  # a relative folder may have files with full paths
    patterns = [_pattern(each, Path(root).resolve()) for each in rules.exclude]
    endings = None if rules.required_exts is None else {with_dot(each) for each in rules.required_exts}

    def is_selected(path: str) -> bool:
        place = _below(root, path)
        if rules.exclude_hidden and _is_hidden(place):
            return False
        if endings is not None and suffix_of(path) not in endings:
            return False
        parents = [place, *place.parents][:-1]  # without "."
        if any(pattern.fullmatch(str(each)) for pattern in patterns for each in parents):
            return False
        return not rules.exclude_empty or fs.info(path)["size"] > 0

    paths = sorted(
        fs.find(folder, maxdepth=None if rules.recursive else 1), key=lambda path: _slashes(path).split("/")
    )
    return list(filter(is_selected, paths))[: rules.num_files_limit]


@dataclass(frozen=True, slots=True)
class Listing:
    """The `paths` of the files of a folder to read, in order, and the skipped files by kind, see
    `passed_over_error`."""

    paths: list[str]
    passed_over: dict[str, list[str]]


def readable_files(folder: str, fs: FileSystem, is_readable: Callable[[str], bool]) -> Listing:
    """All files of a folder and the folders below, except hidden, empty and unreadable files and installed
    packages."""
    root = fs.info(folder)["name"]
    listing = Listing([], {})
    for path in files_in(folder, FileFilter(exclude_hidden=False, recursive=True), fs):
        place = _below(root, path)
        if place.name in SYSTEM_FILES:
            continue
        kind = kind_passed_over(place)
        if not kind and not fs.info(path)["size"]:
            kind = "empty"
        if kind or not is_readable(path):
            listing.passed_over.setdefault(kind or "no text", []).append(str(place))
        else:
            listing.paths.append(path)
    return listing


def kind_passed_over(place: PurePosixPath) -> str:
    """ "hidden" or "package" for a file that is skipped because of its folder or name, or else ""."""
    if _is_hidden(place):
        return "hidden"
    return "package" if PACKAGE_FOLDERS & set(place.parts[:-1]) else ""


def passed_over_error(folder: str, files: Mapping[str, Sequence[str]]) -> PassedOverError | None:
    """An error that names the skipped files of a folder, which `files` has by kind. None if it has none."""
    sentences = []
    for kind, places in files.items():
        one, many = _KINDS[kind]
        listed = _list_some(list(dict.fromkeys(_skipped_part(place, kind) for place in places)))
        if len(places) == 1:
            sentences.append(f"One file in {folder} was skipped, as it {one}: {listed}.")
        else:
            sentences.append(f"{len(places):,} files in {folder} were skipped, as they {many}: {listed}.")
    return (
        PassedOverError(" ".join(sentences), hint="To read one of them, add it by itself.")
        if sentences
        else None
    )


def replaced_error(folder: str, names: Sequence[str]) -> PassedOverError:
    """A notice that these files of an archive replaced earlier versions."""
    return PassedOverError(f"Files of {folder} replaced earlier versions: {_list_some(names)}.")


def _list_some(names: Sequence[str]) -> str:
    more = len(names) - LISTED
    return ", ".join(names[:LISTED]) + (f" and {more:,} more" if more > 0 else "")


def _skipped_part(place: str, kind: str) -> str:
    """The path of a skipped file, or of the outermost folder that is the reason."""
    parts = PurePosixPath(place).parts
    ends = (
        end for end in range(1, len(parts)) if kind_passed_over(PurePosixPath(*parts[:end], "file")) == kind
    )
    return "/".join(parts[: next(ends, None)])


def _is_hidden(place: PurePosixPath) -> bool:
    return any(part.startswith(".") for part in place.parts)


@contextmanager
def on_this_machine(path: str, fs: FileSystem) -> Iterator[Path]:
    """The file, or a temporary copy with the same name if it is on another machine."""
    if isinstance(fs, LocalFiles):
        yield Path(path)
        return
    import shutil
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, name_of(path))
        with as_os_error(), fs.open(path, "rb") as source, copy.open("wb") as target:
            shutil.copyfileobj(source, target)
        yield copy


@contextmanager
def as_os_error() -> Iterator[None]:
    """Turn any error of a foreign file system into an OSError."""
    try:
        yield
    except (OSError, ImportError):
        raise
    except Exception as error:  # of any type, as the code is not ours
        raise OSError(str(error) or type(error).__name__) from error


def iso_day(get_time: Callable[[str], datetime], path: str) -> str | None:
    """YYYY-MM-DD in UTC. None if the file system does not know it."""
    try:
        return get_time(path).astimezone(UTC).date().isoformat()
    except (NotImplementedError, KeyError):
        return None


def with_dot(ending: str) -> str:
    """ ".md" for "md", ".md" and ".MD"."""
    return f".{ending.lower().lstrip('.')}"


def escape_path(path: str) -> str:
    r"""The path with an escape such as \udcff for each byte of a name that is not text and could not be
    stored."""
    return path.encode("utf-8", "backslashreplace").decode("utf-8")


def name_of(path: str) -> str:
    return PurePosixPath(_slashes(path)).name


def _below(folder: str, path: str) -> PurePosixPath:
    # In fsspec the folder "data/" may have files like "/data/a.txt".
    return PurePosixPath(
        _slashes(path).strip("/").removeprefix(f"{_slashes(str(PurePosixPath(folder))).strip('/')}/")
    )


def _slashes(path: str) -> str:
    return path.replace("\\", "/") if os.sep == "\\" else path


def _pattern(glob: str, folder: Path) -> re.Pattern[str]:
    """Matches a path below `folder` or its end. `*` and `?` match within a name, `**/` any folders. `folder`
    is resolved."""
    path = Path(glob)
    # Paths below the folder are not resolved: they may be links to other places.
    above = next((each for each in path.parents if path.is_absolute() and each.resolve() == folder), None)
    place = str(path if above is None else path.relative_to(above))  # without ./
    signs = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    parts = re.split(r"(\*\*/|\*\*|\*|\?|\[[^\]]+\])", _slashes(place).strip("/"))
    body = "".join(
        signs.get(part) or (part.replace("[!", "[^") if part.startswith("[") else re.escape(part))
        for part in parts
    )
    return re.compile(f"(?:.*/)?{body}" if above is None else body)
