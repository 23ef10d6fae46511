"""Query engines: a question in, an answer with its sources out."""

from typing import TYPE_CHECKING

from ragcore.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from ragcore.llamaindex.query_engine.citation_query_engine import CitationQueryEngine
    from ragcore.llamaindex.query_engine.custom import CustomQueryEngine
    from ragcore.llamaindex.query_engine.sub_question_query_engine import (
        LLMQuestionGenerator,
        SubQuestionAnswerPair,
        SubQuestionQueryEngine,
    )
    from ragcore.llamaindex.query_engine.transform_query_engine import (
        MultiStepQueryEngine,
        TransformQueryEngine,
    )
    from ragcore.query_engine import BaseQueryEngine, RetrieverQueryEngine, RouterQueryEngine
else:
    __getattr__, __all__ = lazy_exports(__name__, __file__)
