"""The inner paths by which scripts written for LlamaIndex import names, such as `ragcore.vector_stores.types`.

Each is an empty module that passes on the names of the packages in `PATHS`, so that there is one place for each name. A path
is looked up only where ragcore has no module of its own.

>>> from ragcore.vector_stores.types import MetadataFilters
>>> from ragcore.base.llms.types import ChatMessage
>>> ChatMessage.__module__, MetadataFilters.__module__
('ragcore.schema', 'ragcore.vector_stores.filters')
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

_CALLBACKS = "base base_handler llama_debug pythonically_printing_base_handler schema simple_llm_handler token_counting utils"
_ENGINES = (
    "citation_query_engine custom multistep_query_engine retriever_query_engine router_query_engine sub_question_query_engine "
    "transform_query_engine"
)
_EVALUATORS = (
    "answer_relevancy base batch_runner context_relevancy correctness dataset_generation eval_utils faithfulness guideline "
    "notebook_utils pairwise relevancy retrieval retrieval.base retrieval.evaluator retrieval.metrics "
    "retrieval.metrics_base semantic_similarity"
)
_PARSERS = (
    "file file.html file.json file.markdown file.simple_file interface node_utils relational relational.hierarchical text "
    "text.code text.semantic_splitter text.sentence text.sentence_window text.token text.utils"
)
_POSTPROCESSORS = "metadata_replacement node node_recency optimizer rankGPT_rerank sbert_rerank structured_llm_rerank types"
_SYNTHESIZERS = (
    "accumulate base compact_and_accumulate compact_and_refine factory generation no_text refine simple_summarize "
    "tree_summarize type"
)
_INDICES = (
    "base base_retriever document_summary.base document_summary.retrievers keyword_table.base "
    "keyword_table.rake_base keyword_table.retrievers keyword_table.simple_base list list.base list.retrievers loading "
    "postprocessor prompt_helper query.base query.query_transform query.query_transform.base query.schema registry "
    "summary.base summary.retrievers tree.base tree.select_leaf_retriever utils vector_store vector_store.base "
    "vector_store.retrievers"
)

# The inner modules, with the packages whose names they have. A path with a dot before it is below the first of these.
PATHS: Sequence[tuple[str, str]] = (
    ("async_utils data_structs data_structs.data_structs utils", "concurrency schema settings"),
    ("base.base_query_engine base.query_pipeline.query base.base_selector", "query_engine selectors"),
    ("base.base_retriever base.base_auto_retriever base_retriever", "retrievers"),
    ("base.embeddings.base base.base_multi_modal_retriever embeddings.utils embeddings.mock_embed_model", "embeddings"),
    ("base.llms.types base.llms.base base.llms.generic_utils", "llms schema content_blocks"),
    ("base.response base.response.schema response response.schema", "schema response_synthesizers"),
    ("base.response.schema", "schema response_synthesizers"),
    ("callbacks." + " callbacks.".join(_CALLBACKS.split()), "callbacks"),
    ("chat_engine.condense_plus_context", "chat_engine"),
    ("chat_engine.types chat_engine.utils", "chat_engine chat_modes"),
    ("embeddings.base embeddings.loading embeddings.multi_modal_base embeddings.pooling", "embeddings"),
    ("workflow.context workflow.context_serializers workflow.decorators workflow.errors workflow.events", "workflow"),
    ("workflow.handler workflow.workflow agent.workflow.workflow_events", "workflow agent.workflow"),
    ("agent.workflow.base_agent agent.workflow.multi_agent_workflow agent.workflow.function_agent", "agent.workflow"),
    ("agent.workflow.react_agent agent.utils agent.types", "agent.workflow"),
    ("evaluation." + " evaluation.".join(_EVALUATORS.split()), "evaluation"),
    ("extractors.interface extractors.metadata_extractors extractors.document_context", "extractors"),
    ("indices." + " indices.".join(_INDICES.split()), "indices retrievers query_engine postprocessor prompt_helper schema"),
    ("ingestion.cache ingestion.pipeline ingestion.data_sinks ingestion.transformations", "ingestion"),
    ("llms.base llms.callbacks llms.custom llms.function_calling llms.llm llms.mock llms.utils", "llms schema"),
    ("llms.llama_utils llms.openai_utils llms.structured_llm llms.types llms.chatml_utils", "llms schema content_blocks"),
    ("memory.types memory.chat_memory_buffer memory.chat_summary_memory_buffer memory.memory", "memory"),
    ("memory.memory_blocks memory.vector_memory memory.simple_composable_memory", "memory"),
    ("node_parser." + " node_parser.".join(_PARSERS.split()), "node_parser"),
    ("objects.base objects.base_node_mapping objects.tool_node_mapping objects.utils", "objects"),
    ("output_parsers output_parsers.base output_parsers.pydantic output_parsers.selection", "prompts"),
    ("postprocessor." + " postprocessor.".join(_POSTPROCESSORS.split()), "postprocessor"),
    ("postprocessor.llm_rerank postprocessor.pii postprocessor.rankgpt_rerank", "postprocessor"),
    ("program.function_program program.llm_program program.utils", "program"),
    ("prompts.base prompts.chat_prompts prompts.default_prompts prompts.guidance_utils prompts.mixin", "prompts prompts.defaults"),
    ("prompts.default_prompt_selectors prompts.prompt_type prompts.prompts prompts.rich prompts.utils", "prompts prompts.defaults"),
    ("query_engine." + " query_engine.".join(_ENGINES.split()), "query_engine"),
    ("question_gen question_gen.llm_generators question_gen.types question_gen.prompts", "query_engine selectors"),
    ("readers.download readers.file readers.file.base readers.loading readers.string_iterable", "readers"),
    ("response.notebook_utils response.pprint_utils response.utils", "display"),
    ("response_synthesizers." + " response_synthesizers.".join(_SYNTHESIZERS.split()), "response_synthesizers"),
    ("retrievers.auto_merging_retriever retrievers.fusion_retriever retrievers.recursive_retriever", "retrievers"),
    ("retrievers.router_retriever retrievers.transform_retriever", "retrievers"),
    ("selectors.embedding_selectors selectors.llm_selectors selectors.pydantic_selectors selectors.utils", "selectors"),
    ("storage.chat_store storage.chat_store.base storage.chat_store.simple_chat_store", "storage"),
    ("storage.docstore.simple_docstore storage.docstore.types storage.docstore.utils storage.docstore.keyval_docstore", "storage"),
    ("storage.index_store.simple_index_store storage.index_store.types storage.index_store.utils", "storage"),
    ("storage.kvstore storage.kvstore.types storage.kvstore.simple_kvstore", "storage"),
    ("text_splitter langchain_helpers.text_splitter", "node_parser"),
    ("tools.calling tools.function_tool tools.query_engine tools.retriever_tool tools.tool_spec.base", "tools"),
    ("tools.types tools.utils tools.eval_query_engine tools.ondemand_loader_tool", "tools"),
    ("types", "bridge.pydantic llms prompts schema"),
    ("vector_stores.simple vector_stores.types vector_stores.utils", "vector_stores embeddings retrievers"),
)


def install() -> None:
    """Look these paths up from now on, after everything else."""
    sys.meta_path.append(_InnerPaths(_table()))


def _table() -> dict[str, tuple[str, ...]]:
    """The packages that each path passes on; none for what is only on the way to a path."""
    table: dict[str, tuple[str, ...]] = {}
    for paths, homes in PATHS:
        for path in paths.split():
            parts = path.split(".")
            for depth in range(1, len(parts)):
                table.setdefault("ragcore." + ".".join(parts[:depth]), ())
            table[f"ragcore.{path}"] = tuple(f"ragcore.{home}" for home in homes.split())
    return table


class _InnerPaths(MetaPathFinder, Loader):
    def __init__(self, table: Mapping[str, Sequence[str]]) -> None:
        self._table = table

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        return ModuleSpec(fullname, self, is_package=True) if fullname in self._table else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _PassedOn(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__["homes"] = self._table[module.__name__]


class _PassedOn(ModuleType):
    homes: Sequence[str] = ()

    def __getattr__(self, name: str) -> object:
        if not name.startswith("_"):
            for home in self.homes:
                if (found := getattr(import_module(home), name, None)) is not None:
                    return found
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
