"""One list of passages from those of several retrievers.

reciprocal_rerank is reciprocal rank fusion (Cormack et al. 2009, https://doi.org/10.1145/1571941.1572114)
with ranks from 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import cycle
from typing import ClassVar, Literal, TypeAlias, get_args

from ragcore.concurrency import in_order
from ragcore.llms.base import LLM, LLMCall
from ragcore.observe import Span
from ragcore.prompts.templates import Wording, replace_prompt
from ragcore.prompts.wording import REPHRASE
from ragcore.retrievers.base import BaseRetriever
from ragcore.schema import NodeWithScore, QueryBundle
from ragcore.settings import services
from ragcore.text.list_replies import parse_list

FusionMode: TypeAlias = Literal["reciprocal_rerank", "relative_score", "dist_based_score", "simple"]

RANK_OFFSET = 60.0
WORKERS = 4


class QueryFusionRetriever(BaseRetriever):
    """Retrieves for the question and for similar questions in parallel, and fuses the results; see `fuse`.

    The model writes the similar questions in one call. There are at most `num_queries` in all; with 1 there
    is no call.

    >>> from ragcore.llms import ScriptedLLM
    >>> from ragcore.llamaindex.retrievers import BM25Retriever
    >>> from ragcore.schema import TextNode
    >>> bm25 = BM25Retriever.from_defaults(
    ...     nodes=[TextNode("The valve is bronze."), TextNode("The rope is steel.")]
    ... )
    >>> fusion = QueryFusionRetriever([bm25], ScriptedLLM(["What is the rope made of?"]), num_queries=2)
    >>> fusion.retrieve("Which rope?")[0].text
    'The rope is steel.'
    """

    name = "fusion"
    prompt_attributes: ClassVar = {"query_gen_prompt": "_prompt"}

    def __init__(
        self,
        retrievers: Sequence[BaseRetriever],
        llm: LLM | None = None,
        query_gen_prompt: Wording = REPHRASE,
        mode: FusionMode = "reciprocal_rerank",
        similarity_top_k: int = 2,
        num_queries: int = 4,
        use_async: bool = True,
        retriever_weights: Sequence[float] | None = None,
        *,
        verbose: bool = False,
    ) -> None:
        """Without `use_async` one search follows the other."""
        if num_queries < 1:
            raise ValueError(f"num_queries must be at least 1, not {num_queries}")
        if mode not in get_args(FusionMode):
            raise ValueError(f"mode must be one of {', '.join(get_args(FusionMode))}, not {mode!r}")
        self.verbose = verbose
        self._retrievers = tuple(retrievers)
        self._llm = services(llm).llm
        self._prompt = replace_prompt(REPHRASE, query_gen_prompt, self._llm)
        self._mode = mode
        self._top_k = similarity_top_k
        self._num_queries = num_queries
        self._workers = WORKERS if use_async else 1
        self._weights = checked_weights(retriever_weights, len(self._retrievers))

    def _retrieve(self, query: QueryBundle, step: Span) -> list[NodeWithScore]:
        questions = [query, *(QueryBundle(other) for other in self._rephrase(query.query_str))]
        step.note(questions=[question.query_str for question in questions])
        pairs = [(retriever, question) for question in questions for retriever in self._retrievers]
        lists = in_order(lambda pair: pair[0].retrieve(pair[1]), pairs, workers=self._workers)
        return fuse(lists, self._mode, self._weights, self._num_queries)[: max(self._top_k, 0)]

    def _rephrase(self, question: str) -> list[str]:
        most = self._num_queries - 1
        if not most or not question.strip():
            return []
        call = LLMCall(self._prompt, {"num_queries": str(most), "query_str": question})
        return [line for line in parse_list(self._llm.generate(call).text) if line != question][:most]


def fuse(
    lists: Sequence[Sequence[NodeWithScore]], mode: FusionMode, weights: Sequence[float], num_queries: int = 1
) -> list[NodeWithScore]:
    """The passages of all lists, each once, best first; ties in their order.

    `weights` are the retrievers' shares and add up to 1; `lists` are their results for the first question,
    then for the next. Scores: reciprocal_rerank sums weight * len(weights) / (rank + 60), rank from 0;
    relative_score sums weight / num_queries * the score brought to 0..1 between the list's lowest and
    highest; dist_based_score the same between three standard deviations below and above the list's mean;
    simple takes the highest score and knows no weights.
    """
    nodes = {hit.node.id_: hit.node for hits in lists for hit in reversed(hits)}
    scores: dict[str, float] = {}
    for hits, weight in zip(lists, cycle(weights), strict=False):
        if mode == "reciprocal_rerank":
            for rank, hit in enumerate(hits):
                id_ = hit.node.id_
                scores[id_] = scores.get(id_, 0.0) + weight * len(weights) / (rank + RANK_OFFSET)
        elif mode == "simple":
            for hit in hits:
                scores[hit.node.id_] = max(scores.get(hit.node.id_, -math.inf), hit.get_score())
        else:
            scale = _scale(hits, mode)
            for hit in hits:
                scores[hit.node.id_] = (
                    scores.get(hit.node.id_, 0.0) + weight * scale(hit.get_score()) / num_queries
                )
    return [
        NodeWithScore(nodes[id_], score) for id_, score in sorted(scores.items(), key=lambda item: -item[1])
    ]


def checked_weights(weights: Sequence[float] | None, count: int) -> tuple[float, ...]:
    """Shares that add up to 1; equal ones for None. ValueError for another number of weights, or none above
    0."""
    if weights is None:
        return (1.0 / count,) * count if count else ()
    if len(weights) != count or min(weights, default=0.0) < 0 or not sum(weights) > 0:
        raise ValueError(
            f"{count} weights that are not negative and not all 0 are needed, not {list(weights)}"
        )
    return tuple(weight / sum(weights) for weight in weights)


def _scale(hits: Sequence[NodeWithScore], mode: FusionMode) -> Callable[[float], float]:
    scores = [hit.get_score() for hit in hits]
    if not scores:
        return lambda score: score
    low, high = min(scores), max(scores)
    if mode == "dist_based_score":
        mean = sum(scores) / len(scores)
        deviation = math.sqrt(sum((score - mean) ** 2 for score in scores) / len(scores))
        low, high = mean - 3 * deviation, mean + 3 * deviation
    if high <= low:  # one passage, or all alike
        return lambda score: 1.0 if score > 0 else 0.0
    return lambda score: (score - low) / (high - low)
