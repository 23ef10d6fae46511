"""Parts that a script writes itself, as LlamaIndex's documentation writes them."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from pydantic import Field, PrivateAttr

from ragcore.embeddings import BaseEmbedding, HashEmbedding
from ragcore.extractors import BaseExtractor
from ragcore.indices import VectorStoreIndex
from ragcore.indices.loading import load_index_from_storage
from ragcore.ingestion import IngestionPipeline
from ragcore.llamaindex.llms.decorators import llm_chat_callback, llm_completion_callback
from ragcore.llamaindex.query_engine import CustomQueryEngine
from ragcore.llms import CompletionResponse, CompletionResponseGen, CustomLLM, LLMMetadata
from ragcore.node_parser import SentenceSplitter
from ragcore.postprocessor import BaseNodePostprocessor
from ragcore.readers import BaseReader, SimpleDirectoryReader
from ragcore.response_synthesizers.answer import AnswerStream
from ragcore.retrievers import BaseRetriever
from ragcore.schema import (
    BaseNode,
    Document,
    Fields,
    NodeWithScore,
    QueryBundle,
    Response,
    TextNode,
    TransformComponent,
)
from ragcore.storage import StorageContext
from ragcore.vector_stores import (
    BasePydanticVectorStore,
    MetadataFilter,
    MetadataFilters,
    SimpleVectorStore,
    VectorStoreQuery,
    VectorStoreQueryResult,
)
from ragcore.vector_stores.types import LlamaIndexMethods, as_store

EMBEDDER = HashEmbedding(64)
TEXTS = {"a": "A lectern is a stand.", "b": "Gulls eat fish.", "c": "Monks copied books."}


def documents() -> list[Document]:
    return [Document(text, id_, {"topic": id_}) for id_, text in TEXTS.items()]


# --- fields -------------------------------------------------------------------------------------------------


class Base(Fields):
    first: str
    kinds: ClassVar[int] = 3
    _seen: list[str] = PrivateAttr(default_factory=list)
    _late: str


class Child(Base):
    second: int = Field(default=2, description="a number")
    third: list[int] = Field(default_factory=list)
    fourth: dict[str, int] = {}  # noqa: RUF012 - as scripts write it


def test_annotated_names_are_arguments_with_separate_defaults() -> None:
    one, other = Child(first="x"), Child(first="y", second=5, fourth={"k": 1})
    assert (one.first, one.second, one.third, one.fourth) == ("x", 2, [], {})
    assert (other.first, other.second, other.fourth) == ("y", 5, {"k": 1})
    one._seen.append("a")
    one.third.append(1)
    one.fourth["a"] = 1
    fresh = Child(first="z")
    assert (fresh._seen, fresh.third, fresh.fourth) == ([], [], {})
    assert not hasattr(fresh, "_late")
    assert Child.class_name() == "Child"


@pytest.mark.parametrize(
    "wrong", [{}, {"first": "x", "secnd": 1}, {"first": "x", "kinds": 1}, {"first": "x", "_seen": []}]
)
def test_missing_and_unknown_arguments_are_errors(wrong: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="argument"):
        Child(**wrong)


# --- transformations and readers ----------------------------------------------------------------------------


class Clean(TransformComponent):
    pattern: str = r"[^\w ]"
    called: ClassVar[list[int]] = []

    def __call__(self, nodes: Sequence[BaseNode], **kwargs: Any) -> Sequence[BaseNode]:
        for node in nodes:
            node.text = re.sub(self.pattern, "", node.text)
        self.called.append(len(nodes))
        return nodes


def test_transformation_edits_nodes_and_is_cached_by_its_fields() -> None:
    given = documents()
    pipeline = IngestionPipeline(transformations=[SentenceSplitter(), Clean(), EMBEDDER])
    assert [node.text for node in pipeline.run(documents=given)] == [text[:-1] for text in TEXTS.values()]
    assert [document.text for document in given] == list(TEXTS.values())
    assert [node.text for node in pipeline.run(documents=given)] == [text[:-1] for text in TEXTS.values()]
    assert Clean.called == [3]
    pipeline.transformations = (SentenceSplitter(), Clean(pattern="[aeiou]"))
    assert pipeline.run(documents=given)[0].text == "A lctrn s  stnd."
    nodes = asyncio.run(Clean().acall([TextNode("a.b.")]))
    assert [node.text for node in nodes] == ["ab"]


class Places(BaseExtractor):
    async def aextract(self, nodes: Sequence[Any]) -> list[dict[str, str]]:
        await asyncio.sleep(0)
        return [{"place": node.text[:1]} for node in nodes]


def test_an_extractor_of_ones_own_is_awaited() -> None:
    (node,) = Places()([TextNode("abc", metadata={"k": 1})])
    assert node.metadata == {"k": 1, "place": "a"}

    async def inside() -> list[Any]:
        return Places()([TextNode("abc")])

    assert asyncio.run(inside())[0].metadata == {"place": "a"}


class Lines(BaseReader):
    def lazy_load_data(self, file: Path, extra_info: dict[str, Any] | None = None) -> list[Document]:  # type: ignore[override]
        return [
            Document(text=line, extra_info=extra_info or {})
            for line in Path(file).read_text("utf-8").splitlines()
        ]


def test_a_reader_reads_alone_and_for_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a.lines").write_text("One.\nTwo.", "utf-8")
    loaded = Lines().load_data(tmp_path / "a.lines", extra_info={"k": 1})
    assert [(document.text, document.metadata) for document in loaded] == [
        ("One.", {"k": 1}),
        ("Two.", {"k": 1}),
    ]
    assert len(asyncio.run(Lines().aload_data(tmp_path / "a.lines"))) == 2
    folder = SimpleDirectoryReader(tmp_path, file_extractor={".lines": Lines()})
    assert [document.text for document in folder.load_data()] == ["One.", "Two."]
    with pytest.raises(NotImplementedError, match="BaseReader must have load_data or lazy_load_data"):
        BaseReader().load_data("x")


# --- models -------------------------------------------------------------------------------------------------


class Counting(BaseEmbedding):
    _letters: str = PrivateAttr()
    _batches: list[int] = PrivateAttr(default_factory=list)

    def __init__(self, letters: str = "abcdefghijklmnopqrstuvwxyz", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._letters = letters

    def _get_text_embedding(self, text: str) -> list[float]:
        return [float(text.lower().count(letter)) for letter in self._letters]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        self._batches.append(len(texts))
        return [self._get_text_embedding(text) for text in texts]

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return [1.0] + [0.0] * 25


def test_an_embedding_model_of_ones_own_finds_passages() -> None:
    model = Counting(embed_batch_size=2, model_name="letters")
    index = VectorStoreIndex.from_documents(documents(), embed_model=model)
    assert model._batches == [2, 1]
    assert (model.name, model.dimension) == ("letters", 26)
    assert index.as_retriever(similarity_top_k=1).retrieve("fish gulls")[0].text == TEXTS["b"]
    rows = model.embed_passages(["ab", "aab", ""])
    assert rows.dtype == np.float32
    assert np.linalg.norm(rows, axis=1).tolist() == pytest.approx([1, 1, 0])
    assert rows[1][:2].tolist() == pytest.approx([2 / 5**0.5, 1 / 5**0.5])
    assert model.embed_passages([]).shape == (0, 26)
    assert Counting().name != model.name
    with pytest.raises(TypeError, match="batch"):
        Counting(batch=1)


def test_embedding_model_is_awaited_by_its_own_async_method() -> None:
    model = Counting()
    assert asyncio.run(model.aget_query_embedding("zzz")).tolist() == [1.0] + [0.0] * 25
    assert asyncio.run(model.aget_text_embedding("a")).tolist() == [1.0] + [0.0] * 25
    assert (
        asyncio.run(EMBEDDER.aget_query_embedding("a")).tolist() == EMBEDDER.get_query_embedding("a").tolist()
    )

    class Empty(BaseEmbedding):
        pass

    with pytest.raises(NotImplementedError, match="Empty must have _get_text_embedding"):
        Empty().get_text_embedding("x")


class Our(CustomLLM):
    context_window: int = 3900
    num_output: int = 256
    model_name: str = "custom"
    dummy_response: str = "My response"

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(
            context_window=self.context_window, num_output=self.num_output, model_name=self.model_name
        )

    @llm_completion_callback()
    def complete(self, prompt: str, **kwargs: Any) -> CompletionResponse:
        return CompletionResponse(text=self.dummy_response)

    @llm_completion_callback()
    def stream_complete(self, prompt: str, **kwargs: Any) -> CompletionResponseGen:
        text = ""
        for piece in self.dummy_response:
            text += piece
            yield CompletionResponse(text=text, delta=piece)


def test_a_language_model_of_ones_own_answers_and_streams() -> None:
    model = Our(dummy_response="A stand [1].", context_window=2000)
    assert model.metadata.context_window == 2000
    index = VectorStoreIndex.from_documents(documents(), embed_model=EMBEDDER)
    assert str(index.as_query_engine(llm=model).query("What is a lectern?")) == "A stand [1]."
    assert "".join(index.as_query_engine(llm=model).stream_query("What is a lectern?")) == "A stand [1]."
    assert [response.delta for response in model.stream_complete("x")] == list("A stand [1].")
    assert llm_chat_callback()(len) is len


# --- postprocessors and engines -----------------------------------------------------------------------------


class Dummy(BaseNodePostprocessor):
    less: float = 1.0

    def _postprocess_nodes(
        self, nodes: Sequence[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        for hit in nodes:
            hit.score = hit.get_score() - self.less
        return list(nodes)


def test_postprocessor_with_fields_edits_scores_not_the_trace() -> None:
    index = VectorStoreIndex.from_documents(documents(), embed_model=EMBEDDER)
    engine = index.as_query_engine(similarity_top_k=1, node_postprocessors=[Dummy(less=2.0)])
    before = index.as_retriever(similarity_top_k=1).retrieve("What is a lectern?")[0].get_score()
    response = engine.query("What is a lectern?")
    assert response.source_nodes[0].get_score() == pytest.approx(before - 2)
    assert response.trace is not None
    (step,) = response.trace.spans("retrieve")
    assert step.facts["found"][0]["score"] == pytest.approx(before)


class Engine(CustomQueryEngine):
    retriever: BaseRetriever
    ending: str = "!"

    def custom_query(self, query_str: str) -> Response | AnswerStream | str:
        hits = self.retriever.retrieve(query_str)
        if self.ending == "!":
            return hits[0].text + self.ending
        return Response(hits[0].text, tuple(hits), extra={"k": 1})


class Waiting(Engine):
    async def acustom_query(self, query_str: str) -> str:
        return f"awaited {query_str}"


def test_custom_query_engine_answers_with_text_or_a_response() -> None:
    retriever = VectorStoreIndex.from_documents(documents(), embed_model=EMBEDDER).as_retriever(
        similarity_top_k=1
    )
    text = Engine(retriever=retriever)
    assert str(text.query("What is a lectern?")) == "A lectern is a stand.!"
    assert "".join(text.stream_query("What is a lectern?")) == "A lectern is a stand.!"
    whole = Engine(retriever=retriever, ending="?")
    for response in (whole.query("Who copied books?"), asyncio.run(whole.aquery("Who copied books?"))):
        assert response.response == TEXTS["c"]
        assert [hit.text for hit in response.source_nodes] == [TEXTS["c"]]
        assert response.metadata["k"] == 1
        assert response.trace is not None
        assert [step.name for step in response.trace.walk()][:2] == ["query", "retrieve"]
    assert str(asyncio.run(Waiting(retriever=retriever).aquery("why?"))) == "awaited why?"
    inner = retriever
    engine = VectorStoreIndex.from_documents(documents(), embed_model=EMBEDDER).as_query_engine()

    class Streams(CustomQueryEngine):
        def custom_query(self, query_str: str) -> AnswerStream:
            return engine.stream_query(query_str)

    assert inner is not None
    assert "stand" in str(Streams().query("What is a lectern?"))
    assert "stand" in str(asyncio.run(Streams().aquery("What is a lectern?")))


# --- vector stores ------------------------------------------------------------------------------------------


class Simple(BasePydanticVectorStore):
    """As the documentation builds one: it knows nothing of documents and ids to look among."""

    stores_text: bool = True
    node_dict: dict[str, TextNode] = {}  # noqa: RUF012

    def get(self, text_id: str) -> Any:
        return self.node_dict[text_id].embedding

    def add(self, nodes: list[TextNode], **kwargs: Any) -> list[str]:
        for node in nodes:
            self.node_dict[node.node_id] = node
        return [node.node_id for node in nodes]

    def delete(self, ref_doc_id: str, **delete_kwargs: Any) -> None:
        for id_ in [id_ for id_, node in self.node_dict.items() if node.ref_doc_id == ref_doc_id]:
            del self.node_dict[id_]

    def query(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        embedding = np.asarray(query.query_embedding)
        scored = [
            (float(np.dot(node.get_embedding(), embedding)), id_) for id_, node in self.node_dict.items()
        ]
        best = sorted(scored, reverse=True)[: query.similarity_top_k]
        ids, scores = [id_ for _, id_ in best], [score for score, _ in best]
        if not self.stores_text:
            return VectorStoreQueryResult(similarities=scores, ids=ids)
        return VectorStoreQueryResult(
            nodes=[self.node_dict[id_] for id_ in ids], similarities=scores, ids=ids
        )

    def persist(self, persist_path: str, fs: Any = None) -> None:
        held = {id_: node.get_embedding().tolist() for id_, node in self.node_dict.items()}
        Path(persist_path).write_text(json.dumps(held), "utf-8")


@pytest.mark.parametrize("stores_text", [True, False])
def test_index_on_a_custom_store_finds_inserts_and_deletes(stores_text: bool, tmp_path: Path) -> None:
    own = Simple(stores_text=stores_text)
    context = StorageContext.from_defaults(vector_store=own)
    index = VectorStoreIndex.from_documents(documents(), storage_context=context, embed_model=EMBEDDER)
    assert index.vector_store is own
    assert len(own.node_dict) == 3
    plain = VectorStoreIndex.from_documents(documents(), embed_model=EMBEDDER)
    for question in TEXTS.values():
        found, expected = (
            each.as_retriever(similarity_top_k=2).retrieve(question) for each in (index, plain)
        )
        assert [hit.text for hit in found] == [hit.text for hit in expected]
        assert [hit.score for hit in found] == pytest.approx([hit.score for hit in expected])
    found[0].node.text = "edited"
    assert "edited" not in [hit.text for hit in index.as_retriever(similarity_top_k=3).retrieve("x")]
    index.insert(Document("Gulls eat bread.", "b"))
    assert sorted(node.text for node in own.node_dict.values()) == [
        TEXTS["a"],
        "Gulls eat bread.",
        TEXTS["c"],
    ]
    index.delete_ref_doc("a")
    assert sorted(index.ref_doc_info) == ["b", "c"]
    assert len(own.node_dict) == 2
    index.storage_context.persist(tmp_path)
    assert len(json.loads((tmp_path / "default__vector_store.json").read_text("utf-8"))) == 2
    again = load_index_from_storage(StorageContext.from_defaults(persist_dir=tmp_path), embed_model=EMBEDDER)
    assert again.as_retriever().retrieve("Who copied books?")[0].text == TEXTS["c"]


def test_scope_is_applied_if_a_custom_store_ignores_it() -> None:
    index = VectorStoreIndex.from_vector_store(Simple(), embed_model=EMBEDDER)
    index.insert_documents(documents())
    among = index.as_retriever(similarity_top_k=3, document_ids=["b"])
    assert [hit.text for hit in among.retrieve("What is a lectern?")] == [TEXTS["b"]]
    filters = MetadataFilters([MetadataFilter("topic", "c")])
    assert [hit.text for hit in index.as_retriever(3, filters=filters).retrieve("books")] == [TEXTS["c"]]
    assert index.as_retriever(0).retrieve("books") == []


def test_a_pipeline_and_two_indexes_share_a_store_of_ones_own() -> None:
    own = Simple()
    IngestionPipeline([SentenceSplitter(), EMBEDDER], vector_store=own).run(documents=documents())
    index = VectorStoreIndex.from_vector_store(own, embed_model=EMBEDDER)
    assert index.store is VectorStoreIndex.from_vector_store(own, embed_model=EMBEDDER).store is as_store(own)
    assert index.as_retriever(similarity_top_k=1).retrieve("gulls fish")[0].text == TEXTS["b"]
    filled = Simple(node_dict=dict(own.node_dict))
    found = VectorStoreIndex.from_vector_store(filled, embed_model=EMBEDDER).as_retriever(similarity_top_k=1)
    assert found.retrieve("gulls fish")[0].text == TEXTS["b"]
    with pytest.raises(TypeError, match="a dict is no vector store"):
        as_store({})


def test_a_store_answers_under_both_names() -> None:
    store = SimpleVectorStore()
    assert isinstance(store, LlamaIndexMethods)
    nodes = [
        TextNode(
            text, id_, {"topic": id_}, ref_doc_id="d", embedding=EMBEDDER.get_text_embedding(text).tolist()
        )
        for id_, text in TEXTS.items()
    ]
    assert store.add(nodes[:2]) == ["a", "b"]
    assert store.add(nodes[1:]) == ["b", "c"]
    assert (len(store), store.passage_ids("d")) == (3, ["a", "b", "c"])
    asked = VectorStoreQuery(
        query_embedding=EMBEDDER.get_query_embedding("gulls fish").tolist(), similarity_top_k=2
    )
    result = store.query(asked)
    assert result.nodes is not None
    assert result.nodes[0].text == TEXTS["b"]
    expected = store.search(EMBEDDER.get_query_embedding("gulls fish"), 2)
    assert (result.ids, result.similarities) == (
        [hit.id_ for hit in expected],
        [hit.score for hit in expected],
    )
    asked.node_ids = ["c"]
    assert store.query(asked).ids == ["c"]
    assert store.query(VectorStoreQuery(query_str="monks", mode="text_search")).ids == ["c"]
    assert asyncio.run(store.aquery(VectorStoreQuery(query_str="monks", mode="sparse"))).ids == ["c"]
    for wrong in (
        VectorStoreQuery(),
        VectorStoreQuery(query_str="x", mode="hybrid"),
        VectorStoreQuery(mode="sparse"),
    ):
        with pytest.raises(ValueError, match="does not answer"):
            store.query(wrong)
