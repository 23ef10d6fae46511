"""What is used where a constructor is not told."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import fields, replace

import pytest

from ragcore import (
    Document,
    NodeWithScore,
    PromptHelper,
    PromptTemplate,
    Settings,
    TextNode,
    VectorStoreIndex,
    get_response_synthesizer,
    load_index_from_storage,
)
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.embeddings.huggingface import HuggingFaceEmbedding
from ragcore.extractive.answerer import ExtractiveLLM
from ragcore.llms.base import LLMMetadata
from ragcore.llms.context_window import WindowedLLM
from ragcore.llms.ollama import Ollama
from ragcore.llms.openai import OpenAICompatibleLLM
from ragcore.llms.scripted import ScriptedLLM
from ragcore.node_parser.sentence import SentenceSplitter
from ragcore.node_parser.token import TokenTextSplitter
from ragcore.observe import span
from ragcore.settings import services
from tests.scripted_server import ScriptedServer

TEXT = " ".join(f"Word{number} stands here." for number in range(100))


@pytest.fixture(autouse=True)
def _settings_as_they_were() -> Iterator[None]:
    before = {field.name: getattr(Settings, field.name) for field in fields(Settings)}
    yield
    for name, value in before.items():
        setattr(Settings, name, value)


def test_the_defaults_need_no_server_and_no_download() -> None:
    found = services()
    assert isinstance(found.embed_model, HuggingFaceEmbedding)
    assert found.embed_model.name == HuggingFaceEmbedding().name
    assert isinstance(found.llm, ExtractiveLLM)
    (splitter,) = found.transformations
    assert isinstance(splitter, SentenceSplitter)
    assert (splitter.chunk_size, splitter.chunk_overlap) == (1024, 200)


def test_embedder_may_be_named_and_other_texts_are_refused() -> None:
    Settings.embed_model = "local:somebody/some-model"
    assert services().embed_model.name == HuggingFaceEmbedding("somebody/some-model").name
    assert services(embed_model="local").embed_model.name == HuggingFaceEmbedding().name
    Settings.embed_model = "text-embedding-3-small"
    with pytest.raises(ValueError, match=r"'text-embedding-3-small'.*'local:'"):
        services()


def test_a_model_s_name_is_no_model() -> None:
    Settings.llm = "gpt-4o-mini"  # type: ignore[assignment]
    with pytest.raises(ValueError, match=r"OpenAI\(model='gpt-4o-mini'\)"):
        VectorStoreIndex([], embed_model=HashEmbedding()).as_query_engine()


def test_settings_apply_to_what_is_built_later_and_not_earlier() -> None:
    Settings.embed_model = HashEmbedding(8)
    Settings.llm = ExtractiveLLM(HashEmbedding(8))
    before = VectorStoreIndex([])
    Settings.embed_model = HashEmbedding(16)
    Settings.chunk_size = 50
    Settings.chunk_overlap = 0
    Settings.tokenizer = str.split
    after = VectorStoreIndex.from_documents([Document(TEXT)])
    assert before.embed_model.name == "hash-8"
    assert after.embed_model.name == "hash-16"
    assert before.llm is after.llm is Settings.llm
    assert [len(node.text.split()) for node in after.store.passages()] == [48, 48, 48, 48, 48, 48, 12]
    assert load_index_from_storage(after.storage_context).embed_model is Settings.embed_model


def test_arguments_override_settings() -> None:
    Settings.embed_model = HashEmbedding(8)
    Settings.llm = ExtractiveLLM(HashEmbedding(8))
    llm, embedder, splitter = ExtractiveLLM(HashEmbedding(8)), HashEmbedding(16), TokenTextSplitter()
    found = services(llm, embedder, [splitter])
    assert (found.llm, found.embed_model, found.transformations) == (llm, embedder, (splitter,))


def test_default_node_parser_splits_sentences_to_the_set_sizes() -> None:
    Settings.chunk_size, Settings.chunk_overlap, Settings.tokenizer = 6, 0, str.split
    for splitter in (Settings.node_parser, Settings.text_splitter, services().transformations[0]):
        nodes = splitter([Document("One two three four. Five six seven eight.")])
        assert [node.text for node in nodes] == ["One two three four.", "Five six seven eight."]


def test_splitter_overrides_sizes_and_transformations_both() -> None:
    splitter, step = TokenTextSplitter(), TokenTextSplitter(chunk_size=9, chunk_overlap=0)
    Settings.chunk_size = 50
    Settings.text_splitter = splitter
    assert Settings.node_parser is splitter
    assert services().transformations == (splitter,)
    Settings.transformations = [step]
    assert services().transformations == (step,)


def test_the_reader_that_quotes_uses_the_embedder_that_was_named() -> None:
    Settings.embed_model = HashEmbedding(8)
    index = VectorStoreIndex.from_documents([Document("Cats purr."), Document("Dogs bark.")])
    assert "Dogs bark." in index.as_query_engine(similarity_top_k=1).query("Do dogs bark?").response


def test_model_set_after_an_index_was_built_answers_from_then_on() -> None:
    Settings.embed_model = HashEmbedding(8)
    index = VectorStoreIndex([Document("A lectern holds notes.", "a")])
    Settings.llm = ScriptedLLM(["Notes."])
    assert index.as_query_engine().query("What does it hold?").response == "Notes."


def test_the_window_is_the_models_until_another_is_chosen() -> None:
    assert (Settings.context_window, Settings.num_output) == (3900, 256)
    Settings.llm = ScriptedLLM(context_window=2000, num_output=99)
    assert (Settings.context_window, Settings.num_output) == (2000, 99)
    Settings.context_window = 500
    assert (Settings.context_window, Settings.num_output, Settings.prompt_helper.context_window) == (
        500,
        99,
        500,
    )
    Settings.num_output = 50
    Settings.llm = ScriptedLLM(context_window=4000)
    assert (Settings.context_window, Settings.num_output) == (500, 50)
    Settings.prompt_helper = PromptHelper(800, 80)
    assert (Settings.context_window, Settings.num_output) == (800, 80)
    Settings.prompt_helper = None
    assert Settings.context_window == 4000


def test_set_window_applies_to_the_settings_model_only() -> None:
    Settings.embed_model = HashEmbedding(8)
    Settings.llm = ScriptedLLM(lambda call: "Yes.", counts_words=True)
    nodes = [NodeWithScore(TextNode("word " * 300), 1.0), NodeWithScore(TextNode("other " * 300), 1.0)]
    get_response_synthesizer().synthesize("Why?", nodes)
    assert len(Settings.llm.calls) == 1
    Settings.context_window, Settings.num_output = 500, 50
    get_response_synthesizer().synthesize("Why?", nodes)
    assert len(Settings.llm.calls) == 3
    assert [call.streamed for call in Settings.llm.calls[1:]] == [True, True]
    get_response_synthesizer(Settings.llm).synthesize("Why?", nodes)
    assert len(Settings.llm.calls) == 4
    assert services(Settings.llm).llm is Settings.llm
    assert services().llm.metadata == replace(Settings.llm.metadata, context_window=500, num_output=50)
    assert services().llm.predict(PromptTemplate("{word} two"), word="one") == "Yes."
    assert services().llm.count_tokens("one two") == 2


@pytest.mark.parametrize("kind", [Ollama, OpenAICompatibleLLM])
def test_served_model_is_called_with_the_set_sizes(kind: type[Ollama | OpenAICompatibleLLM]) -> None:
    with ScriptedServer(lambda messages: "Yes.") as server, closing(kind("tiny", server.url)) as llm:
        Settings.llm = llm
        Settings.context_window, Settings.num_output = 32_000, 2_000
        with span("query") as root:
            assert "".join(services().llm.stream(PromptTemplate("Why?"))) == "Yes."
            services().llm.complete("Why?")
            WindowedLLM(services().llm, LLMMetadata("tiny", 900, 90)).complete("Why?")
            llm.complete("Why?")
    asked = [chat.body.get("options", {}) | chat.body for chat in server.chats]
    assert [body.get("num_ctx") for body in asked] == (
        [32_000, 32_000, 900, 8192] if kind is Ollama else [None] * 4
    )
    assert [body.get("num_predict", body.get("max_tokens")) for body in asked] == [2_000, 2_000, 90, 768]
    assert [step.facts["provider"] for step in root.spans("llm")] == [llm.provider] * 4
