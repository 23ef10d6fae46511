import pytest

from ragcore.llamaindex.indices.keyword_table.utils import frequent_keywords, rake_keywords, terms_of
from ragcore.text.keyword_replies import keywords_in


def test_frequent_keywords_exclude_stop_words_with_ties_in_order() -> None:
    assert frequent_keywords("The dog and the cat. Cats sleep, a dog barks, cats purr.", 3) == [
        "cat",
        "dog",
        "sleep",
    ]
    assert frequent_keywords("The and of", 3) == []


def test_rake_finds_the_phrases_of_the_example_in_its_paper() -> None:
    """Rose et al. 2010, table 1.2: the scores of these phrases are 8.7, 5.3, 4.7 and so on."""
    abstract = (
        "Compatibility of systems of linear constraints over the set of natural numbers. Criteria of "
        "compatibility of a "
        "system of linear Diophantine equations, strict inequations, and nonstrict inequations are "
        "considered."
    )
    assert rake_keywords(abstract, 5) == [
        "linear diophantine equations",
        "linear constraints",
        "natural numbers",
        "strict inequations",
        "nonstrict inequations",
    ]
    assert rake_keywords("", 5) == []


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("KEYWORDS: cats, dogs, sea birds", ["cats", "dogs", "sea birds"]),
        ("Here you are.\n**Keywords:** cats; dogs.", ["cats", "dogs"]),
        ("- cats\n- dogs\n\n- cats", ["cats", "dogs"]),
        ("1. cats\n2) 'dogs'", ["cats", "dogs"]),
        ("3D, 2001", ["3D", "2001"]),
        ("", []),
    ],
)
def test_keywords_are_read_out_of_replies_of_many_forms(reply: str, expected: list[str]) -> None:
    assert keywords_in(reply) == expected


def test_keywords_are_compared_whole_and_by_their_words() -> None:
    assert terms_of(["Machine Learning", "machines", "the", "..."]) == [
        "machin learn",
        "machin",
        "learn",
        "the",
    ]
