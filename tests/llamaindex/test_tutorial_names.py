"""Names that tutorials of LlamaIndex use, and what they do here."""

import asyncio
from typing import Any

import pytest
from pydantic import BaseModel

import ragcore
from ragcore import Settings, get_tokenizer, set_global_handler, set_global_tokenizer
from ragcore.embeddings import HashEmbedding
from ragcore.evaluation.base import EvaluationResult
from ragcore.llamaindex import RichPromptTemplate
from ragcore.llamaindex.agent import AgentWorkflow, FunctionAgent
from ragcore.llamaindex.display import pprint_response
from ragcore.llamaindex.embeddings import resolve_embed_model
from ragcore.llamaindex.evaluation import (
    DatasetGenerator,
    QueryResponseDataset,
    aget_responses,
    get_responses,
    get_results_df,
)
from ragcore.llamaindex.llms import AudioBlock, ContentBlock, DocumentBlock, ImageBlock
from ragcore.llamaindex.memory import (
    BaseMemoryBlock,
    FactExtractionMemoryBlock,
    InsertMethod,
    Memory,
    StaticMemoryBlock,
    VectorMemoryBlock,
)
from ragcore.llamaindex.query_engine import CustomQueryEngine
from ragcore.llamaindex.retrievers import VectorIndexAutoRetriever
from ragcore.llms import OpenAILike, ScriptedLLM, StructuredLLM, TextBlock, ToolSelection
from ragcore.llms.tool_call import ToolCall
from ragcore.node_parser import SentenceSplitter, SimpleNodeParser
from ragcore.response_synthesizers import (
    Accumulate,
    BaseSynthesizer,
    CompactAndAccumulate,
    CompactAndRefine,
    Generation,
    Refine,
    SimpleSummarize,
    Synthesizer,
    TreeSummarize,
)
from ragcore.schema import ChatMessage, Document, NodeWithScore, Response, TextNode
from ragcore.vector_stores import MetadataInfo, VectorStoreInfo
from tests.scripted_server import ScriptedServer


def user(text: str) -> ChatMessage:
    return ChatMessage(content=text)


# --- messages, templates, tools -----------------------------------------------------------------------------


