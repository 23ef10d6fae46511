"""A file from a web link, fetched so that a link leads nowhere but to the web.

Who adds a link makes this machine ask for it. So the addresses of this machine and of the network around it are refused: every
name is looked up here, the address that was looked at is the one connected to, and each redirection is looked at anew. What a
name stands for a moment later changes nothing.
"""

from __future__ import annotations

import codecs
import html
import ipaddress
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from email.message import Message
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from ragcore.errors import InputError, TooLargeError, UnreadableFileError, UnsupportedFileError
from ragcore.readers.encodings import clean, decode
from ragcore.readers.registry import suffix_of, supported_suffixes

if TYPE_CHECKING:
    import httpx

REDIRECTIONS = 8
SILENT_SECONDS = 20.0  # without a byte
NAME_CHARS = 100
HEAD = 200_000  # bytes of a page, in which its title is looked for
AGENT = "Mozilla/5.0 (compatible; Lectern)"

_KINDS = {
    "text/html": ".html",
    "application/xhtml+xml": ".html",
    "application/pdf": ".pdf",
    "text/plain": ".txt",
    "text/markdown": ".md",
    "text/csv": ".csv",
    "application/json": ".json",
    "application/xml": ".xml",
    "text/xml": ".xml",
    "application/rtf": ".rtf",
    "application/epub+zip": ".epub",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": ".pptx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ".xlsx",
    "application/vnd.oasis.opendocument.text": ".odt",
    "application/vnd.oasis.opendocument.spreadsheet": ".ods",
    "message/rfc822": ".eml",
    "application/zip": ".zip",
}
_PACKINGS = ("gzip", "deflate")  # others unpack a few bytes to gigabytes at once
_UNSAID = ("", "application/octet-stream", "binary/octet-stream", "application/x-download")
_TITLE = re.compile(r"<title(?:\s[^<>]{0,500})?>([^<]*)</title", re.I)
_FULL_NAME = re.compile(r"filename\*\s*=\s*(utf-8|iso-8859-1)'[^']*'([^;,\s]+)", re.I)
_NAT64 = ipaddress.ip_network("64:ff9b::/96")  # in front of any IPv4 address, on networks that have IPv6 alone
_GLOBAL_UNICAST = ipaddress.ip_network("2000::/3")  # all of IPv6 that is given out for the internet so far (RFC 4291, IANA)
# What `is_global` of Python 3.11 passes, or passes in some of its releases, of IANA's registries of special addresses:
# protocol assignments, 6to4 relays, what Azure tells each of its machines about itself, Teredo and others, 6to4, documentation.
_UNREACHABLE = tuple(
    map(
        ipaddress.ip_network,
        ("192.0.0.0/24", "192.88.99.0/24", "168.63.129.16/32", "2001::/23", "2002::/16", "3fff::/20"),
    )
)


def is_public(address: str) -> bool:
    """Whether an IP address is one of the internet's: not loopback, private, link-local, reserved, multicast or otherwise not
    globally reachable. An IPv4 address inside an IPv6 one is looked at itself; tunnels to one (6to4, Teredo) are refused.

    >>> is_public("8.8.8.8"), is_public("192.0.0.8"), is_public("::ffff:127.0.0.1"), is_public("fe80::1%eth0")
    (True, False, False, False)
    """
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF) if ip in _NAT64 else ip.ipv4_mapped
        if inner is not None:
            return is_public(str(inner))
        if ip not in _GLOBAL_UNICAST:
            return False
    return ip.is_global and not ip.is_multicast and not ip.is_reserved and not any(ip in network for network in _UNREACHABLE)


def anywhere(address: str) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Limits:
    """`allows`: whether an IP address may be asked; `anywhere` for those of this machine and its network, too."""

    max_bytes: int = 500_000_000
    seconds: float = 120.0
    allows: Callable[[str], bool] = is_public


@dataclass(frozen=True, slots=True)
class Fetched:
    """A file at `path`; `name` is its title or the last part of its address, with the ending of what it is."""

    path: Path
    name: str
    link: str  # as it was given, in full


def fetch(link: str, target: Path, limits: Limits, progress: Callable[[int, int], None] = lambda done, total: None) -> Fetched:
    """What is at the link, written to `target`. InputError in words for the person who gave the link. `progress` is told how
    many bytes are there, of how many; 0 where the server does not say."""
    import httpx

    deadline = time.monotonic() + limits.seconds
    given = url = _understood(link)
    timeout = httpx.Timeout(min(SILENT_SECONDS, limits.seconds))
    with (
        httpx.Client(timeout=timeout, trust_env=False, follow_redirects=False) as client,
        _cut_at(deadline) as trace,
    ):
        for _ in range(REDIRECTIONS + 1):
            try:
                with closing(client.send(_request(client, url, limits, trace), stream=True)) as response:
                    if response.has_redirect_location:
                        url = _understood(str(url.join(response.headers["location"])))
                        continue
                    _refuse_failure(response, url)
                    last = _last_name(response, url)
                    suffix = _suffix(response, url, suffix_of(last))
                    encoding = _encoding(response.charset_encoding) if suffix == ".html" else ""
                    _save(response, target, url, encoding, limits, deadline, progress)
                    return Fetched(target, _name(target, url, last, suffix), str(given))
            except httpx.InvalidURL as error:
                raise _not_understood(str(url)) from error
            except httpx.HTTPError as error:
                raise _failed(error, url, deadline) from error
    raise InputError(
        f"{link} redirects from one address to the next without end.", hint="Open it in a browser and copy its link."
    )


