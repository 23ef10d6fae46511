"""How near two vectors are, higher is nearer."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragcore.schema import Vector


class SimilarityMode(str, Enum):
    DEFAULT = "cosine"  # -1 to 1; 0 where a vector is all zeros
    DOT_PRODUCT = "dot_product"
    EUCLIDEAN = "euclidean"  # the distance, negative


def similarity(a: Vector | Sequence[float], b: Vector | Sequence[float], mode: SimilarityMode | str = "cosine") -> float:
    """Of two vectors of the same length, ValueError where it differs; computed in float64."""
    import numpy as np

    left, right = np.asarray(a, np.float64), np.asarray(b, np.float64)  # (d,)
    if left.shape != right.shape:
        raise ValueError(f"vectors of {left.size} and {right.size} numbers cannot be compared")
    kind = SimilarityMode(mode)
    if kind is SimilarityMode.EUCLIDEAN:
        return -float(np.linalg.norm(left - right))
    if kind is SimilarityMode.DOT_PRODUCT:
        return float(left @ right)
    # Each by its own length first: the product of two tiny lengths is zero.
    lengths = float(np.linalg.norm(left)), float(np.linalg.norm(right))
    return float((left / lengths[0]) @ (right / lengths[1])) if all(lengths) else 0.0
