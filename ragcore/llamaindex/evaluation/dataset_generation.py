"""Datasets of questions and answers that a language model writes about documents, and tables of results."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, ClassVar, Self

from ragcore.concurrency import awaitable, run_coroutine, run_jobs
from ragcore.embeddings.base import Embedder
from ragcore.evaluation.base import EvaluationResult
from ragcore.evaluation.dataset import generate_question_context_pairs
from ragcore.evaluation.retrieval import RetrievalEvalResult, mean_scores
from ragcore.ingestion.transformations import run_transformations
from ragcore.llms.base import LLM
from ragcore.prompts.mixin import PromptMixin
from ragcore.prompts.templates import Wording, replace_prompt
from ragcore.prompts.wording import QUESTIONS, TEXT_QA
from ragcore.query_engine.base import BaseQueryEngine
from ragcore.response_synthesizers.synthesizer import get_response_synthesizer
from ragcore.schema import Document, NodeWithScore, Response, TextNode
from ragcore.settings import Transformation, services

if TYPE_CHECKING:
    import pandas

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class QueryResponseDataset:
    """Questions and their answers, each by the id of the question.

    >>> QueryResponseDataset.from_qr_pairs([("Who?", "Ada.")]).qr_pairs
    [('Who?', 'Ada.')]
    """

    queries: Mapping[str, str] = field(default_factory=dict)
    responses: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_qr_pairs(cls, qr_pairs: Sequence[tuple[str, str]]) -> Self:
        queries, responses = zip(*qr_pairs, strict=True) if qr_pairs else ((), ())
        ids = [str(number) for number in range(len(qr_pairs))]
        return cls(dict(zip(ids, queries, strict=True)), dict(zip(ids, responses, strict=True)))

    @property
    def qr_pairs(self) -> list[tuple[str, str]]:
        """ValueError for a question without an answer."""
        if missing := sorted(self.queries.keys() - self.responses.keys()):
            raise ValueError(f"these questions have no answers: {missing}")
        return [(query, self.responses[id_]) for id_, query in self.queries.items()]

    @property
    def questions(self) -> list[str]:
        return list(self.queries.values())

    def save_json(self, path: str | Path) -> None:
        Path(path).write_text(json.dumps(asdict(self), indent=4, ensure_ascii=False), "utf-8")

    @classmethod
    def from_json(cls, path: str | Path) -> Self:
        return cls(**json.loads(Path(path).read_text("utf-8")))


class DatasetGenerator(PromptMixin):
    """Writes questions about passages, and their answers.

    >>> from ragcore.llms import ScriptedLLM
    >>> generator = DatasetGenerator(
    ...     [TextNode("Ada wrote notes.")], llm=ScriptedLLM(["1. Who wrote notes?", "Ada."])
    ... )
    >>> generator.generate_dataset_from_nodes(num=1).qr_pairs
    [('Who wrote notes?', 'Ada.')]
    """

    prompt_attributes: ClassVar = {name: name for name in ("text_question_template", "text_qa_template")}

    def __init__(
        self,
        nodes: Sequence[TextNode],
        llm: LLM | None = None,
        num_questions_per_chunk: int = 3,
        text_question_template: Wording = QUESTIONS,
        text_qa_template: Wording = TEXT_QA,
        workers: int = 4,
        show_progress: bool = False,
    ) -> None:
        """`show_progress` logs how many questions there are."""
        self.nodes = list(nodes)
        self.llm = services(llm).llm
        self.num_questions_per_chunk = num_questions_per_chunk
        self.text_question_template = replace_prompt(QUESTIONS, text_question_template, self.llm)
        self.text_qa_template = replace_prompt(TEXT_QA, text_qa_template, self.llm)
        self.workers = workers
        self.show_progress = show_progress

    @classmethod
    def from_documents(
        cls,
        documents: Sequence[Document],
        llm: LLM | None = None,
        transformations: Sequence[Transformation | Embedder] | None = None,
        *args: Any,
        **options: Any,
    ) -> Self:
        """Writes questions about the passages of the documents. None are the default transformations. The
        other arguments are those of the constructor."""
        passages = run_transformations(documents, services(llm, None, transformations).transformations)
        nodes = [node for node in passages if isinstance(node, TextNode)]
        return cls(nodes, llm, *args, **options)

    def generate_questions_from_nodes(self, num: int | None = None) -> list[str]:
        """All questions, or the first `num`. LLMErrors if the model fails for every passage."""
        return [question for question, _ in self._questions(num)]

    def generate_dataset_from_nodes(self, num: int | None = None) -> QueryResponseDataset:
        """Like `generate_questions_from_nodes`, with the model's answer to each question from its passage."""
        synthesizer = get_response_synthesizer(self.llm, text_qa_template=self.text_qa_template)
        return QueryResponseDataset.from_qr_pairs(
            [
                (question, str(synthesizer.synthesize(question, [NodeWithScore(node)])))
                for question, node in self._questions(num)
            ]
        )

    agenerate_questions_from_nodes = awaitable(generate_questions_from_nodes)
    agenerate_dataset_from_nodes = awaitable(generate_dataset_from_nodes)

    def _questions(self, num: int | None) -> list[tuple[str, TextNode]]:
        nodes = self.nodes[:num]  # nearly every passage has at least one question
        pairs = generate_question_context_pairs(
            nodes, self.llm, self.num_questions_per_chunk, self.text_question_template, self.workers
        ).query_docid_pairs
        logger.log(
            logging.INFO if self.show_progress else logging.DEBUG,
            "%d questions of %d passages",
            len(pairs),
            len(nodes),
        )
        by_id = {node.id_: node for node in nodes}
        return [(question, by_id[ids[0]]) for question, ids in pairs][:num]


