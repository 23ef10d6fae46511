"""OpenDocument files with a password (OASIS OpenDocument 1.2, part 3, 3.4: encryption of each part of the
package).

LibreOffice 3.5 to 24.2 writes such files with AES and a key from PBKDF2 of the password's hash. Others are
not read.
"""

from __future__ import annotations

import base64
import hashlib
import zlib

from ragcore.errors import DamagedFileError, EncryptedFileError, UnsupportedFileError
from ragcore.readers.office.package import MAX_PART, Element, Package, damaged_error, too_large_error
from ragcore.readers.web.safe_xml import attribute, child, children

MAX_ITERATIONS = 5_000_000  # for the key; LibreOffice uses 100,000
MAX_KEY = 32  # bytes
_CHECKED = 1024  # bytes of a part that the checksum covers


class UnlockedPackage(Package):
    """A package that decrypts a part when it is read. EncryptedFileError if the password is missing or
    wrong."""

    def __init__(self, parts: Package, name: str, password: str | None) -> None:
        self.parts = parts.parts
        self._encrypted = parts
        self._name = name
        self._password = password
        self._locks = _locks(parts)
        if self._locks and password is None:
            raise EncryptedFileError.of(name, password)

    def bytes(self, part: str) -> bytes:
        data = self._encrypted.bytes(part)
        lock = self._locks.get(part)
        return data if lock is None else _unlock(data, lock, self._name, self._password or "")


def _locks(parts: Package) -> dict[str, Element]:
    """The description of the encryption of each encrypted part."""
    manifest = "META-INF/manifest.xml"
    entries = list(children(parts.xml(manifest), "file-entry")) if manifest in parts else []
    return {
        attribute(entry, "full-path") or "": lock
        for entry in entries
        for lock in children(entry, "encryption-data")
    }


def _unlock(data: bytes, lock: Element, name: str, password: str) -> bytes:
    cipher, start, derivation = (
        child(lock, step) for step in ("algorithm", "start-key-generation", "key-derivation")
    )
    plain = _decrypt(data, cipher, _key(start, derivation, name, password), name)
    kind = (attribute(lock, "checksum-type") or "").rpartition("#")[2].lower()
    checked = plain[:_CHECKED] if kind.endswith("1k") else plain
    hashed = hashlib.sha256 if kind.startswith("sha256") else hashlib.sha1
    if hashed(checked).digest() != base64.b64decode(attribute(lock, "checksum") or ""):
        raise EncryptedFileError.of(name, password)
    try:
        inflater = zlib.decompressobj(-zlib.MAX_WBITS)
        text = inflater.decompress(plain, MAX_PART)
    except zlib.error as error:
        raise damaged_error(name, "a part of it cannot be unpacked") from error
    if inflater.unconsumed_tail:
        raise too_large_error(name)
    return text


def _key(start: Element | None, derivation: Element | None, name: str, password: str) -> bytes:
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.kdf.pbkdf2 import PBKDF2HMAC

    iterations = attribute(derivation, "iteration-count") or ""
    if attribute(derivation, "key-derivation-name") != "PBKDF2" or not iterations.isdigit():
        raise _unknown(name)
    length, salt = (
        int(attribute(derivation, "key-size") or 16),
        base64.b64decode(attribute(derivation, "salt") or ""),
    )
    if int(iterations) > MAX_ITERATIONS or length > MAX_KEY:
        raise _unknown(name)
    is_sha256 = (attribute(start, "start-key-generation-name") or "").endswith("sha256")
    password_hash = (hashlib.sha256 if is_sha256 else hashlib.sha1)(password.encode()).digest()
    return PBKDF2HMAC(hashes.SHA1(), length, salt, int(iterations)).derive(password_hash)


def _decrypt(data: bytes, cipher: Element | None, key: bytes, name: str) -> bytes:
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    if not (attribute(cipher, "algorithm-name") or "").endswith("-cbc"):
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
