"""An answer in pieces is the whole answer, in every mode, engine, chat and agent, with a model that writes or
that quotes."""

from __future__ import annotations

import asyncio
import json
import zlib
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragcore.agent import OpenAIAgent, ReActAgent
from ragcore.chat_engine import ChatEngine, ChatMode, chat_engine
from ragcore.indices import VectorStoreIndex
from ragcore.llamaindex.query_engine import (
    CitationQueryEngine,
    MultiStepQueryEngine,
    SubQuestionQueryEngine,
    TransformQueryEngine,
)
from ragcore.llamaindex.retrievers.transform_retriever import HyDEQueryTransform, StepDecomposeQueryTransform
from ragcore.llms.base import LLM, Generation, LLMCall
from ragcore.llms.scripted import ScriptedLLM
from ragcore.memory import ChatMemoryBuffer
from ragcore.node_parser import SentenceSplitter
from ragcore.prompts.prompt import Task
from ragcore.prompts.wording import TEXT_QA
from ragcore.query_engine import BaseQueryEngine, RetrieverQueryEngine, RouterQueryEngine
from ragcore.response_synthesizers import ResponseMode, Synthesizer
from ragcore.schema import Document, MessageRole, NodeWithScore
from ragcore.selectors import LLMMultiSelector, LLMSingleSelector
from ragcore.tools import QueryEngineTool, ToolMetadata
from tests.properties.doubles import EMBEDDER, QUOTING
from tests.ragcore.agent.doubles import act, said, wanting

FEW = settings().max_examples // 10  # random replies of each mode, as each takes an index
TEXT = (
    "Ada Lovelace wrote the first program in 1843. It was for the analytical engine. Babbage never "
    "built the engine.\n\n\n"
    "Grace Hopper wrote the first compiler in 1952. She worked on the UNIVAC. She found a moth in the "
    "Mark II."
)
QUESTION = "Who wrote the first program and who the first compiler?"
# Pieces of replies: white space in odd places, citations, marks of other formats, other scripts.
PARTS = [
    "Ada ",
    "wrote [1]",
    "\n\n",
    "  ",
    " [2].",
    "{context_str}",
    "Thought",
    "漢字",
    "😀",
    "\t",
    "Action",
    "**",
    "Answer",
    "`",
]
WORDS = st.lists(st.sampled_from(PARTS), min_size=1, max_size=8).map("".join).filter(str.strip)


def index() -> VectorStoreIndex:
    return VectorStoreIndex.from_documents(
        [Document(TEXT, "d", {"file_name": "d.txt"})],
        transformations=[SentenceSplitter(24, 0)],
        embed_model=EMBEDDER,
        llm=QUOTING,
    )


INDEX = index()
BEFORE = "Let me see. "  # what the model says when it calls a function


def writing(
    text: str, window: int = 8192, *, calls_functions: bool = False, tool: str = "lecterns"
) -> ScriptedLLM:
    """Gives each prompt what it asks for, with `text` and a number that follows from the call in it; an agent
    calls `tool`."""

    def rule(call: LLMCall) -> str | Generation:
        number = zlib.crc32("".join(message.content for message in call.messages()).encode()) % 1000
        own = f"{text}{number}"
        acted = bool(call.variables.get("observations")) or (
            call.history and call.history[-1].role is MessageRole.TOOL
        )
        match call.prompt.name, call.prompt.task:
            case "react", _:
                return said(own) if acted else act(tool, {"input": QUESTION})
            case "agent", _:
                return own if acted else wanting((tool, {"input": QUESTION}), text=BEFORE)
            case _, Task.SELECT:
                return json.dumps([{"choice": 2, "reason": text}, {"choice": 1, "reason": ""}])
            case "sub_questions", _:
                parts = [{"sub_question": f"{word}?", "tool_name": word} for word in ("lecterns", "ships")]
                return json.dumps({"items": parts})
            case _:
                return own

    return ScriptedLLM(rule, context_window=window, num_output=60, is_function_calling_model=calls_functions)


Make = Callable[[], LLM]


def check(llm: Make, made: Callable[[LLM], BaseQueryEngine]) -> None:
    """Each way gets an engine and a model of its own."""
    whole = made(llm()).query(QUESTION)
    stream = made(llm()).stream_query(QUESTION)
    pieces = list(stream)
    assert "".join(pieces) == whole.response == str(stream)
    assert list(map(seen, stream.source_nodes)) == list(map(seen, whole.source_nodes))
    assert stream.whole().response == whole.response
    later = asyncio.run(made(llm()).aquery(QUESTION))
    assert later.response == whole.response


def seen(hit: NodeWithScore) -> tuple[str, str, float | None]:
    return hit.node.id_, hit.text, hit.score


@pytest.mark.parametrize("mode", ResponseMode)
@settings(max_examples=FEW)
@given(text=WORDS, window=st.sampled_from([300, 420, 8192]))
def test_a_mode_says_in_pieces_what_it_says_whole(mode: ResponseMode, text: str, window: int) -> None:
    check(lambda: writing(text, window), lambda llm: INDEX.as_query_engine(llm, mode, similarity_top_k=6))


@pytest.mark.parametrize("mode", ResponseMode)
def test_a_mode_that_quotes_says_in_pieces_what_it_says_whole(mode: ResponseMode) -> None:
    check(lambda: QUOTING, lambda llm: INDEX.as_query_engine(llm, mode, similarity_top_k=6))