def test_images_sound_and_files_of_a_message_reach_the_server() -> None:
    blocks: list[ContentBlock] = [
        TextBlock("What is this?"),
        ImageBlock(image=b"abc", detail="low"),
        AudioBlock(audio=b"abc", format="mp3"),
        DocumentBlock(data=b"%PDF", title="a.pdf"),
    ]
    with ScriptedServer() as server:
        OpenAILike(model="tiny", api_base=f"{server.url}/v1", api_key="x").chat(
            [ChatMessage("user", blocks=blocks)]
        )
        parts = server.chats[0].body["messages"][0]["content"]
    assert parts == [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,YWJj", "detail": "low"}},
        {"type": "input_audio", "input_audio": {"data": "YWJj", "format": "mp3"}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERg=="}},
    ]


def test_jinja_template_makes_messages_and_reaches_nothing_else() -> None:
    template = RichPromptTemplate(
        '{% chat role="system" %}Be {{ how }}.{% endchat %}{% chat role="user" %}{{ question }}{{ place '
        "| image }}{% endchat %}"
    )
    system, asked = template.format_messages(
        how="brief", question="{{ how }}?", place="https://example.org/a.png"
    )
    assert (system.role.value, system.content, asked.content) == ("system", "Be brief.", "{{ how }}?")
    assert asked.blocks[1:] == (ImageBlock(url="https://example.org/a.png"),)
    assert template.template_vars == ["how", "place", "question"]
    with pytest.raises(Exception, match="unsafe"):
        RichPromptTemplate("{{ x.__class__.__mro__ }}").format(x="")


def test_a_model_chooses_a_tool_which_is_called() -> None:
    def add(a: int, b: int) -> int:
        return a + b

    calls = [ToolCall.of("1", "add", '{"a": 1, "b": 2}'), ToolCall.of("2", "add", '{"a": 3, "b": 4}')]
    llm = ScriptedLLM([calls] * 3)
    response = llm.chat_with_tools([add], "Add", allow_parallel_tool_calls=True)
    assert llm.get_tool_calls_from_response(response)[1] == ToolSelection("2", "add", {"a": 3, "b": 4})
    assert str(llm.predict_and_call([add], "Add")) == "3"
    assert str(llm.predict_and_call([add], "Add", allow_parallel_tool_calls=True)) == "3\n\n7"
    with pytest.raises(ValueError, match="called no tool"):
        ScriptedLLM(["Hello"]).predict_and_call([add], "Add")


def test_every_answer_of_a_structured_model_is_an_object() -> None:
    class Person(BaseModel):
        name: str

    llm = ScriptedLLM(['{"name": "Ada"}'] * 3)
    structured = llm.as_structured_llm(Person)
    assert isinstance(structured, StructuredLLM)
    assert structured.chat([user("Who?")]).raw == Person(name="Ada")
    assert [piece.raw for piece in structured.stream_complete("Who?")] == [Person(name="Ada")]
    assert "JSON schema" in llm.calls[0].messages[-1].content


# --- memory -------------------------------------------------------------------------------------------------


class Kept(BaseMemoryBlock[str]):
    name: str = "kept"
    messages: tuple[Any, ...] = ()

    async def _aget(self, messages: Any = None, **block_kwargs: Any) -> str:
        return " ".join(message.content for message in self.messages)

    async def _aput(self, messages: list[ChatMessage]) -> None:
        self.messages = (*self.messages, *messages)


def test_overflowing_messages_go_to_the_blocks_in_whole_turns() -> None:
    memory = Memory.from_defaults(
        session_id="s", token_limit=10, token_flush_size=1, memory_blocks=[Kept()], tokenizer_fn=str.split
    )
    for number in range(4):
        memory.put(user(f"question {number}"), ChatMessage("assistant", f"answer {number}"))
    kept = memory.get()[0]
    assert kept.content.splitlines()[1:3] == [
        "<kept>",
        "question 0 answer 0 question 1 answer 1 question 2 answer 2",
    ]
    assert [message.content for message in memory.get_all()] == ["question 3", "answer 3"]
    assert memory.session_id == "s"


def test_blocks_go_into_the_system_or_user_message() -> None:
    for method, roles in ((InsertMethod.SYSTEM, ["system", "user"]), (InsertMethod.USER, ["user"])):
        memory = Memory.from_defaults(
            memory_blocks=[StaticMemoryBlock(static_content="Ada")], insert_method=method
        )
        memory.put(user("Who am I?"))
        shown = asyncio.run(memory.aget())
        assert [message.role.value for message in shown] == roles
        assert "<StaticContent>\nAda\n</StaticContent>" in shown[0].content


def test_facts_are_noted_and_condensed_by_a_model() -> None:
    block = FactExtractionMemoryBlock(
        llm=ScriptedLLM(["- Ada lives in London.\n- Ada has a cat.", "Ada: London, cat."]), max_facts=1
    )
    asyncio.run(block.aput([user("I am Ada, from London, with a cat.")]))
    assert block.facts == ["Ada: London, cat."]


def test_earlier_messages_are_retrieved_by_meaning() -> None:
    block = VectorMemoryBlock(embed_model=HashEmbedding(), similarity_top_k=1)
    for text in ("My cat is called Tom", "The weather in London"):
        asyncio.run(block.aput([user(text)]))
    assert "Tom" in asyncio.run(block.aget([user("What is my cat called?")]))


# --- answers ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "answer"),
    [
        (Refine, "b"),
        (CompactAndRefine, "a"),
        (TreeSummarize, "a"),
        (SimpleSummarize, "a"),
        (Generation, "a"),
        (Accumulate, "Response 1: a\n---------------------\nResponse 2: b"),
        (CompactAndAccumulate, "Response 1: a"),
    ],
)
def test_a_synthesizer_is_a_class_of_its_mode(kind: type[Synthesizer], answer: str) -> None:
    made = kind(llm=ScriptedLLM(["a", "b"]), use_async=False)  # type: ignore[call-arg]
    assert isinstance(made, BaseSynthesizer)
    assert made.get_response("What?", ["One.", "Two."]) == answer


