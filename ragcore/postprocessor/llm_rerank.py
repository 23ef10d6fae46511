"""The passages that a language model finds most helpful."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ragcore.llms.base import LLM
from ragcore.observe import span
from ragcore.postprocessor.base import BaseNodePostprocessor, asked
from ragcore.postprocessor.llm_relevance import judged
from ragcore.prompts.templates import Wording, in_place_of
from ragcore.prompts.wording import CHOICE_SELECT
from ragcore.schema import NodeWithScore, QueryBundle
from ragcore.settings import services


class LLMRerank(BaseNodePostprocessor):
    """The `top_n` most helpful, with the model's 0 to 10 as score; what it does not name goes. One call a batch.

    Passages that are too long for a call lose their ends there, which a span "choose" says.
    When not one reply can be read, the passages stay as they were found, `top_n` of them, and the span "rerank" says so.
    """

    prompt_attributes: ClassVar = {"choice_select_prompt": "_prompt"}

    def __init__(
        self,
        llm: LLM | None = None,
        choice_select_prompt: Wording = CHOICE_SELECT,
        choice_batch_size: int = 10,
        top_n: int = 10,
    ) -> None:
        if choice_batch_size < 1:
            raise ValueError(f"choice_batch_size must be at least 1, not {choice_batch_size}")
        self._llm = services(llm).llm
        self._prompt = in_place_of(CHOICE_SELECT, choice_select_prompt, self._llm)
        self._batch = choice_batch_size
        self._top_n = top_n

    def _postprocess_nodes(self, nodes: Sequence[NodeWithScore], query_bundle: QueryBundle | None) -> list[NodeWithScore]:
        question = asked(query_bundle).query_str
        ranked: list[NodeWithScore] = []
        unreadable = 0
        with span("rerank") as step:
            batches = [nodes[start : start + self._batch] for start in range(0, len(nodes), self._batch)]
            for batch in batches:
                scores = judged(self._llm, self._prompt, batch, question)
                unreadable += scores is None
                ranked += [NodeWithScore(batch[place].node, score) for place, score in (scores or {}).items()]
            step.note(unreadable=unreadable)
        if batches and unreadable == len(batches):
            return list(nodes[: max(self._top_n, 0)])
        return sorted(ranked, key=lambda hit: -hit.get_score())[: max(self._top_n, 0)]
