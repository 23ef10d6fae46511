"""Retrieves the passages of a keyword table that share most terms with the question."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragcore.llamaindex.indices.keyword_table.utils import terms_of
from ragcore.observe import Span
from ragcore.retrievers.base import BaseRetriever
from ragcore.schema import NodeWithScore, QueryBundle

if TYPE_CHECKING:
    from ragcore.llamaindex.indices.keyword_table.base import BaseKeywordTableIndex


class KeywordTableRetriever(BaseRetriever):
    """The score is the number of terms that a passage shares with the question. Passages without a shared
    term are omitted.

    Ties are in the order of the index. The span notes `terms`.

    >>> from ragcore.llamaindex.indices import SimpleKeywordTableIndex
    >>> from ragcore.schema import TextNode
    >>> index = SimpleKeywordTableIndex([TextNode("A red boat."), TextNode("A gull.")])
    >>> [(hit.text, hit.score) for hit in KeywordTableRetriever(index).retrieve("Which boat is red?")]
    [('A red boat.', 2.0)]
    """

    name = "keyword_table"

    def __init__(
        self, index: BaseKeywordTableIndex, max_keywords_per_query: int = 10, num_chunks_per_query: int = 10
    ) -> None:
        self._index = index
        self._most_keywords = max_keywords_per_query
        self._most_passages = num_chunks_per_query

    def _retrieve(self, query: QueryBundle, step: Span) -> list[NodeWithScore]:
        terms = terms_of(self._index.keywords_of(query.query_str, self._most_keywords, asking=True))
        step.note(terms=terms)
        best = dict(self._index.rank(terms)[: max(self._most_passages, 0)])
        return [
            NodeWithScore(node, float(best[node.id_])) for node in self._index.nodes.get_nodes(list(best))
        ]


KeywordTableSimpleRetriever = KeywordTableRetriever  # the index extracts the keywords
