"""Questions with the passages that answer them, written by a model from the passages."""

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
from ragcore.prompts.templates import Wording, in_place_of
from ragcore.prompts.wording import QUESTIONS
from ragcore.schema import TextNode
from ragcore.settings import services
from ragcore.text.list_replies import listed


@dataclass(frozen=True)
class EmbeddingQAFinetuneDataset:
    """`queries` and `corpus` are texts by id; `relevant_docs` has the ids of the passages that answer a query, by its id.

    `problems`: failures by the id of the passage.
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
    """One call per passage, which writes at most `num_questions_per_chunk` questions that this passage answers.

    The id of a question follows from its passage and number. Failures are `problems` of the dataset. LLMErrors if the model
    fails for every passage.
    """
    if num_questions_per_chunk < 1:
        raise ValueError(f"num_questions_per_chunk must be at least 1, not {num_questions_per_chunk}")
    model = services(llm).llm
    prompt = in_place_of(QUESTIONS, qa_generate_prompt, model)

    def ask(node: TextNode) -> list[str] | RagError:
        variables: dict[str, Variable] = {"context_str": (Passage(node.text),), "num_questions": str(num_questions_per_chunk)}
        try:
            return listed(model.generate(LLMCall(prompt, variables)).text)[:num_questions_per_chunk]
        except RagError as error:
            return error

    with span("generate_questions", passages=len(nodes)) as step:
        asked = list(zip(nodes, in_order(ask, nodes, workers=workers), strict=True))
        failed = {node.id_: came for node, came in asked if isinstance(came, RagError)}
        step.note(failed=len(failed))
        if failed and len(failed) == len(nodes):
            raise next(iter(failed.values()))
    written = {
        f"{node.id_}:{number}": (question, node.id_)
        for node, came in asked
        if not isinstance(came, RagError)
        for number, question in enumerate(came, 1)
    }
    return EmbeddingQAFinetuneDataset(
        queries={id_: question for id_, (question, _) in written.items()},
        corpus={node.id_: node.text for node in nodes},
        relevant_docs={id_: [source] for id_, (_, source) in written.items()},
        problems={id_: Problem.of(error) for id_, error in failed.items()},
    )
