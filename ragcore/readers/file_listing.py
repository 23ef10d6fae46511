"""Which files of a folder are to be read, on this machine or on any file system of fsspec's kind."""

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

NAMED = 3  # of the files that were passed over
SYSTEM_FILES = frozenset({".DS_Store", "Thumbs.db", "desktop.ini"})  # which no person has put there
PACKAGE_FOLDERS = frozenset({"node_modules", "bower_components", "site-packages", "__pycache__"})
_KINDS = {  # why one file, and several, are passed over
    "hidden": ("is hidden", "are hidden"),
    "package": ("belongs to an installed package", "belong to installed packages"),
    "empty": ("is empty", "are empty"),
    "no text": ("is of a type that cannot be read", "are of types that cannot be read"),
}


class FileSystem(Protocol):
    """What is used of fsspec's AbstractFileSystem, whose every implementation will do."""

    def isfile(self, path: str) -> bool: ...
    def isdir(self, path: str) -> bool: ...
    def find(self, path: str, maxdepth: int | None = None) -> Sequence[str]:
        """The files in the folder and, down to `maxdepth`, in those below."""

    def info(self, path: str) -> Mapping[str, Any]:
        """With `size`, in bytes, and `name`: the path as `find` gives it."""

    def created(self, path: str) -> datetime: ...
    def modified(self, path: str) -> datetime: ...
    def open(self, path: str, mode: str = "rb") -> IO[bytes]: ...


class LocalFiles:
    """This machine's files, named as they are given: a relative folder has relative files."""

    def isfile(self, path: str) -> bool:
        return Path(path).is_file()

    def isdir(self, path: str) -> bool:
        return Path(path).is_dir()

    def find(self, path: str, maxdepth: int | None = None) -> list[str]:
        found = []
        for folder, folders, names in os.walk(path):
            found += [str(Path(folder, name)) for name in names if Path(folder, name).is_file()]
            if maxdepth == 1:
                folders.clear()
        return found

    def info(self, path: str) -> dict[str, Any]:
        return {"name": path, "size": Path(path).stat().st_size}

    def created(self, path: str) -> datetime:
        return datetime.fromtimestamp(Path(path).stat().st_ctime, UTC)

    def modified(self, path: str) -> datetime:
        return datetime.fromtimestamp(Path(path).stat().st_mtime, UTC)

    def open(self, path: str, mode: str = "rb") -> IO[bytes]:
        return Path(path).open("rb")


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which files of a folder count.

    `exclude` has patterns as of a shell, matched with the end of a file's or folder's place below the folder, or with the
    whole place where a pattern begins with the folder's full path, however that is written; what is in an excluded folder is
    excluded. Hidden is what begins with a full stop, and what is in such a folder. `required_exts` are endings such as ".md".
    The limit counts files that passed the rest.
    """

    exclude: Sequence[str] = ()
    exclude_hidden: bool = True
    exclude_empty: bool = False
    recursive: bool = False
    required_exts: Sequence[str] | None = None
    num_files_limit: int | None = None


def files_in(folder: str, wanted: Wanted, fs: FileSystem) -> list[str]:
    """In the order of their paths, part by part; [] where none is wanted."""
    root = fs.info(folder)["name"]  # a relative folder may have files with full paths
    patterns = [_pattern(each, Path(root).resolve()) for each in wanted.exclude]
    endings = None if wanted.required_exts is None else {with_dot(each) for each in wanted.required_exts}

    def counts(path: str) -> bool:
        place = _below(root, path)
        if wanted.exclude_hidden and any(part.startswith(".") for part in place.parts):
            return False
        if endings is not None and suffix_of(path) not in endings:
            return False
        around = [place, *place.parents][:-1]  # itself and the folders it is in, without "."
        if any(pattern.fullmatch(str(each)) for pattern in patterns for each in around):
            return False
        return not wanted.exclude_empty or fs.info(path)["size"] > 0

    found = fs.find(folder, maxdepth=None if wanted.recursive else 1)
    return [path for path in sorted(found, key=lambda path: _slashes(path).split("/")) if counts(path)][
        : wanted.num_files_limit
    ]


@dataclass(frozen=True, slots=True)
class Listing:
    """The `paths` of the files of a folder that are read, in their order; and `passed_over`, the others, by their kind."""

    paths: list[str]
    passed_over: dict[str, list[str]]


def readable_files(folder: str, fs: FileSystem, is_readable: Callable[[str], bool]) -> Listing:
    """Every file of a folder and of those below, but those that are hidden, of installed packages, empty or not readable."""
    root = fs.info(folder)["name"]
    listing = Listing([], {})
    for path in files_in(folder, Wanted(exclude_hidden=False, recursive=True), fs):
        place = _below(root, path)
        if place.name in SYSTEM_FILES:
            continue
        if kind := kind_passed_over(place):
            listing.passed_over.setdefault(kind, []).append(str(place))
        elif not fs.info(path)["size"]:
            listing.passed_over.setdefault("empty", []).append(str(place))
        elif not is_readable(path):
            listing.passed_over.setdefault("no text", []).append(str(place))
        else:
            listing.paths.append(path)
    return listing


def kind_passed_over(place: PurePosixPath) -> str:
    """ "hidden" or "package" for a file that nobody reads in the place where it is; "" for any other."""
    if any(part.startswith(".") for part in place.parts):
        return "hidden"
    return "package" if PACKAGE_FOLDERS & set(place.parts[:-1]) else ""


def passed_over_error(folder: str, files: Mapping[str, Sequence[str]]) -> PassedOverError | None:
    """What says that these were passed over, by their kinds as in `Listing`; None where none was."""
    sentences = []
    for kind, places in files.items():
        one, many = _KINDS[kind]
        names = list(dict.fromkeys(_outermost(place, kind) for place in places))
        listed = _some(names)
        if len(places) == 1:
            sentences.append(f"One file in {folder} was skipped, as it {one}: {listed}.")
        else:
            sentences.append(f"{len(places):,} files in {folder} were skipped, as they {many}: {listed}.")
    return PassedOverError(" ".join(sentences), hint="To read one of them, add it by itself.") if sentences else None


def replaced_error(folder: str, names: Sequence[str]) -> PassedOverError:
    """What says that these files of an archive took the place of earlier versions."""
    return PassedOverError(f"Files of {folder} replaced earlier versions: {_some(names)}.")


def _some(names: Sequence[str]) -> str:
    more = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {more:,} more" if more > 0 else "")


def _outermost(place: str, kind: str) -> str:
    """The place of a file, or of the folder for which it was passed over."""
    parts = PurePosixPath(place).parts
    if kind == "hidden":
        end = next(number for number, part in enumerate(parts, 1) if part.startswith("."))
    elif kind == "package":
        end = next(number for number, part in enumerate(parts, 1) if part in PACKAGE_FOLDERS)
    else:
        end = len(parts)
    return "/".join(parts[:end])


@contextmanager
def on_this_machine(path: str, fs: FileSystem) -> Iterator[Path]:
    """The file, or a copy of the same name that is gone afterwards."""
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
    """For what is asked of a file system of somebody else's, which raises whatever it likes."""
    try:
        yield
    except (OSError, ImportError):
        raise
    except Exception as error:  # of any type at all, as the code is not ours; it goes on as an OSError
        raise OSError(str(error) or type(error).__name__) from error


