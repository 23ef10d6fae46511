"""Downloads the file at a web link, and only from the public web.

A link that anybody adds makes this machine send a request. Therefore addresses of this machine and of its
network are refused. The host name is resolved here, and the connection goes to the checked address, so that a
later change of DNS has no effect. Each redirection is checked again.
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
SILENT_SECONDS = 20.0  # maximum time without a byte
NAME_CHARS = 100
HEAD = 200_000  # bytes of a page in which its title is searched
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
_COMPRESSIONS = ("gzip", "deflate")  # others unpack a few bytes to gigabytes at once
_TITLE = re.compile(r"<title(?:\s[^<>]{0,500})?>([^<]*)</title", re.I)
_FULL_NAME = re.compile(r"filename\*\s*=\s*(utf-8|iso-8859-1)'[^']*'([^;,\s]+)", re.I)
_NAT64 = ipaddress.ip_network("64:ff9b::/96")  # the prefix of any IPv4 address in networks with only IPv6
# all IPv6 addresses that are assigned so far (RFC 4291, IANA)
_GLOBAL_UNICAST = ipaddress.ip_network("2000::/3")
# Special addresses (IANA) for which `is_global` is true in some releases of Python 3.11: protocol
# assignments, 6to4 relays, Azure's metadata service, Teredo and others, 6to4, documentation.
_SPECIAL = [
    ipaddress.ip_network(network)
    for network in (
        "192.0.0.0/24",
        "192.88.99.0/24",
        "168.63.129.16/32",
        "2001::/23",
        "2002::/16",
        "3fff::/20",
    )
]


def is_public(address: str) -> bool:
    """Whether an IP address is globally reachable: not loopback, private, link-local, reserved or multicast.

    An IPv4 address inside an IPv6 address is checked itself. Tunnels (6to4, Teredo) are not public.

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
    return (
        ip.is_global
        and not ip.is_multicast
        and not ip.is_reserved
        and not any(ip in network for network in _SPECIAL)
    )


def anywhere(address: str) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Limits:
    """`allows` says whether an IP address may be used: `is_public`, or `anywhere` to allow this machine and
    its network."""

    max_bytes: int = 500_000_000
    seconds: float = 120.0
    allows: Callable[[str], bool] = is_public


@dataclass(frozen=True, slots=True)
class Fetched:
    """A file at `path`. Its `name` is the page's title or the last part of its address, with the ending of
    its type."""

    path: Path
    name: str
    link: str  # the URL of the request, before any redirection


def fetch(
    link: str, target: Path, limits: Limits, progress: Callable[[int, int], None] = lambda done, total: None
) -> Fetched:
    """Write the file at the link to `target`. `progress(bytes, total)` has a total of 0 if the server does
    not state it.

    InputError with a text for the person who added the link.
    """
    import httpx

    deadline = time.monotonic() + limits.seconds
    start = url = _parse_link(link)
    timeout = httpx.Timeout(min(SILENT_SECONDS, limits.seconds))
    client = httpx.Client(timeout=timeout, trust_env=False, follow_redirects=False)
    with client, _close_connections_at(deadline) as trace:
        for _ in range(REDIRECTIONS + 1):
            try:
                with closing(client.send(_request(client, url, limits, trace), stream=True)) as response:
                    if response.has_redirect_location:
                        url = _parse_link(str(url.join(response.headers["location"])))
                        continue
                    _refuse_failure(response, url)
                    last = _file_name(response, url)
                    suffix = _suffix(response, url, suffix_of(last))
                    encoding = _charset(response.charset_encoding) if suffix == ".html" else ""
                    _save(_read_body(response, url, limits, deadline, progress), target, encoding)
                    return Fetched(target, _title_or_name(target, url, last, suffix), str(start))
            except httpx.InvalidURL as error:
                raise _not_a_link(str(url)) from error
            except httpx.HTTPError as error:
                raise _translate(error, url, deadline) from error
    raise InputError(
        f"{link} redirects from one address to the next without end.",
        hint="Open it in a browser and copy its link.",
    )


