import threading

import pytest

from ragcore.llms.base import LLMCall
from ragcore.llms.room import shortened
from ragcore.llms.scripted import ScriptedLLM
from ragcore.observe import span
from ragcore.prompts import CHOICE_SELECT, Passage
from ragcore.retrievers.llm_choice import chosen
from tests.unit.response_synthesizers.doubles import UnlockedLLM


def test_texts_are_asked_about_in_batches_and_the_best_of_all_come_first() -> None:
    replies = iter(
        ["Doc: 2, Relevance: 5\nDoc: 1, Relevance: 2", "Doc: 2, Relevance: 8", "Doc: 1, Relevance: 5\nDoc: 2, Relevance: 9"]
    )
    llm = ScriptedLLM(lambda call: next(replies))
    assert chosen(llm, "Q?", list("abcde"), 2, workers=1) == [(3, 8), (1, 5), (4, 5), (0, 2)]
    assert [call.variables["context_str"] for call in llm.calls] == [
        (Passage("a", 1), Passage("b", 2)),
        (Passage("c", 1), Passage("d", 2)),
        (Passage("e", 1),),
    ]
    assert chosen(llm, "Q?", [], 2) == []
    with pytest.raises(ValueError, match="batch size is 0"):
        chosen(llm, "Q?", ["a"], 0)


def test_a_reply_that_names_nothing_is_told_apart_from_one_that_says_nothing_helps() -> None:
    with span("root") as root:
        assert chosen(ScriptedLLM(["I like all of them.", ""]), "Q?", ["a", "b"], 1, workers=1) == []
    assert [step.facts.get("unreadable", False) for step in root.named("choose")] == [True, False]


def test_batches_are_asked_about_at_the_same_time() -> None:
    together = threading.Barrier(2)

    def rule(call: LLMCall) -> str:
        together.wait(5)
        return "Doc: 1, Relevance: 5"

    assert chosen(UnlockedLLM(rule), "Q?", ["a", "b"], 1) == [(0, 5), (1, 5)]


def test_something_is_left_of_each_text_however_small_the_window_is() -> None:
    llm = ScriptedLLM(counts_words=True, context_window=50, num_output=20)
    with span("choose") as step:
        cut = shortened(llm, CHOICE_SELECT, {"context_str": (), "query_str": "Q?"}, ["a " * 100] * 3, step)
    assert [len(text.split()) for text in cut] == [16] * 3


def test_texts_that_are_too_long_together_lose_their_ends_the_longest_most() -> None:
    llm = ScriptedLLM(counts_words=True, context_window=200, num_output=20)
    variables = {"context_str": (), "query_str": "one two"}
    rest = sum(len(message.content.split()) for message in CHOICE_SELECT.render(variables))  # type: ignore[arg-type]
    texts = ["short text", " ".join(f"a{n}" for n in range(500)), " ".join(f"b{n}" for n in range(90))]
    with span("choose") as step:
        cut = shortened(llm, CHOICE_SELECT, variables, texts, step)  # type: ignore[arg-type]
    sizes = [len(text.split()) for text in cut]
    assert cut[0] == texts[0]
    assert all(text.startswith(piece) for text, piece in zip(texts, cut, strict=True))
    assert 195 <= sum(sizes) + rest + 12 * 3 + 20 <= 200
    assert abs(sizes[1] - sizes[2]) <= 2
    assert sizes[1] > 20
    assert step.facts["shortened"] == 2
    assert shortened(llm, CHOICE_SELECT, variables, texts[:1], step) == texts[:1]  # type: ignore[arg-type]
