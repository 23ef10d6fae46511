"""What goes wrong in the ingestion pipelines that people know, and does not here."""

from collections.abc import Callable, Sequence

import pytest

from ragcore.embeddings.hashing import HashEmbedding
from ragcore.errors import EmbeddingError
from ragcore.ingestion import DocstoreStrategy, IngestionCache, IngestionPipeline
from ragcore.node_parser.node_building import Cut
from ragcore.node_parser.sentence import SentenceSplitter
from ragcore.schema import Document, TextNode
from ragcore.storage.docstore import SimpleDocumentStore
from ragcore.vector_stores.memory import MemoryStore
from tests.ragcore.ingestion.doubles import Counting, documents, splitter, told
from tests.word_tokenizer import WordTokenizer


def test_d19_same_text_elsewhere_gets_own_ids_and_one_embedding() -> None:
    embedder = Counting()
    pipeline = IngestionPipeline([splitter(), embedder])
    text = "One two three four. Five six seven eight."
    pipeline.run([Document(text, "first")])
    cached = pipeline.run([Document(text, "second")])
    assert len(embedder.given) == 2
    assert told(cached) == told(
        IngestionPipeline([splitter(), HashEmbedding(32)]).run([Document(text, "second")])
    )
    assert {node.ref_doc_id for node in cached if isinstance(node, TextNode)} == {"second"}


def test_d19_texts_of_equal_concatenation_stay_distinct() -> None:
    embedder = Counting()
    pipeline = IngestionPipeline([embedder])
    pipeline.run(nodes=[TextNode("ab", "1"), TextNode("c", "2")])
    pipeline.run(nodes=[TextNode("a", "1"), TextNode("bc", "2")])
    assert embedder.given == ["ab", "c", "a", "bc"]


@pytest.mark.parametrize("tokenizer", [WordTokenizer(), str.split, lambda text: text.split()])
def test_d19_another_tokenizer_is_another_splitter(
    tokenizer: WordTokenizer | Callable[[str], list[str]],
) -> None:
    document, cache = Document("One two three. Four five six. Seven eight nine.", "d"), IngestionCache()
    by_letters = IngestionPipeline([SentenceSplitter(20, 0, tokenizer=list)], cache=cache).run([document])
    by_words = IngestionPipeline([SentenceSplitter(20, 0, tokenizer=tokenizer)], cache=cache).run([document])
    assert (len(by_letters), len(by_words)) == (3, 1)


def test_d19_one_document_more_is_one_document_embedded() -> None:
    embedder = Counting()
    pipeline = IngestionPipeline([embedder])
    pipeline.run(nodes=[TextNode(f"text {n}", str(n)) for n in range(50)])
    del embedder.given[:]
    pipeline.run(nodes=[TextNode(f"text {n}", str(n)) for n in range(51)])
    assert embedder.given == ["text 50"]


def test_d19_one_document_more_is_one_document_split(monkeypatch: pytest.MonkeyPatch) -> None:
    split: list[str] = []
    cuts = SentenceSplitter.cuts

    def noted(self: SentenceSplitter, source: Document | TextNode) -> Sequence[Cut]:
        split.append(source.id_)
        return cuts(self, source)

    monkeypatch.setattr(SentenceSplitter, "cuts", noted)
    pipeline = IngestionPipeline([splitter(), HashEmbedding(32)])
    pipeline.run(documents(50))
    assert split == [f"d{n}" for n in range(50)]
    pipeline.run(documents(51))
    assert split[50:] == ["d50"]


@pytest.mark.parametrize("strategy", list(DocstoreStrategy))
def test_d20_failed_documents_are_not_marked_seen_and_old_stay(
    strategy: DocstoreStrategy,
) -> None:
    embedder, docstore, store = Counting(), SimpleDocumentStore(), MemoryStore()
    pipeline = IngestionPipeline([splitter(), embedder], docstore, strategy, store)
    pipeline.run(documents(2))
    old = [node.text for node in store.passages()]
    changed = [Document("Entirely new.", "d0"), documents(2)[1], Document("More.", "d2")]
    embedder.forbidden = {"new"}
    with pytest.raises(EmbeddingError):
        pipeline.run(changed)
    assert [node.text for node in store.passages()] == old
    embedder.forbidden = set()
    assert {node.text for node in pipeline.run(changed)} == {"Entirely new.", "More."}
    assert [node.text for node in store.passages("d0")] == ["Entirely new."]


def test_d21_of_two_equal_documents_the_missing_one_is_removed() -> None:
    docstore, store = SimpleDocumentStore(), MemoryStore()
    pipeline = IngestionPipeline(
        [splitter(), HashEmbedding(8)], docstore, DocstoreStrategy.UPSERTS_AND_DELETE, vector_store=store
    )
    twins = [Document("The same.", "a"), Document("The same.", "b")]
    assert len(pipeline.run(twins)) == 2
    assert {stored.id_ for stored in store.documents()} == {"a", "b"}
    pipeline.run(twins[:1])
    assert {stored.id_ for stored in store.documents()} == set(docstore.get_all_document_hashes()) == {"a"}
