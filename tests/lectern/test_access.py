from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from lectern import access
from ragcore.errors import StoreError


def test_the_token_stays_the_same_over_restarts(tmp_path: Path) -> None:
    token = access.access_token(tmp_path / "library")
    assert access.access_token(tmp_path / "library") == token
    assert access.access_token(tmp_path / "another") != token


@pytest.mark.skipif(sys.platform == "win32", reason="modes")
def test_token_is_readable_by_its_owner_alone_or_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "library"
    token = access.access_token(folder)
    assert [path.stat().st_mode & 0o777 for path in (folder, folder / "token")] == [0o700, 0o600]
    (folder / "token").chmod(0o644)
    another = access.access_token(folder)
    assert another != token
    assert (folder / "token").stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(sys.platform == "win32", reason="links need a right there")
@pytest.mark.parametrize("content", ["", "short", "x" * 44, "é" * 43, "A" * 43 + "\n"])
def test_what_is_no_token_is_replaced(tmp_path: Path, content: str) -> None:
    (tmp_path / "token").write_text(content, "utf-8")
    (tmp_path / "token").chmod(0o600)
    assert len(access.access_token(tmp_path)) == 43


@pytest.mark.skipif(sys.platform == "win32", reason="links need a right there")
def test_a_link_to_a_token_is_not_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("A" * 43)
    elsewhere.chmod(0o600)
    (tmp_path / "token").symlink_to(elsewhere)
    assert access.access_token(tmp_path) != "A" * 43
    assert elsewhere.read_text() == "A" * 43


def test_cookie_hides_the_token_and_differs_by_token_and_port() -> None:
    token = "A" * 43
    assert token not in access.cookie_value(token)
    assert access.cookie_value(token) != access.cookie_value("B" * 43)
    assert access.cookie_name(8501) != access.cookie_name(8502)


@pytest.mark.parametrize(
    ("value", "needed"), [(None, True), ("", True), ("on", True), ("off", False), (" OFF ", False)]
)
def test_a_token_is_needed_unless_the_environment_says_off(
    value: str | None, needed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if value is None:
        monkeypatch.delenv(access.ACCESS, raising=False)
    else:
        monkeypatch.setenv(access.ACCESS, value)
    assert access.needs_token() is needed
    assert os.environ.get(access.ACCESS) == value


@pytest.mark.parametrize(
    ("listening", "host"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("localhost", "127.0.0.1"),
        ("0.0.0.0", "127.0.0.1"),
        ("", "127.0.0.1"),
        ("::", "[::1]"),
        ("::1", "[::1]"),
        ("192.0.2.7", "192.0.2.7"),
    ],
)
def test_own_address_is_a_number_that_the_server_listens_at(listening: str, host: str) -> None:
    assert access.address(listening, 8501, None) == f"http://{host}:8501"
    assert access.address(listening, 8501, "A-b") == f"http://{host}:8501/?token=A-b"


def test_a_token_that_cannot_be_stored_is_reported(tmp_path: Path) -> None:
    (tmp_path / "token").mkdir()
    (tmp_path / "file").touch()
    for folder in (tmp_path, tmp_path / "file"):
        with pytest.raises(StoreError):
            access.access_token(folder)
