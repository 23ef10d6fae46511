"""LlamaIndex's inner import paths, such as `ragcore.llamaindex.vector_stores.types`.

Each path of the table is an empty module that looks a name up in the modules behind its "=", so that each
name is defined once. A path is looked up in the table only if the ring has no module of that name.

>>> from ragcore.llamaindex.vector_stores.types import MetadataFilters
>>> from ragcore.llamaindex.base.llms.types import ChatMessage
>>> ChatMessage.__module__, MetadataFilters.__module__
('ragcore.schema.messages', 'ragcore.vector_stores.filters')
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

# Each row: the parent path, the paths below it, and the modules whose names they have. ".x" is
# ragcore.llamaindex.x and "x" is ragcore.x, except pydantic and llama_index_instrumentation.
TABLE = """
: async_utils data_structs data_structs.data_structs utils = concurrency .schema settings .helpers
: base_retriever = .retrievers
: bridge.pydantic = pydantic
: callbacks = callbacks
: chat_engine = chat_engine chat_modes
: ingestion = ingestion
: output_parsers output_parsers.base output_parsers.pydantic output_parsers.selection = .prompts selectors
: question_gen question_gen.llm_generators = .query_engine selectors .prompts.default_prompts
: question_gen.types question_gen.prompts = .query_engine selectors .prompts.default_prompts
: response response.schema = .schema response_synthesizers
: response_synthesizers = response_synthesizers
: schema = schema schema.content_blocks .base_component
: selectors = selectors
: settings = settings .helpers
: storage = storage
: text_splitter langchain_helpers.text_splitter = .node_parser
: types = pydantic .llms .prompts .schema
: vector_stores = vector_stores
agent: react.base react.formatter react.output_parser react.types = .agent agent.react_reply
agent: runner.base types = .agent .agent.utils
agent: workflow.base_agent workflow.function_agent = .agent.workflow .agent.workflow.multi_agent_workflow
agent: workflow.react_agent = .agent.workflow .agent.workflow.multi_agent_workflow
base: base_query_engine query_pipeline.query base_selector = .query_engine selectors
base: base_retriever base_auto_retriever = .retrievers
base: embeddings.base = .embeddings
base: embeddings.base_sparse = .embeddings.sparse
base: llms.types llms.base llms.generic_utils = .llms .schema .content_blocks
base: response response.schema = .schema response_synthesizers
callbacks: base base_handler llama_debug schema simple_llm_handler token_counting utils = callbacks
chat_engine: condense_plus_context types utils = chat_engine chat_modes
chat_engine: condense_question = chat_engine.condense_question chat_engine chat_modes
chat_engine: context = chat_engine.context chat_engine chat_modes
chat_engine: simple = chat_engine.simple chat_engine chat_modes
embeddings: loading mock_embed_model multi_modal_base pooling utils = .embeddings settings .helpers
evaluation: answer_relevancy batch_runner context_relevancy correctness eval_utils faithfulness = .evaluation
evaluation: guideline notebook_utils pairwise relevancy = .evaluation
evaluation: base = .evaluation evaluation.base
evaluation: semantic_similarity = .evaluation evaluation.semantic_similarity
evaluation: retrieval.base retrieval.evaluator retrieval.metrics = .evaluation
extractors: interface metadata_extractors document_context = .extractors extractors
indices: base = .indices .retrievers indices.base
indices: base_retriever list list.base list.retrievers query.base registry = .indices .retrievers
indices: summary summary.base summary.retrievers tree tree.base = .indices .retrievers
indices: tree.select_leaf_retriever = .indices .retrievers
indices: vector_store vector_store.base vector_store.retrievers = .indices .retrievers
indices: keyword_table.rake_base keyword_table.simple_base = .indices .retrievers
indices: utils = .helpers text.rank_replies .indices.keyword_table.utils text.keyword_replies .indices
indices: query.query_transform query.query_transform.base = .retrievers.transform_retriever
indices: postprocessor prompt_helper query.schema = .postprocessor node_parser.prompt_helper .schema
ingestion: cache data_sinks pipeline transformations = ingestion .schema storage
instrumentation: events events.base events.llm events.embedding events.retrieval = .instrumentation
instrumentation: events.query events.synthesis events.rerank events.agent = .instrumentation
instrumentation: events.chat_engine events.span dispatcher base = .instrumentation
instrumentation: event_handlers event_handlers.base = llama_index_instrumentation.event_handlers
instrumentation: span span.base span.simple = llama_index_instrumentation.span
instrumentation: span_handlers span_handlers.base = llama_index_instrumentation.span_handlers
instrumentation: span_handlers.simple = llama_index_instrumentation.span_handlers
llms: base chatml_utils custom function_calling llama_utils llm = .llms .schema .content_blocks
llms: mock types utils = .llms .schema .content_blocks .helpers
llms: callbacks = .llms .schema .llms.decorators
memory: chat_memory_buffer memory_blocks types = .memory
multi_modal_llms: generic_utils = .content_blocks
node_parser: file file.html file.json file.markdown file.simple_file interface node_utils = .node_parser
node_parser: relational relational.hierarchical text text.code text.semantic_splitter = .node_parser
node_parser: text.sentence text.sentence_window text.token text.utils = .node_parser
objects: base_node_mapping tool_node_mapping utils = .objects .objects.base
postprocessor: llm_rerank metadata_replacement node rankGPT_rerank sbert_rerank types = .postprocessor .schema
postprocessor: structured_llm_rerank = .postprocessor
program: function_program streaming_utils utils = .program .program.llm_program .tools
prompts: base chat_prompts default_prompt_selectors = .prompts .prompts.default_prompts prompts.templates
prompts: mixin prompt_type prompt_utils utils = .prompts prompts.templates prompts.mixin
query_engine: multistep_query_engine retriever_query_engine router_query_engine = .query_engine
readers: base json = .readers readers.base readers.json
readers: file file.base loading = .readers
response: notebook_utils pprint_utils = .display
response_synthesizers: accumulate base compact_and_accumulate compact_and_refine = response_synthesizers
response_synthesizers: factory generation no_text refine simple_summarize = response_synthesizers
response_synthesizers: tree_summarize type = response_synthesizers
retrievers: auto_merging_retriever router_retriever = .retrievers
selectors: embedding_selectors llm_selectors pydantic_selectors types utils = selectors
sparse_embeddings: mock_sparse_embedding = .embeddings.sparse
storage: chat_store docstore index_store kvstore = storage
storage: storage_context = storage storage.storage_context
storage: chat_store.base chat_store.simple_chat_store docstore.simple_docstore docstore.types = storage
storage: docstore.utils index_store.simple_index_store index_store.types kvstore kvstore.types = storage
storage: kvstore.simple_kvstore = storage
tools: ondemand_loader_tool = .tools .tools.loading_tools tools
tools: tool_spec.load_and_search tool_spec.load_and_search.base = .tools .tools.loading_tools tools
tools: calling = .tools tools
tools: function_tool query_engine retriever_tool types utils = .tools tools
utilities: token_counting = settings .helpers
vector_stores: simple types utils = vector_stores .embeddings .schema
workflow: context context_serializers decorators errors events handler workflow = .workflow
"""

RING = "ragcore.llamaindex"


def homes_of_paths() -> dict[str, list[str]]:
    """The modules whose names each path has; [] for the parents of a path."""
    table: dict[str, list[str]] = {}
    for row in TABLE.strip().splitlines():
        parent, _, rest = row.partition(":")
        paths, _, homes = rest.partition("=")
        for path in paths.split():
            parts = [part for part in [RING, parent, *path.split(".")] if part]
            for depth in range(2, len(parts)):
                table.setdefault(".".join(parts[:depth]), [])
            table[".".join(parts)] = [_module(home) for home in homes.split()]
    return table


def _module(home: str) -> str:
    if home.startswith("."):
        return RING + home
    if home.startswith(("pydantic", "llama_index_")):
        return home
    return f"ragcore.{home}"


class Paths(MetaPathFinder, Loader):
    """Imports the paths of the table."""

    def __init__(self) -> None:
        self._homes = homes_of_paths()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return ModuleSpec(fullname, self, is_package=True) if fullname in self._homes else None

    def create_module(self, spec: ModuleSpec) -> None:
        """A usual module."""

    def exec_module(self, module: ModuleType) -> None:
        def look_up(name: str) -> object:
            if not name.startswith("_"):
                for home in self._homes[module.__name__]:
                    if (value := getattr(import_module(home), name, None)) is not None:
                        return value
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")

        module.__dict__["__getattr__"] = look_up


def install() -> None:
    """Imports of paths of the table succeed from now on."""
    sys.meta_path.append(Paths())
