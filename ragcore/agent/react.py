"""The ReAct agent: works with tools through any model that can write, as text in a fixed form (Yao et al. 2022,
https://arxiv.org/abs/2210.03629). The conversation keeps messages and answers; thoughts and observations last for one task.

Small models like to answer at once. Where a tool searches documents, an answer before any tool was used is sent back once, and
one that comes all the same says so.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence
from contextlib import closing
from itertools import repeat

from ragcore.agent.base import Agent, Call, Task
from ragcore.agent.function_calling import read_call
from ragcore.agent.react_reply import ActionReasoningStep, UnreadableReplyError, answer_so_far, read_reply, thought_in
from ragcore.extractive.fixed_replies import NOT_LOOKED_UP, in_language_of
from ragcore.llms.base import Generation, LLMCall, Stream
from ragcore.llms.text_tool_calls import calls_in, may_be_calls
from ragcore.prompts.prompt import Passage, Prompt, Variables
from ragcore.prompts.wording import LOOK_FIRST, REACT, REACT_FINISH, observation, unreadable
from ragcore.schema import ChatMessage, MessageRole
from ragcore.tools import QueryEngineTool, RetrieverTool

__path__: list[str] = []  # inner paths are looked up in `ragcore.inner_paths`


class ReActAgent(Agent):
    """One tool a round. What cannot be read is answered with what is wrong, and the model tries again in the next round.

    `tool_choice` is not for this agent: the model chooses.
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
            "observations": tuple(Passage(result) for done in task.rounds for result in done.observed),
        }
        return self._fitted(LLMCall(self.prompt, variables), task, coda=REACT_FINISH if last else "")

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
        if any(LOOK_FIRST in result for done in task.rounds for result in done.observed):
            return f"{read.response}\n\n{in_language_of(task.message, NOT_LOOKED_UP)}"
        return [Call("", problem=LOOK_FIRST)]

    def _seen(self, generation: Generation, calls: Sequence[Call], results: Sequence[str]) -> tuple[ChatMessage, ...]:
        said = generation.text.strip()
        if calls[0].tool:
            # Without what the model made up behind the action.
            arguments = json.dumps(calls[0].arguments, ensure_ascii=False)
            said = f"Thought: {thought_in(said)}\nAction: {calls[0].tool}\nAction Input: {arguments}"
        return ChatMessage(MessageRole.ASSISTANT, said), ChatMessage(MessageRole.USER, observation(results[0]))

    def _said(self, task: Task, pieces: Stream) -> Generator[str, None, tuple[Generation, str]]:
        text = shown = ""
        held = _must_look_first(task)
        with closing(pieces):
            while True:
                try:
                    text += next(pieces)
                except StopIteration as stop:
                    return stop.value, shown
                answer = "" if held or may_be_calls(text) else answer_so_far(text)
                more = answer[len(shown) :] if answer.startswith(shown) else ""
                shown += more
                yield more


def _must_look_first(task: Task) -> bool:
    """Whether a tool searches documents, and none has been used yet."""
    searching = any(isinstance(tool, QueryEngineTool | RetrieverTool) for tool in task.tools.values())
    return searching and not task.sources


def _calls_in(reply: str, task: Task) -> list[Call]:
    """The calls of a reply that has no form of ours but that of models which call functions."""
    calls = calls_in(reply, [tool.metadata.to_openai_tool() for tool in task.tools.values()], repeat(""))
    return [read_call(call) for call in calls]
