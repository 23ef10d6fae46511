"""A query engine with finer sources: it splits passages into chunks, and each citation names one chunk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Protocol

from ragcore.concurrency import awaitable
from ragcore.llms.base import LLM
from ragcore.node_parser.sentence import SentenceSplitter
from ragcore.observe import Span
from ragcore.prompts.templates import Wording
from ragcore.query_engine.base import BaseQueryEngine
from ragcore.query_engine.retriever import NodePostprocessor, run_postprocessors
from ragcore.response_synthesizers.answer import AnswerStream
from ragcore.response_synthesizers.base import AnySynthesizer
from ragcore.response_synthesizers.response_mode import ResponseMode
from ragcore.response_synthesizers.synthesizer import get_response_synthesizer
from ragcore.retrievers.base import Retriever
from ragcore.schema import NodeWithScore, QueryBundle, TextNode, as_bundle


class Index(Protocol):
    @property  # A property and no method, so that indexes whose `as_retriever` has different arguments match.
    def as_retriever(self) -> Callable[..., Retriever]: ...


class CitationQueryEngine(BaseQueryEngine):
    """Citation [n] is `source_nodes[n - 1]`, a chunk of at most `citation_chunk_size` tokens with its
    offsets.

    A passage that is short enough is one chunk. A chunk has the score of its passage.

    >>> from ragcore.indices import SummaryIndex
    >>> from ragcore.llms import ScriptedLLM
    >>> from ragcore.schema import TextNode
    >>> index = SummaryIndex([TextNode("Ada wrote notes.")])
    >>> answer = CitationQueryEngine.from_args(index, llm=ScriptedLLM(["Ada [1]."])).query("Who?")
    >>> str(answer), answer.source_nodes[0].text
    ('Ada [1].', 'Ada wrote notes.')
    """

    prompt_parts: ClassVar = {"response_synthesizer": "_synthesizer"}

    def __init__(
        self,
        retriever: Retriever,
        llm: LLM | None = None,
        response_synthesizer: AnySynthesizer | None = None,
        citation_chunk_size: int = 512,
        citation_chunk_overlap: int = 20,
        text_splitter: SentenceSplitter | None = None,
        node_postprocessors: Sequence[NodePostprocessor] = (),
    ) -> None:
        """`text_splitter` splits the passages; without it, a SentenceSplitter with the two sizes, in
        tokens."""
        self._retriever = retriever
        self._synthesizer = response_synthesizer or get_response_synthesizer(llm)
        self._splitter = text_splitter or SentenceSplitter(citation_chunk_size, citation_chunk_overlap)
        self._postprocessors = tuple(node_postprocessors)
        self.streaming = self._synthesizer.streaming

    @classmethod
    def from_args(
        cls,
        index: Index | None = None,
        llm: LLM | None = None,
        response_synthesizer: AnySynthesizer | None = None,
        citation_chunk_size: int = 512,
        citation_chunk_overlap: int = 20,
        text_splitter: SentenceSplitter | None = None,
        retriever: Retriever | None = None,
        node_postprocessors: Sequence[NodePostprocessor] = (),
        similarity_top_k: int | None = None,
        *,
        citation_qa_template: Wording | None = None,
        citation_refine_template: Wording | None = None,
        response_mode: ResponseMode | str = ResponseMode.COMPACT,
        use_async: bool = True,
        streaming: bool = False,
    ) -> CitationQueryEngine:
        """Without a `retriever`, that of `index` with `similarity_top_k` is used. ValueError without
        either."""
        if retriever is None:
            if index is None:
                raise ValueError("an index or a retriever is needed")
            # not all indexes have it
            options = {} if similarity_top_k is None else {"similarity_top_k": similarity_top_k}
            retriever = index.as_retriever(**options)
        return cls(
            retriever,
            llm,
            response_synthesizer
            or get_response_synthesizer(
                llm,
                response_mode,
                citation_qa_template,
                citation_refine_template,
                use_async=use_async,
                streaming=streaming,
            ),
            citation_chunk_size,
            citation_chunk_overlap,
            text_splitter,
            node_postprocessors,
        )

    def retrieve(self, query: str | QueryBundle) -> list[NodeWithScore]:
        """The chunks of the passages that the postprocessors return."""
        bundle = as_bundle(query)
        hits = run_postprocessors(self._retriever.retrieve(bundle), bundle, self._postprocessors)
        return [NodeWithScore(chunk, hit.score) for hit in hits for chunk in self._split(hit.node)]

    aretrieve = awaitable(retrieve)

    def _answer(self, query: QueryBundle, step: Span) -> AnswerStream:
        return self._synthesizer.stream(query, self.retrieve(query))

    def _split(self, node: TextNode) -> list[TextNode]:
        spans = self._splitter.split_spans(node.text)
        if len(spans) <= 1:
            return [node]
        offset = node.start_char_idx
        return [
            TextNode(
                node.text[start:end],
                f"{node.id_}:{start}-{end}",
                node.metadata,
                node.ref_doc_id,
                start_char_idx=None if offset is None else offset + start,
                end_char_idx=None if offset is None else offset + end,
                excluded_embed_metadata_keys=node.excluded_embed_metadata_keys,
                excluded_llm_metadata_keys=node.excluded_llm_metadata_keys,
                template=node.template,
            )
            for start, end in spans
        ]
