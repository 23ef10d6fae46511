"""A ReAct agent with a tool that searches documents looks something up before it answers, or says that it did
not."""

from __future__ import annotations

from ragcore.agent import ReActAgent
from ragcore.extractive.fixed_replies import NOT_LOOKED_UP
from ragcore.llms.scripted import ScriptedLLM
from ragcore.prompts.wording import LOOK_FIRST
from ragcore.schema import NodeWithScore, Response, TextNode
from ragcore.tools import QueryEngineTool
from tests.ragcore.agent.doubles import TOOLS, act, said

FOUND = NodeWithScore(TextNode("The limit is 40."))
LOOKED_UP = act("query_engine_tool", {"input": "limit"})


class Engine:
    def query(self, query: str, /) -> Response:
        return Response("Answer: it is 40 [1].", (FOUND,))


def agent(llm: ScriptedLLM) -> ReActAgent:
    return ReActAgent.from_tools([QueryEngineTool.from_defaults(Engine())], llm=llm)


def test_an_answer_before_any_search_is_sent_back_once() -> None:
    llm = ScriptedLLM([said("It is 50."), LOOKED_UP, said("It is 40 [1].")])
    answer = agent(llm).chat("What is the limit?")
    assert (answer.response, answer.source_nodes) == ("It is 40 [1].", (FOUND,))
    assert llm.calls[1].messages[-1].content.endswith(LOOK_FIRST)


def test_unsupported_answer_says_so_in_the_question_s_language() -> None:
    for question, language in [
        ("What is the limit of the railway?", "en"),
        ("Wie hoch ist die Grenze der Bahn?", "de"),
    ]:
        llm = ScriptedLLM([said("50."), said("50, I am sure.")])
        stream = agent(llm).stream_chat(question)
        assert "".join(stream) == f"50, I am sure.\n\n{NOT_LOOKED_UP[language]}"
        assert len(llm.calls) == 2


def test_without_a_search_tool_an_answer_is_an_answer() -> None:
    llm = ScriptedLLM([said("3.")])
    assert ReActAgent.from_tools(TOOLS, llm=llm).chat("1 + 2?").response == "3."


def test_function_call_syntax_counts_as_a_call() -> None:
    call = '```json\n{"name": "query_engine_tool", "arguments": {"input": "limit"}}\n```'
    llm = ScriptedLLM([call, said("It is 40 [1].")])
    stream = agent(llm).stream_chat("What is the limit?")
    assert "".join(stream).strip() == "It is 40 [1]."
    assistant, observed = llm.calls[1].messages[-2:]
    assert assistant.content == 'Thought: \nAction: query_engine_tool\nAction Input: {"input": "limit"}'
    assert observed.content == "Observation: A\u2060nswer: it is 40 [1]."


def test_unreadable_call_arguments_are_sent_back() -> None:
    llm = ScriptedLLM(
        ['{"name": "query_engine_tool", "arguments": "limit"}', LOOKED_UP, said("It is 40 [1].")]
    )
    assert agent(llm).chat("What is the limit?").response == "It is 40 [1]."
    assert "cannot be read as JSON" in llm.calls[1].messages[-1].content
