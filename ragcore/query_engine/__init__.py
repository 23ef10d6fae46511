"""Query engines: a question in, an answer with its sources out."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragcore.query_engine.base import BaseQueryEngine
    from ragcore.query_engine.citation import CitationQueryEngine
    from ragcore.query_engine.multi_step import MultiStepQueryEngine
    from ragcore.query_engine.retriever import RetrieverQueryEngine
    from ragcore.query_engine.router import RouterQueryEngine
    from ragcore.query_engine.sub_question import SubQuestionAnswerPair, SubQuestionQueryEngine
    from ragcore.query_engine.transform import TransformQueryEngine

_HOMES = {
    "BaseQueryEngine": "base",
    "CitationQueryEngine": "citation",
    "MultiStepQueryEngine": "multi_step",
    "RetrieverQueryEngine": "retriever",
    "RouterQueryEngine": "router",
    "SubQuestionAnswerPair": "sub_question",
    "SubQuestionQueryEngine": "sub_question",
    "TransformQueryEngine": "transform",
}

__all__ = [
    "BaseQueryEngine",
    "CitationQueryEngine",
    "MultiStepQueryEngine",
    "RetrieverQueryEngine",
    "RouterQueryEngine",
    "SubQuestionAnswerPair",
    "SubQuestionQueryEngine",
    "TransformQueryEngine",
]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(f"ragcore.query_engine.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'ragcore.query_engine' has no attribute {name!r}")
