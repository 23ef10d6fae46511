"""Links: what they give is a file under its title, and none leads to this machine or the network around
it."""

from __future__ import annotations

import gzip
import http.server
import socket
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from ragcore.errors import InputError, TooLargeError, UnsupportedFileError
from ragcore.readers.web.download import Limits, anywhere, fetch, is_public

Answer = tuple[int, dict[str, str], bytes]

HERE = Limits(allows=lambda address: address == "127.0.0.1")
PAGE = "<html><head><title>Öffnung: der/die Bahn</title></head><body><p>Im Frühling.</p></body></html>"


class Site:
    """A web server that answers as it is told to, and remembers what it was asked."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer | Callable[[http.server.BaseHTTPRequestHandler], None]] = {}
        self.asked: list[tuple[str, str]] = []
        site = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.asked.append((self.path, self.headers["Host"]))
                answer = site.answers.get(self.path, (404, {}, b""))
                if callable(answer):
                    answer(self)
                    return
                status, headers, body = answer
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *given: object) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def __enter__(self) -> Site:
        return self

    def __exit__(self, *failure: object) -> None:
        self.server.shutdown()
        self.server.server_close()

    @property
    def port(self) -> int:
        return int(self.server.server_address[1])

    def link(self, path: str, host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"

    def page(self, path: str, body: str | bytes, kind: str = "text/html", **headers: str) -> str:
        data = body.encode() if isinstance(body, str) else body
        self.answers[path] = (200, {"Content-Type": kind} | headers, data)
        return self.link(path)


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as site:
        yield site


def named(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    """Every name stands for these addresses, one after the other."""
    left = list(addresses)
    real = socket.getaddrinfo

    def looked_up(host: str, port: int | None, *given: int, **more: int) -> object:
        if not host.endswith(".example"):
            return real(host, port, *given, **more)
        address = left.pop(0) if len(left) > 1 else left[0]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port or 0))]

    monkeypatch.setattr(socket, "getaddrinfo", looked_up)


@pytest.mark.parametrize(
    ("kind", "body", "path", "name"),
    [
        ("text/html; charset=utf-8", PAGE, "/a?b=c", "Öffnung: der die Bahn.html"),
        ("text/html", "<p>Untitled.</p>", "/some%20page", "some page.html"),
        ("text/html", "<p>Untitled.</p>", "/", "127.0.0.1.html"),
        ("application/pdf", "%PDF-", "/reports/2024.pdf", "2024.pdf"),
        ("application/pdf", "%PDF-", "/download?id=7", "download.pdf"),
        ("text/plain", "a,b", "/data.csv", "data.csv"),
        ("application/octet-stream", "x", "/notes.docx", "notes.docx"),
        ("text/x-rst", "Title", "/readme.txt", "readme.txt"),
    ],
)
def test_a_file_is_called_by_its_title_or_its_address(
    site: Site, tmp_path: Path, kind: str, body: str, path: str, name: str
) -> None:
    link = site.page(path, body, kind)
    found = fetch(f"  {link}#part ", tmp_path / "a", HERE)
    assert (found.name, found.link) == (name, link)
    assert found.path.read_bytes() == body.encode()


@pytest.mark.parametrize(
    ("kind", "said", "name"),
    [
        ("application/octet-stream", 'attachment; filename="report 2024.pdf"', "report 2024.pdf"),
        (
            "application/octet-stream",
            "attachment; filename*=UTF-8''%C3%9Cbersicht.docx; filename=x.docx",
            "Übersicht.docx",
        ),
        ("application/pdf", 'inline; filename="../../etc/report.PDF"', "report.pdf"),
        ("application/pdf", "attachment", "download.pdf"),
        ("text/html", 'inline; filename="x.html"', "Öffnung: der die Bahn.html"),
    ],
)
def test_a_file_is_called_as_the_server_says(
    site: Site, tmp_path: Path, kind: str, said: str, name: str
) -> None:
    link = site.page("/download?id=7", PAGE, kind, **{"Content-Disposition": said})
    assert fetch(link, tmp_path / "a", HERE).name == name


def test_the_encoding_that_the_server_names_is_believed(site: Site, tmp_path: Path) -> None:
    link = site.page("/", PAGE.encode("iso-8859-1"), "text/html; charset=iso-8859-1")
    found = fetch(link, tmp_path / "a", HERE)
    assert found.name.startswith("Öffnung")
    assert "Frühling" in found.path.read_text("utf-8-sig")


@pytest.mark.parametrize("charset", ["zip", "idna", "undefined", "no-such", ""])
def test_what_a_server_names_that_is_no_encoding_is_not_believed(
    site: Site, tmp_path: Path, charset: str
) -> None:
    found = fetch(site.page("/", PAGE, f"text/html; charset={charset}"), tmp_path / "a", HERE)
    assert found.path.read_bytes() == PAGE.encode()


def test_character_split_or_cut_by_a_server_is_read(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = httpx.Response.iter_bytes
    # the system would join them
    monkeypatch.setattr(httpx.Response, "iter_bytes", lambda response: whole(response, 33))
    link = site.page("/", PAGE.encode("utf-16")[:-1], "text/html; charset=utf-16")
    found = fetch(link, tmp_path / "a", HERE)
    assert found.path.read_text("utf-8-sig") == PAGE[:-1] + "�"


@pytest.mark.parametrize(
    ("page", "name"),
    [
        ("<TITLE lang=en>\n A &amp; B\t</TITLE>", "A & B.html"),
        ("<head><titles>no</titles><title>Second</title>", "Second.html"),
        ("<title>never closed", "page.html"),
        ("<title", "page.html"),
        ("<title></title>", "page.html"),
        ("\ufeff<title>Größe</title>".encode("utf-16-le"), "Größe.html"),
        ("<meta charset=koi8-r><title>Отчёт</title>".encode("koi8-r"), "Отчёт.html"),
        ("<!--" + "ä" * 200_000 + "--><title>Far below</title>", "page.html"),
        ("<title>Möwe</title>" + "ö" * 200_000, "Möwe.html"),
        ("<meta charset=gbk><title>海鸥</title>".encode("gbk") + "海".encode("gbk") * 200_000, "海鸥.html"),
        (" <meta charset=gbk><title>海鸥</title>".encode("gbk") + "海".encode("gbk") * 200_000, "海鸥.html"),
    ],
)
def test_a_page_is_called_by_the_title_at_its_head(
    site: Site, tmp_path: Path, page: str | bytes, name: str
) -> None:
    assert fetch(site.page("/page", page), tmp_path / "a", HERE).name == name


def test_large_page_is_fetched_without_parsing_or_much_memory(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = PAGE.encode("iso-8859-1") + b"<p><b>\xfc</b>" * 2_000_000
    link = site.page("/", body, "text/html; charset=iso-8859-1")
    monkeypatch.setitem(sys.modules, "selectolax.lexbor", None)  # whoever asks for it gets an ImportError
    tracemalloc.start()
    try:
        found = fetch(link, tmp_path / "a", HERE)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.name.startswith("Öffnung")
    assert found.path.read_bytes().endswith("ü</b>".encode())
    assert peak < len(body) / 2
    assert [each.name for each in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize(
    "address",
    [
        *(
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "224.0.0.1",
        ),
        *(
            "240.0.0.1",
            "::1",
            "::",
            "fe80::1",
            "fc00::1",
            "fec0::1",
            "::ffff:127.0.0.1",
            "64:ff9b::a9fe:a9fe",
        ),
        *("64:ff9b:1::1", "2002:7f00:1::", "2001::1", "168.63.129.16", "::ffff:168.63.129.16"),
    ],
)
def test_an_address_that_is_not_the_internets_is_refused(
    monkeypatch: pytest.MonkeyPatch, site: Site, tmp_path: Path, address: str
) -> None:
    assert not is_public(address)
    named(monkeypatch, address)
    with pytest.raises(InputError, match=r"innocent\.example is an address of this computer"):
        fetch(site.link("/", "innocent.example"), tmp_path / "a", Limits())


def test_addresses_of_the_internet_are_not_refused() -> None:
    assert all(map(is_public, ("8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808")))


@pytest.mark.parametrize(
    "link", ["http://2130706433/", "http://0x7f.1/", "http://127.1/", "http://[::ffff:7f00:1]/"]
)
def test_other_ways_to_write_this_machine_are_refused_too(tmp_path: Path, link: str) -> None:
    with pytest.raises(InputError):
        fetch(link, tmp_path / "a", Limits())


def test_the_address_that_was_looked_at_is_the_one_connected_to(
    monkeypatch: pytest.MonkeyPatch, site: Site, tmp_path: Path
) -> None:
    site.page("/", PAGE)
    named(monkeypatch, "127.0.0.1", "127.0.0.2")  # the name changes its meaning after it was looked at
    fetch(site.link("/", "innocent.example"), tmp_path / "a", HERE)
    assert site.asked == [("/", f"innocent.example:{site.port}")]


def test_each_redirection_is_looked_at(site: Site, tmp_path: Path) -> None:
    site.page("/end", PAGE)
    site.answers["/inside"] = (302, {"Location": "/end"}, b"")
    assert fetch(site.link("/inside"), tmp_path / "a", HERE).name.startswith("Öffnung")
    for away in (site.link("/end", "127.0.0.2"), f"http://[::1]:{site.port}/end"):
        site.answers["/away"] = (301, {"Location": away}, b"")
        with pytest.raises(InputError, match="is an address of this computer"):
            fetch(site.link("/away"), tmp_path / "a", HERE)
    site.answers["/file"] = (301, {"Location": "file:///etc/passwd"}, b"")
    with pytest.raises(InputError, match="is not a web link"):
        fetch(site.link("/file"), tmp_path / "a", HERE)
    site.answers["/round"] = (301, {"Location": "/round"}, b"")
    with pytest.raises(InputError, match="without end"):
        fetch(site.link("/round"), tmp_path / "a", HERE)


def test_link_with_too_much_data_is_refused_even_if_compressed(site: Site, tmp_path: Path) -> None:
    small = Limits(max_bytes=1_000_000, allows=anywhere)
    site.page("/large", b"x" * 1_000_001, "text/plain")
    site.page("/packed", gzip.compress(b"x" * 50_000_000), "text/plain", **{"Content-Encoding": "gzip"})
    for path in ("/large", "/packed"):
        with pytest.raises(TooLargeError, match="larger than 1 MB"):
            fetch(site.link(path), tmp_path / "a", small)


def test_link_that_announces_too_much_is_refused_before_it_comes(site: Site, tmp_path: Path) -> None:
    fetched: list[tuple[int, int]] = []
    site.page("/large", b"x" * 900_000, "text/plain", **{"Content-Length": "1000001"})
    with pytest.raises(TooLargeError, match="larger than 1 MB"):
        fetch(
            site.link("/large"),
            tmp_path / "a",
            Limits(max_bytes=1_000_000, allows=anywhere),
            lambda done, total: fetched.append((done, total)),
        )
    assert fetched == []


DRIPS = {
    "its text": (b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n", b"x"),
    "its headers": (b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nX-Long: ", b"x"),
    "what unpacks to nothing": (
        (
            b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Encoding: gzip\r\n\r\n"
            b"\x1f\x8b\x08\x08\0\0\0\0\0\0"
        ),
        b"x",
    ),
    "redirections": (b"HTTP/1.1 302 Found\r\nLocation: /\r\n\r\n", b""),
}


@pytest.mark.parametrize("drips", DRIPS.values(), ids=DRIPS.keys())
def test_a_server_that_sends_too_slowly_is_abandoned(
    site: Site, tmp_path: Path, drips: tuple[bytes, bytes]
) -> None:
    def drip(handler: http.server.BaseHTTPRequestHandler) -> None:
        if not drips[1]:
            time.sleep(0.1)
        with suppress(OSError):  # when the other side has gone
            handler.wfile.write(drips[0])
            for _ in range(100):
                if drips[1]:
                    handler.wfile.write(drips[1])
                    time.sleep(0.05)

    site.answers["/"] = drip
    began = time.monotonic()
    with pytest.raises(InputError, match="took too long"):
        fetch(site.link("/"), tmp_path / "a", Limits(seconds=0.3, allows=anywhere))
    assert time.monotonic() - began < 2


@pytest.mark.parametrize("packing", ["gzip, gzip", "br", "zstd"])
def test_what_unpacks_to_gigabytes_at_once_is_not_unpacked(site: Site, tmp_path: Path, packing: str) -> None:
    bomb = gzip.compress(gzip.compress(bytes(100_000_000)))
    with pytest.raises(InputError, match="compressed in a way"):
        fetch(site.page("/", bomb, "text/plain", **{"Content-Encoding": packing}), tmp_path / "a", HERE)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ((404, {}, b""), r"has no such page \(404\)"),
        ((403, {}, b""), r"does not show this page to everyone \(403\)"),
        ((500, {}, b""), r"answered with an error \(500\)"),
        ((302, {}, b""), r"answered with an error \(302\)"),  # which does not say where to
        ((302, {"Location": "http://[::1"}, b""), "could not be reached"),
        ((302, {"Location": "http://127.0.0.1:99999/"}, b""), "could not be reached"),
        ((200, {"Content-Type": "text/html"}, b""), "sent an empty page"),
        ((200, {"Content-Type": "text/html", "Content-Encoding": "gzip"}, b"no gzip"), "is damaged"),
    ],
)
def test_other_answers_of_a_server_are_reported(
    site: Site, tmp_path: Path, answer: Answer, said: str
) -> None:
    site.answers["/"] = answer
    with pytest.raises(InputError, match=said) as caught:
        fetch(site.link("/"), tmp_path / "a", HERE)
    assert caught.value.hint


def test_what_cannot_be_read_is_not_fetched(site: Site, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedFileError, match="image/png"):
        fetch(site.page("/a.png", b"\x89PNG", "image/png"), tmp_path / "a", HERE)


@pytest.mark.parametrize(
    "link",
    [
        "ftp://example.org/a",
        "file:///etc/passwd",
        "",
        "two words",
        "foo",
        "foo/bar.pdf",
        "http://",
        "javascript:alert(1)",
        "http://xn--/",
        "http://xn--a.example/",
    ],
)
def test_what_is_no_web_link_is_refused(tmp_path: Path, link: str) -> None:
    with pytest.raises(InputError, match="is not a web link"):
        fetch(link, tmp_path / "a", Limits())


def test_a_link_with_a_password_is_refused_and_not_repeated(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        fetch("https://ann:hush@example.org/", tmp_path / "a", Limits())
    assert "hush" not in caught.value.what + caught.value.hint


def test_an_absent_server_is_reported(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(InputError, match="could not be reached"):
        fetch(f"http://127.0.0.1:{port}/", tmp_path / "a", HERE)
