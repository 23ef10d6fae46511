import asyncio
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ragcore.embeddings.hashing import HashEmbedding
from ragcore.errors import DimensionError, EmbeddingError, LLMServerError, StoreError
from ragcore.extractors import KeywordExtractor, SummaryExtractor, TitleExtractor
from ragcore.indices.loading import load_index_from_storage
from ragcore.indices.vector import VectorStoreIndex
from ragcore.ingestion import DocstoreStrategy, IngestionCache, IngestionPipeline
from ragcore.llms.scripted import ScriptedLLM
from ragcore.node_parser.hierarchical import HierarchicalNodeParser
from ragcore.observe import span
from ragcore.schema import Document, IndexNode, MetadataMode, Page, Template, TextNode
from ragcore.storage.docstore import SimpleDocumentStore
from ragcore.storage.storage_context import StorageContext
from ragcore.vector_stores.memory import MemoryStore
from tests.ragcore.ingestion.doubles import Counting, documents, splitter, told
from tests.word_tokenizer import WordTokenizer


class Recording:
    """A step that works on everything it is given, and keeps the ids of it."""

    def __init__(self) -> None:
        self.given: list[str] = []

    def __call__(self, nodes: Sequence[Document | TextNode]) -> Sequence[Document | TextNode]:
        self.given += [node.id_ for node in nodes]
        return nodes


class Given:
    def load_data(self) -> list[Document]:
        return [Document("From a reader.", "r")]


def seen(docstore: SimpleDocumentStore) -> dict[str, str]:
    return docstore.get_all_document_hashes()


def list_passages(store: MemoryStore) -> dict[str, list[str]]:
    return {stored.id_: [node.text for node in store.passages(stored.id_)] for stored in store.documents()}


def whole(store: MemoryStore) -> dict[str, object]:
    ids = [stored.id_ for stored in store.documents()]
    return {id_: (store.document(id_), told(store.nodes(store.passage_ids(id_)))) for id_ in ids}


def upserting(
    embedder: HashEmbedding | None = None, strategy: DocstoreStrategy = DocstoreStrategy.UPSERTS
) -> tuple[IngestionPipeline, SimpleDocumentStore, MemoryStore]:
    docstore, store = SimpleDocumentStore(), MemoryStore()
    steps = [splitter(), embedder or Counting()]
    return IngestionPipeline(steps, docstore, strategy, store), docstore, store


@pytest.mark.smoke
def test_output_equals_the_steps_one_after_the_other() -> None:
    given = documents(3)
    nodes = splitter()(given)
    vectors = HashEmbedding(32).embed_passages([node.get_content(MetadataMode.EMBED) for node in nodes])
    expected = [node.with_embedding(vector) for node, vector in zip(nodes, vectors, strict=True)]
    assert told(IngestionPipeline([splitter(), HashEmbedding(32)]).run(given)) == told(expected)


def test_input_order_is_call_then_pipeline_then_readers() -> None:
    pipeline = IngestionPipeline([], documents=[Document("From the pipeline.", "p")], readers=[Given()])
    made = pipeline.run([Document("From the call.", "c")], [TextNode("A node.", "n")])
    assert [item.id_ for item in made] == ["c", "n", "p", "r"]


def test_without_steps_of_its_own_it_splits_and_embeds(monkeypatch: pytest.MonkeyPatch) -> None:
    from ragcore.settings import Settings

    monkeypatch.setattr(Settings, "embed_model", HashEmbedding(8))
    monkeypatch.setattr(Settings, "_node_parser", splitter())  # undoing the property would keep the default
    made = IngestionPipeline().run(documents(1))
    assert [node.embedding is not None for node in made if isinstance(node, TextNode)] == [True, True]


@pytest.mark.parametrize("strategy", list(DocstoreStrategy))
def test_what_was_seen_is_skipped(strategy: DocstoreStrategy) -> None:
    pipeline, docstore, _ = upserting(strategy=strategy)
    assert len(pipeline.run(documents(3))) == 6
    assert pipeline.run(documents(3)) == []
    assert set(seen(docstore)) == {"d0", "d1", "d2"}


