"""The chat engines by name, and one function that builds any of them."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from ragcore.chat_engine.base import ChatEngine
from ragcore.chat_engine.condense_question import CondenseQuestionChatEngine
from ragcore.chat_engine.context import CHAT_PROMPTS, CondensePlusContextChatEngine, ContextChatEngine
from ragcore.chat_engine.simple import SimpleChatEngine
from ragcore.llms.base import LLM
from ragcore.memory import ChatMemoryBuffer
from ragcore.prompts import TEXT_QA, in_chat
from ragcore.query_engine.retriever import NodePostprocessor, Retriever, RetrieverQueryEngine
from ragcore.response_synthesizers.modes import Prompts, ResponseMode
from ragcore.response_synthesizers.synthesizer import Synthesizer


class ChatMode(str, Enum):
    SIMPLE = "simple"
    CONDENSE_QUESTION = "condense_question"
    CONTEXT = "context"
    CONDENSE_PLUS_CONTEXT = "condense_plus_context"


def chat_engine(
    mode: ChatMode | str,
    *,
    llm: LLM,
    retriever: Retriever,
    memory: ChatMemoryBuffer,
    system_prompt: str = "",
    postprocessors: Sequence[NodePostprocessor] = (),
    response_mode: ResponseMode | str = ResponseMode.COMPACT,
) -> ChatEngine:
    """`memory` is the conversation: give each its own."""
    match ChatMode(mode):
        case ChatMode.SIMPLE:
            return SimpleChatEngine(llm, memory, system_prompt=system_prompt)
        case ChatMode.CONDENSE_QUESTION:
            prompts = Prompts(in_chat(TEXT_QA), CHAT_PROMPTS.refine, CHAT_PROMPTS.summary, CHAT_PROMPTS.simple)
            synthesizer = Synthesizer(llm, response_mode, prompts, system_prompt=system_prompt)
            return CondenseQuestionChatEngine(RetrieverQueryEngine(retriever, synthesizer, postprocessors), llm, memory)
        case ChatMode.CONTEXT:
            synthesizer = Synthesizer(llm, response_mode, CHAT_PROMPTS, system_prompt=system_prompt)
            return ContextChatEngine(retriever, synthesizer, memory, postprocessors)
        case ChatMode.CONDENSE_PLUS_CONTEXT:
            synthesizer = Synthesizer(llm, response_mode, CHAT_PROMPTS, system_prompt=system_prompt)
            return CondensePlusContextChatEngine(retriever, synthesizer, memory, postprocessors)
