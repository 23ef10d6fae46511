"""Whatever a program sends to the application's addresses, it gets an answer in words, and the application
goes on. The addresses are those of the application, so that a new one is tried, too."""

from __future__ import annotations

import json
import re
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote_from_bytes

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lectern.access import access_token, cookie_name, cookie_value
from lectern.library import Library
from lectern.schema import AnswerFacts, Ask
from lectern.ui.server.app import ROUTES
from lectern.ui.server.security import ticket
from tests.app.conftest import App, wait_without_page
from tests.making import make_pdf

STREAMLIT = [
    "/{path}",
    "/app/static/{path}",
    "/static/{path}",
    "/media/{path}",
    "/component/{path}",
    "/_stcore/bidi-components/{path}",
    "/_stcore/upload_file/{path}/{path}",
    "/_stcore/agent/mcp",
    "/_stcore/agent/interact",
    "/_stcore/metrics",
    "/oauth2callback",
]
PATHS = [route.path.removesuffix(":path}") for route in ROUTES] + STREAMLIT
NUMBERS = [
    "1e400",
    "-1",
    "NaN",
    "inf",
    "0x7f",
    "1" * 9,
    "9" * 10,
    "9" * 20,
    "9" * 250,
    "9" * 5000,
    "٣",
    "²",
    "1.5",
]
TEXTS = [
    "",
    "\0",
    "a\0b",
    "..",
    "%2e%2e/x",
    "\ufffe",
    "\u202e",
    "'; DROP TABLE files; --",
    "a" * 256,
    "/" * 400,
    "ü" * 200,
]
BYTES = [text.encode() for text in NUMBERS + TEXTS] + [b"\xff\xfe", b"\xed\xa0\x80"]
BODIES = [
    b"",
    b"[" * 100_000,
    b'{"a":' * 100_000,
    b'{"a": NaN, "b": 1e400, "c": ' + b"9" * 5000 + b"}",
    b"\xff\xfe\0",
    b"null",
    b"\0" * 4_000_000,
]  # fmt: skip
values = st.sampled_from(BYTES) | st.binary(max_size=40)
names = st.sampled_from([b"i", b"v", b"name", b"place", b"form"]) | values
HEADERS = [
    "Accept",
    "Accept-Language",
    "Content-Type",
    "If-None-Match",
    "Range",
    "X-Lectern-Ticket",
    "Expect",
]
headers = st.dictionaries(st.sampled_from(HEADERS), values, max_size=3)
methods = st.sampled_from(["GET", "HEAD", "PUT", "POST", "DELETE", "PATCH", "OPTIONS"])


@dataclass
class Served:
    app: App
    ids: dict[str, str]  # of things that exist, by the parameter's name in the paths
    ticket: str

    def ask(
        self, method: str, target: bytes, headers: dict[str, bytes], body: bytes = b"", *, host: str = ""
    ) -> tuple[int, bytes]:
        """Status and body. `host`: by which it is asked, if not by its address."""
        cookie = f"{cookie_name(self.app.port)}={cookie_value(access_token(self.app.home))}"
        lines = [
            f"{method} ".encode() + target + b" HTTP/1.1",
            f"Host: {host or f'127.0.0.1:{self.app.port}'}\r\nConnection: close\r\nCookie: {cookie}".encode(),
            f"Content-Length: {len(body)}".encode(),
            *(name.encode() + b": " + re.sub(rb"[\0\r\n]", b" ", value) for name, value in headers.items()),
        ]
        with socket.create_connection(("127.0.0.1", self.app.port), timeout=60) as connection:
            received = b""
            with suppress(OSError):  # it may answer before it has read everything
                connection.sendall(b"\r\n".join(lines) + b"\r\n\r\n" + body)
            with suppress(ConnectionResetError):
                while data := connection.recv(1 << 16):
                    received += data
        head, _, content = received.partition(b"\r\n\r\n")
        return int(head.split(b" ", 2)[1]), content

    def memory(self) -> int:
        """Bytes in use."""
        assert self.app.process is not None
        status = Path(f"/proc/{self.app.process.pid}/status").read_text()
        return int(re.findall(r"VmRSS:\s*(\d+)", status)[0]) * 1024


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    app = App(tmp_path_factory.mktemp("served") / "library")
    with closing(Library(app.home)) as library:
        pdf = make_pdf(library.incoming / "two.pdf", ["The first page.", "The second page."])
        file_id = library.intake.add(pdf, "two.pdf").file.id
        conversation = library.conversations.create()
        message = library.conversations.begin(conversation.id, Ask("What?"))
        facts = AnswerFacts("generation", "generation", 1, 1.0, 1, 1)
        library.conversations.write(message.id, text="That.", state="done", facts=facts)
        secret = library.secret
    app.start()
    wait_without_page(app)
    ids = {"file_id": file_id, "message_id": message.id, "id": conversation.id, "form": "md"}
    yield Served(app, ids, ticket(secret))
    app.stop()


