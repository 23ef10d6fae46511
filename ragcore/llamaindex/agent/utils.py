"""Turns an agent's conversation into an object of a pydantic model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

from ragcore.llms.base import LLM
from ragcore.prompts.templates import PromptTemplate
from ragcore.schema import ChatMessage, MessageRole

INSTRUCTION = "Given the conversation, format the output according to the provided schema."


def messages_to_xml_format(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """The leading system message unchanged, and the whole conversation as one user message.

    >>> messages_to_xml_format([ChatMessage("user", "Hello")])[0].content.splitlines()[1:4]
    ['\\t<user>', '\\t\\t<message>Hello</message>', '\\t</user>']
    """
    system = [message for message in messages[:1] if message.role is MessageRole.SYSTEM]
    turns = (
        f"\t<{each.role.value}>\n\t\t<message>{each.content}</message>\n\t</{each.role.value}>"
        for each in messages
    )
    text = "\n".join(["<current_conversation>", *turns, "</current_conversation>"])
    return [*system, ChatMessage(MessageRole.USER, f"{text}\n\n{INSTRUCTION}")]


async def generate_structured_response(
    messages: Sequence[ChatMessage], llm: LLM, output_cls: type[BaseModel]
) -> dict[str, Any]:
    """The fields of the object. LLMProtocolError if the model's answer has another form."""
    conversation = messages_to_xml_format(messages)[-1].content
    form = await llm.astructured_predict(
        output_cls, PromptTemplate("{conversation}"), conversation=conversation
    )
    return form.model_dump()