def test_changed_text_or_metadata_is_redone_and_replaces_the_old() -> None:
    pipeline, docstore, store = upserting()
    first, second, third = documents(3)
    pipeline.run([first, second, third])
    changed = [
        Document("New words here.", "d0", first.metadata),
        Document(second.text, "d1", {"n": 9}),
        third,
    ]
    assert {node.metadata["n"] for node in pipeline.run(changed)} == {0, 9}
    assert list_passages(store)["d0"] == ["New words here."]
    assert [node.metadata["n"] for node in store.passages("d1")] == [9, 9]
    assert seen(docstore) == {document.id_: document.hash for document in changed}
    assert len(store.documents()) == 3


def test_strategy_applies_without_a_vector_store() -> None:
    docstore = SimpleDocumentStore()
    pipeline = IngestionPipeline([splitter()], docstore, DocstoreStrategy.UPSERTS)
    one, other = Document("One two three.", "a"), Document("One two three.", "b")
    assert [node.ref_doc_id for node in pipeline.run([one, other]) if isinstance(node, TextNode)] == [
        "a",
        "b",
    ]
    changed = Document("Four.", "a")
    assert [node.text for node in pipeline.run([changed, other])] == ["Four."]
    assert seen(docstore) == {"a": changed.hash, "b": other.hash}


def test_duplicates_are_recognised_by_content_whatever_their_id() -> None:
    pipeline, docstore, _ = upserting(strategy=DocstoreStrategy.DUPLICATES_ONLY)
    one = Document("One two three.", "a")
    made = pipeline.run([one, Document(one.text, "b"), Document("Other.", "c")])
    assert [node.ref_doc_id for node in made if isinstance(node, TextNode)] == ["a", "c"]
    assert pipeline.run([Document(one.text, "d")]) == []
    assert set(seen(docstore)) == {"a", "c"}


def test_missing_documents_are_removed_if_the_strategy_says_so() -> None:
    pipeline, docstore, store = upserting(strategy=DocstoreStrategy.UPSERTS_AND_DELETE)
    pipeline.run(documents(3))
    assert pipeline.run([documents(3)[1]]) == []
    assert set(list_passages(store)) == set(seen(docstore)) == {"d1"}
    assert pipeline.run([]) == []
    assert list_passages(store) == seen(docstore) == {}


def test_foreign_passages_in_the_docstore_are_not_documents() -> None:
    pipeline, docstore, _ = upserting(strategy=DocstoreStrategy.UPSERTS_AND_DELETE)
    pipeline.run(documents(1))
    docstore.add_documents(splitter()(documents(1)))
    with span("root") as root:
        assert pipeline.run(documents(1)) == []
    assert root.spans("ingest")[0].facts["deleted"] == 0
    assert len(docstore.nodes()) == 2


def test_all_nodes_of_a_document_stay_and_are_passed_together() -> None:
    pipeline, docstore, store = upserting()
    nodes = [TextNode(text, text, ref_doc_id="d") for text in ("one", "two", "three")]
    assert len(pipeline.run(nodes=nodes)) == 3
    assert list_passages(store) == {"d": ["one", "two", "three"]}
    assert pipeline.run(nodes=nodes) == []
    assert len(pipeline.run(nodes=nodes[:2])) == 2
    assert list_passages(store) == {"d": ["one", "two"]}
    assert set(seen(docstore)) == {"d"}


def test_a_node_without_a_document_is_one_of_its_own() -> None:
    pipeline, docstore, store = upserting()
    pipeline.run(nodes=[TextNode("one two", "a"), TextNode("three", "b")])
    assert list_passages(store) == {"a": ["one two"], "b": ["three"]}
    assert set(seen(docstore)) == {"a", "b"}


def test_the_last_of_two_documents_with_one_id_counts() -> None:
    pipeline, _, store = upserting()
    pipeline.run([Document("First.", "a"), Document("Second.", "a")])
    assert list_passages(store) == {"a": ["Second."]}


def test_of_a_hierarchy_the_leaves_alone_are_embedded_and_stored() -> None:
    embedder, store = Counting(), MemoryStore()
    parser = HierarchicalNodeParser([8, 4], chunk_overlap=0, tokenizer=WordTokenizer())
    made = IngestionPipeline([parser, embedder], vector_store=store).run(
        [Document("One two three four. Five six seven eight. Nine ten.", "d")]
    )
    leaves = [node for node in made if isinstance(node, TextNode) and not node.child_ids]
    assert embedder.given == [node.text for node in leaves] == list_passages(store)["d"]
    assert len(made) > len(leaves)