@pytest.mark.parametrize("path", PATHS)
@given(data=st.data(), method=methods, query=st.lists(st.tuples(names, values), max_size=3), headers=headers)
def test_no_request_ends_in_a_failure_of_the_application(
    served: Served,
    path: str,
    data: st.DataObject,
    method: str,
    query: list[tuple[bytes, bytes]],
    headers: dict[str, bytes],
) -> None:
    def fill(parameter: re.Match[str]) -> str:
        existing = served.ids.get(parameter[1], "0").encode()
        return quote_from_bytes(data.draw(st.just(existing) | values, parameter[1]))

    target = re.sub(r"\{(\w+)[^}]*\}", fill, path)
    target += "?" + "&".join(f"{quote_from_bytes(name)}={quote_from_bytes(value)}" for name, value in query)
    if data.draw(st.booleans(), "with a ticket"):
        headers = {**headers, "X-Lectern-Ticket": served.ticket.encode()}
    body = data.draw(st.sampled_from(BODIES), "body") if method in ("PUT", "POST", "PATCH") else b""
    status, content = served.ask(method, target.encode(), headers, body)
    assert status < 500
    assert b"Traceback" not in content
    if status >= 400 and path.startswith("/api/") and method != "HEAD":
        assert in_words(content)


@pytest.mark.parametrize(("method", "address"), [("PUT", b"/api/upload?name=x.txt"), ("POST", b"/api/copy")])
def test_library_requests_need_a_page_ticket_and_our_host(
    served: Served, method: str, address: bytes
) -> None:
    assert served.ask(method, address, {}, b"text")[0] == 403
    assert served.ask(method, address, {"X-Lectern-Ticket": b"1.abc"}, b"text")[0] == 403
    assert served.ask(method, address, {}, b"text", host="evil.example")[0] == 421


def in_words(content: bytes) -> bool:
    """Whether it is a sentence, as text or as what happened and what to do. "Bad Request" is Streamlit's."""
    text = content.decode()
    return (
        text == "Bad Request" or text.endswith(".") or all(json.loads(text)[key] for key in ("what", "hint"))
    )


def test_numbers_beyond_every_page_are_answered_in_words(served: Served) -> None:
    for number in ("0", "1", *NUMBERS):
        target = f"/api/page/{served.ids['file_id']}/{quote_from_bytes(number.encode())}"
        status, content = served.ask("GET", target.encode(), {})
        if number in ("0", "1"):
            assert (status, content[:4]) == (200, b"RIFF")
        else:
            assert status == 404
            assert in_words(content)


def test_addresses_below_api_are_known_or_refused(served: Served) -> None:
    for path in ("/api/", "/api/nothing", "/api/map/-1", "/api/copy/x", "/api/upload", "/api/page/x"):
        status, content = served.ask("GET", path.encode(), {"Accept": b"text/html"})
        assert status == 404
        assert json.loads(content)["what"] == "There is nothing at this address."


@pytest.mark.skipif(sys.platform != "linux", reason="reads the memory from /proc")
@pytest.mark.parametrize(
    "request_line", ["POST /api/copy", "PUT /api/index?name=x", "PUT /api/upload?name=x"]
)
def test_body_of_any_size_is_never_held_in_memory(served: Served, request_line: str) -> None:
    method, _, target = request_line.partition(" ")
    used = [served.memory()]
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(0.01):
            used.append(served.memory())

    watching = threading.Thread(target=watch)
    watching.start()
    status, _body = served.ask(
        method, target.encode(), {"X-Lectern-Ticket": served.ticket.encode()}, b"\0" * 200_000_000
    )
    ended.set()
    watching.join()
    assert status < 500
    assert max(used) - used[0] < 100_000_000


def test_log_has_no_failure_and_no_token(served: Served) -> None:
    """After all of the others."""
    assert "Traceback" not in served.app.log()
    assert access_token(served.app.home) not in served.app.log()
