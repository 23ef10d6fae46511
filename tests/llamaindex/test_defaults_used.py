"""What is not given is what `Settings` names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pytest

from ragcore.embeddings.hashing import HashEmbedding
from ragcore.evaluation import (
    FaithfulnessEvaluator,
    SemanticSimilarityEvaluator,
    generate_question_context_pairs,
)
from ragcore.llamaindex.node_parser import SemanticSplitterNodeParser
from ragcore.llamaindex.query_engine import CitationQueryEngine, MultiStepQueryEngine, SubQuestionQueryEngine
from ragcore.llamaindex.retrievers import QueryFusionRetriever
from ragcore.llamaindex.retrievers.transform_retriever import HyDEQueryTransform, StepDecomposeQueryTransform
from ragcore.llms.scripted import ScriptedLLM
from ragcore.query_engine import RouterQueryEngine
from ragcore.retrievers import RouterRetriever
from ragcore.schema import Document, NodeWithScore, TextNode
from ragcore.selectors import EmbeddingSingleSelector, LLMMultiSelector, LLMSingleSelector
from ragcore.settings import Settings
from ragcore.tools import RetrieverTool
from tests.ragcore.query_engine.engines import FixedEngine, tool
from tests.ragcore.response_synthesizers.doubles import ListRetriever

if TYPE_CHECKING:
    from ragcore.schema import Vectors

ENGINES = [tool("a", FixedEngine("one", "x")), tool("b", FixedEngine("two", "y"))]
FOUND = ListRetriever([NodeWithScore(TextNode("text", "x"))])


class Noting(HashEmbedding):
    def __init__(self) -> None:
        super().__init__()
        self.embedded: list[str] = []

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        self.embedded += texts
        return super().embed_passages(texts)


@pytest.fixture
def models() -> Iterator[tuple[ScriptedLLM, Noting]]:
    Settings.llm, Settings.embed_model = llm, embedder = ScriptedLLM(lambda call: "1"), Noting()
    yield llm, embedder
    Settings.llm = Settings.embed_model = None


@pytest.mark.parametrize(
    ("use", "prompts"),
    [
        (lambda: LLMSingleSelector.from_defaults().select(["a", "b"], "q"), ["select_single"]),
        (lambda: LLMMultiSelector.from_defaults().select(["a", "b"], "q"), ["select_multi"]),
        (lambda: EmbeddingSingleSelector.from_defaults().select(["a", "b"], "q"), []),
        (lambda: RouterQueryEngine.from_defaults(ENGINES).query("q"), ["select_single"]),
        (
            lambda: SubQuestionQueryEngine.from_defaults(ENGINES).query("q"),
            ["sub_questions", "tree_summarize"],
        ),
        (lambda: CitationQueryEngine.from_args(retriever=FOUND).query("q"), ["text_qa"]),
        (
            lambda: MultiStepQueryEngine(FixedEngine("one", "x"), StepDecomposeQueryTransform()).query("q"),
            ["decompose", "decompose", "tree_summarize"],
        ),
        (lambda: HyDEQueryTransform().run("q"), ["hyde"]),
        (
            lambda: RouterRetriever.from_defaults([RetrieverTool.from_defaults(FOUND)]).retrieve("q"),
            ["select_single"],
        ),
        (lambda: QueryFusionRetriever([]).retrieve("q"), ["rephrase"]),
        (lambda: FaithfulnessEvaluator().evaluate(response="r", contexts=["c"]), ["faithfulness"]),
        (lambda: SemanticSimilarityEvaluator().evaluate(response="r", reference="r"), []),
        (lambda: SemanticSplitterNodeParser()([Document("One. Two.")]), []),
        (lambda: generate_question_context_pairs([TextNode("text")]), ["questions"]),
    ],
)
def test_the_models_of_settings_are_used(
    models: tuple[ScriptedLLM, Noting], use: Callable[[], Any], prompts: list[str]
) -> None:
    llm, embedder = models
    use()
    assert [logged.prompt for logged in llm.calls] == prompts
    assert bool(embedder.embedded) == (not prompts)
