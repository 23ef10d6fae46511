"""How well questions with a typing error are answered, compared with the correct questions.

    python -m benchmarks.misspelt
    python -m benchmarks.misspelt --forms

In each question of squad2_500 and clapnq_dev in ../shared/data one word of at least five letters gets an
error after its first letter: two letters swapped, one missing, one doubled, or one replaced. With --forms, a
form of an irregular word, such as "written", is replaced by another. Passages and answers are the
application's, without a language model. "corrected": questions in which the application has corrected a word.
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import numpy as np

from benchmarks.datasets.data_set import read_data_set
from benchmarks.datasets.index import open_index
from benchmarks.datasets.settings import setting_of
from benchmarks.datasets.token_overlap import token_recall
from benchmarks.reader import DATA, WORK
from lectern.ask.pipeline import answer, plan_retrieval
from ragcore.embeddings.huggingface import HuggingFaceEmbedding
from ragcore.extractive.fixed_replies import is_refusal
from ragcore.extractive.quoter import Quoter
from ragcore.observe import span
from ragcore.text.keywords import STOP_WORDS
from ragcore.text.word_forms import USUAL

SETS = ("squad2_500", "clapnq_dev")
_WORD = re.compile(r"\b[^\W\d_]{5,}\b")
_WORD_OR_SHORT = re.compile(r"\b[^\W\d_]+\b")


def misspell(question: str, chance: random.Random) -> str:
    """With one slip; the question as it is where it has no word for it."""
    words = [match for match in _WORD.finditer(question) if match[0].lower() not in STOP_WORDS]
    if not words:
        return question
    match = chance.choice(words)
    word, at = match[0], chance.randrange(1, len(match[0]) - 1)
    slips = (
        word[:at] + word[at + 1] + word[at] + word[at + 2 :],
        word[:at] + word[at + 1 :],
        word[:at] + word[at] + word[at:],
        word[:at] + chance.choice(ascii_lowercase) + word[at + 1 :],
    )
    return question[: match.start()] + chance.choice(slips) + question[match.end() :]


def in_another_form(question: str, chance: random.Random) -> str | None:
    """With another form of one irregular word; None where it has none."""
    matches = [matches for matches in _WORD_OR_SHORT.finditer(question) if matches[0].lower() in FORMS]
    if not matches:
        return None
    one = chance.choice(matches)
    return question[: one.start()] + chance.choice(FORMS[one[0].lower()]) + question[one.end() :]


def _forms() -> dict[str, list[str]]:
    """The other forms of each irregular word."""
    same: dict[str, set[str]] = {}
    for form, usual in USUAL.items():
        same.setdefault(usual, {usual}).add(form)
    return {form: sorted(forms - {form}) for forms in same.values() for form in forms}


FORMS = _forms()


def measure(
    name: str, change: Callable[[str, random.Random], str | None], embedder: HuggingFaceEmbedding, work: Path
) -> None:
    setting, data_set, chance = setting_of("default"), read_data_set(DATA / name), random.Random(7)
    quoter = Quoter(embedder)
    rows: dict[str, list[dict[str, Any]]] = {"as they are": [], "changed": []}
    with open_index(data_set, setting, work, print, embedder) as opened:
        for trial in data_set.trials:
            changed = change(trial.question.text, chance)
            if changed is None:
                continue
            for how, question in zip(rows, (trial.question.text, changed), strict=True):
                ask = replace(setting.ask, question=question, chat_mode=None)
                plan = plan_retrieval(ask, opened.library.store, embedder)
                text = "".join(answer(ask, (), writer=quoter, plan=plan))
                with span("query") as root:
                    hits = plan.passages(question)
                own = [hit.node.ref_doc_id for hit in hits[:1] if trial.grades.get(str(hit.node.ref_doc_id))]
                answers = tuple(trial.question.answers)
                rows[how].append(
                    {
                        "own passage first": bool(own) if answers else None,
                        "tokens in the answer": token_recall(text, answers) if answers else None,
                        "answerable refused": is_refusal(text) if answers else None,
                        "unanswerable refused": None if answers else is_refusal(text),
                        "corrected": any("meant" in step.facts for step in root.spans("retrieve")),
                    }
                )
    title = f"{name}, {len(rows['changed'])} questions"
    print(f"{title:28s}" + "".join(f"{how:>14s}" for how in rows))
    for line in rows["changed"][0]:
        means = [
            float(np.mean([row[line] for row in some if row[line] is not None])) for some in rows.values()
        ]
        print(f"  {line:26s}" + "".join(f"{mean:14.3f}" for mean in means))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work", type=Path, default=WORK, help="cache of indexes, as for lectern eval")
    parser.add_argument(
        "--forms", action="store_true", help="another form of an irregular word in place of a slip"
    )
    options = parser.parse_args()
    embedder = HuggingFaceEmbedding()
    for name in SETS:
        measure(name, in_another_form if options.forms else misspell, embedder, options.work)


if __name__ == "__main__":
    main()
