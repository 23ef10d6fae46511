from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.embeddings.hashing import HashEmbedding
from ragcore.errors import DimensionError
from ragcore.llms.base import Generation, Usage
from ragcore.llms.scripted import ScriptedLLM
from ragcore.observe import Span, span
from ragcore.prompts.prompt import Choice
from ragcore.schema import QueryBundle
from ragcore.selectors import (
    EmbeddingSingleSelector,
    LLMMultiSelector,
    LLMSingleSelector,
    PydanticMultiSelector,
    PydanticSingleSelector,
    SelectorResult,
    SingleSelection,
    get_selector_from_llm,
    read_selections,
)


@dataclass(frozen=True)
class Tool:
    name: str
    description: str


TOOLS = [
    Tool("essay", "the essay about painting and growing up"),
    Tool("sql", "tables of sales figures"),
    Tool("notes", "meeting notes"),
]
LONG = "1" * 5000  # more digits than Python takes for a number
CUT = '[{"choice": 3, "reason": "b"}, {"choice": 1, "rea'
NAMED = "(3) notes\n(1) Essay\n(2) sql"
LISTED = "3. notes: meeting notes\n- (1) essay"
QUESTION = "What were the sales figures?"


def single(reply: str) -> LLMSingleSelector:
    return LLMSingleSelector.from_defaults(ScriptedLLM([reply]), embed_model=HashEmbedding())


def multi(reply: str, max_outputs: int | None = None) -> LLMMultiSelector:
    return LLMMultiSelector.from_defaults(ScriptedLLM([reply]), max_outputs, embed_model=HashEmbedding())


def test_model_sees_numbered_choices_with_names_and_question() -> None:
    llm = ScriptedLLM(['[{"choice": 3, "reason": "notes"}]'])
    result = LLMSingleSelector.from_defaults(llm, embed_model=HashEmbedding()).select(TOOLS, QUESTION)
    assert (result.ind, result.reason) == (2, "notes")
    sent = llm.calls[0].messages[-1].content
    assert (
        "(1) essay: the essay about painting and growing up\n\n(2) sql: tables of sales figures\n\n(3) notes"
        in sent
    )
    assert QUESTION in sent
    assert llm.calls[0].prompt == "select_single"


def test_choices_may_be_plain_texts() -> None:
    llm = ScriptedLLM(['{"choice": 2, "reason": "r"}'])
    assert LLMSingleSelector(llm, embed_model=HashEmbedding()).select(["one", "two"], QUESTION).inds == [1]
    assert "(1) one\n\n(2) two" in llm.calls[0].messages[-1].content


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ('[{"choice": 1, "reason": "a"}, {"choice": 3, "reason": "b"}]', [(0, "a"), (2, "b")]),
        (
            '{"selections": [{"choice": 3, "reason": "b"}, {"choice": 1, "reason": "a"}]}',
            [(2, "b"), (0, "a")],
        ),
        ('```json\n[{"choice": "2", "reason": "quoted"}]\n```', [(1, "quoted")]),
        ('[{"choice": 2.0, "reason": "a float"}]', [(1, "a float")]),
        ("choice: 2", [(1, "choice: 2")]),  # YAML
        ("- choice: 3\n- choice: 1", [(2, "- choice: 3\n- choice: 1"), (0, "- choice: 3\n- choice: 1")]),
        ('[{"choice": "Choice 2", "reason": "r"}]', [(1, "r")]),
        ('[{"choice": "(2)", "reason": "r"}]', [(1, "r")]),
        ('[{"choice": "SQL", "reason": "its name"}]', [(1, "its name")]),
        ('{"choice": [1, 3]}', [(0, ""), (2, "")]),
        ("[1, 3]", [(0, ""), (2, "")]),
        ("2", [(1, "")]),
        (" (2). ", [(1, "")]),
        ("Choice 2 is the best of 3.", [(1, "Choice 2 is the best of 3.")]),
        ("The answer is **2**.", [(1, "The answer is **2**.")]),
        ("I take option #3!", [(2, "I take option #3!")]),
        ("(3) notes", [(2, "(3) notes")]),
        ("3 - because", [(2, "3 - because")]),
        (LISTED, [(2, LISTED), (0, LISTED)]),
        (NAMED, [(2, NAMED), (0, NAMED), (1, NAMED)]),
        ("1, 3", [(0, ""), (2, "")]),
        ("3 and 1.", [(2, ""), (0, "")]),
        ("(3), (2), and (1)", [(2, ""), (1, ""), (0, "")]),
        ("3\n1", [(2, ""), (0, "")]),
        ("0, 3", [(2, "")]),
        ('{"choice": 1, "reason": "cut', [(0, '{"choice": 1, "reason": "cut')]),
        ('[{"choice": 3, "reason": "b"}, {"choice": 1, "rea', [(2, CUT), (0, CUT)]),
        (
            (
                '{"type": "array", "items": {"properties": {"choice": 3, "reason": "filled in"}, '
                '"required": ["choice"]}}'
            ),
            [(2, "filled in")],
        ),
        (
            '(3) fits, as option (3) is about notes.\nHere is the JSON:\n{"choice": 3, "reason": "notes"}',
            [(2, "notes")],
        ),
        ('[{"choice": 2, "reason": "first"}, {"choice": 2, "reason": "again"}]', [(1, "first")]),
        ('[{"choice": 9, "reason": "x"}, {"choice": 1, "reason": "a"}]', [(0, "a")]),
    ],
)
def test_many_forms_of_reply_are_understood(reply: str, expected: list[tuple[int, str]]) -> None:
    assert multi(reply).select(TOOLS, QUESTION) == SelectorResult(
        tuple(SingleSelection(*pair) for pair in expected)
    )
    assert single(reply).select(TOOLS, QUESTION) == SelectorResult((SingleSelection(*expected[0]),))