def test_an_index_on_the_store_retrieves_the_pipelines_output() -> None:
    pipeline, _, store = upserting()
    pipeline.run(documents(3))
    found = (
        VectorStoreIndex.from_vector_store(store, HashEmbedding(32)).as_retriever(1).retrieve("epsilon2 zeta")
    )
    assert [hit.node.ref_doc_id for hit in found] == ["d2"]


def test_document_without_text_is_recorded_without_passages() -> None:
    pipeline, docstore, store = upserting()
    assert pipeline.run([Document("  ", "empty")]) == []
    assert list_passages(store) == {"empty": []}
    assert set(seen(docstore)) == {"empty"}


@pytest.mark.parametrize("workers", [1, 3])
def test_steps_agree_with_cache_without_cache_and_with_workers(workers: int) -> None:
    def steps() -> list[object]:
        llm = ScriptedLLM(lambda call: f"{call.prompt.name}: {len(str(call.variables))}")
        return [
            splitter(),
            TitleExtractor(llm),
            SummaryExtractor(llm, ["self", "prev"]),
            KeywordExtractor(llm),
            lambda nodes: list(reversed(nodes)),
            HashEmbedding(16),
        ]

    plain = IngestionPipeline(steps(), disable_cache=True).run(documents(5))  # type: ignore[arg-type]
    pipeline = IngestionPipeline(steps())  # type: ignore[arg-type]
    assert told(pipeline.run(documents(5), num_workers=workers)) == told(plain)
    assert told(pipeline.run(documents(5), num_workers=workers)) == told(plain)


def test_a_cache_filled_by_many_workers_is_used_by_the_next_run() -> None:
    embedder, cache = Counting(), IngestionCache()
    llm = ScriptedLLM(lambda call: "KEYWORDS: a")
    steps = [splitter(), KeywordExtractor(llm), embedder]
    first = IngestionPipeline(steps, cache=cache).run(documents(7), num_workers=3)
    assert (len(embedder.given), len(llm.calls)) == (14, 14)
    again = IngestionPipeline(steps, cache=cache).run(documents(7))
    assert (len(embedder.given), len(llm.calls)) == (14, 14)
    assert told(again) == told(first)


def test_metadata_hidden_from_a_step_does_not_rerun_it() -> None:
    embedder = Counting()
    pipeline = IngestionPipeline([splitter(), embedder])
    for mark in ("old", "new"):
        given = Document("Some words.", "d", {"mark": mark}, excluded_embed_metadata_keys=["mark"])
        assert [node.metadata for node in pipeline.run([given])] == [{"mark": mark}]
    assert embedder.given == ["Some words."]
    pipeline.run([Document("Some words.", "d", {"mark": "new"})])
    assert embedder.given == ["Some words.", "mark: new\n\nSome words."]


def test_step_that_sees_all_nodes_is_cached_for_exactly_these() -> None:
    step = Recording()
    pipeline = IngestionPipeline([step])
    pipeline.run(documents(2))
    assert step.given == ["d0", "d1"]
    step.given.clear()  # what it was given is part of what it is
    pipeline.run(documents(2))
    assert step.given == []
    pipeline.run(documents(3))
    assert step.given == ["d0", "d1", "d2"]


@dataclass
class Odd:
    """A step that does to each node what `change` says."""

    change: str
    works_on: str = "node"

    def __call__(self, nodes: Sequence[Document | TextNode]) -> list[Document | TextNode]:
        return [CHANGES[self.change](node) for node in nodes]


CHANGES: dict[str, Callable[[Any], Any]] = {
    "notes its own id": lambda node: replace(node, metadata={"me": node.id_}),
    "notes its document's id": lambda node: replace(node, metadata={"of": node.ref_doc_id}),
    "puts something first": lambda node: replace(node, metadata={"first": 1, **node.metadata}),
    "takes something away": lambda node: replace(node, metadata={"left": 1}),
    "changes the text": lambda node: replace(node, text=node.text.upper(), excluded_llm_metadata_keys=("n",)),
    "changes the template": lambda node: replace(node, template=Template("{content}")),
    "notes its place": lambda node: replace(node, metadata={"place": node.start_char_idx}),
    "links": lambda node: replace(node, next_id=f"after {node.id_}"),
    "takes the vector away": lambda node: replace(node, embedding=None),
    "makes a new node": lambda node: TextNode(node.text + "!", f"new {node.id_}", ref_doc_id=node.ref_doc_id),
    "leaves it": lambda node: node,
}


