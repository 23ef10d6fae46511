"""Postprocessors that look at words, and those that change the text."""

from __future__ import annotations

import pytest

from ragcore.embeddings.hashing import HashEmbedding
from ragcore.llamaindex.postprocessor import PIINodePostprocessor, SentenceEmbeddingOptimizer
from ragcore.postprocessor import (
    KeywordNodePostprocessor,
    MetadataReplacementPostProcessor,
    SimilarityPostprocessor,
)
from ragcore.schema import NodeWithScore, QueryBundle, TextNode


def hits(*texts: str) -> list[NodeWithScore]:
    return [NodeWithScore(TextNode(text, str(i)), 0.5) for i, text in enumerate(texts)]


@pytest.mark.parametrize(
    ("keyword", "text", "stands"),
    [
        ("fish", "Red Fish.", True),
        ("fish", "fishing boats", False),
        ("fish", "catfish", False),
        ("red fish", "a red\n fish swims", True),
        ("red fish", "red and fish", False),
        ("straße", "DIE STRASSE", True),
        ("C++", "written in C++, mostly", True),
        ("E-12", "error e-12 again", True),
        ("договор", "Этот Договор.", True),
        ("договор", "договора", False),
        ("東京", "東京都に住む", True),
        ("สัญญา", "มาตราสัญญาเช่า", True),
        ("café", "a cafe\u0301 there", True),
        (".*", "anything", False),
    ],
)
def test_a_keyword_is_a_whole_word_of_any_language(keyword: str, text: str, stands: bool) -> None:
    found = hits(text)
    assert KeywordNodePostprocessor(required_keywords=[keyword]).postprocess_nodes(found) == (
        found if stands else []
    )
    assert KeywordNodePostprocessor(exclude_keywords=[keyword]).postprocess_nodes(found) == (
        [] if stands else found
    )


def test_one_required_keyword_suffices_and_one_excluded_rejects() -> None:
    found = hits("red fish", "blue fish", "blue boat", "red boat", "lake")
    kept = KeywordNodePostprocessor(
        required_keywords=["fish", "red"], exclude_keywords=["boat"]
    ).postprocess_nodes(found)
    assert kept == found[:2]
    assert KeywordNodePostprocessor().postprocess_nodes(found) == found
    assert KeywordNodePostprocessor(["", " "]).postprocess_nodes(found) == found
    for given in ({"required_keywords": "fish"}, {"exclude_keywords": "fish"}):
        with pytest.raises(ValueError, match="a list of keywords is needed, not the text 'fish'"):
            KeywordNodePostprocessor(**given)


def test_the_window_around_a_sentence_takes_its_place() -> None:
    sentence = TextNode("Two.", "s", {"window": "One. Two. Three.", "n": 7}, start_char_idx=5, end_char_idx=9)
    plain = NodeWithScore(TextNode("no window", "p"), 0.1)
    empty = NodeWithScore(TextNode("nothing in it", "e", {"window": None}), 0.1)
    replaced, *same = MetadataReplacementPostProcessor(target_metadata_key="window").postprocess_nodes(
        [NodeWithScore(sentence, 0.7), plain, empty]
    )
    assert (replaced.text, replaced.score, replaced.node.id_) == ("One. Two. Three.", 0.7, "s")
    assert same == [plain, empty]
    assert sentence.text == "Two."
    assert MetadataReplacementPostProcessor("n").postprocess_nodes([NodeWithScore(sentence)])[0].text == "7"


TEXT = "Red fish swim. Boats are blue. Nobody knows why. Fish are red here."


@pytest.mark.parametrize(
    ("percentile", "threshold", "expected"),
    [
        (None, None, [TEXT]),
        (0.5, None, ["Red fish swim. Fish are red here."]),
        (0.0, None, ["Red fish swim."]),
        (1.0, None, [TEXT]),
        (None, 0.5, ["Red fish swim. Fish are red here."]),
        (0.25, 0.5, ["Red fish swim."]),
        (None, 1.01, []),
    ],
)
def test_only_the_sentences_near_the_question_stay(
    percentile: float | None, threshold: float | None, expected: list[str]
) -> None:
    optimizer = SentenceEmbeddingOptimizer(
        HashEmbedding(512), percentile_cutoff=percentile, threshold_cutoff=threshold
    )
    assert [
        hit.text for hit in optimizer.postprocess_nodes(hits(TEXT), QueryBundle("red fish swim"))
    ] == expected


def test_each_passage_is_judged_by_its_own_sentences() -> None:
    optimizer = SentenceEmbeddingOptimizer(HashEmbedding(512), threshold_cutoff=0.5)
    found = optimizer.postprocess_nodes(
        hits("Boats. Red fish.", "", "Boats.", "Red fish! Lakes."), query_str="red fish"
    )
    assert [(hit.node.id_, hit.text, hit.score) for hit in found] == [
        ("0", "Red fish.", 0.5),
        ("3", "Red fish!", 0.5),
    ]
    with pytest.raises(ValueError, match="from 0 to 1, not 50"):
        SentenceEmbeddingOptimizer(HashEmbedding(8), percentile_cutoff=50)


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("Write to jo.doe+x@mail.example.org.", "Write to [EMAIL]."),
        ("Call +49 (0)30 1234-567 now", "Call [PHONE] now"),
        ("Call 030/1234567, or (555) 123-4567", "Call [PHONE], or [PHONE]"),
        ("555-123-4567", "[PHONE]"),
        ("Card 4111 1111 1111 1111, not 4111 1111 1111 1112", "Card [CARD], not 4111 1111 1111 1112"),
        ("On 2024-05-01 or 01.05.2024 at 12:30", "On 2024-05-01 or 01.05.2024 at 12:30"),
        ("It costs 1234567 and 3.14159265", "It costs 1234567 and 3.14159265"),
    ],
)
def test_addresses_and_numbers_of_persons_are_masked(text: str, masked: str) -> None:
    (found,) = PIINodePostprocessor().postprocess_nodes(hits(text))
    assert found.text == masked


def test_the_question_is_passed_once() -> None:
    found = hits("a")
    assert SimilarityPostprocessor(0.4).postprocess_nodes(found, query_str="why?") == found
    with pytest.raises(ValueError, match="give one of them"):
        SimilarityPostprocessor().postprocess_nodes(hits("a"), QueryBundle("why?"), "why?")
