"""Prompts of ours and templates of the user's: which braces are filled, and with what."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from ragcore.errors import LLMProtocolError
from ragcore.llamaindex.prompts.output_parsers import BaseOutputParser, PydanticOutputParser
from ragcore.llms.base import LLM
from ragcore.llms.scripted import ScriptedLLM
from ragcore.prompts.document_text import CLOSING, OPENING
from ragcore.prompts.prompt import Origin, Passage, Prompt, Task
from ragcore.prompts.templates import (
    ChatPromptTemplate,
    PromptTemplate,
    SelectorPromptTemplate,
    replace_prompt,
)
from ragcore.prompts.wording import REFINE, TEXT_QA, ask_for_verdict
from ragcore.schema import ChatMessage, MessageRole


@pytest.mark.smoke
def test_only_names_with_a_value_are_filled() -> None:
    template = PromptTemplate('{"a": {"b": [1, {text}]}} {foo} {} { {0} {text} {{text}} }')
    assert template.format(text="T") == '{"a": {"b": [1, T]}} {foo} {} { {0} T {text} }'


def test_braces_in_a_value_are_only_text() -> None:
    template = PromptTemplate("{context_str} / {query_str}")
    assert (
        template.format(context_str="{query_str} {{x}}", query_str="{context_str}")
        == "{query_str} {{x}} / {context_str}"
    )


@given(st.text(st.sampled_from("{}ab \n")), st.text(st.sampled_from("{}ab \n")))
def test_a_template_gives_its_values_whole_whatever_they_are(one: str, two: str) -> None:
    assert PromptTemplate("<{one}|{two}>").format(one=one, two=two) == f"<{one}|{two}>"
    fixed = PromptTemplate("<{one}|{two}>").partial_format(one=one)
    assert fixed.format(two=two) == f"<{one}|{two}>"


def test_a_partial_template_leaves_the_first_as_it_was() -> None:
    template = PromptTemplate("{greeting} {name}")
    # what is given last counts
    assert template.partial_format(name="Ann").format(greeting="Hi", name="Bo") == "Hi Bo"
    assert template.partial_format(name="Ann").kwargs == {"name": "Ann"}
    hello = template.partial_format(greeting="Hello")
    assert hello.format(name="Ann") == "Hello Ann"
    assert template.format(greeting="Bye", name="Bo") == "Bye Bo"
    assert (hello.variables, template.variables) == ({"name"}, {"greeting", "name"})
    assert template.template_vars == ["greeting", "name"]
    assert template.get_template() == "{greeting} {name}"


def test_a_variable_may_have_another_name_in_the_template() -> None:
    template = PromptTemplate(
        "{facts} => {q}", template_var_mappings={"context_str": "facts", "query_str": "q"}
    )
    assert template.format(context_str="C", query_str="Q") == "C => Q"
    assert template.variables == {"context_str", "query_str"}


def test_a_function_makes_a_variables_text_of_all_values() -> None:
    def bullets(**values: str) -> str:
        return "\n".join(f"- {line} ({values['query_str']})" for line in values["context_str"].split("\n\n"))

    template = PromptTemplate("{context_str}\n{query_str}", function_mappings={"context_str": bullets})
    assert template.format(context_str="one\n\ntwo", query_str="Q") == "- one (Q)\n- two (Q)\nQ"
    of_documents = template.format(context_str=(Passage("one"), Passage("two")), query_str="Q")
    assert of_documents == f"{OPENING}\n- one (Q)\n- two (Q)\n{CLOSING}\nQ"


def test_a_variable_with_a_function_needs_no_value() -> None:
    template = PromptTemplate(
        "{day}: {task}", function_mappings={"day": lambda **values: f"day of {values['task']}"}
    )
    llm = ScriptedLLM(["a", "b"])
    assert [llm.predict(template, task="rest"), llm.predict(template, task="work", day="Monday")] == [
        "a",
        "b",
    ]
    assert [call.messages[0].content for call in llm.calls] == ["day of rest: rest", "day of work: work"]
    with pytest.raises(ValueError, match="task"):
        llm.predict(template)


def test_messages_have_roles_and_become_lines_for_completion() -> None:
    chat = ChatPromptTemplate.from_messages(
        [("system", "Be {tone}."), ChatMessage(MessageRole.USER, "{query_str}")]
    )
    assert chat.format_messages(tone="brief", query_str="Who?") == [
        ChatMessage(MessageRole.SYSTEM, "Be brief."),
        ChatMessage(MessageRole.USER, "Who?"),
    ]
    assert chat.format(tone="brief", query_str="Who?") == "system: Be brief.\nuser: Who?\nassistant: "
    assert PromptTemplate("{query_str}").format_messages(query_str="Who?") == [
        ChatMessage(MessageRole.USER, "Who?")
    ]


def is_large(llm: LLM) -> bool:
    return llm.metadata.context_window > 10_000


def test_the_first_template_whose_condition_holds_is_selected() -> None:
    small, large = ScriptedLLM(context_window=8000), ScriptedLLM(context_window=80_000)
    long = ChatPromptTemplate([ChatMessage(MessageRole.USER, "long {x} {y}")])
    selector = SelectorPromptTemplate(PromptTemplate("short {x} {y}"), [(is_large, long)])
    assert selector.format(small, x="X", y="Y") == selector.format(x="X", y="Y") == "short X Y"
    assert selector.format_messages(large, x="X", y="Y") == [ChatMessage(MessageRole.USER, "long X Y")]
    assert selector.partial_format(x="Z").format(large, y="Y") == "user: long Z Y\nassistant: "


@pytest.mark.parametrize(
    "wording",
    [
        PromptTemplate("own {context_msg} {query_str}"),
        SelectorPromptTemplate(
            PromptTemplate("other"), [(is_large, PromptTemplate("own {context_msg} {query_str}"))]
        ),
        "own {context_msg} {query_str}",
    ],
)
def test_template_replacing_a_prompt_takes_over_its_task(wording: Any) -> None:
    prompt = replace_prompt(REFINE, wording, ScriptedLLM(context_window=80_000))
    assert (prompt.name, prompt.task, prompt.variables) == (
        "refine",
        Task.REFINE,
        {"context_str", "query_str"},
    )
    values: Mapping[str, Any] = {
        "context_str": (Passage("one", 1),),
        "query_str": "Who?",
        "existing_answer": "A",
    }
    (message,) = prompt.render(values)
    assert [(part.origin, part.text) for part in message.parts] == [
        (Origin.INSTRUCTIONS, "own "),
        (Origin.DOCUMENTS, f"{OPENING}\n[1]\none\n{CLOSING}"),
        (Origin.INSTRUCTIONS, " "),
        (Origin.QUESTION, "Who?"),
    ]


def test_a_prompt_shows_what_it_says() -> None:
    two = (ChatMessage(MessageRole.SYSTEM, "Be brief."), ChatMessage(MessageRole.USER, "{query_str}"))
    assert (
        Prompt("own", Task.ANSWER, two).get_template()
        == ChatPromptTemplate(two).get_template()
        == "Be brief.\n{query_str}"
    )


def test_a_prompt_in_the_place_of_another_keeps_its_name() -> None:
    own = Prompt("own", Task.ANSWER, TEXT_QA.messages)
    assert replace_prompt(TEXT_QA, own, ScriptedLLM()) is own


def test_a_template_goes_wherever_a_prompt_goes() -> None:
    llm = ScriptedLLM(["said"])
    template = PromptTemplate("Say {word} as {{word}}.").partial_format(word="this")
    assert llm.predict(template) == "said"
    assert llm.calls[0].messages[0].content == "Say this as {word}."
    with pytest.raises(ValueError, match="other"):
        llm.predict(template, other="x")
    assert (
        ask_for_verdict(template).render({})[0].content.startswith("Say this as {word}.\n\nReply with JSON")
    )


def test_the_history_stands_before_the_templates_last_message() -> None:
    past = [ChatMessage(MessageRole.USER, "Before {query_str}")]
    chat = ChatPromptTemplate.from_messages([("system", "Be brief."), ("user", "{query_str}")])
    assert [m.content for m in chat.render({"query_str": "Now"}, past)] == [
        "Be brief.",
        "Before {query_str}",
        "Now",
    ]


def test_replaceable_prompts_include_the_templates() -> None:
    from ragcore import prompts

    assert prompts.PromptTemplate is PromptTemplate
    with pytest.raises(AttributeError, match="NoSuchTemplate"):
        prompts.NoSuchTemplate  # type: ignore[attr-defined]  # noqa: B018


def test_values_that_are_no_text_are_written_out() -> None:
    template = PromptTemplate("{number} of {total}").partial_format(total=None)
    assert template.format(number=5) == "5 of None"
    llm = ScriptedLLM(["said"])
    assert llm.predict(template, number=5) == "said"  # type: ignore[arg-type]
    assert llm.calls[0].messages[0].content == "5 of None"


def test_a_template_may_be_chosen_for_chat_models() -> None:
    chosen = SelectorPromptTemplate(
        PromptTemplate("text"), [(lambda llm: llm.metadata.is_chat_model, PromptTemplate("chat"))]
    )
    assert chosen.format(ScriptedLLM()) == "chat"


class InCapitals(BaseOutputParser):
    """The form that theirs of the same few lines makes of a text; the expected texts below are those of
    llama-index-core."""

    def parse(self, output: str) -> Any:
        return output.upper()

    def format(self, query: str) -> str:
        return f"{query}\n\nAnswer in {{capitals}}."


def test_output_parser_adds_its_format_and_does_not_parse() -> None:
    template = PromptTemplate("About {topic}", output_parser=InCapitals())
    assert template.format(topic="rivers") == "About rivers\n\nAnswer in {capitals}."
    assert template.partial_format(topic="seas").format() == "About seas\n\nAnswer in {capitals}."
    llm = ScriptedLLM(["they flow"])
    assert llm.predict(template, topic="rivers") == "they flow"
    assert [message.content for message in llm.calls[0].messages] == ["About rivers\n\nAnswer in {capitals}."]


def test_format_goes_into_the_system_message_or_else_the_last() -> None:
    said = [("system", "Be brief."), ("user", "Of {topic}")]
    both = ChatPromptTemplate.from_messages(said)
    with_form = ChatPromptTemplate(both.messages, output_parser=InCapitals())
    assert [each.content for each in with_form.format_messages(topic="x")] == [
        "Be brief.\n\nAnswer in {capitals}.",
        "Of x",
    ]
    last = ChatPromptTemplate([*both.messages[1:], *both.messages[1:]], output_parser=InCapitals())
    assert [each.content for each in last.format_messages(topic="x")] == [
        "Of x",
        "Of x\n\nAnswer in {capitals}.",
    ]


def test_format_is_an_instruction_and_the_rest_keeps_its_origin() -> None:
    template = PromptTemplate("{query_str}", output_parser=InCapitals())
    (message,) = replace_prompt(TEXT_QA, template, ScriptedLLM()).render({"query_str": "Why?"})
    assert [(part.origin, part.text) for part in message.parts] == [
        (Origin.QUESTION, "Why?"),
        (Origin.INSTRUCTIONS, "\n\nAnswer in {capitals}."),
    ]


def test_a_pydantic_model_is_requested_and_parsed() -> None:
    class Bird(BaseModel):
        name: str
        eggs: int

    parser = PydanticOutputParser(Bird)
    asked = PromptTemplate("Name a bird.", output_parser=parser).format()
    assert asked.startswith("Name a bird.\n\nReply with JSON")
    assert json.loads(asked.rpartition("\n")[2]) == Bird.model_json_schema()
    assert parser.parse('Here: {"name": "heron", "eggs": 4}') == Bird(name="heron", eggs=4)
    with pytest.raises(LLMProtocolError, match="eggs"):
        parser.parse('{"name": "heron"}')