def test_at_most_max_outputs_are_selected_and_the_model_knows() -> None:
    llm = ScriptedLLM(["[3, 1, 2]"])
    assert LLMMultiSelector.from_defaults(llm, max_outputs=2, embed_model=HashEmbedding()).select(
        TOOLS, "?"
    ).inds == [2, 0]
    assert "At most 2" in llm.calls[0].messages[-1].content
    assert multi("[3, 1, 2]").select(TOOLS, "?").inds == [2, 0, 1]
    with pytest.raises(ValueError, match="max_outputs"):
        multi("", 0)


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "None of these.",
        "[]",
        "{}",
        "[{}]",
        "null",
        "[0]",
        "[4]",
        "Choice 1 or choice 3.",
        "There are 3 reasons for 1",
        "3 reasons speak for 1",
        "1 or 3",
        "1.3",
        "1 - 3",
        "-1 - because",
        "0, 9",
        "(9) notes",
        "(1) essay\n(2) sql\n(3) notes\nI like the first.",
        "1: no\n2: yes\n3: no",
        "1. Not relevant.\n2. This one fits.\n3. Not relevant.",
        LONG,
        f"Choice {LONG}",
        f'[{{"choice": "{LONG}"}}]',
        '[{"choice": "none"}]',
        "{[}",
    ],
)
@pytest.mark.parametrize("of", [single, multi])
def test_reply_without_a_choice_falls_back_to_the_nearest(of: object, reply: str) -> None:
    assert callable(of)
    with span("root") as root:
        result = of(reply).select(TOOLS, QUESTION)
    assert result.ind == 1
    assert "named none of the 3 choices" in result.reason
    assert "nearest" in result.reason
    step = selected(root)
    assert step.facts["fell_back"] is True
    assert step.facts["selected"] == [1]


def selected(root: Span) -> Span:
    (step,) = root.spans("select")
    return step


def test_trace_has_the_selected_and_the_nonexistent_choices() -> None:
    with span("root") as root:
        multi('[{"choice": 0}, {"choice": 2, "reason": "r"}, {"choice": 9}]').select(TOOLS, QUESTION)
    facts = selected(root).facts
    assert (facts["selected"], facts["reasons"], facts["no_such_choices"]) == ([1], ["r"], [0, 9])
    assert "fell_back" not in facts


def test_nearest_description_wins_and_ties_go_to_the_first() -> None:
    embedder = HashEmbedding()
    selector = EmbeddingSingleSelector.from_defaults(embedder)
    result = selector.select(TOOLS, QUESTION)
    cosines = [
        float(embedder.embed_query(tool.description) @ embedder.embed_query(QUESTION)) for tool in TOOLS
    ]
    assert result.ind == cosines.index(max(cosines)) == 1
    assert f"{max(cosines):.2f}" in result.reason
    assert selector.select(["same", "same"], "same").ind == 0


def test_nearest_uses_the_question_vector_of_retrievers() -> None:
    embedder = HashEmbedding()
    selector = EmbeddingSingleSelector(embedder)
    vector = embedder.embed_query("meeting notes")
    by_vector = selector.select(TOOLS, QueryBundle(QUESTION, embedding=5 * vector))
    assert (by_vector.ind, by_vector.reason[-14:]) == (2, "(cosine 1.00).")
    assert selector.select(TOOLS, QueryBundle(QUESTION, ("meeting notes",))).ind == 2
    assert selector.select(TOOLS, QueryBundle("")).inds
    with pytest.raises(DimensionError, match="given 3"):
        selector.select(TOOLS, QueryBundle(QUESTION, embedding=np.ones(3, np.float32)))


