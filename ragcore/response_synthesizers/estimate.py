"""What an answer would cost, before it is asked for: the mode is run for real, with a model that only pretends to answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ragcore.llms.base import LLM, Generation, LLMCall, LLMMetadata
from ragcore.observe import Span, under
from ragcore.prompts.prompt import RenderedMessage
from ragcore.response_synthesizers.modes import Prompts, ResponseMode
from ragcore.response_synthesizers.synthesizer import Synthesizer
from ragcore.schema import ChatMessage, NodeWithScore


@dataclass(frozen=True, slots=True)
class Estimate:
    """`calls` and `prompt_tokens` are exact if each answer has the assumed length."""

    calls: int
    prompt_tokens: int
    completion_tokens: int


def estimate(
    mode: ResponseMode | str,
    llm: LLM,
    question: str,
    nodes: Sequence[NodeWithScore],
    history: Sequence[ChatMessage] = (),
    *,
    prompts: Prompts | None = None,
    system_prompt: str = "",
    answer_tokens: int = 150,
) -> Estimate:
    """Nothing is sent, and the trace of the caller stays as it is. ContextWindowError where the real thing would raise it."""
    synthesizer = Synthesizer(Pretender(llm, answer_tokens), mode, prompts, system_prompt=system_prompt)
    with under(Span("estimate")):
        trace = synthesizer.synthesize(question, nodes, history).trace
    assert trace is not None  # a synthesizer always gives one
    return Estimate(trace.facts["calls"], trace.facts["prompt_tokens"], trace.facts["completion_tokens"])


class Pretender(LLM):
    """Has the window and the tokens of another model, and answers nothing in particular at the given length."""

    def __init__(self, llm: LLM, answer_tokens: int) -> None:
        self._llm = llm
        self.answer = " ".join(["word"] * min(answer_tokens, llm.metadata.num_output))

    @property
    def metadata(self) -> LLMMetadata:
        return self._llm.metadata

    def count_tokens(self, text: str) -> int:
        return self._llm.count_tokens(text)

    def _generate(self, call: LLMCall, messages: Sequence[RenderedMessage]) -> Generation:
        return Generation(self.answer, self.usage(messages, self.answer))
