from __future__ import annotations

import threading
import time

import pytest

from ragcore.errors import LLMServerError
from ragcore.llms.base import LLMCall
from ragcore.llms.scripted import ScriptedLLM
from ragcore.observe import span
from ragcore.prompts.document_text import OPENING
from ragcore.prompts.prompt import Prompt, Task
from ragcore.prompts.wording import REFINE, TEXT_QA
from ragcore.response_synthesizers.base import NOTHING_FOUND, passages_from
from ragcore.response_synthesizers.response_mode import ResponseMode
from ragcore.response_synthesizers.synthesizer import (
    Synthesizer,
    get_response_synthesizer,
)
from ragcore.schema import ChatMessage, MessageRole, NodeWithScore, TextNode
from tests.ragcore.response_synthesizers.doubles import (
    UnlockedLLM,
    counting,
    nodes,
    passages_of,
    prompts,
    shown,
    word_llm,
)

SIX = nodes(*[f"passage{n} " + "word " * 59 for n in range(1, 7)])  # 64 tokens each, with number and source
ALL_MODES = list(ResponseMode)


def ask(mode: ResponseMode, llm: ScriptedLLM, found: list[NodeWithScore] = SIX) -> str:
    return Synthesizer(llm, mode).synthesize("What?", found).response


def by_content(call: LLMCall) -> str:
    """An answer that depends on the passages alone, so that the order in which threads begin does not
    matter."""
    return "about " + " ".join(passage.text.split()[0] for passage in passages_of(call))


# With 100,000 tokens all six passages fit one call; with 300, two do.
CALLS = {
    (ResponseMode.REFINE, 100_000): ["text_qa", *["refine"] * 5],
    (ResponseMode.REFINE, 300): ["text_qa", *["refine"] * 5],
    (ResponseMode.COMPACT, 100_000): ["text_qa"],
    (ResponseMode.COMPACT, 300): ["text_qa", "refine", "refine"],
    (ResponseMode.SIMPLE_SUMMARIZE, 100_000): ["text_qa"],
    (ResponseMode.SIMPLE_SUMMARIZE, 300): ["text_qa"],
    (ResponseMode.TREE_SUMMARIZE, 100_000): ["tree_summarize"],
    (ResponseMode.TREE_SUMMARIZE, 300): ["tree_summarize"] * 4,
    (ResponseMode.GENERATION, 100_000): ["generation"],
    (ResponseMode.GENERATION, 300): ["generation"],
    (ResponseMode.NO_TEXT, 100_000): [],
    (ResponseMode.NO_TEXT, 300): [],
    (ResponseMode.ACCUMULATE, 100_000): ["text_qa"] * 6,
    (ResponseMode.ACCUMULATE, 300): ["text_qa"] * 6,
    (ResponseMode.COMPACT_ACCUMULATE, 100_000): ["text_qa"],
    (ResponseMode.COMPACT_ACCUMULATE, 300): ["text_qa"] * 3,
}


@pytest.mark.smoke
@pytest.mark.parametrize(("mode", "window"), CALLS)
def test_each_mode_makes_its_calls_in_its_order(mode: ResponseMode, window: int) -> None:
    llm = word_llm(counting(), window)
    ask(mode, llm)
    assert prompts(llm) == CALLS[mode, window]


@pytest.mark.parametrize("window", [300, 400, 700, 1000, 8192, 128_000])
def test_the_calls_of_compact_are_as_few_as_the_window_allows(window: int) -> None:
    sixty = nodes(*["word " * 61 for _ in range(60)])  # 65 tokens each, with number and source
    llm = word_llm(counting(), window)
    ask(ResponseMode.COMPACT, llm, sixty)
    for call, following in zip(llm.calls, llm.calls[1:], strict=False):
        room = window - 40 - sum(len(message.content.split()) + 4 for message in call.messages)
        assert room < 65 * len(passages_of(following.call)) or room < 65
    assert [number for call in llm.calls for number in shown(call.call)] == list(range(1, 61))


def test_refine_improves_the_answer_by_passage_in_reading_order() -> None:
    llm = word_llm(counting())
    assert ask(ResponseMode.REFINE, llm) == "A6"
    assert [shown(call.call) for call in llm.calls] == [[1], [2], [3], [4], [5], [6]]
    assert [call.variables.get("existing_answer") for call in llm.calls] == [
        None,
        "A1",
        "A2",
        "A3",
        "A4",
        "A5",
    ]


def test_refine_reads_the_parts_of_a_long_passage_in_turn() -> None:
    words = [f"w{n}" for n in range(500)]
    llm = word_llm(counting(), window=300)
    ask(ResponseMode.REFINE, llm, nodes(" ".join(words), "the end"))
    texts = [passages_of(call.call)[0].text for call in llm.calls]
    assert " ".join(texts) == " ".join([*words, "the end"])
    assert len(texts) > 3
    assert [shown(call.call)[0] for call in llm.calls] == [1] * (len(texts) - 1) + [2]


