import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.embeddings.hashing import HashEmbedding
from ragcore.errors import StoreError
from ragcore.indices.vector import VectorStoreIndex
from ragcore.node_parser.hierarchical import HierarchicalNodeParser
from ragcore.node_parser.node_tree import get_leaf_nodes
from ragcore.observe import span
from ragcore.retrievers.auto_merging import AutoMergingRetriever
from ragcore.schema import Document, NodeWithScore, TextNode
from ragcore.storage.docstore import SimpleDocumentStore
from ragcore.storage.storage_context import StorageContext
from tests.ragcore.retrievers.doubles import Finding, pairs
from tests.word_tokenizer import WordTokenizer


def tree(words: int, sizes: Sequence[int] = (16, 8, 2)) -> list[TextNode]:
    text = " ".join(f"w{number}" for number in range(words))
    parser = HierarchicalNodeParser(
        list(sizes), chunk_overlap=0, tokenizer=WordTokenizer(), include_metadata=False
    )
    nodes = list(parser([Document(text, "d")]))
    return [
        replace(node, metadata={"file_name": "d.txt", "place": node.start_char_idx or 0}) for node in nodes
    ]


def docstore(nodes: Sequence[TextNode]) -> SimpleDocumentStore:
    store = SimpleDocumentStore()
    store.add_documents(nodes)
    return store


def merged(
    nodes: Sequence[TextNode], found: Sequence[tuple[TextNode, float | None]], ratio: float = 0.5
) -> list[NodeWithScore]:
    return AutoMergingRetriever(Finding(*found), docstore(nodes), ratio).retrieve("?")


def by_hand(
    nodes: Sequence[TextNode], found: Sequence[tuple[str, float]], ratio: float
) -> list[tuple[str, float]]:
    """The rule, done slowly and in other words: looks through all nodes for what lies between, and for each
    parent."""
    hits, filled = list(found), set()
    while True:
        start = list(hits)
        longer: list[tuple[str, float]] = []
        for place, (id_, score) in enumerate(start):
            longer.append((id_, score))
            for node in nodes:
                is_between = (
                    place + 1 < len(start) and node.prev_id == id_ and node.next_id == start[place + 1][0]
                )
                if is_between and node.id_ not in filled and node.id_ not in dict(start):
                    longer.append((node.id_, (score + start[place + 1][1]) / 2))
                    filled.add(node.id_)
        hits = longer
        for parent in sorted(
            nodes,
            key=lambda node: min([longer.index(h) for h in longer if h[0] in node.child_ids], default=-1),
        ):
            children = [hit for hit in longer if hit[0] in parent.child_ids]
            if parent.child_ids and len(children) / len(parent.child_ids) > ratio:
                hits = [hit for hit in hits if hit not in children]
                if parent.id_ not in dict(longer):
                    hits.append((parent.id_, sum(score for _, score in children) / len(children)))
        if [id_ for id_, _ in hits] == [id_ for id_, _ in start]:
            return sorted(hits, key=lambda hit: -hit[1])


@given(
    st.integers(1, 60),
    st.integers(0, 2**32),
    st.sampled_from([0.0, 0.3, 0.5, 0.75, 0.99]),
    st.floats(0.05, 1),
)
def test_it_gives_what_the_rule_gives_by_hand(words: int, seed: int, ratio: float, share: float) -> None:
    nodes = tree(words)
    chance = random.Random(seed)
    found = [(node, round(chance.random(), 3)) for node in get_leaf_nodes(nodes) if chance.random() < share]
    if chance.random() < 0.7:
        found.sort(key=lambda pair: -pair[1])
    expected = by_hand(nodes, [(node.id_, score) for node, score in found], ratio)
    result = merged(nodes, found, ratio)
    assert [hit.node.id_ for hit in result] == [id_ for id_, _ in expected]
    assert [hit.score for hit in result] == pytest.approx([score for _, score in expected])


def test_parent_replaces_more_than_the_share_of_its_children() -> None:
    nodes = tree(8, (8, 2))
    root, *leaves = nodes
    assert len(root.child_ids) == 4
    scores = [(leaves[0], 0.9), (leaves[2], 0.1)]
    assert pairs(merged(nodes, [(leaves[0], 0.9), (leaves[3], 0.1)])) == [
        (leaves[0].id_, 0.9),
        (leaves[3].id_, 0.1),
    ]
    filled_in = merged(nodes, scores)  # three of four with the one between
    assert pairs(filled_in) == [(root.id_, pytest.approx(0.5))]
    assert merged(nodes, [(leaves[0], 0.9), (leaves[3], 0.2), (leaves[1], None)])[0].score == pytest.approx(
        1.1 / 3
    )


def test_parents_merge_on_into_their_own_parent() -> None:
    nodes = tree(16)
    leaves = get_leaf_nodes(nodes)
    assert pairs(merged(nodes, [(leaf, 0.5) for leaf in leaves])) == [(nodes[0].id_, 0.5)]


