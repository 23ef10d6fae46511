"""Programs: a prompt whose answer is a pydantic model's object."""

from __future__ import annotations

import logging
from typing import Any, ClassVar, Generic, Self

from ragcore.concurrency import awaitable
from ragcore.llms.base import LLM
from ragcore.prompts.mixin import PromptMixin
from ragcore.prompts.output_parsers import PydanticOutputParser
from ragcore.prompts.prompt import Prompt
from ragcore.prompts.structured_output import Form
from ragcore.prompts.templates import PromptTemplate
from ragcore.settings import services

__path__: list[str] = []  # inner paths are looked up in `ragcore.inner_paths`

logger = logging.getLogger(__name__)


class LLMTextCompletionProgram(PromptMixin, Generic[Form]):
    """Called with the values of its prompt. LLMProtocolError for an answer that has not the form.

    >>> from pydantic import BaseModel
    >>> from ragcore.llms import ScriptedLLM
    >>> class Song(BaseModel):
    ...     title: str
    >>> program = LLMTextCompletionProgram.from_defaults(
    ...     output_cls=Song, prompt_template_str="A song about {topic}.", llm=ScriptedLLM(['{"title": "Rain"}'])
    ... )
    >>> program(topic="weather").title
    'Rain'
    """

    verbose: bool = False
    prompt_attributes: ClassVar = {"prompt": "prompt"}

    def __init__(self, output_cls: type[Form], prompt: Prompt, llm: LLM) -> None:
        self.output_cls = output_cls
        self.prompt = prompt
        self.llm = llm

    @classmethod
    def from_defaults(
        cls,
        output_parser: PydanticOutputParser[Form] | None = None,
        output_cls: type[Form] | None = None,
        prompt_template_str: str | None = None,
        prompt: Prompt | None = None,
        llm: LLM | None = None,
        verbose: bool = False,
    ) -> Self:
        """The form is `output_cls`, or that of an `output_parser`; the prompt a text or a template. `verbose` logs answers."""
        form = output_cls or (output_parser.output_cls if output_parser else None)
        if form is None or (prompt is None) == (prompt_template_str is None):
            raise ValueError("a program needs output_cls, or output_parser, and either prompt or prompt_template_str")
        program = cls(form, prompt or PromptTemplate(prompt_template_str or ""), services(llm).llm)
        program.verbose = verbose
        return program

    def __call__(self, **values: Any) -> Form:
        made = self.llm.structured_predict(self.output_cls, self.prompt, **values)
        if self.verbose:
            logger.info("%s", made)
        return made

    def call(self, /, **values: Any) -> Form:
        """The same as calling it."""
        return self(**values)

    acall = awaitable(call)


class FunctionCallingProgram(LLMTextCompletionProgram[Form]):
    """The same for models that call functions: here both are held to the form by the server.

    >>> FunctionCallingProgram.__mro__[1] is LLMTextCompletionProgram
    True
    """