def test_an_empty_reply_does_not_wipe_out_the_answer_before_it() -> None:
    llm = word_llm(lambda call: "" if 3 in shown(call) or 6 in shown(call) else by_content(call))
    assert ask(ResponseMode.REFINE, llm) == "about passage5"
    assert llm.calls[3].variables["existing_answer"] == "about passage2"


def test_tree_summarize_merges_summaries_with_the_question() -> None:
    llm = word_llm(by_content, window=300)
    assert ask(ResponseMode.TREE_SUMMARIZE, llm) == "about about about about"
    *first, last = llm.calls
    assert sorted(shown(call.call)[0] or 0 for call in first) == [1, 3, 5]
    assert [p.text for p in passages_of(last.call)] == [
        "about passage1 passage2",
        "about passage3 passage4",
        "about passage5 passage6",
    ]
    assert all("What?" in call.messages[-1].content for call in llm.calls)


def test_tree_summarize_ends_although_summaries_do_not_shrink() -> None:
    llm = word_llm(lambda call: "blah " * 200, window=300)
    ask(ResponseMode.TREE_SUMMARIZE, llm, nodes(*["word " * 90 for _ in range(8)]))
    assert len(llm.calls) <= 8 + 8 + 4 + 2 + 1


def test_simple_summarize_shows_the_beginning_of_every_passage() -> None:
    llm = word_llm(counting(), window=400)
    ask(ResponseMode.SIMPLE_SUMMARIZE, llm)
    assert shown(llm.calls[0].call) == [1, 2, 3, 4, 5, 6]
    assert "['" not in llm.calls[0].messages[-1].content


def test_accumulate_lists_its_answers() -> None:
    expected = "Response 1: about one\n---------------------\nResponse 2: about two"
    assert ask(ResponseMode.ACCUMULATE, word_llm(by_content), nodes("one", "two")) == expected
    assert (
        ask(ResponseMode.COMPACT_ACCUMULATE, word_llm(by_content), nodes("one", "two"))
        == "Response 1: about one two"
    )


def test_accumulate_keeps_an_empty_answer_s_row() -> None:
    llm = word_llm(lambda call: "" if shown(call) != [2] else "two")
    expected = "Response 1: \n---------------------\nResponse 2: two\n---------------------\nResponse 3: "
    assert ask(ResponseMode.ACCUMULATE, llm, nodes("one", "two", "three")) == expected


@pytest.mark.parametrize("mode", ALL_MODES)
@pytest.mark.parametrize("window", [300, 8192])
def test_the_streamed_answer_is_the_unstreamed_one(mode: ResponseMode, window: int) -> None:
    whole = Synthesizer(word_llm(by_content, window), mode).synthesize("What?", SIX)
    stream = Synthesizer(word_llm(by_content, window), mode).stream("What?", SIX)
    assert "".join(stream) == stream.text == whole.response
    assert stream.source_nodes == whole.source_nodes == tuple(SIX)


def test_only_the_last_refine_call_streams_and_others_send_empty() -> None:
    llm = word_llm(lambda call: f"three words {shown(call)[0]}")
    pieces = list(Synthesizer(llm, ResponseMode.REFINE).stream("What?", SIX))
    assert pieces[:15] == [""] * 15
    assert pieces[15:] == ["", "three words", " 6"]  # the first might have been a remark


@pytest.mark.parametrize("mode", ALL_MODES)
def test_no_passages_gives_a_fixed_reply_without_a_call(mode: ResponseMode) -> None:
    llm = word_llm(counting())
    response = Synthesizer(llm, mode).synthesize("What?", [])
    assert (response.response, response.source_nodes, llm.calls) == (NOTHING_FOUND, (), [])


@pytest.mark.parametrize("mode", [ResponseMode.GENERATION, ResponseMode.NO_TEXT])
def test_modes_that_read_no_passage_still_give_them_as_sources(mode: ResponseMode) -> None:
    llm = word_llm(["made up"])
    response = Synthesizer(llm, mode).synthesize("What?", SIX)
    assert response.source_nodes == tuple(SIX)
    assert response.response == ("made up" if mode is ResponseMode.GENERATION else "")
    assert all("passage1" not in message.content for call in llm.calls for message in call.messages)


