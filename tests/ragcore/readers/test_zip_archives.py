from __future__ import annotations

import stat
import struct
import zipfile
import zlib
from pathlib import Path

import pytest

from ragcore.errors import (
    DamagedFileError,
    EmptyFileError,
    EncryptedFileError,
    TooLargeError,
    UnsafeArchiveError,
    UnsupportedFileError,
)
from ragcore.readers.base import ReadOptions
from ragcore.readers.registry import read_file
from ragcore.readers.zip import archive
from ragcore.readers.zip.archive import Unpacked, unpack
from tests.making import make_zip


def unpacked(path: Path, password: str | None = None) -> list[Unpacked]:
    return unpack(path, path.parent / "into", ReadOptions(path.name, password))


def test_members_are_unpacked_in_order_and_junk_is_skipped(tmp_path: Path) -> None:
    members = {
        "b/notes.txt": b"one",
        "__MACOSX/b/._notes.txt": b"junk",
        ".DS_Store": b"junk",
        "b/.hidden/x.txt": b"junk",
        "b/.hidden/y.txt": b"junk",
        "node_modules/z/index.js": b"junk",
        "a/Grüße.md": b"two",
    }
    *found, left = unpacked(make_zip(tmp_path / "a.zip", members))
    assert (left.name, left.error and left.error.what) == (
        "a.zip",
        "2 files in a.zip were skipped, as they are hidden: b/.hidden."
        " One file in a.zip was skipped, as it belongs to an installed package: node_modules.",
    )
    assert [(member.name, member.path.read_bytes(), member.error) for member in found] == [
        ("b/notes.txt", b"one", None),
        ("a/Grüße.md", b"two", None),
    ]
    assert [member.path.suffix for member in found] == [".txt", ".md"]


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        (
            "Übersicht für Müller.txt".encode(),
            "Übersicht für Müller.txt",
        ),  # as macOS packs, without saying that it is UTF-8
        ("報告書/年.txt".encode(), "報告書/年.txt"),
        ("Grüße.txt".encode("cp437"), "Grüße.txt"),
    ],
)
def test_the_names_of_members_are_read_as_they_were_written(raw: bytes, name: str, tmp_path: Path) -> None:
    assert [member.name for member in unpacked(zip_of_names(tmp_path, raw))] == [name]


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("cp932", ["予定表.txt"]),  # whose last byte is a backslash's
        ("cp932", ["報告書/2024年度 決算.txt", "報告書/ソフトウェア仕様書 v2.txt", "テスト.txt"]),
        ("cp932", ["データ.csv"]),
        ("gbk", ["报告.txt"]),
        ("gbk", ["北京分公司/员工名单.txt", "北京分公司/工资表.txt"]),
        ("big5", ["年度報告.txt", "會議記錄.txt"]),
        ("cp949", ["회의록.txt", "보고서/계약서 2024.txt"]),
        ("cp866", ["Договор аренды.txt", "Счёт №5.txt"]),
        ("cp866", ["ПРОТОКОЛ.txt"]),
        ("cp850", ["São Paulo.txt", "À voir.txt"]),
        ("cp852", ["Zażółć gęślą jaźń.txt"]),
        ("cp857", ["Sözleşme.txt"]),
        ("cp437", ["Ärzte.txt"]),
        ("cp437", ["Año nuevo.txt", "Straße/Größe.txt", "plain.txt"]),
        ("cp437", ["½ ▓.txt"]),  # in no language
    ],
)
def test_windows_code_page_is_inferred_from_all_names_together(
    page: str, names: list[str], tmp_path: Path
) -> None:
    path = zip_of_names(tmp_path, *(name.encode(page) for name in names))
    assert [member.name for member in unpacked(path)] == names


def test_unicode_name_field_of_a_member_has_priority(tmp_path: Path) -> None:
    """As WinZip and WinRAR write it (APPNOTE.TXT, 4.6.9), unless it stands for another name."""
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as made:
        for number, of in enumerate((b"0.txt", b"other.txt")):
            entry = zipfile.ZipInfo(f"{number}.txt")
            field = struct.pack("<BL", 1, zlib.crc32(of)) + f"Žena {number}.txt".encode()
            entry.extra = struct.pack("<HHB", 0x7001, 1, 0) + struct.pack("<HH", 0x7075, len(field)) + field
            made.writestr(entry, "one")
    assert [member.name for member in unpacked(tmp_path / "a.zip")] == ["Žena 0.txt", "1.txt"]


