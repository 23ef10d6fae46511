"""Seven modes, each spoken to in four ways, with a model that writes, one that calls functions, and one that
only quotes."""

from __future__ import annotations

import asyncio
import importlib
import logging
from collections.abc import Callable

import pytest

from ragcore.chat_engine import (
    ChatMode,
    CondensePlusContextChatEngine,
    CondenseQuestionChatEngine,
    ContextChatEngine,
    SimpleChatEngine,
    chat_engine,
)
from ragcore.chat_engine.base import AgentChatResponse, ChatEngine, End
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.errors import ConfigError
from ragcore.extractive.answerer import ExtractiveLLM
from ragcore.indices import SummaryIndex
from ragcore.llamaindex.memory import ChatSummaryMemoryBuffer
from ragcore.llms.base import LLM, Generation, LLMCall
from ragcore.llms.scripted import ScriptedLLM
from ragcore.memory import ChatMemoryBuffer
from ragcore.observe import Span
from ragcore.postprocessor.similarity import SimilarityPostprocessor
from ragcore.prompts.document_text import CLOSING, OPENING
from ragcore.prompts.prompt import Prompt, Task
from ragcore.prompts.templates import ChatPromptTemplate, PromptTemplate
from ragcore.query_engine.base import BaseQueryEngine
from ragcore.query_engine.retriever import RetrieverQueryEngine
from ragcore.response_synthesizers.answer import AnswerStream
from ragcore.response_synthesizers.base import NOTHING_FOUND
from ragcore.response_synthesizers.synthesizer import Synthesizer
from ragcore.schema import ChatMessage, MessageRole, NodeWithScore, QueryBundle
from ragcore.settings import Settings
from tests.ragcore.agent.doubles import act, calling, said, wanting
from tests.ragcore.query_engine.engines import FixedEngine
from tests.ragcore.response_synthesizers.doubles import ListRetriever, nodes, prompts, word_llm

USER, ASSISTANT, SYSTEM = MessageRole.USER, MessageRole.ASSISTANT, MessageRole.SYSTEM
TWO = nodes("Ada wrote the first program in 1843.", "Grace wrote the first compiler in 1952.")
WAYS = ("chat", "achat", "stream_chat", "astream_chat")


def writing(call: LLMCall) -> str | Generation:
    """A model that does what each prompt asks for: the form of ReAct, a call of a function, or words."""
    acted = bool(call.variables.get("observations")) or (
        call.history and call.history[-1].role is MessageRole.TOOL
    )
    match call.prompt.name:
        case "react":
            return (
                said("Ada [1].")
                if acted
                else act("query_engine_tool", {"input": "Who wrote the first program?"})
            )
        case "agent":
            return (
                "Ada [1]."
                if acted
                else wanting(("query_engine_tool", {"input": "Who wrote the first program?"}))
            )
        case "condense_question":
            return "Who wrote the first program?"
        case _:
            return "Ada [1]."


def engine(mode: ChatMode | str, llm: LLM, found: list[NodeWithScore] = TWO) -> ChatEngine:
    return chat_engine(mode, llm=llm, retriever=ListRetriever(found), memory=ChatMemoryBuffer(3000))


def spoken(chat: ChatEngine, way: str, message: str) -> AgentChatResponse:
    """The answer, in whichever way it is asked for."""

    async def later() -> AgentChatResponse:
        if way == "achat":
            return await chat.achat(message)
        stream = await chat.astream_chat(message)
        said = "".join([piece async for piece in stream.async_response_gen()])
        assert stream.response == said
        return stream.whole_reply()

    if way.startswith("a"):
        return asyncio.run(later())
    if way == "chat":
        return chat.chat(message)
    stream = chat.stream_chat(message)
    assert "".join(stream.response_gen) == stream.response
    return stream.whole_reply()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("mode", list(ChatMode))
def test_every_mode_answers_in_every_way_and_remembers(mode: ChatMode, way: str) -> None:
    chat = engine(mode, calling(writing))
    first = spoken(chat, way, "Who wrote the first program?")
    second = spoken(chat, way, "Who was she?")
    assert first.response == second.response == "Ada [1]."
    told = [(m.role, m.content) for m in chat.chat_history if m.role in (USER, ASSISTANT) and m.content]
    assert told == [
        (USER, "Who wrote the first program?"),
        (ASSISTANT, "Ada [1]."),
        (USER, "Who was she?"),
        (ASSISTANT, "Ada [1]."),
    ]
    assert second.source_nodes == (() if mode is ChatMode.SIMPLE else tuple(TWO))
    assert len(second.sources) == (mode is not ChatMode.SIMPLE)
    assert second.end is End.ANSWERED


