"""Retrievers made of others: objects behind nodes, merging into parents, routing, more questions, one
question asked twice."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from operator import mul
from typing import Any

from tests.differential.cases import Case
from tests.differential.doubles import (
    in_turn,
    our_embedding,
    our_llm,
    seeded,
    their_embedding,
    their_llm,
    vector,
)

# A document in two levels: two parents with four and three children, in reading order.
FAMILY = {"p1": ["a", "b", "c", "d"], "p2": ["e", "f", "g"]}
LEAVES = [leaf for children in FAMILY.values() for leaf in children]
INDEXED = ["river lake", "snow road", "lake sea"]


def cases() -> Iterator[Case]:
    for score in (0.0, 0.5, 1.0, -0.25):
        for kind in ("node", "retriever", "engine"):
            yield Case(f"object-{kind}-{score}", {"kind": "object", "obj": kind, "score": score})
    chance = random.Random(17)
    picks = [["a", "b", "c"], ["a", "c"], ["e", "g"], ["e", "f"], ["a", "b", "e"], LEAVES, ["d", "e"]]
    picks += [chance.sample(LEAVES, chance.randint(1, 6)) for _ in range(9)]
    for number, leaves in enumerate(picks):
        scores = sorted((round(chance.uniform(0.1, 0.9), 2) for _ in leaves), reverse=True)
        hits = [[leaf, score] for leaf, score in zip(leaves, scores, strict=True)]
        yield Case(
            f"merging-{number}", {"kind": "merging", "hits": hits, "ratio": chance.choice([0.5, 0.5, 0.7])}
        )
    for reply in ([1], [2], [1, 2]):
        yield Case(
            f"router-{reply}",
            {"kind": "router", "reply": json.dumps([{"choice": n, "reason": "x"} for n in reply])},
        )
    for number, queries in enumerate(["another way\nyet another", "one more", "", "why\nwhy"]):
        yield Case(f"generated-{number}", {"kind": "generated", "reply": queries})
    for number in range(3):
        yield Case(f"one-question-two-indexes-{number}", {"kind": "twice", "text": f"river lake {number}"})


def theirs(given: Any) -> Any:
    from llama_index.core import StorageContext, VectorStoreIndex
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.query_engine import CustomQueryEngine
    from llama_index.core.retrievers import AutoMergingRetriever, QueryFusionRetriever, RouterRetriever
    from llama_index.core.schema import (
        IndexNode,
        NodeRelationship,
        NodeWithScore,
        QueryBundle,
        RelatedNodeInfo,
        TextNode,
    )
    from llama_index.core.selectors import LLMMultiSelector
    from llama_index.core.storage.docstore import SimpleDocumentStore
    from llama_index.core.tools import RetrieverTool

    class Fixed(BaseRetriever):
        def __init__(self, hits: Any) -> None:
            super().__init__()
            self.hits, self.asked = hits, []

        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            self.asked.append(query_bundle.query_str)
            return [NodeWithScore(node=node, score=score) for node, score in self.hits]

    def text(id_: str) -> Any:
        return TextNode(id_=id_, text=id_)

    class Answering(CustomQueryEngine):
        def custom_query(self, query_str: str) -> str:
            return "answer"

    if given["kind"] == "object":
        inner = Fixed([(text("inner"), 0.7)])
        obj: Any = {"node": text("behind"), "retriever": inner, "engine": Answering()}[given["obj"]]
        return _hits(
            Fixed([(IndexNode(id_="n", text="n", index_id="x", obj=obj), given["score"])]).retrieve("q")
        )
    if given["kind"] == "merging":
        nodes = {}
        for parent, children in FAMILY.items():
            nodes[parent] = TextNode(
                id_=parent,
                text=parent,
                metadata={"file": "x"},
                relationships={
                    NodeRelationship.CHILD: [RelatedNodeInfo(node_id=child) for child in children]
                },
            )
            for child in children:
                relations: Any = {NodeRelationship.PARENT: RelatedNodeInfo(node_id=parent)}
                nodes[child] = TextNode(
                    id_=child, text=child, metadata={"file": "x"}, relationships=relations
                )
        # Leaves of one parent are neighbours; theirs keeps hash and metadata of a neighbour beside its id.
        for before, after in pairwise(LEAVES):
            nodes[before].relationships[NodeRelationship.NEXT] = RelatedNodeInfo(
                node_id=after, hash="at first"
            )
            nodes[after].relationships[NodeRelationship.PREVIOUS] = nodes[before].as_related_node_info()
        docstore = SimpleDocumentStore()
        docstore.add_documents(list(nodes.values()))
        leaves = Fixed([(nodes[leaf], score) for leaf, score in given["hits"]])
        context = StorageContext.from_defaults(docstore=docstore)
        return _hits(AutoMergingRetriever(leaves, context, simple_ratio_thresh=given["ratio"]).retrieve("q"))
    one, two = Fixed([(text("a"), 0.9), (text("b"), 0.5)]), Fixed([(text("b"), 0.8), (text("c"), 0.4)])
    if given["kind"] == "router":
        tools = [
            RetrieverTool.from_defaults(one, description="one"),
            RetrieverTool.from_defaults(two, description="two"),
        ]
        selector = LLMMultiSelector.from_defaults(llm=their_llm(in_turn([given["reply"]])))
        found = RouterRetriever(selector=selector, retriever_tools=tools).retrieve("q")
        return [_hits(found), len(one.asked), len(two.asked)]
    if given["kind"] == "generated":
        fusion = QueryFusionRetriever(
            [one, two],
            llm=their_llm(in_turn([given["reply"]])),
            mode="simple",  # type: ignore[arg-type]
            num_queries=3,
            similarity_top_k=5,
            use_async=False,
        )
        return [_hits(fusion.retrieve("why")), one.asked]
    bundle, found = QueryBundle(given["text"]), []
    for seed in ("", "x"):
        index = VectorStoreIndex([text(each) for each in INDEXED], embed_model=their_embedding(seed=seed))
        found.append(
            [round(hit.get_score(), 4) for hit in index.as_retriever(similarity_top_k=3).retrieve(bundle)]
        )
    return {"scores": found, "written": bundle.embedding is not None}


def ours(given: Any) -> Any:
    from ragcore import VectorStoreIndex
    from ragcore.llamaindex.retrievers import QueryFusionRetriever
    from ragcore.observe import Span
    from ragcore.retrievers import AutoMergingRetriever, BaseRetriever, RouterRetriever
    from ragcore.schema import IndexNode, NodeWithScore, QueryBundle, Response, TextNode
    from ragcore.selectors import LLMMultiSelector
    from ragcore.storage.docstore import SimpleDocumentStore
    from ragcore.tools import RetrieverTool

    class Fixed(BaseRetriever):
        name = "fixed"

        def __init__(self, hits: Any) -> None:
            self.hits, self.asked = hits, []  # type: ignore[var-annotated]

        def _retrieve(self, query: QueryBundle, step: Span) -> list[NodeWithScore]:
            self.asked.append(query.query_str)
            return [NodeWithScore(node, score) for node, score in self.hits]

    def text(id_: str) -> Any:
        return TextNode(id_, id_)

    class Answering:
        def query(self, query: Any) -> Response:
            return Response("answer")

    if given["kind"] == "object":
        inner = Fixed([(text("inner"), 0.7)])
        obj: Any = {"node": text("behind"), "retriever": inner, "engine": Answering()}[given["obj"]]
        return _hits(Fixed([(IndexNode("n", "n", index_id="x", obj=obj), given["score"])]).retrieve("q"))
    if given["kind"] == "merging":
        nodes = {}
        for parent, children in FAMILY.items():
            nodes[parent] = TextNode(parent, parent, {"file": "x"}, child_ids=tuple(children))
            for child in children:
                place = LEAVES.index(child)
                before = LEAVES[place - 1] if place else None
                after = LEAVES[place + 1] if place + 1 < len(LEAVES) else None
                nodes[child] = TextNode(
                    child, child, {"file": "x"}, prev_id=before, next_id=after, parent_id=parent
                )
        docstore = SimpleDocumentStore()
        docstore.add_documents(list(nodes.values()))
        leaves = Fixed([(nodes[leaf], score) for leaf, score in given["hits"]])
        return _hits(AutoMergingRetriever(leaves, docstore, given["ratio"]).retrieve("q"))
    one, two = Fixed([(text("a"), 0.9), (text("b"), 0.5)]), Fixed([(text("b"), 0.8), (text("c"), 0.4)])
    if given["kind"] == "router":
        tools = [
            RetrieverTool.from_defaults(one, description="one"),
            RetrieverTool.from_defaults(two, description="two"),
        ]
        selector = LLMMultiSelector.from_defaults(
            llm=our_llm(in_turn([given["reply"]])), embed_model=our_embedding()
        )
        return [_hits(RouterRetriever(selector, tools).retrieve("q")), len(one.asked), len(two.asked)]
    if given["kind"] == "generated":
        model = our_llm(in_turn([given["reply"]]))
        fusion = QueryFusionRetriever(
            [one, two], model, mode="simple", num_queries=3, similarity_top_k=5, use_async=False
        )
        return [_hits(fusion.retrieve("why")), one.asked]
    bundle, found = QueryBundle(given["text"]), []
    for seed in ("", "x"):
        index = VectorStoreIndex([text(each) for each in INDEXED], embed_model=our_embedding(seed=seed))
        found.append(
            [round(hit.get_score(), 4) for hit in index.as_retriever(similarity_top_k=3).retrieve(bundle)]
        )
    return {"scores": found, "written": bundle.embedding is not None}


def _hits(found: Any) -> list[list[Any]]:
    return [[hit.node.get_content(), None if hit.score is None else round(hit.score, 5)] for hit in found]


def explain(given: Any, theirs: Any, ours: Any) -> str:
    if given["kind"] == "object":
        named = {"node": "behind", "engine": "answer"}.get(given["obj"])
        return "D33" if given["score"] == 0.0 and ours == [[named, 0.0]] and theirs == [[named, 1.0]] else ""
    if given["kind"] == "merging":
        by_rule = merged_by_rule(FAMILY, given["hits"], given["ratio"], [LEAVES])
        without_filling = merged_by_rule(FAMILY, given["hits"], given["ratio"], [])
        return (
            "D27" if ours == by_rule and sorted(theirs) == sorted(without_filling) != sorted(by_rule) else ""
        )
    if given["kind"] == "router":
        # A passage that both find: ours as the first found it, theirs as the last.
        first = [["a", 0.9], ["b", 0.5], ["c", 0.4]]
        return "1.11" if ours[0] == first and ours[1:] == theirs[1:] == [1, 1] else ""
    if given["kind"] == "twice":
        # In ours each index is asked with a vector of its own embedder, in theirs both with that of the
        # first.
        right = [_cosines(given["text"], seed) for seed in ("", "x")]
        return "D17" if theirs["written"] and not ours["written"] and ours["scores"] == right else ""
    if given["kind"] == "generated":
        # A question that the model merely repeats is not asked again.
        asked = ["why", *dict.fromkeys(line for line in given["reply"].split("\n") if line and line != "why")]
        return "1.11" if ours[1] == asked and ours[0] == theirs[0] else ""
    return ""


def _cosines(question: str, seed: str) -> list[float]:
    asked, *rows = (vector(seeded(text, seed)) for text in (question, *INDEXED))
    return sorted((round(sum(map(mul, asked, row)), 4) for row in rows), reverse=True)


def merged_by_rule(
    families: Mapping[str, Sequence[str]], hits: Any, ratio: float, rows: Sequence[Sequence[str]]
) -> list[list[Any]]:
    """Step by step: what is missing between two neighbours is filled in, then parents take the place of their
    children.

    `families` are the leaves of each parent; `hits` are leaves with their scores; in each of `rows` stand
    neighbours.
    """
    hits = [(name, score) for name, score in hits]
    filled: set[str] = set()
    while True:
        before = [name for name, _ in hits]
        hits = _filled_in(hits, rows, filled)
        for parent, children in families.items():
            found = [score for name, score in hits if name in children]
            if found and len(found) / len(children) > ratio:
                hits = [hit for hit in hits if hit[0] not in children]
                if parent not in dict(hits):
                    hits.append((parent, sum(found) / len(found)))
        if before == [name for name, _ in hits]:
            return [[name, round(score, 5)] for name, score in sorted(hits, key=lambda hit: -hit[1])]


def _filled_in(
    hits: list[tuple[str, float]], rows: Sequence[Sequence[str]], filled: set[str]
) -> list[tuple[str, float]]:
    complete = hits[:1]
    for (name, score), (following, its_score) in pairwise(hits):
        for row in rows:
            for before, middle, after in zip(row, row[1:], row[2:], strict=False):
                if (before, after) == (name, following) and middle not in dict(hits) and middle not in filled:
                    complete.append((middle, (score + its_score) / 2))
                    filled.add(middle)
        complete.append((following, its_score))
    return complete
