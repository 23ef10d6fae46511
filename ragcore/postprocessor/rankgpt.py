"""Passages put in order by a language model, a window at a time from the back to the front.

Sun et al. 2023, "Is ChatGPT Good at Search?" (https://arxiv.org/abs/2304.09542).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ragcore.llms.base import LLM
from ragcore.postprocessor.base import BaseNodePostprocessor, asked
from ragcore.postprocessor.llm_relevance import in_order_of
from ragcore.prompts.templates import Wording, in_place_of
from ragcore.prompts.wording import CHOICE_SELECT
from ragcore.schema import NodeWithScore, QueryBundle
from ragcore.settings import services


class RankGPTRerank(BaseNodePostprocessor):
    """The first `top_n` of the model's order; every passage keeps its score.

    In each window of `window_size` passages those that the model names come first, the most helpful at the top, and the others
    stay behind them as they were. Windows overlap by all but `step`, so that the best rise to the front. One call a window;
    passages that are too long for it lose their ends there, which a span "choose" says.
    """

    prompt_attributes: ClassVar = {"rankgpt_rerank_prompt": "_prompt"}

    def __init__(
        self,
        top_n: int = 5,
        llm: LLM | None = None,
        rankgpt_rerank_prompt: Wording = CHOICE_SELECT,
        *,
        window_size: int = 20,
        step: int = 10,
    ) -> None:
        if not 0 < step <= window_size:
            raise ValueError(f"step must be from 1 to window_size, {window_size}, not {step}")
        self._llm = services(llm).llm
        self._prompt = in_place_of(CHOICE_SELECT, rankgpt_rerank_prompt, self._llm)
        self._top_n = top_n
        self._window = window_size
        self._step = step

    def _postprocess_nodes(self, nodes: Sequence[NodeWithScore], query_bundle: QueryBundle | None) -> list[NodeWithScore]:
        question = asked(query_bundle).query_str
        ordered = list(nodes)
        end = len(ordered)
        while end > 0:
            start = max(end - self._window, 0)
            ordered[start:end] = self._ordered(ordered[start:end], question)
            end = end - self._step if start else 0
        return ordered[: max(self._top_n, 0)]

    def _ordered(self, window: list[NodeWithScore], question: str) -> list[NodeWithScore]:
        first = in_order_of(self._llm, self._prompt, window, question)
        return [window[place] for place in dict.fromkeys([*first, *range(len(window))])]
