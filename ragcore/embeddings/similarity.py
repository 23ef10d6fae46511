"""The similarity of two vectors; higher is nearer."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from ragcore.schema import Vector


class SimilarityMode(str, Enum):
    """How two vectors are compared.

    >>> similarity([0.0, 2.0], [0.0, 5.0], SimilarityMode.EUCLIDEAN)
    -3.0
    """

    DEFAULT = "cosine"  # -1 to 1; 0 where a vector is all zeros
    DOT_PRODUCT = "dot_product"
    EUCLIDEAN = "euclidean"  # the distance, negative


def similarity(
    a: Vector | Sequence[float], b: Vector | Sequence[float], mode: SimilarityMode | str = "cosine"
) -> float:
    """Computed in float64. ValueError for vectors of different dimensions.

    >>> similarity([3.0, 4.0], [4.0, 3.0]), similarity([3.0, 4.0], [4.0, 3.0], SimilarityMode.DOT_PRODUCT)
    (0.96, 24.0)
    """
    import numpy as np

    first, second = np.asarray(a, np.float64), np.asarray(b, np.float64)  # (d,)
    if first.shape != second.shape:
        raise ValueError(f"vectors of {first.size} and {second.size} numbers cannot be compared")
    kind = SimilarityMode(mode)
    if kind is SimilarityMode.EUCLIDEAN:
        return -float(np.linalg.norm(first - second))
    if kind is SimilarityMode.DOT_PRODUCT:
        return float(first @ second)
    # Divide by each length separately: the product of two tiny lengths is zero.
    lengths = float(np.linalg.norm(first)), float(np.linalg.norm(second))
    return float((first / lengths[0]) @ (second / lengths[1])) if all(lengths) else 0.0
