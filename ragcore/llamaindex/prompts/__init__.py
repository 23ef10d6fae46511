"""Prompts, their templates and parsers of replies."""

from typing import TYPE_CHECKING

from ragcore.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from ragcore.llamaindex.display import display_prompt_dict
    from ragcore.llamaindex.prompts.output_parsers import (
        BaseOutputParser,
        LangchainOutputParser,
        PydanticOutputParser,
    )
    from ragcore.llamaindex.prompts.rich import RichPromptTemplate
    from ragcore.prompts import (
        ChatPromptTemplate,
        Prompt,
        PromptMixin,
        PromptTemplate,
        SelectorPromptTemplate,
        Task,
    )
else:
    __getattr__, __all__ = lazy_exports(__name__, __file__)
