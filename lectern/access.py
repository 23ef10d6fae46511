"""The access token of a browser. `lectern` prints an address with the token on a terminal, which is then
exchanged for a cookie.

It is stored in the file `token` of the library's folder, which only its owner may read, so that it is the
same after a restart. To exclude all browsers, delete the file and restart.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import os
import re
import secrets
import socket
import stat
import sys
from pathlib import Path

from ragcore.errors import StoreError
from ragcore.storage.atomic_file import replace_file

ACCESS = "LECTERN_TOKEN"  # environment variable: "off" if a proxy checks who may use the application
_TOKEN = re.compile(r"[\w-]{43}", re.ASCII)  # 256 bits in URL-safe base64


def needs_token() -> bool:
    """Whether a token is required, from the environment."""
    return os.environ.get(ACCESS, "").strip().lower() != "off"


def on_terminal() -> bool:
    """Whether what is printed goes to a person's terminal. Others may read a file or a journal."""
    return sys.stdout is not None and sys.stdout.isatty()  # None if it is closed


def token_file(folder: Path) -> Path:
    return folder / "token"


def access_token(folder: Path) -> str:
    """The token of the library in `folder`; a new one if there is none, or others could read or write it.
    StoreError."""
    path = token_file(folder)
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
    # Earlier versions computed another value and gave it to `localhost`, where other accounts may receive it.
    return hmac.new(token.encode(), b"cookie of a numeric address", hashlib.sha256).hexdigest()


def address(listening: str, port: int, token: str | None) -> str:
    """The address of the application for browsers on this computer, where the server listens at `listening`.
    OSError if that is no address.

    It is a number, because a browser looks for `localhost` at ::1 first, where another account may listen.

    >>> address("127.0.0.1", 8501, None), address("::1", 8501, "token")
    ('http://127.0.0.1:8501', 'http://[::1]:8501/?token=token')
    """
    family = socket.AF_INET6 if ":" in listening else socket.AF_INET  # as Streamlit chooses
    [found, *_others] = socket.getaddrinfo(listening or "0.0.0.0", port, family, socket.SOCK_STREAM)
    host = ipaddress.ip_address(found[4][0])
    if host.is_unspecified:
        host = ipaddress.ip_address("127.0.0.1" if host.version == 4 else "::1")
    where = f"http://{host}:{port}" if host.version == 4 else f"http://[{host}]:{port}"
    return where + (f"/?token={token}" if token else "")
