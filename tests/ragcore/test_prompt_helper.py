"""Texts cut to what fits beside a prompt. Tokens are words; the numbers and chunks are those of
llama-index-core 0.14.25."""

from __future__ import annotations

import pytest

from ragcore import (
    ChatMessage,
    ChatPromptTemplate,
    MessageRole,
    PromptHelper,
    PromptTemplate,
    SelectorPromptTemplate,
)
from ragcore.llms import LLMMetadata
from ragcore.llms.scripted import ScriptedLLM
from ragcore.node_parser.prompt_helper import get_biggest_prompt
from ragcore.prompts.wording import TEXT_QA

PROMPT = PromptTemplate("this is {text} a")  # three words with nothing in it
TEXTS = [" one two ", "", "three four five six seven", "eight"]


def helper(window: int, output: int = 1, ratio: float = 0.0, limit: int | None = None) -> PromptHelper:
    return PromptHelper(window, output, ratio, limit, str.split)


@pytest.mark.parametrize(
    ("one", "padding", "packed"),
    [
        (helper(11), 5, ["one", "two\n\nthree", "four five", "six", "seven\n\neight"]),
        (helper(11), 0, ["one two\n\nthree four five six", "seven\n\neight"]),
        (helper(13), 5, ["one two\n\nthree four", "five six seven\n\neight"]),
        (helper(30, 5, 0.1, 4), 5, ["one two\n\nthree four", "five six seven\n\neight"]),
        (helper(20, 1, 0.25), 5, ["one two\n\nthree four five six seven\n\neight"]),
        (helper(9, 3), 0, ["one two\n\nthree", "four five six", "seven\n\neight"]),
    ],
)
def test_texts_are_repacked_into_chunks_that_fit(one: PromptHelper, padding: int, packed: list[str]) -> None:
    assert one.repack(PROMPT, TEXTS, padding=padding) == packed


def test_each_text_keeps_the_beginning_for_which_there_is_room() -> None:
    texts = ["one two three four", "five six"]
    assert helper(11).truncate(PROMPT, texts, padding=1) == ["one two", "five six"]
    assert helper(13).truncate(PROMPT, texts, padding=1) == ["one two three", "five six"]


def test_what_no_text_gives() -> None:
    assert helper(20).truncate(PROMPT, []) == []
    assert helper(20).repack(PROMPT, []) == helper(20).repack(PROMPT, ["  "]) == [""]


@pytest.mark.parametrize(
    ("one", "words"), [(helper(5, 4), "2 more than the window"), (helper(9, 3), "leaves -2 tokens")]
)
def test_a_window_without_room_is_refused(one: PromptHelper, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        one.repack(PROMPT, TEXTS)


def test_the_room_is_shared_and_what_is_filled_in_already_counts() -> None:
    splitter = helper(20, 1, 0.25).get_text_splitter_given_prompt(PROMPT, 2, padding=0)
    assert (splitter.chunk_size, splitter.chunk_overlap) == (8, 2)
    filled = PROMPT.partial_format(text="four more words here")
    assert helper(20).get_text_splitter_given_prompt(filled, padding=0).chunk_size == 12


def test_messages_cost_roles_and_marks_and_selectors_choices() -> None:
    chat = ChatPromptTemplate(
        [ChatMessage(MessageRole.SYSTEM, "be {how}"), ChatMessage(MessageRole.USER, "say {text} now")]
    )
    assert helper(30).get_text_splitter_given_prompt(chat, padding=0).chunk_size == 30 - 1 - (1 + 1 + 3) - (
        1 + 2 + 3
    )
    either = SelectorPromptTemplate(PROMPT, [(lambda llm: True, chat)])
    assert helper(30).get_text_splitter_given_prompt(either, padding=0).chunk_size == 26
    assert helper(30).get_text_splitter_given_prompt(either, padding=0, llm=ScriptedLLM()).chunk_size == 18
    assert helper(900).get_text_splitter_given_prompt(TEXT_QA).chunk_size < 850


def test_a_helper_for_a_model_and_one_for_none() -> None:
    one = PromptHelper.from_llm_metadata(LLMMetadata("m", context_window=77, num_output=7))
    assert (
        one.context_window,
        one.num_output,
        one.chunk_overlap_ratio,
        one.chunk_size_limit,
        one.separator,
    ) == (*(77, 7, 0.1, None, " "),)
    assert (PromptHelper().context_window, PromptHelper().num_output) == (3900, 256)
    with pytest.raises(ValueError, match="chunk_overlap_ratio is 2"):
        PromptHelper(chunk_overlap_ratio=2)


def test_biggest_prompt_is_the_one_with_the_longest_fixed_text() -> None:
    long, short = PromptTemplate("aaa {x}"), PromptTemplate("a {a_long_name_for_a_variable}")
    assert get_biggest_prompt([short, long]) is long
    assert get_biggest_prompt([short, TEXT_QA]) is TEXT_QA
