from __future__ import annotations

import json
import pickle
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.chat_engine import SimpleChatEngine
from ragcore.embeddings import HashEmbedding
from ragcore.errors import DamagedStoreError, LLMServerError
from ragcore.llamaindex.memory import ChatSummaryMemoryBuffer, SimpleComposableMemory, VectorMemory
from ragcore.llamaindex.memory.chat_summary_memory_buffer import SUMMARY
from ragcore.llms.base import LLMCall
from ragcore.llms.scripted import ScriptedLLM
from ragcore.memory import ChatMemoryBuffer
from ragcore.schema import ChatMessage, MessageRole
from ragcore.storage.chat_store import SimpleChatStore

USER, ASSISTANT, TOOL, SYSTEM = MessageRole.USER, MessageRole.ASSISTANT, MessageRole.TOOL, MessageRole.SYSTEM


def words(text: str) -> int:
    return len(text.split())


def buffer(limit: int, *messages: ChatMessage) -> ChatMemoryBuffer:
    return ChatMemoryBuffer(limit, messages, words)


# 3 words each
FOUR_TURNS = [ChatMessage((USER, ASSISTANT)[n % 2], f"message number{n} here") for n in range(8)]


@pytest.mark.parametrize(
    ("limit", "kept"), [(3, 0), (5, 0), (6, 2), (8, 2), (9, 2), (12, 4), (23, 6), (24, 8), (30, 8)]
)
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
    assert buffer(6, asked, ChatMessage(ASSISTANT, long)).get() == [
        asked,
        ChatMessage(ASSISTANT, "w96 w97 w98 w99"),
    ]
    both = buffer(6, ChatMessage(USER, long), ChatMessage(ASSISTANT, long)).get()
    assert [message.content for message in both] == ["w97 w98 w99", "w97 w98 w99"]


def test_a_single_word_longer_than_the_limit_keeps_its_end() -> None:
    assert ChatMemoryBuffer(5, [ChatMessage(USER, "abcdefghij")], len).get() == [ChatMessage(USER, "fghij")]


def test_answer_or_tool_result_is_never_sent_without_its_cause() -> None:
    talk = [
        ChatMessage(USER, "a b c"),
        ChatMessage(ASSISTANT, "d"),
        ChatMessage(TOOL, "e"),
        ChatMessage(ASSISTANT, "f"),
    ]
    assert buffer(5, *talk).get() == []
    assert buffer(6, *talk).get() == talk
    assert buffer(9, *talk[1:]).get() == []


def test_tool_calls_cost_tokens() -> None:
    call = {"tool_calls": [{"id": "1", "function": {"name": "multiply", "arguments": "{}"}}]}
    talk = [
        ChatMessage(USER, "a"),
        ChatMessage(ASSISTANT, "", additional_kwargs=call),
        ChatMessage(TOOL, "b"),
    ]
    assert buffer(3, *talk).get() == []
    assert buffer(30, *talk).get() == talk


MESSAGES = st.lists(
    st.builds(ChatMessage, st.sampled_from(list(MessageRole)), st.text(alphabet="ab ", max_size=30)),
    max_size=12,
)


@given(MESSAGES, st.integers(1, 40))
def test_sent_messages_are_the_longest_valid_end_that_fits(messages: list[ChatMessage], limit: int) -> None:
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
        assert [message.role for message in kept] == [
            message.role for message in messages[len(messages) - len(kept) :]
        ]


def test_memory_converts_to_plain_values_and_back() -> None:
    messages = [ChatMessage(USER, "hé"), ChatMessage(ASSISTANT, "", "bot", {"tool_calls": [{"id": "1"}]})]
    memory = ChatMemoryBuffer(77, messages, words, chat_store_key="ada")
    for back in (
        ChatMemoryBuffer.from_dict(json.loads(json.dumps(memory.to_dict()))),
        ChatMemoryBuffer.from_string(memory.to_string()),
        pickle.loads(pickle.dumps(memory)),
        pickle.loads(pickle.dumps(ChatSummaryMemoryBuffer(77, messages, chat_store_key="ada"))),
    ):
        assert (back.token_limit, back.chat_store_key, back.get_all()) == (77, "ada", messages)
        back.put(messages[0])
        assert memory.get_all() == messages


