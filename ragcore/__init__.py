"""ragcore: retrieval-augmented generation, from a file to a cited answer."""

from typing import TYPE_CHECKING

from ragcore.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from ragcore.embeddings.mock import MockEmbedding
    from ragcore.indices.loading import load_index_from_storage, load_indices_from_storage
    from ragcore.indices.summary.index import ListIndex, SummaryIndex
    from ragcore.indices.tree.index import TreeIndex
    from ragcore.indices.vector import GPTVectorStoreIndex, VectorStoreIndex
    from ragcore.node_parser.prompt_helper import PromptHelper
    from ragcore.prompts.templates import ChatPromptTemplate, PromptTemplate, SelectorPromptTemplate
    from ragcore.readers.directory import SimpleDirectoryReader
    from ragcore.response_synthesizers.synthesizer import get_response_synthesizer
    from ragcore.schema import (
        ChatMessage,
        Document,
        IndexNode,
        MessageRole,
        NodeWithScore,
        QueryBundle,
        Response,
        TextNode,
    )
    from ragcore.settings import Settings, get_tokenizer, set_global_handler, set_global_tokenizer
    from ragcore.storage.storage_context import StorageContext
else:
    __getattr__, __all__ = lazy_exports(__name__, __file__)