def test_custom_engine_has_fields_and_answers_with_sources() -> None:
    class Retrieves(CustomQueryEngine):
        retriever: Any
        prefix: str = ""

        def custom_query(self, query_str: str) -> Response:
            return Response(self.prefix + query_str, tuple(self.retriever(query_str)))

    engine = Retrieves(retriever=lambda question: [NodeWithScore(TextNode(question, "a"), 1.0)], prefix="> ")
    answer = engine.query("Why?")
    assert (str(answer), answer.source_nodes[0].node.id_) == ("> Why?", "a")
    assert [str(said) for said in get_responses(["1", "2"], engine)] == ["> 1", "> 2"]
    assert [str(said) for said in asyncio.run(aget_responses(["1"], engine))] == ["> 1"]


def test_an_answer_is_printed_with_its_passages(capsys: pytest.CaptureFixture[str]) -> None:
    pprint_response(Response("Yes.", (NodeWithScore(TextNode("It is.", "n"), 0.5),)), show_source=True)
    assert capsys.readouterr().out.splitlines() == [
        "Final Response: Yes.", "_" * 70, "Source Node 1/1", "Node ID: n", "Similarity: 0.5", "Text: It is."
    ]  # fmt: skip


def test_a_model_writes_the_filters_of_a_search() -> None:
    nodes = [TextNode("Ada on notes", "a", {"year": 1843}), TextNode("Ada on maps", "b", {"year": 1850})]
    info = VectorStoreInfo([MetadataInfo("year", "integer", "When it was written.")], "Letters")
    reply = (
        '{"query": "Ada", "filters": [{"key": "year", "value": 1845, "operator": "<"}, {"key": '
        '"colour", "value": "red"}]}'
    )
    index = ragcore.VectorStoreIndex(nodes, embed_model=HashEmbedding())
    found = VectorIndexAutoRetriever(index, info, llm=ScriptedLLM([reply])).retrieve("Before 1845?")
    assert [hit.node.id_ for hit in found] == ["a"]


# --- settings, evaluation, older names ----------------------------------------------------------------------


def test_settings_have_functions_too(capsys: pytest.CaptureFixture[str]) -> None:
    try:
        set_global_tokenizer(str.split)
        assert get_tokenizer()("One two") == ["One", "two"]
        set_global_handler("simple")
        ScriptedLLM(["Hello."]).complete("Hi")
        assert "user: Hi\n** Response: **\nHello." in capsys.readouterr().out
        with pytest.raises(ValueError, match="'wandb'"):
            set_global_handler("wandb")
        assert resolve_embed_model("default") is not None
    finally:
        Settings.tokenizer = Settings.callback_manager = None  # type: ignore[assignment]


def test_questions_and_answers_are_written_from_documents(tmp_path: Any) -> None:
    llm = ScriptedLLM(
        lambda call: "1. Who wrote?\n2. When?" if "questions" in call.prompt.name else "Ada did."
    )
    dataset = DatasetGenerator.from_documents(
        [Document("Ada wrote.")], llm=llm, show_progress=True
    ).generate_dataset_from_nodes()
    assert dataset.qr_pairs == [("Who wrote?", "Ada did."), ("When?", "Ada did.")]
    dataset.save_json(tmp_path / "set.json")
    assert QueryResponseDataset.from_json(tmp_path / "set.json") == dataset


def test_a_table_has_the_mean_of_each_metric() -> None:
    results = [{"relevancy": [EvaluationResult(score=1.0), EvaluationResult(score=0.0)]}]
    assert get_results_df(results, ["top 2"], ["relevancy"]).to_dict("list") == {
        "names": ["top 2"],
        "relevancy": [0.5],
    }


def test_older_names_stand_for_the_same() -> None:
    assert ragcore.GPTVectorStoreIndex is ragcore.VectorStoreIndex
    assert ragcore.ListIndex is ragcore.SummaryIndex
    assert SimpleNodeParser is SentenceSplitter
    assert issubclass(FunctionAgent, AgentWorkflow)