QUOTED = "Ada wrote the first program in 1843."


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("mode", [mode for mode in ChatMode if mode is not ChatMode.SIMPLE])
def test_every_mode_about_documents_works_without_a_model(mode: ChatMode, way: str) -> None:
    chat = engine(mode, ExtractiveLLM(HashEmbedding()))
    answer = spoken(chat, way, "Who wrote the first program?")
    assert QUOTED in answer.response
    assert "[1]" in answer.response
    assert answer.source_nodes == tuple(TWO)


@pytest.mark.parametrize("mode", [ChatMode.REACT, ChatMode.OPENAI])
def test_agents_report_no_result_and_do_not_remember_it(mode: ChatMode) -> None:
    chat = engine(mode, ExtractiveLLM(HashEmbedding()), [])
    assert str(chat.chat("Who wrote the first program?")) == NOTHING_FOUND
    assert chat.chat_history == []


class SpeakingClock(BaseQueryEngine):
    def _answer(self, query: QueryBundle, step: Span) -> AnswerStream:
        return AnswerStream(piece for piece in ("It is", " noon."))


def test_passages_that_answer_nothing_are_not_remembered() -> None:
    """A synthesizer that keeps satisfied answers alone says so. Its outcome counts, and not the words."""
    llm = word_llm(['{"answer": "", "query_satisfied": false}'])
    synthesizer = Synthesizer(llm, structured_answer_filtering=True)
    engine = RetrieverQueryEngine(ListRetriever(TWO), synthesizer)
    chat = CondenseQuestionChatEngine.from_defaults(engine, llm=llm)
    answer = chat.chat("Who?")
    assert (str(answer), answer.outcome) == (NOTHING_FOUND, "nothing")
    assert answer.source_nodes
    assert chat.chat_history == []
    chat = CondenseQuestionChatEngine.from_defaults(FixedEngine(NOTHING_FOUND, "a"), llm=llm)
    chat.chat("Who?")
    assert len(chat.chat_history) == 2


def test_an_answer_that_needs_no_passages_is_remembered() -> None:
    chat = CondenseQuestionChatEngine.from_defaults(SpeakingClock(), llm=word_llm([]))
    assert str(chat.chat("What time is it?")) == "It is noon."
    assert [message.content for message in chat.chat_history] == ["What time is it?", "It is noon."]


@pytest.mark.parametrize(
    ("mode", "calls"),
    [(ChatMode.REACT, ["react", "text_qa", "react"]), (ChatMode.OPENAI, ["agent", "text_qa", "agent"])],
)
def test_agents_ask_the_documents_through_a_tool(mode: ChatMode, calls: list[str]) -> None:
    llm = calling(writing)
    retriever = ListRetriever(TWO)
    chat = chat_engine(
        mode,
        llm=llm,
        retriever=retriever,
        memory=ChatMemoryBuffer(),
        system_prompt="Talk like a pirate.",
        postprocessors=[SimilarityPostprocessor(similarity_cutoff=0.8)],
    )
    answer = chat.chat("Who was first?")
    assert (prompts(llm), retriever.asked) == (calls, ["Who wrote the first program?"])
    assert answer.source_nodes == tuple(TWO[:1])
    assert llm.calls[0].messages[0].content.startswith("Talk like a pirate.")


def test_best_mode_calls_functions_if_possible_else_condenses() -> None:
    modes = {
        name: engine("best", llm).mode
        for name, llm in {"can": calling(writing), "cannot": word_llm(writing)}.items()
    }
    assert modes == {"can": "openai", "cannot": "condense_plus_context"}
    with pytest.raises(ConfigError, match="cannot call functions"):
        engine("openai", word_llm(writing))


# Engines built by hand.

RULES: dict[str, Callable[[], ChatEngine]] = {
    "simple": lambda: SimpleChatEngine.from_defaults(),
    "context": lambda: ContextChatEngine.from_defaults(ListRetriever(TWO)),
    "condense_plus_context": lambda: CondensePlusContextChatEngine.from_defaults(ListRetriever(TWO)),
    "condense_question": lambda: CondenseQuestionChatEngine.from_defaults(
        RetrieverQueryEngine(ListRetriever(TWO))
    ),
}


@pytest.mark.parametrize("make", RULES.values(), ids=list(RULES))
def test_without_a_model_an_engine_uses_what_settings_names(make: Callable[[], ChatEngine]) -> None:
    Settings.embed_model, Settings.llm = HashEmbedding(), word_llm(writing)
    try:
        assert str(make().chat("Who?")) == "Ada [1]."
    finally:
        Settings.embed_model = Settings.llm = None


def simple(**options: object) -> tuple[SimpleChatEngine, ScriptedLLM]:
    llm = word_llm(lambda call: "Aye.", window=1000)
    return SimpleChatEngine.from_defaults(llm, **options), llm  # type: ignore[arg-type]


