"""Files with a password: Office files locked by msoffcrypto's own writer, OpenDocument ones as its standard
says."""

from __future__ import annotations

import base64
import hashlib
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from ragcore.errors import DamagedFileError, EncryptedFileError
from ragcore.readers.base import ReadOptions
from ragcore.readers.office.encrypted_ooxml import open_decrypted
from ragcore.readers.registry import read_file
from tests.making import make_docx, make_odt, make_pptx, make_xlsx

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


def test_nothing_decrypted_remains_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = locked(tmp_path, ".docx")
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    read_file(path, ReadOptions(path.name, "Überfahrt 7"))
    assert list(folder.iterdir()) == []


@pytest.mark.skipif(sys.platform != "linux", reason="only there can a file without a name be opened again")
def test_unlocked_file_has_no_name_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = locked(tmp_path, ".docx")
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    with open_decrypted(path, path.name, "Überfahrt 7") as plain:
        assert list(folder.iterdir()) == []
        with zipfile.ZipFile(plain) as first, zipfile.ZipFile(plain) as second:
            assert first.read("word/document.xml") == second.read("word/document.xml")
    assert not plain.exists()


def test_the_name_of_a_locked_file_does_not_matter(tmp_path: Path) -> None:
    path = locked(tmp_path, ".docx").rename(tmp_path / "letter.doc")
    assert SENTENCE in read_file(path, ReadOptions(path.name, "Überfahrt 7")).text


def test_half_a_locked_file_is_reported_as_damaged(tmp_path: Path) -> None:
    path = locked(tmp_path, ".xlsx")
    path.write_bytes(path.read_bytes()[:3000])
    with pytest.raises((DamagedFileError, EncryptedFileError), match=r"locked\.xlsx"):
        read_file(path, ReadOptions(path.name, "Überfahrt 7"))


def locked_odt(folder: Path, password: str) -> Path:
    """As LibreOffice 4 to 24 locks a text: content.xml deflated, then AES-256 in CBC mode; the rest as it
    was."""
    content = zipfile.ZipFile(make_odt(folder / "plain.odt", [SENTENCE])).read("content.xml")
    deflater = zlib.compressobj(9, zlib.DEFLATED, -15)
    deflated = deflater.compress(content) + deflater.flush()
    deflated += b"\0" * (-len(deflated) % 16)
    salt, vector = bytes(range(16)), bytes(range(100, 116))
    key = hashlib.pbkdf2_hmac("sha1", hashlib.sha256(password.encode()).digest(), salt, 1000, 32)
    cipher = Cipher(algorithms.AES(key), modes.CBC(vector)).encryptor()
    checksum = hashlib.sha256(deflated[:1024]).digest()
    salt64, vector64, checksum64 = (base64.b64encode(each).decode() for each in (salt, vector, checksum))
    manifest = f"""<m:manifest xmlns:m="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">
<m:file-entry m:full-path="content.xml" m:media-type="text/xml" m:size="{len(content)}">
<m:encryption-data m:checksum-type="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0#sha256-1k"
 m:checksum="{checksum64}">
<m:algorithm m:algorithm-name="http://www.w3.org/2001/04/xmlenc#aes256-cbc"
 m:initialisation-vector="{vector64}"/>
<m:key-derivation m:key-derivation-name="PBKDF2" m:key-size="32" m:iteration-count="1000" m:salt="{salt64}"/>
<m:start-key-generation m:start-key-generation-name="http://www.w3.org/2000/09/xmldsig#sha256"
 m:key-size="32"/>
</m:encryption-data></m:file-entry></m:manifest>"""
    path = folder / "locked.odt"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.text")
        archive.writestr("content.xml", cipher.update(deflated) + cipher.finalize())
        archive.writestr("META-INF/manifest.xml", manifest)
    return path


def test_locked_opendocument_text_opens_with_its_password(tmp_path: Path) -> None:
    path = locked_odt(tmp_path, "Überfahrt 7")
    with pytest.raises(EncryptedFileError, match=r"locked\.odt is protected with a password"):
        read_file(path, ReadOptions(path.name))
    with pytest.raises(EncryptedFileError, match=r"password for locked\.odt is not right"):
        read_file(path, ReadOptions(path.name, "wrong"))
    assert SENTENCE in read_file(path, ReadOptions(path.name, "Überfahrt 7")).text