def test_the_trace_holds_the_calls_in_order_and_their_sum() -> None:
    llm = word_llm(by_content, window=300)
    trace = Synthesizer(llm, ResponseMode.ACCUMULATE).synthesize("What?", SIX).trace
    assert trace is not None
    calls = trace.spans("llm")
    assert [call.facts["reply"] for call in calls] == [f"about passage{n}" for n in range(1, 7)]
    assert trace.name == "synthesize"
    expected = {"mode": "accumulate", "passages": 6, "calls": 6, "completion_tokens": 12}
    expected["prompt_tokens"] = sum(sum(len(m.content.split()) for m in call.messages) for call in llm.calls)
    assert trace.facts == expected
    assert [[step.name for step in part.children] for part in trace.spans("part")] == [["llm"]] * 6
    assert all(step.seconds >= 0 for step in trace.walk())


@pytest.mark.parametrize("mode", [ResponseMode.ACCUMULATE, ResponseMode.TREE_SUMMARIZE])
def test_independent_calls_run_in_parallel_up_to_the_limit(mode: ResponseMode) -> None:
    lock = threading.Lock()
    running = most = 0

    def slow(call: LLMCall) -> str:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        # The first to come are the last to finish: order must not depend on it.
        time.sleep(0.02 * (7 - (shown(call)[0] or 0)) if shown(call) else 0)
        with lock:
            running -= 1
        return by_content(call)

    answer = Synthesizer(UnlockedLLM(slow, window=300), mode, workers=3).synthesize("What?", SIX).response
    assert most == 3
    if mode is ResponseMode.ACCUMULATE:
        assert [row[12:] for row in answer.split("\n")[::2]] == [f"about passage{n}" for n in range(1, 7)]


def test_a_row_is_streamed_while_the_next_is_generated() -> None:
    second = threading.Event()

    def rule(call: LLMCall) -> str:
        if shown(call) == [2]:
            assert second.wait(20)
        return by_content(call)

    stream = iter(
        Synthesizer(UnlockedLLM(rule), ResponseMode.ACCUMULATE).stream("What?", nodes("one", "two"))
    )
    said = ""
    while said != "Response 1: about one":
        said += next(stream)
    second.set()
    assert said + "".join(stream) == "Response 1: about one\n---------------------\nResponse 2: about two"


def test_closing_an_accumulated_answer_begins_no_further_call() -> None:
    begun: list[int | None] = []
    go_on = threading.Event()

    def rule(call: LLMCall) -> str:
        begun.extend(shown(call))
        if shown(call) == [2]:
            go_on.wait(20)
        return "word " * 50

    stream = Synthesizer(UnlockedLLM(rule), ResponseMode.ACCUMULATE, workers=1).stream(
        "What?", nodes(*["w"] * 50)
    )
    pieces = iter(stream)
    while not stream.text:
        next(pieces)
    threading.Timer(0.05, go_on.set).start()
    pieces.close()
    time.sleep(0.1)
    assert set(begun) <= {1, 2}
    assert stream.trace is not None
    assert all(step.seconds >= 0 for step in stream.trace.walk())
    assert stream.text == "Response 1: word "


def test_closing_an_accumulated_answer_ends_its_requests() -> None:
    llm = word_llm(lambda call: "word " * 200_000)
    stream = Synthesizer(llm, ResponseMode.ACCUMULATE, workers=2).stream(
        "What?", nodes("one", "two", "three")
    )
    pieces = iter(stream)
    while len(llm.calls) < 2 or not stream.text:
        next(pieces)
    pieces.close()
    assert (len(llm.calls), llm.closed_streams) == (2, 2)


@pytest.mark.parametrize(
    "mode", [ResponseMode.COMPACT, ResponseMode.SIMPLE_SUMMARIZE, ResponseMode.GENERATION]
)
def test_closing_a_stream_ends_the_request_and_retains_the_text(mode: ResponseMode) -> None:
    llm = word_llm(lambda call: "one two three four")
    stream = Synthesizer(llm, mode).stream("What?", SIX)
    pieces = iter(stream)
    assert [next(pieces), next(pieces)] == ["one", " two"]
    pieces.close()
    assert (stream.text, llm.closed_streams) == ("one two", 1)
    assert stream.trace is not None
    assert stream.trace.facts["calls"] == 1
    assert stream.trace.spans("llm")[0].facts["reply"] == "one two"


def test_stream_can_be_closed_before_the_last_refine_call() -> None:
    llm = word_llm(lambda call: "one two three")
    stream = Synthesizer(llm, ResponseMode.REFINE).stream("What?", SIX)
    pieces = iter(stream)
    next(pieces)
    pieces.close()
    assert (stream.text, len(llm.calls), llm.closed_streams) == ("", 1, 1)


def test_stream_can_be_closed_from_another_thread_at_once() -> None:
    waiting, go_on = threading.Event(), threading.Event()

    def rule(call: LLMCall) -> str:
        waiting.set()
        assert go_on.wait(20)
        return "one two three"

    stream = Synthesizer(UnlockedLLM(rule), ResponseMode.COMPACT).stream("What?", SIX)
    reader = threading.Thread(target=lambda: list(stream))
    reader.start()
    assert waiting.wait(20)
    stream.close()
    go_on.set()
    reader.join(20)
    assert stream.text == "one "


