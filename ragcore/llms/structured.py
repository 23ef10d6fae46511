"""A model whose every answer is JSON of one form."""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ragcore.llms.base import LLM, Generation, LLMCall, LLMMetadata
from ragcore.prompts.prompt import Origin, Part, RenderedMessage
from ragcore.prompts.structured_output import parse_form
from ragcore.prompts.wording import as_json_of
from ragcore.schema import ChatMessage, ChatResponse, CompletionResponse

if TYPE_CHECKING:
    from pydantic import BaseModel


class StructuredLLM(LLM):
    """Answers of `llm` in the form of `output_cls`: the text is JSON, `raw` the object. LLMProtocolError for
    another form.

    >>> from pydantic import BaseModel
    >>> from ragcore.llms import ScriptedLLM
    >>> class Person(BaseModel):
    ...     name: str
    >>> answer = StructuredLLM(ScriptedLLM(['Here: {"name": "Ada"}']), Person).complete("Who wrote it?")
    >>> answer.text, answer.raw.name
    ('{"name":"Ada"}', 'Ada')
    """

    def __init__(self, llm: LLM, output_cls: type[BaseModel]) -> None:
        self.llm = llm
        self.output_cls = output_cls

    @property
    def metadata(self) -> LLMMetadata:
        return self.llm.metadata

    def count_tokens(self, text: str) -> int:
        return self.llm.count_tokens(text)

    def chat(
        self,
        messages: Sequence[ChatMessage],
        tools: Sequence[Mapping[str, Any]] = (),
        tool_choice: str = "auto",
    ) -> ChatResponse:
        response = super().chat(messages, tools, tool_choice)
        return replace(response, raw=parse_form(response.message.content, self.output_cls))

    def complete(self, prompt: str) -> CompletionResponse:
        response = super().complete(prompt)
        return replace(response, raw=parse_form(response.text, self.output_cls))

    def stream_chat(
        self,
        messages: Sequence[ChatMessage],
        tools: Sequence[Mapping[str, Any]] = (),
        tool_choice: str = "auto",
    ) -> Generator[ChatResponse, None, ChatResponse]:
        """One piece, the whole answer: a part of the JSON has no object."""
        response = self.chat(messages, tools, tool_choice)
        yield replace(response, delta=response.message.content)
        return response

    def stream_complete(self, prompt: str) -> Generator[CompletionResponse, None, None]:
        """One piece, as `stream_chat`."""
        response = self.complete(prompt)
        yield replace(response, delta=response.text)

    def _generate(self, call: LLMCall, messages: Sequence[RenderedMessage]) -> Generation:
        schema = self.output_cls.model_json_schema()
        form = Part(Origin.INSTRUCTIONS, as_json_of(json.dumps(schema, ensure_ascii=False)))
        last = replace(messages[-1], parts=(*messages[-1].parts, form))
        generation = self.llm._generate(replace(call, schema=schema), [*messages[:-1], last])
        return replace(generation, text=parse_form(generation.text, self.output_cls).model_dump_json())