def test_prefix_messages_come_first_and_are_not_in_the_history() -> None:
    prefix = [ChatMessage(SYSTEM, "Be brief."), ChatMessage(USER, "Example?"), ChatMessage(ASSISTANT, "So.")]
    chat, llm = simple(
        prefix_messages=prefix, chat_history=[ChatMessage(USER, "Before"), ChatMessage(ASSISTANT, "Yes")]
    )
    chat.chat("Hi")
    assert [(m.role, m.content) for m in llm.calls[0].messages] == [
        *((m.role, m.content) for m in prefix),
        (USER, "Before"),
        (ASSISTANT, "Yes"),
        (USER, "Hi"),
    ]
    assert [message.content for message in chat.chat_history] == ["Before", "Yes", "Hi", "Aye."]


def test_history_replaces_the_content_of_the_memory() -> None:
    memory = ChatMemoryBuffer(messages=[ChatMessage(USER, "Forget this.")])
    before = [ChatMessage(USER, "Before"), ChatMessage(ASSISTANT, "Yes")]
    chat, _ = simple(memory=memory, chat_history=before)
    assert chat.chat_history == memory.get_all() == before


def test_prefix_messages_leave_less_for_the_conversation() -> None:
    memory = ChatMemoryBuffer(6, count=lambda text: len(text.split()))
    prefix = [ChatMessage(USER, "one two"), ChatMessage(ASSISTANT, "three")]
    chat, llm = simple(prefix_messages=prefix, memory=memory)
    for message in ("first", "second", "third"):
        chat.chat(message)
    assert [m.content for m in llm.calls[-1].messages[1:]] == ["one two", "three", "second", "Aye.", "third"]


@pytest.mark.parametrize(
    "make",
    [SimpleChatEngine.from_defaults, lambda **o: ContextChatEngine.from_defaults(ListRetriever(TWO), **o)],
)
def test_system_prompt_with_prefix_messages_is_refused(make: Callable[..., ChatEngine]) -> None:
    with pytest.raises(ValueError, match="not both"):
        make(llm=word_llm(writing), system_prompt="x", prefix_messages=[ChatMessage(USER, "y")])


def test_memory_is_three_quarters_of_the_window_or_all_but_256() -> None:
    llm = word_llm(writing, window=1000)
    assert simple()[0]._memory.token_limit == 750
    assert ContextChatEngine.from_defaults(ListRetriever(TWO), llm)._memory.token_limit == 744
    limits = {
        mode: chat_engine(mode, llm=llm, retriever=ListRetriever(TWO))._memory.token_limit
        for mode in ("react", "context")
    }
    assert limits == {"react": 750, "context": 744}


def test_condensing_may_be_skipped_or_have_another_prompt() -> None:
    before = [ChatMessage(USER, "Who wrote the first program?"), ChatMessage(ASSISTANT, "Ada.")]
    retriever = ListRetriever(TWO)
    llm = word_llm(writing)
    CondensePlusContextChatEngine.from_defaults(retriever, llm, skip_condense=True).chat("When?", before)
    assert (retriever.asked, prompts(llm)) == (["When?"], ["context_chat"])
    own = Prompt("own", Task.CONDENSE, (ChatMessage(USER, "{chat_history} / {question}"),))
    llm = word_llm(lambda call: "When did Ada?" if call.prompt is own else "1843.")
    CondensePlusContextChatEngine.from_defaults(retriever, llm, condense_prompt=own).chat("When?", before)
    queries = RetrieverQueryEngine(retriever, Synthesizer(llm))
    CondenseQuestionChatEngine.from_defaults(queries, own, llm=llm).chat("When?", before)
    assert retriever.asked[1:] == ["When did Ada?", "When did Ada?"]
    assert llm.calls[0].messages[0].content == "user: Who wrote the first program?\nassistant: Ada. / When?"


def test_condense_template_reaches_a_quoting_reader_too() -> None:
    before = [ChatMessage(USER, "Who wrote the first program?"), ChatMessage(ASSISTANT, "Ada.")]
    for wording in (PromptTemplate("{chat_history} / {question}"), "{chat_history} / {question}"):
        retriever = ListRetriever(TWO)
        llm = word_llm(lambda call: "When did Ada?" if call.prompt.task is Task.CONDENSE else "1843.")
        CondensePlusContextChatEngine.from_defaults(retriever, llm, condense_prompt=wording).chat(
            "When?", before
        )
        queries = RetrieverQueryEngine(retriever, Synthesizer(llm))
        CondenseQuestionChatEngine.from_defaults(queries, wording, llm=llm).chat("When?", before)
        assert retriever.asked == ["When did Ada?", "When did Ada?"]
        assert (
            llm.calls[0].messages[0].content == "user: Who wrote the first program?\nassistant: Ada. / When?"
        )


