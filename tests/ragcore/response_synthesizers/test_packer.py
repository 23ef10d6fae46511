from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.errors import ContextWindowError
from ragcore.llms.base import LLM, LLMCall
from ragcore.llms.scripted import ScriptedLLM
from ragcore.observe import span
from ragcore.prompts.prompt import Passage
from ragcore.prompts.wording import CONDENSE_QUESTION, CONTEXT_CHAT, REFINE, TEXT_QA
from ragcore.response_synthesizers.packer import MESSAGE_TOKENS, Packer, split
from ragcore.schema import ChatMessage, MessageRole
from tests.ragcore.response_synthesizers.doubles import packs, passages_of, shown, word_llm

WINDOWS = st.sampled_from([300, 301, 340, 512, 1000, 4096, 128_000])
WORDS = st.lists(st.sampled_from(["one", "two.", "Three", "four\n\n", "Five!", "x" * 60]), max_size=150).map(
    " ".join
)


def tokens_sent(llm: LLM, call: LLMCall) -> int:
    return sum(llm.count_tokens(message.content) + MESSAGE_TOKENS for message in call.messages())


def words_of(passages: Sequence[Passage]) -> list[tuple[int | None, str]]:
    """Every word with the number it can be cited by, words broken in two put together again."""
    words: dict[int | None, str] = {}
    for passage in passages:
        text = passage.text.replace(" ", "").replace("\n", "")
        words[passage.number] = words.get(passage.number, "") + text
    return list(words.items())


def turns(*contents: str) -> list[ChatMessage]:
    roles = (MessageRole.USER, MessageRole.ASSISTANT)
    return [ChatMessage(roles[index % 2], content) for index, content in enumerate(contents)]


@given(WINDOWS, st.lists(WORDS, max_size=12), WORDS, st.lists(WORDS, max_size=6))
def test_no_call_exceeds_the_window_or_loses_words_or_numbers(
    window: int, texts: list[str], answer: str, past: list[str]
) -> None:
    llm = word_llm([], window, num_output=64)
    passages = tuple(Passage(text, number, "book.pdf, page 3") for number, text in enumerate(texts, 1))
    variables = {"query_str": "What is it?", "existing_answer": answer}
    packed = Packer(llm).pack(REFINE, variables, passages, turns(*past))
    for call in packed.calls:
        assert tokens_sent(llm, call) <= window - 64
    given_back = [passage for pack in packs(packed) for passage in pack]
    assert [p.number for p in given_back] == sorted(p.number or 0 for p in given_back)
    assert words_of(given_back) == words_of(passages)


def test_rest_of_a_long_passage_fills_the_next_call() -> None:
    llm = word_llm([], 400, num_output=64)
    first = Packer(llm).take(TEXT_QA, {"query_str": "Why?"}, (Passage("word " * 900, 1),))
    later = Packer(llm).pack(REFINE, {"query_str": "Why?", "existing_answer": "said " * 50}, first.waiting)
    *full, _ = [tokens_sent(llm, call) for call in later.calls]
    assert full == [400 - 64] * len(full)


@given(st.sampled_from([400, 700, 2000]), st.lists(WORDS, min_size=1, max_size=6))
def test_the_window_holds_with_word_pieces_too(window: int, texts: list[str]) -> None:
    llm = ScriptedLLM(context_window=window, num_output=64)
    passages = tuple(Passage(text, number, "book.pdf") for number, text in enumerate(texts, 1))
    packed = Packer(llm).pack(TEXT_QA, {"query_str": "Naïve façade?"}, passages)
    assert all(tokens_sent(llm, call) <= window - 64 for call in packed.calls)
    assert words_of([p for pack in packs(packed) for p in pack]) == words_of(passages)


@given(WINDOWS, st.lists(WORDS, min_size=1, max_size=30))
def test_squeezed_call_fits_the_window_with_passage_beginnings(window: int, texts: list[str]) -> None:
    llm = word_llm([], window, num_output=64)
    passages = tuple(Passage(text, number) for number, text in enumerate(texts, 1))
    call = Packer(llm).squeeze(TEXT_QA, {"query_str": "?"}, passages)
    assert tokens_sent(llm, call) <= window - 64
    for kept, whole in zip(passages_of(call), passages, strict=False):
        assert kept.number == whole.number
        assert whole.text.strip().startswith(kept.text.strip())


