"""From documents to passages."""

from typing import TYPE_CHECKING

from ragcore.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from ragcore.node_parser.base import NodeParser as NodeParser
    from ragcore.node_parser.code import CodeSplitter as CodeSplitter
    from ragcore.node_parser.hierarchical import HierarchicalNodeParser as HierarchicalNodeParser
    from ragcore.node_parser.html import HTMLNodeParser as HTMLNodeParser
    from ragcore.node_parser.json import JSONNodeParser as JSONNodeParser
    from ragcore.node_parser.markdown import MarkdownNodeParser as MarkdownNodeParser
    from ragcore.node_parser.node_tree import NodeTree as NodeTree
    from ragcore.node_parser.node_tree import get_child_nodes as get_child_nodes
    from ragcore.node_parser.node_tree import get_deeper_nodes as get_deeper_nodes
    from ragcore.node_parser.node_tree import get_leaf_nodes as get_leaf_nodes
    from ragcore.node_parser.node_tree import get_root_nodes as get_root_nodes
    from ragcore.node_parser.semantic import SemanticSplitterNodeParser as SemanticSplitterNodeParser
    from ragcore.node_parser.sentence import SentenceSplitter as SentenceSplitter
    from ragcore.node_parser.sentence import SimpleNodeParser as SimpleNodeParser
    from ragcore.node_parser.sentence_window import SentenceWindowNodeParser as SentenceWindowNodeParser
    from ragcore.node_parser.simple_file import SimpleFileNodeParser as SimpleFileNodeParser
    from ragcore.node_parser.text_splitter import LangchainNodeParser as LangchainNodeParser
    from ragcore.node_parser.token import TokenTextSplitter as TokenTextSplitter
else:
    __getattr__, __all__ = lazy_exports(__name__, __file__)
