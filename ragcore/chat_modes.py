"""The chat engines by name, and one function that builds any of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import Enum

from ragcore.chat_engine.base import ChatEngine, get_memory
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
    SIMPLE_CHAT,
    in_chat,
)
from ragcore.query_engine.retriever import NodePostprocessor, RetrieverQueryEngine
from ragcore.response_synthesizers.modes import Prompts, ResponseMode, override_prompts
from ragcore.response_synthesizers.synthesizer import Synthesizer
from ragcore.retrievers.base import Retriever
from ragcore.schema import ChatMessage
from ragcore.tools import QueryEngineTool


class ChatMode(str, Enum):
    """BEST is OPENAI with a model that calls functions, and CONDENSE_PLUS_CONTEXT with any other: it works
    with every model, even one that only quotes, and takes one or two calls per turn.

    >>> from ragcore.indices import SummaryIndex
    >>> from ragcore.llms import ScriptedLLM
    >>> type(SummaryIndex([]).as_chat_engine(ChatMode.CONTEXT, llm=ScriptedLLM([]))).__name__
    'ContextChatEngine'
    """

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
    """`memory` is the conversation, by default a new one; `chat_history` is added to it. `wording` replaces
    prompts by name.

    ValueError for an unknown mode; ConfigError for OPENAI with a model that cannot call functions.

    >>> from ragcore.indices import SummaryIndex
    >>> from ragcore.llms import ScriptedLLM
    >>> retriever = SummaryIndex([]).as_retriever()
    >>> str(chat_engine("simple", llm=ScriptedLLM(["Hello!"]), retriever=retriever).chat("Hi"))
    'Hello!'
    """
    mode = ChatMode(mode)
    if mode is ChatMode.BEST:
        mode = ChatMode.OPENAI if llm.metadata.is_function_calling_model else ChatMode.CONDENSE_PLUS_CONTEXT
    in_context = mode in (ChatMode.CONTEXT, ChatMode.CONDENSE_PLUS_CONTEXT)
    memory = get_memory(llm, memory, chat_history, room_for_talk(llm) if in_context else None)
    wording = wording or {}
    condense = wording.get(CONDENSE_QUESTION.name, CONDENSE_QUESTION)
    synthesizer = Synthesizer(llm, response_mode, _prompts(mode, wording), system_prompt=system_prompt)
    match mode:
        case ChatMode.SIMPLE:
            prompt = wording.get(SIMPLE_CHAT.name, SIMPLE_CHAT)
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
    react.prompt = wording.get(REACT.name, REACT)
    return react


def _prompts(mode: ChatMode, wording: Mapping[str, Prompt]) -> Prompts:
    """The prompts of the mode's answers. The system prompt comes before them; agents add it themselves."""
    current = override_prompts(wording)
    if mode in (ChatMode.REACT, ChatMode.OPENAI, ChatMode.SIMPLE):
        return current
    prompts = replace(in_conversation(current), simple=wording.get(SIMPLE_CHAT.name, SIMPLE_CHAT))
    if mode is ChatMode.CONDENSE_QUESTION:
        return prompts
    return replace(prompts, text_qa=wording.get(CONTEXT_CHAT.name, CONTEXT_CHAT))


def in_conversation(prompts: Prompts) -> Prompts:
    """The prompts of answers from passages as steps of a conversation: the system prompt comes first."""
    return replace(
        prompts,
        text_qa=in_chat(prompts.text_qa),
        refine=in_chat(prompts.refine),
        summary=in_chat(prompts.summary),
    )
