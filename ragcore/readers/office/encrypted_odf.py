"""OpenDocument files with a password (OASIS OpenDocument 1.2, part 3, 3.4: encryption of each part of the package).

Those that LibreOffice wrote from 3.5 to 24.2 are read: AES with a key made by PBKDF2 of the password's hash.
"""

from __future__ import annotations

import base64
import hashlib
import zlib
from typing import TYPE_CHECKING

from ragcore.errors import DamagedFileError, EncryptedFileError, UnsupportedFileError
from ragcore.readers.office.package import MAX_PART, Package, damaged, too_large
from ragcore.readers.web.safe_xml import attribute, local

if TYPE_CHECKING:
    from lxml.etree import _Element

MAX_TURNS = 5_000_000  # of making the key; LibreOffice takes 100,000
MAX_KEY = 32  # bytes
_CHECKED = 1024  # bytes that the checksum is of


class UnlockedPackage(Package):
    """A package whose parts are decrypted as they are asked for. EncryptedFileError when the password is missing or wrong."""

    def __init__(self, parts: Package, name: str, password: str | None) -> None:
        self.parts = parts.parts
        self._locked = parts
        self._name = name
        self._password = password
        self._locks = _locks(parts)
        if self._locks and password is None:
            raise EncryptedFileError(f"{name} is protected with a password.", hint="Enter its password to read it.")

    def bytes(self, part: str) -> bytes:
        data = self._locked.bytes(part)
        lock = self._locks.get(part)
        return data if lock is None else _opened(data, lock, self._name, self._password or "")


def _locks(parts: Package) -> dict[str, _Element]:
    manifest = "META-INF/manifest.xml"
    if manifest not in parts:
        return {}
    entries = (entry for entry in parts.xml(manifest) if local(entry) == "file-entry")
    found = (
        (attribute(entry, "full-path") or "", lock) for entry in entries for lock in entry if local(lock) == "encryption-data"
    )
    return dict(found)


def _opened(data: bytes, lock: _Element, name: str, password: str) -> bytes:
    steps = {local(step): step for step in lock}
    cipher, start, made = (steps.get(step) for step in ("algorithm", "start-key-generation", "key-derivation"))
    plain = _decrypted(data, cipher, _key(start, made, name, password), name)
    kind = (attribute(lock, "checksum-type") or "").rpartition("#")[2].lower()
    checked = plain[:_CHECKED] if kind.endswith("1k") else plain
    hashed = hashlib.sha256 if kind.startswith("sha256") else hashlib.sha1
    if hashed(checked).digest() != base64.b64decode(attribute(lock, "checksum") or ""):
        raise EncryptedFileError(f"The password for {name} is not right.", hint="Enter the password again.")
    try:
        inflater = zlib.decompressobj(-zlib.MAX_WBITS)
        text = inflater.decompress(plain, MAX_PART)
    except zlib.error as error:
        raise damaged(name, "a part of it cannot be unpacked") from error
    if inflater.unconsumed_tail:
        raise too_large(name)
    return text


def _key(start: _Element | None, made: _Element | None, name: str, password: str) -> bytes:
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.kdf.pbkdf2 import PBKDF2HMAC

    turns = attribute(made, "iteration-count") if made is not None else None
    if made is None or attribute(made, "key-derivation-name") != "PBKDF2" or not (turns or "").isdigit():
        raise _unknown(name)
    length, salt = int(attribute(made, "key-size") or 16), base64.b64decode(attribute(made, "salt") or "")
    if int(turns or 0) > MAX_TURNS or length > MAX_KEY:
        raise _unknown(name)
    wide = start is not None and (attribute(start, "start-key-generation-name") or "").endswith("sha256")
    begin = (hashlib.sha256 if wide else hashlib.sha1)(password.encode()).digest()
    return PBKDF2HMAC(hashes.SHA1(), length, salt, int(turns or 0)).derive(begin)


def _decrypted(data: bytes, cipher: _Element | None, key: bytes, name: str) -> bytes:
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    method = (attribute(cipher, "algorithm-name") or "") if cipher is not None else ""
    if cipher is None or not method.endswith("-cbc"):
        raise _unknown(name)
    vector = base64.b64decode(attribute(cipher, "initialisation-vector") or "")
    try:
        decryptor = Cipher(algorithms.AES(key), modes.CBC(vector)).decryptor()
        return decryptor.update(data) + decryptor.finalize()
    except ValueError as error:
        raise DamagedFileError(f"{name} could not be read: it is damaged.", hint="Save it again.") from error


def _unknown(name: str) -> UnsupportedFileError:
    return UnsupportedFileError(
        f"{name} is protected in a way that cannot be opened here.",
        hint="Open it in LibreOffice with its password, save a copy without password, and add that.",
    )
