"""How an answer was made is told as it was: how many calls there were, and what was done with the passages."""

from __future__ import annotations

import pytest

from lectern.ask.pipeline import plan_retrieval
from lectern.explain.call_graph import Call, CallGraph, Kind, Step
from lectern.schema import Ask, Retrieval
from lectern.ui.widgets.call_graph import _sentence, _step_item
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.vector_stores.memory import MemoryStore


def made_by(*kinds: Kind) -> CallGraph:
    calls = tuple(Call(number, kind, "", (), "", 0, 0, 0.0, 0.0) for number, kind in enumerate(kinds, 1))
    return CallGraph("single", "compact", "condense_plus_context", (), calls, 1.0)


def test_of_two_calls_both_are_told() -> None:
    assert _sentence(made_by("answer")) == "One call makes the answer."
    both = "One call makes a question that stands alone, the next one the answer."
    assert _sentence(made_by("condense", "answer")) == both


@pytest.mark.parametrize("how", [Retrieval(), Retrieval(cutoff=0.3, diverse=True)])
def test_what_is_done_with_the_passages_is_told_in_plain_words(how: Retrieval) -> None:
    steps = plan_retrieval(Ask("Who?", retrieval=how), MemoryStore(), HashEmbedding()).postprocessors
    told = [_step_item(Step("postprocess", type(step).__name__, found=6)) for step in steps]
    assert "Chooses among the passages" not in [item["title"] for item in told]
    assert not any(type(step).__name__ in f"{item}" for step, item in zip(steps, told, strict=True))
    assert all(str(item["sub"]).startswith("6 kept · ") for item in told)
