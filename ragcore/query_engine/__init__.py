"""Query engines: a question in, an answer with its sources out."""

from typing import TYPE_CHECKING

from ragcore.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from ragcore.query_engine.base import BaseQueryEngine as BaseQueryEngine
    from ragcore.query_engine.citation import CitationQueryEngine as CitationQueryEngine
    from ragcore.query_engine.custom import CustomQueryEngine as CustomQueryEngine
    from ragcore.query_engine.retriever import RetrieverQueryEngine as RetrieverQueryEngine
    from ragcore.query_engine.router import RouterQueryEngine as RouterQueryEngine
    from ragcore.query_engine.sub_question import LLMQuestionGenerator as LLMQuestionGenerator
    from ragcore.query_engine.sub_question import SubQuestionAnswerPair as SubQuestionAnswerPair
    from ragcore.query_engine.sub_question import SubQuestionQueryEngine as SubQuestionQueryEngine
    from ragcore.query_engine.transform import MultiStepQueryEngine as MultiStepQueryEngine
    from ragcore.query_engine.transform import TransformQueryEngine as TransformQueryEngine
else:
    __getattr__, __all__ = lazy_exports(__name__, __file__)
