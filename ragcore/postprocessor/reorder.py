"""The best passages at both ends of a long context, where models read most carefully.

Liu et al. 2023, "Lost in the Middle" (https://arxiv.org/abs/2307.03172).
"""

from __future__ import annotations

from collections.abc import Sequence

from ragcore.postprocessor.base import BaseNodePostprocessor
from ragcore.schema import NodeWithScore, QueryBundle


class LongContextReorder(BaseNodePostprocessor):
    """The two best at the two ends, the next two inside them, and so on. A passage without a score counts as
    0.

    >>> from ragcore.schema import TextNode
    >>> hits = [NodeWithScore(TextNode(str(score)), score) for score in (4, 3, 2, 1)]
    >>> [hit.text for hit in LongContextReorder().postprocess_nodes(hits)]
    ['3', '1', '2', '4']
    """

    def _postprocess_nodes(
        self, nodes: Sequence[NodeWithScore], query_bundle: QueryBundle | None
    ) -> list[NodeWithScore]:
        worst_first = sorted(nodes, key=lambda hit: -hit.get_score())[::-1]
        return [*worst_first[::2][::-1], *worst_first[1::2]]
