"""Query engines: a question in, an answer with its sources out."""

from typing import TYPE_CHECKING

from ragcore.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from ragcore.query_engine.base import BaseQueryEngine
    from ragcore.query_engine.retriever import RetrieverQueryEngine
    from ragcore.query_engine.router import RouterQueryEngine
else:
    __getattr__, __all__ = lazy_exports(__name__, __file__)