@pytest.mark.parametrize("change", CHANGES)
def test_cache_returns_what_the_step_would_have_computed(change: str) -> None:
    vector = np.array([1, 2], np.float32)
    same = {"text": "the same text", "metadata": {"n": 1, "m": 2}, "embedding": vector}
    runs = [
        [TextNode(**same, id_="a", ref_doc_id="x", start_char_idx=0), TextNode("other", "b", ref_doc_id="x")],
        [TextNode(**same, id_="c", ref_doc_id="y", start_char_idx=0), TextNode("other", "b", ref_doc_id="x")],
        [
            TextNode(**same, id_="a", ref_doc_id="x", start_char_idx=7),
            TextNode("other", "b", {"n": 2}, ref_doc_id="x"),
        ],
    ]
    cached, plain = IngestionPipeline([Odd(change)]), IngestionPipeline([Odd(change)], disable_cache=True)
    for nodes in runs:
        first, again, expected = cached.run(nodes=nodes), cached.run(nodes=nodes), plain.run(nodes=nodes)
        assert told(first) == told(again) == told(expected)
        assert [list(node.metadata) for node in again] == [list(node.metadata) for node in expected]
        assert [node.get_content(MetadataMode.LLM) for node in again] == [
            node.get_content(MetadataMode.LLM) for node in expected
        ]


def test_the_pages_of_a_document_are_part_of_what_a_step_sees() -> None:
    @dataclass
    class Paging:
        works_on: str = "document"

        def __call__(self, nodes: Sequence[Document | TextNode]) -> list[TextNode]:
            return [
                TextNode(page.label, "n")
                for node in nodes
                if isinstance(node, Document)
                for page in node.pages
            ]

    pipeline = IngestionPipeline([Paging()])
    for label in ("1", "2", "1"):
        made = pipeline.run([Document("text", "d", pages=(Page(label, 0, 4),))])
        assert [node.text for node in made] == [label]


def test_what_an_index_node_stands_for_is_not_lost_in_the_cache() -> None:
    @dataclass
    class Pointing:
        works_on: str = "document"

        def __call__(self, nodes: Sequence[Document | TextNode]) -> list[TextNode]:
            return [IndexNode(node.text, "n", obj=self) for node in nodes]

    pipeline = IngestionPipeline([Pointing()])
    for _ in range(2):
        made = pipeline.run(documents(1))[0]
        assert isinstance(made, IndexNode)
        assert made.obj == Pointing()


def test_node_step_that_changes_the_node_count_is_an_error() -> None:
    @dataclass
    class Doubling:
        works_on: str = "node"

        def __call__(self, nodes: Sequence[Document | TextNode]) -> list[Document | TextNode]:
            return [*nodes, *nodes]

    with pytest.raises(ValueError, match="Doubling works on each passage alone, but made 4 passages of 2"):
        IngestionPipeline([Doubling()]).run(documents(2))


@pytest.mark.parametrize("workers", [1, 3])
def test_duplicates_are_computed_once_and_get_their_own_ids(workers: int) -> None:
    embedder = Counting()
    twins = [Document(f"The same text {n % 2}.", f"d{n}") for n in range(6)]
    made = IngestionPipeline([splitter(), embedder]).run(twins, num_workers=workers)
    assert sorted(embedder.given) == ["The same text 0.", "The same text 1."]
    assert told(made) == told(
        IngestionPipeline([splitter(), HashEmbedding(32)], disable_cache=True).run(twins)
    )


def test_a_function_is_called_each_time() -> None:
    calls: list[int] = []

    def step(nodes: Sequence[Document | TextNode]) -> Sequence[Document | TextNode]:
        calls.append(len(nodes))
        return nodes

    pipeline = IngestionPipeline([step])
    pipeline.run(documents(2))
    pipeline.run(documents(2))
    assert calls == [2, 2]


def test_without_the_cache_everything_is_done_each_time() -> None:
    embedder = Counting()
    pipeline = IngestionPipeline([splitter(), embedder], disable_cache=True)
    pipeline.run(documents(1))
    pipeline.run(documents(1))
    assert len(embedder.given) == 4
    assert len(pipeline.cache) == 0