@contextmanager
def _close_connections_at(deadline: float) -> Iterator[Callable[[str, dict[str, Any]], None]]:
    """Yield a trace function for httpx that collects the connections. A timer closes them at the deadline.

    The timeouts of httpx do not stop a server that sends one byte now and then, even in its headers.
    """
    connections: list[socket.socket] = []

    def close_all() -> None:
        for connection in connections:
            with suppress(OSError):  # already closed
                connection.shutdown(socket.SHUT_RDWR)

    def trace(event: str, info: dict[str, Any]) -> None:
        if event == "connection.connect_tcp.complete":
            # TLS takes over the socket itself
            connections.append(info["return_value"].get_extra_info("socket").dup())
            if time.monotonic() >= deadline:
                close_all()

    timer = threading.Timer(deadline - time.monotonic(), close_all)
    timer.daemon = True
    timer.start()
    try:
        yield trace
    finally:
        timer.cancel()
        for connection in connections:
            connection.close()


def _translate(error: httpx.HTTPError, url: httpx.URL, deadline: float) -> InputError:
    import httpx

    if isinstance(error, httpx.TimeoutException) or time.monotonic() >= deadline:
        return _timeout_error(url)
    if isinstance(error, httpx.DecodingError):
        return InputError(f"What {url.host} sent is damaged.", hint="Try again later.")
    return InputError(
        f"{url.host} could not be reached.", hint="Check the link, and that this computer is online."
    )


def _parse_link(link: str) -> httpx.URL:
    import httpx

    link = link.strip()
    whole = re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*:(?!\d)", link)
    try:
        url = httpx.URL(link if whole else f"https://{link}")
        host = url.host  # this decodes it
    except (httpx.InvalidURL, ValueError) as error:
        raise _not_a_link(link) from error
    is_word = not whole and not re.search(r"[.:]", host) and url.port is None and host != "localhost"
    if url.scheme not in ("http", "https") or not host or is_word or re.search(r"\s", link):
        raise _not_a_link(link)
    if url.userinfo:
        raise InputError(
            f"The link to {url.host} has a password in it.",
            hint="Download the file with your browser, and add it here.",
        )
    return url.copy_with(fragment=None)


def _not_a_link(link: str) -> InputError:
    return InputError(
        f"{link[:200]} is not a web link.", hint="Copy it from the browser; it begins with https://."
    )


def _request(
    client: httpx.Client, url: httpx.URL, limits: Limits, trace: Callable[[str, dict[str, Any]], None]
) -> httpx.Request:
    """A request to an allowed address of the link's host. Its name is still used for the Host header and for
    TLS."""
    allowed = [address for address in _resolve(url.host) if limits.allows(address)]
    if not allowed:
        raise InputError(
            f"{url.host} is an address of this computer or its network, where links may not lead.",
            hint=(
                "Add the file itself. The administrator of this server can allow it with "
                "LECTERN_PRIVATE_NETWORK."
            ),
        )
    return client.build_request(
        "GET",
        url.copy_with(host=allowed[0]),
        headers={
            "Host": url.netloc.decode("ascii"),
            "User-Agent": AGENT,
            "Accept": "text/html,application/pdf,text/plain,*/*;q=0.8",
            "Accept-Encoding": ", ".join(_COMPRESSIONS),
        },
        extensions={"sni_hostname": url.host, "trace": trace},
    )


def public_address(host: str) -> str | None:
    """An IP address of the host. None if any of its addresses is not public. InputError if the host does not
    exist."""
    addresses = _resolve(host)
    return addresses[0] if all(map(is_public, addresses)) else None


def is_in_private_network(host: str) -> bool:
    """Whether any address of the host is neither loopback nor public. False if the host does not exist."""
    try:
        addresses = _resolve(host)
    except InputError:
        return False
    return not all(
        is_public(address) or ipaddress.ip_address(address.partition("%")[0]).is_loopback
        for address in addresses
    )


def _resolve(host: str) -> list[str]:
    try:
        return [str(entry[4][0]) for entry in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)]
    except (socket.gaierror, UnicodeError) as error:
        raise InputError(
            f"{host} does not exist.", hint="Check the address, and that this computer is online."
        ) from error


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


def _file_name(response: httpx.Response, url: httpx.URL) -> str:
    """The server's name for the file (RFC 6266), or else the last part of its address."""
    header = Message()  # EmailMessage fails on malformed headers
    header["Content-Disposition"] = disposition = response.headers.get("content-disposition", "")
    full = _FULL_NAME.search(disposition)  # preferred to the ASCII name
    name = unquote(full[2], full[1], "replace") if full else header.get_filename() or ""
    return PurePosixPath(name.replace("\\", "/")).name or PurePosixPath(unquote(url.path)).name


