"""{{ and }} in a template are braces in what is sent; braces in values are text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore import ChatMessage, ChatPromptTemplate, Document, PromptTemplate
from ragcore.prompts.prompt import Prompt, Task
from ragcore.prompts.templates import SelectorPromptTemplate
from ragcore.schema import MetadataMode
from ragcore.text.braces import escape_braces, split_template

VALUES = {"topic": "rain {x} {{topic}} }}", "place": "{topic}"}


@given(st.lists(st.sampled_from(["{{", "}}", "{topic}", "{place}", "word", " ", '"', "\n"]), max_size=12))
def test_templates_of_str_format_give_what_it_gives(pieces: list[str]) -> None:
    template = "".join(pieces)
    expected = template.format(**VALUES)
    assert PromptTemplate(template).format(**VALUES) == expected
    prompt = Prompt("test", Task.GENERATE, (ChatMessage("user", template),))
    assert prompt.render(VALUES)[0].content == expected
    chat = ChatPromptTemplate([ChatMessage("system", template), ChatMessage("user", template)])
    assert [message.content for message in chat.format_messages(**VALUES)] == [expected, expected]
    assert chat.partial_format(topic=VALUES["topic"]).format_messages(place="{topic}")[0].content == expected
    selected = SelectorPromptTemplate(PromptTemplate(template)).partial_format(**VALUES)
    assert selected.format() == expected


@given(st.text(st.sampled_from("{}ab "), max_size=12))
def test_escaped_text_is_sent_as_it_was_written(text: str) -> None:
    assert "".join(map(str, split_template(escape_braces(text)))) == text
    assert PromptTemplate(f"{escape_braces(text)}{{topic}}").format(topic=text) == text * 2


@pytest.mark.parametrize(
    ("template", "sent"),
    [
        ('{"a": {"b": {"c": "{topic}"}}}', '{"a": {"b": {"c": "T"}}}'),
        ('{"a":{}}', '{"a":{}}'),
        ('{"re": "a}}"} {topic}', '{"re": "a}}"} T'),
        ('{{"a": {{"b": "{topic}"}}}}', '{"a": {"b": "T"}}'),
        ('{{"a": {"b": {{}}}}}', '{"a": {"b": {}}}'),
        ("{{topic}} {{{topic}}} {{{{topic}}}}", "{topic} {T} {{topic}}"),
        ("Open with {{ and close with }}.", "Open with { and close with }."),
        ("{{topic}: 1}", "{T: 1}"),
        ("{other} {{other}} {0} {} { }", "{other} {other} {0} {} { }"),
    ],
)
def test_json_and_doubled_braces_stay_what_they_mean(template: str, sent: str) -> None:
    assert PromptTemplate(template).format(topic="T") == sent


def test_name_in_doubled_braces_is_no_variable() -> None:
    template = PromptTemplate("Say {word}, not {{name}}.")
    assert (template.template_vars, template.variables) == (["word"], {"word"})
    prompt = Prompt("test", Task.GENERATE, template.messages)
    assert prompt.variables == {"word"}
    assert prompt.render({"word": "{name}"})[0].content == "Say {name}, not {name}."


def test_label_before_a_brace_is_no_stop() -> None:
    prompt = Prompt("test", Task.GENERATE, (ChatMessage("user", "Form: {{}}\nQuestion: {query_str}"),))
    assert prompt.stop_sequences == ("\nQuestion:",)


def test_doubled_braces_in_templates_of_nodes_are_braces() -> None:
    document = Document("{content}", metadata={"a": "{key}"})
    document.text_template = "{{{metadata_str}}}\n{content}"
    document.metadata_template = "{{{key}}}={value}"
    assert document.get_content(MetadataMode.ALL) == "{{a}={key}}\n{content}"
