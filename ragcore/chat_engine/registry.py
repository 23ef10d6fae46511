"""The chat engines by name, and one function that builds any of them."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from ragcore.chat_engine.base import ChatEngine, memory_for
from ragcore.chat_engine.condense_question import CondenseQuestionChatEngine
from ragcore.chat_engine.context import CHAT_PROMPTS, CondensePlusContextChatEngine, ContextChatEngine, room_for_talk
from ragcore.chat_engine.simple import SimpleChatEngine
from ragcore.llms.base import LLM
from ragcore.memory import ChatMemoryBuffer
from ragcore.prompts import TEXT_QA, in_chat
from ragcore.query_engine.retriever import NodePostprocessor, Retriever, RetrieverQueryEngine
from ragcore.response_synthesizers.modes import Prompts, ResponseMode
from ragcore.response_synthesizers.synthesizer import Synthesizer
from ragcore.schema import ChatMessage
from ragcore.tools import QueryEngineTool


class ChatMode(str, Enum):
    """BEST is OPENAI with a model that calls functions, and CONDENSE_PLUS_CONTEXT with any other: it asks nothing of a model
    but to write, takes one or two calls a turn, and a reader that only quotes understands follow-up questions in it."""

    SIMPLE = "simple"
    CONDENSE_QUESTION = "condense_question"
    CONTEXT = "context"
    CONDENSE_PLUS_CONTEXT = "condense_plus_context"
    REACT = "react"
    OPENAI = "openai"
    BEST = "best"


def chat_engine(
    mode: ChatMode | str,
    *,
    llm: LLM,
    retriever: Retriever,
    memory: ChatMemoryBuffer | None = None,
    chat_history: Sequence[ChatMessage] | None = None,
    system_prompt: str = "",
    postprocessors: Sequence[NodePostprocessor] = (),
    response_mode: ResponseMode | str = ResponseMode.COMPACT,
) -> ChatEngine:
    """`memory` is the conversation: give each its own; where none is given it is a new one. `chat_history` is put into it.

    ValueError for an unknown mode; ConfigError for OPENAI with a model that cannot call functions.
    """
    mode = ChatMode(mode)
    if mode is ChatMode.BEST:
        mode = ChatMode.OPENAI if llm.metadata.is_function_calling_model else ChatMode.CONDENSE_PLUS_CONTEXT
    in_context = mode in (ChatMode.CONTEXT, ChatMode.CONDENSE_PLUS_CONTEXT)
    memory = memory_for(llm, memory, chat_history, room_for_talk(llm) if in_context else None)
    synthesizer = Synthesizer(llm, response_mode, _PROMPTS.get(mode), system_prompt=system_prompt)
    match mode:
        case ChatMode.SIMPLE:
            return SimpleChatEngine(llm, memory, system_prompt=system_prompt)
        case ChatMode.CONTEXT:
            return ContextChatEngine(retriever, synthesizer, memory, postprocessors)
        case ChatMode.CONDENSE_PLUS_CONTEXT:
            return CondensePlusContextChatEngine(retriever, synthesizer, memory, postprocessors)
    query_engine = RetrieverQueryEngine(retriever, synthesizer, postprocessors)
    if mode is ChatMode.CONDENSE_QUESTION:
        return CondenseQuestionChatEngine(query_engine, llm, memory)
    from ragcore.agent.function_calling import OpenAIAgent
    from ragcore.agent.react import ReActAgent

    agent = ReActAgent if mode is ChatMode.REACT else OpenAIAgent
    return agent([QueryEngineTool.from_defaults(query_engine)], llm, memory, system_prompt=system_prompt)


_PROMPTS = {  # an agent has the person's system prompt itself
    ChatMode.CONDENSE_QUESTION: Prompts(in_chat(TEXT_QA), CHAT_PROMPTS.refine, CHAT_PROMPTS.summary, CHAT_PROMPTS.simple),
    ChatMode.CONTEXT: CHAT_PROMPTS,
    ChatMode.CONDENSE_PLUS_CONTEXT: CHAT_PROMPTS,
}
