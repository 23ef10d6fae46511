"""What is said with a citation in one of several answers is said with the same source in the answer made of them."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from ragcore.llms.scripted import ScriptedLLM
from ragcore.query_engine.base import combined
from ragcore.response_synthesizers.synthesizer import Synthesizer
from ragcore.schema import NodeWithScore, QueryBundle, Response, TextNode

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
def test_every_citation_keeps_its_source_and_no_other_becomes_one(given_answers: list[tuple[list[str], list[int]]]) -> None:
    answers = [answer(sources, marks, "xyz"[at]) for at, (sources, marks) in enumerate(given_answers)]
    llm = ScriptedLLM(["done"])
    stream = combined(Synthesizer(llm, "tree_summarize"), QueryBundle("q"), answers, [""] * len(answers), {})
    assert str(stream) == "done"
    assert len({hit.node.id_ for hit in stream.source_nodes}) == len(stream.source_nodes)
    passages = llm.calls[0].messages[-1].content
    expected = {word: id_ for one in answers for word, id_ in sources_of(one.response, one.source_nodes).items()}
    assert sources_of(passages, stream.source_nodes) == expected
