"""A conversation with the language model alone: one call per turn, no documents."""

from __future__ import annotations

from collections.abc import Sequence

from ragcore.chat_engine.base import ChatEngine, Reply, get_memory, system_and_prefix
from ragcore.llms.base import LLM
from ragcore.memory import ChatMemoryBuffer
from ragcore.prompts.prompt import Prompt
from ragcore.prompts.wording import DEFAULT_SYSTEM_PROMPT, SIMPLE_CHAT
from ragcore.response_synthesizers.packer import Packer
from ragcore.schema import ChatMessage
from ragcore.settings import services


class SimpleChatEngine(ChatEngine):
    """Answers with the model alone, without documents.

    >>> from ragcore.llms import ScriptedLLM
    >>> str(SimpleChatEngine.from_defaults(llm=ScriptedLLM(["Hello!"])).chat("Hi"))
    'Hello!'
    """

    mode = "simple"

    def __init__(
        self,
        llm: LLM,
        memory: ChatMemoryBuffer,
        *,
        system_prompt: str = "",
        prefix_messages: Sequence[ChatMessage] = (),
        prompt: Prompt = SIMPLE_CHAT,
    ) -> None:
        super().__init__(memory, prefix_messages)
        self._prompt = prompt
        self._llm = llm
        self._system_prompt = system_prompt or DEFAULT_SYSTEM_PROMPT

    @classmethod
    def from_defaults(
        cls,
        llm: LLM | None = None,
        chat_history: Sequence[ChatMessage] | None = None,
        memory: ChatMemoryBuffer | None = None,
        system_prompt: str | None = None,
        prefix_messages: Sequence[ChatMessage] | None = None,
    ) -> SimpleChatEngine:
        """ValueError for both a system prompt and prefix messages."""
        system, prefix = system_and_prefix(system_prompt, prefix_messages)
        chosen = services(llm).llm
        return cls(
            chosen, get_memory(chosen, memory, chat_history), system_prompt=system, prefix_messages=prefix
        )

    def _reply(self, message: str, history: list[ChatMessage]) -> Reply:
        variables = {"query_str": message, "system_prompt": self._system_prompt}
        call = Packer(self._llm).take(self._prompt, variables, (), (*self._prefix, *history)).calls[0]
        return Reply(self._llm.stream(call))
