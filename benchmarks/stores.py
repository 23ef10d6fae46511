"""Storing and searching vectors, compared with llama-index-core: the same passages and vectors, the same
machine.

    OMP_NUM_THREADS=1 python -m benchmarks.stores [--rounds N]

Each step of each side runs in its own process, in turns. The figures are medians of CPU seconds without
imports. Embeddings are generated, so that no model is in the figures. What would take the peer very long is
measured at a smaller size, as its row says. Bytes and memory are only ours, with their limits.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from benchmarks.passages import DIMENSION, EACH, LENGTH, documents, vectors

SMALL, LARGE = 20_000, 100_000
INSERTS = 1000
THEIR_INSERTS = 2  # measured after half of INSERTS, where one takes the average time of all
TOP = 10
QUERIES = 20

PERSIST = f"persist {SMALL:,} passages"
PERSIST_AGAIN = f"persist again after one insert into {SMALL:,}"
OPEN = f"open {SMALL:,} and answer the first query"
TOP_SMALL = f"top-10 of {SMALL:,}"
TOP_LARGE = f"top-10 of {LARGE:,}"
INSERT = f"insert {INSERTS:,} documents one by one, each persisted"
ROWS = (PERSIST, PERSIST_AGAIN, OPEN, TOP_SMALL, TOP_LARGE, INSERT)

T = TypeVar("T")


class Clock:
    def __init__(self) -> None:
        self.figures: dict[str, float] = {}

    def time(self, row: str, work: Callable[[], T], repeat: int = 1) -> T:
        """The result of the last of `repeat` runs; the row gets the median seconds of one."""
        seconds = []
        for _ in range(repeat):
            started = time.process_time()
            result = work()
            seconds.append(time.process_time() - started)
        self.figures[row] = float(np.median(seconds))
        return result


# --- ours ---------------------------------------------------------------------------------------------------


def our_index(rows: Any) -> Any:
    from ragcore import VectorStoreIndex
    from ragcore.embeddings.hashing import HashEmbedding

    return VectorStoreIndex(
        [node for _, nodes in documents(rows) for node in nodes], embed_model=HashEmbedding()
    )


def our_build(folder: Path) -> dict[str, float]:
    clock = Clock()
    index = our_index(vectors(SMALL))
    clock.time(PERSIST, lambda: index.storage_context.persist(persist_dir=folder / "small"))
    return clock.figures


def our_open(folder: Path) -> dict[str, float]:
    from ragcore import QueryBundle, StorageContext, load_index_from_storage
    from ragcore.embeddings.hashing import HashEmbedding
    from ragcore.storage.disk import DiskStorage  # noqa: F401 - imports are not measured

    clock, model = Clock(), HashEmbedding()
    questions = [QueryBundle("", embedding=row) for row in vectors(QUERIES, seed=1)]
    our_index(vectors(EACH)).as_retriever().retrieve(questions[0])  # imports the rest

    def answer() -> Any:
        context = StorageContext.from_defaults(persist_dir=folder / "small")
        retriever = load_index_from_storage(context, embed_model=model).as_retriever(similarity_top_k=TOP)
        retriever.retrieve(questions[0])
        return retriever

    retriever = clock.time(OPEN, answer)
    queries = iter(questions)
    clock.time(TOP_SMALL, lambda: retriever.retrieve(next(queries)), repeat=QUERIES)
    nodes = [node for _, nodes in documents(vectors(EACH, seed=2)) for node in nodes]
    context = StorageContext.from_defaults(persist_dir=folder / "small")
    index = load_index_from_storage(context, embed_model=model)
    clock.time(PERSIST_AGAIN, lambda: index.insert_nodes(_rename(nodes)))  # which persists it
    return clock.figures


def _rename(nodes: list[Any]) -> list[Any]:
    from dataclasses import replace

    return [
        replace(node, id_=f"new {node.id_}", ref_doc_id="new", prev_id=None, next_id=None) for node in nodes
    ]


def our_fill(folder: Path) -> dict[str, float]:
    """The large library, document by document; the first INSERTS of them are timed."""
    clock = Clock()
    store = _our_store(folder / "large")
    every = documents(vectors(LARGE))
    first = list(islice(every, INSERTS))
    halves = (first[: INSERTS // 2], first[INSERTS // 2 :])
    seconds = []
    for half in halves:
        started = time.process_time()
        for document, nodes in half:
            store.upsert(document, nodes)
        seconds.append(time.process_time() - started)
    clock.figures |= {INSERT: sum(seconds), "second half over first": seconds[1] / seconds[0]}
    with store._database.transaction():
        for document, nodes in every:
            store.upsert(document, nodes)
    store._database.shrink()
    return clock.figures | {
        "bytes": store.bytes_on_disk(),
        "allowed": 4 * DIMENSION * LARGE + 1.5 * LENGTH * LARGE,
    }


def our_serve(folder: Path) -> dict[str, float]:
    clock = Clock()
    before = memory()
    store = _our_store(folder / "large")
    queries = iter(vectors(QUERIES + 1, seed=1))
    store.search(next(queries), TOP)
    clock.time(TOP_LARGE, lambda: store.search(next(queries), TOP), repeat=QUERIES)
    after = memory()
    return clock.figures | {
        "peak": after["VmHWM"],
        "peak beyond imports": after["VmHWM"] - before["VmRSS"],
        "not mapped": after["RssAnon"],
    }


def our_bandwidth(folder: Path) -> dict[str, float]:
    """The time to read the large matrix: for numpy in memory, and for an exact search on disk.

    Also the recall of the store, and its time for a question without near vectors.
    """
    from ragcore.vector_stores.search import nearest

    clock = Clock()
    questions = vectors(QUERIES, seed=1)
    query = questions[0]
    in_memory = [vectors(LARGE)]
    clock.time("sum", lambda: in_memory[0].sum(), repeat=QUERIES)
    clock.time("product", lambda: in_memory[0] @ query, repeat=QUERIES)
    in_memory.clear()
    (file,) = (folder / "large" / "vectors").glob("*.f32")
    rows = np.memmap(file, np.float32, "r").reshape(-1, DIMENSION)
    clock.time("search", lambda: nearest(rows, query, TOP), repeat=QUERIES)
    store, hits = _our_store(folder / "large"), 0
    for question in questions:
        least = nearest(rows, question, TOP)[1][-1]
        hits += sum((hit.score or 0) >= least - 1e-6 for hit in store.search(question, TOP))
    away = iter(vectors(QUERIES, seed=1, clusters=0))
    clock.time("nothing near", lambda: store.search(next(away), TOP), repeat=QUERIES)
    return clock.figures | {"gigabytes": 4 * DIMENSION * LARGE / 1e9, "recall": hits / QUERIES / TOP}


def _our_store(folder: Path) -> Any:
    from ragcore.sql.sqlite import SQLiteDatabase
    from ragcore.vector_stores.disk import SCHEMA, DiskStore

    return DiskStore(SQLiteDatabase(folder / "library.db", SCHEMA), vectors=folder / "vectors")


def memory() -> dict[str, float]:
    """Bytes of this process: at most (VmHWM), now (VmRSS), now without mapped files (RssAnon)."""
    lines = (line.split() for line in Path("/proc/self/status").read_text().splitlines())
    return {words[0].rstrip(":"): 1024 * float(words[1]) for words in lines if words[0][:2] in ("Vm", "Rs")}


# --- theirs -------------------------------------------------------------------------------------------------


def their_nodes(rows: Any, name: str = "") -> list[Any]:
    from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode

    return [
        TextNode(
            text=node.text,
            id_=name + node.id_,
            metadata=dict(node.metadata),
            embedding=np.asarray(node.embedding).tolist(),
            relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=name + document.id_)},
        )
        for document, nodes in documents(rows)
        for node in nodes
    ]


def their_index(rows: Any) -> Any:
    from llama_index.core import VectorStoreIndex
    from llama_index.core.embeddings import MockEmbedding

    return VectorStoreIndex(their_nodes(rows), embed_model=MockEmbedding(DIMENSION))


def their_build(folder: Path) -> dict[str, float]:
    clock = Clock()
    index = their_index(vectors(SMALL))
    clock.time(PERSIST, lambda: index.storage_context.persist(persist_dir=str(folder / "small")))
    return clock.figures


def their_open(folder: Path) -> dict[str, float]:
    from llama_index.core import QueryBundle, StorageContext, load_index_from_storage
    from llama_index.core.embeddings import MockEmbedding

    clock, model = Clock(), MockEmbedding(DIMENSION)
    questions = [QueryBundle("", embedding=row.tolist()) for row in vectors(QUERIES, seed=1)]

    def answer() -> Any:
        context = StorageContext.from_defaults(persist_dir=str(folder / "small"))
        index = load_index_from_storage(context, embed_model=model)
        index.as_retriever(similarity_top_k=TOP).retrieve(questions[0])
        return index

    index = clock.time(OPEN, answer)
    retriever, queries = index.as_retriever(similarity_top_k=TOP), iter(questions)
    clock.time(TOP_SMALL, lambda: retriever.retrieve(next(queries)), repeat=QUERIES)
    nodes = their_nodes(vectors(EACH, seed=2), "new ")

    def insert() -> None:
        index.insert_nodes(nodes)
        index.storage_context.persist(persist_dir=str(folder / "small"))

    clock.time(PERSIST_AGAIN, insert)
    return clock.figures


def their_fill(folder: Path) -> dict[str, float]:
    """Documents persisted one by one: measured in the middle, where one takes the average time of all."""
    index = their_index(vectors(INSERTS * EACH // 2))
    batches = [their_nodes(vectors(EACH, seed=3 + number), f"{number} ") for number in range(THEIR_INSERTS)]
    started = time.process_time()
    for nodes in batches:
        index.insert_nodes(nodes)
        index.storage_context.persist(persist_dir=str(folder / "inserted"))
    return {INSERT: (time.process_time() - started) / THEIR_INSERTS * INSERTS}


def their_serve(folder: Path) -> dict[str, float]:
    """In memory as built: to open it from disk would take minutes, and changes nothing for a search."""
    from llama_index.core import QueryBundle

    clock = Clock()
    retriever = their_index(vectors(LARGE)).as_retriever(similarity_top_k=TOP)
    queries = iter([QueryBundle("", embedding=row.tolist()) for row in vectors(6, seed=1)])
    retriever.retrieve(next(queries))
    clock.time(TOP_LARGE, lambda: retriever.retrieve(next(queries)), repeat=5)
    return clock.figures | {"peak": memory()["VmHWM"]}


# --- both ---------------------------------------------------------------------------------------------------

STEPS = ("build", "open", "fill", "serve")


def main() -> None:
    import argparse  # here, so that a step has in memory only what it needs
    import tempfile

    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    measured: dict[str, list[dict[str, float]]] = {"our": [], "their": []}
    for number in range(options.rounds):
        for side, rounds in measured.items():
            with tempfile.TemporaryDirectory() as folder:
                figures: dict[str, float] = {}
                steps = [*STEPS, "bandwidth"] if side == "our" else STEPS
                for step in steps:
                    figures |= _run_in_process(f"{side}_{step}", Path(folder))
                rounds.append(figures)
        print(f"round {number + 1} of {options.rounds} is done", file=sys.stderr)
    us, them = (_medians(measured[side]) for side in ("our", "their"))
    _print(us, them, options.rounds)


def _print(us: Mapping[str, float], them: Mapping[str, float], rounds: int) -> None:
    print(
        f"{DIMENSION} numbers a vector, {LENGTH} characters a passage; median CPU seconds of {rounds} "
        "rounds\n"
    )
    print(f"| {'':<46} | llama-index-core | ragcore    | ratio    |")
    print(f"|{'-' * 48}|{'-' * 18}|{'-' * 12}|{'-' * 10}|")
    for row in ROWS:
        print(f"| {row:<46} | {them[row]:16.4f} | {us[row]:10.5f} | {them[row] / us[row]:7.0f}x |")
    matrix = 4 * DIMENSION * LARGE
    print(
        f"\nllama-index-core's {INSERTS:,} inserts: {THEIR_INSERTS} after {INSERTS // 2}, times "
        f"{INSERTS // THEIR_INSERTS}."
    )
    print(f"Ours: the second half of the inserts took {us['second half over first']:.2f} times the first.")
    print(
        f"Disk, {LARGE:,} passages: {us['bytes'] / 1e6:.0f} MB; 4 d n + 1.5 text is "
        f"{us['allowed'] / 1e6:.0f} MB."
    )
    print(
        f"Peak memory while serving {LARGE:,}, mapped pages included: {us['peak'] / matrix:.2f} x vectors"
        f" ({us['peak'] / 1e6:.0f} MB; {us['peak beyond imports'] / 1e6:.0f} MB beyond the imports;"
        f" not mapped at the end {us['not mapped'] / 1e6:.0f} MB); llama-index-core "
        f"{them['peak'] / matrix:.1f} x."
    )
    speeds = {row: us["gigabytes"] / us[row] for row in ("sum", "product", "search")}
    print(
        f"Of the {TOP} nearest of {LARGE:,} by an exact search, the store returns {us['recall']:.1%}. A "
        "question without near"
        f" vectors takes {us['nothing near']:.5f}."
    )
    print(
        f"Exact search of {LARGE:,}: {speeds['search']:.1f} GB/s; numpy in memory: sum "
        f"{speeds['sum']:.1f}, product"
        f" {speeds['product']:.1f} GB/s; the search takes {us['search'] / us['product']:.2f} times the "
        "product."
    )


def _medians(rounds: list[dict[str, float]]) -> dict[str, float]:
    return {row: float(np.median([figures[row] for figures in rounds])) for row in rounds[0]}


def _run_in_process(step: str, folder: Path) -> dict[str, float]:
    import subprocess

    work = "import json, pathlib, sys; from benchmarks import stores; _, step, folder = sys.argv;"
    work += "print(json.dumps(getattr(stores, step)(pathlib.Path(folder))))"
    command = [sys.executable, "-c", work, step, str(folder)]
    # as when installed
    compiled = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    out = subprocess.run(
        command, cwd=Path(__file__).parents[1], env=compiled, check=True, stdout=subprocess.PIPE, text=True
    )
    figures: dict[str, float] = json.loads(out.stdout.splitlines()[-1])
    return figures


if __name__ == "__main__":
    main()
