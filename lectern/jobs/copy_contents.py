"""Reads a copy of a library (`lectern.export.backup`) in the confined process, because it may come from a
stranger.

Rows that are valid (`lectern.db.copied_rows`) are written to ROWS in the folder `into`, a line for each:
[table, columns]. The files follow as `bytes-ID` and `vectors-ID`. Names in the copy are never used as paths.
"""

from __future__ import annotations

import errno
import json
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from pydantic_core import from_json

from lectern.db.copied_rows import CopyHead, check_row, count_values, is_trace
from lectern.schema import adapter
from ragcore.errors import DamagedFileError, StoreError, UnreadableFileError, UnsafeArchiveError
from ragcore.readers.base import ReadOptions
from ragcore.readers.zip.archive import MAX_RATIO, RATIO_FROM

FORM = 1  # of copies
ROWS = "rows.jsonl"
HEAD_BYTES = 100_000  # Maximum size of `library.json`.
LINE_BYTES = 200_000_000  # Maximum size of a row of a copy, such as a conversation with all its messages.
LINE_VALUES = 2_000_000  # Maximum number of values in a row, before the JSON in its columns is parsed.
ROW_BYTES = 64_000_000  # Maximum size of a row that is written.
MAX_MEMBERS = 2_000_000  # files in the zip
BLOCK = 1 << 20  # bytes read at once

# The tables of a copy by file, in the order in which they refer to each other. None: a row names its table.
_FILES: Mapping[str, str | None] = {
    "files.jsonl": "files",
    "conversations.jsonl": "conversations",
    "feedback.jsonl": "feedback",
    "notes.jsonl": "notes",
    "groups.jsonl": "groups",
    "prompts.jsonl": "prompts",
    "evaluations.jsonl": None,
}
_OLDEST = ("files.jsonl", "conversations.jsonl")  # Every copy has these.
EVALUATIONS = ("question_sets", "set_questions", "eval_settings", "eval_runs", "eval_results")
_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    KeyError,
    ValueError,
    TypeError,
    OverflowError,
    RuntimeError,
    OSError,
)


def read_contents(
    path: Path, into: Path, options: ReadOptions, *, with_files: bool, max_file_mb: int, room: int
) -> dict[str, Any]:
    """Write the contents of the copy into the folder `into`, without its files unless `with_files`. Returns a
    `lectern.jobs.sandbox.CopyContents` as plain values. Progress is in bytes.

    A file over `max_file_mb` is not written, nor one that unpacks to many times its size. At most `room`
    bytes are written. DamagedFileError, also for a wrong checksum; UnreadableFileError for a copy of a newer
    version; UnsafeArchiveError, StoreError.
    """
    into.mkdir(parents=True, exist_ok=True)
    try:
        with zipfile.ZipFile(path) as copy:
            return _Reader(copy, into, options, max_file_mb, room).read(with_files)
    except _DAMAGED as error:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise _no_room(options.name) from error
        raise DamagedFileError(
            f"{options.name} is not a complete copy of a library.",
            hint="Make the copy again. Nothing was added from this one.",
        ) from error


