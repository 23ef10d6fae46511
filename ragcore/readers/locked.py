"""Office files with a password (MS-OFFCRYPTO 2.3.4), opened into a file that is gone afterwards."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ragcore.errors import DamagedFileError, EncryptedFileError, UnsupportedFileError

SUFFIX = ".locked"  # what `true_suffix` calls such a file


@contextmanager
def unlocked(path: Path, name: str, password: str | None) -> Iterator[Path]:
    """The file without its password. EncryptedFileError where that is missing or wrong, DamagedFileError,
    UnsupportedFileError for other ways to encrypt."""
    if password is None:
        raise EncryptedFileError(f"{name} is protected with a password.", hint="Enter its password to read it.")
    with tempfile.TemporaryDirectory(prefix="lectern-unlocked-") as folder:
        target = Path(folder) / "file"
        _decrypt(path, target, name, password)
        yield target


def _decrypt(path: Path, target: Path, name: str, password: str) -> None:
    import msoffcrypto
    from msoffcrypto.exceptions import DecryptionError, FileFormatError, InvalidKeyError

    try:
        with path.open("rb") as source, target.open("wb") as plain:
            file = msoffcrypto.OfficeFile(source)
            file.load_key(password=password, verify_password=True)
            file.decrypt(plain)
    except InvalidKeyError as error:
        raise EncryptedFileError(f"The password for {name} is not right.", hint="Enter the password again.") from error
    except (DecryptionError, ValueError) as error:
        raise UnsupportedFileError(
            f"{name} is protected in a way that cannot be opened here.",
            hint="Open it in Office with its password, save a copy without password, and add that.",
        ) from error
    except (FileFormatError, OSError, KeyError) as error:
        raise DamagedFileError(
            f"{name} could not be read: it is damaged.", hint="Open it in Office and save it again."
        ) from error
