import pytest

from ragcore.embeddings.hashing import HashEmbedding
from ragcore.errors import UnknownDocumentError
from ragcore.llamaindex.indices.document_summary.base import DocumentSummaryIndex
from ragcore.llms.base import LLMCall
from ragcore.llms.scripted import ScriptedLLM
from ragcore.observe import span
from ragcore.schema import Document
from ragcore.storage.index_store import IndexRecord
from tests.ragcore.indices.doubles import by_line, document, found, obliging, passages

PETS = document("pets", "cats purr", "dogs bark")
SEA = document("sea", "ships sail", "whales sing", "waves break")
BOATS = document("boats", "ships row")


def index_of(*documents: Document, llm: ScriptedLLM | None = None) -> DocumentSummaryIndex:
    return DocumentSummaryIndex(
        documents, transformations=[by_line], embed_model=HashEmbedding(64), llm=llm or obliging()
    )


def test_each_document_is_summarised_once_from_all_passages() -> None:
    llm = obliging()
    index = index_of(PETS, SEA, llm=llm)
    assert index.get_document_summary("pets") == "<cats purr|dogs bark>"
    assert index.get_document_summary("sea") == "<ships sail|whales sing|waves break>"
    assert [call.prompt for call in llm.calls] == ["summary", "summary"]
    with pytest.raises(UnknownDocumentError, match="boats"):
        index.get_document_summary("boats")


def test_summary_query_may_be_set_and_holds_for_later_documents() -> None:
    llm = obliging()
    asked = "Which animals are there?"
    index = DocumentSummaryIndex(
        [PETS], transformations=[by_line], embed_model=HashEmbedding(64), llm=llm, summary_query=asked
    )
    (record,) = index.storage_context.index_store.all()
    again = DocumentSummaryIndex(
        record=record,
        storage_context=index.storage_context,
        transformations=[by_line],
        embed_model=HashEmbedding(64),
        llm=llm,
        summary_query="What is not asked any more?",
    )
    again.insert(SEA)
    assert [call.variables["query_str"] for call in llm.calls] == [asked, asked]
    assert all(asked in call.messages[-1].content for call in llm.calls)
    assert again.get_document_summary("sea") == "<ships sail|whales sing|waves break>"
    older = DocumentSummaryIndex(
        record=IndexRecord("document_summary", "older"), embed_model=HashEmbedding(64), llm=llm
    )
    assert older.summary_query == ""


def test_the_summary_follows_the_document() -> None:
    index = index_of(PETS, SEA)
    index.insert(document("pets", "owls hunt"))
    assert index.get_document_summary("pets") == "<owls hunt>"
    index.delete_ref_doc("sea")
    assert list(index.summaries()) == ["pets"]


def test_model_picks_documents_by_summary_and_gets_all_passages() -> None:
    llm = obliging()
    index = index_of(PETS, SEA, BOATS, llm=llm)
    del llm.calls[:]
    with span("root") as root:
        hits = index.as_retriever().retrieve("Do ships and whales sing?")
    assert found(hits) == [("sea#0", 3.0), ("sea#1", 3.0), ("sea#2", 3.0)]
    assert root.spans("retrieve")[0].facts["documents"] == [{"id": "sea", "score": 3.0}]
    assert [passage.text for passage in passages(llm.calls[0].call)] == list(index.summaries().values())
    two = index.as_retriever("llm", choice_top_k=2).retrieve("Do ships and whales sing?")
    assert found(two)[3:] == [("boats#0", 1.0)]
    del llm.calls[:]
    index.as_retriever(choice_batch_size=2).retrieve("ships")
    assert len(llm.calls) == 2


def test_documents_rank_by_the_cosine_of_their_summaries() -> None:
    index = index_of(PETS, SEA, BOATS)
    embedder = HashEmbedding(64)
    cosines = {
        id_: float(embedder.embed_query(text) @ embedder.embed_query("ships row"))
        for id_, text in index.summaries().items()
    }
    best = sorted(cosines, key=lambda id_: -cosines[id_])
    assert best[0] == "boats"
    hits = index.as_retriever("embedding", similarity_top_k=2).retrieve("ships row")
    assert list(dict.fromkeys(hit.node.ref_doc_id for hit in hits)) == best[:2]
    assert [hit.score for hit in hits] == pytest.approx(
        [cosines[str(hit.node.ref_doc_id)] for hit in hits], abs=1e-6
    )


def test_document_too_long_for_one_call_is_summarised_in_several() -> None:
    def words_of(call: LLMCall) -> str:
        return " ".join(sorted({word for passage in passages(call) for word in passage.text.split()}))

    llm = ScriptedLLM(words_of, counts_words=True, context_window=200, num_output=50)
    index = index_of(document("long", *(f"word{number} " * 30 for number in range(10))), llm=llm)
    assert len(llm.calls) > 1
    assert index.get_document_summary("long").split() == [f"word{number}" for number in range(10)]


def test_a_document_without_text_has_no_summary_and_no_call() -> None:
    llm = obliging()
    index = index_of(document("empty", " "), PETS, llm=llm)
    assert len(llm.calls) == 1
    assert index.get_document_summary("empty") == ""
    assert list(index.summaries()) == ["pets"]
    assert index.delete_ref_doc("empty") == 0
