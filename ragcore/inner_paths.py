"""LlamaIndex's inner import paths, such as `ragcore.vector_stores.types`.

Each path is an empty module that forwards to the packages in `PATHS`, so that each name is defined once. A
path is looked up only if ragcore has no module of that name.

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

# Each row: the parent package, the modules below it, and the packages whose names they export. All packages
# are ragcore's, except llama_index_instrumentation and pydantic.
PATHS = """
base: base_query_engine query_pipeline.query base_selector = query_engine selectors
base: base_retriever base_auto_retriever = retrievers
base: embeddings.base = embeddings
base: embeddings.base_sparse = embeddings.sparse
base: llms.types llms.base llms.generic_utils = llms schema content_blocks
base: response response.schema = schema response_synthesizers
: async_utils data_structs data_structs.data_structs utils = concurrency schema settings
: base_retriever = retrievers
: bridge.pydantic = pydantic
: output_parsers output_parsers.base output_parsers.pydantic output_parsers.selection = prompts selectors
: question_gen question_gen.llm_generators question_gen.types = query_engine selectors prompts.defaults
: question_gen.prompts = query_engine selectors prompts.defaults
: response response.schema = schema response_synthesizers
: text_splitter langchain_helpers.text_splitter = node_parser
: types = bridge.pydantic llms prompts schema
agent: workflow.base_agent workflow.multi_agent_workflow workflow.function_agent = agent.workflow
agent: workflow.react_agent = agent.workflow
agent: workflow.workflow_events = agent.workflow
agent: react.base react.formatter react.output_parser react.types = agent agent.react_reply
agent: runner.base types utils = agent agent.structured_response
callbacks: base base_handler llama_debug schema simple_llm_handler token_counting utils = callbacks
chat_engine: condense_plus_context types utils = chat_engine chat_modes
embeddings: loading mock_embed_model multi_modal_base pooling utils = embeddings settings
evaluation: answer_relevancy batch_runner context_relevancy correctness dataset_generation = evaluation
evaluation: eval_utils faithfulness = evaluation
evaluation: guideline notebook_utils pairwise relevancy retrieval.base retrieval.evaluator = evaluation
evaluation: retrieval.metrics = evaluation
extractors: interface metadata_extractors document_context = extractors
indices: base base_retriever document_summary.base document_summary.retrievers list.base = indices retrievers
indices: list.retrievers = indices retrievers
indices: keyword_table.base keyword_table.rake_base keyword_table.retrievers = indices retrievers
indices: keyword_table.simple_base = indices retrievers
indices: loading query.base registry = indices retrievers
indices: utils = text.rank_replies text.rake indices
indices: query.query_transform query.query_transform.base = retrievers.query_transforms
indices: postprocessor prompt_helper query.schema = postprocessor prompt_helper schema
indices: summary.base summary.retrievers tree.base tree.select_leaf_retriever = indices retrievers
indices: vector_store = indices retrievers
indices: vector_store.base vector_store.retrievers = indices retrievers
ingestion: cache data_sinks pipeline transformations = ingestion
instrumentation: events events.base events.llm events.embedding events.retrieval = instrumentation
instrumentation: events.query events.synthesis = instrumentation
instrumentation: events.rerank events.agent events.chat_engine events.span dispatcher base = instrumentation
instrumentation: event_handlers event_handlers.base = llama_index_instrumentation.event_handlers
instrumentation: span span.base span.simple = llama_index_instrumentation.span
instrumentation: span_handlers span_handlers.base = llama_index_instrumentation.span_handlers
instrumentation: span_handlers.simple = llama_index_instrumentation.span_handlers
llms: base callbacks chatml_utils custom function_calling llama_utils llm mock = llms schema content_blocks
llms: types utils = llms schema content_blocks
memory: chat_memory_buffer chat_summary_memory_buffer memory memory_blocks types = memory
multi_modal_llms: generic_utils = content_blocks
node_parser: file file.html file.json file.markdown file.simple_file interface node_utils = node_parser
node_parser: relational = node_parser
node_parser: relational.hierarchical text text.code text.semantic_splitter text.sentence = node_parser
node_parser: text.sentence_window = node_parser
node_parser: text.token text.utils = node_parser
objects: base base_node_mapping tool_node_mapping utils = objects
postprocessor: llm_rerank metadata_replacement node node_recency optimizer pii rankGPT_rerank = postprocessor
postprocessor: sbert_rerank types = postprocessor
postprocessor: structured_llm_rerank = postprocessor
program: function_program llm_program streaming_utils utils = program tools
prompts: base chat_prompts default_prompt_selectors = prompts prompts.defaults prompts.templates
prompts: default_prompts mixin = prompts prompts.defaults prompts.templates
prompts: prompt_type prompt_utils utils = prompts prompts.templates
query_engine: citation_query_engine multistep_query_engine retriever_query_engine = query_engine
query_engine: router_query_engine = query_engine
query_engine: sub_question_query_engine transform_query_engine = query_engine
readers: file file.base loading = readers
response: notebook_utils pprint_utils = display
response_synthesizers: accumulate base compact_and_accumulate compact_and_refine = response_synthesizers
response_synthesizers: factory generation = response_synthesizers
response_synthesizers: no_text refine simple_summarize tree_summarize type = response_synthesizers
retrievers: auto_merging_retriever fusion_retriever recursive_retriever router_retriever = retrievers
retrievers: transform_retriever = retrievers
selectors: embedding_selectors llm_selectors pydantic_selectors types utils = selectors
sparse_embeddings: mock_sparse_embedding = embeddings.sparse
storage: chat_store.base chat_store.simple_chat_store docstore.simple_docstore docstore.types = storage
storage: docstore.utils = storage
storage: index_store.simple_index_store index_store.types kvstore kvstore.types = storage
storage: kvstore.simple_kvstore = storage
tools: ondemand_loader_tool tool_spec.load_and_search tool_spec.load_and_search.base = loading_tools tools
tools: calling function_tool query_engine retriever_tool tool_spec.base types utils = tools
utilities: token_counting = settings
vector_stores: simple types utils = vector_stores embeddings
workflow: context context_serializers decorators errors events handler workflow = workflow
"""


def install() -> None:
    """Register the finder for these paths after all others."""
    sys.meta_path.append(_InnerPaths(_table()))


def _table() -> dict[str, tuple[str, ...]]:
    """The packages to which each path forwards; () for the parents of a path."""
    table: dict[str, tuple[str, ...]] = {}
    for row in PATHS.strip().splitlines():
        parent, _, rest = row.partition(":")
        modules, _, homes = rest.partition("=")
        below = f"ragcore.{parent}.".replace("..", ".")
        for module in modules.split():
            parts = (below + module).split(".")
            for depth in range(2, len(parts)):
                table.setdefault(".".join(parts[:depth]), ())
            foreign = ("llama_index_", "pydantic")
            table[".".join(parts)] = tuple(
                home if home.startswith(foreign) else f"ragcore.{home}" for home in homes.split()
            )
    return table


class _InnerPaths(MetaPathFinder, Loader):
    def __init__(self, table: Mapping[str, Sequence[str]]) -> None:
        self._table = table

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return ModuleSpec(fullname, self, is_package=True) if fullname in self._table else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _PathModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__["homes"] = self._table[module.__name__]


class _PathModule(ModuleType):
    homes: Sequence[str] = ()

    def __getattr__(self, name: str) -> object:
        if not name.startswith("_"):
            for home in self.homes:
                if (value := getattr(import_module(home), name, None)) is not None:
                    return value
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
