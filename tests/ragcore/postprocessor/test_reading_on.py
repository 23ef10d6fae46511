"""Passages with those before and after them: windows beside a plain list, whatever the order of finding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.errors import QuestionError
from ragcore.llamaindex.postprocessor import AutoPrevNextNodePostprocessor
from ragcore.llms.base import LLMCall
from ragcore.llms.scripted import ScriptedLLM
from ragcore.observe import span
from ragcore.postprocessor import PrevNextNodePostprocessor
from ragcore.prompts.prompt import Passage
from ragcore.schema import Document, NodeWithScore, TextNode
from ragcore.storage.docstore import SimpleDocumentStore
from ragcore.vector_stores.memory import MemoryStore

Mode = Literal["next", "previous", "both"]


def chain(texts: Sequence[str], name: str = "d", *, circle: bool = False) -> list[TextNode]:
    """Passages linked in a row, named like "d0"; in a circle the last goes on with the first."""
    ids = [f"{name}{i}" for i in range(len(texts))]
    before = [ids[-1] if circle else None, *ids[:-1]]
    after = [*ids[1:], ids[0] if circle else None]
    return [
        TextNode(
            text,
            id_,
            ref_doc_id=name,
            start_char_idx=10 * i,
            prev_id=before[i],
            next_id=after[i],
            embedding=np.ones(2),
        )  # type: ignore[arg-type]
        for i, (id_, text) in enumerate(zip(ids, texts, strict=True))
    ]


def store_of(*chains: Sequence[TextNode]) -> MemoryStore:
    store = MemoryStore()
    for nodes in chains:
        store.upsert(Document("x", id_=str(nodes[0].ref_doc_id)), nodes)
    return store


def hits(nodes: Sequence[TextNode], *places: int) -> list[NodeWithScore]:
    return [NodeWithScore(nodes[place], 1.0 / rank) for rank, place in enumerate(places, 1)]


def texts(found: Sequence[NodeWithScore]) -> str:
    return " ".join(hit.node.text for hit in found)


def test_touching_windows_are_joined_in_document_order() -> None:
    nodes = chain("zaxby")
    both = PrevNextNodePostprocessor(docstore=store_of(nodes), num_nodes=1, mode="both")
    found = both.postprocess_nodes(hits(nodes, 3, 0))
    assert texts(found) == "z a x b y"
    assert [hit.score for hit in found] == [0.5, None, None, 1.0, None]


@given(
    st.lists(st.integers(0, 8), min_size=1, max_size=5),
    st.integers(0, 3),
    st.sampled_from(["next", "previous", "both"]),
)
def test_every_window_is_there_once_in_reading_order(places: list[int], count: int, mode: Mode) -> None:
    nodes = chain("abcdefghi")
    wanted: set[int] = set()
    for place in places:
        low = place - count * (mode in ("previous", "both"))
        high = place + count * (mode in ("next", "both"))
        wanted |= set(range(max(low, 0), min(high, 8) + 1))
    found = PrevNextNodePostprocessor(store_of(nodes), count, mode).postprocess_nodes(hits(nodes, *places))
    assert texts(found) == " ".join("abcdefghi"[place] for place in sorted(wanted))


def test_documents_are_in_the_order_of_retrieval() -> None:
    first, second = chain("abcd"), chain("vwxyz", "e")
    found = [
        NodeWithScore(second[3]),
        NodeWithScore(first[2]),
        NodeWithScore(second[0]),
        NodeWithScore(first[0]),
    ]
    following = PrevNextNodePostprocessor(store_of(first, second), 1).postprocess_nodes(found)
    assert texts(following) == "v w y z a b c d"


def test_passages_without_offsets_stay_in_their_linked_order() -> None:
    loose = [
        TextNode(text, text, next_id=following)
        for text, following in (("a", "b"), ("b", None), ("y", "z"), ("z", None))
    ]
    found = PrevNextNodePostprocessor(MemoryStore(), 1).postprocess_nodes(
        [NodeWithScore(loose[i]) for i in (3, 1, 2, 0)]
    )
    assert texts(found) == "y z a b"


def test_a_circle_of_links_is_walked_once() -> None:
    nodes = chain("abc", circle=True)
    for mode in ("next", "previous", "both"):
        processor = PrevNextNodePostprocessor(store_of(nodes), 9, mode)  # type: ignore[arg-type]
        assert texts(processor.postprocess_nodes(hits(nodes, 1))) == "b c a"
    itself = TextNode("alone", "s", prev_id="s", next_id="s")
    assert (
        texts(PrevNextNodePostprocessor(MemoryStore(), 3, "both").postprocess_nodes([NodeWithScore(itself)]))
        == "alone"
    )


def test_passages_are_read_from_a_docstore_without_missing_ones() -> None:
    nodes = chain("abcd")
    docstore = SimpleDocumentStore()
    docstore.add_documents(nodes[:3])
    found = PrevNextNodePostprocessor(docstore=docstore, num_nodes=2).postprocess_nodes(hits(nodes, 1))
    assert texts(found) == "b c"


def test_a_mode_that_there_is_not_is_refused() -> None:
    with pytest.raises(ValueError, match="not 'sideways'"):
        PrevNextNodePostprocessor(MemoryStore(), 1, "sideways")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("next", "b c"),
        ("PREVIOUS.", "a b"),
        ("The answer goes on after it: Next", "b c"),
        ("none", "b"),
        ("NONE: the previous passage is of no use", "b"),
        ("I cannot tell.", "b"),
    ],
)
def test_a_model_chooses_the_side_for_each_passage(reply: str, expected: str) -> None:
    nodes = chain("abc")
    llm = ScriptedLLM([reply])
    processor = AutoPrevNextNodePostprocessor(store_of(nodes), llm)
    assert texts(processor.postprocess_nodes(hits(nodes, 1), query_str="What follows?")) == expected
    (call,) = llm.calls
    assert (call.prompt, call.variables["query_str"]) == ("neighbour", "What follows?")


def test_each_passage_has_its_own_side() -> None:
    nodes = chain("abcdefg")

    def rule(call: LLMCall) -> str:
        return "previous" if call.variables["context_str"] == (Passage("b"),) else "next"

    found = AutoPrevNextNodePostprocessor(store_of(nodes), ScriptedLLM(rule)).postprocess_nodes(
        hits(nodes, 4, 1), query_str="?"
    )
    assert texts(found) == "a b e f"
    with pytest.raises(QuestionError):
        AutoPrevNextNodePostprocessor(store_of(nodes), ScriptedLLM(rule)).postprocess_nodes(hits(nodes, 1))


def test_passage_too_long_for_the_prompt_loses_its_end() -> None:
    nodes = chain(["a", "b " * 500, "c"])
    llm = ScriptedLLM(["next"], context_window=300, num_output=40, counts_words=True)
    with span("root") as root:
        found = AutoPrevNextNodePostprocessor(store_of(nodes), llm).postprocess_nodes(
            hits(nodes, 1), query_str="?"
        )
    assert [hit.node.id_ for hit in found] == ["d1", "d2"]
    assert 240 <= sum(llm.count_tokens(message.content) for message in llm.calls[0].messages) <= 260
    assert [step.facts["shortened"] for step in root.walk() if "shortened" in step.facts] == [1]
