"""Splitters of LangChain."""

from __future__ import annotations

from typing import Any, Unpack

from ragcore.node_parser.base import NodeOptions, NodeParser
from ragcore.node_parser.node_building import Cut
from ragcore.node_parser.text_splitter import locate_pieces
from ragcore.schema import Document, TextNode


class LangchainNodeParser(NodeParser):
    """A splitter of LangChain, or any object with `split_text(text)`. ValueError if it gives what is not in
    the text.

    >>> class Lines:
    ...     def split_text(self, text):
    ...         return text.splitlines()
    >>> parser = LangchainNodeParser(Lines())
    >>> [node.text for node in parser.get_nodes_from_documents([Document("First.\\nSecond.")])]
    ['First.', 'Second.']
    """

    def __init__(self, lc_splitter: Any, **options: Unpack[NodeOptions]) -> None:
        super().__init__(**options)
        self._splitter = lc_splitter

    def cuts(self, source: Document | TextNode) -> list[Cut]:
        return locate_pieces(source.text, self._splitter.split_text(source.text))
