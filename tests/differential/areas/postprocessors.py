"""What postprocessors keep, and in which order: by score, neighbours, time, sentences, and a model's
judgement."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from tests.differential.cases import Case
from tests.differential.doubles import in_turn, our_embedding, our_llm, their_embedding, their_llm

CHAIN = ["a", "b", "c", "d", "e", "f"]  # one document in reading order
SENTENCES = "The river is long. Mountains are high. A river flows into the sea. Snow falls in winter."
NOW = 1_000_000_000.0  # seconds since the epoch
RANKED = [
    "Doc: 3, Relevance: 9\nDoc: 1, Relevance: 4",
    "Doc: 2, Relevance: 7",
    "Doc: 1, Relevance: 5\nDoc: 2, Relevance: 8\nDoc: 3, Relevance: 6\nDoc: 4, Relevance: 1",
    "Doc: 9, Relevance: 9\nDoc: 1, Relevance: 2",
    "Document 2 looks best to me.",
    "",
]


def cases() -> Iterator[Case]:
    golden = [[str(n), n / 10] for n in range(1, 8)]
    for cutoff in (0.0, 0.4, 0.65, 1.0):
        yield Case(f"similarity-{cutoff}", {"kind": "similarity", "hits": golden, "cutoff": cutoff})
    yield Case("similarity-none", {"kind": "similarity", "hits": [["1", None], ["2", 0.5]], "cutoff": 0.2})
    yield Case("reorder-golden", {"kind": "reorder", "hits": [[str(n), float(n)] for n in range(1, 8)]})
    chance = random.Random(8)
    for number in range(6):
        scores = [round(chance.random(), 3) for _ in range(chance.randint(1, 9))]
        yield Case(
            f"reorder-{number}",
            {"kind": "reorder", "hits": [[str(i), score] for i, score in enumerate(scores)]},
        )
    for mode in ("next", "previous", "both"):
        for count in (1, 2):
            for found in (["c"], ["a", "f"], ["d", "a"], ["b", "c"]):
                hits = [[name, 0.5] for name in found]
                yield Case(
                    f"{mode}-{count}-{''.join(found)}",
                    {"kind": "neighbours", "hits": hits, "mode": mode, "count": count},
                )
    yield Case(
        "window-joined", {"kind": "neighbours", "hits": [["d", 0.5], ["a", 0.4]], "mode": "both", "count": 1}
    )
    for reply in ("previous", "next", "none", "ANSWER: next"):
        yield Case(f"direction-{reply}", {"kind": "direction", "hits": [["c", 0.5]], "reply": reply})
    yield Case("replaced", {"kind": "replace", "hits": [["a", 0.5]], "key": "window"})
    yield Case("nothing-to-replace", {"kind": "replace", "hits": [["a", 0.5]], "key": "other"})
    for number in range(5):
        hits = [[str(i), round(chance.random(), 2), chance.choice([1, 5, 60, 900])] for i in range(4)]
        yield Case(f"time-{number}", {"kind": "time", "hits": hits, "decay": chance.choice([0.99, 0.1])})
    for number, reply in enumerate(RANKED):
        yield Case(
            f"ranked-{number}",
            {"kind": "ranked", "hits": [[name, 0.5] for name in CHAIN[:4]], "reply": reply},
        )
    for share, threshold in ((0.5, None), (0.25, None), (1.0, None), (None, 0.3), (None, 0.99)):
        yield Case(
            f"sentences-{share}-{threshold}",
            {"kind": "sentences", "hits": [], "share": share, "threshold": threshold},
        )


def theirs(given: Any) -> Any:
    from llama_index.core import postprocessor
    from llama_index.core.postprocessor.node import AutoPrevNextNodePostprocessor
    from llama_index.core.postprocessor.optimizer import SentenceEmbeddingOptimizer
    from llama_index.core.schema import (
        NodeRelationship,
        NodeWithScore,
        QueryBundle,
        RelatedNodeInfo,
        TextNode,
    )
    from llama_index.core.storage.docstore import SimpleDocumentStore

    def node(name: str, **metadata: Any) -> Any:
        relations: Any = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id="doc")}
        if name in CHAIN[1:]:
            relations[NodeRelationship.PREVIOUS] = RelatedNodeInfo(node_id=CHAIN[CHAIN.index(name) - 1])
        if name in CHAIN[:-1]:
            relations[NodeRelationship.NEXT] = RelatedNodeInfo(node_id=CHAIN[CHAIN.index(name) + 1])
        return TextNode(id_=name, text=name, metadata=metadata, relationships=relations)

    hits = [
        NodeWithScore(node=node(name, window=f"around {name}"), score=score)
        for name, score, *_ in given["hits"]
    ]
    docstore = SimpleDocumentStore()
    docstore.add_documents([node(name) for name in CHAIN])
    kind = given["kind"]
    if kind == "similarity":
        chosen: Any = postprocessor.SimilarityPostprocessor(similarity_cutoff=given["cutoff"])
    elif kind == "reorder":
        chosen = postprocessor.LongContextReorder()
    elif kind == "neighbours":
        chosen = postprocessor.PrevNextNodePostprocessor(
            docstore=docstore, num_nodes=given["count"], mode=given["mode"]
        )
    elif kind == "direction":
        chosen = AutoPrevNextNodePostprocessor(
            docstore=docstore, llm=their_llm(in_turn([given["reply"]])), num_nodes=1
        )
    elif kind == "replace":
        chosen = postprocessor.MetadataReplacementPostProcessor(target_metadata_key=given["key"])
    elif kind == "time":
        for hit, (_, _, hours) in zip(hits, given["hits"], strict=True):
            hit.node.metadata["__last_accessed__"] = NOW - hours * 3600
        chosen = postprocessor.TimeWeightedPostprocessor(time_decay=given["decay"], top_k=4, now=NOW)
    elif kind == "ranked":
        chosen = postprocessor.LLMRerank(llm=their_llm(in_turn([given["reply"]])), top_n=3)
    else:
        chosen = SentenceEmbeddingOptimizer(
            embed_model=their_embedding(),
            percentile_cutoff=given["share"],
            threshold_cutoff=given["threshold"],
            context_before=0,
            context_after=0,
        )
        hits = [NodeWithScore(node=TextNode(text=SENTENCES), score=0.5)]
    return _outcome(chosen.postprocess_nodes(hits, QueryBundle("the long river")), kind)


def ours(given: Any) -> Any:
    from ragcore.llamaindex import postprocessor
    from ragcore.schema import NodeWithScore, QueryBundle, TextNode
    from ragcore.storage.docstore import SimpleDocumentStore

    def node(name: str, **metadata: Any) -> Any:
        before = CHAIN[CHAIN.index(name) - 1] if name in CHAIN[1:] else None
        after = CHAIN[CHAIN.index(name) + 1] if name in CHAIN[:-1] else None
        return TextNode(name, name, metadata, "doc", prev_id=before, next_id=after)

    hits = [NodeWithScore(node(name, window=f"around {name}"), score) for name, score, *_ in given["hits"]]
    docstore = SimpleDocumentStore()
    docstore.add_documents([node(name) for name in CHAIN])
    kind = given["kind"]
    if kind == "similarity":
        chosen: Any = postprocessor.SimilarityPostprocessor(given["cutoff"])
    elif kind == "reorder":
        chosen = postprocessor.LongContextReorder()
    elif kind == "neighbours":
        chosen = postprocessor.PrevNextNodePostprocessor(docstore, given["count"], given["mode"])
    elif kind == "direction":
        chosen = postprocessor.AutoPrevNextNodePostprocessor(docstore, our_llm(in_turn([given["reply"]])), 1)
    elif kind == "replace":
        chosen = postprocessor.MetadataReplacementPostProcessor(given["key"])
    elif kind == "time":
        hits = [
            NodeWithScore(node(name, __last_accessed__=NOW - hours * 3600), score)
            for name, score, hours in given["hits"]
        ]
        chosen = postprocessor.TimeWeightedPostprocessor(given["decay"], top_k=4, clock=lambda: NOW)
    elif kind == "ranked":
        chosen = postprocessor.LLMRerank(our_llm(in_turn([given["reply"]])), top_n=3)
    else:
        chosen = postprocessor.SentenceEmbeddingOptimizer(our_embedding(), given["share"], given["threshold"])
        hits = [NodeWithScore(TextNode(SENTENCES), 0.5)]
    return _outcome(chosen.postprocess_nodes(hits, QueryBundle("the long river")), kind)


def _outcome(hits: Any, kind: str) -> Any:
    if kind == "sentences":
        return [" ".join(hit.node.get_content().split()) for hit in hits]
    if kind == "time":
        return [hit.node.get_content() for hit in hits]
    return [[hit.node.get_content(), hit.score] for hit in hits]


def explain(given: Any, theirs: Any, ours: Any) -> str:
    if given["kind"] == "neighbours":
        # In reading order, each once, and what was found with its score; theirs is wrong where windows meet.
        scores = dict(given["hits"])
        back, on = given["mode"] != "next", given["mode"] != "previous"
        shown = [
            [name, scores.get(name)]
            for place, name in enumerate(CHAIN)
            if any(
                -given["count"] * on <= CHAIN.index(found) - place <= given["count"] * back or found == name
                for found in scores
            )
        ]
        return "1.13" if ours == shown != theirs else ""
    if given["kind"] == "ranked" and "Doc:" not in given["reply"]:
        # a reply that cannot be read drops nothing
        return "1.13" if theirs == [] and ours == given["hits"][:3] else ""
    if given["kind"] == "sentences":
        if ours == []:
            # no sentence is near: no passage stays
            return "1.13" if "error" in theirs and given["threshold"] == 0.99 else ""
        kept = ours[0].split(". ")
        places = [SENTENCES.index(sentence) for sentence in kept]
        # ours in reading order
        return "1.13" if places == sorted(places) and _sentences(theirs) == _sentences(ours) else ""
    return ""


def _sentences(outcome: Any) -> list[str]:
    return sorted(sentence.strip(". ") for sentence in outcome[0].split(". "))
