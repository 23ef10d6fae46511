"""Promises of a sentence each: what is logged on request, what is refused, what is forgotten."""

from __future__ import annotations

import logging

import pytest

from ragcore import SimpleDirectoryReader, VectorStoreIndex
from ragcore.embeddings import HashEmbedding, HuggingFaceEmbedding
from ragcore.ingestion import IngestionPipeline
from ragcore.llamaindex.node_parser import SentenceWindowNodeParser
from ragcore.llms.scripted import ScriptedLLM
from ragcore.node_parser import HTMLNodeParser, MarkdownNodeParser, NodeParser, SentenceSplitter
from ragcore.prompts.templates import PromptTemplate
from ragcore.prompts.wording import TEXT_QA
from ragcore.schema import Document

DOCUMENTS = [
    Document("A lectern has a slanting top. Speakers read from it.", name) for name in ("one", "two")
]


def test_metadata_that_leaves_little_room_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    told = {"title": " ".join(["word"] * 60)}
    splitter = SentenceSplitter(100, 0, tokenizer=str.split)
    splitter([Document("some text", metadata={"title": "short"})])
    assert not caplog.records
    splitter([Document("some text", metadata=told)])
    assert "39 tokens of 100" in caplog.text


def test_progress_is_logged_on_request(
    caplog: pytest.LogCaptureFixture, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("files")
    for name in ("a.txt", "b.txt"):
        folder.joinpath(name).write_text("text")
    for asked in (False, True):
        caplog.clear()
        with caplog.at_level(logging.INFO):
            SimpleDirectoryReader(folder).load_data(show_progress=asked)
            SentenceSplitter().get_nodes_from_documents(DOCUMENTS, show_progress=asked)
            IngestionPipeline([SentenceSplitter()]).run(DOCUMENTS, show_progress=asked)
            VectorStoreIndex(DOCUMENTS, embed_model=HashEmbedding(8), show_progress=asked)
        said = [record.getMessage() for record in caplog.records]
        wanted = ["read 2 of 2", "split two: 1 passages", "SentenceSplitter", "embedded 2 of 2 passages"]
        assert [any(text in line for line in said) for text in wanted] == [asked] * 4
        assert "slanting" not in caplog.text  # never the text of a document


def test_a_cache_that_is_cleared_has_forgotten_everything() -> None:
    class Counting(HashEmbedding):
        count = 0

        def embed_passages(self, texts):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
            self.count += len(texts)
            return super().embed_passages(texts)

    embedder = Counting(8)
    pipeline = IngestionPipeline([SentenceSplitter(), embedder])
    for clear, counted in ((False, 1), (False, 1), (True, 2)):
        if clear:
            pipeline.cache.clear()
        pipeline.run(DOCUMENTS)
        assert embedder.count == counted  # both documents say the same


def test_a_prediction_takes_exactly_what_its_prompt_names() -> None:
    llm = ScriptedLLM(lambda call: call.messages()[-1].content)
    assert llm.predict(PromptTemplate("Say {word}."), word="hello") == "Say hello."
    with pytest.raises(ValueError, match=r"wrong or missing: .*'wrod'"):
        llm.predict(PromptTemplate("Say {word}."), wrod="hello")
    with pytest.raises(ValueError, match="context_str"):
        llm.predict(TEXT_QA, query_str="why?")


@pytest.mark.parametrize(
    ("name", "asked", "told"),
    [  # as the models' cards say
        ("BAAI/bge-base-en-v1.5", "Represent this sentence for searching relevant passages: ", ""),
        ("BAAI/bge-small-zh-v1.5", "为这个句子生成表示以用于检索相关文章：", ""),
        ("intfloat/e5-small-v2", "query: ", "passage: "),
        ("intfloat/multilingual-e5-large", "query: ", "passage: "),
        ("sentence-transformers/all-MiniLM-L6-v2", "", ""),
        ("intfloat/e5-mistral-7b-instruct", "", ""),
    ],
)
def test_models_get_the_instructions_of_their_training(name: str, asked: str, told: str) -> None:
    embedder = HuggingFaceEmbedding(name)
    assert (embedder.query_instruction, embedder.text_instruction) == (asked, told)
    own = HuggingFaceEmbedding(name, query_instruction="q", text_instruction="")
    assert (own.query_instruction, own.text_instruction) == ("q", "")


@pytest.mark.parametrize(
    ("parser", "text", "key"),
    [
        (MarkdownNodeParser(), "# One\n\ntext", "header_path"),
        (HTMLNodeParser(), "<p>text</p>", "tag"),
        (SentenceWindowNodeParser(), "One is here. Two is there.", "window"),
    ],
)
def test_splitter_metadata_goes_before_document_metadata(parser: NodeParser, text: str, key: str) -> None:
    (own, *_) = parser([Document(text, "d")])
    (node, *_) = parser([Document(text, "d", {key: "of the document", "other": "kept"})])
    assert node.metadata[key] == own.metadata[key] != "of the document"
    assert node.metadata["other"] == "kept"
