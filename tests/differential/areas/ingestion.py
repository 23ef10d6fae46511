"""Several runs of an ingestion pipeline: what each gives and embeds, and what the vector store holds after
each."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from tests.differential.cases import Case
from tests.differential.doubles import our_embedding, their_embedding

THREE = [
    ["d1", "one two three. four five six. seven", {}],
    ["d2", "alpha beta gamma. delta", {}],
    ["d3", "red green. blue", {}],
]
WORDS = ["river", "mountain", "lake", "forest", "cloud", "stone", "field", "valley"]
STRATEGIES = ["upserts", "duplicates_only", "upserts_and_delete"]


def cases() -> Iterator[Case]:
    changed = [THREE[0], ["d2", "alpha beta gamma. other words here", {}], THREE[2]]
    relabelled = [THREE[0], ["d2", THREE[1][1], {"year": 1999}], THREE[2]]
    twins = [["d1", "the same words. again", {}], ["d2", "the same words. again", {}]]
    for strategy in STRATEGIES:
        yield Case(f"again-{strategy}", _case([THREE, THREE], strategy))
        yield Case(f"twins-{strategy}", _case([twins, twins], strategy))
        # without a way to tell that a document changed, both keep the old one beside the new
        if strategy != "duplicates_only":
            yield Case(f"changed-{strategy}", _case([THREE, changed], strategy))
            yield Case(f"relabelled-{strategy}", _case([THREE, relabelled], strategy))
            yield Case(f"fails-{strategy}", _case([THREE, changed, changed], strategy, fails=[1]))
            yield Case(f"fails-at-once-{strategy}", _case([THREE, THREE], strategy, fails=[0]))
    yield Case("one-of-twins-gone", _case([twins, twins[1:]], "upserts_and_delete"))
    yield Case("one-gone", _case([THREE, THREE[:2]], "upserts_and_delete"))
    fifty = [[f"d{number}", f"text number {number}", {}] for number in range(50)]
    yield Case("one-more-than-fifty", _case([fifty, [*fifty, ["new", "one more", {}]]], None))
    yield Case(
        "same-text-other-id", _case([[["d1", "the same words", {}]], [["d9", "the same words", {}]]], None)
    )
    yield Case(
        "other-border",
        _case([[["d1", "ab", {}], ["d2", "c", {}]], [["d1", "a", {}], ["d2", "bc", {}]]], None),
    )
    yield Case("all-cached", _case([THREE, THREE], None))
    chance = random.Random(14)
    for number in range(12):
        runs = [_documents(chance) for _ in range(3)]
        yield Case(f"random-{number}", _case(runs, ["upserts", "upserts_and_delete"][number % 2]))


def _documents(chance: random.Random) -> list[list[Any]]:
    ids = chance.sample(["d1", "d2", "d3", "d4"], chance.randint(1, 4))
    return [
        [
            id_,
            f"{id_} " + " ".join(chance.choices(WORDS, k=3)) + chance.choice([".", ". more words here"]),
            {},
        ]
        for id_ in ids
    ]


def _case(runs: list[Any], strategy: str | None, fails: list[int] | None = None) -> dict[str, Any]:
    return {"runs": runs, "strategy": strategy, "fails": fails or []}


def theirs(given: Any) -> Any:
    from llama_index.core import Document
    from llama_index.core.ingestion import IngestionPipeline
    from llama_index.core.ingestion.pipeline import DocstoreStrategy
    from llama_index.core.node_parser import SentenceSplitter
    from llama_index.core.schema import TransformComponent
    from llama_index.core.storage.docstore import SimpleDocumentStore
    from llama_index.core.vector_stores import SimpleVectorStore

    failing = [False]

    class Sometimes(TransformComponent):
        def __call__(self, nodes: Any, **kwargs: Any) -> Any:
            if failing[0]:
                raise RuntimeError("fails")
            return nodes

    calls: list[list[str]] = []
    store = SimpleVectorStore()
    splitter = SentenceSplitter(chunk_size=7, chunk_overlap=0, tokenizer=str.split)
    kept = (
        {"docstore": SimpleDocumentStore(), "docstore_strategy": DocstoreStrategy(given["strategy"])}
        if given["strategy"]
        else {}
    )
    pipeline = IngestionPipeline(
        transformations=[splitter, Sometimes(), their_embedding(calls)],
        vector_store=store if kept else None,
        **kept,
    )

    def run(documents: Any) -> Any:
        made = pipeline.run(
            documents=[Document(id_=id_, text=text, metadata=metadata) for id_, text, metadata in documents]
        )
        return [[node.ref_doc_id, node.text] for node in made]

    def held() -> list[str]:
        return list(store.data.text_id_to_ref_doc_id.values())

    return _outcome(given, run, held, calls, failing)


def ours(given: Any) -> Any:
    from ragcore.ingestion import IngestionPipeline
    from ragcore.node_parser import SentenceSplitter
    from ragcore.schema import Document
    from ragcore.storage.docstore import SimpleDocumentStore
    from ragcore.vector_stores.memory import MemoryStore

    failing = [False]

    def sometimes(nodes: Any) -> Any:
        if failing[0]:
            raise RuntimeError("fails")
        return nodes

    calls: list[list[str]] = []
    store = MemoryStore()
    splitter = SentenceSplitter(chunk_size=7, chunk_overlap=0, tokenizer=str.split)
    kept = (
        {"docstore": SimpleDocumentStore(), "docstore_strategy": given["strategy"]}
        if given["strategy"]
        else {}
    )
    pipeline = IngestionPipeline(
        [splitter, sometimes, our_embedding(calls)], vector_store=store if kept else None, **kept
    )

    def run(documents: Any) -> Any:
        made = pipeline.run([Document(text, id_, metadata) for id_, text, metadata in documents])
        return [[node.ref_doc_id, node.text] for node in made]

    def held() -> list[str]:
        return [stored.id_ for stored in store.documents() for _ in range(stored.passages)]

    return _outcome(given, run, held, calls, failing)


def _outcome(given: Any, run: Any, held: Any, calls: list[list[str]], failing: list[bool]) -> Any:
    outcome = []
    for number, documents in enumerate(given["runs"]):
        failing[0] = number in given["fails"]
        calls.clear()
        try:
            made = sorted(run(documents))
        except RuntimeError:
            made = "failed"
        outcome.append({"made": made, "embedded": sum(map(len, calls)), "held": sorted(held())})
    return outcome


def explain(given: Any, theirs: Any, ours: Any) -> str:
    if isinstance(theirs, dict) or isinstance(ours, dict):
        return ""
    if given["strategy"] is None:
        return "D19" if _cached_rightly(given, ours) and not _cached_rightly(given, theirs) else ""
    # What a store must hold: the passages of each document as it was last read without a failure.
    if not _stores_correctly(given, ours):
        return ""
    if _stores_correctly(given, theirs):
        same = all(
            a["made"] == b["made"] and a["embedded"] <= b["embedded"]
            for a, b in zip(ours, theirs, strict=True)
        )
        return "D19" if same else ""  # the same, but theirs embeds passages again that it had embedded before
    if given["fails"]:
        return "D20"
    return "D21" if given["strategy"] == "upserts_and_delete" else ""


def _cached_rightly(given: Any, outcome: Any) -> bool:
    """Each run gives the passages of its own documents, and embeds a text only the first time."""
    seen: set[str] = set()
    for documents, run in zip(given["runs"], outcome, strict=True):
        texts = {text for _, text in run["made"]}
        whole = [
            [id_, "".join(text for owner, text in run["made"] if owner == id_)] for id_, _, _ in documents
        ]
        if [[id_, text.replace(" ", "")] for id_, text in whole] != [
            [id_, text.replace(" ", "")] for id_, text, _ in documents
        ]:
            return False
        if run["embedded"] != len(texts - seen):
            return False
        seen |= texts
    return True


def _stores_correctly(given: Any, outcome: Any) -> bool:
    known: dict[str, Any] = {}
    passages: dict[str, int] = {}
    for number, (documents, run) in enumerate(zip(given["runs"], outcome, strict=True)):
        if number in given["fails"]:
            if run["made"] != "failed":
                return False
        else:
            wanted = [document for document in documents if known.get(document[0]) != document[1:]]
            if {owner for owner, _ in run["made"]} != {id_ for id_, _, _ in wanted}:
                return False
            known |= {id_: rest for id_, *rest in documents}
            passages |= {id_: sum(owner == id_ for owner, _ in run["made"]) for id_, _, _ in wanted}
            if given["strategy"] == "upserts_and_delete":
                passages = {
                    id_: count for id_, count in passages.items() if id_ in {id_ for id_, _, _ in documents}
                }
                known = {id_: rest for id_, rest in known.items() if id_ in passages}
        if run["held"] != sorted(id_ for id_, count in passages.items() for _ in range(count)):
            return False
    return True
