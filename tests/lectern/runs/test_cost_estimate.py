"""What an answer takes, said before: the calls that are then made, the time that such answers took, and who
is asked first."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lectern.evaluate.jobs import measure
from lectern.jobs.worker import Worker
from lectern.library import Library
from lectern.runs.answer_runs import AnswerRuns
from lectern.runs.cost_estimate import (
    ANSWER_TOKENS,
    Habits,
    at_most,
    at_once,
    basis,
    calls_at_full_speed,
    habits,
    is_over,
    of_measuring,
    price,
    together,
    together_at_once,
)
from lectern.schema import AnswerFacts, Ask, Price
from lectern.settings import AppSettings, LLMSettings, PriceSettings
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.errors import ContextWindowError
from ragcore.evaluation.question_sets import Question
from ragcore.llms.base import LLMCall
from ragcore.llms.scripted import ScriptedLLM
from ragcore.llms.speed import Speed
from ragcore.prompts.prompt import Task
from ragcore.response_synthesizers.response_mode import ResponseMode
from ragcore.schema import ChatMessage, MessageRole

MODES = [mode.value for mode in ResponseMode]
TALK = [
    ChatMessage(MessageRole.USER, "Who built the tower?"),
    ChatMessage(MessageRole.ASSISTANT, "Ada Penrose."),
]


def obedient(call: LLMCall) -> str:
    """As long as a model is thought to be that has not answered yet."""
    if call.prompt.task is Task.CONDENSE:
        return str(call.variables["question"])
    return " ".join(["word"] * ANSWER_TOKENS)


@pytest.fixture
def open_library(tmp_path: Path) -> Iterator[Callable[[ScriptedLLM], Library]]:
    opened: list[Library] = []

    def open_it(llm: ScriptedLLM) -> Library:
        library = Library(tmp_path / "library", embedder=HashEmbedding(), llm=llm)
        opened.append(library)
        if not len(library.store):
            for name, things in (("harbour.txt", "ships"), ("tower.txt", "lamps"), ("cellar.txt", "barrels")):
                text = " ".join(
                    f"The tower of town {n} has {n % 7} {things}, and Ada Penrose counted them in {1800 + n}."
                    for n in range(60)
                )
                path = library.incoming / name
                path.write_text(text, "utf-8")
                library.intake.add(path, name)
            while Worker(
                library.files, library.store, library.embedder, lambda: library.settings.ingest
            ).run_once():
                continue
        return library

    yield open_it
    for library in opened:
        library.close()


WINDOWS = (700, 2048, 8192, 128_000)


@pytest.mark.parametrize(("mode", "window"), list(product(MODES, WINDOWS)))
def test_calls_and_tokens_equal_the_estimate(
    open_library: Callable[[ScriptedLLM], Library], mode: str, window: int
) -> None:
    llm = ScriptedLLM(obedient, context_window=window, num_output=min(ANSWER_TOKENS, window // 4))
    library = open_library(llm)
    ask = Ask("How many lamps has the tower?", chat_mode=None, response_mode=mode, top_k=8)
    try:
        said = price(library, ask)
    except ContextWindowError:
        with pytest.raises(ContextWindowError):
            library.answer(ask).whole()
        return
    assert not llm.calls  # the model is not asked
    spent = library.answer(ask).whole().trace
    assert spent is not None
    tokens = spent.total_tokens()
    assert said.calls == len(llm.calls) == len(spent.spans("llm"))
    if window // 4 >= ANSWER_TOKENS:  # else the replies of the test are longer than a model's may be
        assert said.completion_tokens == tokens.completion
        a_sentence = 40  # a text that is cut ends with a whole one
        assert said.prompt_tokens == pytest.approx(tokens.prompt, rel=0.06, abs=a_sentence)


@pytest.mark.parametrize("mode", ["simple", "condense_question", "context", "condense_plus_context", "best"])
@pytest.mark.parametrize("talk", [[], TALK])
def test_price_of_a_turn_includes_the_condensing_call(
    open_library: Callable[[ScriptedLLM], Library], mode: str, talk: list[ChatMessage]
) -> None:
    llm = ScriptedLLM(obedient)
    library = open_library(llm)
    ask = Ask("How many lamps has it?", chat_mode=mode)
    said = price(library, ask, talk)
    spent = library.answer(ask, talk).whole().trace
    assert spent is not None
    assert said.calls == len(llm.calls)
    assert said.completion_tokens == spent.total_tokens().completion
    assert said.calls == 1 + (bool(talk) and mode not in ("simple", "context"))


def test_an_agent_is_thought_to_use_its_tool_once(open_library: Callable[[ScriptedLLM], Library]) -> None:
    library = open_library(ScriptedLLM(obedient))
    assert price(library, Ask("How many?", chat_mode="react")).calls == 3  # decide, look, answer
    functions = ScriptedLLM(obedient, is_function_calling_model=True)
    assert price(open_library(functions), Ask("How many?", chat_mode="openai")).calls == 3


def test_everything_and_each_document_are_priced_too(open_library: Callable[[ScriptedLLM], Library]) -> None:
    llm = ScriptedLLM(obedient)
    library = open_library(llm)
    ask = Ask("How many?", chat_mode=None, response_mode="accumulate", reading="everything")
    assert price(library, ask).calls == len(library.store)
    assert price(library, replace(ask, chat_mode="simple")) == price(library, ask)
    each = replace(ask, reading="each_file", top_k=2)
    assert price(library, each).calls == 3 * 2


def test_price_of_measuring_is_answering_plus_judging(open_library: Callable[[ScriptedLLM], Library]) -> None:
    llm = ScriptedLLM(obedient)
    library = open_library(llm)
    asks = [Ask("", None, top_k=2), Ask("", "condense_plus_context", response_mode="refine", top_k=3)]
    questions = [Question(f"How many lamps has tower {number}?") for number in range(7)]
    said = of_measuring(library, [question.text for question in questions], asks)
    assert not llm.calls
    for ask, question in product(asks, questions):
        measure(library, question, ask, answering=True)
    assert said.calls == len(llm.calls) == 7 * (1 + 2) + 7 * (3 + 2)
    assert said.completion_tokens == len(llm.calls) * ANSWER_TOKENS
    assert of_measuring(library, ["How many?"], [Ask("", None, response_mode="no_text")]).calls == 0
    assert of_measuring(library, [], asks).calls == 0


def test_thousands_of_passages_are_priced_fast_and_accurately(tmp_path: Path) -> None:
    llm = ScriptedLLM(obedient)
    library = Library(tmp_path, embedder=HashEmbedding(), llm=llm)
    path = library.incoming / "long.txt"
    path.write_text(
        "\n\n".join(f"Entry {n}. " + "The lamp burns the oil of whales. " * (9 + n % 9) for n in range(2400)),
        "utf-8",
    )
    library.intake.add(path, "long.txt")
    assert Worker(library.files, library.store, library.embedder, lambda: library.settings.ingest).run_once()
    passages = len(library.store)
    assert passages > 1000
    for mode in ("refine", "tree_summarize"):
        ask = Ask("What burns?", chat_mode=None, response_mode=mode, reading="everything")
        began = time.perf_counter()
        said = price(library, ask)
        assert time.perf_counter() - began < 10  # a second or less where the machine has nothing else to do
        if mode == "refine":
            assert said.calls == passages
        else:
            spent = library.answer(ask).whole().trace
            assert spent is not None
            assert said.calls == pytest.approx(len(spent.spans("llm")), rel=0.1)
            assert said.prompt_tokens == pytest.approx(spent.total_tokens().prompt, rel=0.1)
    library.close()


@pytest.mark.parametrize("mode", MODES)
def test_without_a_look_at_the_passages_it_is_hardly_less(
    open_library: Callable[[ScriptedLLM], Library], mode: str
) -> None:
    library = open_library(ScriptedLLM(obedient))
    ask = Ask("How many lamps has the tower?", chat_mode=None, response_mode=mode)
    assert at_most(library, ask).tokens >= price(library, ask).tokens
    assert at_most(library, ask).calls >= price(library, ask).calls


def facts(
    read: int, written: int, seconds: float, *, calls: int = 1, mode: str = "compact", model: str = "m"
) -> AnswerFacts:
    return AnswerFacts(mode, mode, calls, seconds, 6, 100, read, written, model=model)


def test_before_the_first_answer_the_time_is_unknown() -> None:
    assert habits([], "m", "compact") == Habits()
    assert habits([facts(1000, 100, 2.0, model="another")], "m", "compact").seconds(1000, 100) is None


@given(
    reading=st.floats(0.0005, 0.05),
    writing=st.floats(0.005, 0.5),
    answers=st.lists(st.tuples(st.integers(50, 20_000), st.integers(1, 800)), min_size=1, max_size=20),
)
def test_the_time_is_learned_from_answers_and_never_negative(
    reading: float, writing: float, answers: list[tuple[int, int]]
) -> None:
    history = [facts(read, written, read * reading + written * writing) for read, written in answers]
    learned = habits(history, "m", "compact")
    read, written = answers[0]
    said = learned.seconds(read, written)
    assert said is not None
    assert learned.reading is not None
    assert learned.writing is not None
    assert learned.reading >= 0
    assert learned.writing >= 0
    if len(set(answers)) == 1:  # what has been is what will be
        assert said == pytest.approx(read * reading + written * writing, rel=0.15)


def test_reading_and_writing_speeds_come_from_varied_answers() -> None:
    history = [
        facts(r, w, r * 0.002 + w * 0.05)
        for r, w in ((500, 40), (8000, 60), (900, 500), (4000, 300), (300, 20), (6000, 90))
    ]
    said = habits(history, "m", "compact").seconds(10_000, 50)
    assert said == pytest.approx(22.5, rel=0.15)


def test_answers_in_the_same_way_count_before_others() -> None:
    quick = [facts(1000, 100, 1.0, calls=10, mode="accumulate")] * 3
    slow = [facts(1000, 100, 10.0)] * 3
    assert habits([*slow, *quick], "m", "accumulate").seconds(1000, 100) == pytest.approx(1.0, rel=0.1)
    assert habits([*slow, *quick[:1]], "m", "accumulate").seconds(1000, 100) == pytest.approx(10.0, rel=0.1)
    assert habits(quick, "m", "accumulate").answer_tokens == 10


def test_the_built_in_reader_is_known_to_skim_a_long_prompt(tmp_path: Path) -> None:
    library = Library(tmp_path, embedder=HashEmbedding())
    path = library.incoming / "long.txt"
    path.write_text(
        "\n\n".join(f"Entry {n} tells of the lamp of tower {n % 17}. " * 9 for n in range(120)), "utf-8"
    )
    library.intake.add(path, "long.txt")
    assert Worker(library.files, library.store, library.embedder, lambda: library.settings.ingest).run_once()
    few = Ask("Which tower has the lamp?", chat_mode=None, top_k=2)
    assert AnswerRuns(library).start(library.conversations.create("query").id, few).wait(30)
    little, all_of_it = (
        price(library, few),
        price(library, replace(few, response_mode="tree_summarize", reading="everything")),
    )
    assert little.calls == all_of_it.calls == 1
    assert little.prompt_tokens < 1200 < 8000 < all_of_it.prompt_tokens
    assert little.seconds is not None
    assert all_of_it.seconds is not None
    # in tokens that are read
    closely, skimmed, written = 1200, all_of_it.prompt_tokens - 1200, 10 * little.completion_tokens
    assert all_of_it.completion_tokens == little.completion_tokens
    longer = (closely + 0.16 * skimmed + written) / (little.prompt_tokens + written)
    assert all_of_it.seconds == pytest.approx(little.seconds * longer, rel=0.05)
    library.close()


def test_a_recording_says_nothing_about_the_time_on_this_machine() -> None:
    played = replace(facts(1000, 100, 60.0), recorded=1_700_000_000.0)
    assert habits([played], "m", "compact") == Habits()
    assert habits([played, facts(1000, 100, 2.0)], "m", "compact").seconds(1000, 100) == pytest.approx(
        2.0, rel=0.1
    )


def test_answer_that_waited_for_the_embedder_is_not_a_sample() -> None:
    waited = replace(facts(1000, 100, 60.0), unready=True)
    assert habits([waited], "m", "compact") == Habits()
    assert habits([waited, facts(1000, 100, 2.0)], "m", "compact").seconds(1000, 100) == pytest.approx(
        2.0, rel=0.1
    )


def test_price_basis_changes_with_settings_and_prompts(
    open_library: Callable[[ScriptedLLM], Library],
) -> None:
    library = open_library(ScriptedLLM(obedient))
    before = basis(library)
    assert basis(library) == before
    library.prompts.save("text_qa", ("Be brief.", "{context_str} {query_str}"))
    reworded = basis(library)
    library.update_settings(AppSettings(price=PriceSettings(prompt_million=1.0)))
    assert len({before, reworded, basis(library)}) == 3


def test_a_price_appears_where_tokens_have_one(open_library: Callable[[ScriptedLLM], Library]) -> None:
    library = open_library(ScriptedLLM(obedient))
    ask = Ask("How many lamps?", chat_mode=None)
    assert price(library, ask).money is None
    library.update_settings(AppSettings(price=PriceSettings(prompt_million=2.0, completion_million=8.0)))
    said = price(library, ask)
    assert said.money == pytest.approx((said.prompt_tokens * 2 + said.completion_tokens * 8) / 1_000_000)


def test_confirmation_is_needed_above_a_limit_and_not_at_it() -> None:
    settings = PriceSettings(ask_above_calls=10, ask_above_tokens=1000)
    assert not is_over(Price(10, 900, 100), settings)
    assert is_over(Price(11, 1, 1), settings)
    assert is_over(Price(1, 900, 101), settings)
    assert not is_over(Price(999, 9_999_999, 9), PriceSettings(ask_above_calls=0, ask_above_tokens=0))


def test_several_answers_take_what_they_take_together() -> None:
    assert together([Price(1, 10, 5, 1.0, 0.5), Price(2, 20, 6, 2.0)]) == Price(3, 30, 11, 3.0, 0.5)
    assert together([Price(1, 10, 5, 1.0), Price(2, 20, 6)]).seconds is None
    assert together([]) == Price(0, 0, 0, 0)


def test_parallel_answers_share_the_speed_of_one_computer() -> None:
    four = [Price(1, 10, 5, 10.0)] * 4
    assert [each.seconds for each in at_once(four, 1)] == [40.0] * 4
    assert [each.seconds for each in at_once(four, 2)] == [20.0] * 4
    assert [each.seconds for each in at_once(four, 8)] == [10.0] * 4
    # While both are answered each has half of the speed: the first ends after 20 s, and the rest of the
    # second takes 20 s more.
    assert [each.seconds for each in at_once([Price(1, 10, 5, 10.0), Price(3, 30, 9, 30.0)], 1)] == [
        20.0,
        40.0,
    ]
    assert together_at_once(four, 1) == Price(4, 40, 20, 40.0)
    assert together_at_once([Price(1, 10, 5, 10.0), Price(3, 30, 9, 30.0)], 8) == Price(4, 40, 14, 30.0)
    assert together_at_once([Price(1, 10, 5, 10.0), Price(3, 30, 9)], 1).seconds is None
    assert at_once([], 1) == []


def test_local_calls_run_at_single_speed_and_others_in_parallel() -> None:
    assert calls_at_full_speed(LLMSettings(provider="llama_cpp", model="m.gguf", calls_at_once=4)) == 1
    assert calls_at_full_speed(LLMSettings(provider="ollama", model="m")) == 1
    elsewhere = LLMSettings(provider="openai", model="m")
    assert calls_at_full_speed(elsewhere.model_copy(update={"calls_at_once": 3})) == 3
    assert calls_at_full_speed(elsewhere) > 1


class MeasuredLLM(ScriptedLLM):
    """Its speed is known."""

    measured: Speed | None = None

    @property
    def speed(self) -> Speed | None:
        return self.measured


def test_measured_model_speed_goes_before_the_history(open_library: Callable[[ScriptedLLM], Library]) -> None:
    llm = MeasuredLLM(obedient)
    library = open_library(llm)
    ask = Ask("How many lamps has the tower?", chat_mode=None, response_mode="refine")
    assert price(library, ask).seconds is None
    llm.measured, before = Speed(100.0, 10.0), basis(library)
    said = price(library, ask)
    expected = said.prompt_tokens / 100 + said.completion_tokens / 10
    assert said.seconds == pytest.approx(expected)
    assert AnswerRuns(library).start(library.conversations.create("query").id, ask).wait(30)
    assert price(library, ask).seconds == pytest.approx(expected)
    assert basis(library) != before
    with_answer = basis(library)
    llm.measured = Speed(50.0, 10.0)
    assert basis(library) != with_answer
    llm.measured = None
    learned = price(library, ask).seconds
    assert learned is not None
    assert learned < expected / 2


def test_history_of_a_remote_server_goes_before_one_call_s_speed(
    open_library: Callable[[ScriptedLLM], Library],
) -> None:
    llm = MeasuredLLM(obedient)
    library = open_library(llm)
    library.update_settings(AppSettings(llm=LLMSettings(provider="openai", model="m")))
    llm.measured = Speed(1.0, 1.0)
    ask = Ask("How many lamps has the tower?", chat_mode=None)
    said = price(library, ask)
    assert said.seconds == pytest.approx(said.tokens)
    assert AnswerRuns(library).start(library.conversations.create("query").id, ask).wait(30)
    learned = price(library, ask).seconds
    assert learned is not None
    assert learned < said.tokens / 10


def test_expected_price_stays_with_the_answer_and_improves(
    open_library: Callable[[ScriptedLLM], Library],
) -> None:
    library = open_library(ScriptedLLM(obedient))
    runs, ask = AnswerRuns(library), Ask("How many lamps?", chat_mode=None, response_mode="refine")
    expected = price(library, ask)
    assert expected.seconds is None
    run = runs.start(library.conversations.create("query").id, ask, expected=expected)
    assert run.wait(30)
    message = library.conversations.message(run.message_id)
    assert message is not None
    assert message.facts is not None
    assert message.facts.expected == expected
    assert message.facts.calls == expected.calls
    again = price(library, ask)
    assert again.seconds == pytest.approx(message.facts.seconds, rel=0.2)


def test_a_stopped_answer_records_its_calls(open_library: Callable[[ScriptedLLM], Library]) -> None:
    library = open_library(ScriptedLLM(lambda call: "word " * 20_000))
    runs = AnswerRuns(library)
    run = runs.start(library.conversations.create("query").id, Ask("How many?", chat_mode=None))
    deadline = time.monotonic() + 30
    while not run.text and time.monotonic() < deadline:
        time.sleep(0.01)
    run.stop()
    trace = None
    while trace is None and time.monotonic() < deadline:
        time.sleep(0.01)
        trace = library.conversations.trace(run.message_id)
    assert trace is not None
    assert len(trace.spans("llm")) == 1


def test_steps_of_quoting_equal_the_estimate(open_library: Callable[[ScriptedLLM], Library]) -> None:
    library = open_library(ScriptedLLM(obedient))
    for mode, chat_mode in product(MODES, (None, "context", "condense_plus_context")):
        ask = Ask("How many lamps has it?", chat_mode, mode, top_k=5, extractive=True)
        for talk in ([], TALK):
            spent = library.answer(ask, talk).whole().trace
            assert spent is not None
            assert price(library, ask, talk).calls == len(spent.spans("llm")), (mode, chat_mode)
