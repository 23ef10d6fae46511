"""Templates: filled, filled in part, as messages, chosen by the model, with renamed and computed variables,
other braces."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from typing import Any

from tests.differential.cases import Case
from tests.differential.doubles import in_turn, our_llm, their_llm

JSON = 'Answer as {"answer": "...", "n": 1} about {topic}'
VALUES = ["river", "two words", "{other}", "{{x}}", '{"a": {topic}}', "", "a\nb"]


def cases() -> Iterator[Case]:
    for number, text in enumerate(
        [
            "about {topic}",
            "{topic} and {topic}",
            JSON,
            "{{x}} {topic}",
            "{{topic}}",
            "no variable",
            "{ } {0} {topic}",
        ]
    ):
        for value in ("river", "{topic}"):
            yield Case(
                f"filled-{number}-{value}", {"kind": "filled", "text": text, "values": {"topic": value}}
            )
    yield Case(
        "partly", {"kind": "partly", "text": "{a} then {b}", "first": {"a": "one"}, "values": {"b": "two"}}
    )
    yield Case(
        "partly-with-braces",
        {"kind": "partly", "text": "{a} then {b}", "first": {"a": "{b}"}, "values": {"b": "two"}},
    )
    yield Case("missing", {"kind": "filled", "text": "{a} then {b}", "values": {"a": "one"}})
    messages = [["system", "You know {topic}."], ["user", "Tell me of {topic}: {query_str}"]]
    yield Case(
        "messages",
        {"kind": "messages", "messages": messages, "values": {"topic": "rivers", "query_str": "why?"}},
    )
    yield Case(
        "messages-as-text",
        {"kind": "as text", "messages": messages, "values": {"topic": "x", "query_str": "y"}},
    )
    yield Case(
        "message-with-json", {"kind": "messages", "messages": [["user", JSON]], "values": {"topic": "x"}}
    )
    for chats in (True, False):
        yield Case(f"chosen-{chats}", {"kind": "chosen", "chats": chats})
    yield Case(
        "renamed",
        {"kind": "renamed", "text": "{my_topic}: {query_str}", "values": {"topic": "t", "query_str": "q"}},
    )
    yield Case(
        "computed",
        {"kind": "computed", "text": "{topic}: {query_str}", "values": {"topic": "t", "query_str": "q"}},
    )
    for roles in (["user"], ["system", "user"], ["user", "assistant"], ["assistant", "user"]):
        yield Case(
            f"with-a-form-{'-'.join(roles)}", {"kind": "form", "roles": roles, "values": {"topic": "rivers"}}
        )
    chance = random.Random(25)
    for number in range(12):
        text = " ".join(
            chance.choice(["{a}", "{b}", "{{c}}", "word", "{", "}", '{"k": 1}'])
            for _ in range(chance.randint(2, 7))
        )
        yield Case(
            f"random-{number}",
            {"kind": "filled", "text": text, "values": {name: chance.choice(VALUES) for name in "ab"}},
        )
    for text in (
        "what is {context_str} here",
        "say {query_str}",
        "plain words",
        'a {"json": 1}',
        "{chat_history}",
    ):
        for mode in ("context", "condense_plus_context"):
            yield Case(f"earlier-{mode}-{text}", {"kind": "earlier", "text": text, "mode": mode})


def theirs(given: Any) -> Any:
    from llama_index.core.llms import ChatMessage
    from llama_index.core.prompts import ChatPromptTemplate, PromptTemplate, SelectorPromptTemplate

    if given["kind"] == "earlier":
        return _their_second_turn(given)
    if given["kind"] == "form":
        from llama_index.core.types import BaseOutputParser

        said = [ChatMessage(role=role, content="Of {topic}") for role in given["roles"]]
        return _with_form(BaseOutputParser, PromptTemplate, ChatPromptTemplate, said, given)
    if given["kind"] in ("messages", "as text"):
        template: Any = ChatPromptTemplate(
            [ChatMessage(role=role, content=text) for role, text in given["messages"]]
        )
        if given["kind"] == "as text":
            return template.format(**given["values"])
        return [[said.role.value, said.content] for said in template.format_messages(**given["values"])]
    if given["kind"] == "chosen":
        chosen = SelectorPromptTemplate(
            PromptTemplate("plain"), [(lambda llm: llm is not None, PromptTemplate("other"))]
        )
        return chosen.format(llm=their_llm(in_turn([])) if given["chats"] else None)
    return _formatted(PromptTemplate, given)


def ours(given: Any) -> Any:
    from ragcore.prompts.templates import ChatPromptTemplate, PromptTemplate, SelectorPromptTemplate
    from ragcore.schema import ChatMessage, MessageRole

    if given["kind"] == "earlier":
        return _our_second_turn(given)
    if given["kind"] == "form":
        from ragcore.llamaindex.prompts.output_parsers import BaseOutputParser

        said = [ChatMessage(MessageRole(role), "Of {topic}") for role in given["roles"]]
        return _with_form(BaseOutputParser, PromptTemplate, ChatPromptTemplate, said, given)
    if given["kind"] in ("messages", "as text"):
        template: Any = ChatPromptTemplate(
            [ChatMessage(MessageRole(role), text) for role, text in given["messages"]]
        )
        if given["kind"] == "as text":
            return template.format(**given["values"])
        return [[said.role.value, said.content] for said in template.format_messages(**given["values"])]
    if given["kind"] == "chosen":
        chosen = SelectorPromptTemplate(
            PromptTemplate("plain"), [(lambda llm: llm is not None, PromptTemplate("other"))]
        )
        return chosen.format(llm=our_llm(in_turn([])) if given["chats"] else None)
    return _formatted(PromptTemplate, given)


def _with_form(parser: Any, plain: Any, chat: Any, said: list[Any], given: Any) -> Any:
    class InCapitals(parser):  # type: ignore[misc]  # theirs or ours
        def parse(self, output: str) -> str:
            return output.upper()

        def format(self, query: str) -> str:
            return f"{query} In {{capitals}}."

    one, several = plain("Of {topic}", output_parser=InCapitals()), chat(said, output_parser=InCapitals())
    said = several.partial_format(**given["values"]).format_messages()
    return [
        one.format(**given["values"]),
        [message.content for message in said],
        several.format(**given["values"]),
    ]


def _formatted(kind: Any, given: Any) -> Any:
    if given["kind"] == "partly":
        first = kind(given["text"])
        partly = first.partial_format(**given["first"])
        return [partly.format(**given["values"]), first.format(a="A", b="B")]
    if given["kind"] == "renamed":
        return kind(given["text"], template_var_mappings={"topic": "my_topic"}).format(**given["values"])
    if given["kind"] == "computed":
        computed = kind(
            given["text"], function_mappings={"topic": lambda **values: values["query_str"].upper() + "!"}
        )
        return computed.format(query_str=given["values"]["query_str"])
    return kind(given["text"]).format(**given["values"])


def _their_second_turn(given: Any) -> Any:
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.chat_engine import CondensePlusContextChatEngine, ContextChatEngine
    from llama_index.core.memory import ChatMemoryBuffer
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

    class Fixed(BaseRetriever):
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            return [NodeWithScore(node=TextNode(text="SECRET"), score=1.0)]

    prompts: list[str] = []
    kind: Any = ContextChatEngine if given["mode"] == "context" else CondensePlusContextChatEngine
    memory = ChatMemoryBuffer.from_defaults(token_limit=3000, tokenizer_fn=str.split)
    engine = kind.from_defaults(retriever=Fixed(), llm=their_llm(lambda _: "said", prompts), memory=memory)
    engine.chat(given["text"])
    engine.chat("and then?")
    return _as_written(given, prompts)


def _our_second_turn(given: Any) -> Any:
    from ragcore.chat_modes import chat_engine
    from ragcore.memory import ChatMemoryBuffer
    from ragcore.schema import NodeWithScore, QueryBundle, TextNode

    class Fixed:
        def retrieve(self, query: str | QueryBundle) -> list[NodeWithScore]:
            return [NodeWithScore(TextNode("SECRET"), 1.0)]

    prompts: list[str] = []
    model = our_llm(lambda _: "said", prompts)
    engine = chat_engine(given["mode"], llm=model, retriever=Fixed(), memory=ChatMemoryBuffer(3000))
    engine.chat(given["text"])
    engine.chat("and then?")
    return _as_written(given, prompts)


def _as_written(given: Any, prompts: list[str]) -> Any:
    """Whether the first message stands before the model in the last call as its user wrote it."""
    return {"as written": f"user: {given['text']}" in prompts[-1].split("\n")}


def explain(given: Any, theirs: Any, ours: Any) -> str:
    if given["kind"] == "earlier":
        return "D25" if ours == {"as written": True} and theirs == {"as written": False} else ""
    if given["kind"] == "filled":
        by_hand = re.sub(
            r"\{\{(\w+)\}\}|\{([a-z]\w*)\}", lambda found: _replaced(found, given["values"]), given["text"]
        )
        return "1.14" if ours == by_hand and "{{" in given["text"] else ""  # {{name}} is the text {name}
    return ""


def _replaced(found: re.Match[str], values: Any) -> str:
    return str(f"{{{found[1]}}}" if found[1] else values.get(found[2], found[0]))
