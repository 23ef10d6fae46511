"""Prompts: their types, the wording of each, and templates for scripts."""

from typing import TYPE_CHECKING

from ragcore.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from ragcore.display import display_prompt_dict
    from ragcore.prompts.mixin import PromptMixin
    from ragcore.prompts.output_parsers import BaseOutputParser, LangchainOutputParser, PydanticOutputParser
    from ragcore.prompts.prompt import Prompt, Task
    from ragcore.prompts.rich import RichPromptTemplate
    from ragcore.prompts.templates import ChatPromptTemplate, PromptTemplate, SelectorPromptTemplate
else:
    __getattr__, __all__ = lazy_exports(__name__, __file__)
