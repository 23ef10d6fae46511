"""Settings and keys on disk."""

from __future__ import annotations

import errno
import os
import stat
import sys
import traceback
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path

import pytest

from lectern import keys
from lectern.keys import damaged_keys, mask, read_key, write_key
from lectern.settings import (
    SCHEMA,
    AppSettings,
    LLMSettings,
    SettingsFile,
    SettingsTable,
    default_library,
    read_settings,
    write_settings,
)
from ragcore.errors import ConfigError, StoreError
from ragcore.storage.atomic_file import replace_file
from tests.databases import opening


def test_settings_default_without_a_file_and_round_trip(tmp_path: Path) -> None:
    assert read_settings(tmp_path) == AppSettings()
    changed = AppSettings(llm=LLMSettings(provider="ollama", model="llama3"))
    write_settings(tmp_path, changed)
    assert read_settings(tmp_path) == changed


@pytest.mark.parametrize(
    ("text", "named"),
    [('{"answers": {"top_k": 0}}', "answers.top_k"), ('{"anwsers": {}}', "anwsers"), ("{", "the file")],
)
def test_a_value_that_cannot_work_is_named(tmp_path: Path, text: str, named: str) -> None:
    (tmp_path / "settings.json").write_text(text, "utf-8")
    with pytest.raises(ConfigError, match=named):
        read_settings(tmp_path)


def test_key_is_stored_apart_for_its_owner_and_can_be_deleted(tmp_path: Path) -> None:
    write_key(tmp_path, "openai_compatible", "secret-1")
    write_key(tmp_path, "openai", "secret-2")
    assert (read_key(tmp_path, "openai_compatible"), read_key(tmp_path, "openai")) == ("secret-1", "secret-2")
    if sys.platform != "win32":
        assert stat.S_IMODE((tmp_path / "keys.json").stat().st_mode) == 0o600
    write_key(tmp_path, "openai", "")
    assert read_key(tmp_path, "openai_compatible") == "secret-1"
    assert "secret-2" not in (tmp_path / "keys.json").read_text("utf-8")
    assert "secret" not in read_settings(tmp_path).model_dump_json()


def test_keys_of_two_providers_saved_at_once_are_both_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ThreadPoolExecutor(1) as other:
        second: list[Future[None]] = []

        def in_the_middle(path: Path, text: str, *, mode: int) -> None:
            monkeypatch.setattr(keys, "replace_file", replace_file)
            second.append(other.submit(write_key, tmp_path, "openai", "secret-2"))
            wait(second, timeout=0.5)
            replace_file(path, text, mode=mode)

        monkeypatch.setattr(keys, "replace_file", in_the_middle)
        write_key(tmp_path, "openai_compatible", "secret-1")
        second[0].result()
    assert (read_key(tmp_path, "openai_compatible"), read_key(tmp_path, "openai")) == ("secret-1", "secret-2")


def test_concurrent_saves_leave_the_settings_of_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = AppSettings(language="de"), AppSettings(language="fr")
    to_disk = os.fsync

    def slow(descriptor: int) -> None:
        """While the first is on its way to the disk, somebody else saves."""
        monkeypatch.setattr(os, "fsync", to_disk)
        write_settings(tmp_path, other)
        assert read_settings(tmp_path) == other
        to_disk(descriptor)

    monkeypatch.setattr(os, "fsync", slow)
    write_settings(tmp_path, one)
    assert read_settings(tmp_path) == one
    assert [path.name for path in tmp_path.iterdir()] == ["settings.json"]


def test_unsavable_settings_are_reported_without_leftovers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_settings(tmp_path, AppSettings(language="de"))

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreError, match="No space left on device"):
        write_settings(tmp_path, AppSettings(language="fr"))
    assert read_settings(tmp_path) == AppSettings(language="de")
    assert [path.name for path in tmp_path.iterdir()] == ["settings.json"]


def test_openai_key_comes_from_the_environment_if_not_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "from-environment")
    assert read_key(tmp_path, "openai") == "from-environment"
    assert read_key(tmp_path, "openai_compatible") == ""
    write_key(tmp_path, "openai", "stored")
    assert read_key(tmp_path, "openai") == "stored"


def test_a_masked_key_can_be_recognised_and_not_used() -> None:
    assert mask("sk-abcdefghijklmnop") == "sk-…mnop"
    assert mask("short") == "•••••"
    assert mask("") == ""


@pytest.mark.parametrize(
    "text", ['["secret-1"]', '{"openai": {"key": "secret-1"}}', '"secret-1"', '{"openai": "secret-1']
)
def test_unreadable_keys_are_reported_and_not_displayed(
    tmp_path: Path, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "keys.json").write_text(text, "utf-8")
    error = damaged_keys(tmp_path)
    assert error is not None
    assert str(tmp_path / "keys.damaged-1.json") in error.what
    assert "secret" not in "".join(traceback.format_exception(error)) + caplog.text


def test_files_saved_by_windows_editors_are_read_or_reported(tmp_path: Path) -> None:
    settings = AppSettings(llm=LLMSettings(provider="ollama", model="modèle"))
    (tmp_path / "settings.json").write_text(settings.model_dump_json(), "utf-8-sig")
    assert read_settings(tmp_path) == settings
    (tmp_path / "settings.json").write_text(settings.model_dump_json(), "cp1252")
    with pytest.raises(ConfigError, match=r"settings\.json cannot be used"):
        read_settings(tmp_path)


def test_hand_edited_settings_apply_at_once_and_errors_are_named(tmp_path: Path) -> None:
    kept = SettingsFile(tmp_path)
    assert kept.read() == AppSettings()
    (tmp_path / "settings.json").write_text('{"answers": {"top_k": 9}}', "utf-8")
    assert kept.read().answers.top_k == 9
    (tmp_path / "settings.json").write_text('{"answers": {"top_k": 0}}', "utf-8")
    with pytest.raises(ConfigError, match=r"answers\.top_k"):
        kept.read()
    (tmp_path / "settings.json").unlink()
    assert kept.read() == AppSettings()


def test_settings_of_another_version_on_a_server_are_reported(tmp_path: Path) -> None:
    for open_database in opening("postgres", tmp_path, SCHEMA):
        database = open_database()
        with database.transaction() as db:
            db.execute("INSERT INTO shared (name, value) VALUES ('settings', ?)", ('{"colour": "red"}',))
        with pytest.raises(ConfigError, match="settings of this library cannot be used: colour") as caught:
            SettingsTable(database).read()
        assert "same one on every machine" in caught.value.hint


def test_library_is_on_the_named_server_or_in_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LECTERN_HOME", str(tmp_path))
    assert default_library() == tmp_path
    monkeypatch.setenv("LECTERN_DATABASE", "postgresql://ada@db/docs")
    assert default_library() == "postgresql://ada@db/docs"
    assert default_library("postgres://bob@db/docs") == "postgres://bob@db/docs"
    monkeypatch.setenv("LECTERN_DATABASE", "mysql://ada:sesame@db/docs")
    with pytest.raises(ConfigError, match="not the address of a PostgreSQL server") as caught:
        default_library()
    assert "sesame" not in str(caught.value) + caught.value.hint
