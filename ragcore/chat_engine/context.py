"""Chat engines whose model reads the conversation and the passages for each message.

`context` searches for the message as it is: one call per turn. `condense_plus_context` first condenses it,
with a call of its own from the second turn on, and searches for the condensed question; the model still reads
the message as it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

from ragcore.chat_engine.base import ChatEngine, Reply, condense, get_memory, system_and_prefix
from ragcore.extractive.answerer import as_llm
from ragcore.llms.base import LLM
from ragcore.memory import ChatMemoryBuffer
from ragcore.prompts.prompt import Prompt
from ragcore.prompts.templates import Wording, replace_prompt
from ragcore.prompts.wording import CHAT_REFINE, CHAT_SUMMARIZE, CONDENSE_QUESTION, CONTEXT_CHAT, SIMPLE_CHAT
from ragcore.query_engine.retriever import NodePostprocessor, run_postprocessors
from ragcore.response_synthesizers.base import AnySynthesizer
from ragcore.response_synthesizers.modes import Prompts
from ragcore.response_synthesizers.synthesizer import synthesizer_for
from ragcore.retrievers.base import Retriever
from ragcore.schema import ChatMessage, MessageRole, QueryBundle
from ragcore.settings import services
from ragcore.tools import ToolOutput

CHAT_PROMPTS = Prompts(text_qa=CONTEXT_CHAT, refine=CHAT_REFINE, summary=CHAT_SUMMARIZE, simple=SIMPLE_CHAT)

WITHOUT_HISTORY = 256  # tokens of the model's window that the conversation never takes


def room_for_talk(llm: LLM) -> int:
    """The tokens of a conversation that is sent with passages; the packer makes both fit."""
    return max(1, llm.metadata.context_window - WITHOUT_HISTORY)


class ContextChatEngine(ChatEngine):
    """If passages and history do not fit one call, the synthesizer's mode combines the answers of several
    calls.

    >>> from ragcore.indices import SummaryIndex
    >>> from ragcore.llms import ScriptedLLM
    >>> from ragcore.schema import TextNode
    >>> retriever = SummaryIndex([TextNode("Ada wrote notes.")]).as_retriever()
    >>> str(
    ...     ContextChatEngine.from_defaults(retriever, llm=ScriptedLLM(["Ada [1]."])).chat("Who wrote notes?")
    ... )
    'Ada [1].'
    """

    mode = "context"
    prompt_attributes: ClassVar = {"context_template": "_context_prompt"}

    def __init__(
        self,
        retriever: Retriever,
        synthesizer: AnySynthesizer,
        memory: ChatMemoryBuffer,
        node_postprocessors: Sequence[NodePostprocessor] = (),
        prefix_messages: Sequence[ChatMessage] = (),
    ) -> None:
        super().__init__(memory, prefix_messages)
        self._retriever = retriever
        self._synthesizer = synthesizer
        self._postprocessors = tuple(node_postprocessors)

    @classmethod
    def from_defaults(
        cls,
        retriever: Retriever,
        llm: LLM | None = None,
        *,
        chat_history: Sequence[ChatMessage] | None = None,
        memory: ChatMemoryBuffer | None = None,
        system_prompt: str | None = None,
        prefix_messages: Sequence[ChatMessage] | None = None,
        node_postprocessors: Sequence[NodePostprocessor] | None = None,
        context_template: Wording | None = None,
    ) -> Self:
        """A `context_template` of one message, with {context_str}, comes before the question; several
        messages are sent as they are. ValueError for both a system prompt and prefix messages."""
        system, prefix = system_and_prefix(system_prompt, prefix_messages)
        chosen = services(llm).llm
        synthesizer = synthesizer_for(chosen, None, CHAT_PROMPTS, system_prompt=system)
        memory = get_memory(chosen, memory, chat_history, room_for_talk(chosen))
        engine = cls(retriever, synthesizer, memory, node_postprocessors or (), prefix)
        if context_template is not None:
            engine._context_prompt = replace_prompt(CONTEXT_CHAT, context_template, chosen)
        return engine

    @property
    def _llm(self) -> LLM:
        return as_llm(self._synthesizer.writer)

    @property
    def _context_prompt(self) -> Prompt:
        return self._synthesizer.prompts.text_qa

    @_context_prompt.setter
    def _context_prompt(self, prompt: Prompt) -> None:
        """A prompt of one message comes behind the system prompt, with the question at its end."""
        if len(prompt.messages) == 1:
            text = prompt.get_template() + ("" if "query_str" in prompt.variables else "\n\n{query_str}")
            system = ChatMessage(MessageRole.SYSTEM, "{system_prompt}")
            prompt = replace(prompt, messages=(system, ChatMessage(MessageRole.USER, text)))
        self._synthesizer.prompts = replace(self._synthesizer.prompts, text_qa=prompt)

    def _question(self, message: str, history: list[ChatMessage]) -> str:
        """The question to search for."""
        return message

    def _reply(self, message: str, history: list[ChatMessage]) -> Reply:
        bundle = QueryBundle(self._question(message, history))
        nodes = run_postprocessors(self._retriever.retrieve(bundle), bundle, self._postprocessors)
        question = message if self._synthesizer.reads_conversation else bundle.query_str
        answer = self._synthesizer.stream(question, nodes, (*self._prefix, *history))
        source = ToolOutput(
            "\n\n".join(hit.text for hit in nodes), "retriever", {"query": bundle.query_str}, nodes
        )
        return Reply(answer.pieces, nodes, (source,), remembered=bool(nodes))


class CondensePlusContextChatEngine(ContextChatEngine):
    """From the second message on, it searches for the message rewritten as a standalone question.

    >>> from ragcore.indices import SummaryIndex
    >>> from ragcore.llms import ScriptedLLM
    >>> from ragcore.schema import TextNode
    >>> retriever = SummaryIndex([TextNode("Ada wrote notes in 1843.")]).as_retriever()
    >>> llm = ScriptedLLM(["Ada [1].", "When did Ada write?", "In 1843 [1]."])
    >>> chat = CondensePlusContextChatEngine.from_defaults(retriever, llm=llm)
    >>> [str(chat.chat(message)) for message in ("Who wrote notes?", "When?")]
    ['Ada [1].', 'In 1843 [1].']
    """

    mode = "condense_plus_context"
    prompt_attributes: ClassVar = {"context_prompt": "_context_prompt", "condense_prompt": "condense_prompt"}
    condense_prompt: Prompt | None = CONDENSE_QUESTION  # None: the search uses the message itself

    @classmethod
    def from_defaults(
        cls,
        retriever: Retriever,
        llm: LLM | None = None,
        *,
        condense_prompt: Wording | None = None,
        skip_condense: bool = False,
        context_prompt: Wording | None = None,
        verbose: bool = False,
        **options: Any,
    ) -> Self:
        """With `skip_condense` the search uses the message itself. `context_prompt` is the `context_template`
        of `ContextChatEngine`, whose other arguments are those of this engine too."""
        engine = super().from_defaults(retriever, llm, context_template=context_prompt, **options)
        wording = replace_prompt(CONDENSE_QUESTION, condense_prompt or CONDENSE_QUESTION, engine._llm)
        engine.condense_prompt = None if skip_condense else wording
        engine.verbose = verbose
        return engine

    def _question(self, message: str, history: list[ChatMessage]) -> str:
        if self.condense_prompt is None:
            return message
        return condense(self._synthesizer.writer, message, history, self.condense_prompt)
