"""Whether a follow-up is answered by its own passages or once more by those of the question before.

Of MTRAG's conversations, the follow-ups that get in brackets what they are about, each read with the graded
passages of this and of the question before: whose sentence is the likeliest, for several weights of what is
in the brackets. `python -m benchmarks.follow_up_answers [../shared/data/mtrag_clapnq]`
"""

from __future__ import annotations

import argparse
import json
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from ragcore.embeddings.huggingface import HuggingFaceEmbedding
from ragcore.extractive import features
from ragcore.extractive.follow_up import add_topic
from ragcore.extractive.reader import Reader
from ragcore.prompts.prompt import Passage
from ragcore.schema import ChatMessage, MessageRole

PASSAGES = 3  # of each of the two questions
WEIGHTS = (1.0, 0.7, 0.5, 0.3, 0.15)


def follow_ups(folder: Path) -> Iterator[tuple[str, str, list[str], list[str]]]:
    """(id, the question with its brackets, ids of its own passages, ids of those of the question before)."""
    graded: dict[str, list[str]] = defaultdict(list)
    for line in (folder / "qrels.tsv").read_text("utf-8").splitlines():
        question, passage, *_, grade = line.split("\t")
        if grade.isdigit() and int(grade):
            graded[question].append(passage)
    for line in (folder / "queries.questions.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        *before, last = (turn.removeprefix("|user|:").strip() for turn in row["text"].split("\n"))
        question = add_topic(last, [ChatMessage(MessageRole.USER, turn) for turn in before])
        conversation, _, number = row["_id"].partition("<::>")
        own = graded[row["_id"]]
        earlier = [
            passage for passage in graded[f"{conversation}<::>{int(number) - 1}"] if passage not in own
        ]
        if question != last and question.rstrip().endswith(")") and own and earlier:
            yield row["_id"], question, own[:PASSAGES], earlier[:PASSAGES]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data_set", type=Path, nargs="?", default=Path("../shared/data/mtrag_clapnq"))
    folder = parser.parse_args().data_set
    cases = list(follow_ups(folder))
    needed = {passage for _, _, own, earlier in cases for passage in own + earlier}
    lines = map(json.loads, (folder / "corpus.jsonl").read_text("utf-8").splitlines())
    texts = {line["_id"]: line["text"] for line in lines if line["_id"] in needed}
    reader = Reader(HuggingFaceEmbedding())
    print(f"{len(cases)} follow-ups\nweight  part         own  before  nothing")
    for features.TOPIC_WEIGHT in WEIGHTS:
        counts = {"development": Counter[str](), "validation": Counter[str]()}
        for id_, question, own, earlier in cases:
            read = sorted(own + earlier, key=lambda passage: zlib.crc32(f"{id_}{passage}".encode()))
            reading = reader.read(
                question, [Passage(texts[each], number) for number, each in enumerate(read, 1)]
            )
            quoted = read[reading.best_first[0].passage]
            outcome = "nothing" if reading.outcome == "nothing" else "own" if quoted in own else "before"
            counts["validation" if zlib.crc32(id_.encode()) % 2 else "development"][outcome] += 1
        for part, counted in counts.items():
            print(
                f"{features.TOPIC_WEIGHT:6}  {part:11}  {counted['own']:3}  {counted['before']:6}  "
                f"{counted['nothing']:7}"
            )


if __name__ == "__main__":
    main()
