"""AutoMergingRetriever over leaves found in reading order: trees made by hand, and by the hierarchical
splitters."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from tests.differential.areas.retrievers import merged_by_rule
from tests.differential.cases import Case

RATIOS = [0.3, 0.5, 0.75]


def cases() -> Iterator[Case]:
    chance = random.Random(27)
    for number in range(45):
        shape = [
            [chance.randint(1, 4) for _ in range(chance.randint(1, 3))] for _ in range(chance.randint(1, 3))
        ]
        yield Case(f"by-hand-{number}", {"shape": shape, **_draw_hits(chance, sum(map(sum, shape)))})
    for number in range(15):
        words = chance.randint(6, 40)
        yield Case(f"parsed-{number}", {"words": words, **_draw_hits(chance, -(-words // 2))})


def _draw_hits(chance: random.Random, leaves: int) -> dict[str, Any]:
    found = [[place, round(chance.uniform(0.05, 1), 3)] for place in range(leaves) if chance.random() < 0.55]
    return {"found": found, "ratio": chance.choice(RATIOS)}


def _tree(shape: list[list[int]]) -> list[list[dict[str, Any]]]:
    """Levels from the leaves up; each node with its name and those of its parent and children."""
    roots, parents, leaves = [], [], []
    for r, groups in enumerate(shape):
        roots.append({"name": f"r{r}", "parent": None, "children": [f"r{r}p{p}" for p in range(len(groups))]})
        for p, count in enumerate(groups):
            names = [f"r{r}p{p}l{leaf}" for leaf in range(count)]
            parents.append({"name": f"r{r}p{p}", "parent": f"r{r}", "children": names})
            leaves += [{"name": name, "parent": f"r{r}p{p}", "children": []} for name in names]
    return [leaves, parents, roots]


def _text(words: int) -> str:
    return " ".join(f"w{number}" for number in range(words))


def theirs(given: Any) -> Any:
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.node_parser import HierarchicalNodeParser, SentenceSplitter, get_leaf_nodes
    from llama_index.core.retrievers import AutoMergingRetriever
    from llama_index.core.schema import Document, NodeRelationship, NodeWithScore, RelatedNodeInfo, TextNode
    from llama_index.core.storage.docstore import SimpleDocumentStore
    from llama_index.core.storage.storage_context import StorageContext

    def made_by_hand() -> tuple[list[Any], list[Any]]:
        levels = _tree(given["shape"])
        nodes = []
        for level in levels:
            for place, told in enumerate(level):
                links: dict[Any, Any] = {}
                if place:
                    links[NodeRelationship.PREVIOUS] = RelatedNodeInfo(node_id=level[place - 1]["name"])
                if place + 1 < len(level):
                    links[NodeRelationship.NEXT] = RelatedNodeInfo(node_id=level[place + 1]["name"])
                if told["parent"]:
                    links[NodeRelationship.PARENT] = RelatedNodeInfo(node_id=told["parent"])
                if told["children"]:
                    links[NodeRelationship.CHILD] = [
                        RelatedNodeInfo(node_id=name) for name in told["children"]
                    ]
                nodes.append(TextNode(text=told["name"], id_=told["name"], relationships=links))
        return nodes[: len(levels[0])], nodes

    def parsed() -> tuple[list[Any], list[Any]]:
        splitters = {
            f"size {size}": SentenceSplitter(
                chunk_size=size, chunk_overlap=0, tokenizer=str.split, include_metadata=False
            )
            for size in (8, 2)
        }
        parser = HierarchicalNodeParser.from_defaults(
            node_parser_ids=list(splitters), node_parser_map=splitters
        )
        nodes = parser.get_nodes_from_documents([Document(text=_text(given["words"]))])
        return get_leaf_nodes(nodes), nodes

    leaves, nodes = made_by_hand() if "shape" in given else parsed()

    class Fixed(BaseRetriever):
        def _retrieve(self, query_bundle: Any) -> list[NodeWithScore]:
            return [NodeWithScore(node=leaves[place], score=score) for place, score in given["found"]]

    docstore = SimpleDocumentStore()
    docstore.add_documents(nodes)
    context = StorageContext.from_defaults(docstore=docstore)
    merging = AutoMergingRetriever(Fixed(), context, simple_ratio_thresh=given["ratio"])
    return [[hit.node.get_content().strip(), round(hit.score, 5)] for hit in merging.retrieve("q")]


def ours(given: Any) -> Any:
    from ragcore.node_parser.hierarchical import HierarchicalNodeParser
    from ragcore.node_parser.node_tree import get_leaf_nodes
    from ragcore.observe import Span
    from ragcore.retrievers.auto_merging import AutoMergingRetriever
    from ragcore.retrievers.base import BaseRetriever
    from ragcore.schema import Document, NodeWithScore, QueryBundle, TextNode
    from ragcore.storage.docstore import SimpleDocumentStore

    if "shape" in given:
        nodes = []
        for level in _tree(given["shape"]):
            names = [None, *(told["name"] for told in level), None]
            for place, told in enumerate(level):
                links = {"prev_id": names[place], "next_id": names[place + 2], "parent_id": told["parent"]}
                nodes.append(TextNode(told["name"], told["name"], child_ids=tuple(told["children"]), **links))
    else:
        parser = HierarchicalNodeParser([8, 2], chunk_overlap=0, tokenizer=str.split, include_metadata=False)
        nodes = list(parser.get_nodes_from_documents([Document(_text(given["words"]), "d")]))
    leaves = get_leaf_nodes(nodes)

    class Fixed(BaseRetriever):
        name = "fixed"

        def _retrieve(self, query: QueryBundle, step: Span) -> list[NodeWithScore]:
            return [NodeWithScore(leaves[place], score) for place, score in given["found"]]

    docstore = SimpleDocumentStore()
    docstore.add_documents(nodes)
    found = AutoMergingRetriever(Fixed(), docstore, given["ratio"]).retrieve("q")
    return [[hit.text.strip(), round(hit.get_score(), 5)] for hit in found]


def explain(given: Any, theirs: Any, ours: Any) -> str:
    """Theirs fills nothing in, for the leaves of its hierarchies have no neighbours; ours does, by the
    written rule."""
    if "words" not in given:
        return ""
    words = _text(given["words"]).split()
    texts = {f"leaf {place // 2}": " ".join(words[place : place + 2]) for place in range(0, len(words), 2)}
    leaves = list(texts)
    families = {f"parent {place}": leaves[place : place + 4] for place in range(0, len(leaves), 4)}
    texts |= {parent: " ".join(texts[leaf] for leaf in below) for parent, below in families.items()}
    hits = [(leaves[place], score) for place, score in given["found"]]
    by_rule = merged_by_rule(families, hits, given["ratio"], [leaves, list(families)])
    without_filling = merged_by_rule(families, hits, given["ratio"], [])
    right, wrong = ([[texts[name], score] for name, score in merged] for merged in (by_rule, without_filling))
    return "D27" if sorted(ours) == sorted(right) != sorted(wrong) == sorted(theirs) else ""
