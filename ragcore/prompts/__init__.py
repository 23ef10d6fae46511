"""Prompts: their types, the wording of each, and templates for scripts."""

from typing import TYPE_CHECKING

from ragcore.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from ragcore.display import display_prompt_dict as display_prompt_dict
    from ragcore.prompts.mixin import PromptMixin as PromptMixin
    from ragcore.prompts.output_parsers import BaseOutputParser as BaseOutputParser
    from ragcore.prompts.output_parsers import LangchainOutputParser as LangchainOutputParser
    from ragcore.prompts.output_parsers import PydanticOutputParser as PydanticOutputParser
    from ragcore.prompts.prompt import Prompt as Prompt
    from ragcore.prompts.prompt import Task as Task
    from ragcore.prompts.rich import RichPromptTemplate as RichPromptTemplate
    from ragcore.prompts.templates import ChatPromptTemplate as ChatPromptTemplate
    from ragcore.prompts.templates import PromptTemplate as PromptTemplate
    from ragcore.prompts.templates import SelectorPromptTemplate as SelectorPromptTemplate
else:
    __getattr__, __all__ = lazy_exports(__name__, __file__)
