"""SentenceWindowNodeParser: sentences, and what stands around them."""

from __future__ import annotations

import pytest

from ragcore.llamaindex.node_parser import SentenceWindowNodeParser
from ragcore.schema import Document, MetadataMode

TEXT = "One is here. Two is there.\nThree! Is it four? Five."


def test_each_sentence_is_a_node_with_its_neighbours_as_window() -> None:
    nodes = SentenceWindowNodeParser.from_defaults(window_size=1)([Document(TEXT)])
    assert [node.text for node in nodes] == [
        "One is here.",
        "Two is there.",
        "Three!",
        "Is it four?",
        "Five.",
    ]
    assert [node.metadata["window"] for node in nodes] == [
        "One is here. Two is there.",
        "One is here. Two is there.\nThree!",
        "Two is there.\nThree! Is it four?",
        "Three! Is it four? Five.",
        "Is it four? Five.",
    ]
    assert [node.metadata["original_text"] for node in nodes] == [node.text for node in nodes]
    assert [TEXT[node.start_char_idx : node.end_char_idx] for node in nodes] == [node.text for node in nodes]


def test_the_default_window_is_three_sentences_on_both_sides() -> None:
    text = " ".join(f"Sentence {word} is here." for word in "abcdefghi")
    middle = SentenceWindowNodeParser()([Document(text)])[4]
    assert middle.metadata["window"] == " ".join(f"Sentence {word} is here." for word in "bcdefgh")
    alone = SentenceWindowNodeParser(window_size=0)([Document(text)])[4]
    assert alone.metadata["window"] == alone.text


def test_window_metadata_is_hidden_from_embedder_and_model() -> None:
    parser = SentenceWindowNodeParser(window_metadata_key="around", original_text_metadata_key="sentence")
    node = parser([Document(TEXT, metadata={"k": "v"}, excluded_llm_metadata_keys=["k"])])[0]
    assert set(node.metadata) == {"k", "around", "sentence"}
    assert node.get_content(MetadataMode.EMBED) == "k: v\n\nOne is here."
    assert node.get_content(MetadataMode.LLM) == "One is here."


def test_no_text_gives_no_nodes_and_a_negative_window_is_refused() -> None:
    assert SentenceWindowNodeParser()([Document("  \n")]) == []
    with pytest.raises(ValueError, match="window_size is -1"):
        SentenceWindowNodeParser(window_size=-1)
