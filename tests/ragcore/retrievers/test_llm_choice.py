import threading

import pytest

from ragcore.llms.base import LLMCall
from ragcore.llms.scripted import ScriptedLLM
from ragcore.observe import span
from ragcore.prompts.prompt import Passage
from ragcore.retrievers.llm_choice import choose_texts
from tests.ragcore.response_synthesizers.doubles import UnlockedLLM


def test_texts_are_judged_in_batches_and_the_best_come_first() -> None:
    replies = iter(
        [
            "Doc: 2, Relevance: 5\nDoc: 1, Relevance: 2",
            "Doc: 2, Relevance: 8",
            "Doc: 1, Relevance: 5\nDoc: 2, Relevance: 9",
        ]
    )
    llm = ScriptedLLM(lambda call: next(replies))
    assert choose_texts(llm, "Q?", list("abcde"), 2, workers=1) == [(3, 8), (1, 5), (4, 5), (0, 2)]
    assert [call.variables["context_str"] for call in llm.calls] == [
        (Passage("a", 1), Passage("b", 2)),
        (Passage("c", 1), Passage("d", 2)),
        (Passage("e", 1),),
    ]
    assert choose_texts(llm, "Q?", [], 2) == []
    with pytest.raises(ValueError, match="batch size is 0"):
        choose_texts(llm, "Q?", ["a"], 0)


def test_unreadable_reply_differs_from_one_that_chooses_nothing() -> None:
    with span("root") as root:
        assert choose_texts(ScriptedLLM(["I like all of them.", ""]), "Q?", ["a", "b"], 1, workers=1) == []
    assert [step.facts.get("unreadable", False) for step in root.spans("choose")] == [True, False]


def test_batches_are_rated_at_the_same_time() -> None:
    together = threading.Barrier(2)

    def rule(call: LLMCall) -> str:
        together.wait(5)
        return "Doc: 1, Relevance: 5"

    assert choose_texts(UnlockedLLM(rule), "Q?", ["a", "b"], 1) == [(0, 5), (1, 5)]
