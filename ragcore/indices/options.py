"""The options that all kinds of indexes and their engines share."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from pydantic import BaseModel

    from ragcore.embeddings.base import Embedder
    from ragcore.llms.base import LLM
    from ragcore.prompts.templates import Wording
    from ragcore.query_engine.retriever import NodePostprocessor
    from ragcore.response_synthesizers.base import AnySynthesizer
    from ragcore.schema import TextNode
    from ragcore.settings import Transformation
    from ragcore.storage.index_store import IndexRecord
    from ragcore.storage.storage_context import StorageContext
    from ragcore.vector_stores.filters import MetadataFilters
    from ragcore.vector_stores.query_modes import VectorStoreQueryMode
    from ragcore.vector_stores.ranking import Similarity


class ServiceOptions(TypedDict, total=False):
    """The defaults are those of `Settings`; without them, a SentenceSplitter and the bundled embedder."""

    transformations: Sequence[Transformation | Embedder] | None
    embed_model: Embedder | None
    llm: LLM | None
    use_async: bool


class IndexOptions(ServiceOptions, total=False):
    """The options of `BaseIndex`."""

    objects: Sequence[TextNode] | None
    record: IndexRecord | None
    storage_context: StorageContext | None
    show_progress: bool


class QueryEngineOptions(TypedDict, total=False):
    """The options of `RetrieverQueryEngine.from_args`."""

    text_qa_template: Wording | None
    refine_template: Wording | None
    summary_template: Wording | None
    simple_template: Wording | None
    node_postprocessors: Sequence[NodePostprocessor]
    output_cls: type[BaseModel] | None
    response_synthesizer: AnySynthesizer | None
    use_async: bool
    streaming: bool
    verbose: bool


class VectorOptions(TypedDict, total=False):
    """The options of `VectorIndexRetriever`, except for its number of passages and its mode."""

    similarity: Similarity
    filters: MetadataFilters | None
    document_ids: Collection[str] | None
    doc_ids: Collection[str] | None
    node_ids: Collection[str] | None
    alpha: float | None
    mmr_threshold: float | None
    sparse_top_k: int | None
    hybrid_top_k: int | None
    vector_store_kwargs: Mapping[str, float] | None


class FindOptions(VectorOptions, total=False):
    """The options of `as_retriever` of all kinds of indexes."""

    similarity_top_k: int
    vector_store_query_mode: VectorStoreQueryMode | str
    retriever_mode: str
    choice_batch_size: int
    choice_top_k: int
    child_branch_factor: int
    max_keywords_per_query: int
    num_chunks_per_query: int


class RetrievalOptions(QueryEngineOptions, FindOptions, total=False):
    """The options of an index's query engine."""


class ChatPrompts(TypedDict, total=False):
    """The prompts of an index's chat engine. Each mode has some of them."""

    context_prompt: Wording
    context_template: Wording
    condense_prompt: Wording
    condense_question_prompt: Wording


class ChatOptions(FindOptions, ChatPrompts, total=False):
    """The options of an index's chat engine."""