@contextmanager
def _cut_at(deadline: float) -> Iterator[Callable[[str, dict[str, Any]], None]]:
    """Gives what follows httpx's connections, and ends them when time is up: a server that sends a byte now and then, in its
    headers too, is silent for no time limit of httpx's."""
    lines: list[socket.socket] = []

    def cut() -> None:
        for line in lines:
            with suppress(OSError):  # ended already
                line.shutdown(socket.SHUT_RDWR)

    def trace(event: str, info: dict[str, Any]) -> None:
        if event == "connection.connect_tcp.complete":
            lines.append(info["return_value"].get_extra_info("socket").dup())  # encryption takes the socket itself away
            if time.monotonic() >= deadline:
                cut()

    timer = threading.Timer(deadline - time.monotonic(), cut)
    timer.daemon = True
    timer.start()
    try:
        yield trace
    finally:
        timer.cancel()
        for line in lines:
            line.close()


def _failed(error: httpx.HTTPError, url: httpx.URL, deadline: float) -> InputError:
    import httpx

    if isinstance(error, httpx.TimeoutException) or time.monotonic() >= deadline:
        return _late(url)
    if isinstance(error, httpx.DecodingError):
        return InputError(f"What {url.host} sent is damaged.", hint="Try again later.")
    return InputError(f"{url.host} could not be reached.", hint="Check the link, and that this computer is online.")


def _understood(link: str) -> httpx.URL:
    import httpx

    link = link.strip()
    whole = re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*:(?!\d)", link)
    try:
        url = httpx.URL(link if whole else f"https://{link}")
        host = url.host  # which is decoded here
    except (httpx.InvalidURL, ValueError) as error:
        raise _not_understood(link) from error
    no_address = not whole and not re.search(r"[.:]", host) and url.port is None and host != "localhost"  # a mere word
    if url.scheme not in ("http", "https") or not host or no_address or re.search(r"\s", link):
        raise _not_understood(link)
    if url.userinfo:
        raise InputError(
            f"The link to {url.host} has a password in it.", hint="Download the file with your browser, and add it here."
        )
    return url.copy_with(fragment=None)


def _not_understood(link: str) -> InputError:
    return InputError(f"{link[:200]} is not a web link.", hint="Copy it from the browser; it begins with https://.")


def _request(
    client: httpx.Client, url: httpx.URL, limits: Limits, trace: Callable[[str, dict[str, Any]], None]
) -> httpx.Request:
    """To an address of the link's host that may be asked; the name still goes into Host, and into what its key is for."""
    return client.build_request(
        "GET",
        url.copy_with(host=_address(url, limits)),
        headers={
            "Host": url.netloc.decode("ascii"),
            "User-Agent": AGENT,
            "Accept": "text/html,application/pdf,text/plain,*/*;q=0.8",
            "Accept-Encoding": ", ".join(_PACKINGS),
        },
        extensions={"sni_hostname": url.host, "trace": trace},
    )


def _address(url: httpx.URL, limits: Limits) -> str:
    allowed = [address for address in _looked_up(url.host) if limits.allows(address)]
    if not allowed:
        raise InputError(
            f"{url.host} is an address of this computer or its network, where links may not lead.",
            hint="Add the file itself. The administrator of this server can allow it with LECTERN_PRIVATE_NETWORK.",
        )
    return allowed[0]


def public_address(host: str) -> str | None:
    """What a name stands for now; None where some of that is not the internet's. InputError where it stands for nothing."""
    addresses = _looked_up(host)
    return addresses[0] if all(map(is_public, addresses)) else None


def is_in_private_network(host: str) -> bool:
    """Whether some of what a name stands for now is neither this computer nor the internet's. False where that is nothing."""
    try:
        addresses = _looked_up(host)
    except InputError:
        return False
    return not all(is_public(address) or ipaddress.ip_address(address.partition("%")[0]).is_loopback for address in addresses)


def _looked_up(host: str) -> list[str]:
    try:
        return [str(entry[4][0]) for entry in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)]
    except (socket.gaierror, UnicodeError) as error:
        raise InputError(f"{host} does not exist.", hint="Check the address, and that this computer is online.") from error


