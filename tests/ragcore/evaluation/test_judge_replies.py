from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.evaluation.judge_replies import parse_grade, parse_preference, parse_reason, parse_yes_no


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("YES. It is there.", True),
        ("NO\nIt is not.", False),
        ("yes", True),
        ("**No**, the passages do not say it.", False),
        ("Yes, no doubt.", True),
        ("Verdict: yes", True),
        ("My final answer is: **NO**.", False),
        ("- Judgment: NO", False),
        ("As far as I can see, YES.", True),
        ("There is no doubt: YES", True),
        ("No doubt, YES", True),
        ("No question: the answer is YES.", True),
        ("No question about it: YES", True),
        ("No statement is without support. YES", True),
        ("NO statement is without support: YES", False),
        ("No evidence is there: NO", False),
        ("No. For a YES it would have to say when.", False),
        ("No, it does not say YES.", False),
        ("Yes. There is NO doubt.", True),
        ("Yes there is NO doubt.", True),
        ("No\nYES would need the date.", False),
        ("No doubt about it.", None),
        ("No question can be answered from it.", False),
        ("Either YES or NO.", None),
        ("Nobody knows.", None),
        ("Noon is when it happened.", None),
        ("", None),
    ],
)
def test_yes_or_no(reply: str, expected: bool | None) -> None:
    assert parse_yes_no(reply) is expected


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("4\nNearly.", 4.0),
        ("4.5\nNearly.", 4.5),
        ("4,5", 4.5),
        ("**3**", 3.0),
        ("Score: 4/5", 4.0),
        ("score: 4 out of 5. Good.", 4.0),
        ("8/10", 4.0),
        ("Score (1-5): 2", 2.0),
        ("On a scale from 1 to 5 it is a 4.", 4.0),
        ("Let me think.\nThe rating is 3.", 3.0),
        ("It names 1998.\nScore: 4", 4.0),
        ("Of the 2 facts, both are right.\nScore: 5", 5.0),
        ("2 of the 5 facts are right.\nMy rating is: **3**", 3.0),
        ("It has 3 of 4 facts, so the score is a 4.", 4.0),
        ("4\nA score of 5 would need the date.", 4.0),
        ("4, as a score: 5 would need the date.", 4.0),
        ("4 because a score of 5 would need the date.", 4.0),
        ("Hm.\nThe rating would be 3.", 3.0),
        ("4.5 points\nNearly.", 4.5),
        ("I give it a score of 4, for 2 facts.", 4.0),
        ("It names 1998.", None),
        ("0", None),
        ("6", None),
        ("9/0", None),
        ("-3", None),
        ("good", None),
        ("", None),
    ],
)
def test_grade(reply: str, expected: float | None) -> None:
    assert parse_grade(reply) == expected


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("A It is nearer.", 1.0),
        ("B", 0.0),
        ("TIE. Both are fine.", 0.5),
        ("b is right", 0.0),
        ("**A**", 1.0),
        ("Answer B is better.", 0.0),
        ("Winner: Answer A", 1.0),
        ("The better one: answer B is shorter.", 0.0),
        ("[[B]]", 0.0),
        ("[[C]]", 0.5),
        ("I call it a TIE.", 0.5),
        ("A better answer would cite.", None),
        ("Answer A is worse than answer B", None),
        ("Answer A is much worse. Answer B is better.", 0.0),
        ("A isn't as good.", None),
        ("I think answer B is not better.", None),
        ("A is right, B is not.", 1.0),
        ("Both are bad.", None),
        ("", None),
    ],
)
def test_better(reply: str, expected: float | None) -> None:
    assert parse_preference(reply) == expected


def test_the_reason_follows_the_first_line() -> None:
    assert parse_reason("4\n\nIt lacks a date.\nAnd a name.") == "It lacks a date.\nAnd a name."
    assert parse_reason(" 4, it lacks a date. ") == "4, it lacks a date."


@given(st.text())
def test_any_reply_has_a_meaning_or_none(reply: str) -> None:
    assert parse_yes_no(reply) in (True, False, None)
    assert parse_preference(reply) in (1.0, 0.5, 0.0, None)
    found = parse_grade(reply)
    assert found is None or 1 <= found <= 5
