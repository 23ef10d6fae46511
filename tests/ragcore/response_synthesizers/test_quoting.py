"""Quoting in the place of each response mode."""

from __future__ import annotations

import pytest

from ragcore.embeddings.hashing import HashEmbedding
from ragcore.extractive.quoter import Quoter
from ragcore.observe import Span
from ragcore.response_synthesizers.progress import progress
from ragcore.response_synthesizers.quoting import MAX_CHARS, QuotingSynthesizer
from ragcore.response_synthesizers.response_mode import ResponseMode
from ragcore.schema import NodeWithScore
from tests.ragcore.response_synthesizers.doubles import nodes

QUOTER = Quoter(HashEmbedding())
QUESTION = "Who was elected chair of the board?"
CHAIR = "Maria Silva was elected chair of the board."
QUOTED = f"{CHAIR} [2]"


def trace_of(mode: str, found: list[NodeWithScore], question: str = QUESTION) -> tuple[str, Span]:
    answer = QuotingSynthesizer(QUOTER, mode).synthesize(question, found)
    assert answer.trace is not None
    return str(answer), answer.trace


@pytest.mark.parametrize("mode", [mode for mode in ResponseMode if mode.reads_passages])
def test_every_mode_quotes_without_a_prompt_or_a_count_of_tokens(mode: ResponseMode) -> None:
    text, trace = trace_of(mode.value, nodes("It rains.", CHAIR))
    assert QUOTED in text
    origins = {
        part["origin"]
        for step in trace.spans("llm")
        for message in step.facts["messages"]
        for part in message["parts"]
    }
    assert origins <= {"documents", "answer", "question"}
    assert not any("tokens" in step.facts or step.facts.get("prompt_tokens") for step in trace.spans("llm"))


def test_a_mode_without_passages_refers_to_the_others_or_gives_no_text() -> None:
    assert trace_of("generation", nodes(CHAIR))[0].startswith("Without a language model")
    assert trace_of("no_text", nodes(CHAIR))[0] == ""


def test_passages_are_read_in_steps_of_limited_size_and_their_summaries_combined() -> None:
    filler = "It rains in the valley. " * (MAX_CHARS // 40)
    text, trace = trace_of("tree_summarize", nodes(filler, CHAIR, filler))
    assert QUOTED in text
    steps = [step.facts["passages"] for step in trace.spans("pack")]
    assert steps == [[1, 2], [3], [None, None]]
    assert [step.facts["of"] for step in trace.spans("part")] == [2, 2]
    assert (progress(trace).done, progress(trace).of) == (3, 3)


def test_closest_passages_that_a_later_passage_gives_are_no_answer() -> None:
    items = ("The rent is 900 euros a month.", "It is due on the third day.", "Dogs need written consent.")
    rent = "Rent\n\n" + "\n".join(f"- {item}" for item in items)
    barrels = "The cellar holds three hundred barrels. Nobody has counted the barrels since the flood."
    found = [NodeWithScore(hit.node, 1.0) for hit in nodes(barrels, rent)]
    text, trace = trace_of("refine", found, "When is the rent due in Lisbon?")
    outcomes = [step.facts["outcome"] for step in trace.spans("llm")]
    assert outcomes == ["nothing", "closest"]
    assert text.startswith("Closest passages:")


def test_an_answer_that_is_closed_early_ends_its_steps() -> None:
    stream = QuotingSynthesizer(QUOTER, "accumulate").stream(QUESTION, nodes("It rains.", CHAIR, "It snows."))
    assert next(iter(stream)) == "Response 1: "
    stream.close()
    assert stream.trace is not None
    assert all(step.seconds >= 0 for step in stream.trace.walk())
    assert [step.facts.get("never_begun", False) for step in stream.trace.spans("part")] == [
        False,
        True,
        True,
    ]
