"""Lists whose introduction is in another passage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from ragcore.embeddings.hashing import HashEmbedding
from ragcore.extractive.answerer import ExtractiveLLM
from ragcore.postprocessor.whole_lists import WholeLists
from ragcore.query_engine.retriever import RetrieverQueryEngine
from ragcore.response_synthesizers.synthesizer import Synthesizer
from ragcore.retrievers.fixed import ChosenPassages
from ragcore.schema import Document, NodeWithScore, TextNode
from ragcore.text.quotable_sentences import LIST_CHARS
from ragcore.text.quote_places import list_at_start
from ragcore.vector_stores.memory import MemoryStore

BEFORE = "The plan is for all. Hospice care by the plan covers:"
LIST = "• Visits of a nurse\n• Drugs for pain\n• Help at night"
AFTER = "Ask the office for more."


def cut(*parts: str, gap: str = "\n") -> tuple[MemoryStore, list[TextNode]]:
    """A document of these passages."""
    ids = [f"n{at}" for at in range(len(parts))]
    starts = [sum(len(part) + len(gap) for part in parts[:at]) for at in range(len(parts))]
    nodes = [
        TextNode(
            part, id_, {"file_name": "plan.txt"}, "plan", start_char_idx=start,
            end_char_idx=start + len(part), prev_id=ids[at - 1] if at else None,
            next_id=ids[at + 1] if at + 1 < len(ids) else None, embedding=np.ones(2, np.float32),
        )
        for at, (part, id_, start) in enumerate(zip(parts, ids, starts, strict=True))
    ]  # fmt: skip
    store = MemoryStore()
    store.upsert(Document(gap.join(parts), id_="plan"), nodes)
    return store, nodes


def read(store: MemoryStore, nodes: Sequence[TextNode]) -> list[TextNode]:
    hits = [NodeWithScore(node, 1 / rank) for rank, node in enumerate(nodes, 1)]
    found = WholeLists(store).postprocess_nodes(hits)
    assert [(hit.id_, hit.score) for hit in found] == [(hit.id_, hit.score) for hit in hits]
    text = store.document("plan").text
    assert all(text[hit.node.start_char_idx : hit.node.end_char_idx] == hit.text for hit in found)
    return [hit.node for hit in found]


def test_passage_ending_with_a_list_introduction_gets_the_list() -> None:
    store, nodes = cut(BEFORE, f"{LIST}\n\n{AFTER}", AFTER)
    assert [node.text for node in read(store, [nodes[2], nodes[0]])] == [AFTER, f"{BEFORE}\n{LIST}"]


def test_passage_starting_with_a_list_gets_its_introduction_once() -> None:
    store, nodes = cut(BEFORE, f"{LIST}\n\n{AFTER}")
    assert [node.text for node in read(store, nodes[1:])] == [
        f"Hospice care by the plan covers:\n{LIST}\n\n{AFTER}"
    ]
    assert [node.text for node in read(store, nodes)] == [f"{BEFORE}\n{LIST}", nodes[1].text]


@pytest.mark.parametrize(
    ("first", "second"), [(BEFORE, AFTER), ("The plan is for all.", LIST), (BEFORE, "- \n- ")]
)
def test_passages_are_unchanged_without_list_and_introduction(first: str, second: str) -> None:
    store, nodes = cut(first, second)
    assert read(store, nodes[:1]) + read(store, nodes[1:]) == nodes


def test_of_a_long_list_as_much_is_read_as_is_quoted() -> None:
    items = "\n".join(f"• The {each}th thing that is covered" for each in range(10, 99))
    length = list_at_start(items)
    assert LIST_CHARS < length < LIST_CHARS + items.count("\n") * len("• \n")
    assert items[length] == "\n"


def test_deleted_or_changed_document_leaves_the_passage_as_is() -> None:
    store, nodes = cut(BEFORE, LIST)
    changed = replace(nodes[0], text=BEFORE.replace("plan", "firm"))
    hits = [NodeWithScore(changed), NodeWithScore(replace(nodes[0], start_char_idx=None))]
    assert WholeLists(store).postprocess_nodes(hits) == hits
    store.delete("plan")
    assert WholeLists(store).postprocess_nodes([NodeWithScore(nodes[0])]) == [NodeWithScore(nodes[0])]


def test_the_reader_quotes_a_list_that_the_next_passage_has() -> None:
    store, _ = cut(BEFORE, f"{LIST}\n\n{AFTER}")
    reader = Synthesizer(ExtractiveLLM(HashEmbedding()), "compact")
    engine = RetrieverQueryEngine(ChosenPassages(store, ["n0"]), reader, (WholeLists(store),))
    answer = str(engine.query("What does hospice care by the plan cover?"))
    assert (
        "Hospice care by the plan covers:\n- Visits of a nurse\n- Drugs for pain\n- Help at night [1]"
        in answer
    )
