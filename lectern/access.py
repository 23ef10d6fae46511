"""The access token of a browser. `lectern` prints an address with the token, which is then exchanged for a
cookie.

It is stored in the file `token` of the library's folder, which only its owner may read, so that it is the
same after a restart. To exclude all browsers, delete the file and restart.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
import stat
from pathlib import Path

from ragcore.errors import StoreError
from ragcore.storage.atomic_file import replace_file

ACCESS = "LECTERN_TOKEN"  # environment variable: "off" if a proxy checks who may use the application
_TOKEN = re.compile(r"[\w-]{43}", re.ASCII)  # 256 bits in URL-safe base64


def needs_token() -> bool:
    """Whether a token is required, from the environment."""
    return os.environ.get(ACCESS, "").strip().lower() != "off"


def access_token(folder: Path) -> str:
    """The token of the library in `folder`; a new one if there is none, or others could read or write it.
    StoreError."""
    path = folder / "token"
    token = _read_token(path)
    if token is None:
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            replace_file(path, secrets.token_urlsafe(32), mode=0o600)
            # for a file system without owners and modes, such as FAT
            token = _read_token(path) or path.read_text("utf-8")
        except OSError as error:
            raise StoreError(
                f"The token that lets a browser in cannot be stored in {path}: {error.strerror}.",
                hint="Check that the folder is yours and that you may write to it.",
            ) from error
    return token


def _read_token(path: Path) -> str | None:
    """None if the file is missing, invalid, or accessible for other accounts."""
    try:
        status = path.lstat()
        owned = os.name == "nt" or (status.st_uid == os.geteuid() and not status.st_mode & 0o077)
        text = path.read_text("ascii") if owned and stat.S_ISREG(status.st_mode) else ""
    except (OSError, UnicodeDecodeError):
        return None
    return text if _TOKEN.fullmatch(text) else None


def cookie_name(port: int) -> str:
    """Has the port, because browsers share cookies between all ports of a host."""
    return f"lectern_{port}"


def cookie_value(token: str) -> str:
    """The value of the browser's cookie. The token cannot be computed from it.

    >>> len(cookie_value("any token"))
    64
    """
    return hmac.new(token.encode(), b"cookie", hashlib.sha256).hexdigest()


def address(port: int, token: str | None) -> str:
    """The local address of the application."""
    return f"http://localhost:{port}" + (f"/?token={token}" if token else "")
