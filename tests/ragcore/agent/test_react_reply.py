"""Every kind of reply that models give in the ReAct form is read as it is meant, or not at all."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ragcore.agent.react_reply import (
    ActionReasoningStep,
    ResponseReasoningStep,
    UnreadableReplyError,
    answer_so_far,
    read_reply,
)

ARGUMENTS = {"a": 1, "b": 2}
ADD = ActionReasoningStep("I add.", "add", ARGUMENTS)

ACTIONS = {
    "plain": 'Thought: I add.\nAction: add\nAction Input: {"a": 1, "b": 2}',
    "lower case": 'thought: I add.\naction: add\naction input: {"a": 1, "b": 2}',
    "bold labels": '**Thought:** I add.\n**Action:** add\n**Action Input:** {"a": 1, "b": 2}',
    "bold before the colon": '**Thought**: I add.\n**Action**: `add`\n**Action Input**: {"a": 1, "b": 2}',
    "headings": '### Thought: I add.\n### Action: add\n### Action Input: {"a": 1, "b": 2}',
    "full-width colons": 'Thought: I add.\nAction:add\nAction Input:{"a": 1, "b": 2}',
    "single quotes": "Thought: I add.\nAction: add\nAction Input: {'a': 1, 'b': 2}",
    "trailing comma": 'Thought: I add.\nAction: add\nAction Input: {"a": 1, "b": 2,}',
    "comment": 'Thought: I add.\nAction: add\nAction Input: {"a": 1, // one\n"b": 2}',
    "keys without quotes": "Thought: I add.\nAction: add\nAction Input: {a: 1, b: 2}",
    "CRLF": 'Thought: I add.\r\nAction: add\r\nAction Input: {"a": 1,\r\n"b": 2}\r\n',
    "fenced": 'Thought: I add.\nAction: add\nAction Input:\n```json\n{"a": 1, "b": 2}\n```',
    "fenced on the line": 'Thought: I add.\nAction: add\nAction Input: ```{"a": 1, "b": 2}```',
    "with its arguments named": 'Thought: I add.\nAction: add(a, b)\nAction Input: {"a": 1, "b": 2}',
    "with its description": 'Thought: I add.\nAction: add (add two numbers)\nAction Input: {"a": 1, "b": 2}',
    "fenced apart from its language": (
        'Thought: I add.\nAction: add\nAction Input:\n``` json\n{"a": 1, "b": 2}\n```'
    ),
    "in backticks": 'Thought: I add.\nAction: `add`\nAction Input: `{"a": 1, "b": 2}`',
    "with an underscore in the label": 'Thought: I add.\nAction: add\nAction_Input: {"a": 1, "b": 2}',
    "in italics": 'Thought: I add.\nAction: _add_\nAction Input: {"a": 1, "b": 2}',
    "whole in a fence": '```\nThought: I add.\nAction: add\nAction Input: {"a": 1, "b": 2}\n```',
    "quoted": 'Thought: I add.\nAction: "add".\nAction Input: {"a": 1, "b": 2}',
    "on one line": 'Thought: I add.\nAction: add Action Input: {"a": 1, "b": 2}',
    "with blank lines": '\n\nThought: I add.\n\nAction: add\n\nAction Input:\n\n{"a": 1, "b": 2}\n',
    "two actions": (
        'Thought: I add.\nAction: add\nAction Input: {"a": 1, "b": 2}\nAction: sub\nAction Input: {"c": 3}'
    ),
    "made-up result and answer": (
        'Thought: I add.\nAction: add\nAction Input: {"a": 1, "b": 2}\nObservation: 7\nAnswer: 7'
    ),
    "prose behind": 'Thought: I add.\nAction: add\nAction Input: {"a": 1, "b": 2}\nThen I will {answer}.',
}


@pytest.mark.parametrize("reply", ACTIONS.values(), ids=list(ACTIONS))
def test_an_action_is_read(reply: str) -> None:
    assert read_reply(reply) == ADD


@pytest.mark.parametrize(
    ("reply", "act"),
    [
        ('Action: add\nAction Input: {"a": 1}', ActionReasoningStep("", "add", {"a": 1})),
        ('Sure.\nAction: add\nAction Input: {"a": 1}', ActionReasoningStep("Sure.", "add", {"a": 1})),
        (
            'Thought: x\nAction: my-tool\nAction Input: {"a": 1}',
            ActionReasoningStep("x", "my-tool", {"a": 1}),
        ),
        (
            'Thought: 好\nAction: 搜索文档\nAction Input: {"query": "猫"}',
            ActionReasoningStep("好", "搜索文档", {"query": "猫"}),
        ),
        (
            (
                'Thought: x\nAction: add\nAction Input: {"l": [1, {"m": [2, 3]}], "t": true, "n": null, '
                '"p": None}'
            ),
            ActionReasoningStep("x", "add", {"l": [1, {"m": [2, 3]}], "t": True, "n": None, "p": None}),
        ),
        (
            'Thought: x\nAction: add\nAction Input: {"text": "one\ntwo"}',
            ActionReasoningStep("x", "add", {"text": "one\ntwo"}),
        ),
        (
            'Thought: the Answer: is near.\nAction: add\nAction Input: {"a": 1}',
            ActionReasoningStep("the Answer: is near.", "add", {"a": 1}),
        ),
        ("Thought: x\nAction: add\nAction Input: {}", ActionReasoningStep("x", "add", {})),
        (
            'Thought: x\nAction: say\nAction Input: {"text": "one\nAnswer: two"}',
            ActionReasoningStep("x", "say", {"text": "one\nAnswer: two"}),
        ),
        (
            'Thought: x\nAction: say\nAction Input: {"text": "Answer: {b}\\nAction: no"}',
            ActionReasoningStep("x", "say", {"text": "Answer: {b}\nAction: no"}),
        ),
    ],
)
def test_an_action_of_another_kind_is_read(reply: str, act: ActionReasoningStep) -> None:
    assert read_reply(reply) == act


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("Paris is the capital.", ResponseReasoningStep("", "Paris is the capital.")),
        ("Answer: 42", ResponseReasoningStep("", "42")),
        ("answer: 42", ResponseReasoningStep("", "42")),
        ("**Answer:** 42", ResponseReasoningStep("", "42")),
        ("Thought: done\nAnswer: 42\n\nand more", ResponseReasoningStep("done", "42\n\nand more")),
        ("Thought: done\nFinal Answer: 42", ResponseReasoningStep("done", "42")),
        ("Thought: done. Answer: 42", ResponseReasoningStep("done.", "42")),
        (
            "Thought: ok\nAnswer: The Action: field names it.",
            ResponseReasoningStep("ok", "The Action: field names it."),
        ),
        (
            "Thought: ok\nAnswer: First.\nAction: is a word.",
            ResponseReasoningStep("ok", "First.\nAction: is a word."),
        ),
        ("thought: done. answer: 42", ResponseReasoningStep("done.", "42")),
        ("Thought: done. **Answer: 42**", ResponseReasoningStep("done.", "42")),
        ("**Answer: 42**", ResponseReasoningStep("", "42")),
        ("**Answer: 42**\nand more", ResponseReasoningStep("", "42\nand more")),
        ("__Final Answer: 42__.", ResponseReasoningStep("", "42.")),
        ("`Answer: 42`", ResponseReasoningStep("", "42")),
        ("**Answer: 2**3 is 8**", ResponseReasoningStep("", "2**3 is 8**")),
        ("**Answer:** It is **42**", ResponseReasoningStep("", "It is **42**")),
        ("```\nThought: done\nAnswer: 42\n```", ResponseReasoningStep("done", "42")),
        ("```text\nThought: done. Answer: 42\n```\n", ResponseReasoningStep("done.", "42")),
        ("```\n**Answer: 42**\n```", ResponseReasoningStep("", "42")),
        ("```\nAnswer: So:\n```python\nf()\n```\n```", ResponseReasoningStep("", "So:\n```python\nf()\n```")),
        ("```\nAnswer: So:\n```python\nf()\n```", ResponseReasoningStep("", "So:\n```python\nf()\n```")),
        ("Answer: So:\n```\nf()\n```", ResponseReasoningStep("", "So:\n```\nf()\n```")),
        ("The Action: field names the tool.", ResponseReasoningStep("", "The Action: field names the tool.")),
        ("Thought: ok\nAnswer: {not json", ResponseReasoningStep("ok", "{not json")),
    ],
)
def test_an_answer_is_read(reply: str, answer: ResponseReasoningStep) -> None:
    assert read_reply(reply) == answer


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("_lookup", "_lookup"),
        ("lookup_", "lookup_"),
        ("`_lookup`", "_lookup"),
        ("**lookup_**", "lookup_"),
        ("__call__", "__call__"),
        ("-x", "-x"),
        ("- add", "add"),
        ("_add_", "add"),
        ("__`add`__", "add"),
        ("_other", "_other"),
    ],
)
def test_marks_that_belong_to_a_tool_s_name_stay(written: str, name: str) -> None:
    tools = ("_lookup", "lookup_", "lookup", "__call__", "-x", "add")
    assert read_reply(f"Action: {written}\nAction Input: {{}}", tools) == ActionReasoningStep("", name, {})
    if name != "__call__":  # in bold, as far as can be told without the tools
        assert read_reply(f"Action: {written}\nAction Input: {{}}") == ActionReasoningStep("", name, {})


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("search_docs to find the book", "search_docs"),
        ("add tool", "add"),
        ("add - adds two numbers", "add"),
        ("add: adds two numbers", "add"),
        ("`add` tool", "add"),
        ("**add** (the tool)", "add"),
        ("- add tool", "add"),
        ("_lookup to find the book", "_lookup"),
        ("add two", "add two"),
        ("subtract from add", "subtract from add"),
    ],
)
def test_words_behind_a_tool_s_name_are_no_part_of_it(written: str, name: str) -> None:
    tools = ("search_docs", "add", "add two", "_lookup", "lookup")
    assert read_reply(f"Action: {written}\nAction Input: {{}}", tools) == ActionReasoningStep("", name, {})


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        ("Thought: I must think.", "neither an Action: nor an Answer:"),
        ("Thought: I have no answer: it is not there.", "neither an Action: nor an Answer:"),
        ("Observation: 7", "neither an Action: nor an Answer:"),
        ('Action Input: {"text": "Answer: 7"}', "neither an Action: nor an Answer:"),
        ("Thought: x\nAction: add", "no Action Input:"),
        ("Thought: x\nAction: add\nObservation: 3\nAction Input: {}", "no Action Input:"),
        ('Thought: x\nAction: add\nAction: sub\nAction Input: {"a": 1}', "no Action Input:"),
        ("Thought: x\nAction: add\nAction Input: three", "not a JSON object"),
        ('Thought: x\nAction: add\nAction Input: "three"', "not a JSON object"),
        ("Thought: x\nAction: add\nAction Input: [1, 2]", "not a JSON object"),
        ("Thought: x\nAction: add\nAction Input:", "not a JSON object"),
        ("Thought: x\nAction: add\nAction Input: {a: 1 b}", "cannot be read as JSON"),
        ('Thought: x\nAction: add\nAction Input: {"a": 1', "cannot be read as JSON"),
        ("Thought: x\nAction:\nAction Input: {}", "no tool's name"),
        ("Thought: x\nAnswer:  ", "nothing behind Answer:"),
        ("   ", "nothing behind Answer:"),
    ],
)
def test_the_model_learns_that_a_reply_is_neither(reply: str, problem: str) -> None:
    with pytest.raises(UnreadableReplyError, match=problem):
        read_reply(reply)


@pytest.mark.parametrize("reply", ACTIONS.values(), ids=list(ACTIONS))
def test_no_part_of_an_action_is_streamed(reply: str) -> None:
    assert {answer_so_far(reply[:end]) for end in range(len(reply) + 1)} == {""}


@pytest.mark.parametrize(
    "reply",
    [
        "Thought: the Answer: is near\nAnswer: It is\n42.",
        "**Answer:** It is\n42.",
        "**Answer: It is**\n42.",
        "```\nThought: done\nAnswer: It is\n42.\n```\n",
        "```\nAnswer: It is\n```python\n42\n```\n```",
        "```Answer: It is 4`2```",
        "It is\n42.",
    ],
)
def test_an_answer_grows_to_what_is_read(reply: str) -> None:
    answer = read_reply(reply)
    assert isinstance(answer, ResponseReasoningStep)
    shown = [answer_so_far(reply[:end]) for end in range(len(reply) + 1)]
    assert all(later.startswith(earlier) for earlier, later in pairwise(shown))
    assert answer.response.startswith(shown[-1])
    assert shown[-1].startswith("It is")


PARTS = ["Answer:", "Thought:", "Action:", "```", "**", "_", "`", "*", "\n", " ", "x", "4", "answer: ", ". "]


@example("**Answer: x**")
@example("```\nAnswer: x\n```")
@given(
    st.text(st.sampled_from("Answer:\n Thought*x{}"), max_size=60)
    | st.lists(st.sampled_from(PARTS)).map("".join)
)
def test_the_streamed_text_is_the_beginning_of_the_answer(reply: str) -> None:
    try:
        read = read_reply(reply)
    except UnreadableReplyError:
        return
    if isinstance(read, ResponseReasoningStep):
        assert read.response.startswith(answer_so_far(reply))


@example("x**")
@example("x\n```")
@given(st.lists(st.sampled_from(PARTS)).map("".join))
def test_text_streamed_after_a_label_is_never_retracted(answer: str) -> None:
    for label in ("Answer: ", "**Answer: ", "`Answer: ", "```\nThought: x\nAnswer: ", "```\n**Answer: "):
        reply = label + answer
        shown = [answer_so_far(reply[:end]) for end in range(len(reply) + 1)]
        assert all(later.startswith(earlier) for earlier, later in pairwise(shown))
