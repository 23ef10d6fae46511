"""Random runs of an ingestion pipeline: what each strategy works on, what is stored, what the embedder is
given."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from tests.differential.cases import Case

STRATEGIES = ["upserts", "duplicates_only", "upserts_and_delete"]
WORDS = ["alpha", "beta", "gamma", "delta", "broken"]


def cases() -> Iterator[Case]:
    chance = random.Random(19)
    for strategy in STRATEGIES:
        for number in range(14):
            yield Case(
                f"{strategy}-{number}", {"strategy": strategy, "cached": False, "runs": _runs(chance, 3)}
            )
        yield Case(
            f"{strategy}-same", {"strategy": strategy, "cached": False, "runs": [[["a", "x"]], [["a", "x"]]]}
        )
        yield Case(
            f"{strategy}-twins",
            {"strategy": strategy, "cached": False, "runs": [[["a", "x"], ["b", "x"]], [["a", "x"]]]},
        )
        yield Case(
            f"{strategy}-fails",
            {
                "strategy": strategy,
                "cached": False,
                "runs": [[["a", "x"]], [["a", "broken"], ["b", "y"]], [["a", "z"]]],
            },
        )
    for number in range(8):
        yield Case(f"cache-{number}", {"strategy": None, "cached": True, "runs": _runs(chance, 3)})
    yield Case(
        "cache-same",
        {"strategy": None, "cached": True, "runs": [[["a", "x"], ["b", "y"]], [["a", "x"], ["b", "y"]]]},
    )
    many = [[f"d{number}", f"text {number}"] for number in range(11)]
    yield Case("cache-one-more", {"strategy": None, "cached": True, "runs": [many[:10], many]})
    yield Case("cache-new-id", {"strategy": None, "cached": True, "runs": [[["a", "x"]], [["b", "x"]]]})
    yield Case(
        "cache-joined",
        {"strategy": None, "cached": True, "runs": [[["a", "ab"], ["b", "c"]], [["a", "a"], ["b", "bc"]]]},
    )


def _runs(chance: random.Random, count: int) -> list[list[list[str]]]:
    """Documents (id, text) with ids of their own in each run."""
    return [
        [[id_, chance.choice(WORDS[:4])] for id_ in chance.sample("abc", chance.randint(1, 3))]
        for _ in range(count)
    ]


def theirs(given: Any) -> Any:
    from llama_index.core.embeddings import BaseEmbedding
    from llama_index.core.ingestion import DocstoreStrategy, IngestionPipeline
    from llama_index.core.node_parser import SentenceSplitter
    from llama_index.core.schema import Document
    from llama_index.core.storage.docstore import SimpleDocumentStore
    from llama_index.core.vector_stores import SimpleVectorStore

    embedded: list[str] = []

    class Embedder(BaseEmbedding):
        def _get_text_embedding(self, text: str) -> list[float]:
            embedded.append(text)
            if "broken" in text:
                raise ValueError("broken")
            return [1.0, 0.0]

        def _get_query_embedding(self, query: str) -> list[float]:
            return [1.0, 0.0]

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return [1.0, 0.0]

    docstore = SimpleDocumentStore() if given["strategy"] else None
    store = SimpleVectorStore()
    pipeline = IngestionPipeline(
        transformations=[SentenceSplitter(tokenizer=str.split), Embedder()],
        docstore=docstore,
        docstore_strategy=DocstoreStrategy(given["strategy"] or "upserts"),
        vector_store=store if given["strategy"] else None,
        disable_cache=not given["cached"],
    )

    def run(documents: Any) -> Any:
        nodes = pipeline.run(documents=[Document(text=text, id_=id_) for id_, text in documents])
        return [[node.ref_doc_id, node.text] for node in nodes]

    def stored() -> Any:
        return (
            [sorted(docstore.docs), sorted(store.data.text_id_to_ref_doc_id.values())]
            if docstore is not None
            else []
        )

    return _outcome(given, run, stored, embedded)


def ours(given: Any) -> Any:
    from ragcore.embeddings.hashing import HashEmbedding
    from ragcore.ingestion import IngestionPipeline
    from ragcore.node_parser.sentence import SentenceSplitter
    from ragcore.schema import Document
    from ragcore.storage.docstore import SimpleDocumentStore
    from ragcore.vector_stores.memory import MemoryStore

    embedded: list[str] = []

    class Embedder(HashEmbedding):
        def embed_passages(self, texts: Any) -> Any:
            embedded.extend(texts)
            if "broken" in " ".join(texts):
                raise ValueError("broken")
            return super().embed_passages(texts)

    docstore = SimpleDocumentStore() if given["strategy"] else None
    store = MemoryStore()
    pipeline = IngestionPipeline(
        [SentenceSplitter(tokenizer=str.split), Embedder(8)],
        docstore,
        given["strategy"] or "upserts",
        store if given["strategy"] else None,
        disable_cache=not given["cached"],
    )

    def run(documents: Any) -> Any:
        nodes = pipeline.run([Document(text, id_) for id_, text in documents])
        return [[getattr(node, "ref_doc_id", None), node.text] for node in nodes]

    def stored() -> Any:
        return (
            [sorted(docstore.docs), sorted(kept.id_ for kept in store.documents())]
            if docstore is not None
            else []
        )

    return _outcome(given, run, stored, embedded)


def _outcome(given: Any, run: Any, stored: Any, embedded: list[str]) -> list[dict[str, Any]]:
    outcome = []
    for documents in given["runs"]:
        before = len(embedded)
        try:
            made = sorted(run(documents))
        except ValueError:
            made = "failed"
        outcome.append(
            {
                "made": made,
                "stored": stored(),
                "embedded": [] if made == "failed" else sorted(embedded[before:]),
            }
        )
    return outcome


def explain(given: Any, theirs: Any, ours: Any) -> str:
    if ours != _expected(given):
        return ""
    if given["cached"]:
        return "D19"
    if any(step["made"] == "failed" for step in ours):
        return "D20"
    if given["strategy"] == "upserts_and_delete":
        return "D21"
    stored_twice = any(len(ids) > len(set(ids)) for step in theirs for ids in step["stored"])
    return "D37" if stored_twice else ""


def _expected(given: Any) -> list[dict[str, Any]]:
    """The rules, in other words: what is wanted by id and text, each text embedded once where there is a
    cache."""
    known: dict[str, str] = {}
    cached: set[str] = set()
    expected = []
    for documents in given["runs"]:
        if given["strategy"] == "duplicates_only":
            texts: list[str] = list(known.values())
            wanted = [
                pair
                for place, pair in enumerate(documents)
                if pair[1] not in [*texts, *(t for _, t in documents[:place])]
            ]
        else:
            wanted = [
                [id_, text] for id_, text in documents if not given["strategy"] or known.get(id_) != text
            ]
        embedded = [text for _, text in wanted]
        if given["cached"]:
            embedded = list(dict.fromkeys(text for text in embedded if text not in cached))
            cached |= set(embedded)
        failed = any(text == "broken" for text in embedded)
        if not failed and given["strategy"]:
            known |= dict(wanted)
            if given["strategy"] == "upserts_and_delete":
                known = {id_: text for id_, text in known.items() if id_ in dict(documents)}
        expected.append(
            {
                "made": "failed" if failed else sorted(wanted),
                "stored": [sorted(known), sorted(known)] if given["strategy"] else [],
                "embedded": [] if failed else sorted(embedded),
            }
        )
    return expected
