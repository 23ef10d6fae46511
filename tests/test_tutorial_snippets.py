"""Every example of docs/walkthrough, run from top to bottom in one folder, and what must be true after each.

The models are those the examples name, reached the way a person would have them: the embedding model is a
folder of that name, and the language models are a server on this machine that the environment points to.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, fields
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ragcore import Document, MessageRole, Settings, TextNode, VectorStoreIndex
from ragcore.embeddings import bundled_model
from ragcore.errors import ConfigError, UnknownDocumentError
from ragcore.ingestion import IngestionPipeline
from ragcore.node_parser import SentenceSplitter
from ragcore.observe import Listener, Span, add_listener
from ragcore.schema import MetadataMode
from ragcore.settings import SettingsOfAScript
from ragcore.text.tokens import default_tokenizer, tiktoken_tokenizer
from tests.documentation import ROOT, WALKTHROUGH, examples
from tests.needs import SHARED, needs_documents, needs_vocabulary
from tests.ragcore.text.vocabulary import find_vocabulary
from tests.scripted_server import ScriptedServer, ToolCalls, plausible_answer

find_vocabulary()

ESSAY = SHARED / "data" / "paul_graham" / "paul_graham_essay.txt"
BEGINNING = 20_000  # characters of the essay that are embedded
SAMPLE = ROOT / "sample" / "documents"
QUESTION = "What did the author do growing up?"
EXAMPLES = [example for page in WALKTHROUGH for example in examples(page)]
CODE = {example.name: example.code for example in EXAMPLES}
USERS = [(1, "Ada", "ada@example.org"), (2, "Grace", "grace@example.org"), (3, "Alan", "alan@example.org")]


# --- the folder, the servers and the walk -------------------------------------------------------------------


@dataclass
class Heard(Listener):
    """How many texts were embedded, and what else was done, in order."""

    steps: list[Span] = field(default_factory=list)

    def on_finish(self, step: Span) -> None:
        self.steps.append(step)

    def embedded(self, *, asking: bool = False) -> int:
        calls = [step.facts for step in self.steps if step.name == "embed" and "model" in step.facts]
        return sum(facts["count"] for facts in calls if facts["query"] is asking)


@dataclass
class Walk:
    """Runs the examples as far as they are asked for. `after` gives the names as they were after one, and
    what it printed."""

    folder: Path
    server: ScriptedServer
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "walkthrough"})
    seen: dict[str, SimpleNamespace] = field(default_factory=dict)

    def after(self, name: str) -> SimpleNamespace:
        for each, code, _ in EXAMPLES:
            if each not in self.seen:
                self.seen[each] = self._run(each, code)
            if each == name:
                return self.seen[each]
        raise KeyError(name)

    def _run(self, name: str, code: str) -> SimpleNamespace:
        first = len(self.server.requests)
        said = io.StringIO()
        with heard() as ear, contextlib.redirect_stdout(said):
            exec(compile(code, f"docs/walkthrough, {name}", "exec", dont_inherit=True), self.names)
        requests = self.server.requests[first:]
        return SimpleNamespace(**self.names, printed=said.getvalue(), heard=ear, requests=requests)


@contextlib.contextmanager
def heard() -> Iterator[Heard]:
    ear = Heard()
    stop = add_listener(ear)
    try:
        yield ear
    finally:
        stop()


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Walk]:
    folder = tmp_path_factory.mktemp("walkthrough")
    (folder / "data").mkdir()
    if ESSAY.exists():
        essay = ESSAY.read_text("utf-8")[:BEGINNING]
        (folder / "data" / "paul_graham_essay.txt").write_text(essay, "utf-8")
    else:
        largest = max(SAMPLE.glob("*.txt"), key=lambda path: path.stat().st_size)
        shutil.copy(largest, folder / "data" / "paul_graham_essay.txt")
    (folder / "BAAI").mkdir()
    try:
        (folder / "BAAI" / "bge-base-en-v1.5").symlink_to(
            bundled_model.model_folder(), target_is_directory=True
        )
    except OSError:  # Windows allows links to some people only
        shutil.copytree(bundled_model.model_folder(), folder / "BAAI" / "bge-base-en-v1.5")
    with contextlib.closing(sqlite3.connect(folder / "example.db")) as database:
        database.execute("CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, email TEXT)")
        database.executemany("INSERT INTO users VALUES (?, ?, ?)", USERS)
        database.commit()
    with (
        ScriptedServer(models=("llama3", "gpt-4o-mini"), key="") as server,
        pytest.MonkeyPatch.context() as patch,
    ):

        def calls(messages: Messages) -> ToolCalls:
            return tool_calls(messages, server.requests[-1].body.get("tools") or ())

        server.tool_calls = calls
        server.reply = lambda messages: "" if calls(messages) else reply(messages)
        patch.setenv("OLLAMA_HOST", server.url.removeprefix("http://"))
        patch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        patch.setenv("OPENAI_API_KEY", "sk-of-nobody")
        patch.chdir(folder)
        try:
            yield Walk(folder, server)
        finally:
            for each in fields(SettingsOfAScript):
                setattr(Settings, each.name, None)


Messages = Sequence[Mapping[str, Any]]


def reply(messages: Messages) -> str:
    """In ReAct's form where that is asked for; what a function gave, where one was called; else a plausible
    answer."""
    last = str(messages[-1]["content"])
    system = str(messages[0]["content"]) if messages[0]["role"] == "system" else ""
    if "Action Input:" in system:
        if last.startswith("Observation: "):
            return f"Thought: I can answer now.\nAnswer: It is {last.removeprefix('Observation: ')}"
        if "int_mult" in system:
            return 'Thought: I need to multiply.\nAction: int_mult\nAction Input: {"a": 12, "b": 34}'
        return (
            f"Thought: I look it up.\nAction: query_engine_tool\nAction Input: {json.dumps({'input': last})}"
        )
    if messages[-1]["role"] == "tool":
        return f"It is {last}"
    if "Do the passages say what the statement says?" in last:
        return "YES. They do."
    return plausible_answer(messages)


def tool_calls(messages: Messages, tools: Sequence[Mapping[str, Any]]) -> ToolCalls:
    """12 times 34 and then plus 5, one call at a time; a question for the index; nothing without tools."""
    names = {tool["function"]["name"] for tool in tools}
    asked = max((place for place, message in enumerate(messages) if message["role"] == "user"), default=0)
    results = [message["content"] for message in messages[asked:] if message["role"] == "tool"]
    if "int_mult" in names and len(results) < 2:
        return [call("int_mult", a=12, b=34) if not results else call("int_add", a=int(results[0]), b=5)]
    if "query_engine_tool" in names and not results:
        return [call("query_engine_tool", input=str(messages[asked]["content"]))]
    return ()


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {
        "id": f"call_{name}",
        "type": "function",
        "function": {"name": name, "arguments": json.dumps(arguments)},
    }


def describe_nodes(nodes: Sequence[Any]) -> list[tuple[object, ...]]:
    return [
        (node.id_, node.text, node.start_char_idx, node.prev_id, node.next_id, dict(node.metadata))
        for node in nodes
    ]


def ids_of(index: VectorStoreIndex) -> set[str]:
    return {id_ for info in index.ref_doc_info.values() for id_ in info.node_ids}


def list_hits(index: VectorStoreIndex) -> list[tuple[str, Any]]:
    return [
        (hit.node.id_, pytest.approx(hit.score, abs=1e-6))
        for hit in index.as_retriever(similarity_top_k=5).retrieve(QUESTION)
    ]


# --- the pages ----------------------------------------------------------------------------------------------


def test_the_pages_have_every_example_once() -> None:
    names = [example.name for example in EXAMPLES]
    assert sorted(names) == sorted([*(f"U{number}" for number in range(1, 25)), "V1", "V2", "V3", "V4", "V5"])


@pytest.mark.parametrize(
    ("module", "names"),
    [
        (
            "ragcore",
            [
                "SimpleDirectoryReader",
                "VectorStoreIndex",
                "StorageContext",
                "Settings",
                "load_index_from_storage",
            ],
        ),
        ("ragcore.schema", ["Document", "TextNode", "NodeWithScore", "QueryBundle"]),
        (
            "ragcore.node_parser",
            ["SentenceSplitter", "HierarchicalNodeParser", "get_leaf_nodes", "get_root_nodes"],
        ),
        ("ragcore.ingestion", ["IngestionPipeline"]),
        ("ragcore.query_engine", ["RetrieverQueryEngine"]),
        ("ragcore.agent", ["OpenAIAgent", "ReActAgent"]),
        ("ragcore.embeddings.huggingface", ["HuggingFaceEmbedding"]),
        ("ragcore.llms.ollama", ["Ollama"]),
        ("ragcore.llms.openai", ["OpenAI"]),
        ("ragcore.readers.database", ["DatabaseReader"]),
        ("ragcore.vector_stores.chroma", ["ChromaVectorStore"]),
    ],
)
def test_llamaindex_imports_work_with_the_name_changed(module: str, names: list[str]) -> None:
    for name in names:
        assert getattr(getattr(import_module(module), name), "__name__", name) == name  # Settings is a value


# --- loading ------------------------------------------------------------------------------------------------


def test_u1_file_is_one_document_with_six_facts_and_visible_path(walk: Walk) -> None:
    [document] = walk.after("U1").documents
    source = walk.folder / "data" / "paul_graham_essay.txt"
    assert document.text == source.read_text("utf-8")
    assert list(document.metadata) == [
        "file_path", "file_name", "file_type", "file_size", "creation_date", "last_modified_date",
    ]  # fmt: skip
    assert document.metadata["file_path"] == str(Path("data/paul_graham_essay.txt"))
    assert document.metadata["file_name"] == "paul_graham_essay.txt"
    assert document.metadata["file_type"] == "text/plain"
    assert document.metadata["file_size"] == source.stat().st_size
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", document.metadata["last_modified_date"])
    unseen = set(document.metadata) - {"file_path"}
    assert unseen <= set(document.excluded_embed_metadata_keys)
    assert unseen <= set(document.excluded_llm_metadata_keys)
    for mode in (MetadataMode.EMBED, MetadataMode.LLM):
        assert document.get_content(mode).startswith(f"file_path: {document.metadata['file_path']}\n\n")
    assert document.id_


def test_u2_a_folder_gives_the_same_document(walk: Walk) -> None:
    [before], [document] = walk.after("U1").documents, walk.after("U2").documents
    assert (document.text, document.metadata) == (before.text, before.metadata)


def test_u3_row_is_a_document_with_a_repeatable_id(walk: Walk) -> None:
    rows = walk.after("U3").rows
    assert [row.text for row in rows] == [
        f"id: {id_}, name: {name}, email: {email}" for id_, name, email in USERS
    ]
    again = walk.after("U3").reader.load_data(query="SELECT * FROM users")
    assert [row.id_ for row in again] == [row.id_ for row in rows]
    assert len({row.id_ for row in rows}) == len(USERS)


def test_u4_a_document_has_a_random_id_by_default(walk: Walk) -> None:
    document = walk.after("U4").document
    assert document.text == "A lectern holds the notes of whoever speaks."
    assert document.id_ != Document(text=document.text).id_
    assert Document(text=document.text, doc_id="notes").id_ == "notes"


# --- splitting ----------------------------------------------------------------------------------------------


def test_u5_chunks_know_document_place_and_neighbours(walk: Walk) -> None:
    after = walk.after("U5")
    [document], nodes = after.documents, after.nodes
    assert all(document.text[node.start_char_idx : node.end_char_idx] == node.text for node in nodes)
    assert {node.ref_doc_id for node in nodes} == {document.id_}
    assert [node.prev_id for node in nodes] == [None, *(node.id_ for node in nodes[:-1])]
    assert [node.next_id for node in nodes] == [*(node.id_ for node in nodes[1:]), None]
    count = default_tokenizer().count
    assert max(count(node.get_content(MetadataMode.EMBED)) for node in nodes) <= 1024


@needs_documents(ESSAY)
@needs_vocabulary
def test_u5_essay_has_as_many_chunks_as_the_walkthrough_states(walk: Walk) -> None:
    after = walk.after("U5")
    document = copy(after.documents[0])
    document.text = ESSAY.read_text("utf-8")
    # in tokens of the bundled model, which is what they are cut for
    assert len(after.parser.get_nodes_from_documents([document])) == 21
    splitter = SentenceSplitter(tokenizer=tiktoken_tokenizer())
    # The path takes room in each chunk: the walkthroughs' is longer than the one here.
    theirs = {
        "file_path": "/Users/somebody/Documents/projects/llamaindex/data/paul_graham/paul_graham_essay.txt"
    }
    assert len(splitter.get_nodes_from_documents([document])) == 21
    assert len(splitter.get_nodes_from_documents([Document(document.text, metadata=theirs)])) == 22


def test_u6_levels_of_2048_512_and_128_tokens_hold_all_text(walk: Walk) -> None:
    after = walk.after("U6")
    levels = [after.tree.level(k) for k in range(3)]
    assert [*after.tree] == [node for level in levels for node in level]
    assert after.root_nodes == levels[0]
    assert after.leaf_nodes == after.level_nodes == levels[2] == after.tree.leaves()
    count = default_tokenizer().count
    for level, size in zip(levels, (2048, 512, 128), strict=True):
        longest = max(count(node.text) for node in level)
        assert size / 2 < longest <= size
        covered = {place for node in level for place in range(node.start_char_idx, node.end_char_idx)}
        text = after.documents[0].text
        assert all(text[place].isspace() for place in set(range(len(text))) - covered)
    for node in levels[1] + levels[2]:
        assert node.id_ in after.tree.parent(node.id_).child_ids


COUNTED: list[str] = []


def words(text: str) -> list[str]:
    COUNTED.append(text)
    return text.split()


def test_u7_a_second_run_takes_the_chunks_of_the_first(walk: Walk) -> None:
    after = walk.after("U7")
    assert [node.text for node in after.nodes] == [node.text for node in walk.after("U5").nodes]
    assert describe_nodes(after.pipeline.run(documents=after.documents)) == describe_nodes(after.nodes)
    assert len(after.pipeline.cache) == 1
    pipeline = IngestionPipeline(transformations=[SentenceSplitter(tokenizer=words)])
    first = describe_nodes(pipeline.run(documents=after.documents))
    needed = len(COUNTED)
    assert describe_nodes(pipeline.run(documents=after.documents)) == first
    assert len(COUNTED) == needed > 0


# --- models and indexing ------------------------------------------------------------------------------------


def test_u10_settings_choose_the_models_of_later_parts(walk: Walk) -> None:
    after = walk.after("U10")
    assert after.heard.steps == []  # nothing was loaded or sent
    assert after.requests == []
    index = walk.after("U9").index
    assert index.embed_model is after.Settings.embed_model
    assert index.embed_model.name.startswith("BAAI/bge-base-en-v1.5")
    assert walk.after("U17").requests[-1].body["model"] == "llama3"
    assert walk.after("U17").requests[-1].path == "/api/chat"
    assert repr(after.Settings.llm) == f"Ollama(model='llama3', base_url='{walk.server.url}')"


def test_u8_an_index_embeds_only_what_has_no_vector(walk: Walk) -> None:
    after = walk.after("U8")
    assert all(node.embedding is not None for node in after.nodes)
    assert after.heard.embedded() == len(after.nodes)  # by the model itself, and by the index nothing more
    assert ids_of(after.index) == {node.id_ for node in after.nodes}
    bare = TextNode("A lectern holds notes.")
    with heard() as ear:
        index = VectorStoreIndex(nodes=[*after.nodes, bare], embed_model=Settings.embed_model)
    assert ear.embedded() == 1
    assert ids_of(index) == {node.id_ for node in [*after.nodes, bare]}


def test_u9_from_documents_splits_embeds_and_stores(walk: Walk) -> None:
    after = walk.after("U9")
    [document] = after.documents
    assert list(after.index.ref_doc_info) == [document.id_]
    held = after.index.store.nodes(after.index.ref_doc_info[document.id_].node_ids)
    assert [node.text for node in held] == [node.text for node in walk.after("U5").nodes]
    assert after.heard.embedded() == len(held)


# --- storing ------------------------------------------------------------------------------------------------


def test_u11_a_persisted_index_is_in_the_folder(walk: Walk) -> None:
    walk.after("U11")
    assert any((walk.folder / "storage").iterdir())


def test_u12_loaded_index_has_the_same_ids_and_results(walk: Walk) -> None:
    after, before = walk.after("U12"), walk.after("U9").index
    assert after.heard.embedded() == after.heard.embedded(asking=True) == 0
    assert after.index is not before
    assert after.index.index_id == before.index_id
    assert ids_of(after.index) == ids_of(before)
    assert list_hits(after.index) == list_hits(before)
    assert len(list_hits(before)) == min(5, len(ids_of(before)))


def test_u13_chroma_index_holds_nodes_with_their_vectors(walk: Walk) -> None:
    after = walk.after("U13")
    assert after.heard.embedded() == 0  # they had vectors
    held = after.chroma_collection.get(include=["documents", "embeddings"])
    assert sorted(held["documents"]) == sorted(node.text for node in after.nodes)
    vectors = {node.text: node.embedding for node in after.nodes}
    for text, vector in zip(held["documents"], held["embeddings"], strict=True):
        assert vector == pytest.approx(vectors[text], abs=1e-6)
    assert ids_of(after.chroma_index) == {node.id_ for node in after.nodes}
    assert list_hits(after.chroma_index) == list_hits(walk.after("U8").index)


def test_u14_collection_index_matches_and_uses_its_context(walk: Walk) -> None:
    after = walk.after("U14")
    assert after.heard.embedded() == 0
    assert after.chroma_index.storage_context is after.storage_context
    assert ids_of(after.chroma_index) == {node.id_ for node in after.nodes}
    assert list_hits(after.chroma_index) == list_hits(walk.after("U13").chroma_index)


# --- changing -----------------------------------------------------------------------------------------------


def test_u15_inserting_a_document_again_keeps_the_count(walk: Walk) -> None:
    after = walk.after("U15")
    assert list(after.growing.ref_doc_info) == [row.id_ for row in after.rows]
    assert len(ids_of(after.growing)) == 3
    after.growing.insert(after.rows[0])
    assert len(ids_of(after.growing)) == 3


def test_u16_deletion_removes_a_document_and_unknown_ids_fail(walk: Walk) -> None:
    after = walk.after("U16")
    assert list(after.shrinking.ref_doc_info) == [row.id_ for row in after.rows[1:]]
    assert len(ids_of(after.shrinking)) == 2
    with pytest.raises(UnknownDocumentError, match=re.escape(after.rows[0].id_)):
        after.shrinking.delete_ref_doc(after.rows[0].id_)
    assert len(ids_of(after.shrinking)) == 2


# --- asking and chatting ------------------------------------------------------------------------------------


def test_u17_query_is_answered_from_the_retrieved_passages(walk: Walk) -> None:
    after = walk.after("U17")
    assert after.printed == f"{after.response}\n"
    assert (
        str(after.response)
        == after.response.response
        == plausible_answer(after.requests[-1].body["messages"])
    )
    assert str(after.response).startswith("The documents say: “")
    assert [hit.node.id_ for hit in after.response.source_nodes] == [
        id_ for id_, _ in list_hits(after.index)
    ][:2]
    asked = json.dumps(after.requests[-1].body["messages"], ensure_ascii=False)
    assert QUESTION in asked


def test_u18_three_stages_are_visible_and_the_second_filters(walk: Walk) -> None:
    after = walk.after("U18")
    assert [step.name for step in after.staged.trace.children] == ["retrieve", "postprocess", "synthesize"]
    found = after.retriever.retrieve(QUESTION)
    assert len(found) == min(10, len(ids_of(after.index))) >= 4
    half = len(found) // 2
    assert [hit.node.id_ for hit in after.staged.source_nodes] == [
        hit.node.id_ for hit in found if hit.score >= 0.7
    ]
    # these passages are all further from the question than 0.7
    middle = (found[half - 1].score + found[half].score) / 2
    engine = after.RetrieverQueryEngine(
        retriever=after.retriever,
        response_synthesizer=after.response_synthesizer,
        node_postprocessors=[after.SimilarityPostprocessor(similarity_cutoff=middle)],
    )
    assert [hit.node.id_ for hit in engine.query(QUESTION).source_nodes] == [
        hit.node.id_ for hit in found[:half]
    ]


MODES = ["simple", "condense_question", "context", "condense_plus_context", "react", "openai", "best"]


def chat_whole(engine: Any, question: str) -> str:
    return str(engine.chat(question))


def chat_in_pieces(engine: Any, question: str) -> str:
    pieces = list(engine.stream_chat(question).response_gen)
    assert len(pieces) > 1
    return "".join(pieces)


def chat_async(engine: Any, question: str) -> str:
    return str(asyncio.run(engine.achat(question)))


def chat_in_pieces_async(engine: Any, question: str) -> str:
    async def ask() -> list[str]:
        response = await engine.astream_chat(question)
        return [piece async for piece in response.async_response_gen()]

    pieces = asyncio.run(ask())
    assert len(pieces) > 1
    return "".join(pieces)


WAYS = [chat_whole, chat_in_pieces, chat_async, chat_in_pieces_async]


def test_u19_example_runs_all_modes_with_four_turns_each(walk: Walk) -> None:
    after = walk.after("U19")
    assert [line for line in MODES if f'"{line}"' in CODE["U19"]] == MODES
    turns = after.chat_engine.chat_history
    assert [turn.content for turn in turns if turn.role is MessageRole.USER] == [
        "What did the author work on?", "And before college?", "Where was that?", "And then?",
    ]  # fmt: skip


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("vendor", ["OpenAI", "Ollama"])
def test_u19_each_mode_answers_in_each_way_and_remembers(
    walk: Walk, vendor: str, mode: str, way: Callable[[Any, str], str]
) -> None:
    after = walk.after("U19")
    llm = after.model if vendor == "OpenAI" else Settings.llm
    if (vendor, mode) == ("Ollama", "openai"):
        with pytest.raises(ConfigError):
            after.index.as_chat_engine(chat_mode=mode, llm=llm)
        return
    engine = after.index.as_chat_engine(chat_mode=mode, llm=llm)
    question = "What did the author work on?"
    answer = way(engine, question)
    first, *_, last = engine.chat_history
    assert (first.role, first.content) == (MessageRole.USER, question)
    assert (last.role, last.content) == (MessageRole.ASSISTANT, answer)
    assert (
        answer == "You said: What did the author work on?"
        if mode == "simple"
        else "The documents say: “" in answer
    )
    second = way(engine, "And before college?")
    assert second
    assert engine.chat_history[-1].content == second
    assert question in json.dumps(walk.server.requests[-1].body) or mode == "condense_question"


# --- tools and agents ---------------------------------------------------------------------------------------


def describe_tool(name: str, sign: str) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {
            "name": name,
            "description": f"{name}(a: int, b: int) -> int\nApply a {sign} b and returns the result as int",
            "parameters": {
                "type": "object",
                "properties": {
                    "a": {"title": "A", "type": "integer"},
                    "b": {"title": "B", "type": "integer"},
                },
                "required": ["a", "b"],
            },
        },
    }


def test_u21_tool_runs_and_its_output_prints_as_in_the_text(walk: Walk) -> None:
    after = walk.after("U21")
    assert after.openai_tools == [describe_tool("int_mult", "*"), describe_tool("int_add", "+")]
    assert repr(after.output) == (
        "ToolOutput(content='408', tool_name='int_mult', raw_input={'args': (), 'kwargs': {'a': 12, "
        "'b': 34}}, raw_output=408)"
    )


def test_u20_react_agent_answers_with_a_model_without_tools(walk: Walk) -> None:
    after = walk.after("U20")
    assert str(after.product) == "It is 408"
    assert [(output.tool_name, output.raw_output) for output in after.product.sources] == [("int_mult", 408)]
    assert [request.path for request in after.requests] == ["/api/chat", "/api/chat"]
    assert "tools" not in after.requests[0].body
    assert after.requests[1].body["messages"][-1]["content"] == "Observation: 408"


def test_u22_history_alone_is_sent_with_calls_and_results(walk: Walk) -> None:
    after = walk.after("U22")
    assert after.printed == "It is 413\n"
    user, first, product, second, total, answer = after.messages
    assert (user.role, user.content) == (MessageRole.USER, "What is 12 times 34, plus 5?")
    called = [message.additional_kwargs["tool_calls"] for message in (first, second)]
    assert [(each.function.name, json.loads(each.function.arguments)) for [each] in called] == [
        ("int_mult", {"a": 12, "b": 34}),
        ("int_add", {"a": 408, "b": 5}),
    ]
    assert [(message.role, message.content) for message in (product, total)] == [
        (MessageRole.TOOL, "408"),
        (MessageRole.TOOL, "413"),
    ]
    assert answer.role is MessageRole.ASSISTANT
    assert not answer.additional_kwargs.get("tool_calls")
    assert [len(request.body["messages"]) for request in after.requests] == [1, 3, 5]
    assert {request.path for request in after.requests} == {"/v1/chat/completions"}
    assert {request.headers["authorization"] for request in after.requests} == {"Bearer sk-of-nobody"}
    assert all(request.body["tools"] == after.openai_tools for request in after.requests)
    assert [message["role"] for message in after.requests[-1].body["messages"]] == [
        "user", "assistant", "tool", "assistant", "tool",
    ]  # fmt: skip
    assert after.requests[-1].body["messages"][2]["tool_call_id"] == "call_int_mult"


def test_u23_sources_are_all_results_of_tools_in_order(walk: Walk) -> None:
    after = walk.after("U23")
    assert after.res.response == "It is 413"
    assert after.res.source_nodes == ()
    assert [
        (output.tool_name, output.content, output.raw_input["kwargs"]) for output in after.res.sources
    ] == [
        ("int_mult", "408", {"a": 12, "b": 34}),
        ("int_add", "413", {"a": 408, "b": 5}),
    ]


# --- evaluating and observing -------------------------------------------------------------------------------


def test_v1_judge_and_metrics_give_the_expected_values(walk: Walk) -> None:
    after = walk.after("V1")
    assert after.judgement.passing is True
    assert after.judgement.score == 1.0
    asked = str(after.requests[-1].body["messages"][-1]["content"])
    assert str(after.response) in asked
    assert all(hit.text.split("\n")[0] in asked for hit in after.response.source_nodes)
    assert list(after.measured.retrieved_ids) == [id_ for id_, _ in list_hits(after.index)]
    assert after.measured.metric_vals_dict == {"hit_rate": 1.0, "mrr": 1.0}


def test_v2_each_trace_is_a_line_that_can_be_read_again(walk: Walk) -> None:
    after = walk.after("V2")
    assert after.printed == f"{after.watched.trace.outline()}\n"
    (line,) = (walk.folder / "traces.jsonl").read_text("utf-8").splitlines()
    assert Span.from_dict(json.loads(line)).outline() == after.watched.trace.outline()


# --- differences --------------------------------------------------------------------------------------------


def test_v3_custom_parts_are_used_as_they_are(walk: Walk) -> None:
    after = walk.after("V3")
    assert {hit.text for hit in after.own.source_nodes} <= {row.text.replace(",", " ") for row in after.rows}
    words = "id: 2  name: Grace  email: grace@example.org"
    assert words in [hit.text for hit in after.own.source_nodes]
    assert max(hit.get_score() for hit in after.own.source_nodes) == 0.25
    assert max(hit.get_score() for hit in after.both.retrieve("Who is Grace?")) > 0.25
    assert after.by_letters.embed_model.name == "letters"


def test_v4_mode_retriever_and_small_to_large_passages_work(walk: Walk) -> None:
    after = walk.after("V4")
    assert [hit.id_ for hit in after.nearest.source_nodes] == [
        hit.id_ for hit in after.in_order.as_retriever(retriever_mode="embedding").retrieve("Who is Grace?")
    ]
    large = {node.id_ for node in after.large}
    assert 0 < len(after.found) <= 2
    assert {hit.id_ for hit in after.found} <= large
    assert large.isdisjoint(hit.id_ for hit in after.start.retrieve(QUESTION))


def test_v5_custom_model_answers_and_streams_its_own_words(walk: Walk) -> None:
    after = walk.after("V5")
    assert after.printed == "WHAT DID THE AUTHOR DO?\n"
    answer = after.loud.query("So?")
    assert answer.response == "SO?"
    assert answer.trace.spans("llm")[0].facts["model"] == "loud"


# --- timings ------------------------------------------------------------------------------------------------

ROWS = [
    "Data loading", "Embedding model set-up", "LLM set-up", "Index creation", "Query engine creation",
    "Query", "Total", "Persist", "Storage context load", "Index rebuild",
]  # fmt: skip


def test_u24_every_stage_has_its_row_and_the_rows_add_up(walk: Walk) -> None:
    after = walk.after("U24")
    rows = dict(re.findall(r"^(\w[\w -]+): ([\d.]+) s$", after.printed, re.MULTILINE))
    assert list(rows) == ROWS
    seconds = [float(value) for value in rows.values()]
    assert sum(seconds[:6]) == pytest.approx(seconds[6], abs=0.01)
    _, inside = after.printed.split("Inside the query:\n")
    steps = {name: float(value) for name, value in re.findall(r"^ *(\w+): ([\d.]+) ms", inside, re.MULTILINE)}
    assert list(steps) == ["query", "retrieve", "embed", "synthesize", "pack", "llm"]
    assert steps["embed"] <= steps["retrieve"] <= steps["query"]
    assert steps["llm"] <= steps["synthesize"] <= steps["query"] <= seconds[5] * 1000 + 1
    texts = [hit.text for hit in after.index.as_retriever(similarity_top_k=5).retrieve(QUESTION)]
    assert texts == [
        hit.text for hit in walk.after("U9").index.as_retriever(similarity_top_k=5).retrieve(QUESTION)
    ]
