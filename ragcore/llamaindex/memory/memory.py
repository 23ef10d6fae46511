"""A conversation whose older messages move to blocks: fixed text, facts that a model extracts, messages
retrieved by meaning."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Sequence, Sized
from dataclasses import replace
from enum import Enum
from functools import partial
from typing import Any, Generic, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, field_validator

from ragcore.concurrency import run_coroutine
from ragcore.llms.base import LLM, LLMCall
from ragcore.memory.chat_memory import ChatMemoryBuffer, length_by
from ragcore.prompts.templates import Wording, replace_prompt
from ragcore.prompts.wording import CONDENSE_FACTS, EXTRACT_FACTS
from ragcore.retrievers.base import BaseRetriever
from ragcore.schema import ChatMessage, MessageRole, TextNode, new_id
from ragcore.schema.content_blocks import Block, TextBlock, text_of
from ragcore.settings import embedder, services
from ragcore.storage.chat_store import ChatStore
from ragcore.text.tokens import count_tokens

TOKEN_LIMIT = 30_000
Content = TypeVar("Content")  # of a block: a text, content blocks or messages
FLUSH_SIZE = 3_000  # tokens


class InsertMethod(str, Enum):
    """Whether the blocks' contents go into a system message before the others, or into the user's last
    message."""

    SYSTEM = "system"
    USER = "user"


class BaseMemoryBlock(BaseModel, Generic[Content]):
    """Subclasses implement `_aget` and `_aput`. A block of priority 0 is always sent. If there is no room,
    blocks with the highest numbers are dropped first.

    >>> class Names(BaseMemoryBlock[str]):
    ...     name: str = "names"
    ...
    ...     async def _aget(self, messages=None, **block_kwargs):
    ...         return "The user is Ada."
    ...
    ...     async def _aput(self, messages):
    ...         pass
    >>> Memory(memory_blocks=[Names()]).get()[0].content.splitlines()[2]
    'The user is Ada.'
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    name: str
    description: str | None = None
    priority: int = 0
    accept_short_term_memory: bool = True

    @abstractmethod
    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> Content:
        """The content to send for a conversation."""

    @abstractmethod
    async def _aput(self, messages: list[ChatMessage]) -> None:
        """Store messages that are no longer sent."""

    async def atruncate(self, content: Any, tokens_to_truncate: int) -> Any:
        """The content, shorter by `tokens_to_truncate`; None drops it."""
        return None

    async def aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> Any:
        return await self._aget(messages, **block_kwargs)

    async def aput(
        self, messages: list[ChatMessage], from_short_term_memory: bool = False, session_id: str | None = None
    ) -> None:
        """Store messages. Those that come from the conversation are ignored without
        `accept_short_term_memory`."""
        if self.accept_short_term_memory or not from_short_term_memory:
            await self._aput(messages)


class StaticMemoryBlock(BaseMemoryBlock[Any]):
    """The same text for every conversation.

    >>> StaticMemoryBlock(static_content="Ada wrote notes.").static_content
    [TextBlock(text='Ada wrote notes.')]
    """

    name: str = "StaticContent"
    static_content: list[Any] = Field(default_factory=list)

    @field_validator("static_content", mode="before")
    @classmethod
    def _as_blocks(cls, content: Any) -> Any:
        return [TextBlock(content)] if isinstance(content, str) else content

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> Any:
        return self.static_content

    async def _aput(self, messages: list[ChatMessage]) -> None:
        """The content is fixed."""