def _refuse_failure(response: httpx.Response, url: httpx.URL) -> None:
    if response.is_success:
        return
    if response.status_code in (401, 402, 403):
        raise InputError(
            f"{url.host} does not show this page to everyone ({response.status_code}).",
            hint="Open it in your browser, save it or print it to PDF, and add that.",
        )
    if response.status_code in (404, 410):
        raise InputError(f"{url.host} has no such page ({response.status_code}).", hint="Check the link.")
    raise InputError(f"{url.host} answered with an error ({response.status_code}).", hint="Try again later.")


def _last_name(response: httpx.Response, url: httpx.URL) -> str:
    """What the server calls the file (RFC 6266), else the last part of its address."""
    header = Message()  # and no EmailMessage, whose parser stumbles over malformed ones
    header["Content-Disposition"] = given = response.headers.get("content-disposition", "")
    full = _FULL_NAME.search(given)  # beside which there may be one for those that know ASCII alone
    said = unquote(full[2], full[1], "replace") if full else header.get_filename() or ""
    return PurePosixPath(said.replace("\\", "/")).name or PurePosixPath(unquote(url.path)).name


def _suffix(response: httpx.Response, url: httpx.URL, named: str) -> str:
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    known = (*supported_suffixes(), ".zip")
    if kind == "text/plain" and named:
        return named  # source code and settings of any kind
    if kind in _UNSAID:
        return named if named in known else ".html" if not kind else _unsupported(url, kind)
    if kind in _KINDS:
        return _KINDS[kind]
    if named in known and not kind.startswith(("image/", "audio/", "video/")):
        return named
    return _unsupported(url, kind)


def _unsupported(url: httpx.URL, kind: str) -> str:
    raise UnsupportedFileError(
        f"{url.host} sent a file of the type {kind}, which cannot be read.", hint="Give the link of a page, PDF or document."
    )


def _save(
    response: httpx.Response,
    target: Path,
    url: httpx.URL,
    encoding: str,
    limits: Limits,
    deadline: float,
    progress: Callable[[int, int], None],
) -> None:
    """Text in another `encoding` than UTF-8 as UTF-8: the server says what it is, and the page need not."""
    if response.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity", *_PACKINGS):  # nor two
        raise InputError(
            f"What {url.host} sent is compressed in a way that cannot be read here.",
            hint="Download it with your browser and add it.",
        )
    size, announced = 0, response.headers.get("content-length", "")
    total = int(announced) if announced.isdecimal() and "content-encoding" not in response.headers else 0
    decoder = codecs.getincrementaldecoder(encoding)("replace") if encoding else None
    with target.open("wb") as file:
        if decoder is not None:
            file.write(codecs.BOM_UTF8)
        for piece in response.iter_bytes():
            size += len(piece)
            if size > limits.max_bytes:
                raise TooLargeError(
                    f"What {url.host} sent is larger than {limits.max_bytes // 1_000_000:,} MB.",
                    hint="Give the link of a smaller page, or raise the limit in Settings.",
                )
            file.write(decoder.decode(piece).encode("utf-8", "replace") if decoder is not None else piece)
            progress(min(size, total), total)
        if decoder is not None:
            file.write(decoder.decode(b"", final=True).encode("utf-8", "replace"))
    if time.monotonic() >= deadline:  # it was cut, and may seem to have ended
        raise _late(url)
    if not size:
        raise InputError(f"{url.host} sent an empty page.", hint="Open the link in a browser, and check it.")


def _encoding(name: str | None) -> str:
    """ "" for none, for UTF-8, which needs no telling, and for what is no encoding of texts."""
    try:
        b"a".decode(name or "utf-8", "replace")
        known = codecs.lookup(name or "utf-8").name
    except (LookupError, UnicodeError):
        return ""
    return "" if known == "utf-8" else known


def _late(url: httpx.URL) -> InputError:
    return InputError(f"{url.host} took too long to answer.", hint="Try again later, or download the file and add it here.")


def _name(path: Path, url: httpx.URL, last: str, suffix: str) -> str:
    title = _title(path, str(url)) if suffix == ".html" else ""
    stem = title or (last[: -len(suffix)] if last.lower().endswith(suffix) else last) or url.host
    return f"{plain_name(stem, NAME_CHARS) or url.host}{suffix}"


def plain_name(name: str, longest: int | None = None) -> str:
    """On one line, with nothing that looks like a path; at most `longest` characters."""
    shown = "".join(sign if sign.isprintable() and sign not in "/\\" else " " for sign in name)
    return " ".join(shown.split())[:longest].strip(" .")


def _title(path: Path, link: str) -> str:
    """As it stands at the head of the page, which is not parsed here: it may be made to do harm, and is read apart."""
    with path.open("rb") as file:
        head = file.read(HEAD)
    if len(head) == HEAD:
        head = head[: head.rfind(b">") + 1]  # not in the middle of a letter
    try:
        found = _TITLE.search(decode(head, link, declares=True))
    except UnreadableFileError:
        return ""  # reading it will say why
    return clean(html.unescape(found[1])) if found else ""
