from ragcore.postprocessor.similarity import SimilarityPostprocessor
from ragcore.schema import NodeWithScore, TextNode


def test_the_cutoff_keeps_what_is_at_least_as_near() -> None:
    hits = [NodeWithScore(TextNode(str(i), str(i)), i / 10) for i in range(1, 8)]
    unscored = NodeWithScore(TextNode("unscored", "unscored"))
    kept = SimilarityPostprocessor(similarity_cutoff=0.4).postprocess_nodes([*hits, unscored])
    assert [hit.node.id_ for hit in kept] == ["4", "5", "6", "7"]
    assert SimilarityPostprocessor(similarity_cutoff=None).postprocess_nodes([*hits, unscored]) == [
        *hits,
        unscored,
    ]
    assert SimilarityPostprocessor().postprocess_nodes([*hits, unscored]) == hits
