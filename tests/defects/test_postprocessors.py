"""Defects of postprocessors that are known from elsewhere, and are not here."""

from __future__ import annotations

from ragcore.embeddings.hashing import HashEmbedding
from ragcore.llamaindex.postprocessor import EmbeddingRecencyPostprocessor
from ragcore.schema import NodeWithScore, TextNode


def test_d26_recency_compares_own_vectors_in_any_result_order() -> None:
    texts = {
        1: "two coins for a fish",
        2: "boats sail far",
        3: "two coins for a fish",
        4: "lakes are deep",
        5: "boats sail far",
    }
    nodes = {
        year: NodeWithScore(
            TextNode(text, str(year), {"date": f"202{year}-01-01"}, excluded_embed_metadata_keys=("date",))
        )
        for year, text in texts.items()
    }
    processor = EmbeddingRecencyPostprocessor(HashEmbedding(512), similarity_cutoff=0.7)
    for order in ([1, 2, 3, 4, 5], [3, 5, 1, 4, 2], [2, 1, 4, 3, 5]):
        found = processor.postprocess_nodes([nodes[year] for year in order])
        assert [hit.node.id_ for hit in found] == ["5", "4", "3"]