async def aget_responses(
    questions: Sequence[str], query_engine: BaseQueryEngine, show_progress: bool = False
) -> list[Response]:
    """The engine's answers, in the order of the questions. `show_progress` logs each."""
    return await run_jobs([query_engine.aquery(question) for question in questions], show_progress)


def get_responses(
    questions: Sequence[str], query_engine: BaseQueryEngine, show_progress: bool = False
) -> list[Response]:
    """The engine's answers, in the order of the questions. `show_progress` logs each.

    >>> from ragcore.llamaindex.query_engine import CustomQueryEngine
    >>> class Echo(CustomQueryEngine):
    ...     def custom_query(self, query_str: str) -> str:
    ...         return query_str
    >>> [str(answer) for answer in get_responses(["a", "b"], Echo())]
    ['a', 'b']
    """
    return run_coroutine(aget_responses(questions, query_engine, show_progress))


def get_results_df(
    eval_results_list: Sequence[Mapping[str, Sequence[EvaluationResult]]],
    names: Sequence[str],
    metric_keys: Sequence[str],
) -> pandas.DataFrame:
    """The mean score of each metric, a row for each of `names`. Needs pandas.

    >>> results = {"faithfulness": [EvaluationResult(score=1.0)]}
    >>> get_results_df([results], ["top 2"], ["faithfulness"]).values.tolist()
    [['top 2', 1.0]]
    """
    import pandas

    means = {
        key: [fmean(each.score or 0.0 for each in results[key]) for results in eval_results_list]
        for key in metric_keys
    }
    return pandas.DataFrame({"names": list(names), **means})


def get_retrieval_results_df(
    names: Sequence[str],
    results_arr: Sequence[Sequence[RetrievalEvalResult]],
    metric_keys: Sequence[str] = ("hit_rate", "mrr"),
) -> pandas.DataFrame:
    """The mean of each metric, a row for each retriever. Needs pandas.

    >>> from ragcore.evaluation import RetrievalMetricResult
    >>> result = RetrievalEvalResult("Who?", (), (), (), {"mrr": RetrievalMetricResult(0.5)})
    >>> get_retrieval_results_df(["top 2"], [[result]], ["mrr"]).values.tolist()
    [['top 2', 0.5]]
    """
    import pandas

    means = [mean_scores(results) for results in results_arr]
    return pandas.DataFrame(
        {"retrievers": list(names), **{key: [mean[key] for mean in means] for key in metric_keys}}
    )


def get_eval_results_df(
    names: Sequence[str], results_arr: Sequence[EvaluationResult], metric: str | None = None
) -> tuple[pandas.DataFrame, pandas.DataFrame]:
    """A table of all results, where `names` has the name of each, and the mean score of each name. Needs
    pandas.

    >>> results = [EvaluationResult("Who?", "Ada.", score=1.0), EvaluationResult("When?", "Now.", score=0.0)]
    >>> get_eval_results_df(["top 2", "top 2"], results)[1].loc["scores", "top 2"].item()
    0.5
    """
    import pandas

    columns = {
        "query": "query",
        "answer": "response",
        "contexts": "contexts",
        "scores": "score",
        "feedbacks": "feedback",
    }
    values = {column: [getattr(result, name) for result in results_arr] for column, name in columns.items()}
    results = pandas.DataFrame({"rag": list(names), **values})
    means = results.groupby("rag")[["scores"]].mean().T
    return results, means.rename(index={"scores": f"mean_{metric}_score"} if metric else {})
