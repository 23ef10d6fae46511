import pytest

from ragcore.text.ranked import ranked_in


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("Doc: 2, Relevance: 7\nDoc: 1, Relevance: 3.5", [(1, 7), (0, 3.5)]),
        ("Here they are:\n- **Document 3** - relevance score: 8/10\n- Passage [1] (9)", [(2, 8), (0, 9)]),
        ("[2]: 7\n1. Relevance: 5", [(1, 7), (0, 5)]),
        ("Doc: 2\nDoc: 3, Relevance: 99", [(1, 1), (2, 10)]),
        ("Doc: 2, Relevance: 7\nDoc: 2, Relevance: 1", [(1, 7)]),
        ("Doc: 0, Relevance: 7\nDoc: 4, Relevance: 7", []),
        ("None of them helps. 2 of the passages are about 3 dogs.", []),
        ("", []),
    ],
)
def test_passages_are_read_out_of_replies_of_many_forms(reply: str, expected: list[tuple[int, float]]) -> None:
    assert ranked_in(reply, 3) == expected
