"""HierarchicalNodeParser and its tree: levels, parents, children, neighbours, and the helper functions."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest

from ragcore.node_parser import (
    HierarchicalNodeParser,
    NodeTree,
    SentenceSplitter,
    TokenTextSplitter,
    get_child_nodes,
    get_deeper_nodes,
    get_leaf_nodes,
    get_root_nodes,
)
from ragcore.schema import Document

TEXT = " ".join(f"Sentence number {number} has seven words here." for number in range(60))


def tree_of(*documents: Document) -> NodeTree:
    parser = HierarchicalNodeParser.from_defaults(chunk_sizes=[512, 128, 64], tokenizer=str.split)
    return parser.get_nodes_from_documents(documents or [Document(TEXT, id_="doc")])


def texts(nodes: object) -> list[str]:
    return [node.text for node in nodes]  # type: ignore[attr-defined]


def test_the_levels_have_as_many_nodes_as_the_reference_makes() -> None:
    tree = tree_of()  # llama-index-core 0.14.25 gives 16 for this text: 1, 4 and 11
    assert [len(tree.level(k)) for k in range(tree.depth)] == [1, 4, 11]
    assert len(tree) == 16


def test_defaults_are_levels_of_2048_512_and_128_with_overlap_20() -> None:
    parser = HierarchicalNodeParser.from_defaults()
    assert parser.node_parser_ids == ["chunk_size_2048", "chunk_size_512", "chunk_size_128"]
    splitters = [parser.node_parser_map[name] for name in parser.node_parser_ids]
    assert [(splitter.chunk_size, splitter.chunk_overlap) for splitter in splitters] == [
        (2048, 20),
        (512, 20),
        (128, 20),
    ]


def test_every_node_lies_in_its_parent_which_lists_it_in_order() -> None:
    tree = tree_of()
    for k in range(1, tree.depth):
        assert [child.id_ for parent in tree.level(k - 1) for child in tree.children(parent.id_)] == [
            node.id_ for node in tree.level(k)
        ]
        for node in tree.level(k):
            parent = tree.parent(node.id_)
            assert parent is not None
            assert node.id_ in parent.child_ids
            assert parent.start_char_idx <= node.start_char_idx < node.end_char_idx <= parent.end_char_idx  # type: ignore[operator]
    assert [tree.parent(node.id_) for node in tree.roots()] == [None]
    assert all(
        TEXT[node.start_char_idx : node.end_char_idx] == node.text and node.ref_doc_id == "doc"
        for node in tree
    )


def test_no_text_is_lost_on_any_level() -> None:
    tree = tree_of()
    for k in range(tree.depth):
        assert {word for node in tree.level(k) for word in node.text.split()} == set(TEXT.split())


def test_neighbours_are_those_of_the_same_level_and_document() -> None:
    tree = tree_of(Document(TEXT, id_="one"), Document(TEXT, id_="two"))
    for k in range(tree.depth):
        for document in ("one", "two"):
            nodes = [node for node in tree.level(k) if node.ref_doc_id == document]
            assert (nodes[0].prev_id, nodes[-1].next_id) == (None, None)
            for before, after in pairwise(nodes):
                assert (before.next_id, after.prev_id) == (after.id_, before.id_)


def test_helper_functions_agree_with_the_tree_for_any_list() -> None:
    tree = tree_of()
    for nodes in (tree, list(tree), list(tree)[::-1]):
        assert {*texts(get_root_nodes(nodes))} == {*texts(tree.level(0))}
        assert {*texts(get_leaf_nodes(nodes))} == {*texts(tree.leaves())} == {*texts(tree.level(2))}
        for depth in range(3):
            assert {*texts(get_deeper_nodes(nodes, depth=depth))} == {*texts(tree.level(depth))}
    assert texts(get_deeper_nodes(tree)) == texts(tree.level(1))
    assert get_deeper_nodes(tree, depth=3) == []
    some = tree.level(1)[1:3]
    assert texts(get_child_nodes(some, tree)) == [
        text for node in some for text in texts(tree.children(node.id_))
    ]
    assert get_child_nodes(tree.leaves(), tree) == []


def test_unknown_nodes_and_levels_are_errors() -> None:
    tree = tree_of()
    with pytest.raises(ValueError, match="depth is -1"):
        get_deeper_nodes(tree, depth=-1)
    with pytest.raises(ValueError, match="no root"):
        get_deeper_nodes(tree.leaves())
    with pytest.raises(ValueError, match=r"no level 3.*0 to 2"):
        tree.level(3)
    with pytest.raises(KeyError):
        tree.parent("nobody")


def test_document_below_the_smallest_size_is_one_node_per_level() -> None:
    tree = tree_of(Document("Short. And sweet.", id_="doc"))
    assert texts(tree) == ["Short. And sweet."] * 3
    assert len({node.id_ for node in tree}) == 3


def test_no_text_gives_an_empty_tree() -> None:
    tree = tree_of(Document(" \n"))
    assert (list(tree), tree.leaves(), tree.roots(), tree.level(2)) == ([], [], [], [])


def test_the_splitters_of_the_levels_may_be_ones_own() -> None:
    map_ = {
        "pages": SentenceSplitter(100, 0, tokenizer=str.split),
        "words": TokenTextSplitter(5, 0, tokenizer=str.split),
    }
    parser = HierarchicalNodeParser(node_parser_map=map_, node_parser_ids=["pages", "words"])
    tree = parser([Document("a b c d e f g.")])
    assert [texts(tree.level(k)) for k in range(2)] == [["a b c d e f g."], ["a b c d e", "f g."]]
    with pytest.raises(ValueError, match="not both"):
        HierarchicalNodeParser(chunk_sizes=[5], node_parser_map=map_)
    with pytest.raises(ValueError, match="has no 'lines'; it has pages, words"):
        HierarchicalNodeParser(node_parser_map=map_, node_parser_ids=["pages", "lines"])


def test_each_level_needs_its_splitter() -> None:
    with pytest.raises(ValueError, match=r"node_parser_ids are \['a'\], for 3 chunk_sizes"):
        HierarchicalNodeParser(node_parser_ids=["a"])
    for nothing in ({"chunk_sizes": []}, {"node_parser_map": {}}):
        with pytest.raises(ValueError, match="one level at least"):
            HierarchicalNodeParser(**nothing)  # type: ignore[arg-type]


def test_documents_split_in_an_event_loop_and_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    parser = HierarchicalNodeParser([4, 2], 0, tokenizer=str.split)
    documents = [Document("a b c d e", id_="one"), Document("a", id_="two")]
    with caplog.at_level("INFO", "ragcore.node_parser"):
        tree = asyncio.run(parser.aget_nodes_from_documents(documents, show_progress=True))
    assert texts(tree) == texts(parser(documents))
    assert caplog.messages == ["split one: 5 passages", "split two: 2 passages"]


@pytest.mark.parametrize("sizes", [(64, 64), (64, 128)])
def test_a_level_is_of_smaller_chunks_than_the_one_above(sizes: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="each must be smaller than the one before"):
        HierarchicalNodeParser.from_defaults(chunk_sizes=sizes)


def test_a_tree_is_a_sequence_level_by_level() -> None:
    tree = tree_of()
    assert texts(tree) == texts([*tree.level(0), *tree.level(1), *tree.level(2)])
    assert tree[0].parent_id is None
    assert texts(tree[1:5]) == texts(tree.level(1))
    assert tree.node(tree[3].id_) is tree[3]
