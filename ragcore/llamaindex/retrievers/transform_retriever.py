"""Changes of a question before the search: into an imagined answer, or the next simple question."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from ragcore.llms.base import LLM, LLMCall
from ragcore.observe import Span, span
from ragcore.prompts.mixin import PromptMixin
from ragcore.prompts.templates import Wording, replace_prompt
from ragcore.prompts.wording import DECOMPOSE, HYDE
from ragcore.retrievers.base import BaseRetriever
from ragcore.schema import NodeWithScore, QueryBundle, as_bundle
from ragcore.settings import services

logger = logging.getLogger(__name__)


class BaseQueryTransform(PromptMixin, ABC):
    """It has no state of a question: threads may share it. With `verbose` it logs each trace.

    >>> class AsStatement(BaseQueryTransform):
    ...     def _run(self, query, metadata):
    ...         return QueryBundle(query.query_str.replace("?", "."))
    >>> AsStatement().run("Ada wrote notes?").query_str
    'Ada wrote notes.'
    """

    verbose: bool = False

    def run(self, query: str | QueryBundle, metadata: Mapping[str, str] | None = None) -> QueryBundle:
        """A new question; `query` stays as it is. Each subclass documents the `metadata` that it reads.
        LLMErrors."""
        bundle = as_bundle(query)
        with span("transform_query", transform=type(self).__name__, question=bundle.query_str) as step:
            changed = self._run(bundle, metadata or {})
            step.note(becomes=changed.query_str, embedded=list(changed.embedding_strs))
        if self.verbose:
            logger.info("%s", step.outline())
        return changed

    def __call__(self, query: str | QueryBundle, metadata: Mapping[str, str] | None = None) -> QueryBundle:
        return self.run(query, metadata)

    @abstractmethod
    def _run(self, query: QueryBundle, metadata: Mapping[str, str]) -> QueryBundle: ...


class HyDEQueryTransform(BaseQueryTransform):
    """Searches for a passage that the model imagines as the answer (HyDE, Gao et al. 2022,
    https://arxiv.org/abs/2212.10496).

    The answer is still to the question. With `include_original` its own words are embedded too.

    >>> from ragcore.llms import ScriptedLLM
    >>> HyDEQueryTransform(ScriptedLLM(["Ada wrote notes."])).run("Who wrote notes?").embedding_strs
    ('Ada wrote notes.', 'Who wrote notes?')
    """

    prompt_attributes: ClassVar = {"hyde_prompt": "_prompt"}

    def __init__(
        self, llm: LLM | None = None, hyde_prompt: Wording = HYDE, include_original: bool = True
    ) -> None:
        self._llm = services(llm).llm
        self._prompt = replace_prompt(HYDE, hyde_prompt, self._llm)
        self._include_original = include_original

    def _run(self, query: QueryBundle, metadata: Mapping[str, str]) -> QueryBundle:
        imagined = self._llm.generate(LLMCall(self._prompt, {"query_str": query.query_str})).text.strip()
        texts = [imagined, *(query.embedding_strs if self._include_original or not imagined else ())]
        return replace(query, custom_embedding_strs=tuple(dict.fromkeys(filter(None, texts))), embedding=None)


class DecomposeQueryTransform(BaseQueryTransform):
    """A simple question to an index as a part of a greater one, which stays if the model needs no other.

    Reads `index_summary`, which describes the index.

    >>> from ragcore.llms import ScriptedLLM
    >>> transform = DecomposeQueryTransform(ScriptedLLM(["Who wrote the notes?"]))
    >>> transform.run("Where was the author of the notes born?", {"index_summary": "Letters."}).query_str
    'Who wrote the notes?'
    """

    prompt_attributes: ClassVar = {"decompose_query_prompt": "_prompt"}

    def __init__(
        self, llm: LLM | None = None, decompose_query_prompt: Wording = DECOMPOSE, verbose: bool = False
    ) -> None:
        self._llm = services(llm).llm
        self.verbose = verbose
        self._prompt = replace_prompt(DECOMPOSE, decompose_query_prompt, self._llm)

    def _run(self, query: QueryBundle, metadata: Mapping[str, str]) -> QueryBundle:
        question = self._next_question(query, metadata)
        return QueryBundle(query.query_str if is_none(question) else question)

    def _next_question(self, query: QueryBundle, metadata: Mapping[str, str]) -> str:
        known = {
            "context_str": metadata.get("index_summary", ""),
            "existing_answer": metadata.get("prev_reasoning", ""),
        }
        reply = self._llm.generate(
            LLMCall(self._prompt, {"query_str": query.query_str, **known})
        ).text.strip()
        return reply or query.query_str


class StepDecomposeQueryTransform(DecomposeQueryTransform):
    """The next question in a chain, or "None". Also reads `prev_reasoning`, the questions and answers so
    far.

    >>> from ragcore.llms import ScriptedLLM
    >>> transform = StepDecomposeQueryTransform(ScriptedLLM(["Where was Ada born?"]))
    >>> so_far = {"prev_reasoning": "Who wrote the notes? Ada."}
    >>> transform.run("Where was the author of the notes born?", so_far).query_str
    'Where was Ada born?'
    """

    prompt_attributes: ClassVar = {"step_decompose_query_prompt": "_prompt"}

    def _run(self, query: QueryBundle, metadata: Mapping[str, str]) -> QueryBundle:
        return QueryBundle(self._next_question(query, metadata))


class TransformRetriever(BaseRetriever):
    """Searches for a changed question. The transform gets `transform_metadata` with each.

    >>> from ragcore.indices import SummaryIndex
    >>> from ragcore.llms import ScriptedLLM
    >>> from ragcore.schema import TextNode
    >>> retriever = SummaryIndex([TextNode("Ada wrote notes.")]).as_retriever()
    >>> TransformRetriever(retriever, HyDEQueryTransform(ScriptedLLM(["Ada did."]))).retrieve("Who?")[0].text
    'Ada wrote notes.'
    """

    name = "transform"
    prompt_parts: ClassVar = {"query_transform": "_transform"}

    def __init__(
        self,
        retriever: BaseRetriever,
        query_transform: BaseQueryTransform,
        transform_metadata: Mapping[str, str] | None = None,
    ) -> None:
        self._retriever = retriever
        self._transform = query_transform
        self._metadata = transform_metadata

    def _retrieve(self, query: QueryBundle, step: Span) -> list[NodeWithScore]:
        return self._retriever.retrieve(self._transform.run(query, self._metadata))


def is_none(question: str) -> bool:
    """Whether a model's question is "None", in any punctuation."""
    return question.strip(" .\"'*").casefold() == "none"
