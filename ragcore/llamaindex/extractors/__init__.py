"""Transformations that add what a model writes to the metadata of passages."""

from typing import TYPE_CHECKING

from ragcore.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from ragcore.extractors import (
        BaseExtractor,
        KeywordExtractor,
        QuestionsAnsweredExtractor,
        SummaryExtractor,
        TitleExtractor,
    )
    from ragcore.llamaindex.extractors.program_extractor import PydanticProgramExtractor
else:
    __getattr__, __all__ = lazy_exports(__name__, __file__)