def test_lists_are_copied_on_the_way_in_and_out() -> None:
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


def test_messages_of_one_call_stay_together_and_none_is_lost() -> None:
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
    assert all(
        question.content == answer.content for question, answer in zip(said[::2], said[1::2], strict=True)
    )


def test_a_limit_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="0"):
        ChatMemoryBuffer(0)


@pytest.mark.parametrize(
    ("limit", "window", "expected"), [(None, None, 3000), (None, 1000, 750), (None, 1, 1), (50, 1000, 50)]
)
def test_the_default_limit_is_three_quarters_of_the_window(
    limit: int | None, window: int | None, expected: int
) -> None:
    llm = None if window is None else ScriptedLLM(context_window=window)
    assert ChatMemoryBuffer.from_defaults(token_limit=limit, llm=llm).token_limit == expected


def test_a_tokenizer_says_how_long_a_text_is() -> None:
    memory = ChatMemoryBuffer.from_defaults(FOUR_TURNS, token_limit=12, tokenizer_fn=str.split)
    assert memory.get() == FOUR_TURNS[4:]
    assert pickle.loads(pickle.dumps(memory)).get() == FOUR_TURNS[4:]


def test_two_memories_on_one_store_keep_apart_by_their_keys() -> None:
    store = SimpleChatStore({"ada": FOUR_TURNS[:2]})
    ada = ChatMemoryBuffer.from_defaults(chat_store=store, chat_store_key="ada")
    bob = ChatMemoryBuffer.from_defaults(chat_store=store, chat_store_key="bob")
    ada.put(FOUR_TURNS[2])
    assert (ada.get_all(), bob.get_all()) == (FOUR_TURNS[:3], [])
    again = ChatMemoryBuffer.from_defaults(chat_store=store, chat_store_key="ada")
    assert again.get_all() == FOUR_TURNS[:3]
    again.reset()
    assert ada.get_all() == []


def test_a_store_is_a_file_of_json_and_back(tmp_path: Path) -> None:
    path = tmp_path / "new" / "chats.json"
    store = SimpleChatStore()
    tool = ChatMessage(TOOL, "naïve", "add", {"tool_call_id": "1"})
    store.add_message("ada", ChatMessage(USER, "hé"))
    store.add_messages("ada", [tool])
    store.set_messages("bob", [])
    store.persist(path)
    back = SimpleChatStore.from_persist_path(path)
    assert (back.get_keys(), back.get_messages("ada")) == (["ada", "bob"], [ChatMessage(USER, "hé"), tool])
    assert back.delete_messages("ada") == store.get_messages("ada")
    assert (back.get_keys(), back.delete_messages("ada")) == (["bob"], [])
    assert list(path.parent.iterdir()) == [path]
    assert SimpleChatStore.from_persist_path(tmp_path / "none.json").get_keys() == []
    path.write_text('["no conversations"]')
    with pytest.raises(DamagedStoreError, match=r"chats\.json"):
        SimpleChatStore.from_persist_path(path)


def summing(
    limit: int, replies: list[str | Exception], *messages: ChatMessage
) -> tuple[ChatSummaryMemoryBuffer, ScriptedLLM]:
    llm = ScriptedLLM(replies)
    return ChatSummaryMemoryBuffer(limit, messages, words, llm=llm), llm


def summary(text: str) -> ChatMessage:
    return ChatMessage(SYSTEM, text, additional_kwargs={SUMMARY: True})


def test_what_fits_is_sent_as_it_is_without_a_call() -> None:
    memory, llm = summing(24, [], *FOUR_TURNS)
    assert memory.get() == memory.get_all() == FOUR_TURNS
    assert llm.calls == []


def test_older_messages_become_one_summary_by_one_lasting_call() -> None:
    memory, llm = summing(12, ["They met."], *FOUR_TURNS)
    expected = [summary("They met."), *FOUR_TURNS[4:]]
    assert memory.get() == memory.get() == memory.get_all() == expected
    (call,) = llm.calls
    assert call.prompt == "remember"
    assert call.variables["chat_history"] == tuple(FOUR_TURNS[:4])


