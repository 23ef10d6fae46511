"""The calls of an answer, and the tokens of their prompts, by a formula.

The first call with each prompt is packed with the real question, passages and conversation. This gives the
size of the prompt without passages, and its room for passages. All else follows from the sizes of the
passages and from what the response mode declares. Replies are expected to have `answer_tokens`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from lectern.ask.suggested_questions import spread
from lectern.schema import Ask
from ragcore.chat_engine.base import get_memory
from ragcore.chat_modes import ChatMode, in_conversation, mode_prompts
from ragcore.extractive.answerer import as_llm
from ragcore.extractive.quoter import Quoter
from ragcore.extractive.small_talk import reply_to
from ragcore.llms.base import LLM, LLMCall
from ragcore.llms.tool_call import ToolCall
from ragcore.prompts.prompt import Passage, Prompt, Variable, Variables
from ragcore.prompts.wording import CONDENSE_QUESTION, DEFAULT_SYSTEM_PROMPT, SIMPLE_CHAT
from ragcore.response_synthesizers.modes import Prompts, override_prompts
from ragcore.response_synthesizers.packer import MESSAGE_TOKENS, Packer, Passages
from ragcore.response_synthesizers.quoting import MAX_CHARS
from ragcore.response_synthesizers.response_mode import ResponseMode
from ragcore.schema import ChatMessage, MessageRole

MAX_COUNTED = 800  # passages whose tokens are counted; of more, a sample


@dataclass(slots=True)
class Sizes:
    """The tokens of each prompt, and of all replies."""

    prompts: list[int] = field(default_factory=list)
    written: int = 0

    def add(self, prompts: Sequence[int], reply_tokens: int) -> None:
        self.prompts += prompts
        self.written += len(prompts) * reply_tokens


@dataclass(frozen=True, slots=True)
class Frame:
    """A prompt without passages: its tokens, and those that it leaves for passages."""

    tokens: int
    room: int


@dataclass(frozen=True, slots=True)
class Conversation:
    """What an answer is computed from, besides its ask and its passages."""

    history: Sequence[ChatMessage] = ()
    system_prompt: str = ""
    wording: dict[str, Prompt] = field(default_factory=dict)


def call_sizes(
    ask: Ask, writer: LLM | Quoter, passages: Passages, conversation: Conversation, answer_tokens: int
) -> Sizes:
    """The calls of an answer from these passages. ContextWindowError if the question does not fit."""
    if isinstance(writer, Quoter):
        return _quoting_sizes(ask, writer, passages, conversation, answer_tokens)
    sizes = Sizes()
    answer_tokens = min(answer_tokens, writer.metadata.num_output)
    wording = conversation.wording
    if ask.reading == "everything":
        written = _Written(writer, override_prompts(wording), ask.question, "", (), answer_tokens)
        sizes.add(written.prompt_sizes(ResponseMode(ask.response_mode), passages), answer_tokens)
    elif ask.chat_mode is None:
        prompts = in_conversation(override_prompts(wording))
        written = _Written(writer, prompts, ask.question, conversation.system_prompt, (), answer_tokens)
        sizes.add(written.prompt_sizes(ResponseMode(ask.response_mode), passages), answer_tokens)
    else:
        _add_turn(sizes, ask, writer, passages, conversation, answer_tokens)
    return sizes


def _add_turn(
    sizes: Sizes, ask: Ask, llm: LLM, passages: Passages, conversation: Conversation, answer_tokens: int
) -> None:
    """The calls of a message of a conversation, as its chat mode makes them."""
    mode, wording = ChatMode(ask.chat_mode).for_writer(llm), conversation.wording
    history = tuple(get_memory(llm, None, conversation.history).get())
    if mode in (ChatMode.CONDENSE_QUESTION, ChatMode.CONDENSE_PLUS_CONTEXT) and history:
        condense = wording.get(CONDENSE_QUESTION.name, CONDENSE_QUESTION)
        variables: Variables = {"chat_history": history, "question": ask.question}
        call = Packer(llm).take(condense, variables, ()).calls[0]
        sizes.add([llm.prompt_tokens(call)], llm.count_tokens(ask.question))
    if mode is ChatMode.CONDENSE_QUESTION:
        history = ()
    system_prompt = conversation.system_prompt
    agents = (ChatMode.REACT, ChatMode.OPENAI)
    written = _Written(
        llm,
        mode_prompts(mode, wording),
        ask.question,
        system_prompt,
        () if mode in agents else history,
        answer_tokens,
    )
    if mode is ChatMode.SIMPLE:
        sizes.add([written.without_passages(wording.get(SIMPLE_CHAT.name, SIMPLE_CHAT))], answer_tokens)
        return
    prompts = written.prompt_sizes(ResponseMode(ask.response_mode), passages)
    if mode not in agents:
        sizes.add(prompts, answer_tokens)
        return
    # An agent is expected to use its tool once: it decides, the tool answers, and it answers.
    results = len(prompts) if ResponseMode(ask.response_mode).traits.shape == "rows" else min(len(prompts), 1)
    result = " ".join([written.reply] * results)
    first, action, last = _agent_sizes(mode, llm, ask.question, conversation, history, result)
    sizes.add([first], action)
    sizes.add(prompts, answer_tokens)
    sizes.add([last], answer_tokens)


def _agent_sizes(
    mode: ChatMode,
    llm: LLM,
    question: str,
    conversation: Conversation,
    history: Sequence[ChatMessage],
    result: str,
) -> tuple[int, int, int]:
    """The tokens of an agent's first prompt, of the reply that calls its tool, and of the prompt with the
    tool's result."""
    from ragcore.agent.context_window import fit_call
    from ragcore.prompts.wording import AGENT, REACT
    from ragcore.tools import QUERY_ENGINE_TOOL

    name, arguments = QUERY_ENGINE_TOOL.name, json.dumps({"input": question}, ensure_ascii=False)
    variables: dict[str, Variable] = {"query_str": question}
    variables["system_prompt"] = conversation.system_prompt or DEFAULT_SYSTEM_PROMPT
    if mode is ChatMode.OPENAI:
        call = LLMCall(AGENT, variables, tools=(QUERY_ENGINE_TOOL.to_openai_tool(),))
        wish = ToolCall.of("call", name, arguments)
        action = json.dumps(wish, ensure_ascii=False)
        rounds = [
            ChatMessage(MessageRole.ASSISTANT, "", additional_kwargs={"tool_calls": [wish]}),
            ChatMessage(MessageRole.TOOL, result, name, {"tool_call_id": "call", "name": name}),
        ]
    else:
        variables |= {"tools": (QUERY_ENGINE_TOOL.card,), "tool_names": name, "observations": ()}
        call = LLMCall(conversation.wording.get(REACT.name, REACT), variables)
        action = f"Thought: I look.\nAction: {name}\nAction Input: {arguments}"
        rounds = [
            ChatMessage(MessageRole.ASSISTANT, action),
            ChatMessage(MessageRole.USER, f"Observation: {result}"),
        ]
    before = fit_call(llm, call, history, question, [])
    after = fit_call(llm, call, history, question, rounds)
    return llm.prompt_tokens(before), llm.count_tokens(action), llm.prompt_tokens(after)


