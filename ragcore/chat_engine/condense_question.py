"""Rewrites each message as a standalone question and lets a query engine answer it. From the second turn on,
the rewriting takes one more call of the model."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import ClassVar

from ragcore.chat_engine.base import ChatEngine, Reply, condense, get_memory
from ragcore.extractive.answerer import Writer, as_llm
from ragcore.llms.base import LLM
from ragcore.memory import ChatMemoryBuffer
from ragcore.prompts.templates import Wording, replace_prompt
from ragcore.prompts.wording import CONDENSE_QUESTION
from ragcore.query_engine.base import QueryEngine
from ragcore.response_synthesizers.progress import synthesis_of
from ragcore.schema import ChatMessage
from ragcore.settings import services
from ragcore.tools import ToolOutput


class CondenseQuestionChatEngine(ChatEngine):
    """Stores the user's message, not the condensed question. A turn whose answer is only that no passage was
    found is not stored.

    >>> from ragcore.indices import SummaryIndex
    >>> from ragcore.llms import ScriptedLLM
    >>> from ragcore.schema import TextNode
    >>> llm = ScriptedLLM(["Ada [1].", "When did Ada write?", "In 1843 [1]."])
    >>> engine = SummaryIndex([TextNode("Ada wrote notes in 1843.")]).as_query_engine(llm=llm)
    >>> chat = CondenseQuestionChatEngine.from_defaults(engine, llm=llm)
    >>> [str(chat.chat(message)) for message in ("Who wrote notes?", "When?")]
    ['Ada [1].', 'In 1843 [1].']
    """

    mode = "condense_question"
    prompt_attributes: ClassVar = {"condense_question_prompt": "_condense_prompt"}
    prompt_parts: ClassVar = {"query_engine": "_query_engine"}

    def __init__(
        self,
        query_engine: QueryEngine,
        llm: Writer,
        memory: ChatMemoryBuffer,
        *,
        condense_prompt: Wording = CONDENSE_QUESTION,
    ) -> None:
        super().__init__(memory)
        self._query_engine = query_engine
        self._llm = as_llm(llm)
        self._condense_prompt = replace_prompt(CONDENSE_QUESTION, condense_prompt, self._llm)

    @classmethod
    def from_defaults(
        cls,
        query_engine: QueryEngine,
        condense_question_prompt: Wording | None = None,
        chat_history: Sequence[ChatMessage] | None = None,
        memory: ChatMemoryBuffer | None = None,
        llm: LLM | None = None,
        verbose: bool = False,
    ) -> CondenseQuestionChatEngine:
        """`llm` condenses the question. The query engine answers it with its own model and system prompt."""
        llm = services(llm).llm
        prompt = condense_question_prompt or CONDENSE_QUESTION
        engine = cls(query_engine, llm, get_memory(llm, memory, chat_history), condense_prompt=prompt)
        engine.verbose = verbose
        return engine

    def _reply(self, message: str, history: list[ChatMessage]) -> Reply:
        question = condense(self._llm, message, history, self._condense_prompt)
        answer = self._query_engine.stream_query(question)
        passages = "\n\n".join(hit.text for hit in answer.source_nodes)
        source = ToolOutput(passages, "query_engine", {"query": question}, answer.source_nodes)

        def pieces() -> Generator[str, None, None]:
            yield from answer.pieces
            synthesis = synthesis_of(answer.trace) if answer.trace is not None else None
            reply.remembered = synthesis is None or synthesis.facts.get("outcome") != "nothing"

        reply = Reply(pieces(), answer.source_nodes, (source,))
        return reply
