import asyncio
import logging
from collections.abc import Iterator

import numpy as np
import pytest

from ragcore.llamaindex.retrievers import RecursiveRetriever
from ragcore.observe import span
from ragcore.retrievers import BaseRetriever
from ragcore.schema import IndexNode, NodeWithScore, QueryBundle, Response, TextNode
from tests.ragcore.retrievers.doubles import Answering, Finding, pairs

A, B, C = (TextNode(f"text of {id_}", id_) for id_ in "abc")


def test_index_node_is_replaced_by_its_object_with_its_score() -> None:
    assert pairs(Finding((IndexNode("to a", "i", obj=A), 0.7), (B, 0.6)).retrieve("?")) == [
        ("a", 0.7),
        ("b", 0.6),
    ]


def test_a_score_of_zero_stays_zero_and_only_no_score_is_one() -> None:
    for score, expected in ((0.0, 0.0), (-0.5, -0.5), (None, 1.0)):
        assert pairs(Finding((IndexNode("to a", "i", obj=A), score)).retrieve("?")) == [("a", expected)]
    assert pairs(Finding((IndexNode("to a", "i", obj=NodeWithScore(A, 0.25)), 0.9)).retrieve("?")) == [
        ("a", 0.25)
    ]


def test_retriever_object_gets_the_question_and_its_scores_stay() -> None:
    inner = Finding((A, 0.1), (B, None))
    found = Finding((C, 0.9), (IndexNode("more", "i", obj=inner), 0.5)).retrieve("What?")
    assert pairs(found) == [("c", 0.9), ("a", 0.1), ("b", None)]
    assert inner.asked == ["What?"]


def test_query_engine_object_answers_in_place_of_its_node() -> None:
    found = Finding((IndexNode("about x", "i", {"k": "v"}, obj=Answering("An answer")), 0.0)).retrieve(
        "What?"
    )
    assert [(hit.text, hit.score, hit.node_id, hit.metadata) for hit in found] == [
        ("An answer to What?", 0.0, "i", {"k": "v"})
    ]


def test_chained_index_nodes_are_followed_and_circles_end() -> None:
    far = IndexNode("far", "far", obj=IndexNode("near", "near", obj=A))
    assert pairs(Finding((far, 0.5)).retrieve("?")) == [("a", 0.5)]
    circle = IndexNode("circle", "circle")
    object.__setattr__(circle, "obj", circle)
    assert pairs(Finding((circle, 0.5)).retrieve("?")) == [("circle", 0.5)]


def test_self_referring_retrievers_and_engines_end_at_the_node() -> None:
    class Engine(Answering):
        def query(self, query: str | QueryBundle) -> Response:
            return Response(" + ".join(hit.text for hit in own.retrieve(query)))

    class Plain:
        def retrieve(self, query: str | QueryBundle) -> list[NodeWithScore]:
            return own.retrieve(query)

    own, first, second = Finding(), Finding(), Finding()
    own.found = [NodeWithScore(IndexNode("again", "i", obj=own), 0.7), NodeWithScore(A, 0.6)]
    assert pairs(own.retrieve("?")) == pairs(own.retrieve("?")) == [("i", 0.7), ("a", 0.6)]
    first.found = [NodeWithScore(IndexNode("on", "on", obj=second), 0.7), NodeWithScore(A, 0.6)]
    second.found = [NodeWithScore(B, 0.5), NodeWithScore(IndexNode("back", "back", obj=first), 0.4)]
    assert pairs(first.retrieve("?")) == [("b", 0.5), ("back", 0.4), ("a", 0.6)]
    own.found = [NodeWithScore(IndexNode("again", "i", obj=Engine("")), 0.7), NodeWithScore(A, 0.6)]
    assert [(hit.text, hit.score) for hit in own.retrieve("?")] == [
        ("again + text of a", 0.7),
        ("text of a", 0.6),
    ]
    own.found = [NodeWithScore(IndexNode("again", "i", obj=Plain()), 0.7), NodeWithScore(A, 0.6)]
    assert pairs(own.retrieve("?")) == [("i", 0.7), ("a", 0.6)]


def test_retriever_of_two_nodes_is_followed_from_both() -> None:
    inner = Finding((A, 0.5))
    both = Finding((IndexNode("one", "1", obj=inner), 0.9), (IndexNode("other", "2", obj=inner), 0.8))
    assert pairs(both.retrieve("?")) == [("a", 0.5)]
    assert inner.asked == ["?", "?"]


def test_a_vector_is_a_question_without_words() -> None:
    bundle = QueryBundle("", embedding=np.ones(2, np.float32))
    assert pairs(Finding((A, 0.5)).retrieve(bundle)) == [("a", 0.5)]


def test_node_reached_in_several_ways_comes_once_by_the_first() -> None:
    twin = TextNode(A.text, "twin")
    found = Finding((A, 0.9), (IndexNode("to a", "i", obj=A), 0.8), (twin, 0.7), (A, 0.6)).retrieve("?")
    assert pairs(found) == [("a", 0.9), ("twin", 0.7)]  # equal text under another id is another passage


def test_a_passage_that_a_retriever_finds_twice_comes_once() -> None:
    assert pairs(Finding((A, 0.9), (B, 0.8), (A, 0.7)).retrieve("?")) == [("a", 0.9), ("b", 0.8)]


def test_an_index_node_without_an_object_is_returned_unchanged() -> None:
    assert pairs(Finding((IndexNode("x", "i", index_id="elsewhere"), 0.5)).retrieve("?")) == [("i", 0.5)]


def test_an_object_that_cannot_be_followed_is_reported() -> None:
    with pytest.raises(ValueError, match=r"'i' stands for a int"):
        Finding((IndexNode("x", "i", obj=3), 0.5)).retrieve("?")


def test_the_trace_notes_retrieved_nodes_and_their_objects() -> None:
    with span("root") as root:
        Finding((IndexNode("to a", "i", obj=A), 0.7)).retrieve("?")
        Finding((B, 0.7)).retrieve("?")
    first, second = (step.facts for step in root.spans("retrieve"))
    assert (first["found"], first["followed"]) == ([{"id": "i", "score": 0.7}], [{"id": "a", "score": 0.7}])
    assert "followed" not in second


def test_an_event_loop_may_ask() -> None:
    assert pairs(asyncio.run(Finding((A, 0.5)).aretrieve("?"))) == [("a", 0.5)]


def test_custom_retriever_needs_only_the_question_and_no_name() -> None:
    class Own(BaseRetriever):
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:  # type: ignore[override]
            return [NodeWithScore(TextNode(query_bundle.query_str, "n"), 0.5)]

    class Named(Own):
        name = "named"

        def _retrieve(self, query_bundle: QueryBundle) -> Iterator[NodeWithScore]:  # type: ignore[override]
            yield NodeWithScore(TextNode(query_bundle.query_str, "n"), 0.5)

    with span("root") as root:
        assert [hit.text for hit in (*Own().retrieve("What?"), *Named().retrieve("And?"))] == [
            "What?",
            "And?",
        ]
    assert [step.facts["retriever"] for step in root.spans("retrieve")] == ["custom", "named"]


def test_a_verbose_retriever_logs_the_trace_of_each_question(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "ragcore.retrievers")
    RecursiveRetriever("root", {"root": Finding((A, 0.5))}).retrieve("?")
    assert caplog.messages == []
    RecursiveRetriever("root", {"root": Finding((A, 0.5))}, verbose=True).retrieve("?")
    assert [[line.split(":")[0] for line in message.splitlines()] for message in caplog.messages] == [
        ["retrieve", "  retrieve"]
    ]