def test_choices_that_are_too_long_together_lose_their_ends() -> None:
    llm = ScriptedLLM(["2"], context_window=300, num_output=40, counts_words=True)
    long = [Tool(f"t{number} " * 20, f"d{number} " * 100) for number in range(6)]
    with span("root") as root:
        assert LLMSingleSelector(llm, embed_model=HashEmbedding()).select(long, QUESTION).ind == 1
    (message,) = llm.calls[0].messages
    assert llm.count_tokens(message.content) <= 260
    assert all(
        f"({number + 1}) {tool.name}: d{number} " in message.content for number, tool in enumerate(long)
    )
    assert selected(root).facts["shortened"] == 6


def test_a_selector_asks_in_words_of_its_own_and_can_be_awaited() -> None:
    llm = ScriptedLLM(["2"])
    selector = LLMSingleSelector(llm, embed_model=HashEmbedding(), prompt="Pick for {query_str} of {choices}")
    assert asyncio.run(selector.aselect(["one", "two"], "this")).ind == 1
    assert llm.calls[0].messages[-1].content == "Pick for this of (1) one\n\n(2) two"


@pytest.mark.parametrize("selector", [LLMSingleSelector, EmbeddingSingleSelector])
def test_nothing_to_select_from_is_refused(
    selector: type[LLMSingleSelector | EmbeddingSingleSelector],
) -> None:
    with pytest.raises(ValueError, match="nothing to select"):
        selector.from_defaults(embed_model=HashEmbedding()).select([], QUESTION)


def test_results_of_several_have_no_single_index() -> None:
    result = multi("[1, 2]").select(TOOLS, QUESTION)
    assert (result.inds, result.reasons) == ([0, 1], ["", ""])
    with pytest.raises(ValueError, match="2 selections"):
        _ = result.ind
    with pytest.raises(ValueError, match="2 selections"):
        _ = result.reason


def calling(arguments: str) -> Generation:
    call = {"id": "1", "type": "function", "function": {"name": "select", "arguments": arguments}}
    return Generation("", Usage(0, 0), (call,))


def test_a_function_calling_model_must_call_a_function() -> None:
    reply = calling(json.dumps({"selections": [{"choice": 2, "reason": "b"}, {"choice": 1, "reason": "a"}]}))
    llm = ScriptedLLM([reply, reply], is_function_calling_model=True)
    assert PydanticMultiSelector.from_defaults(llm, embed_model=HashEmbedding()).select(
        TOOLS, QUESTION
    ).inds == [1, 0]
    assert (
        PydanticSingleSelector.from_defaults(llm, embed_model=HashEmbedding()).select(TOOLS, QUESTION).ind
        == 1
    )
    assert [(logged.call.tool_choice, logged.call.tools[0]["function"]["name"]) for logged in llm.calls] == [
        ("select", "select")
    ] * 2


def test_other_models_select_in_words() -> None:
    llm = ScriptedLLM(["2"])
    assert PydanticSingleSelector(llm, embed_model=HashEmbedding()).select(TOOLS, QUESTION).ind == 1
    assert llm.calls[0].call.tools == ()


def test_the_kind_of_selector_follows_from_the_model() -> None:
    words, functions = ScriptedLLM(), ScriptedLLM(is_function_calling_model=True)
    kinds = [
        type(get_selector_from_llm(llm, is_multi)) for llm in (words, functions) for is_multi in (False, True)
    ]
    assert kinds == [LLMSingleSelector, LLMMultiSelector, PydanticSingleSelector, PydanticMultiSelector]


@given(
    st.text()
    | st.recursive(
        st.none() | st.integers() | st.floats() | st.text(),
        lambda inner: (
            st.lists(inner) | st.dictionaries(st.sampled_from(["choice", "reason", "type", "x"]), inner)
        ),
    ).map(json.dumps)
)
def test_any_reply_selects_an_existing_choice(reply: str) -> None:
    result = multi(reply).select(TOOLS, QUESTION)
    assert result.inds
    assert set(result.inds) <= {0, 1, 2}
    assert len(set(result.inds)) == len(result.inds)


def test_a_name_with_a_number_is_a_name() -> None:
    choices = [Choice(1, "", "report 2"), Choice(2, "", "report 1")]
    assert read_selections('{"choice": "report 2"}', choices) == [(1, "")]


def test_a_name_that_several_choices_have_names_none_of_them() -> None:
    assert read_selections('{"choice": "tool"}', [Choice(1, "", "tool"), Choice(2, "", "tool")]) == []


def test_consecutive_choices_are_all_selected() -> None:
    choices = [Choice(number, "text") for number in (1, 2, 3)]
    assert read_selections('{"choice": 3, "reason": "a"}\n{"choice": 1, "reason": "b"}', choices) == [
        (3, "a"),
        (1, "b"),
    ]