def test_squeezed_call_fills_the_window_and_cuts_only_the_long() -> None:
    llm = word_llm([], window=500)
    passages = (Passage("a b c", 1), Passage("w " * 300, 2), Passage("w " * 50, 3), Passage("w " * 400, 4))
    call = Packer(llm).squeeze(TEXT_QA, {"query_str": "?"}, passages)
    lengths = [len(passage.text.split()) for passage in passages_of(call)]
    assert lengths[0] == 3
    assert lengths[2] == 50
    assert lengths[1] == lengths[3]
    assert 460 - 2 < tokens_sent(llm, call) <= 460


def test_fitting_passages_stay_whole_and_fill_to_the_last_token() -> None:
    passages = tuple(Passage("w " * 9, number) for number in range(1, 8))  # 10 tokens each with its number
    llm = word_llm([])
    fixed = tokens_sent(llm, Packer(llm).take(TEXT_QA, {"query_str": "?"}, ()).calls[0])
    exactly = word_llm([], window=40 + fixed + 30)
    assert [shown(call) for call in Packer(exactly).pack(TEXT_QA, {"query_str": "?"}, passages).calls] == [
        [1, 2, 3],
        [4, 5, 6],
        [7],
    ]
    one_less = word_llm([], window=40 + fixed + 29)
    assert [len(pack) for pack in packs(Packer(one_less).pack(TEXT_QA, {"query_str": "?"}, passages))] == [
        2,
        2,
        2,
        1,
    ]


def test_passage_parts_are_whole_sentences_with_their_source() -> None:
    sentence = "This sentence has exactly seven words here. "
    llm = word_llm([], window=300)
    packed = Packer(llm).pack(TEXT_QA, {"query_str": "?"}, (Passage(sentence * 60, 4, "a.pdf, page 2"),))
    assert len(packs(packed)) > 1
    for (part,) in packs(packed):
        assert (part.number, part.source) == (4, "a.pdf, page 2")
        assert re.fullmatch(r"(This sentence has exactly seven words here\.\s?)+", part.text)


def test_token_counting_grows_linearly_with_the_text_sent() -> None:
    for passages in (100, 400):
        llm = CharacterCounting()
        texts = tuple(Passage(f"p{n} " + "w " * 100, n) for n in range(passages))
        sent = Packer(llm).pack(TEXT_QA, {"query_str": "?"}, texts).calls
        counted, llm.characters = llm.characters, 0
        for call in sent:
            tokens_sent(llm, call)
        assert counted < 3 * llm.characters


class CharacterCounting(ScriptedLLM):
    def __init__(self) -> None:
        super().__init__(context_window=2000, num_output=100)
        self.characters = 0

    def count_tokens(self, text: str) -> int:
        self.characters += len(text)
        return len(text.split())


class Superadditive(ScriptedLLM):
    """Joined texts cost more than their parts."""

    def count_tokens(self, text: str) -> int:
        return len(text.split()) * 13 // 10


@given(st.sampled_from([300, 500, 1000]), st.lists(WORDS, min_size=1, max_size=30))
def test_window_holds_if_joined_texts_cost_more_than_parts(window: int, texts: list[str]) -> None:
    llm = Superadditive(context_window=window, num_output=40)
    passages = tuple(Passage(text, number) for number, text in enumerate(texts, 1))
    packed = Packer(llm).pack(TEXT_QA, {"query_str": "?"}, passages)
    squeezed = Packer(llm).squeeze(TEXT_QA, {"query_str": "?"}, passages)
    assert all(tokens_sent(llm, call) <= window - 40 for call in (*packed.calls, squeezed))
    assert words_of([p for pack in packs(packed) for p in pack]) == words_of(passages)


