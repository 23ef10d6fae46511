"""A conversation with the language model alone: one call a turn, no documents."""

from __future__ import annotations

from ragcore.chat_engine.base import ChatEngine, Reply
from ragcore.llms.base import LLM
from ragcore.memory import ChatMemoryBuffer
from ragcore.prompts import DEFAULT_SYSTEM_PROMPT, SIMPLE_CHAT
from ragcore.response_synthesizers.pack import Packer
from ragcore.schema import ChatMessage


class SimpleChatEngine(ChatEngine):
    mode = "simple"

    def __init__(self, llm: LLM, memory: ChatMemoryBuffer, *, system_prompt: str = "") -> None:
        super().__init__(memory)
        self._llm = llm
        self._system_prompt = system_prompt or DEFAULT_SYSTEM_PROMPT

    def _reply(self, message: str, history: list[ChatMessage]) -> Reply:
        variables = {"query_str": message, "system_prompt": self._system_prompt}
        call = Packer(self._llm).take(SIMPLE_CHAT, variables, (), history).calls[0]
        return Reply(self._llm.stream(call))
