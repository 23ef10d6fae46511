"""What a model repeats of its prompt does not reach the person, however the stream cuts the reply."""

from __future__ import annotations

from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.errors import LLMError
from ragcore.llms.base import LLMCall
from ragcore.llms.openai import OpenAICompatibleLLM
from ragcore.llms.prompt_echo import ReplyFilter
from ragcore.prompts.document_text import OPENING
from ragcore.prompts.prompt import Passage, Prompt, Variable
from ragcore.prompts.wording import CHOICE_SELECT, REFINE, TEXT_QA
from tests.scripted_server import ScriptedServer

VARIABLES: dict[str, Variable] = {
    "context_str": (Passage("The limit is 40.\nIt was 45.", 1, "a.pdf, page 1"),),
    "query_str": "What is the limit?",
    "existing_answer": "It is 45.",
}
RULE = "Use only the passages you are given. Add nothing that they do not say."
CASES = [
    (TEXT_QA, "It is 40.", "It is 40."),
    (TEXT_QA, "Answer: It is 40.", "It is 40."),
    (TEXT_QA, "**Answer:** It is 40 [1]. Yes.\nReally: no.", "It is 40 [1]. Yes.\nReally: no."),
    (TEXT_QA, "Question: What is the limit?\nAnswer: It is 40.", "It is 40."),
    (TEXT_QA, "It is 40.\n\nQuestion: What else?\nAnswer: More.", "It is 40."),
    (TEXT_QA, f"It is 40. {RULE} It was 45.", "It is 40. It was 45."),
    (TEXT_QA, f"- {RULE}\n\nIt is 40.", "It is 40."),
    (TEXT_QA, RULE[:60], ""),
    (
        TEXT_QA,
        f"Passages:\n\n{OPENING}\n[1] a.pdf, page 1\nThe limit is 40.\nIt was 45.\n\nThe limit is 40.",
        "The limit is 40.",
    ),
    (TEXT_QA, "[1] a.pdf, page 1 says 40.", "[1] a.pdf, page 1 says 40."),
    (TEXT_QA, "The limit is 40.\nIt was 45.", "The limit is 40.\nIt was 45."),
    (TEXT_QA, "Use only the bridge.", "Use only the bridge."),
    (TEXT_QA, "<think>Question: hm</think>Answer: It is 40.", "It is 40."),
    (REFINE, "Improved answer: It is 40.", "It is 40."),
    (REFINE, "The answer so far:\nIt is 45.\n\nImproved answer: It is 40.", "It is 40."),
    (REFINE, "Improved answer:\nIt is 45. Now 40.", "It is 45. Now 40."),
    (REFINE, "The answer so far:\nIt is 45.", ""),
    (REFINE, "If they do not help, repeat the answer so far, word for word.", ""),
    (CHOICE_SELECT, "Doc: 2, Relevance: 7", "Doc: 2, Relevance: 7"),  # a form that is asked for is no prose
]


def filter_reply(prompt: Prompt, reply: str, sizes: list[int]) -> str:
    reply_filter = ReplyFilter(
        prompt.task, prompt.render({name: VARIABLES[name] for name in prompt.variables})
    )
    text = ""
    while reply:
        size = sizes[0] if sizes else len(reply)
        text += reply_filter.feed(reply[:size])
        reply, sizes = reply[size:], sizes[1:]
    return text + reply_filter.end()


QUIZ = "Here are two:\n\nQuestion: What is the limit?\nAnswer: 40.\n\nQuestion: What was it?\nAnswer: 45."


def test_requested_questions_are_no_echo() -> None:
    variables = {**VARIABLES, "query_str": "Write two quiz questions with their answers."}
    call = LLMCall(TEXT_QA, {name: variables[name] for name in TEXT_QA.variables})
    reply_filter = ReplyFilter(TEXT_QA.task, call.messages())
    assert reply_filter.feed(QUIZ) + reply_filter.end() == QUIZ
    assert call.stop_sequences == (OPENING, "\nPassages:")


def test_a_label_before_an_answer_is_always_an_echo() -> None:
    variables = {**VARIABLES, "query_str": "Answer this question in one sentence: what is the limit?"}
    reply_filter = ReplyFilter(
        TEXT_QA.task, TEXT_QA.render({name: variables[name] for name in TEXT_QA.variables})
    )
    assert reply_filter.feed("Answer: It is 40.") + reply_filter.end() == "It is 40."


# the delimiter is random
@pytest.mark.parametrize(("prompt", "reply", "answer"), CASES, ids=map(str, range(len(CASES))))
def test_the_prompt_s_own_words_are_cut(prompt: Prompt, reply: str, answer: str) -> None:
    assert filter_reply(prompt, reply, []) == answer


@given(st.sampled_from(CASES), st.lists(st.integers(1, 9), max_size=200))
def test_they_are_cut_in_a_stream_as_in_a_whole(case: tuple[Prompt, str, str], sizes: list[int]) -> None:
    prompt, reply, answer = case
    assert filter_reply(prompt, reply, sizes) == answer


@given(st.text(st.sampled_from("Answer: the\n*[1].。")), st.lists(st.integers(1, 5), max_size=40))
def test_any_reply_comes_out_the_same_however_it_is_cut(reply: str, sizes: list[int]) -> None:
    assert filter_reply(TEXT_QA, reply, sizes) == filter_reply(TEXT_QA, reply, [])


def test_words_are_streamed_once_they_cannot_be_an_echo() -> None:
    reply_filter = ReplyFilter(TEXT_QA.task, TEXT_QA.render({"context_str": (), "query_str": "Why?"}))
    assert [reply_filter.feed(piece) for piece in ("Use", " only", " the", " bridge", " and")] == [
        "",
        "",
        "",
        "Use only the bridge",
        " and",
    ]


def test_reply_of_only_the_prompt_is_an_error_except_in_refine() -> None:
    variables: dict[str, Variable] = {"context_str": (), "query_str": "Why?"}
    with (
        ScriptedServer(lambda messages: RULE) as server,
        closing(OpenAICompatibleLLM("tiny", server.url, max_retries=0)) as llm,
    ):
        with pytest.raises(LLMError):
            llm.generate(LLMCall(TEXT_QA, variables))
        improved = llm.generate(LLMCall(REFINE, {**variables, "existing_answer": "Because."}))
    assert improved.text == ""
