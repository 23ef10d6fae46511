"""How an answer was made is told as it was: how many calls there were, and what was done with the
passages."""

from __future__ import annotations

import pytest

from lectern.ask.pipeline import plan_retrieval
from lectern.explain.call_graph import Call, CallGraph, Kind, Shape, Step
from lectern.schema import Ask, Retrieval
from lectern.ui.widgets.call_graph import _sentence, _step_item, summary
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.schema import Outcome
from ragcore.text.word_diff import Piece
from ragcore.vector_stores.memory import MemoryStore


def make_graph(*kinds: Kind) -> CallGraph:
    calls = tuple(Call(number, kind, "", (), "", 0, 0, 0.0, 0.0) for number, kind in enumerate(kinds, 1))
    return CallGraph("single", "compact", "condense_plus_context", (), calls, 1.0)


def test_both_of_two_calls_are_described() -> None:
    assert _sentence(make_graph("answer")) == "A single call writes the answer."
    both = "One call writes a standalone question, the next one the answer."
    assert _sentence(make_graph("condense", "answer")) == both


@pytest.mark.parametrize("how", [Retrieval(), Retrieval(cutoff=0.3, diverse=True)])
def test_steps_with_passages_are_described_in_plain_words(how: Retrieval) -> None:
    steps = plan_retrieval(Ask("Who?", retrieval=how), MemoryStore(), HashEmbedding()).postprocessors
    told = [_step_item(Step("postprocess", type(step).__name__, passages=6)) for step in steps]
    assert "Chooses among the passages" not in [item["title"] for item in told]
    assert not any(type(step).__name__ in f"{item}" for step, item in zip(steps, told, strict=True))
    assert all(str(item["sub"]).startswith("6 kept · ") for item in told)


def graph(mode: str, shape: Shape, *calls: Call) -> CallGraph:
    return CallGraph(shape, mode, "", (), calls, 1.0)


def call(
    number: int, *, level: int = 1, changed: str = "", outcome: Outcome = "answer", model: str = ""
) -> Call:
    """The first call writes the answer, each later one may change it."""
    inputs = (number - 1,) if number > 1 else ()
    changes = (Piece("same", "It rains."), *((Piece("added", changed),) if changed else ()))
    if not inputs:
        changes = (Piece("added", "It rains."),)
    return Call(
        number,
        "answer",
        "",
        (),
        "Closest passages:\n\nDogs need consent. [1]" if outcome == "answer" else "It rains. [1]",
        0,
        0,
        0.0,
        0.0,
        model=model,
        inputs=inputs,
        level=level,
        changes=changes,
        outcome=outcome,
    )


@pytest.mark.parametrize(
    ("shown", "told"),
    [
        (graph("compact", "strip", call(1)), "All passages fit into one question to the model."),
        (graph("compact", "strip", call(1, model="extractive")), "Read all passages at once."),
        (graph("simple_summarize", "single", call(1, model="extractive")), "Read all passages at once."),
        (
            graph("refine", "strip", call(1), call(2), call(3)),
            "Read on in 2 more calls, none of which changed the first answer.",
        ),
        (
            graph("refine", "strip", call(1), call(2, changed=" Much."), call(3), call(4, changed=" Often.")),
            "Read on in 3 more calls, 2 of which changed the answer.",
        ),
        (
            graph("tree_summarize", "tree", call(1), call(2), call(3, level=2)),
            "Summarised the passages in 2 groups, then those summaries.",
        ),
        (graph("accumulate", "rows", call(1), call(2)), "Gave 2 answers, each from its own passages."),
        (
            graph("accumulate", "rows", call(1), call(2, outcome="closest"), call(3, outcome="nothing")),
            "Of 3 replies, each from its own passages, 1 answered the question.",
        ),
        (graph("accumulate", "rows", call(1, outcome="closest")), "The passages gave no sure answer."),
        (graph("generation", "single", call(1)), "Answered without reading any passages."),
    ],
)
def test_the_description_of_a_mode_matches_its_trace(shown: CallGraph, told: str) -> None:
    assert summary(shown) == told
