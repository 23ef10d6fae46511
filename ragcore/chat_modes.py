"""The chat engines by name, and one function that builds any of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum

from ragcore.chat_engine.base import ChatEngine, memory_for
from ragcore.chat_engine.condense_question import CondenseQuestionChatEngine
from ragcore.chat_engine.context import CondensePlusContextChatEngine, ContextChatEngine, room_for_talk
from ragcore.chat_engine.simple import SimpleChatEngine
from ragcore.llms.base import LLM
from ragcore.memory import ChatMemoryBuffer
from ragcore.prompts.prompt import Prompt
from ragcore.prompts.wording import (
    CONDENSE_QUESTION,
    CONTEXT_CHAT,
    REACT,
    REFINE,
    SIMPLE_CHAT,
    TEXT_QA,
    TREE_SUMMARIZE,
    in_chat,
)
from ragcore.query_engine.retriever import NodePostprocessor, Retriever, RetrieverQueryEngine
from ragcore.response_synthesizers.modes import Prompts, ResponseMode, worded
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
    wording: Mapping[str, Prompt] | None = None,
) -> ChatEngine:
    """`memory` is the conversation: give each its own; where none is given it is a new one. `chat_history` is put into it.
    `wording` has other prompts for those of these names.

    ValueError for an unknown mode; ConfigError for OPENAI with a model that cannot call functions.
    """
    mode = ChatMode(mode)
    if mode is ChatMode.BEST:
        mode = ChatMode.OPENAI if llm.metadata.is_function_calling_model else ChatMode.CONDENSE_PLUS_CONTEXT
    in_context = mode in (ChatMode.CONTEXT, ChatMode.CONDENSE_PLUS_CONTEXT)
    memory = memory_for(llm, memory, chat_history, room_for_talk(llm) if in_context else None)
    said = wording or {}
    condense = said.get(CONDENSE_QUESTION.name, CONDENSE_QUESTION)
    synthesizer = Synthesizer(llm, response_mode, _prompts(mode, said), system_prompt=system_prompt)
    match mode:
        case ChatMode.SIMPLE:
            prompt = said.get(SIMPLE_CHAT.name, SIMPLE_CHAT)
            return SimpleChatEngine(llm, memory, system_prompt=system_prompt, prompt=prompt)
        case ChatMode.CONTEXT:
            return ContextChatEngine(retriever, synthesizer, memory, postprocessors)
        case ChatMode.CONDENSE_PLUS_CONTEXT:
            engine = CondensePlusContextChatEngine(retriever, synthesizer, memory, postprocessors)
            engine.condense_prompt = condense
            return engine
    query_engine = RetrieverQueryEngine(retriever, synthesizer, postprocessors)
    if mode is ChatMode.CONDENSE_QUESTION:
        return CondenseQuestionChatEngine(query_engine, llm, memory, condense_prompt=condense)
    from ragcore.agent.function_calling import OpenAIAgent
    from ragcore.agent.react import ReActAgent

    tools = [QueryEngineTool.from_defaults(query_engine)]
    if mode is ChatMode.OPENAI:
        return OpenAIAgent(tools, llm, memory, system_prompt=system_prompt)
    react = ReActAgent(tools, llm, memory, system_prompt=system_prompt)
    react.prompt = said.get(REACT.name, REACT)
    return react


def _prompts(mode: ChatMode, wording: Mapping[str, Prompt]) -> Prompts:
    """Those of the mode's answers. The person's system prompt stands before them; an agent has it itself."""

    def said(prompt: Prompt) -> Prompt:
        return wording.get(prompt.name, prompt)

    if mode in (ChatMode.REACT, ChatMode.OPENAI, ChatMode.SIMPLE):
        return worded(wording)
    answer = in_chat(said(TEXT_QA)) if mode is ChatMode.CONDENSE_QUESTION else said(CONTEXT_CHAT)
    return Prompts(answer, in_chat(said(REFINE)), in_chat(said(TREE_SUMMARIZE)), said(SIMPLE_CHAT))