def test_folders_that_are_written_with_backslashes_are_no_files(tmp_path: Path) -> None:
    path = zip_of_names(tmp_path, b"plans\\", b"plans\\tower.txt")
    assert [(member.name, member.error) for member in unpacked(path)] == [("plans/tower.txt", None)]


def zip_of_names(folder: Path, *names: bytes) -> Path:
    """Nothing in it says how they are written."""
    stand_ins = [f"{number:03}".ljust(len(name), "X") for number, name in enumerate(names)]
    path = make_zip(folder / "a.zip", dict.fromkeys(stand_ins, b"one"))
    data = path.read_bytes()
    for stand_in, name in zip(stand_ins, names, strict=True):
        data = data.replace(stand_in.encode(), name)
    path.write_bytes(data)
    return path


def test_equal_names_do_not_overwrite_each_other(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as made:
        made.writestr("x.txt", "one")
        with pytest.warns(UserWarning, match="Duplicate"):
            made.writestr("x.txt", "two")
    assert [member.path.read_bytes() for member in unpacked(tmp_path / "a.zip")] == [b"one", b"two"]


@pytest.mark.parametrize(
    "name", ["../../x.txt", "/etc/x.txt", "a/../../x.txt", "C:\\x.txt", "C:x.txt", "..\\x.txt", "\\x.txt"]
)
def test_path_outside_the_archive_is_refused_without_a_trace(name: str, tmp_path: Path) -> None:
    path = make_zip(tmp_path / "bad.zip", {"fine.txt": b"fine", name: b"evil"})
    with pytest.raises(UnsafeArchiveError, match=r"bad\.zip"):
        unpacked(path)
    assert [file for file in tmp_path.rglob("*") if file.is_file()] == [path]


def test_links_are_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as made:
        entry = zipfile.ZipInfo("link.txt")
        entry.external_attr = (stat.S_IFLNK | 0o777) << 16
        made.writestr(entry, "/etc/passwd")
    with pytest.raises(UnsafeArchiveError, match="link"):
        unpacked(tmp_path / "a.zip")


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    path = make_zip(tmp_path / "bomb.zip", {"big.txt": bytes(60_000_000)})
    assert path.stat().st_size < 100_000
    written: list[int] = []
    with pytest.raises(UnsafeArchiveError, match=r"would unpack to [0-9,]+ times its size"):
        unpack(
            path, tmp_path / "into", ReadOptions(path.name, progress=lambda done, total: written.append(done))
        )
    assert written == []


def test_too_many_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAX_FILES", 3)
    path = make_zip(tmp_path / "many.zip", {f"{number}.txt": b"x" for number in range(4)})
    written: list[int] = []
    options = ReadOptions(path.name, progress=lambda done, total: written.append(done))
    with pytest.raises(TooLargeError, match="more than 3 files"):
        unpack(path, tmp_path / "into", options)
    assert written == []  # the list of its files says so
    assert list((tmp_path / "into").iterdir()) == []
    of_systems = {f"__MACOSX/{number}": b"x" for number in range(4)}
    few = make_zip(tmp_path / "few.zip", {"a.txt": b"x", ".DS_Store": b"x", **of_systems})
    assert [member.name for member in unpacked(few)] == ["a.txt"]


def test_a_zip_in_the_zip_is_unpacked_and_one_deeper_is_reported(tmp_path: Path) -> None:
    deepest = make_zip(tmp_path / "3.zip", {"deep.txt": b"deep"}).read_bytes()
    inner = make_zip(tmp_path / "2.zip", {"inner.txt": b"inner", "third.zip": deepest}).read_bytes()
    found = unpacked(make_zip(tmp_path / "1.zip", {"second.zip": inner, "outer.txt": b"outer"}))
    assert [member.name for member in found] == ["second.zip/inner.txt", "second.zip/third.zip", "outer.txt"]
    assert [type(member.error) for member in found] == [type(None), UnsupportedFileError, type(None)]
    assert found[0].path.read_bytes() == b"inner"


def test_a_program_in_a_zip_is_refused_as_it_would_be_alone(tmp_path: Path) -> None:
    [member] = unpacked(make_zip(tmp_path / "a.zip", {"b.exe": b"MZ\x90\x00" * 500}))
    alone = tmp_path / "b.exe"
    alone.write_bytes(b"MZ\x90\x00" * 500)
    with pytest.raises(UnsupportedFileError) as refused:
        read_file(alone, ReadOptions("b.exe"))
    assert member.error is not None
    assert member.error.hint == refused.value.hint


def test_unreadable_members_are_reported_with_the_others(tmp_path: Path) -> None:
    members = {"plan.dwg": bytes(range(256)), "empty.txt": b"", "fine.txt": b"fine", "broken.zip": b"PK no"}
    found = unpacked(make_zip(tmp_path / "a.zip", members))
    assert {member.name: type(member.error) for member in found} == {
        "plan.dwg": UnsupportedFileError,
        "empty.txt": EmptyFileError,
        "fine.txt": type(None),
        "broken.zip": DamagedFileError,
    }
    (broken,) = [member.error for member in found if member.name == "broken.zip" and member.error is not None]
    assert broken.what == "broken.zip could not be opened: it is damaged, or not a zip archive."


def test_damaged_member_is_reported_and_others_are_unpacked(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as made:
        made.writestr("bad.txt", "the broken words")
        made.writestr("good.txt", "the good words")
    data = (tmp_path / "a.zip").read_bytes().replace(b"the broken words", b"the other. words")
    (tmp_path / "a.zip").write_bytes(data)
    bad, good = unpacked(tmp_path / "a.zip")
    assert isinstance(bad.error, DamagedFileError)
    assert good.path.read_bytes() == b"the good words"


def test_a_member_without_a_name_is_reported(tmp_path: Path) -> None:
    path = make_zip(tmp_path / "a.zip", {"x": b"words", "fine.txt": b"fine"})
    data = path.read_bytes()
    central = data.index(b"PK\x01\x02")
    # The name's length becomes 0, and the name itself an unused extra field's beginning.
    path.write_bytes(data[: central + 28] + b"\0\0\0\0\1\0" + data[central + 34 :])
    first, second = unpacked(path)
    assert (first.name, type(first.error)) == ("a file without a name", DamagedFileError)
    assert second.path.read_bytes() == b"fine"


def test_no_archive_and_an_empty_archive_are_reported(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(b"PK\x03\x04 and then nothing")
    with pytest.raises(DamagedFileError, match=r"a\.zip"):
        unpacked(tmp_path / "a.zip")
    with pytest.raises(EmptyFileError, match="no files"):
        unpacked(make_zip(tmp_path / "b.zip", {"__MACOSX/x": b"junk"}))


# Made with zip -P sesame: no library here can write an encrypted archive.
_LOCKED = bytes.fromhex(
    "504b03040a0009000000a564755de4614ce31e000000120000000a0000007365637265742e747874c83ddec59a285e8e6295"
    "35efdb8d0d20fe6c0ceefd83d470c89fde43f47f504b0708e4614ce31e00000012000000504b01021e030a0009000000a564"
    "755de4614ce31e000000120000000a0000000000000001000000a481000000007365637265742e747874504b050600000000"
    "0100010038000000560000000000"
)


def test_locked_archive_asks_for_its_password_and_opens(tmp_path: Path) -> None:
    path = tmp_path / "locked.zip"
    path.write_bytes(_LOCKED)
    with pytest.raises(EncryptedFileError, match="protected with a password"):
        unpacked(path)
    with pytest.raises(EncryptedFileError, match="not right"):
        unpacked(path, "wrong")
    [member] = unpacked(path, "sesame")
    assert member.path.read_bytes() == b"The secret words.\n"


def test_what_no_password_would_open_asks_for_none(tmp_path: Path) -> None:
    path = make_zip(tmp_path / "a.zip", {"notes.txt": b"one"})
    data = bytearray(path.read_bytes())
    for sign, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):  # AES-256, as WinZip and 7-Zip encrypt
        place = data.index(sign) + flags
        data[place : place + 4] = b"\x01\0\x63\0"
    path.write_bytes(data)
    [member] = unpacked(path)
    assert isinstance(member.error, UnsupportedFileError)
    assert "encrypted in a way that cannot be read" in member.error.what
