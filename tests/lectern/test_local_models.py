"""Language models as files: what is listed, what the settings may name, and what is free once one is
deleted."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lectern.local_models import (
    CATALOGUE,
    catalogue_model,
    delete_model,
    first_usable_model,
    installed_models,
    model_file,
    models_folder,
    suggested_model,
)
from ragcore.errors import ConfigError
from tests.tiny_model import write_tiny_model


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("LECTERN_MODEL", raising=False)
    models_folder(tmp_path).mkdir()
    (models_folder(tmp_path) / "own.GGUF").write_bytes(b"GGUF" * 25)
    (models_folder(tmp_path) / "half.gguf.incomplete").write_bytes(b"GG")
    return tmp_path


@pytest.fixture
def elsewhere(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = home / "shared" / "big.gguf"
    path.parent.mkdir()
    path.write_bytes(b"GGUF")
    monkeypatch.setenv("LECTERN_MODEL", str(path))
    return path


def test_every_catalogue_entry_can_be_downloaded_and_checked() -> None:
    for model in CATALOGUE:
        assert re.fullmatch(r"[0-9a-f]{64}", model.sha256)
        assert re.fullmatch(r"[0-9a-f]{40}", model.revision)
        assert model.file.lower().endswith("q4_k_m.gguf")
        assert model.size < model.memory < 2 * model.size
    assert (
        len({model.file for model in CATALOGUE})
        == len({model.sha256 for model in CATALOGUE})
        == len(CATALOGUE)
    )


def test_the_first_model_that_fits_is_suggested() -> None:
    assert suggested_model(16 * 10**9) is CATALOGUE[0]
    assert suggested_model(CATALOGUE[0].memory - 1) is catalogue_model("gemma-3-1b-it-Q4_K_M.gguf")
    assert suggested_model(10**9) is None


def test_folder_files_and_the_server_s_own_model_are_listed(home: Path, elsewhere: Path) -> None:
    assert [(model.setting, model.size, model.deletable) for model in installed_models(home)] == [
        ("own.GGUF", 100, True),
        (str(elsewhere), 4, False),
    ]


def test_the_file_that_the_server_names_is_listed_once(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LECTERN_MODEL", str(models_folder(home) / "own.GGUF"))
    assert [model.setting for model in installed_models(home)] == ["own.GGUF"]


def test_without_a_folder_there_is_no_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LECTERN_MODEL", raising=False)
    assert installed_models(tmp_path) == []


def test_file_that_is_no_model_is_not_the_first_choice(home: Path) -> None:
    assert first_usable_model(home) is None
    write_tiny_model(models_folder(home) / "tiny.gguf")
    found = first_usable_model(home)
    assert found is not None
    assert found.setting == "tiny.gguf"


def test_half_copied_model_is_not_the_first_choice(home: Path) -> None:
    path = write_tiny_model(models_folder(home) / "tiny.gguf")
    whole = path.read_bytes()
    for share in (0.3, 0.5, 0.9, 0.999):
        path.write_bytes(whole[: int(share * len(whole))])
        assert first_usable_model(home) is None
    path.write_bytes(whole)
    assert first_usable_model(home) is not None


def test_settings_name_a_file_of_the_folder_or_the_server_s(home: Path, elsewhere: Path) -> None:
    assert model_file("own.GGUF", home) == home / "models" / "own.GGUF"
    assert model_file(str(elsewhere), home) == elsewhere


@pytest.mark.parametrize("setting", ["/etc/passwd", "../settings.json", "sub/own.GGUF"])
def test_settings_name_no_other_file_of_the_computer(home: Path, elsewhere: Path, setting: str) -> None:
    with pytest.raises(ConfigError, match="is not in the library's models folder") as caught:
        model_file(setting, home)
    assert "LECTERN_MODEL" in caught.value.hint


def test_a_deleted_model_is_reported(home: Path) -> None:
    with pytest.raises(ConfigError, match=r"gone\.gguf is no longer on this computer") as caught:
        model_file("gone.gguf", home)
    assert "Settings" in caught.value.hint


def test_deleting_says_what_is_free_now_and_takes_nothing_else(home: Path, elsewhere: Path) -> None:
    assert delete_model("own.GGUF", home) == 100
    assert [model.setting for model in installed_models(home)] == [str(elsewhere)]
    with pytest.raises(ConfigError):
        delete_model(str(elsewhere), home)
    assert elsewhere.exists()