def test_a_summary_is_summed_up_again_with_what_came_after_it() -> None:
    memory, llm = summing(12, ["They met.", "They met and ate."], *FOUR_TURNS)
    memory.get()
    more = [ChatMessage(USER, "one more thing"), ChatMessage(ASSISTANT, "which thing then")]
    memory.put(*more)
    assert memory.get() == memory.get_all() == [summary("They met and ate."), *FOUR_TURNS[6:], *more]
    assert llm.calls[1].variables["chat_history"] == (summary("They met."), *FOUR_TURNS[4:6])


def test_tokens_already_spent_leave_less_for_whole_messages() -> None:
    memory, _ = summing(24, ["They met."], *FOUR_TURNS)
    assert memory.get(initial_token_count=12) == [summary("They met."), *FOUR_TURNS[4:]]
    with pytest.raises(ValueError, match="25"):
        memory.get(initial_token_count=25)


def test_a_tool_s_result_is_never_parted_from_its_call() -> None:
    call = {"tool_calls": [{"id": "1"}]}
    talk = [
        ChatMessage(USER, "a b c"),
        ChatMessage(ASSISTANT, "", additional_kwargs=call),
        ChatMessage(TOOL, "d"),
        ChatMessage(ASSISTANT, "e"),
    ]
    memory, llm = summing(8, ["Sum."], *talk, *FOUR_TURNS[:2])
    assert memory.get() == [summary("Sum."), *FOUR_TURNS[:2]]
    assert llm.calls[0].variables["chat_history"] == tuple(talk)


def test_a_last_turn_that_is_too_long_is_summed_up_too() -> None:
    memory, llm = summing(4, ["Sum."], *FOUR_TURNS[:2], ChatMessage(USER, "w " * 50))
    assert memory.get() == [summary("Sum.")]
    assert len(llm.calls[0].variables["chat_history"]) == 3


def test_older_messages_are_not_sent_but_stay_without_a_model() -> None:
    memory = ChatSummaryMemoryBuffer(12, FOUR_TURNS, words)
    assert (memory.get(), memory.get_all()) == (FOUR_TURNS[4:], FOUR_TURNS)
    memory.set([summary("They met."), *FOUR_TURNS])
    assert memory.get() == [summary("They met."), *FOUR_TURNS[4:]]


def test_a_summary_that_fails_leaves_the_conversation_as_it_was() -> None:
    memory, _ = summing(12, [LLMServerError("no"), "Later."], *FOUR_TURNS)
    with pytest.raises(LLMServerError):
        memory.get()
    assert memory.get_all() == FOUR_TURNS
    assert memory.get()[0] == summary("Later.")


@pytest.mark.parametrize("earlier", [[], [summary("They met.")]])
def test_an_empty_summary_leaves_the_conversation_as_it_was(earlier: list[ChatMessage]) -> None:
    memory, _ = summing(12, [" ", "Later."], *earlier, *FOUR_TURNS)
    assert memory.get() == [*earlier, *FOUR_TURNS[4:]]
    assert memory.get_all() == [*earlier, *FOUR_TURNS]
    assert memory.get() == memory.get_all() == [summary("Later."), *FOUR_TURNS[4:]]


def test_restored_conversation_is_summarised_by_the_model() -> None:
    kept = ChatSummaryMemoryBuffer(12, [summary("They met."), *FOUR_TURNS], words)
    for back in (
        ChatSummaryMemoryBuffer.from_dict(kept.to_dict(), words, llm=ScriptedLLM(["They met and ate."])),
        ChatSummaryMemoryBuffer.from_string(kept.to_string(), words, llm=ScriptedLLM(["They met and ate."])),
    ):
        assert back.get() == back.get_all() == [summary("They met and ate."), *FOUR_TURNS[4:]]


def test_messages_during_a_summary_are_remembered() -> None:
    more = ChatMessage(USER, "meanwhile")

    def reply(_: object) -> str:
        memory.put(more)
        return "Sum."

    memory = ChatSummaryMemoryBuffer(12, FOUR_TURNS, words, llm=ScriptedLLM(reply))
    assert memory.get() == [summary("Sum."), *FOUR_TURNS[4:]]
    assert memory.get_all() == [summary("Sum."), *FOUR_TURNS[4:], more]


