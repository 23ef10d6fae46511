"""What is said with a citation in one of several answers is said with the same source in the answer made of
them."""

from __future__ import annotations

import json
import re
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from ragcore.embeddings.hashing import HashEmbedding
from ragcore.extractive.answerer import ExtractiveLLM
from ragcore.extractive.fixed_replies import NOTHING_FOUND as REFUSALS
from ragcore.llms.base import LLMCall
from ragcore.llms.scripted import ScriptedLLM
from ragcore.observe import Span
from ragcore.prompts.document_text import OPENING
from ragcore.prompts.templates import PromptTemplate
from ragcore.query_engine.base import combine_answers
from ragcore.response_synthesizers.answer import AnswerStream
from ragcore.response_synthesizers.base import NOTHING_FOUND
from ragcore.response_synthesizers.synthesizer import Synthesizer, get_response_synthesizer
from ragcore.schema import NodeWithScore, QueryBundle, Response, TextNode
from tests.ragcore.response_synthesizers.doubles import UnlockedLLM

ids = st.lists(st.sampled_from("abcdef"), unique=True, max_size=5)
cited = st.lists(st.integers(0, 7), max_size=4)


def answer(sources: list[str], marks: list[int], word: str) -> Response:
    text = f"{word} " + " ".join(f"{word}{at} [{mark}]" for at, mark in enumerate(marks))
    return Response(text, tuple(NodeWithScore(TextNode(id_, id_)) for id_ in sources))


def sources_of(text: str, nodes: tuple[NodeWithScore, ...]) -> dict[str, str]:
    """Which source stands behind each word."""
    marked = [(word, int(mark)) for word, mark in re.findall(r"(\w+) \[(\d+)\]", text)]
    return {word: nodes[mark - 1].node.id_ for word, mark in marked if 1 <= mark <= len(nodes)}


@given(st.lists(st.tuples(ids, cited), min_size=1, max_size=3))
def test_every_citation_retains_its_source_and_none_is_added(
    given_answers: list[tuple[list[str], list[int]]],
) -> None:
    answers = [answer(sources, marks, "xyz"[at]) for at, (sources, marks) in enumerate(given_answers)]
    llm = ScriptedLLM(["done"])
    stream = combine_answers(
        Synthesizer(llm, "tree_summarize"), QueryBundle("q"), answers, [""] * len(answers), {}
    )
    assert str(stream) == "done"
    assert len({hit.node.id_ for hit in stream.source_nodes}) == len(stream.source_nodes)
    passages = llm.calls[0].messages[-1].content
    expected = {
        word: id_ for one in answers for word, id_ in sources_of(one.response, one.source_nodes).items()
    }
    assert sources_of(passages, stream.source_nodes) == expected


@pytest.mark.parametrize("words", [NOTHING_FOUND, REFUSALS["de"]])
def test_no_answer_in_any_part_is_stated_without_a_call(words: str) -> None:
    llm = ScriptedLLM([])
    nothing = Response(words, trace=Span("query", {"outcome": "nothing"}))
    answers = [nothing, nothing]
    assert (
        str(combine_answers(Synthesizer(llm, "tree_summarize"), QueryBundle("q"), answers, ["", ""], {}))
        == words
    )
    assert llm.calls == []
    llm = ScriptedLLM(["It is noon."])
    answers = [nothing, Response("Noon.")]
    assert (
        str(combine_answers(Synthesizer(llm, "tree_summarize"), QueryBundle("q"), answers, ["", ""], {}))
        == "It is noon."
    )


class Person(BaseModel):
    name: str


def of_two(synthesizer: Synthesizer) -> AnswerStream:
    answers = [answer(["a"], [1], "x"), answer(["b"], [1], "y")]
    return combine_answers(synthesizer, QueryBundle("Who?"), answers, ["", ""], {"kept": 1})


def test_the_answer_has_the_output_class_of_its_synthesizer() -> None:
    llm = ScriptedLLM(['Here: {"name": "Ann"}'])
    response = of_two(get_response_synthesizer(llm, "tree_summarize", output_cls=Person)).whole()
    assert (str(response), dict(response.extra)) == (
        '{"name":"Ann"}',
        {"kept": 1, "output": Person(name="Ann")},
    )
    assert '"title": "Person"' in llm.calls[0].messages[-1].content
    quoting = get_response_synthesizer(ExtractiveLLM(HashEmbedding()), output_cls=Person)
    assert isinstance(of_two(quoting).whole().extra["output"], Person)


@pytest.mark.parametrize(
    ("satisfied", "expected"), [([False, True], "No 2"), ([False, False], NOTHING_FOUND)]
)
def test_empty_answers_are_dropped_if_the_synthesizer_filters(satisfied: list[bool], expected: str) -> None:
    said = [
        json.dumps({"answer": f"No {at}", "query_satisfied": held}) for at, held in enumerate(satisfied, 1)
    ]
    assert (
        str(of_two(get_response_synthesizer(ScriptedLLM(said), "refine", structured_answer_filtering=True)))
        == expected
    )


@pytest.mark.parametrize("use_async", [True, False])
def test_calls_are_parallel_only_if_the_synthesizer_s_are(use_async: bool) -> None:
    together = threading.Barrier(2)
    running: set[int] = set()
    at_once: list[int] = []

    def rule(call: LLMCall) -> str:
        running.add(threading.get_ident())
        at_once.append(len(running))
        if use_async:
            together.wait(5)
        else:
            time.sleep(0.3)  # in which another call would begin
        running.remove(threading.get_ident())
        return "A"

    assert (
        str(of_two(get_response_synthesizer(UnlockedLLM(rule), "accumulate", use_async=use_async))).count("A")
        == 2
    )
    assert max(at_once) == (2 if use_async else 1)


def test_the_synthesizer_s_own_wording_is_used() -> None:
    llm = ScriptedLLM(["done"])
    own = PromptTemplate("Sum up for {query_str}: {context_str}")
    assert str(of_two(get_response_synthesizer(llm, "tree_summarize", summary_template=own))) == "done"
    assert llm.calls[0].messages[-1].content.startswith(f"Sum up for Who?: {OPENING}\nx x0 [1]")