def _quoting_sizes(
    ask: Ask, quoter: Quoter, passages: Passages, conversation: Conversation, answer_tokens: int
) -> Sizes:
    """As the facts of an answer that quotes count them: a step reads the texts of its passages alone."""
    sizes = Sizes()
    if reply_to(ask.question, conversation.history):
        return sizes
    mode = ResponseMode(ask.response_mode)
    count = as_llm(quoter).count_tokens
    tokens = [count(passage.text) for passage in passages]
    chars = sum(len(passage.text) for passage in passages)
    frame = Frame(0, MAX_CHARS * sum(tokens) // chars if chars else MAX_CHARS)
    if ask.reading == "best" and ask.chat_mode is not None:
        chat_mode = ChatMode(ask.chat_mode).for_writer(quoter)
        if chat_mode in (ChatMode.CONDENSE_QUESTION, ChatMode.CONDENSE_PLUS_CONTEXT):
            sizes.add([0] if conversation.history else [], 0)
        elif chat_mode is ChatMode.SIMPLE:
            sizes.add([0], answer_tokens)
        elif chat_mode is not ChatMode.CONTEXT:
            sizes.add([0, 0], answer_tokens)
    if passages:
        sizes.add(_sizes_by_shape(mode, tokens, frame, frame, 0), answer_tokens)
    return sizes


@dataclass(slots=True)
class _Written:
    """The calls of a model that answer one question."""

    llm: LLM
    prompts: Prompts
    question: str
    system_prompt: str
    history: tuple[ChatMessage, ...]
    answer_tokens: int

    @property
    def reply(self) -> str:
        """A reply without meaning."""
        return " ".join(["word"] * self.answer_tokens)

    def prompt_sizes(self, mode: ResponseMode, passages: Passages) -> list[int]:
        """The tokens of the prompt of each call. Without passages there is no call."""
        if not passages or mode.traits.shape == "none":
            return []
        first, *others = [getattr(self.prompts, kind) for kind in mode.traits.prompts]
        if not mode.reads_passages:
            return [self.without_passages(first)]
        frame = self._frame(first, passages, mode)
        then = frame
        sample = spread(passages, MAX_COUNTED)
        counted = [self.llm.count_tokens(f"{passage}\n\n") for passage in sample]
        sizes = [counted[row * len(counted) // len(passages)] for row in range(len(passages))]
        if others and len(passages) > 1:
            then = self._frame(others[0], passages, mode, existing_answer=self.reply)
        summary = self.llm.count_tokens(f"{Passage(self.reply)}\n\n")
        heading = self.llm.count_tokens(f"{replace(passages[0], text='')}\n\n")
        return _sizes_by_shape(mode, sizes, frame, then, summary, heading)

    def without_passages(self, prompt: Prompt) -> int:
        call = Packer(self.llm).take(prompt, self._variables(), (), self.history).calls[0]
        return self.llm.prompt_tokens(call)

    def _frame(self, prompt: Prompt, passages: Passages, mode: ResponseMode, **further: str) -> Frame:
        packer, variables = Packer(self.llm), {**self._variables(), **further}
        if mode.traits.packing == "cut":
            call = packer.squeeze(prompt, variables, passages, self.history)
        else:
            call = packer.take(prompt, variables, passages, self.history, most=1).calls[0]
        bare = replace(call, variables={**call.variables, "context_str": ()})
        tokens, about = self.llm.prompt_tokens(bare), self.llm.metadata
        marks = MESSAGE_TOKENS * len(bare.messages())
        return Frame(tokens, about.context_window - about.num_output - tokens - marks)

    def _variables(self) -> dict[str, str]:
        return {"query_str": self.question, "system_prompt": self.system_prompt or DEFAULT_SYSTEM_PROMPT}


def _sizes_by_shape(
    mode: ResponseMode, sizes: Sequence[int], first: Frame, then: Frame, summary: int, heading: int = 0
) -> list[int]:
    """The tokens of each prompt. `first` is the prompt of the first call, `then` that of the others;
    `summary` are the tokens of a reply that another call reads, `heading` those of a passage without text."""
    if mode.traits.shape == "none":
        return []
    if mode.traits.packing == "none":
        return [first.tokens]
    if mode.traits.packing == "cut":
        return [first.tokens + min(sum(sizes), first.room)]
    packs = _fill(sizes, first.room, then.room, mode.max_passages, heading)
    prompts = [first.tokens + packs[0], *(then.tokens + pack for pack in packs[1:])]
    if mode.traits.shape == "tree":
        waiting = len(packs)
        while waiting > 1:
            packs = _fill([summary] * waiting, first.room, first.room)
            if len(packs) >= waiting:  # two summaries are shortened to fit
                packs = [min(2 * summary, first.room)] * (waiting // 2) + [summary] * (waiting % 2)
            prompts += [first.tokens + pack for pack in packs]
            waiting = len(packs)
    return prompts


def _fill(
    sizes: Sequence[int], first: int, then: int, most: int | None = None, heading: int = 0
) -> list[int]:
    """The tokens of the passages of each call, in order: `first` at most in the first call, `then` in the
    others, and at most `most` passages. A larger passage is divided; each part has its `heading`."""
    packs: list[int] = []
    used = count = 0
    room = first
    for size in sizes:
        if count and (used + size > room or count == most):
            packs.append(used)
            used = count = 0
            room = then
        while size > room:
            packs.append(room)
            size -= max(room - heading, 1)
            room = then
        used += size
        count += 1
    return [*packs, used]
