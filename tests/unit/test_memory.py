from __future__ import annotations

import json
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.memory import ChatMemoryBuffer
from ragcore.schema import ChatMessage, MessageRole

USER, ASSISTANT, TOOL, SYSTEM = MessageRole.USER, MessageRole.ASSISTANT, MessageRole.TOOL, MessageRole.SYSTEM


def words(text: str) -> int:
    return len(text.split())


def buffer(limit: int, *messages: ChatMessage) -> ChatMemoryBuffer:
    return ChatMemoryBuffer(limit, messages, words)


FOUR_TURNS = [ChatMessage((USER, ASSISTANT)[n % 2], f"message number{n} here") for n in range(8)]  # 3 words each


@pytest.mark.parametrize(("limit", "kept"), [(3, 0), (5, 0), (6, 2), (8, 2), (9, 2), (12, 4), (23, 6), (24, 8), (30, 8)])
def test_the_newest_whole_turns_that_fit_are_sent_along(limit: int, kept: int) -> None:
    assert buffer(limit, *FOUR_TURNS).get() == FOUR_TURNS[8 - kept :]


def test_tokens_already_spent_count_against_the_limit() -> None:
    memory = buffer(12, *FOUR_TURNS)
    assert memory.get(initial_token_count=6) == FOUR_TURNS[6:]
    assert memory.get(initial_token_count=12) == []
    with pytest.raises(ValueError, match="13"):
        memory.get(initial_token_count=13)


def test_a_message_longer_than_the_limit_keeps_its_end() -> None:
    long = " ".join(f"w{n}" for n in range(100))
    assert buffer(4, ChatMessage(USER, long)).get() == [ChatMessage(USER, "w96 w97 w98 w99")]
    asked = ChatMessage(USER, "why so")
    assert buffer(6, asked, ChatMessage(ASSISTANT, long)).get() == [asked, ChatMessage(ASSISTANT, "w96 w97 w98 w99")]
    both = buffer(6, ChatMessage(USER, long), ChatMessage(ASSISTANT, long)).get()
    assert [message.content for message in both] == ["w97 w98 w99", "w97 w98 w99"]


def test_a_single_word_longer_than_the_limit_keeps_its_end() -> None:
    assert ChatMemoryBuffer(5, [ChatMessage(USER, "abcdefghij")], len).get() == [ChatMessage(USER, "fghij")]


def test_an_answer_or_a_tool_result_is_never_sent_without_what_led_to_it() -> None:
    talk = [ChatMessage(USER, "a b c"), ChatMessage(ASSISTANT, "d"), ChatMessage(TOOL, "e"), ChatMessage(ASSISTANT, "f")]
    assert buffer(5, *talk).get() == []
    assert buffer(6, *talk).get() == talk
    assert buffer(9, *talk[1:]).get() == []


def test_tool_calls_cost_tokens() -> None:
    call = {"tool_calls": [{"id": "1", "function": {"name": "multiply", "arguments": "{}"}}]}
    talk = [ChatMessage(USER, "a"), ChatMessage(ASSISTANT, "", additional_kwargs=call), ChatMessage(TOOL, "b")]
    assert buffer(3, *talk).get() == []
    assert buffer(30, *talk).get() == talk


MESSAGES = st.lists(
    st.builds(ChatMessage, st.sampled_from(list(MessageRole)), st.text(alphabet="ab ", max_size=30)), max_size=12
)


@given(MESSAGES, st.integers(1, 40))
def test_what_is_sent_fits_begins_rightly_and_is_the_longest_such_end(messages: list[ChatMessage], limit: int) -> None:
    kept = buffer(limit, *messages).get()
    assert sum(words(message.content) for message in kept) <= limit
    assert not kept or kept[0].role in (USER, SYSTEM)
    endings = [
        messages[start:]
        for start in range(len(messages))
        if messages[start].role in (USER, SYSTEM) and sum(words(m.content) for m in messages[start:]) <= limit
    ]
    if endings:
        assert kept == endings[0]
    else:
        assert [message.role for message in kept] == [message.role for message in messages[len(messages) - len(kept) :]]


def test_it_is_kept_as_plain_values_and_comes_back_the_same() -> None:
    messages = [ChatMessage(USER, "hé"), ChatMessage(ASSISTANT, "", "bot", {"tool_calls": [{"id": "1"}]})]
    memory = buffer(77, *messages)
    back = ChatMemoryBuffer.from_dict(json.loads(json.dumps(memory.to_dict())))
    assert (back.token_limit, back.get_all()) == (77, messages)


def test_the_caller_s_lists_are_neither_kept_nor_given_out() -> None:
    given = list(FOUR_TURNS)
    memory = ChatMemoryBuffer(100, given, words)
    memory.put(ChatMessage(USER, "more"))
    memory.get_all().clear()
    memory.get().clear()
    assert len(given) == 8
    assert len(memory.get_all()) == 9
    memory.set(given)
    given.clear()
    assert memory.get_all() == FOUR_TURNS
    memory.reset()
    assert memory.get() == memory.get_all() == []


def test_messages_put_together_stay_together_and_none_is_lost() -> None:
    memory = ChatMemoryBuffer(10, count=words)

    def talk(name: str) -> None:
        for n in range(200):
            memory.put(ChatMessage(USER, f"{name}{n}"), ChatMessage(ASSISTANT, f"{name}{n}"))

    threads = [threading.Thread(target=talk, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    said = memory.get_all()
    assert len(said) == 1200
    assert all(question.content == answer.content for question, answer in zip(said[::2], said[1::2], strict=True))


def test_a_limit_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="0"):
        ChatMemoryBuffer(0)
