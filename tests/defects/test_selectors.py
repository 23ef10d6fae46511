"""However badly a model replies, a selector selects something that there is."""

from __future__ import annotations

import pytest

from ragcore.embeddings.hashing import HashEmbedding
from ragcore.llms.scripted import ScriptedLLM
from ragcore.selectors import LLMMultiSelector, LLMSingleSelector, SelectorResult

TWO = ["the weather in Rome", "the history of bread"]
QUESTION = "Who baked the first bread, and what is its history?"


def selected(reply: str) -> SelectorResult:
    return LLMSingleSelector.from_defaults(ScriptedLLM([reply]), embed_model=HashEmbedding()).select(
        TWO, QUESTION
    )


@pytest.mark.parametrize("choice", [9, 0, -1])
def test_d29_a_choice_that_there_is_not_is_never_an_index(choice: int) -> None:
    result = selected(f'[{{"choice": {choice}, "reason": "sure"}}]')
    assert result.ind == 1
    assert result.reason != "sure"


def test_d29_prose_is_no_error() -> None:
    assert selected("I am sorry, neither of them seems to be of any help here.").ind == 1


def test_d29_a_missing_reason_is_no_error() -> None:
    result = selected('[{"choice": 1, "reason": null}]')
    assert (result.ind, result.reason) == (0, "")
    assert selected('[{"choice": 1}]').ind == 0


def test_d29_an_echo_of_the_schema_is_not_a_choice() -> None:
    schema = (
        '{"type": "array", "items": {"type": "object", "properties": {"choice": {"type": "integer", '
        '"minimum": 1}, '
        '"reason": {"type": "string"}}, "required": ["choice", "reason"]}}'
    )
    assert selected(schema).reason.startswith("The model named none of the 2 choices.")
    assert selected(f'{schema}\n[{{"choice": 1, "reason": "rain"}}]').ind == 0


def test_d29_all_selections_of_a_wrapping_object_count() -> None:
    reply = (
        '{"answers": [{"choice": 2, "reason": "b"}, {"choice": 1, "reason": "a"}, {"choice": 3, '
        '"reason": "c"}]}'
    )
    selector = LLMMultiSelector.from_defaults(ScriptedLLM([reply]), embed_model=HashEmbedding())
    result = selector.select([*TWO, "bakeries"], QUESTION)
    assert (result.inds, result.reasons) == ([1, 0, 2], ["b", "a", "c"])


def test_d29_reply_format_appears_once_in_single_braces() -> None:
    llm = ScriptedLLM(["[1, 2]"])
    LLMMultiSelector.from_defaults(llm, embed_model=HashEmbedding()).select(TWO, QUESTION)
    (message,) = llm.calls[0].messages
    assert message.content.count("Reply with JSON") == 1
    assert "{{" not in message.content