class FactExtractionMemoryBlock(BaseMemoryBlock[str]):
    """Facts that a model extracts from the messages. If there are more than `max_facts`, one call condenses
    them.

    >>> from ragcore.llms import ScriptedLLM
    >>> FactExtractionMemoryBlock(llm=ScriptedLLM(), max_facts=20).facts
    []
    """

    name: str = "extracted_facts"
    llm: Any = Field(default_factory=lambda: services().llm)
    facts: list[str] = Field(default_factory=list)
    max_facts: int = 50
    fact_extraction_prompt_template: Any = EXTRACT_FACTS
    fact_condense_prompt_template: Any = CONDENSE_FACTS

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        return "\n".join(f"<fact>{fact}</fact>" for fact in self.facts)

    async def _aput(self, messages: list[ChatMessage]) -> None:
        if not messages:
            return
        known = "\n".join(self.facts)
        new = await self._ask(
            EXTRACT_FACTS, self.fact_extraction_prompt_template, messages, existing_facts=known
        )
        self.facts.extend(fact for fact in new if fact not in self.facts)
        if len(self.facts) > self.max_facts:
            known, most = "\n".join(self.facts), str(self.max_facts)
            shorter = await self._ask(
                CONDENSE_FACTS,
                self.fact_condense_prompt_template,
                messages,
                existing_facts=known,
                max_facts=most,
            )
            self.facts = shorter[: self.max_facts] or self.facts[-self.max_facts :]

    async def _ask(
        self, ours: Any, wording: Wording, messages: list[ChatMessage], **values: str
    ) -> list[str]:
        llm: LLM = self.llm
        call = LLMCall(replace_prompt(ours, wording, llm), {**values, "chat_history": tuple(messages)})
        reply = (await llm.achat([ChatMessage(content=call.messages()[-1].content)])).message.content
        lines = re.findall(r"<fact>(.*?)</fact>", reply, re.DOTALL) or reply.splitlines()
        return [fact for line in lines if (fact := line.strip(" -*\n")) and not fact.startswith("<")]


class VectorMemoryBlock(BaseMemoryBlock[str]):
    """Earlier messages similar to the newest ones, retrieved from a vector index of their own.

    >>> from ragcore.embeddings import HashEmbedding
    >>> VectorMemoryBlock(embed_model=HashEmbedding(), similarity_top_k=2).name
    'retrieved_messages'
    """

    name: str = "retrieved_messages"
    vector_store: Any = None
    embed_model: Any = None
    similarity_top_k: int = 2
    retrieval_context_window: int = 5
    node_postprocessors: list[Any] = Field(default_factory=list)
    query_kwargs: dict[str, Any] = Field(default_factory=dict)
    _index: Any = PrivateAttr(default=None)

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        question = "\n".join(
            message.content for message in (messages or ())[-self.retrieval_context_window :]
        )
        if not question.strip() or self._index is None:
            return ""
        retriever: BaseRetriever = self._index.as_retriever(
            similarity_top_k=self.similarity_top_k, **self.query_kwargs
        )
        hits = await retriever.aretrieve(question)
        for postprocessor in self.node_postprocessors:
            hits = postprocessor.postprocess_nodes(hits)
        return "\n\n".join(hit.node.text for hit in hits)

    async def _aput(self, messages: list[ChatMessage]) -> None:
        from ragcore.indices.vector import VectorStoreIndex
        from ragcore.storage.storage_context import StorageContext

        text = "\n".join(
            f"<message role='{each.role.value}'>{each.content}</message>" for each in messages if each.content
        )
        if not text:
            return
        if self._index is None:
            context = (
                StorageContext.from_defaults(vector_store=self.vector_store) if self.vector_store else None
            )
            self._index = VectorStoreIndex(
                [], storage_context=context, embed_model=embedder(self.embed_model)
            )
        self._index.insert_nodes([TextNode(text)])