def test_a_pipeline_that_was_persisted_goes_on_where_it_was(tmp_path: Path) -> None:
    pipeline, docstore, _ = upserting()
    pipeline.run(documents(2))
    pipeline.persist(tmp_path)
    embedder = Counting()
    again = IngestionPipeline([splitter(), embedder], docstore_strategy="upserts")
    again.load(tmp_path)
    assert again.docstore is not None
    assert again.docstore.get_all_document_hashes() == seen(docstore)
    assert again.run(documents(2)) == []
    assert len(again.run(documents(3))) == 2
    assert len(embedder.given) == 2
    bare = IngestionPipeline([splitter(), embedder])
    bare.load(tmp_path)
    bare.docstore = None
    assert len(bare.run(documents(2))) == 4
    assert len(embedder.given) == 2
    with pytest.raises(StoreError, match="no pipeline in the folder"):
        bare.load(tmp_path / "elsewhere")


def test_persisting_without_a_docstore_removes_the_older_one(tmp_path: Path) -> None:
    pipeline, _, _ = upserting()
    pipeline.run(documents(1))
    pipeline.persist(tmp_path)
    IngestionPipeline([splitter()]).persist(tmp_path)
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["cache.db"]
    again = IngestionPipeline([splitter()])
    again.load(tmp_path)
    assert again.docstore is None
    assert len(again.run(documents(1))) == 2


def test_pipeline_and_index_share_a_folder_repeatedly(tmp_path: Path) -> None:
    index = VectorStoreIndex(documents(1), embed_model=HashEmbedding(32), transformations=[splitter()])
    index.storage_context.docstore.add_documents([TextNode("Shared by indexes.", "s")])
    pipeline, docstore, _ = upserting()
    for count in (2, 1):
        index.storage_context.persist(tmp_path)
        opened = load_index_from_storage(
            StorageContext.from_defaults(persist_dir=tmp_path), embed_model=HashEmbedding(32)
        )
        docstore.delete_ref_doc("d1", raise_error=False)
        pipeline.run(documents(count))
        pipeline.persist(tmp_path)
        assert [hit.node.ref_doc_id for hit in opened.as_retriever().retrieve("alpha beta")] == ["d0", "d0"]
        index.storage_context.persist(tmp_path)
        again = IngestionPipeline([])
        again.load(tmp_path)
        assert isinstance(again.docstore, SimpleDocumentStore)
        assert seen(again.docstore) == seen(docstore)
        assert list(again.docstore.docs) == [f"d{number}" for number in range(count)]
        reopened = StorageContext.from_defaults(persist_dir=tmp_path)
        assert list(reopened.docstore.docs) == ["s"]
        assert list(load_index_from_storage(reopened, embed_model=HashEmbedding(32)).ref_doc_info) == ["d0"]


@pytest.mark.parametrize("with_index", [True, False])
def test_pipeline_without_a_docstore_ignores_a_storage_folder(tmp_path: Path, with_index: bool) -> None:
    context = StorageContext.from_defaults()
    context.docstore.add_documents([TextNode("Shared by indexes.", "s")])
    if with_index:
        VectorStoreIndex([], embed_model=HashEmbedding(32), storage_context=context)
    context.persist(tmp_path)
    IngestionPipeline([splitter()]).persist(tmp_path)
    opened = StorageContext.from_defaults(persist_dir=tmp_path)
    assert list(opened.docstore.docs) == ["s"]
    assert len(opened.index_store.all()) == with_index
    again = IngestionPipeline([])
    again.load(tmp_path)
    assert again.docstore is None


@pytest.mark.parametrize("strategy", list(DocstoreStrategy))
def test_failed_run_changes_nothing_and_can_be_repeated(strategy: DocstoreStrategy) -> None:
    embedder = Counting()
    pipeline, docstore, store = upserting(embedder, strategy)
    pipeline.run(documents(3))
    before = (seen(docstore), docstore.docs, whole(store))
    new = [documents(1)[0], Document("Changed words.", "d1"), Document("Something forbidden.", "d9")]
    embedder.forbidden = {"forbidden"}
    with pytest.raises(EmbeddingError):
        pipeline.run(new)
    assert (seen(docstore), docstore.docs, whole(store)) == before
    embedder.forbidden = set()
    assert len(pipeline.run(new)) == 2
    assert list_passages(store)["d1"] == ["Changed words."]
    assert ("d2" in list_passages(store)) == (strategy is not DocstoreStrategy.UPSERTS_AND_DELETE)