def _suffix(response: httpx.Response, url: httpx.URL, named: str) -> str:
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "text/plain" and named:
        return named  # source code and settings of any kind
    if kind in _KINDS:
        return _KINDS[kind]
    if named in (*supported_suffixes(), ".zip") and not kind.startswith(("image/", "audio/", "video/")):
        return named
    if not kind:
        return ".html"
    raise UnsupportedFileError(
        f"{url.host} sent a file of the type {kind}, which cannot be read.",
        hint="Give the link of a page, PDF or document.",
    )


def _check_size(size: int, url: httpx.URL, limits: Limits) -> None:
    if size > limits.max_bytes:
        raise TooLargeError(
            f"What {url.host} sent is larger than {limits.max_bytes // 1_000_000:,} MB.",
            hint="Give the link of a smaller page, or raise the limit in Settings.",
        )


def _read_body(
    response: httpx.Response,
    url: httpx.URL,
    limits: Limits,
    deadline: float,
    progress: Callable[[int, int], None],
) -> Iterator[bytes]:
    compression = response.headers.get("content-encoding", "identity").strip().lower()
    if compression not in ("", "identity", *_COMPRESSIONS):  # several are not allowed either
        raise InputError(
            f"What {url.host} sent is compressed in a way that cannot be read here.",
            hint="Download it with your browser and add it.",
        )
    announced = response.headers.get("content-length", "")
    size, coming = 0, int(announced) if announced.isdecimal() else 0
    total = coming if "content-encoding" not in response.headers else 0
    _check_size(coming, url, limits)  # before it is fetched
    for piece in response.iter_bytes():
        size += len(piece)
        _check_size(size, url, limits)
        yield piece
        progress(min(size, total), total)
    if time.monotonic() >= deadline:  # a closed connection may look like the end of the file
        raise _timeout_error(url)
    if not size:
        raise InputError(f"{url.host} sent an empty page.", hint="Open the link in a browser, and check it.")


def _save(body: Iterator[bytes], target: Path, encoding: str) -> None:
    """Convert a page in another `encoding` to UTF-8, as the page itself may not declare it."""
    with target.open("wb") as file:
        if encoding:
            file.write(codecs.BOM_UTF8)
            body = (text.encode("utf-8", "replace") for text in codecs.iterdecode(body, encoding, "replace"))
        file.writelines(body)


def _charset(name: str | None) -> str:
    """The name of the encoding to convert from; "" for UTF-8, for None and for an unknown encoding."""
    try:
        b"a".decode(name or "utf-8", "replace")
        known = codecs.lookup(name or "utf-8").name
    except (LookupError, UnicodeError):
        return ""
    return "" if known == "utf-8" else known


def _timeout_error(url: httpx.URL) -> InputError:
    return InputError(
        f"{url.host} took too long to answer.", hint="Try again later, or download the file and add it here."
    )


def _title_or_name(path: Path, url: httpx.URL, last: str, suffix: str) -> str:
    title = _title(path, str(url)) if suffix == ".html" else ""
    stem = title or (last[: -len(suffix)] if last.lower().endswith(suffix) else last) or url.host
    return f"{plain_name(stem, NAME_CHARS) or url.host}{suffix}"


def plain_name(name: str, longest: int | None = None) -> str:
    """The name on one line, without slashes and control characters, and with at most `longest` characters."""
    printable = "".join(sign if sign.isprintable() and sign not in "/\\" else " " for sign in name)
    return " ".join(printable.split())[:longest].strip(" .")


def _title(path: Path, link: str) -> str:
    """The title of a page. The page is not parsed here, as it may be hostile: a separate process reads it."""
    with path.open("rb") as file:
        head = file.read(HEAD)
    if len(head) == HEAD:
        head = head[: head.rfind(b">") + 1]  # not in the middle of a character
    try:
        title = _TITLE.search(decode(head, link, declares=True))
    except UnreadableFileError:
        return ""  # the reader will report it
    return clean(html.unescape(title[1])) if title else ""
