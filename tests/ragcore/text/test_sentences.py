"""Where sentences end: a table of hard cases, and that nothing of any text is lost."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.text.sentences import sentence_spans, sentences
from tests.needs import SHARED, texts

UDHR = texts(SHARED / "data" / "udhr" / "txt")

# "¦" is where a sentence ends.
CASES = [
    "One.¦ Two!¦ Three?¦ Four",
    "Dr. Smith met Mrs. Jones.¦ They spoke.",
    "J. R. R. Tolkien wrote it.¦ C. S. Lewis did not.",
    "He lives in the U.S. Army base.¦ She left the U.S.¦ They stayed.",
    "It costs $3.14 at example.com/a.b?c=1. today",
    "It fell by 3.5 per cent.¦ Then it rose.",
    "See Fig. 3 and No. 12 of vol. 2.¦ Next.",
    "Filters (part no. AF-20) cost 14.¦ See fig. A1.¦ He said no.¦ Then we left.",
    "Ask Brill (Tel. (0161) 555-0142) or Tel. +44 161 5.¦ Next.",
    "Use fruit, e.g. Apples, i.e. Red ones.¦ Good.",
    "Well... maybe not.¦ Wait...¦ No!",
    "What?!¦ Really.",
    'He said "Go."¦ She went.',
    "“Really?” he asked.¦ “Yes.”¦ He left.",
    "(It was late.)¦ We left.",
    "As shown before.[3]¦ Others agree.[4, 5]¦ It is so.",
    "Many left.¦ 5 stayed.",
    "Plan B.¦ The rest follows.",
    "it is all small.¦ so this begins one.¦ ok",
    "Wrapped\nlines are one\nsentence.¦ Another\none.",
    "A heading\n\n¦A paragraph.",
    "Buy:\n¦- milk\n¦- eggs\n¦* bread\n¦• tea",
    "Steps:\n¦1. Open it.\n¦2. Close it.\n¦3) Leave.",
    "# Title\n¦Text under it.\n¦## Next\n¦More.",
    "Rows:\n¦| a | b |\n¦| c | d |\n¦After.",
    "By year\n¦Adult | 2.50\n¦Dog | free\n¦All may ride.",
    "Year: 2014; Riders: 10\n¦Year: 2015; Riders: 11\n¦All rode; see: this is\none sentence.",
    "[12/03/2025, 19:31] Mo: Lunch\n¦[12/03/25, 7:40:12 PM] Leo: No.\n¦[1.2.2025] Mo: Ok\nand [3]\n[4]",
    "Am 3. Mai kam Hr. Meier.¦ Er blieb.",
    "Das ist z.B. Wein.¦ Gut.",
    "¿Qué hora es?¦ ¡Las tres!¦ Gracias.",
    "これは文です。¦次の文！¦「はい。」¦終わり",
    "你好。¦真的吗？¦真的",
    "هل هذا سؤال؟¦ نعم.¦ طيب",
    "یہ جملہ ہے۔¦ دوسرا",
    "यह एक वाक्य है।¦ दूसरा॥¦ तीसरा",
    "Սա նախադասություն է։¦ Երկրորդ",
    "ይህ ነው።¦ ሁለተኛ",
    "ນີ້¦ ຄື¦ ສອງ",
    "ประโยคแรก¦ ประโยคสอง",
    "នេះ។¦ ពីរ",
]


@pytest.mark.parametrize("case", CASES)
def test_sentences_end_where_a_reader_would_end_them(case: str) -> None:
    assert sentences(case.replace("¦", "")) == [part.strip() for part in case.split("¦")]


def check_cover(text: str) -> None:
    spans = sentence_spans(text)
    assert "".join(text[start:end] for start, end in spans) == text
    assert all(start < end for start, end in spans)
    assert [start for start, _ in spans[1:]] == [end for _, end in spans[:-1]]


@given(
    st.text()
    | st.lists(
        st.sampled_from(
            [".", "!", " ", "\n", "a", "B", "1", '"', "。", "ก", "|", "- ", "Dr", "\x1c", "\u2028"]
        )
    ).map("".join)
)
def test_the_spans_cover_every_text(text: str) -> None:
    check_cover(text)


@pytest.mark.parametrize("path", UDHR, ids=lambda path: path.stem)
def test_every_script_is_covered_and_divided(path: Path) -> None:
    text = path.read_text("utf-8")
    check_cover(text)
    assert len(sentence_spans(text)) >= 30  # articles


@pytest.mark.timeout(60)
def test_a_long_row_of_dots_is_read_at_once() -> None:
    dots = "." * 200_000  # minutes, where every dot is followed to the end of the row
    assert sentences(f"Contents {dots} 3") == [f"Contents {dots}", "3"]
    assert sentences(f"Contents {dots}3") == [f"Contents {dots}3"]


def test_nothing_has_no_sentences() -> None:
    assert sentence_spans("") == []
    assert sentence_spans("  \n ") == [(0, 4)]
