from __future__ import annotations

import struct
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.errors import DamagedFileError, EmptyFileError, RagError, UnsupportedFileError
from ragcore.readers.encodings import clean, decode, has_more_characters

GERMAN = (
    "Die Brücke über den Fluß wurde für Fußgänger geöffnet. Später hieß sie Überführung, und Jäger "
    "gingen über sie."
)
CZECH = (
    "Příliš žluťoučký kůň úpěl ďábelské ódy. Některé vězně viděl žebrák, myšlení bylo větší než jeho "
    "žízeň po štěstí."
)
RUSSIAN = (
    "Железная дорога на скале открылась весной, и жители города поднимались по ней к старой крепости "
    "каждый день."
)
JAPANESE = (
    "鉄道は春に開通し、町の人々は毎日それに乗って古い城へ登った。水の重さで動くので、石炭は要らなかった。" * 3
)
TEXTS = {
    "cp1252": GERMAN,
    "cp1250": CZECH,
    "iso8859_2": CZECH,
    "cp1251": RUSSIAN,
    "koi8_r": RUSSIAN,
    "shift_jis": JAPANESE,
    "euc_jp": JAPANESE,
    "iso2022_jp": JAPANESE,
}


@pytest.mark.parametrize("encoding", TEXTS)
def test_an_unnamed_encoding_is_detected(encoding: str) -> None:
    assert decode(TEXTS[encoding].encode(encoding), "a.txt") == TEXTS[encoding]


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("cp1252", "Café"),
        ("cp1252", "Ça va très bien, merci"),
        ("cp1252", "It cost £5 at 20°C. " * 60),
        ("cp1252", "L’été dernier, les élèves français ont visité le château où naquit le poète. " * 20),
        ("cp1252", "A situação econômica não é fácil, mas há soluções rápidas e eficazes à espera. " * 20),
        ("cp1252", "Blåbærgrød på øen smagte sødt, men børnene ville hellere have æbler. " * 20),
        ("iso8859_15", "Très cher, mon cœur."),
        ("cp1250", "A várost őszig fűtötték, és tűz is volt. "),
        ("cp1254", "İstanbul ığdır şey güneş değil."),
        ("cp1257", "Žmonės džiaugėsi ąžuolais ir važiavo į seną pilį."),
        ("cp1251", 'The word "Железная дорога" means railway in Russian, a Slavic language.'),
        ("euc_kr", "서울 Seoul, 부산 Busan"),
        ("gbk", "Open the file 设置.txt and press 保存 in the menu bar to keep it."),
    ],
)
def test_accents_among_plain_letters_are_those_of_one_language(encoding: str, text: str) -> None:
    assert decode(text.encode(encoding), "a.txt") == text


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"]
)
@pytest.mark.parametrize("text", [GERMAN, f"{CZECH} 🚋 and more"])
def test_unicode_is_read_with_and_without_its_mark(encoding: str, text: str) -> None:
    assert decode(text.encode(encoding), "a.txt") == text


def test_encoding_named_by_the_page_is_used_if_possible() -> None:
    page = '<meta charset="{}"><p>κάτι</p>'
    assert "κάτι" in decode(page.format("iso-8859-7").encode("iso-8859-7"), "a.html", declares=True)
    assert "κάτι" in decode(page.format("no-such").encode("utf-8"), "a.html", declares=True)


def test_a_stray_byte_does_not_spoil_the_rest() -> None:
    assert decode("Größe, Länge, Fläche, Höhe, Menge ".encode() * 3 + b"\x80uro", "a.txt").endswith("€uro")


def test_a_file_that_is_no_text_is_reported() -> None:
    with pytest.raises(EmptyFileError, match=r"a\.txt is empty"):
        decode(b"", "a.txt")
    with pytest.raises(EmptyFileError, match="blank"):
        decode(b" \n\t\r\n", "a.txt")
    with pytest.raises(DamagedFileError, match="nothing but zeros"):
        decode(bytes(10_000), "a.txt")
    with pytest.raises(UnsupportedFileError, match="not text"):
        decode(bytes(range(256)) * 20, "a.txt")


def test_a_text_with_some_zeros_in_it_is_read_without_them() -> None:
    assert (
        decode(b"some words\0\0 and more words that follow here", "a.txt")
        == "some words and more words that follow here"
    )


@given(st.text())
def test_cleaned_text_can_be_stored_and_displayed(text: str) -> None:
    cleaned = clean(text)
    cleaned.encode("utf-8")
    assert not set(cleaned) & set("\0\r\f\ufeff")
    assert clean(cleaned) == cleaned
    kept = [
        sign
        for sign in text
        if not sign.isspace() and sign not in "\0\ufeff" and not "\ud800" <= sign <= "\udfff"
    ]
    assert [sign for sign in cleaned if not sign.isspace() and sign != "�"] == [
        sign for sign in kept if sign != "�"
    ]


def test_surrogate_halves_are_joined_and_single_ones_replaced() -> None:
    assert clean("a\ud83d\ude8bb\ud800c") == "a🚋b�c"


@given(st.binary(max_size=400))
def test_any_bytes_are_text_or_a_clear_error(data: bytes) -> None:
    try:
        assert decode(data, "a.txt").strip()
    except RagError as error:
        assert "a.txt" in error.what  # noqa: PT017 - either outcome is right


@given(st.text(min_size=1).filter(lambda text: bool(clean(text).strip()) and "\0" not in text))
def test_utf8_comes_back_as_it_was(text: str) -> None:
    if any(sign < " " and sign not in "\n\t\r\f" for sign in text) or any(
        "\ud800" <= sign <= "\udfff" for sign in text
    ):
        return
    assert decode(b"\xef\xbb\xbf" + text.encode(), "a.txt") == clean(text)


def test_reading_a_large_file_of_one_encoding_is_quick(tmp_path: Path) -> None:
    import time

    data = (GERMAN + "\n").encode("cp1252") * 50_000
    began = time.process_time()
    assert decode(data, "a.txt").count("Brücke") == 50_000
    assert time.process_time() - began < 5


@pytest.mark.parametrize("unit", ["<H", "<I"])
def test_binary_numbers_with_zeros_like_wide_text_are_no_text(unit: str) -> None:
    with pytest.raises(UnsupportedFileError, match=r"a\.txt is not text"):
        decode(b"".join(struct.pack(unit, 1 + number % 31) for number in range(1000)), "a.txt")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32", "cp1252"])
def test_characters_are_counted_and_not_bytes(encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(("Größe über alles. " * 5_000).encode(encoding))
    most = len(decode(path.read_bytes(), "a.txt"))
    assert not has_more_characters(path, most)
    assert has_more_characters(path, most * 6 // 10)


@given(st.binary(max_size=300), st.integers(0, 300))
def test_a_file_said_to_have_more_characters_has_more(data: bytes, most: int) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "a.txt")
        path.write_bytes(data)
        if has_more_characters(path, most):
            with suppress(RagError):
                assert len(decode(data, "a.txt")) > most


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("gb18030", "港口始建于一九〇二年，很大。"),
        ("cp932", "港は1902年に建てられた。カナ"),
        ("cp949", "항구는 1902년에 지어졌다."),
    ],
)
def test_two_bytes_of_a_letter_are_not_counted_as_two(encoding: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes((text * 3_000).encode(encoding))
    assert not has_more_characters(path, len(text) * 3_000)


def test_lines_and_marks_that_are_removed_are_not_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"a line of text\r\n\f\r\n" * 1_000 + b"\0\0")
    assert not has_more_characters(path, len(decode(path.read_bytes(), "a.txt")))