def test_many_small_passages_fit_if_joined_texts_cost_more() -> None:
    llm = Superadditive(context_window=500, num_output=40)
    packed = Packer(llm).pack(
        TEXT_QA, {"query_str": "?"}, tuple(Passage("w w w", number) for number in range(200))
    )
    assert all(tokens_sent(llm, call) <= 460 for call in packed.calls)
    assert [number for call in packed.calls for number in shown(call)] == list(range(200))


def test_oldest_history_yields_to_passages_and_is_traced() -> None:
    llm = word_llm([], window=400, num_output=40)
    history = turns(*[f"message{n} " + "w " * 19 for n in range(20)])
    passages = tuple(Passage("w " * 39, number) for number in (1, 2, 3))
    variables = {"query_str": "?", "system_prompt": "Be kind."}
    with span("test") as root:
        call = Packer(llm).take(CONTEXT_CHAT, variables, passages, history).calls[0]
    assert shown(call) == [1, 2, 3]
    assert list(call.history) == history[-len(call.history) :]
    assert call.history[0].role is MessageRole.USER
    assert root.children[0].facts["messages_left_out"] == 20 - len(call.history) > 0


def test_conversation_to_condense_loses_its_oldest_part() -> None:
    llm = word_llm([], window=200, num_output=40)
    talk = tuple(turns(*[f"message{n} " + "w " * 19 for n in range(20)]))
    call = Packer(llm).take(CONDENSE_QUESTION, {"chat_history": talk, "question": "and?"}, ()).calls[0]
    kept = call.variables["chat_history"]
    assert kept
    assert kept == talk[-len(kept) :]
    assert tokens_sent(llm, call) <= 160


@pytest.mark.parametrize("window", [300, 400, 1000])
def test_existing_answer_of_any_length_fits_by_its_beginning(window: int) -> None:
    llm = word_llm([], window=window, num_output=64)
    long = " ".join(f"said{n}" for n in range(5000))
    with span("test") as root:
        packed = Packer(llm).take(
            REFINE, {"query_str": "?", "existing_answer": long}, (Passage("w " * 50, 1),)
        )
    kept = str(packed.calls[0].variables["existing_answer"])
    assert kept.endswith(" …")
    assert long.startswith(kept.removesuffix(" …"))
    assert len(kept.split()) > 20
    assert root.children[0].facts["answer_shortened"] is True


def test_what_one_call_for_all_cannot_hold_is_named_in_the_trace() -> None:
    llm = word_llm([], window=300)
    passages = (Passage("w w w", 1), *(Passage("w " * 200, number) for number in range(2, 40)))
    with span("test") as root:
        call = Packer(llm).squeeze(TEXT_QA, {"query_str": "?"}, passages)
    facts = root.children[0].facts
    assert facts["passages"] == shown(call)
    assert facts["left_out"] == [p.number for p in passages if p.number not in shown(call)]
    assert set(facts["cut_short"]) == {p.number for p in passages_of(call) if len(p.text.split()) < 200} - {1}


def test_an_impossible_window_says_what_to_do() -> None:
    llm = word_llm([], window=60)
    with pytest.raises(ContextWindowError, match="60") as caught:
        Packer(llm).take(TEXT_QA, {"query_str": "?"}, (Passage("w", 1),))
    assert "larger context window" in caught.value.hint
    with pytest.raises(ContextWindowError):
        Packer(word_llm([], window=500)).take(TEXT_QA, {"query_str": "why " * 600}, (Passage("w", 1),))


def test_a_call_says_only_what_its_prompt_or_its_caller_names() -> None:
    call = Packer(word_llm([])).take(TEXT_QA, {"query_str": "?"}, (Passage("w", 1),)).calls[0]
    assert set(call.variables) == {"query_str", "context_str"}


@given(st.text(alphabet="ab .!?。\n日本", max_size=300), st.integers(1, 20))
def test_splitting_loses_only_white_space_and_keeps_to_the_size(text: str, size: int) -> None:
    parts = split(text, size, len)
    assert "".join("".join(parts).split()) == "".join(text.split())
    assert all(len(part) <= size for part in parts if part.strip())
