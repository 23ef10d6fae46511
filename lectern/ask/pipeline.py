"""From an ask to its answer: `plan_retrieval` chooses how passages are retrieved, `answer` the engine."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from lectern.ask.compared_rows import compare_rows
from lectern.ask.computed_answer import compute_answer
from lectern.ask.document_versions import DocumentVersions
from lectern.ask.library_questions import find_library_question
from lectern.ask.per_document import AnswerPerDocument
from lectern.ask.read_everything import ReadEverything
from lectern.ask.section_questions import find_location_question
from lectern.schema import Ask
from ragcore.chat_engine.base import get_memory
from ragcore.chat_modes import chat_engine, in_conversation
from ragcore.embeddings.base import Embedder
from ragcore.extractive.answerer import Writer
from ragcore.extractive.quoter import Quoter
from ragcore.extractive.small_talk import reply_to
from ragcore.postprocessor.base import BaseNodePostprocessor
from ragcore.postprocessor.mmr import DiversePostprocessor
from ragcore.postprocessor.sentence_transformer_rerank import SentenceTransformerRerank
from ragcore.postprocessor.similarity import SimilarityPostprocessor
from ragcore.postprocessor.whole_lists import WholeLists
from ragcore.prompts.prompt import Prompt
from ragcore.prompts.wording import TABLE_QUERY
from ragcore.query_engine.retriever import RetrieverQueryEngine, run_postprocessors
from ragcore.response_synthesizers.answer import AnswerStream
from ragcore.response_synthesizers.modes import Prompts, override_prompts
from ragcore.response_synthesizers.response_mode import ResponseMode
from ragcore.response_synthesizers.synthesizer import synthesizer_for
from ragcore.retrievers.base import BaseRetriever
from ragcore.retrievers.fixed import AllPassages, ChosenPassages, GivenPassages
from ragcore.retrievers.hybrid import HybridRetriever, usual_feedback
from ragcore.retrievers.summary_request import OverviewRetriever
from ragcore.schema import ChatMessage, NodeWithScore, QueryBundle, TextNode
from ragcore.vector_stores.base import Scope, Store

CANDIDATE_FACTOR = 4  # If a later step chooses among the passages, retrieve this many times top_k.
SUMMARY_PASSAGES = 3  # of each document, in a summary without a language model
MAX_RERANKERS = 2  # in memory


@dataclass(frozen=True, slots=True)
class RetrievalPlan:
    """A retriever of the passages of an index, and the postprocessors that filter or reorder them."""

    index: Store
    retriever: BaseRetriever
    postprocessors: tuple[BaseNodePostprocessor, ...] = ()

    def passages(self, question: str) -> list[NodeWithScore]:
        bundle = QueryBundle(question)
        return run_postprocessors(self.retriever.retrieve(bundle), bundle, self.postprocessors)


def plan_retrieval(
    ask: Ask,
    index: Store,
    embedder: Embedder,
    *,
    quoting: bool = False,
    of_location: Sequence[TextNode] = (),
) -> RetrievalPlan:
    """The plan for the passages of an ask. `embedder` is the one of the index. `quoting`: no language model
    reads the passages, so that an overview may have several of each document. `of_location`: the passages of
    the page or section that the ask is about, which are not searched for."""
    if of_location:
        return RetrievalPlan(index, GivenPassages(of_location))
    if ask.reading == "everything":
        return RetrievalPlan(index, AllPassages(index, ask.file_ids))
    if ask.node_ids is not None:
        return RetrievalPlan(
            index, ChosenPassages(index, ask.node_ids, ask.node_scores), (WholeLists(index),)
        )
    options = ask.retrieval
    chosen_later = bool(options.reranker) or options.diverse
    versions = DocumentVersions(index, ask.file_ids, ask.top_k)
    hybrid = HybridRetriever(
        index,
        embedder,
        ask.top_k * CANDIDATE_FACTOR if chosen_later else ask.top_k,
        Scope(ask.file_ids),
        cosine_share=options.dense_share,
        feedback=usual_feedback(options.dense_share),
        weaker=options.weaker or chosen_later,
        find_repeated=versions.find_repeated,
    )
    retriever = OverviewRetriever(  # for requests of a summary; every other question goes to `hybrid`
        index,
        ask.top_k,
        fallback=hybrid,
        document_ids=ask.file_ids,
        per_document=SUMMARY_PASSAGES if quoting else 1,
    )
    postprocessors: list[BaseNodePostprocessor] = []
    if options.cutoff is not None:
        postprocessors.append(SimilarityPostprocessor(options.cutoff))
    if options.reranker:
        postprocessors.append(_reranker(options.reranker))
    if options.diverse:
        postprocessors.append(DiversePostprocessor(index, ask.top_k))
    elif options.reranker:
        postprocessors.append(TopK(ask.top_k))
    return RetrievalPlan(index, retriever, (*postprocessors, versions, WholeLists(index)))


def answer(
    ask: Ask,
    history: Sequence[ChatMessage],
    *,
    writer: Writer,
    plan: RetrievalPlan,
    system_prompt: str = "",
    wording: Mapping[str, Prompt] | None = None,
) -> AnswerStream:
    """Begins to answer, in a conversation if the ask has a chat mode. `wording` replaces prompts by name.
    What asks over all rows of a table is computed. Without a model, a greeting has a fixed reply, without
    retrieval."""
    if isinstance(writer, Quoter) and (reply := reply_to(ask.question, history)):
        return AnswerStream(piece for piece in (reply,))
    if _reads_once(ask) and ask.node_ids is None:
        computed = compare_rows(ask.question, history, plan.passages, plan.index) or compute_answer(
            ask.question,
            plan.passages,
            plan.index,
            file_ids=ask.file_ids,
            llm=None if isinstance(writer, Quoter) else writer,
            prompt=(wording or {}).get(TABLE_QUERY.name, TABLE_QUERY),
        )
        if computed is not None:
            return computed
    if isinstance(writer, Quoter):
        # A question about the library is no topic of a follow-up.
        history = [message for message in history if not find_library_question(message.content)]
        if isinstance(plan.retriever, GivenPassages):
            ask = _without_location(ask)
    if ask.reading == "everything":
        reading = _query_engine(ask, writer, plan, override_prompts(wording or {})).stream_query(ask.question)
        return ReadEverything(reading, ResponseMode(ask.response_mode), ask.question)
    if ask.chat_mode is None:
        # The model is sent what the first message of a chat would send, so that both give the same answer.
        prompts = in_conversation(override_prompts(wording or {}))
        return _query_engine(ask, writer, plan, prompts, system_prompt).stream_query(ask.question)
    engine = chat_engine(
        ask.chat_mode,
        llm=writer,
        retriever=plan.retriever,
        memory=get_memory(writer, None, history),
        system_prompt=system_prompt,
        postprocessors=plan.postprocessors,
        response_mode=ask.response_mode,
        wording=wording,
    )
    return engine.stream_chat(ask.question)


def _reads_once(ask: Ask) -> bool:
    """Whether it is one answer from the best passages."""
    return ask.reading == "best" and ask.reads_documents and not ask.answers_in_parts


def _without_location(ask: Ask) -> Ask:
    """The ask without "on page 3". All its passages are of that page, and none of them says so."""
    location = find_location_question(ask.question)
    return ask if location is None or not location.remainder else replace(ask, question=location.remainder)


def _query_engine(
    ask: Ask, writer: Writer, plan: RetrievalPlan, prompts: Prompts, system_prompt: str = ""
) -> RetrieverQueryEngine:
    synthesizer = synthesizer_for(writer, ask.response_mode, prompts, system_prompt=system_prompt)
    return RetrieverQueryEngine(plan.retriever, synthesizer, plan.postprocessors)


def answer_each(
    ask: Ask,
    files: Mapping[str, str],
    *,
    writer: Writer,
    plan_of: Callable[[str], RetrievalPlan],
    wording: Mapping[str, Prompt] | None = None,
) -> AnswerPerDocument:
    """Begins to ask each of the documents. `files` are their names by id; `plan_of` plans for one id."""
    prompts = override_prompts(wording or {})
    return AnswerPerDocument(
        ask.question, files, lambda id_: _query_engine(ask, writer, plan_of(id_), prompts)
    )


class TopK(BaseNodePostprocessor):
    """The first `count` passages."""

    def __init__(self, count: int) -> None:
        self._count = count

    def _postprocess_nodes(
        self, nodes: Sequence[NodeWithScore], query_bundle: QueryBundle | None
    ) -> list[NodeWithScore]:
        return list(nodes[: self._count])


@lru_cache(maxsize=MAX_RERANKERS)
def _reranker(name: str) -> SentenceTransformerRerank:
    """Cached, because its model takes seconds to load. Nothing is downloaded."""
    return SentenceTransformerRerank(name, top_n=sys.maxsize, local_files_only=True)
