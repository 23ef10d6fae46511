"""Question transforms, by the names that scripts of LlamaIndex import them from."""

from typing import TYPE_CHECKING

from ragcore.lazy_exports import lazy_exports

__path__: list[str] = []  # inner paths are looked up in `ragcore.inner_paths`

if TYPE_CHECKING:
    from ragcore.retrievers.query_transforms import BaseQueryTransform as BaseQueryTransform
    from ragcore.retrievers.query_transforms import DecomposeQueryTransform as DecomposeQueryTransform
    from ragcore.retrievers.query_transforms import HyDEQueryTransform as HyDEQueryTransform
    from ragcore.retrievers.query_transforms import StepDecomposeQueryTransform as StepDecomposeQueryTransform
else:
    __getattr__, __all__ = lazy_exports(__name__, __file__)
