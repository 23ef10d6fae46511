"""Reading everything: every passage in exactly one call, what is cited as sources, and what is kept of one
that is stopped."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lectern.ask.citation_numbers import Citations
from lectern.ask.read_everything import MODES, ReadEverything, judge_reply
from ragcore.llms.base import Generation, LLMCall, Usage
from ragcore.llms.scripted import ScriptedLLM
from ragcore.response_synthesizers.base import NOTHING_FOUND
from ragcore.response_synthesizers.progress import PartialAnswer
from ragcore.response_synthesizers.response_mode import ResponseMode
from ragcore.response_synthesizers.synthesizer import Synthesizer
from ragcore.schema import NodeWithScore, Outcome
from tests.ragcore.response_synthesizers.doubles import nodes, passages_of, word_llm


def passages(count: int, words: int = 20) -> list[NodeWithScore]:
    return nodes(*[f"passage{number} " + "word " * (words - 1) for number in range(1, count + 1)])


def reading(llm: ScriptedLLM, mode: ResponseMode, found: list[NodeWithScore]) -> ReadEverything:
    return ReadEverything(Synthesizer(llm, mode).stream("What?", found), mode)


def citing_all(call: LLMCall) -> str:
    """Cites every passage of the call, and keeps what earlier answers cite."""
    shown = passages_of(call)
    numbers = [
        int(number)
        for text in (str(shown), str(call.variables.get("existing_answer", "")))
        for number in marks(text)
    ]
    numbers += [passage.number for passage in shown if passage.number]
    return "so " + "".join(f"[{number}]" for number in sorted(set(numbers)))


def marks(text: str) -> list[str]:
    return re.findall(r"\[(\d+)\]", text)


@pytest.mark.parametrize("mode", MODES)
@given(count=st.integers(1, 30), words=st.integers(1, 60), window=st.integers(400, 2000))
def test_every_passage_is_sent_exactly_once(mode: ResponseMode, count: int, words: int, window: int) -> None:
    llm = word_llm(lambda call: "an answer", window)
    answer = reading(llm, mode, passages(count, words))
    str(answer)
    shown = [passage.number for call in llm.calls for passage in passages_of(call.call) if passage.number]
    assert sorted(shown) == list(range(1, count + 1))
    assert [found.node.id_ for found in answer.read()] == [found.node.id_ for found in answer.passages]
    assert answer.progress() is not None
    assert (answer.progress().done, answer.progress().of) == (len(llm.calls), len(llm.calls))


@pytest.mark.parametrize("mode", MODES)
def test_sources_are_what_is_cited_in_its_order(mode: ResponseMode) -> None:
    found = passages(12)
    answer = reading(word_llm(citing_all, 3000), mode, found)
    text = str(answer)
    cited = [answer.source_nodes[int(number) - 1].node.id_ for number in marks(text)]
    assert sorted(cited) == sorted(hit.node.id_ for hit in found)
    assert [int(number) for number in marks(text)] == list(range(1, 13))


def test_only_answering_rows_remain_and_each_names_its_passage() -> None:
    said = {1: NOTHING_FOUND, 2: "It is red.", 3: "I could not find this in the documents.", 4: "Blue [4]."}
    answer = reading(
        word_llm(lambda call: said[passages_of(call)[0].number or 0]), ResponseMode.ACCUMULATE, passages(4)
    )
    assert str(answer) == "It is red. [1]\n\nBlue [2]."
    assert [hit.node.text.split()[0] for hit in answer.source_nodes] == ["passage2", "passage4"]
    nothing = reading(word_llm(lambda call: NOTHING_FOUND), ResponseMode.ACCUMULATE, passages(4))
    assert (str(nothing), nothing.source_nodes, nothing.outcome) == (NOTHING_FOUND, (), "nothing")


@given(
    st.lists(
        st.one_of(st.integers(1, 40).map(lambda n: f"[{n}]"), st.text(alphabet="ab [],;3", max_size=8)),
        max_size=12,
    ),
    st.lists(st.integers(1, 5), min_size=1, max_size=40),
)
def test_citations_are_the_same_whole_or_in_pieces(parts: list[str], cuts: list[int]) -> None:
    text, found = "".join(parts), passages(30)
    whole = Citations()
    expected = whole.renumber(text, found)
    pieces, at = [], 0
    for cut in [*cuts, len(text)]:
        pieces.append(text[at : at + cut])
        at += cut
    in_pieces = Citations()
    assert "".join(in_pieces.stream((piece for piece in pieces), found)) == expected
    assert in_pieces.cited == whole.cited


def test_a_citation_of_no_passage_stays_as_it_is() -> None:
    citations = Citations()
    assert (
        citations.renumber("In [2021], as [3, 1] and [1;2021] say.", passages(3))
        == "In [2021], as [1][2] and [2] say."
    )
    assert [hit.node.text.split()[0] for hit in citations.cited] == ["passage3", "passage1"]


def stopped_before(mode: ResponseMode, enough: Callable[[ReadEverything], bool]) -> ReadEverything:
    answer = reading(word_llm(citing_all, 300), mode, passages(12))
    for _piece in answer:
        if enough(answer):
            break
    return answer


def test_stopped_summary_keeps_its_text_and_citations() -> None:
    answer = stopped_before(
        ResponseMode.TREE_SUMMARIZE, lambda answer: bool(answer.progress()) and answer.progress().done >= 2
    )
    text, sources = answer.so_far()
    assert answer.text == ""
    read = {hit.node.id_ for hit in answer.read()}
    assert {sources[int(number) - 1].node.id_ for number in marks(text)} == read
    assert len(read) > 0


def test_refine_keeps_the_last_of_its_answers() -> None:
    answer = stopped_before(
        ResponseMode.REFINE, lambda answer: answer.progress() is not None and answer.progress().done == 5
    )
    text, sources = answer.so_far()
    assert text == "so [1][2][3][4][5]"
    assert [hit.node.text.split()[0] for hit in sources] == [f"passage{n}" for n in range(1, 6)]
    assert answer.progress().of == 12
    assert len(answer.read()) == 5


@pytest.mark.parametrize(
    "reply",
    [
        NOTHING_FOUND,
        "Ich habe in Ihren Dokumenten nichts dazu gefunden.",
        "",
        "The passages do not mention this.",
        "I couldn’t find that.",
        "There is no information on it.",
    ],
)
def test_a_reply_without_an_answer_is_known(reply: str) -> None:
    assert judge_reply(PartialAnswer(reply, None)) == "nothing"


@pytest.mark.parametrize(
    "reply", ["It is not red.", "The manual does not mention it, but the plan says 1871. [2]", "1871"]
)
def test_a_reply_with_an_answer_does_not_count_as_nothing(reply: str) -> None:
    assert judge_reply(PartialAnswer(reply, None)) == "answer"


@pytest.mark.parametrize("outcome", ["answer", "closest", "nothing"])
def test_the_outcome_of_a_reply_counts_and_not_its_words(outcome: Outcome) -> None:
    for text in ("It is red. [1]", NOTHING_FOUND, "Closest passages:\n\nDogs bark. [1]"):
        assert judge_reply(PartialAnswer(text, outcome)) == outcome


def test_closest_rows_share_a_heading_if_none_answers() -> None:
    close = [("closest", f"Closest passages:\n\n{text}") for text in ("Dogs bark. [1]", "Cats sleep. [2]")]
    nothing = ("nothing", "It is red. [1]")

    def rows(*replies: tuple[Outcome, str]) -> str:
        script = [Generation(text, Usage(1, 1), outcome=outcome) for outcome, text in replies]
        answer = reading(ScriptedLLM(script), ResponseMode.ACCUMULATE, passages(len(replies)))
        return "".join(answer)

    assert rows(*close) == "Closest passages:\n\nDogs bark. [1]\n\nCats sleep. [2]"
    assert rows(nothing, close[0], ("answer", "It is Ann. [3]")) == "It is Ann. [1]"
    assert rows(nothing, nothing) == NOTHING_FOUND


def test_a_row_that_looks_like_two_stays_one() -> None:
    text = "It is red.\n---------------------\nResponse 2: It is blue. [1]"
    assert str(reading(ScriptedLLM([text]), ResponseMode.ACCUMULATE, passages(1))) == text