def test_refusal_by_the_store_undoes_the_documents_before() -> None:
    class Odd(HashEmbedding):
        """Vectors of another width for the document d8."""

        def embed_passages(self, texts):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
            return [HashEmbedding(16 if "n: 8" in text else 32).embed_query(text) for text in texts]

    pipeline, docstore, store = upserting(Odd(32), DocstoreStrategy.UPSERTS_AND_DELETE)
    pipeline.run(documents(3))
    before = (seen(docstore), whole(store))
    with pytest.raises(DimensionError):
        pipeline.run([Document("Changed.", "d0"), Document("New.", "d7"), Document("Odd.", "d8", {"n": 8})])
    assert (seen(docstore), whole(store)) == before


def test_refusal_by_the_docstore_undoes_the_vector_store() -> None:
    class Full(SimpleDocumentStore):
        def set_document_hash(self, doc_id: str, doc_hash: str) -> None:
            if doc_id == "d5":
                raise StoreError("The disk is full.")
            super().set_document_hash(doc_id, doc_hash)

    docstore, store = Full(), MemoryStore()
    pipeline = IngestionPipeline([splitter(), HashEmbedding(8)], docstore, "upserts_and_delete", store)
    pipeline.run(documents(2))
    before = (seen(docstore), docstore.docs, whole(store))
    with pytest.raises(StoreError, match="full"):
        pipeline.run([Document("Changed.", "d0"), Document("Five.", "d5")])
    assert (seen(docstore), docstore.docs, whole(store)) == before


def test_results_before_a_failure_are_not_computed_again() -> None:
    llm = ScriptedLLM([LLMServerError("Busy."), "KEYWORDS: a"])
    embedder = Counting()
    pipeline = IngestionPipeline([embedder, KeywordExtractor(llm)])
    with pytest.raises(LLMServerError):
        pipeline.run(nodes=[TextNode("one", "1")])
    assert [node.metadata for node in pipeline.run(nodes=[TextNode("one", "1")])] == [
        {"excerpt_keywords": "a"}
    ]
    assert embedder.given == ["one"]


def test_store_without_vectors_or_with_whole_documents_fails() -> None:
    for steps, said in (
        [[splitter()], "no passage has a vector"],
        [[HashEmbedding(8)], "there must be a splitter"],
    ):
        docstore = SimpleDocumentStore()
        with pytest.raises(ValueError, match=str(said)):
            IngestionPipeline(steps, docstore, vector_store=MemoryStore()).run(documents(1))  # type: ignore[arg-type]
        assert seen(docstore) == {}


def test_passage_without_a_source_document_cannot_be_stored() -> None:
    pipeline = IngestionPipeline(
        [lambda nodes: [TextNode("x")], HashEmbedding(8)], vector_store=MemoryStore()
    )
    with pytest.raises(ValueError, match="does not say which of the documents"):
        pipeline.run(documents(1))


def test_the_trace_says_what_was_done() -> None:
    pipeline, _, _ = upserting()
    pipeline.run(documents(2))
    with span("root") as root:
        pipeline.run(documents(3))
    facts = root.spans("ingest")[0].facts
    assert facts == {"pipeline": "default", "documents": 3, "skipped": 2, "deleted": 0, "passages": 2}
    assert [step.facts["step"] for step in root.spans("transform")] == ["SentenceSplitter", "Counting"]


def test_an_event_loop_may_run_it() -> None:
    assert told(asyncio.run(IngestionPipeline([splitter()]).arun(documents(2)))) == told(
        splitter()(documents(2))
    )


@pytest.mark.parametrize("scope", ["node", "document"])
def test_workers_work_at_the_same_time(scope: str) -> None:
    together = threading.Barrier(3, timeout=10)

    @dataclass
    class Waiting:
        works_on: str = scope

        def __call__(self, nodes: Sequence[Document | TextNode]) -> Sequence[Document | TextNode]:
            together.wait()  # goes on only once three calls have come
            return nodes

    made = IngestionPipeline([Waiting()]).run(documents(3), num_workers=3)
    assert [node.id_ for node in made] == ["d0", "d1", "d2"]


def test_fewer_than_one_worker_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="num_workers is -1"):
        IngestionPipeline([splitter()]).run(documents(1), num_workers=-1)
