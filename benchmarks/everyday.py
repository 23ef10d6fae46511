"""How well the extractive reader answers from everyday documents: minutes, a recipe, an invoice, a price list, a rota.

    python -m benchmarks.everyday [--each]

Each of the 24 documents of `benchmarks/everyday_documents`, which are invented, is the only one that is asked. It has eight
questions that it answers, in its own words or in others, and three that it does not. Right is an answer that holds one of the
strings in `qa.jsonl`; the nearest is what is told below "I could not find this". Every second document is of the development
half; `--each` prints what went wrong there.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path

from ragcore.embeddings.huggingface import HuggingFaceEmbedding
from ragcore.evaluation.answer_match import holds
from ragcore.extractive.answerer import ExtractiveLLM
from ragcore.llms.base import LLMCall
from ragcore.prompts.prompt import Passage
from ragcore.prompts.wording import TEXT_QA
from ragcore.questions.fixed_replies import is_refusal
from ragcore.text.citations import MARKS

FOLDER = Path(__file__).with_name("everyday_documents")


@dataclass(frozen=True)
class Reply:
    document: str
    question: str
    answerable: bool
    refused: bool
    right: bool
    nearest: str
    nearest_is_right: bool


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--each", action="store_true", help="print what went wrong in the development half")
    each = parser.parse_args().each
    llm = ExtractiveLLM(HuggingFaceEmbedding())
    asked = [json.loads(line) for line in (FOLDER / "qa.jsonl").read_text("utf-8").splitlines()]
    development = set(sorted({one["document"] for one in asked})[::2])
    replies = [reply(llm, one["document"], one["question"], one["answers"]) for one in asked]
    for half, name in ((True, "development"), (False, "validation")):
        report(name, [one for one in replies if (one.document in development) is half])
    if each:
        for one in replies:
            if one.document in development and one.answerable and not one.right:
                print(f"{one.document}: {one.question}\n    {'not found; ' + one.nearest if one.refused else 'wrong'}")


def reply(llm: ExtractiveLLM, document: str, question: str, answers: list[str]) -> Reply:
    passages = [Passage((FOLDER / document).read_text("utf-8"), 1, document)]
    said = llm.generate(LLMCall(TEXT_QA, {"query_str": question, "context_str": passages})).text
    refused = is_refusal(said)
    nearest = llm.nearest(question, passages) if refused else ""
    right, nearest_is_right = (holds(MARKS.sub("", text), answers) for text in (said, nearest))
    return Reply(document, question, bool(answers), refused, right, nearest, nearest_is_right)


def report(half: str, replies: list[Reply]) -> None:
    yes, no = ([one for one in replies if one.answerable is wanted] for wanted in (True, False))

    def share(of: list[Reply], name: str) -> float:
        return sum(bool(getattr(one, name)) for one in of) / len(of)

    print(f"{half}, {len(yes)} answerable, {len(no)} not")
    print(f"  right                        {share(yes, 'right'):.3f}")
    print(f"  not found                    {share(yes, 'refused'):.3f}")
    print(f"  right, or told as nearest    {share(yes, 'right') + share(yes, 'nearest_is_right'):.3f}")
    print(f"  not found, of unanswerable   {share(no, 'refused'):.3f}")


if __name__ == "__main__":
    main()
