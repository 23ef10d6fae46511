"""Several answers to one question at the same time: the same passages, and none in the way of another."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from lectern.library import Library
from lectern.runs.answer_runs import AlreadyAnsweringError, AnswerRuns
from lectern.schema import Ask, Message, Price, Retrieval
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.errors import LLMTimeoutError, QuestionError
from ragcore.llms.base import LLM, LLMCall, Stream
from ragcore.llms.openai import OpenAICompatibleLLM
from ragcore.llms.scripted import ScriptedLLM
from ragcore.prompts.prompt import RenderedMessage
from ragcore.schema import Document, TextNode
from tests.scripted_server import Fault, ScriptedServer

ASK = Ask("Who built the tower?", chat_mode=None, top_k=3)
MODES = ("compact", "refine", "tree_summarize", "no_text")


class Gated(ScriptedLLM):
    """Says "Ada. [1]" to each call once `gate` has let it through."""

    def __init__(self, gate: Callable[[LLMCall], object]) -> None:
        super().__init__(lambda call: "Ada. [1]")
        self._gate = gate

    def _stream(self, call: LLMCall, messages: Sequence[RenderedMessage]) -> Stream:
        self._gate(call)
        return (yield from super()._stream(call, messages))


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[[LLM | None], Library]]:
    libraries: list[Library] = []

    def open_it(llm: LLM | None = None) -> Library:
        library = Library(tmp_path, embedder=HashEmbedding(), llm=llm)
        libraries.append(library)
        if not len(library.store):
            take_in(library, "tower", 5)
        return library

    yield open_it
    for library in libraries:
        library.close()


def take_in(library: Library, name: str, count: int) -> None:
    texts = [
        f"Floor {number} of the {name} was built by Ada Penrose in 187{number}. " for number in range(count)
    ]
    nodes = [
        TextNode(
            text,
            f"{name}{number}",
            {"file_name": f"{name}.txt"},
            embedding=library.embedder.embed_query(text),
        )
        for number, text in enumerate(texts)
    ]
    library.store.upsert(Document("".join(texts), name, {"file_name": f"{name}.txt"}), nodes)


def asks(*modes: str) -> list[Ask]:
    return [replace(ASK, response_mode=mode) for mode in modes]


def compared(library: Library, runs: AnswerRuns, asked: list[Ask]) -> list[Message]:
    """The question and its answers, once all are finished."""
    conversation_id = runs.compare(asked)
    for run in runs.all(conversation_id):
        assert run.wait(30)
    return library.conversations.messages(conversation_id)


def ids(message: Message) -> list[str]:
    return [source.node_id for source in message.sources]


def test_all_answers_share_the_passages_of_the_question(
    opened: Callable[[LLM | None], Library],
) -> None:
    library = opened(None)
    question, *answers = compared(library, AnswerRuns(library), asks(*MODES))
    found = library.passages(ASK)
    assert ids(question) == [hit.node.id_ for hit in found]
    assert [source.score for source in question.sources] == [hit.score for hit in found]
    assert [ids(answer) for answer in answers] == [ids(question)] * 4
    assert [answer.ask and answer.ask.node_ids for answer in answers] == [tuple(ids(question))] * 4
    assert [answer.facts and answer.facts.mode for answer in answers] == list(MODES)
    assert [answer.state for answer in answers] == ["done"] * 4
    assert library.conversations.get(question.conversation_id) in library.conversations.all("compare")


@pytest.mark.parametrize(
    ("slots", "refuses"), [(1, True), (0, True), (0, False)], ids=["says so", "503", "lets them wait"]
)
def test_one_at_a_time_server_answers_in_four_modes(
    slots: int, refuses: bool, opened: Callable[[LLM | None], Library]
) -> None:
    with (
        ScriptedServer(always=Fault(delay=0.4), slots=slots, room=1, refuses_when_full=refuses) as server,
        closing(OpenAICompatibleLLM("tiny", server.url, timeout=1.0, max_retries=0)) as llm,
    ):
        _, *answers = compared(opened(llm), AnswerRuns(opened(llm)), asks(*MODES))
        assert [answer.state for answer in answers] == ["done"] * 4
        assert server.most_at_once == 1


def test_stop_ends_the_call_at_once_on_a_silent_server(
    opened: Callable[[LLM | None], Library],
) -> None:
    with (
        ScriptedServer(faults=[Fault(silent_after=0)], room=1) as server,
        closing(OpenAICompatibleLLM("tiny", server.url)) as llm,
    ):
        library = opened(llm)
        runs = AnswerRuns(library)
        (silent,) = runs.all(runs.compare(asks("compact")))
        while not server.chats:
            time.sleep(0.01)
        silent.stop()
        assert server.disconnected.wait(1)
        _, answer = compared(library, runs, asks("compact"))
        assert answer.state == "done"


def test_answers_are_written_at_the_same_time(opened: Callable[[LLM | None], Library]) -> None:
    both = threading.Barrier(2, timeout=20)  # which breaks if one answer waits for the other
    library = opened(Gated(lambda call: both.wait()))
    _, *answers = compared(library, AnswerRuns(library), asks("compact", "simple_summarize"))
    assert [answer.text for answer in answers] == ["Ada. [1]"] * 2


def test_an_answer_that_fails_leaves_the_others_alone(opened: Callable[[LLM | None], Library]) -> None:
    def reply(call: LLMCall) -> str:
        if "tree_summarize" in call.prompt.name:
            raise LLMTimeoutError("The model was silent for 1 s.", hint="Try again.")
        return "Ada. [1]"

    library = opened(ScriptedLLM(reply))
    runs = AnswerRuns(library)
    _, *answers = compared(library, runs, asks("compact", "tree_summarize", "simple_summarize"))
    assert [answer.state for answer in answers] == ["done", "failed", "done"]
    assert answers[1].problem is not None


def test_one_answer_is_stopped_and_the_others_go_on(opened: Callable[[LLM | None], Library]) -> None:
    go_on = threading.Event()
    library = opened(Gated(lambda call: go_on.wait(20)))
    runs = AnswerRuns(library)
    conversation_id = runs.compare(asks("compact", "refine", "simple_summarize"))
    first, second, third = runs.all(conversation_id)
    runs.stop(second.message_id)
    assert [run.message_id for run in runs.all(conversation_id)] == [first.message_id, third.message_id]
    go_on.set()
    assert first.wait(20)
    assert third.wait(20)
    states = [message.state for message in library.conversations.messages(conversation_id)]
    assert states == ["done", "done", "stopped", "done"]
    assert runs.all(conversation_id) == []


def test_retried_answer_uses_the_same_passages_despite_new_ones(
    opened: Callable[[LLM | None], Library],
) -> None:
    library = opened(None)
    runs = AnswerRuns(library)
    question, first, second = compared(library, runs, asks("compact", "refine"))
    take_in(library, "Who built the tower? Tower", 3)
    assert [hit.node.id_ for hit in library.passages(ASK)] != ids(question)
    assert runs.retry(second.id).wait(20)
    again = library.conversations.message(second.id)
    assert again is not None
    assert ids(again) == ids(question)
    assert library.conversations.message(first.id) == first


def test_running_answer_cannot_be_retried_but_another_one_can(
    opened: Callable[[LLM | None], Library],
) -> None:
    neighbour, go_on = threading.Event(), threading.Event()
    library = opened(
        Gated(lambda call: (neighbour if "tree_summarize" in call.prompt.name else go_on).wait(20))
    )
    runs = AnswerRuns(library)
    conversation_id = runs.compare(asks("compact", "tree_summarize"))
    slow, quick = runs.all(conversation_id)
    neighbour.set()
    assert quick.wait(20)
    with pytest.raises(AlreadyAnsweringError):
        runs.retry(slow.message_id)
    assert runs.retry(quick.message_id).wait(20)
    go_on.set()
    assert slow.wait(20)


def test_failed_search_is_reported_in_each_column(opened: Callable[[LLM | None], Library]) -> None:
    library = opened(None)
    how = Retrieval(reranker="nobody/has-this")
    question, *answers = compared(
        library, AnswerRuns(library), [replace(ask, retrieval=how) for ask in asks(*MODES)]
    )
    assert question.sources == ()
    assert [answer.problem and answer.problem.what for answer in answers] == [
        "The reranking model 'nobody/has-this' is not on this computer."
    ] * 4


def test_an_empty_question_begins_nothing(opened: Callable[[LLM | None], Library]) -> None:
    library = opened(None)
    with pytest.raises(QuestionError):
        AnswerRuns(library).compare([replace(ASK, question="  ")])
    assert library.conversations.all("compare") == []


def test_each_answer_stores_the_price_that_was_displayed(opened: Callable[[LLM | None], Library]) -> None:
    library = opened(None)
    runs = AnswerRuns(library)
    prices = [Price(1, 10, 5), Price(3, 30, 15)]
    conversation_id = runs.compare(asks("compact", "refine"), expected=prices)
    for run in runs.all(conversation_id):
        assert run.wait(20)
    _, *answers = library.conversations.messages(conversation_id)
    assert [answer.facts and answer.facts.expected for answer in answers] == prices


def test_answer_of_a_killed_process_is_interrupted_and_retried(
    opened: Callable[[LLM | None], Library], monkeypatch: pytest.MonkeyPatch
) -> None:
    library = opened(None)
    question, _first, second = compared(library, AnswerRuns(library), asks("compact", "refine"))
    # and then the power went
    library.conversations.begin_again(second.id, replace(ASK, response_mode="refine"))
    later = time.time() + 3600
    monkeypatch.setattr(library.conversations, "_clock", lambda: later)
    left = library.conversations.message(second.id)
    assert left is not None
    assert left.state == "interrupted"
    assert AnswerRuns(library).retry(second.id).wait(20)
    again = library.conversations.message(second.id)
    assert again is not None
    assert (again.state, ids(again)) == ("done", ids(question))


QUESTION = "How many days may a guest stay?"
HOUSE_RULES = (
    "A guest may stay in the house for up to 60 days.",
    "Guests are listed at the gate.",
    "A day guest may use the pool. Days are counted from noon.",
    "The stay of a contractor is limited by the manager.",
)


def take_in_rules(library: Library) -> None:
    for number, text in enumerate(HOUSE_RULES):
        node = TextNode(
            text,
            f"rule{number}",
            {"file_name": f"{number}.txt"},
            embedding=library.embedder.embed_query(text),
        )
        library.store.upsert(Document(text, f"d{number}", {"file_name": f"{number}.txt"}), [node])


def chat_answer(library: Library, runs: AnswerRuns, question: str) -> Message:
    conversation_id = library.conversations.create().id
    assert runs.start(conversation_id, Ask(question)).wait(30)
    return library.conversations.messages(conversation_id)[-1]


@pytest.mark.parametrize(
    "question", [QUESTION, "Who built the tower?", "Is the pool heated?", "How long may a contractor stay?"]
)
def test_compact_quotes_what_the_chat_quotes(question: str, opened: Callable[[LLM | None], Library]) -> None:
    library = opened(None)
    take_in_rules(library)
    runs = AnswerRuns(library)
    chat = chat_answer(library, runs, question)
    _, compact = compared(library, runs, [Ask(question, chat_mode=None)])
    assert ids(compact) == ids(chat)
    assert [source.score for source in compact.sources] == [source.score for source in chat.sources]
    assert compact.text == chat.text
    assert runs.retry(compact.id).wait(30)
    again = library.conversations.message(compact.id)
    assert again is not None
    assert again.text == chat.text


def test_compact_sends_a_model_what_the_chat_sends(opened: Callable[[LLM | None], Library]) -> None:
    llm = ScriptedLLM(lambda call: "Up to 60 days. [1]")
    library = opened(llm)
    answers = library.settings.answers.model_copy(update={"system_prompt": "Be brief."})
    library.update_settings(library.settings.model_copy(update={"answers": answers}))
    runs = AnswerRuns(library)
    chat = chat_answer(library, runs, QUESTION)
    _, compact = compared(library, runs, [Ask(QUESTION, chat_mode=None)])
    assert compact.text == chat.text
    first, second = llm.calls
    assert str(second.messages) == str(first.messages)
    assert "Be brief." in str(second.messages)