class Memory(ChatMemoryBuffer):
    """A conversation, and blocks for messages that no longer fit its share of `token_limit`.

    When the messages exceed the share `chat_history_token_ratio` of the limit, the oldest whole turns, at
    least `token_flush_size` tokens, move to the blocks and are no longer sent. Blocks may call models for
    that.

    >>> memory = Memory.from_defaults(
    ...     session_id="ada", memory_blocks=[StaticMemoryBlock(static_content="The user is Ada.")]
    ... )
    >>> memory.put(ChatMessage(role="user", content="Who am I?"))
    >>> [message.role.value for message in memory.get()]
    ['system', 'user']
    >>> print(memory.get()[0].content)
    <memory>
    <StaticContent>
    The user is Ada.
    </StaticContent>
    </memory>
    """

    def __init__(
        self,
        token_limit: int = TOKEN_LIMIT,
        memory_blocks: Sequence[BaseMemoryBlock[Any]] | None = None,
        tokenizer_fn: Callable[[str], Sized] | None = None,
        chat_history_token_ratio: float = 0.7,
        token_flush_size: int = FLUSH_SIZE,
        insert_method: InsertMethod | str = InsertMethod.SYSTEM,
        session_id: str | None = None,
        *,
        chat_history: Sequence[ChatMessage] | None = None,
        chat_store: ChatStore | None = None,
    ) -> None:
        """`session_id` is the key of the conversation in `chat_store`, a new one by default."""
        count = count_tokens if tokenizer_fn is None else partial(length_by, tokenizer_fn)
        super().__init__(
            token_limit, chat_history, count, chat_store=chat_store, chat_store_key=session_id or new_id()
        )
        self.memory_blocks = tuple(memory_blocks or ())
        self.insert_method = InsertMethod(insert_method)
        self.chat_history_token_ratio, self.token_flush_size = (
            chat_history_token_ratio,
            min(token_flush_size, token_limit),
        )

    @classmethod
    def from_defaults(cls, session_id: str | None = None, **options: Any) -> Self:  # type: ignore[override]
        """As the constructor."""
        return cls(session_id=session_id, **options)

    @property
    def session_id(self) -> str:
        return self.chat_store_key

    def put(self, *messages: ChatMessage) -> None:
        super().put(*messages)
        room = int(self.token_limit * self.chat_history_token_ratio)
        talk = self.get_all()
        if not self.memory_blocks or self.cost(talk) <= room:
            return
        old = self._oldest(talk, max(self.cost(talk) - room, self.token_flush_size))
        self.set(talk[len(old) :])
        for block in self.memory_blocks:
            run_coroutine(block.aput(old, from_short_term_memory=True, session_id=self.session_id))

    def get(self, input: str | ChatMessage | None = None, **block_kwargs: Any) -> list[ChatMessage]:  # type: ignore[override]
        """The messages that fit, with the blocks' contents. `input` is the next question, for blocks that
        search by it."""
        talk = self.get_all()
        question = [ChatMessage(content=input)] if isinstance(input, str) else []
        if isinstance(input, ChatMessage):
            question = [input]
        contents = self._block_contents([*talk, *question], block_kwargs)
        room = max(1, self.token_limit - self._count(contents))
        return self._with(self.fit(talk, self.token_limit - room) if contents else self.fit(talk), contents)

    def _oldest(self, talk: list[ChatMessage], tokens: int) -> list[ChatMessage]:
        """Whole turns of at least `tokens` tokens, without the last turn."""
        starts = [place for place, message in enumerate(talk) if message.role is MessageRole.USER and place]
        ends = (place for place in starts if self.cost(talk[:place]) >= tokens)
        return talk[: next(ends, starts[-1] if starts else 0)]

    def _block_contents(self, talk: list[ChatMessage], block_kwargs: dict[str, Any]) -> str:
        """The contents of the blocks that fit half the limit, in the order of their priorities."""
        contents: list[tuple[BaseMemoryBlock[Any], Any]] = []
        for block in sorted(self.memory_blocks, key=lambda each: each.priority):
            content = run_coroutine(block.aget(talk, session_id=self.session_id, **block_kwargs))
            over = sum(self._count(_as_text(other)) for _, other in contents) + self._count(_as_text(content))
            if block.priority and (over := over - self.token_limit // 2) > 0:
                content = run_coroutine(block.atruncate(content, over))
            if content:
                contents.append((block, content))
        inner = "\n".join(
            f"<{block.name}>\n{_as_text(content)}\n</{block.name}>" for block, content in contents
        )
        return f"<memory>\n{inner}\n</memory>" if inner else ""

    def _with(self, talk: list[ChatMessage], contents: str) -> list[ChatMessage]:
        if not contents:
            return talk
        places = [place for place, message in enumerate(talk) if message.role is MessageRole.USER]
        if self.insert_method is InsertMethod.USER and places:
            last = talk[places[-1]]
            talk[places[-1]] = replace(last, content=f"{contents}\n\n{last.content}")
            return talk
        if talk and talk[0].role is MessageRole.SYSTEM:
            return [replace(talk[0], content=f"{talk[0].content}\n\n{contents}"), *talk[1:]]
        return [ChatMessage(MessageRole.SYSTEM, contents), *talk]


def _as_text(content: Any) -> str:
    """A block's content as text."""
    if content is None or isinstance(content, str):
        return content or ""
    if all(isinstance(each, ChatMessage) for each in content):
        return "\n".join(map(str, content))
    blocks: Sequence[Block] = content
    return text_of(blocks)
