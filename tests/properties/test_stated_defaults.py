"""What is done where nothing is said is what the walkthroughs and the field's other library do: sizes,
counts, shares."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

from ragcore.agent import OpenAIAgent, ReActAgent
from ragcore.embeddings import HuggingFaceEmbedding
from ragcore.extractors import BaseExtractor
from ragcore.ingestion import IngestionPipeline
from ragcore.llamaindex import (
    evaluation,
    extractors,
    indices,
    node_parser,
    postprocessor,
    query_engine,
    retrievers,
)
from ragcore.llamaindex.node_parser import SentenceWindowNodeParser
from ragcore.llms import ScriptedLLM
from ragcore.memory import ChatMemoryBuffer
from ragcore.readers import SimpleDirectoryReader
from ragcore.response_synthesizers import get_response_synthesizer
from ragcore.storage import StorageContext
from ragcore.tools import QueryEngineTool

STATED: list[tuple[Callable[..., Any], dict[str, object]]] = [
    (
        SimpleDirectoryReader,
        {
            "exclude_hidden": True,
            "recursive": False,
            "encoding": "utf-8",
            "errors": "ignore",
            "filename_as_id": False,
        },
    ),
    (node_parser.SentenceSplitter, {"chunk_size": 1024, "chunk_overlap": 200, "separator": " "}),
    (
        node_parser.SentenceSplitter,
        {"paragraph_separator": "\n\n\n", "include_metadata": True, "include_prev_next_rel": True},
    ),
    (
        node_parser.TokenTextSplitter,
        {"chunk_size": 1024, "chunk_overlap": 20, "separator": " ", "backup_separators": ("\n",)},
    ),
    (node_parser.HierarchicalNodeParser, {"chunk_sizes": None, "chunk_overlap": 20}),
    (SentenceWindowNodeParser, {"window_size": 3, "window_metadata_key": "window"}),
    (SentenceWindowNodeParser, {"original_text_metadata_key": "original_text"}),
    (node_parser.SemanticSplitterNodeParser, {"buffer_size": 1, "breakpoint_percentile_threshold": 95}),
    (node_parser.get_deeper_nodes, {"depth": 1}),
    (IngestionPipeline.persist, {"persist_dir": "./pipeline_storage"}),
    (StorageContext.persist, {"persist_dir": "./storage"}),
    (extractors.TitleExtractor, {"nodes": 5, "num_workers": 4}),
    (extractors.KeywordExtractor, {"keywords": 5, "num_workers": 4}),
    (extractors.QuestionsAnsweredExtractor, {"questions": 3, "num_workers": 4}),
    (extractors.SummaryExtractor, {"summaries": ("self",), "num_workers": 4}),
    (HuggingFaceEmbedding, {"normalize": True}),
    (indices.VectorStoreIndex, {"insert_batch_size": 2048}),
    (indices.VectorStoreIndex.as_retriever, {"similarity_top_k": 2, "vector_store_query_mode": "default"}),
    (
        indices.SummaryIndex.as_retriever,
        {"retriever_mode": "default", "similarity_top_k": 1, "choice_batch_size": 10},
    ),
    (indices.TreeIndex, {"num_children": 10, "build_tree": True}),
    (indices.TreeIndex.as_retriever, {"retriever_mode": "select_leaf", "child_branch_factor": 1}),
    (indices.KeywordTableIndex.as_retriever, {"max_keywords_per_query": 10, "num_chunks_per_query": 10}),
    (
        indices.DocumentSummaryIndex.as_retriever,
        {"retriever_mode": "llm", "choice_batch_size": 10, "choice_top_k": 1},
    ),
    (indices.BaseIndex.as_query_engine, {"response_mode": "compact"}),
    (indices.BaseIndex.as_chat_engine, {"chat_mode": "best"}),
    (retrievers.VectorIndexRetriever, {"similarity_top_k": 2, "similarity": "cosine"}),
    (retrievers.AutoMergingRetriever, {"simple_ratio_thresh": 0.5}),
    (retrievers.QueryFusionRetriever, {"num_queries": 4, "similarity_top_k": 2, "use_async": True}),
    (postprocessor.PrevNextNodePostprocessor, {"num_nodes": 1, "mode": "next"}),
    (postprocessor.SimilarityPostprocessor, {"similarity_cutoff": 0.0}),
    (postprocessor.FixedRecencyPostprocessor, {"top_k": 1, "date_key": "date"}),
    (postprocessor.EmbeddingRecencyPostprocessor, {"similarity_cutoff": 0.7, "date_key": "date"}),
    (
        postprocessor.TimeWeightedPostprocessor,
        {"time_decay": 0.99, "top_k": 1, "last_accessed_key": "__last_accessed__"},
    ),
    (postprocessor.LLMRerank, {"choice_batch_size": 10, "top_n": 10}),
    (postprocessor.SentenceTransformerRerank, {"top_n": 2}),
    (
        get_response_synthesizer,
        {"response_mode": "compact", "structured_answer_filtering": False, "output_cls": None},
    ),
    (query_engine.CitationQueryEngine, {"citation_chunk_size": 512, "citation_chunk_overlap": 20}),
    (query_engine.CitationQueryEngine.from_args, {"citation_chunk_size": 512, "citation_chunk_overlap": 20}),
    (query_engine.MultiStepQueryEngine, {"num_steps": 3, "index_summary": ""}),
    (ChatMemoryBuffer, {"token_limit": 3000, "chat_store_key": "chat_history"}),
    (ReActAgent.from_tools, {"max_iterations": 10, "verbose": False}),
    (
        OpenAIAgent.from_tools,
        {"max_iterations": 10, "default_tool_choice": "auto", "allow_parallel_tool_calls": True},
    ),
    (QueryEngineTool.from_defaults, {"name": "query_engine_tool", "return_direct": False}),
    (evaluation.CorrectnessEvaluator, {"score_threshold": 4.0}),
    (evaluation.SemanticSimilarityEvaluator, {"similarity_threshold": 0.8}),
]


@pytest.mark.parametrize(("made", "stated"), STATED, ids=lambda value: getattr(value, "__qualname__", ""))
def test_defaults_are_as_documented(made: Callable[..., Any], stated: dict[str, object]) -> None:
    parameters = inspect.signature(made).parameters
    fields = vars(made(ScriptedLLM())) if isinstance(made, type) and issubclass(made, BaseExtractor) else {}
    found = {
        name: parameters[name].default if name in parameters else fields.get(name, "no such argument")
        for name in stated
    }
    given = {name: getattr(default, "value", default) for name, default in found.items()}
    assert {
        name: tuple(value) if isinstance(value, list) else value for name, value in given.items()
    } == stated
