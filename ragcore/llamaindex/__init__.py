"""The ring: LlamaIndex's names at LlamaIndex's own paths, for scripts of today, in which `ragcore.llamaindex`
replaces `llama_index.core`.

Names of the walkthroughs are defined in ragcore and only found here as well; further ones are defined here.
The ring uses `ragcore`, and nothing else uses the ring. It is closed: it gets no new names.

>>> from ragcore.llamaindex import Document, VectorStoreIndex
>>> from ragcore.llamaindex.query_engine import CitationQueryEngine
>>> from ragcore.llamaindex.retrievers import QueryFusionRetriever
"""

from typing import TYPE_CHECKING

from ragcore.lazy_exports import lazy_exports
from ragcore.llamaindex.paths import install

if TYPE_CHECKING:
    from ragcore import (
        ChatMessage,
        ChatPromptTemplate,
        Document,
        GPTVectorStoreIndex,
        IndexNode,
        ListIndex,
        MessageRole,
        MockEmbedding,
        NodeWithScore,
        PromptHelper,
        PromptTemplate,
        QueryBundle,
        Response,
        SelectorPromptTemplate,
        Settings,
        SimpleDirectoryReader,
        StorageContext,
        SummaryIndex,
        TextNode,
        TreeIndex,
        VectorStoreIndex,
        get_response_synthesizer,
        get_tokenizer,
        set_global_handler,
        set_global_tokenizer,
    )
    from ragcore.llamaindex.indices.document_summary.base import DocumentSummaryIndex
    from ragcore.llamaindex.indices.keyword_table.base import (
        KeywordTableIndex,
        RAKEKeywordTableIndex,
        SimpleKeywordTableIndex,
    )
    from ragcore.llamaindex.indices.loading import load_index_from_storage, load_indices_from_storage
    from ragcore.llamaindex.prompts.rich import RichPromptTemplate
    from ragcore.llamaindex.readers.download import download_loader
else:
    __getattr__, __all__ = lazy_exports(__name__, __file__)

install()
