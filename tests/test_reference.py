"""docs/reference names every public name, where it is imported from, and the test that pins it; and it is
true.

Below it: what a name stands for where only its kind is promised, such as the base of a family or what a call
gives.
"""

from __future__ import annotations

import inspect
import re
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

import pytest

import ragcore.llamaindex
from ragcore.agent import ReActAgent
from ragcore.chat_engine import StreamingAgentChatResponse
from ragcore.embeddings import HashEmbedding
from ragcore.evaluation import RetrievalEvalResult, RetrievalMetricResult, RetrieverEvaluator
from ragcore.extractors import BaseExtractor
from ragcore.indices import BaseIndex
from ragcore.ingestion import run_transformations
from ragcore.llms import ChatResponse, CompletionResponse, OpenAICompatibleLLM, OpenAILike, ScriptedLLM
from ragcore.node_parser import SentenceSplitter
from ragcore.postprocessor import BaseNodePostprocessor
from ragcore.query_engine import BaseQueryEngine
from ragcore.schema import ChatMessage, Document, MessageRole, TextNode
from ragcore.selectors import BaseSelector
from ragcore.storage import ChatStore, SimpleChatStore
from ragcore.vector_stores import MemoryStore, SimpleVectorStore, VectorStoreQueryMode
from tests.reference import broken_links

ROOT = Path(__file__).parents[1]
PAGE = "".join(page.read_text("utf-8") for page in sorted((ROOT / "docs" / "reference").glob("*.md")))
TEXTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
IMPORTS = re.compile(
    r"^ *(?:>>> )?from ((?:ragcore|lectern)[\w.]*) import (?:\(([\w,\s]+)\)|([\w, ]+))", re.MULTILINE
)
COMMANDS = re.compile(r"python -m ((?:benchmarks|lectern|ragcore|sample|tests|ui)\b[\w.]*)")
ROWS = re.findall(
    r"^\| `([\w.]+)` \| ([^|]+) \| \[([\w/.]+)\]\(\.\./\.\./tests/([\w/.]+)\) \|$", PAGE, re.MULTILINE
)


@cache
def load_name(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)


def exported() -> list[str]:
    """Every name that a package or module offers by `__all__`."""
    modules = [
        ragcore,
        *(import_module(each.name) for each in walk_packages(ragcore.__path__, "ragcore.") if each.ispkg),
    ]
    return [f"{module.__name__}.{name}" for module in modules for name in getattr(module, "__all__", ())]


def test_the_pages_have_only_rows_that_can_be_read() -> None:
    lines = [line for line in PAGE.splitlines() if line.startswith("| `")]
    assert len(lines) == len(ROWS) > 150
    paths = [path for path, *_ in ROWS]
    assert sorted(set(paths)) == sorted(paths)


def test_every_name_can_be_imported_and_its_test_mentions_it() -> None:
    faults = []
    for path, sentence, shown, file in ROWS:
        module, _, name = path.rpartition(".")
        if not hasattr(import_module(module), name):
            faults.append(f"{module} has no {name}")
        if not sentence.endswith((".", "?")):
            faults.append(f"{path}: {sentence} is no sentence")
        if shown != file or not (ROOT / "tests" / file).exists():
            faults.append(f"{path}: {shown} leads to tests/{file}")
        elif not re.search(rf"\b{name}\b", (ROOT / "tests" / file).read_text("utf-8")):
            faults.append(f"tests/{file} does not mention {name}")
    assert faults == []


def test_every_exported_name_has_a_row() -> None:
    told = {(path.rsplit(".", 1)[-1], id(load_name(path))) for path, *_ in ROWS}
    missing = [path for path in exported() if (path.rsplit(".", 1)[-1], id(load_name(path))) not in told]
    assert missing == []


def imported_in(text: str) -> set[str]:
    """Names that a text imports, with their modules: "ragcore.schema.TextNode"."""
    lists = [(module, several or one) for module, several, one in IMPORTS.findall(text)]
    return {
        f"{module}.{name.split()[0]}" for module, names in lists for name in names.split(",") if name.strip()
    }


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: page.name)
def test_what_a_text_imports_or_runs_is_there(page: Path) -> None:
    text = page.read_text("utf-8")
    for path in imported_in(text):
        assert load_name(path) is not None
    assert [name for name in COMMANDS.findall(text) if find_spec(name.rstrip(".")) is None] == []


def test_imports_are_detected_on_one_line_and_on_several() -> None:
    text = (
        "from ragcore import Document, TextNode as Node\na, b = f()\n  from lectern.ask import (\n    "
        "Ask,\n    Source,\n  )\n"
    )
    assert imported_in(text) == {
        "ragcore.Document",
        "ragcore.TextNode",
        "lectern.ask.Ask",
        "lectern.ask.Source",
    }


def test_a_broken_link_of_the_html_pages_is_detected(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<a href="b.html#Node.text">, <a href="#Index">, <a href="c.html">, <a href="b.html#Tree">'
    )
    (tmp_path / "b.html").write_text('<section id="Node"><a href="a.html">, <a href="https://example.com/x">')
    assert broken_links(tmp_path) == ["a.html: #Index", "a.html: b.html#Tree", "a.html: c.html"]


