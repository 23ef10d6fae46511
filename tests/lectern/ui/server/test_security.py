from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lectern.ui.server.security import known_host, security_headers, ticket, valid_ticket

SECRET = b"known to all servers of the library"


def test_a_ticket_is_valid_for_a_day_and_cannot_be_forged() -> None:
    now = 1_800_000_123.0
    good = ticket(SECRET, now)
    assert valid_ticket(SECRET, good, now)
    assert valid_ticket(SECRET, good, now + 23 * 3600)
    assert not valid_ticket(SECRET, good, now + 25 * 3600)
    assert not valid_ticket(SECRET, good, now - 3600)
    hour, _, signature = good.partition(".")
    assert not valid_ticket(SECRET, f"{int(hour) + 1}.{signature}", now + 3600)
    assert not valid_ticket(b"another", good, now)
    assert not valid_ticket(SECRET, good[:-1] + ("0" if good[-1] != "0" else "1"), now)


@given(st.text())
def test_no_text_is_a_ticket(text: str) -> None:
    assert not valid_ticket(SECRET, text)


@pytest.mark.parametrize("host", ["localhost", "localhost:8501", "127.0.0.1:80", "[::1]:8501", "[::1]"])
def test_the_servers_own_names_are_known(host: str) -> None:
    assert known_host(host)


@pytest.mark.parametrize(
    "host", ["", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example:8501", "[::2]:8501"]
)
def test_other_names_are_not(host: str) -> None:
    assert not known_host(host)


def test_scripts_run_by_hash_and_never_inline() -> None:
    policy = security_headers()["Content-Security-Policy"]
    assert "'unsafe-inline'" not in policy.split("script-src")[1].split(";")[0]
    assert "'sha256-" in policy
    assert "http" not in policy
