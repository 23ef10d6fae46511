from __future__ import annotations

import numpy as np
import pytest

from ragcore.embeddings.hashing import HashEmbedding
from ragcore.llamaindex.retrievers.transform_retriever import (
    BaseQueryTransform,
    DecomposeQueryTransform,
    HyDEQueryTransform,
    StepDecomposeQueryTransform,
    TransformRetriever,
)
from ragcore.llms.scripted import ScriptedLLM
from ragcore.observe import Span, span
from ragcore.retrievers.base import BaseRetriever
from ragcore.schema import NodeWithScore, QueryBundle, TextNode


class Echo(BaseRetriever):
    """Finds the texts that are embedded for a question."""

    name = "echo"

    def _retrieve(self, query: QueryBundle, step: Span) -> list[NodeWithScore]:
        return [NodeWithScore(TextNode(text)) for text in query.embedding_strs]


def test_hyde_searches_an_imagined_passage_for_the_same_question() -> None:
    bundle = QueryBundle("Why?", embedding=HashEmbedding().embed_query("Why?"))
    with span("root") as root:
        changed = HyDEQueryTransform(ScriptedLLM(["Because of rain."])).run(bundle)
    assert (changed.query_str, changed.embedding_strs) == ("Why?", ("Because of rain.", "Why?"))
    assert changed.embedding is None, "the old vector is not the imagined passage's"
    assert bundle.embedding is not None
    assert np.isclose(np.linalg.norm(bundle.embedding), 1)
    (step,) = root.spans("transform_query")
    assert step.facts["embedded"] == ["Because of rain.", "Why?"]


def test_hyde_without_the_original_embeds_only_the_imagined() -> None:
    assert HyDEQueryTransform(ScriptedLLM(["Rain."]), include_original=False)("Why?").embedding_strs == (
        "Rain.",
    )


def test_hyde_with_an_empty_reply_searches_the_question() -> None:
    assert HyDEQueryTransform(ScriptedLLM(["  "]), include_original=False)("Why?").embedding_strs == ("Why?",)


@pytest.mark.parametrize("kind", [DecomposeQueryTransform, StepDecomposeQueryTransform])
def test_decomposition_uses_the_index_summary(kind: type[DecomposeQueryTransform]) -> None:
    llm = ScriptedLLM([" Who lives in Rome? \n"])
    changed = kind(llm).run(
        "Who lives in Rome and in Paris?", {"index_summary": "Rome", "prev_reasoning": "- a\n- b"}
    )
    assert (changed.query_str, changed.embedding_strs) == ("Who lives in Rome?", ("Who lives in Rome?",))
    assert llm.calls[0].variables == {
        "query_str": "Who lives in Rome and in Paris?",
        "context_str": "Rome",
        "existing_answer": "- a\n- b",
    }


def test_decomposing_with_a_silent_model_keeps_the_question() -> None:
    assert DecomposeQueryTransform(ScriptedLLM([""])).run("Who?").query_str == "Who?"


def test_a_transform_retriever_looks_up_the_transformed_question() -> None:
    retriever = TransformRetriever(Echo(), HyDEQueryTransform(ScriptedLLM(["Rain."])))
    assert [hit.text for hit in retriever.retrieve("Why?")] == ["Rain.", "Why?"]


def test_transform_retriever_passes_its_metadata_on() -> None:
    class Noting(BaseQueryTransform):
        def _run(self, query: QueryBundle, metadata: object) -> QueryBundle:
            return QueryBundle(f"{query.query_str} {metadata}")

    retriever = TransformRetriever(Echo(), Noting(), {"index_summary": "all"})
    assert [hit.text for hit in retriever.retrieve("Why?")] == ["Why? {'index_summary': 'all'}"]