def test_failing_call_ends_the_answer_while_another_is_silent() -> None:
    let_go = threading.Event()

    def rule(call: LLMCall) -> str:
        if shown(call) == [2]:
            raise LLMServerError("The server gave up.")
        let_go.wait(6)
        return "late"

    began = time.monotonic()
    with pytest.raises(LLMServerError, match="gave up"):
        Synthesizer(UnlockedLLM(rule), "accumulate").synthesize("why", nodes("a", "b"))
    took = time.monotonic() - began
    let_go.set()
    assert took < 5


@pytest.mark.parametrize("mode", [mode for mode in ALL_MODES if mode is not ResponseMode.NO_TEXT])
def test_failing_call_fails_the_answer_and_is_in_the_trace(mode: ResponseMode) -> None:
    def rule(call: LLMCall) -> str:
        if shown(call) in ([], [5], [5, 6], [1, 2, 3, 4, 5, 6]):
            raise LLMServerError("The server gave up.")
        return "fine"

    with span("test") as root, pytest.raises(LLMServerError, match="gave up"):
        Synthesizer(word_llm(rule, window=100_000 if mode.value.startswith("s") else 300), mode).synthesize(
            "What?", SIX
        )
    assert root.children[0].error == "The server gave up."


def test_braces_in_a_question_or_a_passage_are_only_text() -> None:
    llm = word_llm(counting())
    Synthesizer(llm, ResponseMode.COMPACT).synthesize(
        "{context_str} {existing_answer}", nodes("{query_str} {0} {{x}}")
    )
    sent = llm.calls[0].messages[-1].content
    assert "Question: {context_str} {existing_answer}\n" in sent
    assert "{query_str} {0} {{x}}" in sent


def test_passages_say_where_they_are_from() -> None:
    sources = [
        {"file_name": "handbook.pdf", "page_label": "iv"},
        {"file_name": "deck.pptx", "page_label": "3", "page_word": "slide"},
        {"file_path": "/somewhere/notes.txt"},
        {},
    ]
    made = passages_from([NodeWithScore(TextNode("text", metadata=metadata)) for metadata in sources])
    assert [(p.number, p.source) for p in made] == [
        (1, "handbook.pdf, page iv"),
        (2, "deck.pptx, slide 3"),
        (3, "notes.txt"),
        (4, ""),
    ]


def test_passage_records_its_share_of_the_best_score() -> None:
    def relevance(*scores: float | None) -> list[float]:
        return [
            passage.relevance
            for passage in passages_from([NodeWithScore(TextNode("text"), score) for score in scores])
        ]

    assert relevance(0.8, 0.4, None, -0.1) == [1, 0.5, 1, 0]
    assert relevance(None, None) == [1, 1]
    assert relevance(0.0) == [1]


def test_own_wording_takes_the_place_of_the_default() -> None:
    own = Prompt("own", Task.ANSWER, (ChatMessage(MessageRole.USER, "Q {query_str} P {context_str}"),))
    llm = word_llm(counting(), window=300)
    synthesizer = get_response_synthesizer(llm, "refine", text_qa_template=own)
    assert synthesizer.prompts.refine is REFINE
    synthesizer.synthesize("What?", SIX)
    assert prompts(llm) == ["own", *["refine"] * 5]
    assert llm.calls[0].messages[0].content.startswith(f"Q What? P {OPENING}\n[1] book.pdf, page 1\npassage1")
    assert Synthesizer(llm).prompts.text_qa is TEXT_QA


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("The passages do not help.", "The limit is 45 miles per hour."),
        (
            "The answer so far is already correct. No improvement is needed.",
            "The limit is 45 miles per hour.",
        ),
        ("\n", "The limit is 45 miles per hour."),
        (
            "The passages improve the answer. The limit is 40 miles per hour.",
            "The limit is 40 miles per hour.",
        ),
        ("The limit is 40 miles per hour.", "The limit is 40 miles per hour."),
        ("Forty.", "Forty."),
    ],
)
@pytest.mark.parametrize("last", [True, False])
def test_remark_about_the_task_does_not_replace_the_answer(reply: str, answer: str, last: bool) -> None:
    later = [] if last else ["The answer stays."]
    llm = ScriptedLLM(["The limit is 45 miles per hour.", reply, *later])
    found = nodes(
        "The wind limit is 45 miles per hour.", "It is 40 miles per hour.", *(["Trains run."] * len(later))
    )
    assert get_response_synthesizer(llm, "refine").synthesize("What is the limit?", found).response == answer
