from __future__ import annotations

from collections.abc import Sequence

import pytest

from ragcore.embeddings.hashing import HashEmbedding
from ragcore.llms.scripted import ScriptedLLM
from ragcore.observe import Span
from ragcore.retrievers.base import BaseRetriever
from ragcore.retrievers.router import RouterRetriever
from ragcore.schema import NodeWithScore, QueryBundle, TextNode
from ragcore.selectors import LLMMultiSelector, LLMSingleSelector
from ragcore.tools import RetrieverTool


class Fixed(BaseRetriever):
    name = "fixed"

    def __init__(self, **scores: float) -> None:
        self._hits = [NodeWithScore(TextNode(id_, id_), score) for id_, score in scores.items()]

    def _retrieve(self, query: QueryBundle, step: Span) -> list[NodeWithScore]:
        return list(self._hits)


TOOLS = [
    RetrieverTool.from_defaults(Fixed(a=0.9, b=0.5), "one", "about one"),
    RetrieverTool.from_defaults(Fixed(c=0.8), "two", "about two"),
    RetrieverTool.from_defaults(Fixed(b=0.7, d=0.6), "three", "about three"),
]


def list_hits(hits: Sequence[NodeWithScore]) -> list[tuple[str, float | None]]:
    return [(hit.node.id_, hit.score) for hit in hits]


def test_the_selected_retriever_is_queried() -> None:
    selector = LLMSingleSelector(ScriptedLLM(['[{"choice": 2, "reason": "r"}]']), embed_model=HashEmbedding())
    assert list_hits(RouterRetriever.from_defaults(TOOLS, selector=selector).retrieve("q")) == [("c", 0.8)]


def test_results_of_several_merge_by_id_in_selection_order() -> None:
    selector = LLMMultiSelector(ScriptedLLM(["[3, 1]"]), embed_model=HashEmbedding())
    hits = RouterRetriever(selector, TOOLS).retrieve("q")
    assert list_hits(hits) == [("b", 0.7), ("d", 0.6), ("a", 0.9)]


@pytest.mark.parametrize(("select_multi", "expected"), [(False, ["c"]), (True, ["c", "a", "b"])])
def test_without_a_selector_the_model_selects_one_or_several(select_multi: bool, expected: list[str]) -> None:
    router = RouterRetriever.from_defaults(TOOLS, ScriptedLLM(["[2, 1]"]), select_multi=select_multi)
    assert [id_ for id_, _ in list_hits(router.retrieve("q"))] == expected


def test_a_router_without_tools_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        RouterRetriever.from_defaults([], ScriptedLLM())
