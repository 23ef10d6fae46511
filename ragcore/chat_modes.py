"""The chat engines by name, and one function that builds any of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import Enum

from ragcore.chat_engine.base import ChatEngine, get_memory
from ragcore.chat_engine.condense_question import CondenseQuestionChatEngine
from ragcore.chat_engine.context import CondensePlusContextChatEngine, ContextChatEngine, room_for_talk
from ragcore.chat_engine.simple import SimpleChatEngine
from ragcore.extractive.answerer import Writer, as_llm, writer_of
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
from ragcore.response_synthesizers.modes import Prompts, override_prompts
from ragcore.response_synthesizers.response_mode import ResponseMode
from ragcore.response_synthesizers.synthesizer import synthesizer_for
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

    def for_writer(self, writer: Writer) -> ChatMode:
        """The mode that BEST stands for; any other is itself."""
        if self is not ChatMode.BEST:
            return self
        calls_functions = isinstance(writer, LLM) and writer.metadata.is_function_calling_model
        return ChatMode.OPENAI if calls_functions else ChatMode.CONDENSE_PLUS_CONTEXT


def chat_engine(
    mode: ChatMode | str,
    *,
    llm: Writer,
    retriever: Retriever,
    memory: ChatMemoryBuffer | None = None,
    chat_history: Sequence[ChatMessage] | None = None,
    system_prompt: str = "",
    postprocessors: Sequence[NodePostprocessor] = (),
    response_mode: ResponseMode | str = ResponseMode.COMPACT,
    wording: Mapping[str, Prompt] | None = None,
) -> ChatEngine:
    """`llm` is a model, or the engine that quotes. `memory` is the conversation, by default a new one;
    `chat_history` is added to it. `wording` replaces prompts by name.

    ValueError for an unknown mode; ConfigError for OPENAI with a model that cannot call functions.

    >>> from ragcore.indices import SummaryIndex
    >>> from ragcore.llms import ScriptedLLM
    >>> retriever = SummaryIndex([]).as_retriever()
    >>> str(chat_engine("simple", llm=ScriptedLLM(["Hello!"]), retriever=retriever).chat("Hi"))
    'Hello!'
    """
    writer, room = writer_of(llm), None
    mode = ChatMode(mode).for_writer(writer)
    if isinstance(writer, LLM) and mode in (ChatMode.CONTEXT, ChatMode.CONDENSE_PLUS_CONTEXT):
        room = room_for_talk(writer)
    memory = get_memory(writer, memory, chat_history, room)
    wording = wording or {}
    condense = wording.get(CONDENSE_QUESTION.name, CONDENSE_QUESTION)
    prompts = mode_prompts(mode, wording)
    synthesizer = synthesizer_for(writer, response_mode, prompts, system_prompt=system_prompt)
    match mode:
        case ChatMode.SIMPLE:
            prompt = wording.get(SIMPLE_CHAT.name, SIMPLE_CHAT)
            return SimpleChatEngine(as_llm(llm), memory, system_prompt=system_prompt, prompt=prompt)
        case ChatMode.CONTEXT:
            return ContextChatEngine(retriever, synthesizer, memory, postprocessors)
        case ChatMode.CONDENSE_PLUS_CONTEXT:
            engine = CondensePlusContextChatEngine(retriever, synthesizer, memory, postprocessors)
            engine.condense_prompt = condense
            return engine
    query_engine = RetrieverQueryEngine(retriever, synthesizer, postprocessors)
    if mode is ChatMode.CONDENSE_QUESTION:
        return CondenseQuestionChatEngine(query_engine, writer, memory, condense_prompt=condense)
    from ragcore.agent.function_calling import OpenAIAgent
    from ragcore.agent.react import ReActAgent

    tools = [QueryEngineTool.from_defaults(query_engine)]
    if mode is ChatMode.OPENAI:
        return OpenAIAgent(tools, as_llm(llm), memory, system_prompt=system_prompt)
    react = ReActAgent(tools, as_llm(llm), memory, system_prompt=system_prompt)
    react.prompt = wording.get(REACT.name, REACT)
    return react


def mode_prompts(mode: ChatMode, wording: Mapping[str, Prompt]) -> Prompts:
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
