"""Answers as pydantic models, straight from a model."""

from __future__ import annotations

import json

import pytest
from pydantic import BaseModel

from ragcore.errors import LLMProtocolError
from ragcore.llms.scripted import ScriptedLLM
from ragcore.prompts.structured_output import parse_form
from ragcore.prompts.templates import PromptTemplate


class Dog(BaseModel):
    name: str
    legs: int


ASK = PromptTemplate("Which dog is in {text}?")


def test_a_reply_becomes_an_instance_of_the_requested_model() -> None:
    llm = ScriptedLLM(['Here it is:\n```json\n{"name": "Laika", "legs": 4}\n```'])
    assert llm.structured_predict(Dog, ASK, text="space") == Dog(name="Laika", legs=4)
    (call,) = llm.calls
    sent = call.messages[-1].content
    assert sent.startswith("Which dog is in space?")
    assert json.dumps(Dog.model_json_schema()) in sent


@pytest.mark.parametrize("reply", ["no dog at all", '{"name": "Laika"}', '{"name": "Laika", "legs": "many"}'])
def test_a_reply_of_another_form_is_an_error_that_names_it(reply: str) -> None:
    with pytest.raises(LLMProtocolError, match="Dog"):
        ScriptedLLM([reply]).structured_predict(Dog, ASK, text="space")


def test_a_variable_that_the_prompt_does_not_name_is_refused() -> None:
    with pytest.raises(ValueError, match="txt"):
        ScriptedLLM(["{}"]).structured_predict(Dog, ASK, txt="space")


class Dish(BaseModel):
    name: str


class Menu(BaseModel):
    dishes: list[Dish]


@pytest.mark.parametrize(
    "reply",
    [
        '{"dishes": [{"name": "soup"}, {"name": "cake"}]}',
        '[{"name": "soup"}, {"name": "cake"}]',
        '{"name": "soup"}\n{"name": "cake"}',
        'First:\n```json\n{"name": "soup"}\n```\nand then\n```json\n{"name": "cake"}\n```',
    ],
)
def test_a_list_may_come_without_its_name_or_item_by_item(reply: str) -> None:
    assert parse_form(reply, Menu) == Menu(dishes=[Dish(name="soup"), Dish(name="cake")])


def test_several_objects_that_differ_are_no_single_one() -> None:
    with pytest.raises(LLMProtocolError, match="2 different"):
        parse_form('{"name": "soup"} {"name": "cake"}', Dish)
    assert parse_form('{"name": "soup"} {"name": "soup"} [1]', Dish) == Dish(name="soup")
