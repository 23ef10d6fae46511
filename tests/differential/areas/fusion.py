"""QueryFusionRetriever over two retrievers with fixed results: the four modes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from tests.differential.cases import Case

MODES = ["reciprocal_rerank", "relative_score", "dist_based_score", "simple"]


def cases() -> Iterator[Case]:
    chance = random.Random(3)
    lists = [[[["a", 0.9], ["b", 0.8], ["c", 0.1]], [["c", 10.0], ["a", 5.0]]]]
    for _ in range(7):
        lists.append([_ranking(chance), _ranking(chance)])
    for number, pair in enumerate(lists):
        for mode in MODES:
            yield Case(f"{mode}-{number}", {"lists": pair, "mode": mode, "weights": None})
    for mode in MODES:
        yield Case(f"{mode}-weighted", {"lists": lists[0], "mode": mode, "weights": [0.8, 0.2]})


def _ranking(chance: random.Random) -> list[list[Any]]:
    names = chance.sample("abcdef", chance.randint(2, 5))
    scores = sorted((round(chance.uniform(0.05, 1.0), 3) for _ in names), reverse=True)
    return [[name, score] for name, score in zip(names, scores, strict=True)]


def theirs(given: Any) -> Any:
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.llms import MockLLM
    from llama_index.core.retrievers import QueryFusionRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

    class Fixed(BaseRetriever):
        def __init__(self, hits: Any) -> None:
            super().__init__()
            self._hits = hits

        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            return [
                NodeWithScore(node=TextNode(id_=name, text=name), score=score) for name, score in self._hits
            ]

    fused = QueryFusionRetriever(
        [Fixed(hits) for hits in given["lists"]],
        llm=MockLLM(),
        num_queries=1,
        mode=given["mode"],
        similarity_top_k=10,
        use_async=False,
        retriever_weights=given["weights"],
    )
    return _outcome((hit.node.node_id, hit.score) for hit in fused.retrieve("q"))


def ours(given: Any) -> Any:
    from ragcore.llamaindex.retrievers.fusion_retriever import checked_weights, fuse
    from ragcore.schema import NodeWithScore, TextNode

    lists = [[NodeWithScore(TextNode(name, name), score) for name, score in hits] for hits in given["lists"]]
    return _outcome(
        (hit.node.id_, hit.score)
        for hit in fuse(lists, given["mode"], checked_weights(given["weights"], len(lists)))
    )


def _outcome(hits: Any) -> list[list[Any]]:
    return [[name, round(score, 6)] for name, score in hits]


def explain(given: Any, theirs: Any, ours: Any) -> str:
    right = theirs
    if given["weights"] and given["mode"] == "reciprocal_rerank":  # theirs leaves the weights out
        by_hand: dict[str, float] = {}
        for hits, weight in zip(given["lists"], given["weights"], strict=True):
            for rank, (name, _) in enumerate(hits):
                by_hand[name] = by_hand.get(name, 0.0) + 2 * weight / (rank + 60)
        right = _outcome(sorted(by_hand.items(), key=lambda hit: -hit[1]))
    # Only equal scores may stand in another order: ours in that of being found.
    return (
        "D33"
        if sorted(ours) == sorted(right) and [hit[1] for hit in ours] == [hit[1] for hit in right]
        else ""
    )
