"""The ReAct agent calls tools through any model, as text in a fixed form (Yao et al. 2022,
https://arxiv.org/abs/2210.03629). The conversation stores messages and answers; thoughts and observations
last for one task.

Small models often answer at once. If a tool searches documents, the agent rejects the first answer that comes
before any tool call. A second one is accepted, with a notice that nothing was looked up.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence
from contextlib import closing
from itertools import repeat

from ragcore.agent.base import Agent, Call, Task
from ragcore.agent.function_calling import read_call
from ragcore.agent.react_reply import (
    ActionReasoningStep,
    UnreadableReplyError,
    answer_so_far,
    read_reply,
    thought_in,
)
from ragcore.extractive.fixed_replies import NOT_LOOKED_UP, in_language_of
from ragcore.llms.base import Generation, LLMCall, Pieces, Stream
from ragcore.llms.text_tool_calls import calls_in, may_be_calls
from ragcore.prompts.prompt import Passage, Prompt, Variables
from ragcore.prompts.wording import LOOK_FIRST, REACT, REACT_FINISH, observation, unreadable
from ragcore.schema import ChatMessage, MessageRole
from ragcore.tools import QueryEngineTool, RetrieverTool


class ReActAgent(Agent):
    """Calls one tool per round. The answer to an unreadable reply is its error, and the model tries again in
    the next round.

    This agent ignores `tool_choice`: the model chooses.

    >>> from ragcore.llms import ScriptedLLM
    >>> from ragcore.tools import FunctionTool
    >>> def add(a: int, b: int) -> int:
    ...     return a + b
    >>> llm = ScriptedLLM(['Action: add\\nAction Input: {"a": 1, "b": 2}', "Answer: It is 3."])
    >>> str(ReActAgent.from_tools([FunctionTool.from_defaults(add)], llm=llm).chat("1 + 2?"))
    'It is 3.'
    """

    mode = "react"
    prompt: Prompt = REACT

    def _call(self, task: Task, *, last: bool) -> LLMCall:
        cards = tuple(tool.metadata.card for tool in task.tools.values())
        variables: Variables = {
            "system_prompt": self._system_prompt,
            "tools": cards,
            "tool_names": ", ".join(card.name for card in cards),
            "query_str": task.message,
            "observations": tuple(Passage(result) for done in task.rounds for result in done.observations),
        }
        return self._fit(LLMCall(self.prompt, variables), task, coda=REACT_FINISH if last else "")

    def _read(self, task: Task, generation: Generation) -> str | Sequence[Call]:
        if calls := _calls_in(generation.text, task):
            return calls[:1]
        try:
            read = read_reply(generation.text, task.tools)
        except UnreadableReplyError as error:
            return [Call("", problem=unreadable(str(error)))]
        if isinstance(read, ActionReasoningStep):
            return [Call(read.action, dict(read.action_input))]
        if not _must_look_first(task):
            return read.response
        if task.was_sent_back:
            return f"{read.response}\n\n{in_language_of(task.message, NOT_LOOKED_UP)}"
        task.was_sent_back = True
        return [Call("", problem=LOOK_FIRST)]

    def _messages(
        self, generation: Generation, calls: Sequence[Call], results: Sequence[str]
    ) -> tuple[ChatMessage, ...]:
        text = generation.text.strip()
        if calls[0].tool:
            # A model often invents an observation behind its action. The text is rebuilt without it.
            arguments = json.dumps(calls[0].arguments, ensure_ascii=False)
            text = f"Thought: {thought_in(text)}\nAction: {calls[0].tool}\nAction Input: {arguments}"
        return ChatMessage(MessageRole.ASSISTANT, text), ChatMessage(
            MessageRole.USER, observation(results[0])
        )

    def _stream_answer(self, task: Task, pieces: Stream) -> Generator[str, None, tuple[Generation, str]]:
        text = streamed = ""
        may_reject = _must_look_first(task)
        with closing(Pieces(pieces)) as stream:
            for piece in stream:
                text += piece
                answer = "" if may_reject or may_be_calls(text) else answer_so_far(text)
                more = answer[len(streamed) :] if answer.startswith(streamed) else ""
                streamed += more
                yield more
            return stream.result, streamed


def _must_look_first(task: Task) -> bool:
    """Whether a tool searches documents and no tool has run yet."""
    searching = any(isinstance(tool, QueryEngineTool | RetrieverTool) for tool in task.tools.values())
    return searching and not task.sources


def _calls_in(reply: str, task: Task) -> list[Call]:
    """The calls of a reply in the text format of a function-calling model instead of the ReAct form."""
    calls = calls_in(reply, [tool.metadata.to_openai_tool() for tool in task.tools.values()], repeat(""))
    return [read_call(call) for call in calls]
