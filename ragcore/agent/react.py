"""The ReAct agent: works with tools through any model that can write, as text in a fixed form (Yao et al. 2022,
https://arxiv.org/abs/2210.03629). The conversation keeps messages and answers; thoughts and observations last for one task.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence
from contextlib import closing

from ragcore.agent.base import Agent, Call, Task
from ragcore.agent.react_reply import Act, Answer, UnreadableReplyError, answer_so_far, read_reply
from ragcore.llms.base import Generation, LLMCall, Stream
from ragcore.prompts.prompt import Passage, Prompt, Variables
from ragcore.prompts.wording import REACT, REACT_FINISH, observation, unreadable
from ragcore.schema import ChatMessage, MessageRole


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
        try:
            read = read_reply(generation.text, task.tools)
        except UnreadableReplyError as error:
            return [Call("", problem=unreadable(str(error)))]
        return read.text if isinstance(read, Answer) else [Call(read.tool, dict(read.arguments))]

    def _seen(self, generation: Generation, calls: Sequence[Call], results: Sequence[str]) -> tuple[ChatMessage, ...]:
        try:
            read = read_reply(generation.text)
        except UnreadableReplyError:
            said = generation.text.strip()
        else:
            assert isinstance(read, Act)
            # Without what the model made up behind the action.
            arguments = json.dumps(read.arguments, ensure_ascii=False)
            said = f"Thought: {read.thought}\nAction: {calls[0].tool}\nAction Input: {arguments}"
        return ChatMessage(MessageRole.ASSISTANT, said), ChatMessage(MessageRole.USER, observation(results[0]))

    def _said(self, pieces: Stream) -> Generator[str, None, tuple[Generation, str]]:
        text = shown = ""
        with closing(pieces):
            while True:
                try:
                    text += next(pieces)
                except StopIteration as stop:
                    return stop.value, shown
                answer = answer_so_far(text)
                more = answer[len(shown) :] if answer.startswith(shown) else ""
                shown += more
                yield more
