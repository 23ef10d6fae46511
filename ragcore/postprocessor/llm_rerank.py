"""Passages ranked by a language model: scored in batches, or ordered in windows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar

from ragcore.llms.base import LLM
from ragcore.llms.context_window import rank_texts
from ragcore.observe import span
from ragcore.postprocessor.base import BaseNodePostprocessor, question_of
from ragcore.prompts.prompt import Prompt
from ragcore.prompts.templates import Wording, replace_prompt
from ragcore.prompts.wording import CHOICE_SELECT
from ragcore.schema import NodeWithScore, QueryBundle
from ragcore.settings import services
from ragcore.text.rank_replies import parse_ranking, parse_scores

_ORDER = re.compile(r"\[\d+\](?:\s*>\s*\[\d+\])+")  # [2] > [1]


class LLMRerank(BaseNodePostprocessor):
    """The `top_n` most helpful passages; the score is the model's rating, 0 to 10. One call per batch.
    Passages that the model does not name are dropped.

    Passages that are too long for a call are cut in it, which the span "choose" notes. If no reply is
    readable, the result is the first `top_n` passages unchanged, which the span "rerank" notes.

    >>> from ragcore.llms import ScriptedLLM
    >>> from ragcore.schema import TextNode
    >>> hits = [NodeWithScore(TextNode("A red boat.")), NodeWithScore(TextNode("A green tree."))]
    >>> rerank = LLMRerank(llm=ScriptedLLM(["Doc: 2, Relevance: 9"]))
    >>> [hit.text for hit in rerank.postprocess_nodes(hits, query_str="Which tree?")]
    ['A green tree.']
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
        self._prompt = replace_prompt(CHOICE_SELECT, choice_select_prompt, self._llm)
        self._batch = choice_batch_size
        self._top_n = top_n

    def _postprocess_nodes(
        self, nodes: Sequence[NodeWithScore], query_bundle: QueryBundle | None
    ) -> list[NodeWithScore]:
        question = question_of(query_bundle)
        ranked: list[NodeWithScore] = []
        unreadable = 0
        with span("rerank") as step:
            batches = [nodes[start : start + self._batch] for start in range(0, len(nodes), self._batch)]
            for batch in batches:
                reply = _opinion(self._llm, self._prompt, batch, question)
                scores = dict(parse_ranking(reply, len(batch)))
                unreadable += bool(reply.strip()) and not scores
                ranked += [NodeWithScore(batch[place].node, score) for place, score in scores.items()]
            step.note(unreadable=unreadable)
        if batches and unreadable == len(batches):
            return list(nodes[: max(self._top_n, 0)])
        return sorted(ranked, key=lambda hit: -hit.get_score())[: max(self._top_n, 0)]


StructuredLLMRerank = LLMRerank


class RankGPTRerank(BaseNodePostprocessor):
    """The first `top_n` in the order of a model (Sun et al. 2023, "Is ChatGPT Good at Search?",
    https://arxiv.org/abs/2304.09542).

    The model orders a window of `window_size` passages at a time, from the back to the front; those that it
    does not name stay behind the others. Windows overlap by all but `step`, so that the best rise to the
    front. One call per window. Every passage keeps its score. Passages that are too long for a call lose
    their ends in it, which the span "choose" notes.

    >>> from ragcore.llms import ScriptedLLM
    >>> from ragcore.schema import TextNode
    >>> hits = [NodeWithScore(TextNode("A red boat.")), NodeWithScore(TextNode("A green tree."))]
    >>> rerank = RankGPTRerank(llm=ScriptedLLM(["[2] > [1]"]))
    >>> [hit.text for hit in rerank.postprocess_nodes(hits, query_str="Which tree?")]
    ['A green tree.', 'A red boat.']
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
        self._prompt = replace_prompt(CHOICE_SELECT, rankgpt_rerank_prompt, self._llm)
        self._top_n = top_n
        self._window = window_size
        self._step = step

    def _postprocess_nodes(
        self, nodes: Sequence[NodeWithScore], query_bundle: QueryBundle | None
    ) -> list[NodeWithScore]:
        question = question_of(query_bundle)
        ordered = list(nodes)
        end = len(ordered)
        while end > 0:
            start = max(end - self._window, 0)
            window = ordered[start:end]
            first = self._read_order(_opinion(self._llm, self._prompt, window, question), len(window))
            ordered[start:end] = [window[place] for place in dict.fromkeys([*first, *range(len(window))])]
            end = end - self._step if start else 0
        return ordered[: max(self._top_n, 0)]

    def _read_order(self, reply: str, count: int) -> list[int]:
        """The places that the reply names, the most helpful first: "[2] > [1]", or lines as LLMRerank reads
        them."""
        if order := _ORDER.search(reply):
            places = dict.fromkeys(int(number) - 1 for number in re.findall(r"\d+", order.group()))
            return [place for place in places if 0 <= place < count]
        return [place for place, _ in sorted(parse_scores(reply, count), key=lambda pair: -pair[1])]


def _opinion(llm: LLM, prompt: Prompt, nodes: Sequence[NodeWithScore], question: str) -> str:
    with span("choose", texts=len(nodes)) as step:
        return rank_texts(llm, prompt, question, [hit.text for hit in nodes], step)