# --- families -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("module", "ending", "base"),
    [
        (
            "ragcore.postprocessor",
            "Postprocessor|PostProcessor|Rerank|Optimizer|Reorder",
            BaseNodePostprocessor,
        ),
        ("ragcore.query_engine", "QueryEngine", BaseQueryEngine),
        ("ragcore.extractors", "Extractor", BaseExtractor),
        ("ragcore.selectors", "Selector", BaseSelector),
        ("ragcore.indices", "Index", BaseIndex),
    ],
)
def test_every_one_of_a_family_is_of_its_base(module: str, ending: str, base: type) -> None:
    members = [
        path
        for path, *_ in ROWS
        if re.search(f"({ending})$", path) and module.removeprefix("ragcore") in load_name(path).__module__
    ]
    assert len(members) >= 4
    assert [path for path in members if not issubclass(load_name(path), base)] == []
    assert inspect.isabstract(base)


def test_names_that_scripts_know_stand_for_the_same() -> None:
    assert SimpleVectorStore is MemoryStore
    assert issubclass(OpenAILike, OpenAICompatibleLLM)


# --- which retriever an index gives -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("index", "mode", "retriever"),
    [
        ("SummaryIndex", "default", "SummaryIndexRetriever"),
        ("SummaryIndex", "embedding", "SummaryIndexEmbeddingRetriever"),
        ("SummaryIndex", "llm", "SummaryIndexLLMRetriever"),
        ("TreeIndex", "select_leaf", "TreeSelectLeafRetriever"),
        ("TreeIndex", "select_leaf_embedding", "TreeSelectLeafEmbeddingRetriever"),
        ("TreeIndex", "all_leaf", "TreeAllLeafRetriever"),
        ("TreeIndex", "root", "TreeRootRetriever"),
        ("SimpleKeywordTableIndex", None, "KeywordTableRetriever"),
        ("DocumentSummaryIndex", "llm", "DocumentSummaryIndexLLMRetriever"),
        ("DocumentSummaryIndex", "embedding", "DocumentSummaryIndexEmbeddingRetriever"),
        ("VectorStoreIndex", None, "VectorIndexRetriever"),
    ],
)
def test_an_index_gives_the_retriever_of_a_mode(index: str, mode: str | None, retriever: str) -> None:
    made = getattr(ragcore.llamaindex, index)([], llm=ScriptedLLM([]), embed_model=HashEmbedding())
    given = made.as_retriever() if mode is None else made.as_retriever(retriever_mode=mode)
    assert type(given) is load_name(f"ragcore.llamaindex.retrievers.{retriever}")


# --- what calls give ----------------------------------------------------------------------------------------


def test_models_answer_chat_and_completion_with_own_types() -> None:
    model = ScriptedLLM(["Yes.", "No."])
    said, written = model.chat([ChatMessage(MessageRole.USER, "Is it?")]), model.complete("Is it?")
    assert (type(said), said.message.content) == (ChatResponse, "Yes.")
    assert (type(written), written.text) == (CompletionResponse, "No.")


def test_an_agent_answers_in_pieces() -> None:
    agent = ReActAgent.from_tools([], llm=ScriptedLLM(["Thought: I know.\nAnswer: Yes."]))
    stream = agent.stream_chat("Is it?")
    assert type(stream) is StreamingAgentChatResponse
    assert stream.response == "Yes."


def test_a_retriever_is_scored_by_metrics_under_their_names() -> None:
    index = ragcore.VectorStoreIndex(
        [TextNode("Ada wrote notes.", "a"), TextNode("A tower.", "b")], embed_model=HashEmbedding()
    )
    evaluator = RetrieverEvaluator.from_metric_names(["mrr"], retriever=index.as_retriever())
    result = evaluator.evaluate("Who wrote notes?", ["a"])
    assert type(result) is RetrievalEvalResult
    assert result.metric_dict == {"mrr": RetrievalMetricResult(1.0)}


def test_steps_run_without_a_pipeline_one_after_the_other() -> None:
    document = Document("One two. Three four.", "d")
    nodes = run_transformations(
        [document], [SentenceSplitter(chunk_size=8, chunk_overlap=0), HashEmbedding(dimension=8)]
    )
    assert "".join(node.text for node in nodes).replace(" ", "") == "Onetwo.Threefour."
    assert [
        node.embedding.shape for node in nodes if isinstance(node, TextNode) and node.embedding is not None
    ] == [(8,)] * len(nodes)


def test_chat_store_has_the_promised_methods() -> None:
    promised = {
        name: member
        for name, member in vars(ChatStore).items()
        if inspect.isfunction(member) and name[0] != "_"
    }
    assert len(promised) >= 3
    for name, member in promised.items():
        assert (
            inspect.signature(getattr(SimpleChatStore, name)).parameters.keys()
            >= inspect.signature(member).parameters.keys()
        )


def test_query_modes_of_a_store_have_the_names_of_scripts() -> None:
    assert [mode.value for mode in VectorStoreQueryMode] == [
        "default", "sparse", "text_search", "hybrid", "semantic_hybrid", "mmr",
        "svm", "logistic_regression", "linear_regression",
    ]  # fmt: skip