@pytest.mark.parametrize("mode", [ResponseMode.REFINE, ResponseMode.COMPACT])
@pytest.mark.parametrize("satisfied", [True, False])
def test_a_filtered_answer_comes_in_pieces_as_it_comes_whole(mode: ResponseMode, satisfied: bool) -> None:
    def llm() -> LLM:
        return ScriptedLLM(lambda call: json.dumps({"answer": "Ada [1].", "query_satisfied": satisfied}))

    def made(model: LLM) -> BaseQueryEngine:
        synthesizer = Synthesizer(model, mode, structured_answer_filtering=True)
        return RetrieverQueryEngine(INDEX.as_retriever(4), synthesizer)

    check(llm, made)


def tools(llm: LLM) -> list[QueryEngineTool]:
    about = {"lecterns": "Knows who wrote the first program.", "ships": "Knows who wrote the first compiler."}
    return [
        QueryEngineTool(INDEX.as_query_engine(llm), ToolMetadata(name=name, description=text))
        for name, text in about.items()
    ]


ENGINES: dict[str, Callable[[LLM], BaseQueryEngine]] = {
    "retriever": lambda llm: INDEX.as_query_engine(llm),
    "citation": lambda llm: CitationQueryEngine.from_args(
        INDEX, llm, citation_chunk_size=12, citation_chunk_overlap=0
    ),
    "router, one": lambda llm: RouterQueryEngine(
        LLMSingleSelector(llm, embed_model=EMBEDDER), tools(llm), llm
    ),
    "router, several": lambda llm: RouterQueryEngine(
        LLMMultiSelector(llm, embed_model=EMBEDDER), tools(llm), llm
    ),
    "parts": lambda llm: SubQuestionQueryEngine(tools(llm), llm),
    "transform": lambda llm: TransformQueryEngine(INDEX.as_query_engine(llm), HyDEQueryTransform(llm)),
    "steps": lambda llm: MultiStepQueryEngine(
        INDEX.as_query_engine(llm),
        StepDecomposeQueryTransform(llm),
        Synthesizer(llm, ResponseMode.TREE_SUMMARIZE),
    ),
}


@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=FEW)
@given(text=WORDS)
def test_an_engine_says_in_pieces_what_it_says_whole(engine: str, text: str) -> None:
    check(lambda: writing(text), ENGINES[engine])


@pytest.mark.parametrize("engine", ENGINES)
def test_an_engine_that_quotes_says_in_pieces_what_it_says_whole(engine: str) -> None:
    check(lambda: QUOTING, ENGINES[engine])


AGENTS = ("react", "openai", "best")
MESSAGES = (QUESTION, "When was that?")


def conversation(chat: ChatEngine, way: str) -> Iterator[object]:
    """What is said and what is remembered in two turns, and where it is from."""
    for message in MESSAGES:
        if way == "whole":
            answer = chat.chat(message)
            yield answer.response
            yield list(map(seen, answer.source_nodes)), [output.content for output in answer.sources]
        else:
            stream = asyncio.run(chat.astream_chat(message)) if way == "async" else chat.stream_chat(message)
            pieces = "".join(stream.response_gen)
            # Words said before a tool was called are pieces too.
            assert pieces in (stream.response, f"{BEFORE}\n\n{stream.response}")
            yield stream.response
            yield list(map(seen, stream.source_nodes)), [output.content for output in stream.sources]
    yield [(message.role, message.content) for message in chat.chat_history]


def check_chat(llm: Make, made: Callable[[LLM], ChatEngine], acts: bool = False) -> None:
    whole = list(conversation(made(llm()), "whole"))
    assert whole[0]
    if acts:
        assert "Ada Lovelace" in str(whole[1])
    for way in ("pieces", "async"):
        assert list(conversation(made(llm()), way)) == whole


def chat(mode: ChatMode) -> Callable[[LLM], ChatEngine]:
    return lambda llm: chat_engine(
        mode, llm=llm, retriever=INDEX.as_retriever(3), memory=ChatMemoryBuffer(3000)
    )


@pytest.mark.parametrize("mode", ChatMode)
@settings(max_examples=FEW)
@given(text=WORDS)
def test_a_chat_says_and_remembers_in_pieces_what_it_does_whole(mode: ChatMode, text: str) -> None:
    calls = mode in (ChatMode.OPENAI, ChatMode.BEST)
    check_chat(
        lambda: writing(text, calls_functions=calls, tool="query_engine_tool"),
        chat(mode),
        mode.value in AGENTS,
    )


@pytest.mark.parametrize("mode", ChatMode)
def test_quoting_chat_streams_and_remembers_its_whole_answer(mode: ChatMode) -> None:
    check_chat(lambda: QUOTING, chat(mode))


@pytest.mark.parametrize("agent", [ReActAgent, OpenAIAgent])
@settings(max_examples=FEW)
@given(text=WORDS, rounds=st.integers(1, 3))
def test_agent_streams_and_remembers_its_whole_answer(
    agent: type[ReActAgent] | type[OpenAIAgent], text: str, rounds: int
) -> None:
    check_chat(
        lambda: writing(text, calls_functions=True),
        lambda llm: agent.from_tools(tools(llm), llm, max_iterations=rounds),
        rounds > 1,
    )


@given(text=WORDS)
def test_a_model_says_in_pieces_what_it_says_whole(text: str) -> None:
    call = LLMCall(TEXT_QA, {"context_str": (), "query_str": text, "system_prompt": ""})
    assert "".join(writing(text).stream(call)) == writing(text).generate(call).text
