"""Datasets of questions that a language model writes about passages, with the passage that answers each
question."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from ragcore.concurrency import in_order
from ragcore.errors import DamagedFileError, Problem, RagError
from ragcore.llms.base import LLM, LLMCall
from ragcore.observe import span
from ragcore.prompts.prompt import Passage, Variable
from ragcore.prompts.templates import Wording, replace_prompt
from ragcore.prompts.wording import QUESTIONS
from ragcore.schema import TextNode
from ragcore.settings import services
from ragcore.text.list_replies import parse_list


@dataclass(frozen=True)
class EmbeddingQAFinetuneDataset:
    """`queries` and `corpus` are texts by id; `relevant_docs` has the ids of the passages that answer a
    query, by its id.

    `problems` has the failures by the id of their passage.

    >>> EmbeddingQAFinetuneDataset({"q1": "Who?"}, {"n1": "Ada did."}, {"q1": ["n1"]}).query_docid_pairs
    [('Who?', ['n1'])]
    """

    queries: Mapping[str, str]
    corpus: Mapping[str, str]
    relevant_docs: Mapping[str, Sequence[str]]
    mode: str = "text"
    problems: Mapping[str, Problem] = field(default_factory=dict)

    @property
    def query_docid_pairs(self) -> list[tuple[str, list[str]]]:
        """Each question with the ids of its passages, in order."""
        return [(query, list(self.relevant_docs[id_])) for id_, query in self.queries.items()]

    def save_json(self, path: str | Path) -> None:
        values = {name: value for name, value in asdict(self).items() if name != "problems" or value}
        Path(path).write_text(json.dumps(values, indent=4, ensure_ascii=False), "utf-8")

    @classmethod
    def from_json(cls, path: str | Path) -> EmbeddingQAFinetuneDataset:
        """DamagedFileError for a file of another kind."""
        try:
            return TypeAdapter(cls).validate_json(Path(path).read_bytes())
        except ValidationError as error:
            raise DamagedFileError(
                f"{Path(path).name} is not a set of questions.",
                hint='It must be JSON with "queries", "corpus" and "relevant_docs", as save_json writes it.',
            ) from error


def generate_question_context_pairs(
    nodes: Sequence[TextNode],
    llm: LLM | None = None,
    num_questions_per_chunk: int = 2,
    qa_generate_prompt: Wording = QUESTIONS,
    workers: int = 4,
) -> EmbeddingQAFinetuneDataset:
    """The model writes at most `num_questions_per_chunk` questions about each passage, in one call per
    passage.

    A question's id consists of the id of its passage and a number. Failures are `problems` of the dataset.
    LLMErrors if the model fails for every passage.

    >>> from ragcore.llms import ScriptedLLM
    >>> llm = ScriptedLLM(["1. Who wrote notes?"])
    >>> generate_question_context_pairs([TextNode("Ada wrote notes.", "n1")], llm).query_docid_pairs
    [('Who wrote notes?', ['n1'])]
    """
    if num_questions_per_chunk < 1:
        raise ValueError(f"num_questions_per_chunk must be at least 1, not {num_questions_per_chunk}")
    model = services(llm).llm
    prompt = replace_prompt(QUESTIONS, qa_generate_prompt, model)

    def ask(node: TextNode) -> list[str] | RagError:
        variables: dict[str, Variable] = {
            "context_str": (Passage(node.text),),
            "num_questions": str(num_questions_per_chunk),
        }
        try:
            return parse_list(model.generate(LLMCall(prompt, variables)).text)[:num_questions_per_chunk]
        except RagError as error:
            return error

    with span("generate_questions", passages=len(nodes)) as step:
        replies = in_order(ask, nodes, workers=workers)
        errors = {
            node.id_: reply for node, reply in zip(nodes, replies, strict=True) if isinstance(reply, RagError)
        }
        step.note(failed=len(errors))
        if errors and len(errors) == len(nodes):
            raise next(iter(errors.values()))
    queries: dict[str, str] = {}
    relevant_docs: dict[str, list[str]] = {}
    for node, reply in zip(nodes, replies, strict=True):
        for number, question in enumerate([] if isinstance(reply, RagError) else reply, 1):
            id_ = f"{node.id_}:{number}"
            queries[id_], relevant_docs[id_] = question, [node.id_]
    problems = {id_: Problem.of(error) for id_, error in errors.items()}
    return EmbeddingQAFinetuneDataset(
        queries, {node.id_: node.text for node in nodes}, relevant_docs, problems=problems
    )