def test_empty_result_and_passage_without_parent_stay_as_is() -> None:
    lone = TextNode("alone", "lone")
    assert merged([], []) == []
    assert pairs(merged([], [(lone, None)])) == [("lone", None)]


def test_retrieved_passage_or_parent_is_not_filled_in_twice() -> None:
    nodes = tree(8, (8, 2))
    root, first, second, third, _ = nodes
    found = [(first, 0.9), (third, 0.8), (second, 0.1), (root, 0.05)]
    assert pairs(merged(nodes, found)) == [(root.id_, 0.05)]
    assert len(merged(nodes, found, 1.0)) == 4


def test_the_trace_notes_retrieved_inserted_and_merged_nodes() -> None:
    nodes = tree(8, (8, 2))
    root, first, second, third, _ = nodes
    with span("root") as top:
        merged(nodes, [(first, 0.9), (third, 0.1)])
    facts = top.spans("retrieve")[0].facts
    assert [leaf["id"] for leaf in facts["leaves"]] == [first.id_, third.id_]
    assert facts["filled_in"] == [second.id_]
    assert facts["merged"] == {root.id_: [first.id_, second.id_, third.id_]}
    assert facts["found"] == [{"id": root.id_, "score": pytest.approx(0.5)}]


def test_missing_parent_is_an_error_and_a_missing_gap_stays() -> None:
    nodes = tree(8, (8, 2))
    root, first, second, third, _ = nodes
    with pytest.raises(StoreError, match="is not in the document store") as told:
        merged([], [(first, 0.9)])
    assert "add_documents" in told.value.hint
    without = [node for node in nodes if node is not second]
    assert pairs(merged(without, [(first, 0.9), (third, 0.8)])) == [(first.id_, 0.9), (third.id_, 0.8)]
    assert pairs(merged(without, [(first, 0.9), (third, 0.8)], 0.4)) == [(root.id_, pytest.approx(0.85))]


def test_gap_that_is_an_only_child_is_filled_once_and_merged() -> None:
    """Filled in and merged away again and again, it would go on for ever."""
    first = TextNode("a", "a", next_id="b")
    between = TextNode("b", "b", prev_id="a", next_id="c", parent_id="over b")
    last = TextNode("c", "c", prev_id="b")
    nodes = [first, between, last, TextNode("B", "over b", child_ids=("b",))]
    with span("root") as top:
        assert pairs(merged(nodes, [(first, 0.9), (last, 0.5)])) == [("a", 0.9), ("over b", 0.7), ("c", 0.5)]
    facts = top.spans("retrieve")[0].facts
    assert (facts["filled_in"], facts["merged"]) == (["b"], {"over b": ["b"]})


@pytest.mark.parametrize(
    ("parents", "found", "expected"),
    [
        ({"a": "a"}, "a", "a"),
        ({"a": "a", "x": "a"}, "ax", "a"),
        ({"a": "b", "b": "a"}, "a", "b"),
        ({"a": "b", "b": "a"}, "ab", "b"),
        ({"a": "b", "b": "c", "c": "a"}, "abc", "c"),
        ({"x": "a", "a": "b", "b": "a"}, "x", "b"),
    ],
)
def test_links_that_go_in_circles_end_and_lose_nothing(
    parents: dict[str, str], found: str, expected: str
) -> None:
    nodes = {
        id_: TextNode(
            id_, id_, parent_id=above, child_ids=tuple(below for below in parents if parents[below] == id_)
        )
        for id_, above in parents.items()
    }
    hits = merged(list(nodes.values()), [(nodes[id_], 0.5) for id_ in found], 0.4)
    assert pairs(hits) == [(id_, 0.5) for id_ in expected]


def test_a_verbose_one_logs_the_trace(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "ragcore.retrievers")
    for verbose in (False, True):
        AutoMergingRetriever(Finding((TextNode("alone"), 0.5)), docstore([]), verbose=verbose).retrieve("?")
    assert [message.partition(":")[0] for message in caplog.messages] == ["retrieve"]


@pytest.mark.parametrize("reloaded", [False, True])
def test_hierarchy_index_can_merge_even_after_a_reload(tmp_path: Path, reloaded: bool) -> None:
    from ragcore.indices.loading import load_index_from_storage

    text = "apple banana cherry date elder fig grape hazel iris jasmine kale lemon mango nut olive pear"
    parser = HierarchicalNodeParser([10, 4], chunk_overlap=0, tokenizer=WordTokenizer())
    nodes = parser([Document(text, "fruit", {"file_name": "fruit.txt"})])
    index = VectorStoreIndex(nodes, embed_model=HashEmbedding(64))
    if reloaded:
        index.storage_context.persist(tmp_path)
        context = StorageContext.from_defaults(persist_dir=tmp_path)
        index = load_index_from_storage(context, embed_model=HashEmbedding(64))  # type: ignore[assignment]
    retriever = AutoMergingRetriever(index.as_retriever(similarity_top_k=3), index.storage_context)
    found = retriever.retrieve("apple date elder banana cherry")
    assert found[0].text == text[: text.index(" iris")]
    assert found[0].node.child_ids == nodes.level(0)[0].child_ids
