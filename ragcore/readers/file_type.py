"""The real type of a file, from its first bytes."""

from __future__ import annotations

import codecs
import re
from pathlib import Path
from typing import NoReturn

from ragcore.errors import DamagedFileError, UnsupportedFileError
from ragcore.readers.encodings import is_text_file
from ragcore.readers.office.encrypted_ooxml import is_encrypted

_PICTURES = {  # by ending, the pattern of the first bytes
    ".png": rb"\x89PNG\r\n",
    ".jpg": rb"\xff\xd8\xff",
    ".gif": rb"GIF8",
    ".tif": rb"II\*\0|MM\0\*",
    ".webp": rb"RIFF.{4}WEBP",
    ".bmp": rb"BM.{4}\0{4}",
}
_NO_READER = (  # pattern of the first bytes, name of the type, key of _WHAT_TO_DO
    (rb"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", "archive"),
    (rb"Rar!\x1a\x07", "a RAR archive", "archive"),
    (rb"\x1f\x8b", "a gzip archive", "archive"),
    (rb"BZh", "a bzip2 archive", "archive"),
    (rb"\xfd7zXZ\0", "an xz archive", "archive"),
    (rb"SQLite format 3\0", "a database", "other"),
    (rb"ID3", "a sound recording", "other"),
    (rb"OggS", "a recording", "other"),
    (rb"fLaC", "a sound recording", "other"),
    (rb"PAR1", "a Parquet table", "other"),
    (rb"\x28\xb5\x2f\xfd", "a zstd archive", "archive"),
    (rb"HWP Document File", "a Hangul document (.hwp)", "other"),
    (rb"RIFF.{4}(?:WAVE|AVI )", "a recording", "other"),
    (rb".{4}ftyp", "a video, sound recording or picture", "other"),
)
# Programs for Windows, Linux and macOS.
_PROGRAMS = (
    b"MZ",
    b"\x7fELF",
    b"\xfe\xed\xfa\xce",
    b"\xfe\xed\xfa\xcf",
    b"\xce\xfa\xed\xfe",
    b"\xcf\xfa\xed\xfe",
    b"\xca\xfe\xba\xbe",
)
_WHAT_TO_DO = {
    "archive": "Only .zip archives are accepted: unpack it, and add the files in it or a zip of them.",
    "other": "Save what you want to read as PDF or as text and add that.",
}
_OLD_OFFICE = (  # names of streams in a compound file
    ("WordDocument", ".doc"),
    ("PowerPoint Document", ".ppt"),
    ("Workbook", ".xls"),
    ("Book", ".xls"),
    ("HwpSummaryInformation", ".hwp"),
    ("__substg1.0_", ".msg"),
    ("__properties_version1.0", ".msg"),
)
_IWORK = frozenset({".pages", ".numbers", ".key"})
_PACKED = frozenset(
    {
        ".pdf",
        ".docx",
        ".docm",
        ".dotx",
        ".pptx",
        ".pptm",
        ".xlsx",
        ".xlsm",
        ".odt",
        ".ods",
        ".odp",
        ".epub",
        ".rtf",
    }
)
_OLD = frozenset({".doc", ".xls", ".xlsb", ".ppt", ".msg", ".hwp", ".zip", "", *_IWORK})
_MIMETYPES = {
    "application/epub+zip": ".epub",
    "application/vnd.oasis.opendocument.text": ".odt",
    "application/vnd.oasis.opendocument.spreadsheet": ".ods",
    "application/vnd.oasis.opendocument.presentation": ".odp",
}