class _Reader:
    def __init__(
        self, copy: zipfile.ZipFile, into: Path, options: ReadOptions, max_file_mb: int, room: int
    ) -> None:
        self._copy = copy
        self._into = into
        self._options = options
        self._max_file_bytes = max_file_mb * 1_000_000
        self._room = room  # bytes that may still be written
        self._members = self._list_members()
        self._total = self._read = 0  # bytes
        self._counts: Counter[str] = Counter()
        self._left_out = 0
        self._sizes: dict[str, int] = {}  # of the files, in bytes, by id

    def read(self, with_files: bool) -> dict[str, Any]:
        head = self._read_head()
        self._total = sum(self._members[name].file_size for name in _FILES if name in self._members)
        with (self._into / ROWS).open("wb") as rows:
            for file, table in _FILES.items():
                if file in self._members or file in _OLDEST:
                    self._read_table(file, table, rows)
        file_bytes = sum(self._sizes.values())
        if with_files:
            self._total = self._read + file_bytes
            for id_, size in self._sizes.items():
                self._write_file(id_, size)
        return {
            "embedder": head.embedder,
            "passages": head.passages,
            "counts": dict(self._counts),
            "left_out": self._left_out,
            "bytes": file_bytes,
        }

    def _list_members(self) -> dict[str, zipfile.ZipInfo]:
        entries = self._copy.infolist()
        members = {entry.filename: entry for entry in entries}
        if len(members) < len(entries) or len(entries) > MAX_MEMBERS:
            raise UnsafeArchiveError(
                f"{self._options.name} was not opened: it holds several files of the same name.",
                hint="Such copies are made to do harm. Ask for another one.",
            )
        return members

    def _read_head(self) -> CopyHead:
        with self._open("library.json") as file:
            head = from_json(file.read(HEAD_BYTES))
        form = head["form"]
        if isinstance(form, int) and form > FORM:
            raise UnreadableFileError(
                f"{self._options.name} was made by a newer version of Lectern.",
                hint="Update Lectern, then import it. Nothing was added.",
            )
        checked: CopyHead = adapter(CopyHead).validate_python(head)
        if checked.form != FORM:
            raise ValueError(f"form {form}")
        return checked

    def _open(self, name: str) -> IO[bytes]:
        """KeyError, RuntimeError for a file with a password, ValueError for another compression."""
        member = self._members[name]
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError(f"compression {member.compress_type}")
        return self._copy.open(member)

    def _read_table(self, file: str, table: str | None, rows: IO[bytes]) -> None:
        for line in self._lines(file):
            try:
                if len(line) > LINE_BYTES or count_values(line) > LINE_VALUES:
                    raise ValueError("too large")
                self._write_row(table, from_json(line), rows)
            except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
                self._left_out += 1

    def _lines(self, file: str) -> Iterator[bytes]:
        """The lines of a file. One over LINE_BYTES is cut."""
        if _is_bomb(self._members[file]):
            raise UnsafeArchiveError(
                f"{self._options.name} was not opened: it unpacks to many times its size.",
                hint="Such copies are made to do harm. Ask for another one.",
            )
        with self._open(file) as lines:
            cut = False
            while line := lines.readline(LINE_BYTES + 1):
                self._report(len(line))
                if not cut and line.strip():
                    yield line
                cut = not line.endswith(b"\n")

    def _write_row(self, table: str | None, row: Any, rows: IO[bytes]) -> None:
        """ValueError, TypeError, KeyError for an invalid row."""
        if table == "conversations":
            self._write_conversation(row, rows)
        elif table is None:
            if row["table"] not in EVALUATIONS:
                raise ValueError(row["table"])
            self._write(row["table"], check_row(row["table"], row), rows)
        else:
            if table == "files":
                row["size"] = self._members[f"bytes/{row['id']}"].file_size
            checked = check_row(table, row)
            if table == "files":
                if checked["id"] in self._sizes:
                    raise ValueError("the id of another file")
                self._sizes[checked["id"]] = checked["size"]
            self._write(table, checked, rows)

    def _write_conversation(self, row: Any, rows: IO[bytes]) -> None:
        """Each message becomes a row of its own. A trace that cannot be read is left out alone."""
        messages = row["messages"]
        conversation = check_row("conversations", row)
        if not isinstance(messages, list):
            raise TypeError("no messages")
        self._write("conversations", conversation, rows)
        for message in messages:
            try:
                changes = {"conversation_id": conversation["id"]}
                if not is_trace(message.get("trace")):
                    changes["trace"] = None
                    self._left_out += 1
                self._write("messages", check_row("messages", message | changes), rows)
            except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
                self._left_out += 1

    def _write(self, table: str, row: dict[str, Any], rows: IO[bytes]) -> None:
        line = json.dumps([table, row]).encode() + b"\n"
        if len(line) > ROW_BYTES:
            raise ValueError("too large")
        self._use_room(len(line))
        rows.write(line)
        self._counts[table] += 1

    def _write_file(self, id_: str, size: int) -> None:
        """Write the bytes and vectors of a file."""
        if size > self._max_file_bytes or _is_bomb(self._members[f"bytes/{id_}"]):
            return  # the application adds a row that says so
        self._copy_member(f"bytes/{id_}", self._into / f"bytes-{id_}")
        if f"vectors/{id_}" in self._members:
            self._copy_member(f"vectors/{id_}", self._into / f"vectors-{id_}")

    def _copy_member(self, name: str, target: Path) -> None:
        with self._open(name) as source, target.open("wb") as file:
            while block := source.read(BLOCK):
                self._use_room(len(block))
                file.write(block)
                self._report(len(block))

    def _use_room(self, size: int) -> None:
        self._room -= size
        if self._room < 0:
            raise _no_room(self._options.name)

    def _report(self, size: int) -> None:
        self._read += size
        self._options.progress(min(self._read, self._total), max(self._total, 1))


def _is_bomb(member: zipfile.ZipInfo) -> bool:
    """By the size that the zip states, beyond which nothing is unpacked."""
    return member.file_size > max(RATIO_FROM, MAX_RATIO * member.compress_size)


def _no_room(name: str) -> StoreError:
    return StoreError(
        f"There is not enough space on the disk for what {name} contains.",
        hint="Free some space and try again. Nothing was added.",
    )
