"""Every mode once with a real language model, small and slow as people have it; what it does wrong never
reaches them."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Sequence

import pytest
from pydantic import BaseModel

from lectern.library import Library
from lectern.runs.answer_runs import AnswerRuns
from lectern.schema import Ask, Message
from lectern.settings import LLMSettings
from ragcore.agent.function_calling import OpenAIAgent
from ragcore.agent.react import ReActAgent
from ragcore.embeddings.huggingface import HuggingFaceEmbedding
from ragcore.llms.llama_cpp import LlamaCPP
from ragcore.prompts.templates import PromptTemplate
from ragcore.tools import FunctionTool
from tests.lectern.test_library import take_in
from tests.real_model import real_model

RAILWAY = (
    "The cliff railway at Saltby was built by Edwin Rusk. It opened on 16 June 1894.\n\n"
    "The Herring Stair has 214 steps. It leads from the harbour to the upper station."
)
FARES = "Fares in 2025: a ticket for an adult costs £2.50, a ticket for a child £1.20. Dogs ride free."
QUESTION = "Who built the cliff railway at Saltby?"
ANSWER = "Edwin Rusk"
PROMPT_WORDS = re.compile(
    r"(?m)^\W*(?:Question|Answer|Passages?|The answer so far|More passages|Conversation)\W*:|<passages"
)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    path = real_model()
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("LECTERN_MODEL", str(path))
        opened = Library(tmp_path_factory.mktemp("library"), embedder=HuggingFaceEmbedding())
        llm = LLMSettings(
            provider="llama_cpp", model=str(path), temperature=0, num_output=128, calls_functions=True
        )
        opened.update_settings(opened.settings.model_copy(update={"llm": llm}))
        take_in(opened, RAILWAY, "railway.txt")
        take_in(opened, FARES, "fares.txt")
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def llm() -> LlamaCPP:
    return LlamaCPP(real_model(), temperature=0.0, max_new_tokens=128)


def answered(library: Library, *asks: Ask) -> list[Message]:
    """The answers to questions of one conversation."""
    runs, conversation = AnswerRuns(library), library.conversations.create().id
    answers = []
    for ask in asks:
        run = runs.start(conversation, ask)
        assert run.wait(300)
        message = library.conversations.message(run.message_id)
        assert message is not None
        assert message.state == "done", message.problem
        answers.append(message)
    return answers


@pytest.mark.parametrize(
    "mode",
    [
        "refine",
        "compact",
        "simple_summarize",
        "tree_summarize",
        "accumulate",
        "compact_accumulate",
        "generation",
        "no_text",
    ],
)
def test_each_response_mode_cites_its_source_and_hides_prompts(library: Library, mode: str) -> None:
    [message] = answered(library, Ask(QUESTION, chat_mode=None, response_mode=mode, top_k=2))
    assert not PROMPT_WORDS.search(message.text)
    if mode == "no_text":
        assert message.text == ""
    elif mode == "generation":  # asks the model alone
        assert message.text.strip()
    else:
        assert ANSWER in message.text
        assert "railway.txt" in {source.file_name for source in message.cited}


@pytest.mark.parametrize(
    "mode", ["condense_question", "context", "condense_plus_context", "react", "openai", "best", "simple"]
)
def test_each_chat_mode_answers_a_question_and_its_follow_up(library: Library, mode: str) -> None:
    first, second = answered(
        library, Ask(QUESTION, mode, top_k=2), Ask("And when did it open?", mode, top_k=2)
    )
    assert not PROMPT_WORDS.search(first.text + second.text)
    if mode == "simple":  # reads no documents
        assert first.text.strip()
        return
    assert ANSWER in first.text
    assert first.cited
    # An agent may answer from memory, without its tool: then no passage is cited for it, and it is marked.
    assert "1894" in second.text or (mode in ("openai", "best") and not second.cited)


def add(a: int, b: int) -> int:
    """The sum of two numbers."""
    return a + b


def stock(article: str) -> int:
    """How many pieces of an article are in stock."""
    return {"bolts": 318, "nuts": 204}.get(article.lower(), 0)


@pytest.mark.parametrize("agent", [OpenAIAgent, ReActAgent])
def test_an_agent_calls_the_tool_that_knows(
    llm: LlamaCPP, agent: type[OpenAIAgent] | type[ReActAgent]
) -> None:
    functions = LlamaCPP(real_model(), temperature=0.0, max_new_tokens=128, is_function_calling_model=True)
    tools: Sequence[FunctionTool] = [FunctionTool.from_defaults(add), FunctionTool.from_defaults(stock)]
    reply = agent.from_tools(tools, llm=functions if agent is OpenAIAgent else llm).chat(
        "How many bolts are in stock?"
    )
    assert "318" in str(reply)


class Railway(BaseModel):
    builder: str
    year: int


def test_an_answer_can_have_a_form(llm: LlamaCPP) -> None:
    prompt = PromptTemplate("{text}\n\nWho built the railway, and in which year did it open?")
    assert llm.structured_predict(Railway, prompt, text=RAILWAY) == Railway(builder="Edwin Rusk", year=1894)


def test_stop_ends_an_answer_and_the_next_one_works(library: Library) -> None:
    runs = AnswerRuns(library)
    run = runs.start(library.conversations.create().id, Ask("Count from 1 to 200 in words.", "simple"))
    pieces = run.follow()
    assert any(pieces)  # its first words have come
    run.stop()
    assert run.wait(5)
    stopped = library.conversations.message(run.message_id)
    assert stopped is not None
    assert (stopped.state, bool(stopped.text)) == ("stopped", True)
    assert ANSWER in answered(library, Ask(QUESTION, chat_mode=None, top_k=2))[0].text


def test_two_questions_at_once_are_both_answered(library: Library) -> None:
    texts: list[str] = []
    asks = [
        Ask(QUESTION, chat_mode=None, top_k=2),
        Ask("How much is a ticket for a child?", chat_mode=None, top_k=2),
    ]
    threads = [
        threading.Thread(target=lambda ask=ask: texts.append(answered(library, ask)[0].text)) for ask in asks
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert len(texts) == 2
    assert any(ANSWER in text for text in texts)
    assert any("1.20" in text for text in texts)
