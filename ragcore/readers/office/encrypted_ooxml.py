"""Office files with a password (MS-OFFCRYPTO 2.3), decrypted into a temporary file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ragcore.errors import DamagedFileError, EncryptedFileError, UnsupportedFileError
from ragcore.readers.temporary_file import unnamed_file

SUFFIX = ".locked"  # the suffix of such a file from `true_suffix`


def is_encrypted(path: Path) -> bool:
    """Whether an Office file of the old format has a password."""
    import msoffcrypto

    try:
        with path.open("rb") as file:
            return bool(msoffcrypto.OfficeFile(file).is_encrypted())
    except Exception:  # noqa: BLE001 - the parser raises all kinds of errors for broken files, which its reader reports
        return False


@contextmanager
def open_decrypted(path: Path, name: str, password: str | None) -> Iterator[Path]:
    """The decrypted file. EncryptedFileError if the password is missing or wrong, UnsupportedFileError for
    other kinds of encryption, DamagedFileError."""
    if password is None:
        raise EncryptedFileError.of(name, password)
    with unnamed_file() as target:
        _decrypt(path, target, name, password)
        yield target


def _decrypt(path: Path, target: Path, name: str, password: str) -> None:
    import msoffcrypto
    from msoffcrypto.exceptions import DecryptionError, InvalidKeyError
    from msoffcrypto.format.ooxml import OOXMLFile

    try:
        with path.open("rb") as source, target.open("wb") as plain:
            file = msoffcrypto.OfficeFile(source)
            try:
                if isinstance(file, OOXMLFile):
                    file.load_key(password=password, verify_password=True)
                else:  # the old formats always verify it
                    file.load_key(password=password)
            except ValueError:  # msoffcrypto cannot derive a key that is longer than its hash
                file.load_key(secret_key=_padded_key(file.info, password))
            file.decrypt(plain)
    except InvalidKeyError as error:
        raise EncryptedFileError.of(name, password) from error
    except (DecryptionError, ValueError) as error:
        raise UnsupportedFileError(
            f"{name} is protected in a way that cannot be opened here.",
            hint="Open it in Office with its password, save a copy without password, and add that.",
        ) from error
    except Exception as error:  # the parser raises all kinds of errors for broken files
        raise DamagedFileError(
            f"{name} could not be read: it is damaged.", hint="Open it in Office and save it again."
        ) from error


def _padded_key(info: dict[str, Any], password: str) -> bytes:
    """MS-OFFCRYPTO 2.3.4.11 and 2.3.4.12, for SHA-1 and a key of 256 bits. InvalidKeyError when the password
    is not right."""
    import hashlib

    from msoffcrypto.exceptions import InvalidKeyError

    algorithm = info["passwordHashAlgorithm"]
    digest = hashlib.new(algorithm, info["passwordSalt"] + password.encode("utf-16-le")).digest()
    for iteration in range(info["spinValue"]):
        digest = hashlib.new(algorithm, iteration.to_bytes(4, "little") + digest).digest()

    def decrypt(block: str, data: bytes) -> bytes:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        length = info["passwordKeyBits"] // 8
        key = hashlib.new(algorithm, digest + bytes.fromhex(block)).digest().ljust(length, b"\x36")[:length]
        decryptor = Cipher(algorithms.AES(key), modes.CBC(info["passwordSalt"])).decryptor()
        return decryptor.update(data) + decryptor.finalize()

    verifier = hashlib.new(
        algorithm, decrypt("fea7d2763b4b9e79", info["encryptedVerifierHashInput"])
    ).digest()
    if not decrypt("d7aa0f6d3061344e", info["encryptedVerifierHashValue"]).startswith(verifier):
        raise InvalidKeyError
    return decrypt("146e0be7abacd0d6", info["encryptedKeyValue"])[: info["passwordKeyBits"] // 8]
