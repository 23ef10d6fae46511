"""The token that lets a browser in: in the address that `lectern` prints, then exchanged for a cookie.

It is stored in the file `token` of the library's folder, which only its owner may read, so that a browser that was let in once
stays in after a restart. Deleting the file and starting anew shuts all of them out.
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

ACCESS = "LECTERN_TOKEN"  # the environment's name for whether a token is needed: "off" where a proxy decides who comes in
_TOKEN = re.compile(r"[\w-]{43}", re.ASCII)  # 256 bits in URL-safe base64


def needs_token() -> bool:
    """Whether the application is open only to who has its token, as the environment says."""
    return os.environ.get(ACCESS, "").strip().lower() != "off"


def access_token(folder: Path) -> str:
    """The token of the library in `folder`; a new one where there is none, or where others could have read or written it.

    StoreError where it cannot be stored: without it nobody could be let in.
    """
    path = folder / "token"
    token = _stored(path)
    if token is None:
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            replace_file(path, secrets.token_urlsafe(32), mode=0o600)
            token = _stored(path) or path.read_text("utf-8")  # that of a file system without owners and modes, such as FAT
        except OSError as error:
            raise StoreError(
                f"The token that lets a browser in cannot be stored in {path}: {error.strerror}.",
                hint="Check that the folder is yours and that you may write to it.",
            ) from error
    return token


def _stored(path: Path) -> str | None:
    """None for what is not there, no token, or not this account's alone."""
    try:
        status = path.lstat()
        owned = os.name == "nt" or (status.st_uid == os.geteuid() and not status.st_mode & 0o077)
        text = path.read_text("ascii") if owned and stat.S_ISREG(status.st_mode) else ""
    except (OSError, UnicodeDecodeError):
        return None
    return text if _TOKEN.fullmatch(text) else None


def cookie_name(port: int) -> str:
    """Cookies do not know ports: without it, two applications on one host would overwrite each other's."""
    return f"lectern_{port}"


def cookie_value(token: str) -> str:
    """What the browser keeps. The token cannot be computed from it.

    >>> len(cookie_value("any token"))
    64
    """
    return hmac.new(token.encode(), b"cookie", hashlib.sha256).hexdigest()


def address(port: int, token: str | None) -> str:
    """Where a person on this computer opens the application."""
    return f"http://localhost:{port}" + (f"/?token={token}" if token else "")
