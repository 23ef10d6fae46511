import numpy as np
import pytest

from ragcore.postprocessor.neighbours import NeighboursPostprocessor
from ragcore.postprocessor.similarity import SimilarityPostprocessor
from ragcore.schema import Document, NodeWithScore, TextNode
from ragcore.vector_stores.memory import MemoryStore

SENTENCES = ["Zero.", "One is it.", "Two too.", "Three\nbe.", "Four more.", "Five!"]
TEXT = "  ".join(SENTENCES)


@pytest.fixture
def store() -> MemoryStore:
    nodes = []
    for i, sentence in enumerate(SENTENCES):
        start = TEXT.index(sentence)
        nodes.append(
            TextNode(
                sentence,
                f"p{i}",
                ref_doc_id="d",
                start_char_idx=start,
                end_char_idx=start + len(sentence),
                prev_id=f"p{i - 1}" if i else None,
                next_id=f"p{i + 1}" if i < 5 else None,
                embedding=np.ones(2, np.float32),
            )
        )
    store = MemoryStore()
    store.put(Document(TEXT, id_="d"), nodes)
    return store


def found(store: MemoryStore, *ids: str) -> list[NodeWithScore]:
    return [NodeWithScore(node, 1.0 / place) for place, node in enumerate(store.nodes(ids), 1)]


def extended(store: MemoryStore, *ids: str, before: int = 1, after: int = 1) -> list[str]:
    hits = NeighboursPostprocessor(store, before=before, after=after).postprocess_nodes(found(store, *ids))
    assert [hit.node.id_ for hit in hits] == list(ids)
    assert [hit.score for hit in hits] == [1.0 / place for place in range(1, len(ids) + 1)]
    for hit in hits:
        assert hit.node.text == TEXT[hit.node.start_char_idx : hit.node.end_char_idx]
    return [hit.node.text for hit in hits]


def test_a_passage_is_read_with_what_stands_around_it(store: MemoryStore) -> None:
    assert extended(store, "p2") == ["One is it.  Two too.  Three\nbe."]
    assert extended(store, "p2", before=0, after=2) == ["Two too.  Three\nbe.  Four more."]
    assert extended(store, "p0", "p5") == ["Zero.  One is it.", "Four more.  Five!"]
    assert extended(store, "p1", before=9, after=9) == [TEXT]
    assert extended(store, "p1", before=0, after=0) == ["One is it."]


def test_no_text_comes_twice(store: MemoryStore) -> None:
    assert extended(store, "p3", "p2") == ["Three\nbe.  Four more.", "One is it.  Two too."]
    assert extended(store, "p1", "p3") == ["Zero.  One is it.  Two too.", "Three\nbe.  Four more."]


def test_a_passage_that_cannot_be_extended_stays_as_it_is(store: MemoryStore) -> None:
    gone = NodeWithScore(TextNode("of a deleted document", "x", ref_doc_id="gone", start_char_idx=0, end_char_idx=5), 0.5)
    loose = NodeWithScore(TextNode("of no document", "y"), 0.4)
    changed = NodeWithScore(TextNode("other words", "z", ref_doc_id="d", start_char_idx=0, end_char_idx=5), 0.3)
    assert NeighboursPostprocessor(store).postprocess_nodes([gone, loose, changed]) == [gone, loose, changed]


def test_the_cutoff_keeps_what_is_at_least_as_near() -> None:
    hits = [NodeWithScore(TextNode(str(i), str(i)), i / 10) for i in range(1, 8)]
    unscored = NodeWithScore(TextNode("unscored", "unscored"))
    kept = SimilarityPostprocessor(similarity_cutoff=0.4).postprocess_nodes([*hits, unscored])
    assert [hit.node.id_ for hit in kept] == ["4", "5", "6", "7"]
    assert SimilarityPostprocessor(similarity_cutoff=None).postprocess_nodes([*hits, unscored]) == [*hits, unscored]
    assert SimilarityPostprocessor().postprocess_nodes([*hits, unscored]) == hits
