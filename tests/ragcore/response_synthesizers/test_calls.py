"""How many calls each mode makes, with which passages and in which order, for windows from 300 to 128,000
tokens."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence

import pytest

from ragcore.llms.base import LLMCall
from ragcore.llms.scripted import ScriptedLLM
from ragcore.prompts.templates import PromptTemplate
from ragcore.response_synthesizers.packer import MESSAGE_TOKENS
from ragcore.response_synthesizers.response_mode import ResponseMode
from ragcore.response_synthesizers.synthesizer import Synthesizer, get_response_synthesizer
from ragcore.schema import NodeWithScore, TextNode
from tests.ragcore.response_synthesizers.doubles import UnlockedLLM, passages_of, shown

WINDOWS = [300, 400, 500, 700, 1000, 1500, 2000, 4096, 8192, 32_000, 128_000]
OUTPUT = 40  # tokens kept free for the answer
MANY = 12
COST = 101  # tokens of a passage with its number


def passages(count: int, words: int = COST - 1) -> list[NodeWithScore]:
    return [NodeWithScore(TextNode(" ".join([f"p{number}"] * words))) for number in range(1, count + 1)]


def ask(
    mode: ResponseMode | str, window: int, found: Sequence[NodeWithScore], answer: str = "A"
) -> ScriptedLLM:
    """A model that was asked "why" in prompts of two, three, two and one words."""
    llm = ScriptedLLM(lambda call: answer, context_window=window, num_output=OUTPUT, counts_words=True)
    synthesizer = get_response_synthesizer(
        llm,
        mode,
        text_qa_template=PromptTemplate("QA {query_str} {context_str}"),
        refine_template=PromptTemplate("REFINE {query_str} {existing_answer} {context_msg}"),
        summary_template=PromptTemplate("SUM {query_str} {context_str}"),
        simple_template=PromptTemplate("{query_str}"),
    )
    synthesizer.synthesize("why", found)
    return llm


def log(llm: ScriptedLLM) -> list[tuple[str, list[int | None]]]:
    """Each call's prompt and the numbers of the passages in it, in their order."""
    return sorted(
        ((call.prompt, shown(call.call)) for call in llm.calls),
        key=lambda entry: (not any(entry[1]), entry[1][:1] or [0]),
    )


def groups(*sizes: int) -> Iterator[list[int]]:
    first = 1
    for size in sizes:
        yield list(range(first, first + size))
        first += size


def per_call(window: int, words: int) -> int:
    """Passages that fit a call of a prompt with so many other words."""
    return (window - OUTPUT - MESSAGE_TOKENS - words) // COST


def packs(window: int, first: int, then: int) -> list[list[int]]:
    """The passages of each call where the first prompt has `first` words of its own, and the others
    `then`."""
    sizes: list[int] = []
    while sum(sizes) < MANY:
        sizes.append(min(per_call(window, then if sizes else first), MANY - sum(sizes)))
    return list(groups(*sizes))


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("mode", list(ResponseMode))
def test_a_mode_makes_exactly_its_calls_in_its_order(mode: ResponseMode, window: int) -> None:
    one_each = list(groups(*[1] * MANY))
    packed = packs(window, 2, 2)
    expected = {
        ResponseMode.REFINE: list(zip(["text_qa", *["refine"] * (MANY - 1)], one_each, strict=True)),
        ResponseMode.COMPACT: [
            ("refine" if place else "text_qa", numbers)
            for place, numbers in enumerate(packs(window, first=2, then=3))
        ],
        ResponseMode.SIMPLE_SUMMARIZE: [("text_qa", *groups(MANY))],
        ResponseMode.TREE_SUMMARIZE: [("tree_summarize", numbers) for numbers in packed]
        + ([("tree_summarize", [None] * len(packed))] if len(packed) > 1 else []),
        ResponseMode.GENERATION: [("generation", [])],
        ResponseMode.NO_TEXT: [],
        ResponseMode.ACCUMULATE: [("text_qa", numbers) for numbers in one_each],
        ResponseMode.COMPACT_ACCUMULATE: [("text_qa", numbers) for numbers in packed],
    }[mode]
    assert log(ask(mode, window, passages(MANY))) == expected


# What LlamaIndex does with windows that hold all: calls for six chunks.
@pytest.mark.parametrize(
    ("mode", "calls"),
    [
        ("refine", 6),
        ("compact", 1),
        ("simple_summarize", 1),
        ("tree_summarize", 1),
        ("generation", 1),
        ("no_text", 0),
        ("accumulate", 6),
        ("compact_accumulate", 1),
    ],
)
def test_six_passages_in_a_large_window(mode: str, calls: int) -> None:
    assert len(ask(mode, 8192, passages(6)).calls) == calls


def test_six_passages_of_150_words_take_three_700_token_calls() -> None:
    assert log(ask("tree_summarize", 700, passages(6, 150))) == [
        ("tree_summarize", [1, 2, 3, 4]),
        ("tree_summarize", [5, 6]),
        ("tree_summarize", [None, None]),
    ]


# Words are tokens; 36 fit beside the question, the prompt's word and the marks of its message. A passage's
# number is one.
SMALL = 36 + 2 + MESSAGE_TOKENS + OUTPUT


@pytest.mark.parametrize(
    ("mode", "calls"),
    [
        ("refine", [("text_qa", [1]), *[("refine", [number]) for number in (2, 3, 4, 4)]]),
        ("compact", [("text_qa", [1, 2, 3]), ("refine", [4]), ("refine", [4])]),
        ("accumulate", [("text_qa", [number]) for number in (1, 2, 3, 4, 4)]),
        ("compact_accumulate", [("text_qa", [1, 2, 3]), ("text_qa", [4]), ("text_qa", [4])]),
    ],
)
def test_only_a_passage_too_large_for_a_call_is_split(mode: str, calls: list[tuple[str, list[int]]]) -> None:
    words = [f"w{number}" for number in range(40)]
    llm = ask(mode, SMALL, [*passages(3, 10), NodeWithScore(TextNode(" ".join(words)))])
    assert log(llm) == calls
    parts = sorted(
        (p.text for call in llm.calls for p in passages_of(call.call) if p.number == 4),
        key=lambda p: int(p.split()[0][1:]),
    )
    assert " ".join(parts).split() == words


@pytest.mark.parametrize("mode", list(ResponseMode))
def test_nothing_is_sent_for_no_passages(mode: ResponseMode) -> None:
    assert ask(mode, 8192, []).calls == []


@pytest.mark.parametrize("window", [300, 700, 8192])
def test_only_the_last_call_of_a_summary_is_streamed(window: int) -> None:
    llm = ScriptedLLM(lambda call: "two words", context_window=window, num_output=OUTPUT, counts_words=True)
    pieces = list(Synthesizer(llm, "tree_summarize").stream("why", passages(MANY)))
    assert [piece for piece in pieces if piece] == ["two", " words"]
    assert pieces[-2:] == ["two", " words"]


def test_calls_that_say_nothing_for_a_while_give_a_sign_of_life() -> None:
    asked = threading.Event()

    def rule(call: LLMCall) -> str:
        asked.wait(5)
        return "A"

    synthesizer = get_response_synthesizer(UnlockedLLM(rule), "accumulate")
    pieces = iter(synthesizer.stream("why", passages(2)))
    assert next(pieces) == ""
    asked.set()
    assert "".join(pieces).count("A") == 2
