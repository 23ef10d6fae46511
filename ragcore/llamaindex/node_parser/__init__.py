"""From documents to passages."""

from typing import TYPE_CHECKING

from ragcore.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from ragcore.llamaindex.node_parser.code import CodeSplitter
    from ragcore.llamaindex.node_parser.langchain import LangchainNodeParser
    from ragcore.llamaindex.node_parser.semantic_splitter import SemanticSplitterNodeParser
    from ragcore.llamaindex.node_parser.sentence_window import SentenceWindowNodeParser
    from ragcore.node_parser import (
        HierarchicalNodeParser,
        HTMLNodeParser,
        JSONNodeParser,
        MarkdownNodeParser,
        NodeParser,
        NodeTree,
        SentenceSplitter,
        SimpleFileNodeParser,
        SimpleNodeParser,
        TokenTextSplitter,
        get_child_nodes,
        get_deeper_nodes,
        get_leaf_nodes,
        get_root_nodes,
    )
else:
    __getattr__, __all__ = lazy_exports(__name__, __file__)