def test_the_context_prompt_can_be_replaced() -> None:
    made: list[Callable[..., ChatEngine]] = [
        lambda llm, wording: ContextChatEngine.from_defaults(
            ListRetriever(TWO), llm, system_prompt="Be kind.", context_template=wording
        ),
        lambda llm, wording: CondensePlusContextChatEngine.from_defaults(
            ListRetriever(TWO), llm, system_prompt="Be kind.", context_prompt=wording
        ),
    ]
    several = ChatPromptTemplate.from_messages(
        [("system", "Be brief."), ("user", "{context_str}: {query_str}")]
    )
    for make in made:
        llm = word_llm(lambda call: "Ada.")
        make(llm, 'As {"json"}: {context_str}').chat("Who?")
        make(llm, several).chat("Who?")
        system, user = llm.calls[0].messages
        assert (system.content, user.role, prompts(llm)) == (
            "Be kind.",
            USER,
            ["context_chat", "context_chat"],
        )
        assert user.content.startswith(f'As {{"json"}}: {OPENING}\n[1] book.pdf, page 1\nAda wrote the first')
        assert user.content.endswith(f"{CLOSING}\n\nWho?")
        second = [message.content.split("\n")[:2] for message in llm.calls[1].messages]
        assert second == [["Be brief."], [OPENING, "[1] book.pdf, page 1"]]


def test_an_index_gives_its_chat_engine_the_prompts_of_a_script() -> None:
    llm = word_llm(lambda call: "Ada.")
    index = SummaryIndex([hit.node for hit in TWO], llm=llm)
    index.as_chat_engine("context", context_template="With {context_str}", streaming=True).chat("Who?")
    index.as_chat_engine(context_prompt="By {context_str}", condense_prompt="{question}").chat("Who?")
    assert [call.messages[-1].content.split()[0] for call in llm.calls] == ["With", "By"]
    with pytest.raises(ValueError, match=r"ContextChatEngine has no prompt \['condense_prompt'\]"):
        index.as_chat_engine("context", condense_prompt="{question}")


def test_verbose_logs_the_trace_of_each_turn(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "ragcore")
    llm = word_llm(writing)
    queries = RetrieverQueryEngine(ListRetriever(TWO), Synthesizer(llm))
    for verbose in (False, True):
        CondenseQuestionChatEngine.from_defaults(queries, llm=llm, verbose=verbose).chat("Who?")
        CondensePlusContextChatEngine.from_defaults(ListRetriever(TWO), llm, verbose=verbose).chat("Who?")
        index = SummaryIndex([hit.node for hit in TWO], llm=llm)
        index.as_chat_engine("context", verbose=verbose).chat("Who?")
        index.as_query_engine(verbose=verbose).query("Who?")
    modes = [message.splitlines()[0] for message in caplog.messages]
    assert [mode.split()[0].rstrip(":") for mode in modes] == ["chat", "chat", "chat", "query"]
    assert all("synthesize" in message for message in caplog.messages)


def test_passages_pass_the_postprocessors() -> None:
    chat = ContextChatEngine.from_defaults(
        ListRetriever(TWO),
        word_llm(writing),
        node_postprocessors=[SimilarityPostprocessor(similarity_cutoff=0.8)],
    )
    assert chat.chat("Who?").source_nodes == tuple(TWO[:1])


@pytest.mark.parametrize("package", ["ragcore.agent", "ragcore.chat_engine"])
def test_every_name_that_a_package_offers_is_there(package: str) -> None:
    module = importlib.import_module(package)
    assert [name for name in module.__all__ if getattr(module, name).__name__ != name] == []
    with pytest.raises(AttributeError, match="Nothing"):
        _ = module.Nothing


def test_a_conversation_too_long_to_send_goes_on_with_a_summary() -> None:
    llm = word_llm(lambda call: "They spoke of Ada." if call.prompt.name == "remember" else "Aye aye.")
    memory = ChatSummaryMemoryBuffer(6, count=lambda text: len(text.split()), llm=llm)
    chat = SimpleChatEngine.from_defaults(llm, memory=memory)
    for message in ("Who is Ada?", "And Grace?"):
        chat.chat(message)
    answer = chat.chat("And now?")
    assert [(m.role, m.content) for m in llm.calls[-1].messages[1:]] == [
        (SYSTEM, "They spoke of Ada."),
        (USER, "And Grace?"),
        (ASSISTANT, "Aye aye."),
        (USER, "And now?"),
    ]
    assert answer.trace is not None
    assert answer.trace.spans("remember")[0].facts == {"messages": 2, "summary": "They spoke of Ada."}
    assert prompts(llm).count("remember") == 1
