"""From documents to passages."""

from typing import TYPE_CHECKING

from ragcore.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from ragcore.node_parser.base import NodeParser
    from ragcore.node_parser.hierarchical import HierarchicalNodeParser
    from ragcore.node_parser.html import HTMLNodeParser
    from ragcore.node_parser.json import JSONNodeParser
    from ragcore.node_parser.markdown import MarkdownNodeParser
    from ragcore.node_parser.node_tree import (
        NodeTree,
        get_child_nodes,
        get_deeper_nodes,
        get_leaf_nodes,
        get_root_nodes,
    )
    from ragcore.node_parser.sentence import SentenceSplitter, SimpleNodeParser
    from ragcore.node_parser.simple_file import SimpleFileNodeParser
    from ragcore.node_parser.token import TokenTextSplitter
else:
    __getattr__, __all__ = lazy_exports(__name__, __file__)
