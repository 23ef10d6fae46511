"""Whatever is given to a step, an engine or an index is afterwards what it was before, to the last entry of
its metadata."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from pydantic import BaseModel

from ragcore.agent import OpenAIAgent, ReActAgent
from ragcore.chat_engine import ChatMode, chat_engine
from ragcore.extractors import BaseExtractor
from ragcore.indices import BaseIndex, VectorStoreIndex
from ragcore.ingestion import EmbeddingStep, IngestionPipeline
from ragcore.llamaindex import extractors, indices, node_parser, postprocessor, query_engine
from ragcore.llamaindex.memory import ChatSummaryMemoryBuffer
from ragcore.llamaindex.node_parser import SentenceWindowNodeParser
from ragcore.llamaindex.retrievers import BM25Retriever, RecursiveRetriever, TransformRetriever
from ragcore.llamaindex.retrievers.transform_retriever import HyDEQueryTransform, StepDecomposeQueryTransform
from ragcore.memory import ChatMemoryBuffer
from ragcore.node_parser import NodeParser, SentenceSplitter
from ragcore.postprocessor import BaseNodePostprocessor
from ragcore.query_engine import BaseQueryEngine
from ragcore.response_synthesizers import ResponseMode, Synthesizer
from ragcore.retrievers import RouterRetriever
from ragcore.schema import ChatMessage, Document, MessageRole, NodeWithScore, QueryBundle, TextNode
from ragcore.selectors import EmbeddingSingleSelector, LLMMultiSelector, LLMSingleSelector
from ragcore.storage.docstore import SimpleDocumentStore
from ragcore.tools import QueryEngineTool, RetrieverTool, ToolMetadata
from tests.properties.doubles import EMBEDDER, KINDS, QUOTING, picture, retrievers

TEXT = (
    "# Lecterns\n\nA lectern is a stand with a slanting top. Write to ann@example.org or call +49 30 "
    "1234567.\n\n\n"
    "## Use\n\nSpeakers read from it. Libraries of the Middle Ages chained their books to lecterns. "
    "Monks copied them."
)
QUESTION = "What did libraries chain to lecterns?"


def documents() -> list[Document]:
    """With metadata that can be edited, which is what the test is about."""
    return [
        Document(TEXT, f"d{number}", {"extension": ".md", "date": f"202{number}-01-01", "tags": ["a", "b"]})
        for number in (1, 2)
    ]


def nodes(vectors: bool = False) -> list[TextNode]:
    made = SentenceSplitter(40, 0).get_nodes_from_documents(documents())
    return (
        [node.with_embedding(vector) for node, vector in zip(made, embedded(made), strict=True)]
        if vectors
        else list(made)
    )


def embedded(given: Sequence[TextNode]) -> list[Any]:
    return [np.array(row) for row in EMBEDDER.embed_passages([node.text for node in given])]  # writable


def hits() -> list[NodeWithScore]:
    return [NodeWithScore(node, 0.9 - place / 10) for place, node in enumerate(nodes(vectors=True))]


def classes(module: Any, base: type) -> set[type]:
    """The classes of a package that can be made, by what it offers, or by what stands in it."""
    names = getattr(module, "__all__", None) or dir(module)
    offered = (getattr(module, name) for name in names)
    return {
        kind
        for kind in offered
        if inspect.isclass(kind) and issubclass(kind, base) and not inspect.isabstract(kind)
    }


PARSERS: dict[str, Callable[[], Any]] = {
    "CodeSplitter": lambda: node_parser.CodeSplitter("python"),
    "HierarchicalNodeParser": lambda: node_parser.HierarchicalNodeParser.from_defaults(chunk_sizes=[80, 40]),
    "MarkdownNodeParser": node_parser.MarkdownNodeParser,
    "SemanticSplitterNodeParser": lambda: node_parser.SemanticSplitterNodeParser(embed_model=EMBEDDER),
    "SentenceSplitter": lambda: SentenceSplitter(40, 10),
    "SentenceWindowNodeParser": SentenceWindowNodeParser,
    "SimpleFileNodeParser": node_parser.SimpleFileNodeParser,
    "TokenTextSplitter": lambda: node_parser.TokenTextSplitter(40, 10),
}


class Read(BaseModel):
    input: str


STEPS: dict[str, Callable[[], Any]] = {
    "TitleExtractor": lambda: extractors.TitleExtractor(QUOTING),
    "KeywordExtractor": lambda: extractors.KeywordExtractor(QUOTING),
    "QuestionsAnsweredExtractor": lambda: extractors.QuestionsAnsweredExtractor(QUOTING),
    "SummaryExtractor": lambda: extractors.SummaryExtractor(QUOTING, ("self", "prev", "next")),
    "PydanticProgramExtractor": lambda: extractors.PydanticProgramExtractor(program=Read),
    "HashEmbedding": lambda: EMBEDDER,
    "EmbeddingStep": lambda: EmbeddingStep(EMBEDDER),
    "IngestionPipeline": lambda: (
        lambda given: IngestionPipeline([extractors.KeywordExtractor(QUOTING), EMBEDDER]).run(nodes=given)
    ),
}


def test_every_parser_and_extractor_is_among_these() -> None:
    offered = (getattr(node_parser, name) for name in node_parser.__all__)
    parsers = {
        kind.__name__
        for kind in offered
        if hasattr(kind, "get_nodes_from_documents") and not inspect.isabstract(kind)
    }
    assert parsers == {*PARSERS, "JSONNodeParser", "HTMLNodeParser", "LangchainNodeParser"}
    extracting = {kind.__name__ for kind in classes(extractors, BaseExtractor)}
    assert len(extracting) == 5
    assert extracting <= STEPS.keys()


@pytest.mark.parametrize("name", [*PARSERS, *STEPS])
def test_a_step_does_not_edit_its_input(name: str) -> None:
    step = {**PARSERS, **STEPS}[name]()
    for given in (documents(), nodes(), nodes(vectors=True)):
        if name not in PARSERS and isinstance(given[0], Document):
            continue
        before, ids = picture(given), list(map(id, given))
        made = step(given)
        assert made
        assert picture(given) == before
        assert list(map(id, given)) == ids


@pytest.mark.parametrize(
    ("parser", "text"),
    [(node_parser.JSONNodeParser, '{"a": [1, 2]}'), (node_parser.HTMLNodeParser, "<p>One.</p>")],
)
def test_parsers_of_one_format_edit_nothing_either(parser: Callable[[], NodeParser], text: str) -> None:
    given = [Document(text, "j", {"tags": ["a"]})]
    before = picture(given)
    assert parser()(given)
    assert picture(given) == before


def read_from() -> SimpleDocumentStore:
    store = SimpleDocumentStore()
    store.add_documents(nodes())
    return store


class Lengths(torch.nn.Linear):
    def predict(self, pairs: Sequence[tuple[str, str]]) -> list[int]:
        return [len(text) for _, text in pairs]


class ByLength(postprocessor.SentenceTransformerRerank):
    """With a model that needs no loading."""

    def _load(self, device: str) -> Any:
        return Lengths(1, 1, device=device)


POSTPROCESSORS: dict[str, Callable[[], BaseNodePostprocessor]] = {
    "AutoPrevNextNodePostprocessor": lambda: postprocessor.AutoPrevNextNodePostprocessor(
        read_from(), QUOTING
    ),
    "EmbeddingRecencyPostprocessor": lambda: postprocessor.EmbeddingRecencyPostprocessor(EMBEDDER),
    "FixedRecencyPostprocessor": lambda: postprocessor.FixedRecencyPostprocessor(3),
    "KeywordNodePostprocessor": lambda: postprocessor.KeywordNodePostprocessor(
        ["lectern", "lecterns"], ["ship"]
    ),
    "LLMRerank": lambda: postprocessor.LLMRerank(QUOTING),
    "LongContextReorder": postprocessor.LongContextReorder,
    "MetadataReplacementPostProcessor": lambda: postprocessor.MetadataReplacementPostProcessor("date"),
    "PIINodePostprocessor": postprocessor.PIINodePostprocessor,
    "PrevNextNodePostprocessor": lambda: postprocessor.PrevNextNodePostprocessor(read_from(), mode="both"),
    "RankGPTRerank": lambda: postprocessor.RankGPTRerank(llm=QUOTING),
    "SentenceEmbeddingOptimizer": lambda: postprocessor.SentenceEmbeddingOptimizer(
        EMBEDDER, percentile_cutoff=0.5
    ),
    "SentenceTransformerRerank": lambda: ByLength("by length"),
    "SimilarityPostprocessor": lambda: postprocessor.SimilarityPostprocessor(0.5),
    "TimeWeightedPostprocessor": lambda: postprocessor.TimeWeightedPostprocessor(top_k=3),
}


def test_every_postprocessor_is_among_these() -> None:
    offered = {kind.__name__ for kind in classes(postprocessor, BaseNodePostprocessor)}
    assert offered == set(POSTPROCESSORS)


@pytest.mark.parametrize("name", POSTPROCESSORS)
def test_a_postprocessor_does_not_edit_its_input(name: str) -> None:
    made = POSTPROCESSORS[name]()
    given, bundle = (
        hits(),
        QueryBundle(QUESTION, ("chained books",), np.array(EMBEDDER.embed_query(QUESTION))),
    )
    before = picture((given, bundle))
    for _ in range(2):  # the second time it may remember the first
        found = made.postprocess_nodes(given, bundle)
        assert found
        assert found is not given
        found.clear()
        assert picture((given, bundle)) == before


@pytest.mark.parametrize("kind", KINDS)
def test_index_and_retrievers_edit_neither_inputs_nor_question(kind: type[BaseIndex]) -> None:
    given, more, bundle = documents(), nodes(), QueryBundle(QUESTION)
    before = picture((given, more, bundle))
    index = kind.from_documents(
        given, transformations=[SentenceSplitter(40, 0)], embed_model=EMBEDDER, llm=QUOTING
    )
    index.insert_nodes(more)
    index.refresh_ref_docs(given)
    for _, retriever in retrievers(index):
        found = retriever.retrieve(bundle)
        assert picture((given, more, bundle)) == before
        # Nor does one who edits what was found edit what is stored.
        held = picture(index.as_retriever().retrieve(bundle))
        found.clear()
        assert picture(index.as_retriever().retrieve(bundle)) == held
    index.delete_ref_doc("d1")
    assert picture((given, more, bundle)) == before


def test_every_kind_of_index_is_among_these() -> None:
    assert classes(indices, BaseIndex) == set(KINDS)


def engines() -> Iterator[BaseQueryEngine]:
    index = VectorStoreIndex.from_documents(
        documents(), transformations=[SentenceSplitter(40, 0)], embed_model=EMBEDDER, llm=QUOTING
    )
    plain = index.as_query_engine(QUOTING)
    tools = [
        QueryEngineTool(plain, ToolMetadata(name=name, description=f"Knows about {name}."))
        for name in ("lecterns", "libraries")
    ]
    yield plain
    yield query_engine.CitationQueryEngine.from_args(index, QUOTING, citation_chunk_size=20)
    yield query_engine.RouterQueryEngine(LLMMultiSelector(QUOTING, embed_model=EMBEDDER), tools, QUOTING)
    yield query_engine.SubQuestionQueryEngine(tools, QUOTING)
    yield query_engine.TransformQueryEngine(plain, HyDEQueryTransform(QUOTING))
    yield query_engine.MultiStepQueryEngine(
        plain, StepDecomposeQueryTransform(QUOTING), Synthesizer(QUOTING, ResponseMode.TREE_SUMMARIZE)
    )


def test_every_query_engine_is_among_these_and_edits_no_question() -> None:
    made = list(engines())
    assert {type(engine) for engine in made} == classes(query_engine, BaseQueryEngine)
    for engine in made:
        bundle = QueryBundle(QUESTION, ("chained books",))
        before = picture(bundle)
        assert engine.query(bundle).response
        assert "".join(engine.stream_query(bundle))
        assert picture(bundle) == before


@pytest.mark.parametrize("mode", ResponseMode)
def test_synthesizer_edits_neither_passages_history_nor_question(mode: ResponseMode) -> None:
    given, history, bundle = hits(), [ChatMessage(content="Hello")], QueryBundle(QUESTION)
    before = picture((given, history, bundle))
    Synthesizer(QUOTING, mode).synthesize(bundle, given, history)
    assert picture((given, history, bundle)) == before


def conversation() -> list[ChatMessage]:
    return [
        ChatMessage(MessageRole.USER, "What is a lectern?"),
        ChatMessage(MessageRole.ASSISTANT, "A stand.", additional_kwargs={"tool_calls": []}),
    ]


@pytest.mark.parametrize("mode", ChatMode)
def test_chat_edits_neither_its_history_nor_its_prefix(mode: ChatMode) -> None:
    history, index = (
        conversation(),
        VectorStoreIndex.from_documents(documents(), embed_model=EMBEDDER, llm=QUOTING),
    )
    before = picture(history)
    memory = ChatMemoryBuffer(3000, history)
    engine = chat_engine(mode, llm=QUOTING, retriever=index.as_retriever(), memory=memory)
    engine.chat(QUESTION)
    engine.chat(QUESTION, history)
    "".join(engine.stream_chat(QUESTION, history))
    assert picture(history) == before
    engine.chat_history.clear()
    assert engine.chat_history


@pytest.mark.parametrize("agent", [ReActAgent, OpenAIAgent])
def test_an_agent_edits_neither_its_tools_nor_histories(agent: type[ReActAgent] | type[OpenAIAgent]) -> None:
    index = VectorStoreIndex.from_documents(documents(), embed_model=EMBEDDER, llm=QUOTING)
    tools = [
        QueryEngineTool(
            index.as_query_engine(), ToolMetadata(name="lecterns", description="Knows about lecterns.")
        )
    ]
    history, prefix = conversation(), [ChatMessage(MessageRole.SYSTEM, "Be brief.")]
    before = picture((history, prefix)), list(tools)
    made = agent.from_tools(tools, QUOTING, chat_history=history, prefix_messages=prefix)
    made.chat(QUESTION)
    "".join(made.stream_chat(QUESTION, history))
    assert (picture((history, prefix)), tools) == before


def test_memories_selectors_and_composed_retrievers_edit_nothing() -> None:
    history, index = (
        conversation() * 20,
        VectorStoreIndex.from_documents(documents(), embed_model=EMBEDDER, llm=QUOTING),
    )
    bundle, found = QueryBundle(QUESTION), nodes()
    choices = [
        ToolMetadata(name="a", description="Knows about lecterns."),
        ToolMetadata(name="b", description="Knows about ships."),
    ]
    before = picture((history, bundle, choices, found))
    for memory in (ChatMemoryBuffer(20, history), ChatSummaryMemoryBuffer(20, history, llm=QUOTING)):
        memory.get()
        memory.put(*history)
        memory.get_all().clear()
    for selector in (
        EmbeddingSingleSelector(EMBEDDER),
        LLMSingleSelector(QUOTING),
        LLMMultiSelector(QUOTING),
    ):
        selector.select(choices, bundle)
    both = [index.as_retriever(), BM25Retriever(index.vector_store)]
    tools = [RetrieverTool(retriever, about) for retriever, about in zip(both, choices, strict=True)]
    RouterRetriever(EmbeddingSingleSelector(EMBEDDER), tools, QUOTING).retrieve(bundle)
    TransformRetriever(both[0], HyDEQueryTransform(QUOTING)).retrieve(bundle)
    RecursiveRetriever("root", {"root": both[0]}, node_dict={node.id_: node for node in found}).retrieve(
        bundle
    )
    assert picture((history, bundle, choices, found)) == before


@pytest.mark.parametrize(
    "mode", ["simple", "condense_question", "context", "condense_plus_context", "react", "openai"]
)
def test_edits_of_a_history_during_a_stream_have_no_effect(mode: str) -> None:
    index = VectorStoreIndex.from_documents(documents(), embed_model=EMBEDDER, llm=QUOTING)
    engine = chat_engine(mode, llm=QUOTING, retriever=index.as_retriever(), memory=ChatMemoryBuffer(3000))
    history = conversation()
    stream = engine.stream_chat(QUESTION, history)
    history.append(ChatMessage(content="added meanwhile"))
    assert "".join(stream.response_gen)
    contents = [message.content for message in engine.chat_history]
    assert contents[:3] == ["What is a lectern?", "A stand.", QUESTION]
    assert "added meanwhile" not in contents
