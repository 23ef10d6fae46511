"""Conversations in which the passages found for each message stand before the model together with what was said.

`context` looks up the message as it is: one call a turn. `condense_plus_context` first makes it a question that stands alone,
from the second turn on with a call of its own, and looks that up; a model that writes still sees the message as it was.
"""

from __future__ import annotations

from collections.abc import Sequence

from ragcore.chat_engine.base import ChatEngine, Reply, ToolOutput, condense
from ragcore.memory import ChatMemoryBuffer
from ragcore.prompts import CHAT_REFINE, CHAT_SUMMARIZE, CONTEXT_CHAT, SIMPLE_CHAT
from ragcore.query_engine.retriever import NodePostprocessor, Retriever, postprocessed
from ragcore.response_synthesizers.modes import Prompts
from ragcore.response_synthesizers.synthesizer import Synthesizer
from ragcore.schema import ChatMessage, QueryBundle

CHAT_PROMPTS = Prompts(text_qa=CONTEXT_CHAT, refine=CHAT_REFINE, summary=CHAT_SUMMARIZE, simple=SIMPLE_CHAT)


class ContextChatEngine(ChatEngine):
    """When passages and history do not fit one call, the synthesizer's mode says how several make one answer."""

    mode = "context"

    def __init__(
        self,
        retriever: Retriever,
        synthesizer: Synthesizer,
        memory: ChatMemoryBuffer,
        node_postprocessors: Sequence[NodePostprocessor] = (),
    ) -> None:
        super().__init__(memory)
        self._retriever = retriever
        self._synthesizer = synthesizer
        self._postprocessors = tuple(node_postprocessors)

    def _question(self, message: str, history: list[ChatMessage]) -> str:
        """What to look up."""
        return message

    def _reply(self, message: str, history: list[ChatMessage]) -> Reply:
        bundle = QueryBundle(self._question(message, history))
        nodes = postprocessed(self._retriever.retrieve(bundle), bundle, self._postprocessors)
        # A reader that only quotes makes nothing of the conversation: it needs the question that stands alone.
        asked = bundle.query_str if self._synthesizer.llm.metadata.is_extractive else message
        answer = self._synthesizer.stream(asked, nodes, history)
        source = ToolOutput("\n\n".join(found.text for found in nodes), "retriever", {"query": bundle.query_str}, nodes)
        return Reply(answer.pieces, nodes, (source,), remembered=bool(nodes))


class CondensePlusContextChatEngine(ContextChatEngine):
    mode = "condense_plus_context"

    def _question(self, message: str, history: list[ChatMessage]) -> str:
        return condense(self._synthesizer.llm, message, history)
