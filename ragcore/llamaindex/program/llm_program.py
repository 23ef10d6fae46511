"""Programs: prompts whose answers are objects of a pydantic model."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, ClassVar, Generic, Self

from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from pydantic_core import from_json

from ragcore.concurrency import awaitable
from ragcore.llamaindex.content_blocks import ImageBlock
from ragcore.llamaindex.prompts.output_parsers import PydanticOutputParser
from ragcore.llms.base import LLM
from ragcore.llms.structured import StructuredLLM
from ragcore.prompts.mixin import PromptMixin
from ragcore.prompts.prompt import Prompt
from ragcore.prompts.structured_output import Form
from ragcore.prompts.templates import PromptTemplate
from ragcore.schema import ChatMessage, ChatResponse
from ragcore.schema.content_blocks import TextBlock
from ragcore.settings import services
from ragcore.tools import get_function_tool

logger = logging.getLogger(__name__)


class LLMTextCompletionProgram(PromptMixin, Generic[Form]):
    """Call it with the values of its prompt. LLMProtocolError for an answer of another form.

    >>> from pydantic import BaseModel
    >>> from ragcore.llms import ScriptedLLM
    >>> class Song(BaseModel):
    ...     title: str
    >>> program = LLMTextCompletionProgram.from_defaults(
    ...     output_cls=Song,
    ...     prompt_template_str="A song about {topic}.",
    ...     llm=ScriptedLLM(['{"title": "Rain"}']),
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
        """The form is `output_cls` or that of `output_parser`; the prompt is a text or a template. `verbose`
        logs answers."""
        form = output_cls or (output_parser.output_cls if output_parser else None)
        if form is None or (prompt is None) == (prompt_template_str is None):
            raise ValueError(
                "a program needs output_cls, or output_parser, and either prompt or prompt_template_str"
            )
        program = cls(form, prompt or PromptTemplate(prompt_template_str or ""), services(llm).llm)
        program.verbose = verbose
        return program

    def __call__(self, **values: Any) -> Form:
        output = self.llm.structured_predict(self.output_cls, self.prompt, **values)
        if self.verbose:
            logger.info("%s", output)
        return output

    def call(self, /, **values: Any) -> Form:
        """Same as calling the program."""
        return self(**values)

    acall = awaitable(call)


class FunctionCallingProgram(LLMTextCompletionProgram[Form]):
    """For models that call functions: the form is a tool that the model calls. Other models answer with JSON.

    With `allow_parallel_tool_calls` the result is a list with the object of each call.

    >>> FunctionCallingProgram.__mro__[1] is LLMTextCompletionProgram
    True
    """

    allow_parallel_tool_calls: bool = False

    @classmethod
    def from_defaults(cls, *args: Any, allow_parallel_tool_calls: bool = False, **options: Any) -> Self:
        """See LLMTextCompletionProgram."""
        program = super().from_defaults(*args, **options)
        program.allow_parallel_tool_calls = allow_parallel_tool_calls
        return program

    def __call__(self, **values: Any) -> Any:
        if not self.llm.metadata.is_function_calling_model:
            return super().__call__(**values)
        response = self.llm.predict_and_call(
            [get_function_tool(self.output_cls)],
            chat_history=[ChatMessage(each.role, each.content) for each in self.prompt.render(values)],
            verbose=self.verbose,
            allow_parallel_tool_calls=self.allow_parallel_tool_calls,
        )
        output = [source.raw_output for source in response.sources]
        return output if self.allow_parallel_tool_calls else output[0]


class MultiModalLLMCompletionProgram(LLMTextCompletionProgram[Form]):
    """The object that a model which sees makes of images and a text. The images of a call replace
    `image_documents`.

    >>> from ragcore.llamaindex.content_blocks import ImageBlock
    >>> from ragcore.llms import ScriptedLLM
    >>> class Receipt(BaseModel):
    ...     total: float
    >>> llm = ScriptedLLM(['{"total": 4.5}'])
    >>> program = MultiModalLLMCompletionProgram.from_defaults(
    ...     None, Receipt, "Read the receipt.", multi_modal_llm=llm
    ... )
    >>> program(image_documents=[ImageBlock(image=b"...")]).total
    4.5
    """

    images: Sequence[ImageBlock] = ()

    @classmethod
    def from_defaults(
        cls,
        *args: Any,
        multi_modal_llm: LLM | None = None,
        image_documents: Sequence[ImageBlock] = (),
        **options: Any,
    ) -> Self:
        """See LLMTextCompletionProgram; `multi_modal_llm` is its `llm`."""
        program = super().from_defaults(*args, **{**options, "llm": multi_modal_llm})
        program.images = image_documents
        return program

    def __call__(self, image_documents: Sequence[ImageBlock] | None = None, **values: Any) -> Any:
        images = self.images if image_documents is None else image_documents
        messages = [
            ChatMessage(each.role, [TextBlock(each.content), *images]) for each in self.prompt.render(values)
        ]
        return StructuredLLM(self.llm, self.output_cls).chat(messages).raw


def create_flexible_model(model: type[BaseModel]) -> type[BaseModel]:
    """A model with the same fields, all of which are optional."""
    fields: dict[str, Any] = {
        name: (field.annotation | None, None)  # type: ignore[operator]
        for name, field in model.model_fields.items()
    }
    flexible: type[BaseModel] = create_model(
        f"Flexible{model.__name__}", __config__=ConfigDict(extra="allow"), **fields
    )
    return flexible


def num_valid_fields(value: Any) -> int:
    """The number of values in an object, or in several, that are not None."""
    if isinstance(value, BaseModel):
        value = dict(value)
    if isinstance(value, list | tuple | dict):
        return sum(map(num_valid_fields, value.values() if isinstance(value, dict) else value))
    return int(value is not None)


def process_streaming_content_incremental(
    chat_response: ChatResponse, output_cls: type[BaseModel], cur_object: BaseModel | None = None
) -> BaseModel:
    """Parses an answer whose JSON may be incomplete; missing fields are None.

    Without any JSON it is `cur_object`, or an object without values.

    >>> class Person(BaseModel):
    ...     name: str
    ...     age: int
    >>> response = ChatResponse(ChatMessage("assistant", '{"name": "Ada"'))
    >>> process_streaming_content_incremental(response, Person).name
    'Ada'
    """
    flexible = create_flexible_model(output_cls)
    text = chat_response.message.content or ""
    try:
        value = from_json(text[text.find("{") :], allow_partial="trailing-strings")
    except ValueError:
        return cur_object or flexible()
    for form in (output_cls, flexible):
        with suppress(ValidationError):
            return form.model_validate(value)
    return cur_object or flexible()
