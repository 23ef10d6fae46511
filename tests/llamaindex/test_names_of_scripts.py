"""Names and habits of scripts written for LlamaIndex, beyond the tutorials."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

import pytest
from pydantic import BaseModel
from ragcore.llamaindex.prompts.default_prompt_selectors import DEFAULT_TREE_SUMMARIZE_PROMPT_SEL
from ragcore.llamaindex.schema import BaseComponent

from ragcore.callbacks import CallbackManager, CBEventType, LlamaDebugHandler, TokenCountingHandler
from ragcore.chat_engine import SimpleChatEngine
from ragcore.embeddings.base import mean_agg
from ragcore.errors import DamagedStoreError
from ragcore.evaluation.base import BaseEvaluator, EvaluationResult
from ragcore.indices.summary.index import SummaryIndex
from ragcore.llamaindex.agent.utils import messages_to_xml_format
from ragcore.llamaindex.content_blocks import ImageBlock, VideoBlock, load_image_urls
from ragcore.llamaindex.display import display_prompt_dict
from ragcore.llamaindex.extractors.program_extractor import PydanticProgramExtractor
from ragcore.llamaindex.helpers import (
    TokenCounter,
    default_parse_choice_select_answer_fn,
    get_cache_dir,
    globals_helper,
    truncate_text,
)
from ragcore.llamaindex.indices.document_summary.base import DocumentSummaryIndex
from ragcore.llamaindex.indices.keyword_table.base import SimpleKeywordTableIndex
from ragcore.llamaindex.indices.keyword_table.utils import extract_keywords_given_response
from ragcore.llamaindex.llms import CacheControl, CachePoint
from ragcore.llamaindex.node_parser import LangchainNodeParser
from ragcore.llamaindex.objects.base import ObjectIndex, SimpleObjectNodeMapping
from ragcore.llamaindex.program.llm_program import (
    FunctionCallingProgram,
    LLMTextCompletionProgram,
    MultiModalLLMCompletionProgram,
    num_valid_fields,
    process_streaming_content_incremental,
)
from ragcore.llamaindex.prompts import LangchainOutputParser, RichPromptTemplate
from ragcore.llamaindex.prompts.default_prompts import DEFAULT_TREE_SUMMARIZE_PROMPT
from ragcore.llms import LLM, FunctionCallingLLM, MockLLM, ScriptedLLM
from ragcore.llms.tool_call import ToolCall
from ragcore.node_parser import SentenceSplitter
from ragcore.postprocessor import LLMRerank, StructuredLLMRerank
from ragcore.prompts import PromptTemplate
from ragcore.response_synthesizers import TreeSummarize
from ragcore.schema import (
    ChatMessage,
    ChatResponse,
    Document,
    NodeWithScore,
    ObjectType,
    QueryBundle,
    Response,
    TextNode,
)
from ragcore.schema.content_blocks import TextBlock, in_openai_format
from ragcore.selectors import SelectionOutputParser
from ragcore.storage.chat_store import SimpleChatStore
from ragcore.storage.docstore import SimpleDocumentStore


class Lines(SentenceSplitter):
    def split_text(self, text: str) -> list[str]:
        return text.split("\n")


class Loud(SentenceSplitter):
    def split_text(self, text: str) -> list[str]:
        return [text.upper()]


class Album(BaseModel):
    title: str
    year: int


def test_a_splitter_of_ones_own_gives_the_texts_of_the_nodes() -> None:
    nodes = Lines().get_nodes_from_documents([Document("One.\nOne.\nTwo.")])
    assert [(node.text, node.start_char_idx) for node in nodes] == [("One.", 0), ("One.", 5), ("Two.", 10)]
    assert truncate_text("One.\nTwo.", Lines()) == "One."
    with pytest.raises(ValueError, match="not in the text"):
        Loud().get_nodes_from_documents([Document("One.")])


def test_an_index_names_its_passages_in_order() -> None:
    index = SummaryIndex.from_documents(
        [Document("One.\nTwo.", "d")], transformations=[Lines()], use_async=True
    )
    index.summary = "Numbers"
    struct = index.index_struct
    assert (struct.index_id, struct.summary) == (index.index_id, "Numbers")
    assert [node.text for node in index.docstore.get_nodes(struct.nodes)] == ["One.", "Two."]
    assert (struct.node_ids, struct.nodes_dict) == (set(struct.nodes), {id_: id_ for id_ in struct.nodes})
    table = SimpleKeywordTableIndex(
        [TextNode("herons fish", "a"), TextNode("owls fish", "b")]
    ).index_struct.table
    assert table["fish"] == {"a", "b"}


def test_objects_are_retrieved_with_any_index_and_mapping() -> None:
    mapping = SimpleObjectNodeMapping.from_objects(["a", "b"])
    index = ObjectIndex.from_objects(["a", "b"], mapping, index_cls=SummaryIndex)
    index.insert_object("c")
    assert index.as_retriever().retrieve("anything") == ["a", "b", "c"]
    named = ObjectIndex.from_objects(
        ["x"],
        index_cls=SummaryIndex,
        to_node_fn=lambda obj: TextNode(obj, obj),
        from_node_fn=lambda node: node.id_ * 2,
    )
    assert named.as_retriever().retrieve("anything") == ["xx"]


def test_a_program_calls_the_form_as_a_function() -> None:
    rain, sun = (
        ToolCall.of("1", "Album", json)
        for json in ('{"title": "Rain", "year": 1}', '{"title": "Sun", "year": 2}')
    )
    llm = ScriptedLLM([rain], is_function_calling_model=True)
    program = FunctionCallingProgram.from_defaults(
        output_cls=Album, prompt_template_str="About {topic}", llm=llm
    )
    assert program(topic="weather") == Album(title="Rain", year=1)
    several = FunctionCallingProgram.from_defaults(
        output_cls=Album,
        prompt_template_str="About {topic}",
        llm=ScriptedLLM([sun], is_function_calling_model=True),
        allow_parallel_tool_calls=True,
    )
    assert several(topic="weather") == [Album(title="Sun", year=2)]


def test_an_object_grows_with_its_json() -> None:
    def read(text: str, before: Album | None = None) -> BaseModel:
        return process_streaming_content_incremental(
            ChatResponse(ChatMessage("assistant", text)), Album, before
        )

    assert read('{"title": "Rain", "year": 1}') == Album(title="Rain", year=1)
    partial = read('{"title": "Ra')
    assert (partial.title, num_valid_fields(partial)) == ("Ra", 1)  # type: ignore[attr-defined]
    known = Album(title="Sun", year=2)
    assert read("Well,", known) is known
    assert num_valid_fields(read("")) == 0


def test_handlers_hear_of_events_of_a_scripts_own() -> None:
    debug, counter = LlamaDebugHandler(event_starts_to_ignore=[CBEventType.CHUNKING]), TokenCountingHandler()
    manager = CallbackManager([debug, counter])
    manager.on_event_end(
        CBEventType.CHUNKING, {"chunks": ["one"]}, manager.on_event_start(CBEventType.CHUNKING)
    )
    manager.on_event_end(CBEventType.LLM, {"formatted_prompt": "one", "response": "two"}, "mine")
    manager.on_event_end(CBEventType.EMBEDDING, {"chunks": ["one", "two"]})
    assert [event.event_type.value for event in debug.sequential_events] == ["chunking", "llm", "embedding"]
    assert debug.event_pairs_by_type[CBEventType.LLM][0].id_ == "mine"
    assert (counter.total_llm_token_count, counter.total_embedding_token_count) == (2, 2)


def test_an_evaluator_of_ones_own_may_be_async_alone() -> None:
    class Always(BaseEvaluator):
        async def aevaluate(self, query: str | None = None, response: str | None = None) -> EvaluationResult:  # type: ignore[override]
            return EvaluationResult(query=query, response=response, score=1.0)

    assert Always().evaluate("Who?", "Ada").score == 1.0
    assert asyncio.run(Always().aevaluate_response("Who?")).response is None
    with pytest.raises(NotImplementedError, match="_judge or aevaluate"):
        BaseEvaluator().evaluate("Who?")


def test_a_reply_is_read_as_choices() -> None:
    reply = 'Here: [{"choice": 2, "reason": "newer"}, {"choice": 1}]'
    assert [(each.choice, each.reason) for each in SelectionOutputParser().parse(reply).parsed_output] == [
        (2, "newer"),
        (1, ""),
    ]
    with pytest.raises(ValueError, match="names no choice"):
        SelectionOutputParser().parse("I cannot say.")


def test_a_mock_that_overrides_chat_answers_with_it() -> None:
    class Fixed(MockLLM):
        def chat(self, messages: Sequence[ChatMessage], **kwargs: object) -> ChatResponse:  # type: ignore[override]
            return ChatResponse(ChatMessage("assistant", f"{len(messages)} messages"))

    engine = SimpleChatEngine.from_defaults(llm=Fixed())
    assert str(engine.chat(QueryBundle("Hello"))) == "2 messages"  # the system's and the user's
    assert engine.chat_history[0].content == "Hello"


def test_messages_of_a_store_come_and_go_one_by_one() -> None:
    store = SimpleChatStore()
    for text in ("one", "three"):
        store.add_message("ada", ChatMessage.from_str(text))
    store.add_message("ada", ChatMessage.from_str("two"), idx=1)
    assert store.delete_message("ada", 0) == ChatMessage.from_str("one")
    assert store.delete_last_message("ada") == ChatMessage.from_str("three")
    assert (store.get_messages("ada"), store.delete_message("ada", 1)) == (
        [ChatMessage.from_str("two")],
        None,
    )


def test_blocks_take_buffers_and_urls_of_data() -> None:
    assert ImageBlock(image=BytesIO(b"abc")).resolve_image().read() == b"abc"
    assert VideoBlock(url="data:text/plain,a%20b").resolve_video().read() == b"a b"
    with pytest.raises(ValueError, match="missing comma"):
        ImageBlock(url="data:image/png;base64").resolve_image()
    with pytest.raises(ValueError, match="needs its data"):
        ImageBlock(image=b"").resolve_image()


def test_nodes_name_their_kind_and_vector() -> None:
    document, node = Document("Boats.", "d"), TextNode("Boats.", embedding=[1.0])
    assert (document.ref_doc_id, document.get_type(), node.get_type()) == (
        "d",
        ObjectType.DOCUMENT,
        ObjectType.TEXT,
    )
    assert (document.as_related_node_info().node_type, TextNode.class_name()) == (
        ObjectType.DOCUMENT,
        "TextNode",
    )
    assert NodeWithScore(node).get_embedding() == NodeWithScore(node).embedding == [1.0]


def test_a_document_store_persists_in_a_file(tmp_path: Path) -> None:
    store, path = SimpleDocumentStore(), tmp_path / "docstore.json"
    store.add_documents([Document("Boats.", "d"), TextNode("Red.", "n", ref_doc_id="d")])
    store.persist(path)
    loaded = SimpleDocumentStore.from_persist_path(path)
    assert (loaded.docs, loaded.get_all_document_hashes()) == (store.docs, store.get_all_document_hashes())
    assert loaded.get_ref_doc_info("d") == store.get_ref_doc_info("d")
    path.write_text('{"docs": 1}')
    with pytest.raises(DamagedStoreError, match="does not hold documents"):
        SimpleDocumentStore.from_persist_path(path)


def test_custom_synthesizer_writes_document_summaries() -> None:
    class Title(TreeSummarize):
        def synthesize(self, query: str, nodes: Sequence[NodeWithScore]) -> Response:  # type: ignore[override]
            return Response(f"{query}: {nodes[0].text}")

    index = DocumentSummaryIndex(
        [TextNode("Boats.", ref_doc_id="d")], response_synthesizer=Title(), summary_query="About"
    )
    assert index.get_document_summary("d") == "About: Boats."


def test_vectors_have_a_mean_and_templates_a_kind() -> None:
    assert mean_agg([[3.0, 4.0], [0.0, 1.0]]) == [1.5, 2.5]
    with pytest.raises(ValueError, match="No embeddings"):
        mean_agg([])
    assert RichPromptTemplate("{% chat role='user' %}Hi{% endchat %}").is_chat_template
    assert not RichPromptTemplate("Hi {{ name }}").is_chat_template


def test_keywords_of_a_reply_come_with_their_words() -> None:
    assert extract_keywords_given_response("red boat, The Sail") == {
        "red boat",
        "red",
        "boat",
        "the sail",
        "sail",
    }


def test_a_conversation_is_one_message_of_xml_below_the_systems() -> None:
    system, talk = messages_to_xml_format([ChatMessage("system", "Be brief."), ChatMessage("user", "Hello")])
    assert (system.content, talk.role.value) == ("Be brief.", "user")
    assert "\t<user>\n\t\t<message>Hello</message>\n\t</user>" in talk.content


def test_a_component_is_saved_with_the_name_of_its_class() -> None:
    class Cut(BaseComponent):
        size: int = 3

        @classmethod
        def class_name(cls) -> str:
            return "cut"

    assert Cut(size=5).to_dict() == {"size": 5, "class_name": "cut"}
    assert Cut.from_json(Cut(size=5).json()) == Cut.from_dict({"size": 5, "class_name": "cut"}) == Cut(size=5)
    assert BaseComponent.class_name() == "base_component"


def test_a_model_that_sees_fills_a_form_from_images() -> None:
    cover, back = load_image_urls(["https://example.org/cover.png", "https://example.org/back.png"])
    llm = ScriptedLLM(['{"title": "Rain", "year": 1}', '{"title": "Sun", "year": 2}'])
    program = MultiModalLLMCompletionProgram.from_defaults(
        output_cls=Album, prompt_template_str="About {topic}", multi_modal_llm=llm, image_documents=[cover]
    )
    assert program(topic="weather") == Album(title="Rain", year=1)
    assert program([back], topic="weather") == Album(title="Sun", year=2)
    messages = [logged.call.history[-1] for logged in llm.calls]
    assert [message.blocks for message in messages] == [
        (TextBlock("About weather"), cover),
        (TextBlock("About weather"), back),
    ]


def test_a_point_of_a_cache_is_no_part_of_what_is_sent() -> None:
    point = CachePoint(cache_control=CacheControl(type="ephemeral"))
    message = ChatMessage("user", [TextBlock("Boats."), point])
    assert (message.content, in_openai_format(message.blocks)) == (
        "Boats.",
        [{"type": "text", "text": "Boats."}],
    )
    assert point.cache_control.ttl == "5m"


def test_langchain_parsers_and_splitters_need_only_their_methods() -> None:
    class Commas:
        def get_format_instructions(self) -> str:
            return "Separate by commas."

        def parse(self, text: str) -> list[str]:
            return text.split(", ")

        def split_text(self, text: str) -> list[str]:
            return text.split("\n")

    parser = LangchainOutputParser(Commas())
    assert (parser.format("Birds?"), parser.parse("owl, gull")) == (
        "Birds?\n\nSeparate by commas.",
        ["owl", "gull"],
    )
    nodes = LangchainNodeParser(Commas()).get_nodes_from_documents([Document("One.\nOne.\nTwo.", "d")])
    assert [(node.text, node.start_char_idx) for node in nodes] == [("One.", 0), ("One.", 5), ("Two.", 10)]


def test_a_program_makes_the_metadata_of_passages() -> None:
    llm = ScriptedLLM(['{"title": "Rain", "year": 1}'])
    program = LLMTextCompletionProgram.from_defaults(output_cls=Album, prompt_template_str="{text}", llm=llm)
    rain, empty = PydanticProgramExtractor(llm, program=program, input_key="text")(
        [TextNode("Rain, 1."), TextNode(" ")]
    )
    assert (rain.metadata, empty.metadata) == ({"title": "Rain", "year": 1}, {})
    assert asyncio.run(PydanticProgramExtractor(llm, program=program).aextract([])) == []


def test_small_names_do_what_they_say(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    display_prompt_dict({"text_qa_template": PromptTemplate("Who wrote {book}?")})
    assert (
        capsys.readouterr().out == "**Prompt Key**: text_qa_template<br>**Text:** <br>\nWho wrote {book}?\n"
    )
    assert (
        TokenCounter(str.split).get_string_tokens("one two") == len(globals_helper.tokenizer("one two")) == 2
    )
    assert StructuredLLMRerank is LLMRerank
    assert FunctionCallingLLM is LLM
    assert DEFAULT_TREE_SUMMARIZE_PROMPT_SEL == DEFAULT_TREE_SUMMARIZE_PROMPT
    monkeypatch.setenv("LLAMA_INDEX_CACHE_DIR", str(tmp_path / "cache" / "of scripts"))
    assert Path(get_cache_dir()).is_dir()
    assert get_cache_dir() == str(tmp_path / "cache" / "of scripts")


@pytest.mark.parametrize(
    "reply",
    [
        "Doc: 2, Relevance: 8\nDoc: 9, Relevance: 7",
        "answer_num: 2, answer_relevance: 8\nanswer_num: 9, answer_relevance: 7",
    ],
)
def test_choices_of_a_reply_are_numbers_and_relevances(reply: str) -> None:
    assert default_parse_choice_select_answer_fn(reply, 5) == ([2], [8.0])
