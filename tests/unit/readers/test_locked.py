"""Office files with a password, locked by msoffcrypto's own writer."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from ragcore.errors import DamagedFileError, EncryptedFileError
from ragcore.readers.base import ReadOptions
from ragcore.readers.registry import read_file
from tests.making import make_docx, make_pptx, make_xlsx

SENTENCE = "The cliff railway opened in 1871."
MAKERS: dict[str, Callable[[Path], Path]] = {
    ".docx": lambda path: make_docx(path, [SENTENCE]),
    ".pptx": lambda path: make_pptx(path, [("Railways", SENTENCE)]),
    ".xlsx": lambda path: make_xlsx(path, {"One": [[SENTENCE]]}),
}


def locked(folder: Path, suffix: str, password: str = "Überfahrt 7") -> Path:
    from msoffcrypto.format.ooxml import OOXMLFile

    path = folder / f"locked{suffix}"
    with MAKERS[suffix](folder / f"plain{suffix}").open("rb") as plain, path.open("w+b") as target:
        OOXMLFile(plain).encrypt(password, target)
    return path


@pytest.mark.parametrize("suffix", sorted(MAKERS))
def test_a_locked_file_asks_for_its_password_and_opens_with_it(suffix: str, tmp_path: Path) -> None:
    path = locked(tmp_path, suffix)
    with pytest.raises(EncryptedFileError, match=rf"locked\{suffix} is protected with a password"):
        read_file(path, ReadOptions(path.name))
    with pytest.raises(EncryptedFileError, match=rf"password for locked\{suffix} is not right"):
        read_file(path, ReadOptions(path.name, "wrong"))
    document = read_file(path, ReadOptions(path.name, "Überfahrt 7"))
    assert SENTENCE in document.text
    assert document.metadata["file_name"] == path.name


def test_nothing_unlocked_is_left_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = locked(tmp_path, ".docx")
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    read_file(path, ReadOptions(path.name, "Überfahrt 7"))
    assert list(folder.iterdir()) == []


def test_the_name_of_a_locked_file_does_not_matter(tmp_path: Path) -> None:
    path = locked(tmp_path, ".docx").rename(tmp_path / "letter.doc")
    assert SENTENCE in read_file(path, ReadOptions(path.name, "Überfahrt 7")).text


def test_half_a_locked_file_is_said_to_be_damaged(tmp_path: Path) -> None:
    path = locked(tmp_path, ".xlsx")
    path.write_bytes(path.read_bytes()[:3000])
    with pytest.raises((DamagedFileError, EncryptedFileError), match=r"locked\.xlsx"):
        read_file(path, ReadOptions(path.name, "Überfahrt 7"))
