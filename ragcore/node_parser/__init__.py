"""From documents to passages. Names are loaded when first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragcore.node_parser.base import NodeParser
    from ragcore.node_parser.code import CodeSplitter
    from ragcore.node_parser.hierarchical import HierarchicalNodeParser
    from ragcore.node_parser.html import HTMLNodeParser
    from ragcore.node_parser.json import JSONNodeParser
    from ragcore.node_parser.markdown import MarkdownNodeParser
    from ragcore.node_parser.semantic import SemanticSplitterNodeParser
    from ragcore.node_parser.sentence import SentenceSplitter
    from ragcore.node_parser.sentence_window import SentenceWindowNodeParser
    from ragcore.node_parser.simple_file import SimpleFileNodeParser
    from ragcore.node_parser.token import TokenTextSplitter
    from ragcore.node_parser.tree import NodeTree, get_child_nodes, get_deeper_nodes, get_leaf_nodes, get_root_nodes

_HOMES = {
    "CodeSplitter": "ragcore.node_parser.code",
    "HTMLNodeParser": "ragcore.node_parser.html",
    "HierarchicalNodeParser": "ragcore.node_parser.hierarchical",
    "JSONNodeParser": "ragcore.node_parser.json",
    "MarkdownNodeParser": "ragcore.node_parser.markdown",
    "NodeParser": "ragcore.node_parser.base",
    "NodeTree": "ragcore.node_parser.tree",
    "SemanticSplitterNodeParser": "ragcore.node_parser.semantic",
    "SentenceSplitter": "ragcore.node_parser.sentence",
    "SentenceWindowNodeParser": "ragcore.node_parser.sentence_window",
    "SimpleFileNodeParser": "ragcore.node_parser.simple_file",
    "TokenTextSplitter": "ragcore.node_parser.token",
    "get_child_nodes": "ragcore.node_parser.tree",
    "get_deeper_nodes": "ragcore.node_parser.tree",
    "get_leaf_nodes": "ragcore.node_parser.tree",
    "get_root_nodes": "ragcore.node_parser.tree",
}

__all__ = [
    "CodeSplitter",
    "HTMLNodeParser",
    "HierarchicalNodeParser",
    "JSONNodeParser",
    "MarkdownNodeParser",
    "NodeParser",
    "NodeTree",
    "SemanticSplitterNodeParser",
    "SentenceSplitter",
    "SentenceWindowNodeParser",
    "SimpleFileNodeParser",
    "TokenTextSplitter",
    "get_child_nodes",
    "get_deeper_nodes",
    "get_leaf_nodes",
    "get_root_nodes",
]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'ragcore.node_parser' has no attribute {name!r}")
