import pytest

from ragcore.text.rank_replies import parse_ranking


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("Doc: 2, Relevance: 7\nDoc: 1, Relevance: 3.5", [(1, 7), (0, 3.5)]),
        ("Here they are:\n- **Document 3** - relevance score: 8/10\n- Passage [1] (9)", [(2, 8), (0, 9)]),
        ("[2]: 7\n1. Relevance: 5", [(1, 7), (0, 5)]),
        ("Doc: 2\nDoc: 3, Relevance: 99", [(1, 1), (2, 10)]),
        ("Doc: 2, Relevance: 7\nDoc: 2, Relevance: 1", [(1, 7)]),
        ("Doc: 0, Relevance: 7\nDoc: 4, Relevance: 7", []),
        ("Doc: 1, Relevance: 2; Doc: 3, Relevance: 5", [(0, 2), (2, 5)]),
        ("1. Doc: 2, Relevance: 7", [(1, 7)]),
        ("The best is document 2 (relevance 7).", [(1, 7)]),
        ("Doc: 2\nRelevance rating: 7\nDoc: 1\nRelevance is 4", [(1, 7), (0, 4)]),
        ("Doc: 1, Relevance: -3\n[2]: -2\nDoc 3 - 4", [(0, 0), (1, 0), (2, 4)]),
        ("Doc: 2, Relevance-7", [(1, 7)]),
        ("Doc 2-7", [(1, 7)]),
        (f"Doc: {'1' * 5000}, Relevance: 7\nDoc: 1, Relevance: {'1' * 5000}", [(0, 10)]),
        ("Doc: 2, for it is about cats\nDocument 3\nDocument 1 is of no use", [(1, 1), (2, 1)]),
        ("None of them helps. 2 of the passages are about 3 dogs.", []),
        ("", []),
    ],
)
def test_passages_are_read_out_of_replies_of_many_forms(
    reply: str, expected: list[tuple[int, float]]
) -> None:
    assert parse_ranking(reply, 3) == expected
