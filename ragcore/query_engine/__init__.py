"""Query engines: a question in, an answer with its sources out."""

from typing import TYPE_CHECKING

from ragcore.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from ragcore.query_engine.base import BaseQueryEngine
    from ragcore.query_engine.citation import CitationQueryEngine
    from ragcore.query_engine.custom import CustomQueryEngine
    from ragcore.query_engine.retriever import RetrieverQueryEngine
    from ragcore.query_engine.router import RouterQueryEngine
    from ragcore.query_engine.sub_question import (
        LLMQuestionGenerator,
        SubQuestionAnswerPair,
        SubQuestionQueryEngine,
    )
    from ragcore.query_engine.transform import MultiStepQueryEngine, TransformQueryEngine
else:
    __getattr__, __all__ = lazy_exports(__name__, __file__)
