"""ragcore: retrieval-augmented generation, from a file to a cited answer."""

from typing import TYPE_CHECKING

from ragcore.inner_paths import install
from ragcore.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from ragcore.embeddings.mock import MockEmbedding as MockEmbedding
    from ragcore.indices.document_summary.index import DocumentSummaryIndex as DocumentSummaryIndex
    from ragcore.indices.keyword_table.index import KeywordTableIndex as KeywordTableIndex
    from ragcore.indices.keyword_table.index import RAKEKeywordTableIndex as RAKEKeywordTableIndex
    from ragcore.indices.keyword_table.index import SimpleKeywordTableIndex as SimpleKeywordTableIndex
    from ragcore.indices.loading import load_index_from_storage as load_index_from_storage
    from ragcore.indices.loading import load_indices_from_storage as load_indices_from_storage
    from ragcore.indices.summary.index import ListIndex as ListIndex
    from ragcore.indices.summary.index import SummaryIndex as SummaryIndex
    from ragcore.indices.tree.index import TreeIndex as TreeIndex
    from ragcore.indices.vector import GPTVectorStoreIndex as GPTVectorStoreIndex
    from ragcore.indices.vector import VectorStoreIndex as VectorStoreIndex
    from ragcore.prompt_helper import PromptHelper as PromptHelper
    from ragcore.prompts.rich import RichPromptTemplate as RichPromptTemplate
    from ragcore.prompts.templates import ChatPromptTemplate as ChatPromptTemplate
    from ragcore.prompts.templates import PromptTemplate as PromptTemplate
    from ragcore.prompts.templates import SelectorPromptTemplate as SelectorPromptTemplate
    from ragcore.readers.directory import SimpleDirectoryReader as SimpleDirectoryReader
    from ragcore.readers.download import download_loader as download_loader
    from ragcore.response_synthesizers.synthesizer import get_response_synthesizer as get_response_synthesizer
    from ragcore.schema import ChatMessage as ChatMessage
    from ragcore.schema import Document as Document
    from ragcore.schema import IndexNode as IndexNode
    from ragcore.schema import MessageRole as MessageRole
    from ragcore.schema import NodeWithScore as NodeWithScore
    from ragcore.schema import QueryBundle as QueryBundle
    from ragcore.schema import Response as Response
    from ragcore.schema import TextNode as TextNode
    from ragcore.settings import Settings as Settings
    from ragcore.settings import get_tokenizer as get_tokenizer
    from ragcore.settings import set_global_handler as set_global_handler
    from ragcore.settings import set_global_tokenizer as set_global_tokenizer
    from ragcore.storage.storage_context import StorageContext as StorageContext
else:
    __getattr__, __all__ = lazy_exports(__name__, __file__)

install()
