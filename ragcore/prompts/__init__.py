"""Prompts: their types, the wording of each, and templates for scripts."""

from typing import TYPE_CHECKING

from ragcore.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from ragcore.prompts.mixin import PromptMixin
    from ragcore.prompts.prompt import Prompt, Task
    from ragcore.prompts.templates import ChatPromptTemplate, PromptTemplate, SelectorPromptTemplate
else:
    __getattr__, __all__ = lazy_exports(__name__, __file__)
