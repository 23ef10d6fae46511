"""What is used where a constructor is not told."""

from __future__ import annotations

import subprocess
import sys
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
from ragcore.ingestion import IngestionPipeline
from ragcore.llms.base import LLMMetadata
from ragcore.llms.context_window import WindowedLLM
from ragcore.llms.ollama import Ollama
from ragcore.llms.openai import OpenAICompatibleLLM
from ragcore.llms.scripted import ScriptedLLM
from ragcore.node_parser.markdown import MarkdownNodeParser
from ragcore.node_parser.sentence import SentenceSplitter
from ragcore.node_parser.token import TokenTextSplitter
from ragcore.observe import span
from ragcore.settings import get_tokenizer, services
from tests.scripted_server import ScriptedServer

TEXT = " ".join(f"Word{number} stands here." for number in range(100))


@pytest.fixture(autouse=True)
def _settings_as_they_were() -> Iterator[None]:
    values = {field.name: getattr(Settings, field.name) for field in fields(Settings)}
    before = {name: list(value) if isinstance(value, list) else value for name, value in values.items()}
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
    with pytest.raises(ValueError, match=r"'text-embedding-3-small'.*'local:'"):
        Settings.embed_model = "text-embedding-3-small"
    assert services().embed_model.name == HuggingFaceEmbedding("somebody/some-model").name


def test_a_model_s_name_is_no_model() -> None:
    with pytest.raises(ValueError, match=r"OpenAI\(model='gpt-4o-mini'\)"):
        Settings.llm = "gpt-4o-mini"  # type: ignore[assignment]


def test_unset_settings_are_the_defaults_of_the_engines() -> None:
    assert Settings.embed_model is Settings.embed_model
    assert Settings.embed_model.name == HuggingFaceEmbedding().name
    assert Settings.llm is Settings.llm
    assert isinstance(Settings.llm, ExtractiveLLM)
    (step,) = Settings.transformations
    assert step is Settings.node_parser is Settings.text_splitter
    assert (Settings.chunk_size, Settings.chunk_overlap) == (1024, 200)
    assert len(Settings.tokenizer("One two three")) == 3
    assert (Settings.prompt_helper.context_window, Settings.context_window) == (3900, 3900)
    assert Settings.callback_manager is Settings.callback_manager
    assert services().embed_model is Settings.embed_model


def test_unset_embedder_is_a_step_of_a_pipeline() -> None:
    pipeline = IngestionPipeline(transformations=[SentenceSplitter(), Settings.embed_model])
    (node,) = pipeline.run(documents=[Document("A lectern holds notes.")])
    expected = HuggingFaceEmbedding().embed_passages(["A lectern holds notes."])[0]
    assert node.embedding == pytest.approx(expected, abs=1e-5)
    index = VectorStoreIndex.from_documents(
        [Document("A lectern holds notes.")], transformations=[SentenceSplitter(), Settings.embed_model]
    )
    assert [passage.text for passage in index.store.passages()] == ["A lectern holds notes."]


def test_unset_settings_load_no_model_and_need_no_network() -> None:
    code = (
        "import sys\n"
        "from ragcore import Settings\n"
        "for name in ('llm', 'embed_model', 'transformations', 'tokenizer', 'prompt_helper', 'chunk_size'):\n"
        "    assert getattr(Settings, name) is not None, name\n"
        "assert Settings.llm.metadata.model_name == 'extractive'\n"
        "print(*({'torch', 'streamlit', 'transformers', 'httpx'} & sys.modules.keys()))\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout == "\n"


def test_default_that_is_set_again_stays_the_default() -> None:
    llm, embedder, tokenizer, parser = (
        Settings.llm,
        Settings.embed_model,
        Settings.tokenizer,
        Settings.node_parser,
    )
    Settings.llm, Settings.embed_model = ScriptedLLM(["Yes."]), HashEmbedding(8)
    Settings.llm, Settings.tokenizer, Settings.node_parser = llm, tokenizer, parser
    assert Settings.llm is not llm  # it quotes by the embedder of the settings, as engines do
    Settings.embed_model = embedder
    Settings.chunk_size = 300
    assert (Settings.node_parser.chunk_size, services().embed_model) == (300, embedder)  # type: ignore[attr-defined]
    assert Settings.context_window == 3900


def test_settings_after_none_are_the_defaults_again() -> None:
    Settings.llm, Settings.embed_model, Settings.tokenizer = (
        ScriptedLLM(["Yes."]),
        HashEmbedding(8),
        str.split,
    )
    Settings.transformations, Settings.chunk_size = [TokenTextSplitter()], 300
    Settings.llm = Settings.embed_model = Settings.tokenizer = None  # type: ignore[assignment]
    Settings.transformations = Settings.chunk_size = None  # type: ignore[assignment]
    assert isinstance(Settings.llm, ExtractiveLLM)
    assert isinstance(Settings.embed_model, HuggingFaceEmbedding)
    assert (Settings.chunk_size, Settings.transformations) == (1024, [Settings.node_parser])
    assert Settings.tokenizer is get_tokenizer()


def test_step_added_to_the_default_transformations_is_run() -> None:
    Settings.embed_model = HashEmbedding(8)
    Settings.transformations.append(Settings.embed_model)  # type: ignore[attr-defined]
    Settings.chunk_size, Settings.chunk_overlap, Settings.tokenizer = 4, 0, str.split  # type: ignore[assignment]
    assert Settings.node_parser is Settings.transformations[0]
    nodes = IngestionPipeline(transformations=Settings.transformations).run(documents=[Document(TEXT)])
    assert {len(node.text.split()) for node in nodes} == {3}
    assert all(node.embedding is not None for node in nodes)


def test_chunk_sizes_change_a_copy_of_the_chosen_parser() -> None:
    Settings.node_parser = parser = TokenTextSplitter(chunk_size=40, chunk_overlap=4)
    assert (Settings.chunk_size, Settings.chunk_overlap) == (40, 4)
    Settings.chunk_size, Settings.chunk_overlap = 10, 0
    chosen = Settings.node_parser
    assert isinstance(chosen, TokenTextSplitter)
    assert (chosen.chunk_size, chosen.chunk_overlap) == (10, 0)
    assert (parser.chunk_size, parser.chunk_overlap) == (40, 4)
    Settings.chunk_overlap = 11
    with pytest.raises(ValueError, match="chunk_overlap is larger than chunk_size"):
        services()
    Settings.node_parser = MarkdownNodeParser()
    with pytest.raises(ValueError, match="MarkdownNodeParser, has no chunk_size"):
        assert Settings.chunk_size


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


def test_default_transformations_that_are_set_again_are_no_choice() -> None:
    Settings.chunk_overlap = 10
    default = Settings.transformations
    Settings.transformations = [TokenTextSplitter()]
    Settings.transformations = default
    Settings.chunk_size = 300
    (splitter,) = services().transformations
    assert isinstance(splitter, SentenceSplitter)
    assert splitter.chunk_size == 300
