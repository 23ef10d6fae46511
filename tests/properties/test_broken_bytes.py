"""A byte of a text that is broken, or a text that ends in the middle of a character, costs what stands there
and no more."""

from __future__ import annotations

from difflib import SequenceMatcher

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ragcore.errors import RagError
from ragcore.readers.base import ReadOptions, decode_text
from ragcore.readers.encodings import decode

CHINESE = (
    "铁路在春天开通，城里的居民每天沿着它走到山上的旧城堡。车站旁边有一家书店，卖地图和明信片。\n"
    "老师说，学生们应该先看清楚问题，再回答。今年的收入比去年多了三成，工人也多了。\n"
)
TRADITIONAL = (
    "鐵路在春天開通，城裡的居民每天沿著它走到山上的舊城堡。車站旁邊有一家書店，賣地圖和明信片。\n"
    "老師說，學生們應該先看清楚問題，再回答。今年的收入比去年多了三成，工人也多了。\n"
)
JAPANESE = (
    "鉄道は春に開通し、町の人々は毎日それに乗って古い城へ登った。水の重さで動くので、石炭は要らなかった。\n"
    "駅のとなりに本屋があり、地図とはがきを売っている。先生は学生に、まず問題をよく読みなさいと言った。\n"
)
KOREAN = (
    "철도는 봄에 개통되어 도시의 주민들이 매일 그것을 타고 산 위의 오래된 성으로 올라갔다.\n"
    "역 옆에는 지도와 엽서를 파는 서점이 있다. 선생님은 학생들에게 먼저 문제를 잘 읽으라고 말했다.\n"
)
RUSSIAN = (
    "Железная дорога на скале открылась весной, и жители города поднимались по ней к старой крепости "
    "каждый день.\n"
    "Рядом с вокзалом есть книжный магазин, где продают карты. Учитель сказал ученикам сначала "
    "прочитать вопрос.\n"
)
GERMAN = (
    "Die Brücke über den Fluß wurde für Fußgänger geöffnet. Später hieß sie Überführung, und Jäger "
    "gingen über sie.\n"
    "Neben dem Bahnhof gibt es eine Buchhandlung, die Karten für Ausflüge verkauft und über Mittag "
    "schließt.\n"
)
TEXTS = {
    "big5": TRADITIONAL,
    "gbk": CHINESE,
    "gb18030": CHINESE,
    "euc_jp": JAPANESE,
    "shift_jis": JAPANESE,
    "euc_kr": KOREAN,
    "cp1251": RUSSIAN,
    "koi8_r": RUSSIAN,
    "cp1252": GERMAN,
    "utf-8": CHINESE + GERMAN + RUSSIAN,
    "utf-16": CHINESE + GERMAN,
    "utf-16-le": RUSSIAN,
    "utf-16-be": JAPANESE,
}
encodings = st.sampled_from(sorted(TEXTS))


def lost(before: str, after: str) -> int:
    """Characters of a text that are not in another."""
    return len(before) - sum(
        block.size for block in SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks()
    )


@given(encodings, st.floats(0, 1), st.integers(0, 7))
@example("gbk", 0.01, 7)
@example("euc_jp", 0.3, 7)
@example("utf-16", 0.0, 0)
def test_one_broken_byte_costs_at_most_a_few_characters(encoding: str, place: float, bit: int) -> None:
    text = TEXTS[encoding]
    data = bytearray(text.encode(encoding))
    data[int(place * (len(data) - 1))] ^= 1 << bit
    assert lost(text, decode(bytes(data), "a.txt")) <= 10


@given(encodings, st.floats(0.35, 1))
def test_a_text_that_is_cut_anywhere_ends_there(encoding: str, place: float) -> None:
    text = TEXTS[encoding]
    data = text.encode(encoding)
    cut = decode(data[: int(place * len(data))], "a.txt")
    assert lost(cut, text) <= 1
    assert len(cut) >= place * len(text) * 0.5


@pytest.mark.parametrize("encoding", sorted(TEXTS))
def test_a_byte_that_is_no_character_is_reported_once(encoding: str) -> None:
    data = TEXTS[encoding].encode(encoding)
    left_out: list[RagError] = []
    decode_text(data, ReadOptions("a.txt", on_loss=left_out.append))
    assert left_out == []
    if encoding in ("cp1251", "koi8_r", "cp1252"):
        return  # where nearly every byte is one
    half = (
        data[:-1]
        if encoding.startswith("utf-16")
        else data[: len(data) // 2] + b"\xff\xff" + data[len(data) // 2 :]
    )
    text = decode_text(half, ReadOptions("a.txt", on_loss=left_out.append))
    assert "�" in text
    assert len(left_out) == 1
    assert left_out[0].what.startswith("a.txt has broken characters in ")


@pytest.mark.parametrize("encoding", ["gbk", "big5", "euc_jp", "shift_jis", "euc_kr", "cp1251", "utf-8"])
def test_a_sample_of_a_long_text_cuts_no_character(encoding: str) -> None:
    line = TEXTS[encoding].replace("\n", "")
    for shift in range(4):  # wherever the sample ends
        text = "x" * shift + line * 900
        assert decode(text.encode(encoding), "a.txt") == text