def true_suffix(path: Path, name: str, named: str) -> str:
    """The ending for the type of the file: the current one, `named`, unless the bytes show another type.

    Office files with a password have ".locked". UnsupportedFileError for a type without a reader. Text that
    begins like another type, such as "ID3 tags are ...", is text.
    """
    with path.open("rb") as file:
        head = file.read(4096)
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _zip_suffix(path, name, named)
    if head.startswith(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"):
        return _compound_suffix(path, name)
    if head.startswith(b"{\\rtf"):
        return ".rtf"
    if head.startswith(_PROGRAMS) and b"\0" in head[3:8]:  # first, as the rest may look like text
        _refuse(name, "a program", _WHAT_TO_DO["other"])
    is_text = is_text_file(path)
    if b"%PDF-" in head[:1024] and (named == ".pdf" or head.lstrip().startswith(b"%PDF-") or not is_text):
        return ".pdf"
    if not is_text and (picture := _picture_suffix(head, name)):
        return picture
    if named == ".hwp" and b"\0" in head and not head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise DamagedFileError(
            f"{name} is named like a Hangul document, but does not begin like one.",
            hint="Copy it again, or open it in Hangul or LibreOffice and save it as .docx.",
        )
    if named in _PACKED or named in _OLD:
        markup = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
        if markup.startswith((b"<!doctype html", b"<html")) or b"<html" in markup[:1000]:
            return ".html"
        if markup.startswith(b"<?xml"):
            return ".xml"
    return ".txt" if is_text and named in _OLD else named


def _picture_suffix(head: bytes, name: str) -> str:
    """The ending of a picture, or else "". UnsupportedFileError for a known type without a reader."""
    for suffix, start in _PICTURES.items():
        if re.match(start, head, re.S):
            return suffix
    for start, what, kind in _NO_READER:
        if re.match(start, head, re.S):
            _refuse(name, what, _WHAT_TO_DO[kind])
    return ""


def _refuse(name: str, what: str, to_do: str) -> NoReturn:
    raise UnsupportedFileError(f"{name} is {what}, which cannot be read.", hint=to_do)


def _zip_suffix(path: Path, name: str, named: str) -> str:
    import zipfile
    import zlib

    try:
        with zipfile.ZipFile(path) as archive:
            parts = {part.lstrip("/") for part in archive.namelist()}
            if "mimetype" in parts and archive.getinfo("mimetype").file_size < 200:
                try:
                    mimetype = archive.read("mimetype").decode("ascii", "replace").strip()
                except (RuntimeError, zipfile.BadZipFile, zlib.error, EOFError, OSError):
                    mimetype = ""
                for known, suffix in _MIMETYPES.items():
                    if mimetype.startswith(known):
                        return suffix
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, KeyError):
        if named in _PACKED and named != ".pdf":
            return named  # its reader reports the damage
        parts = set()
    if suffix := _suffix_of_parts(parts, named):
        return suffix
    raise UnsupportedFileError(
        f"{name} is a zip archive." if named != ".zip" else f"{name} is an archive, not a document.",
        hint="Add it with the extension .zip to have the files in it read, or unpack it.",
    )


def _suffix_of_parts(parts: set[str], named: str) -> str:
    """The ending of a document with these parts; "" if they are no document."""
    if "xl/workbook.bin" in parts:
        return ".xlsb"
    iwork_parts = ("Index/Document.iwa", "Index.zip", "index.apxl", "index.apxl.gz")
    if named in _IWORK and any(part.endswith(iwork_parts) for part in parts):
        return named
    for folder, suffix in (("word/", ".docx"), ("ppt/", ".pptx"), ("xl/", ".xlsx")):
        if any(part.startswith(folder) for part in parts) and "[Content_Types].xml" in parts:
            return suffix
    if "META-INF/container.xml" in parts:
        return ".epub"
    return named if named in _PACKED and named not in (".pdf", ".rtf") else ""


def _compound_suffix(path: Path, name: str) -> str:
    """The ending of an old Office file, or of a new one with a password, which has the same container."""
    content = path.read_bytes()
    for stream, suffix in _OLD_OFFICE:
        if stream.encode("utf-16-le") in content:
            return ".locked" if suffix in (".doc", ".ppt", ".xls") and is_encrypted(path) else suffix
    if "EncryptedPackage".encode("utf-16-le") in content:
        return ".locked"
    _refuse(
        name,
        "an old Office file",
        "Open it in Office or LibreOffice and save it in a current format, then add that.",
    )