@given(MESSAGES, st.integers(1, 40))
def test_sent_messages_are_a_summary_and_an_end_and_repeatable(
    messages: list[ChatMessage], limit: int
) -> None:
    memory, llm = summing(limit, ["sum"], *messages)
    sent = memory.get()
    whole = sent[1:] if llm.calls else sent
    assert whole == messages[len(messages) - len(whole) :]
    assert sum(words(message.content) for message in whole) <= limit
    assert len(llm.calls) == (sum(words(message.content) for message in messages) > limit)
    assert not llm.calls or not whole or whole[0].role in (USER, SYSTEM)
    assert memory.get() == memory.get_all() == sent


def test_conversation_reset_during_a_summary_stays_empty() -> None:
    def reply(call: LLMCall) -> str:
        memory.reset()
        return "They met."

    memory = ChatSummaryMemoryBuffer(12, FOUR_TURNS, words, llm=ScriptedLLM(reply))
    assert memory.get()[0] == summary("They met.")
    assert memory.get_all() == []


def test_message_added_during_the_summary_is_not_lost() -> None:
    more = ChatMessage(USER, "meanwhile")

    class Slow(SimpleChatStore):
        def get_messages(self, key: str) -> list[ChatMessage]:
            found = super().get_messages(key)
            if speaking is not None and not speaking.is_alive() and more not in found:
                speaking.start()
                speaking.join(0.2)  # it gets as far as it is let
            return found

    speaking: threading.Thread | None = None

    def reply(call: LLMCall) -> str:
        nonlocal speaking
        speaking = threading.Thread(target=memory.put, args=(more,))
        return "They met."

    memory = ChatSummaryMemoryBuffer(12, FOUR_TURNS, words, chat_store=Slow(), llm=ScriptedLLM(reply))
    memory.get()
    assert speaking is not None
    speaking.join()
    assert memory.get_all() == [summary("They met."), *FOUR_TURNS[4:], more]


def test_reader_of_a_chat_file_sees_the_old_or_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "chats.json"
    SimpleChatStore({"ada": FOUR_TURNS}).persist(path)
    before = path.read_text("utf-8")
    newer = SimpleChatStore({"ada": [ChatMessage(USER, "half a character: \ud800")]})
    with path.open(encoding="utf-8") as reading:
        newer.persist(path)
        assert reading.read() == before
    assert SimpleChatStore.from_persist_path(path).get_messages("ada") == newer.get_messages("ada")


BIRDS = [
    ChatMessage(USER, "Owls hunt at night."),
    ChatMessage(ASSISTANT, "Indeed."),
    ChatMessage(USER, "Herons fish."),
]


def test_a_vector_memory_finds_whole_turns_by_their_meaning() -> None:
    memory = VectorMemory.from_defaults(embed_model=HashEmbedding(), retriever_kwargs={"similarity_top_k": 1})
    memory.put(*BIRDS)
    assert memory.get("When do owls hunt?") == BIRDS[:2]
    assert memory.get("What do herons fish?") == BIRDS[2:]
    assert (memory.get(), VectorMemory(embed_model=HashEmbedding()).get("owls")) == ([], [])
    assert (
        VectorMemory.from_dict(memory.to_dict(), embed_model=HashEmbedding()).get("owls hunt")[:2]
        == BIRDS[:2]
    )


def test_other_memories_add_messages_new_to_the_conversation() -> None:
    earlier = VectorMemory(embed_model=HashEmbedding(), similarity_top_k=1)
    earlier.put(*BIRDS)
    memory = SimpleComposableMemory.from_defaults(ChatMemoryBuffer(), [earlier])
    assert (
        memory.get("When do owls hunt?")[0].content
        == "<memory>\nuser: Owls hunt at night.\nassistant: Indeed.\n</memory>"
    )
    memory.put(question := ChatMessage(USER, "And when do owls hunt?"))
    assert memory.get_all() == memory.primary_memory.get_all() == [question]
    assert earlier.get_all() == [*BIRDS, question]
    memory.set(BIRDS[:2])
    assert memory.get("Owls hunt at night.") == BIRDS[:2]
    engine = SimpleChatEngine.from_defaults(llm=ScriptedLLM(["At night."]), memory=memory)
    assert str(engine.chat("When do owls hunt?")) == "At night."