def day(moment_of: Callable[[str], datetime], path: str) -> str | None:
    """YYYY-MM-DD in UTC; None where the file system does not know."""
    try:
        return moment_of(path).astimezone(UTC).date().isoformat()
    except (NotImplementedError, KeyError):
        return None


def with_dot(ending: str) -> str:
    """Also of "md" or ".MD"."""
    return f".{ending.lower().lstrip('.')}"


def written(path: str) -> str:
    r"""The path with \udcff and the like for the bytes of a name that are no text, which nothing could store."""
    return path.encode("utf-8", "backslashreplace").decode("utf-8")


def name_of(path: str) -> str:
    return PurePosixPath(_slashes(path)).name


def _below(folder: str, path: str) -> PurePosixPath:
    # fsspec may give a folder "data/" the files "/data/a.txt".
    return PurePosixPath(_slashes(path).strip("/").removeprefix(f"{_slashes(str(PurePosixPath(folder))).strip('/')}/"))


def _slashes(path: str) -> str:
    return path.replace("\\", "/") if os.sep == "\\" else path


def _pattern(glob: str, folder: Path) -> re.Pattern[str]:
    """Of a place, or the end of one: `*` and `?` stay within a name, `**/` is any number of folders. `folder` is resolved."""
    path = Path(glob)
    # What is below the folder is not resolved: it may be a link to elsewhere.
    above = next((each for each in path.parents if path.is_absolute() and each.resolve() == folder), None)
    place = str(path if above is None else path.relative_to(above))  # no ./ before it
    signs = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    parts = re.split(r"(\*\*/|\*\*|\*|\?|\[[^\]]+\])", _slashes(place).strip("/"))
    body = "".join(signs.get(part) or (part.replace("[!", "[^") if part.startswith("[") else re.escape(part)) for part in parts)
    return re.compile(f"(?:.*/)?{body}" if above is None else body)
