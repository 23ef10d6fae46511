from dataclasses import replace

import pytest

from ragcore.embeddings.hashing import HashEmbedding
from ragcore.indices.vector import VectorStoreIndex
from ragcore.llamaindex.retrievers.recursive_retriever import RecursiveRetriever
from ragcore.node_parser.sentence import SentenceSplitter
from ragcore.observe import span
from ragcore.schema import Document, IndexNode, TextNode
from tests.ragcore.retrievers.doubles import Answering, Finding, pairs

A, B = (TextNode(f"text of {id_}", id_) for id_ in "ab")


def to(index_id: str) -> IndexNode:
    return IndexNode(f"about {index_id}", f"to {index_id}", index_id=index_id)


def test_nodes_retrievers_and_engines_are_followed_in_order() -> None:
    root = Finding((to("inner"), 0.9), (to("engine"), 0.8), (to("node"), 0.0), (B, 0.6))
    inner = Finding((A, 0.3))
    found = RecursiveRetriever(
        "root", {"root": root, "inner": inner}, {"engine": Answering("Yes")}, {"node": B}
    ).retrieve("Q?")
    assert pairs(found) == [("a", 0.3), ("to engine", 0.8), ("b", 0.0)]
    assert found[1].text == "Yes to Q?"
    assert inner.asked == ["Q?"]


def test_circles_end_and_every_node_is_returned_once() -> None:
    first, second = (
        Finding((A, 0.5), (to("second"), 0.4)),
        Finding((to("first"), 0.3), (B, 0.2), (to("second"), 0.1)),
    )
    with span("root") as root:
        found = RecursiveRetriever("first", {"first": first, "second": second}).retrieve("?")
    assert pairs(found) == [("a", 0.5), ("b", 0.2)]
    assert (len(first.asked), len(second.asked)) == (1, 1)
    assert root.spans("retrieve")[0].facts["visited"] == ["first", "second"]


def test_a_node_that_names_another_is_followed_on() -> None:
    found = RecursiveRetriever(
        "r", {"r": Finding((to("n"), None))}, node_dict={"n": to("m"), "m": A}
    ).retrieve("?")
    assert pairs(found) == [("a", None)]
    circle = RecursiveRetriever("r", {"r": Finding((to("n"), 1.0))}, node_dict={"n": to("n")})
    assert circle.retrieve("?") == []


def test_unknown_and_ambiguous_ids_are_reported() -> None:
    with pytest.raises(ValueError, match="'to x' names 'x'"):
        RecursiveRetriever("r", {"r": Finding((to("x"), 1.0))}).retrieve("?")
    with pytest.raises(ValueError, match="root_id is 'root'"):
        RecursiveRetriever("root", {"r": Finding()})
    with pytest.raises(ValueError, match=r"more than one thing: \['r'\]"):
        RecursiveRetriever("r", {"r": Finding()}, node_dict={"r": A})


def test_small_passages_of_two_sizes_lead_to_their_large_one() -> None:
    documents = [
        Document("One boat is red. Two boats are green. " * 9, id_="long"),
        Document("A gull.", id_="short"),
    ]
    large = SentenceSplitter(200, 0).get_nodes_from_documents(documents)
    small = [
        IndexNode.from_text_node(part, node.id_)
        for node in large
        for size in (20, 40)
        for part in SentenceSplitter(size, 0).get_nodes_from_documents([node])
    ]
    assert len({node.id_ for node in small}) < len(small)
    index = VectorStoreIndex(small, embed_model=HashEmbedding(64))
    retriever = RecursiveRetriever(
        "small", {"small": index.as_retriever()}, node_dict={node.id_: node for node in large}
    )
    assert next(hit.text for hit in retriever.retrieve("A gull.")) == "A gull."
    with pytest.raises(ValueError, match="two nodes have the id"):
        VectorStoreIndex([small[0], replace(small[0], index_id="other")], embed_model=HashEmbedding(64))
