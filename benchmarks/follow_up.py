"""The gain of rewriting follow-ups as standalone questions: nDCG@10 of the last message, of ours, and of a
person's rewriting.

    python -m benchmarks.follow_up [--others 1300]

Reads the conversations in ../shared/data/mtrag_clapnq. The passages are all that are judged relevant to a
question and a sample of the others (`--others`); retrieval is BM25 and the bundled embedder, reciprocal rank
fusion.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter, defaultdict

import numpy as np
import numpy.typing as npt

from benchmarks.reader import DATA, lines
from benchmarks.sentence_check import bm25
from ragcore.embeddings.huggingface import HuggingFaceEmbedding
from ragcore.extractive.follow_up import add_topic
from ragcore.schema import ChatMessage, MessageRole
from ragcore.text.keywords import content_words

FOLDER = DATA / "mtrag_clapnq"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--others", type=int, default=1300, help="how many passages that answer nothing")
    others = parser.parse_args().others

    grades: dict[str, dict[str, int]] = defaultdict(dict)
    for row in (FOLDER / "qrels.tsv").read_text("utf-8").splitlines()[1:]:
        question, passage, grade = row.split("\t")
        grades[question][passage] = int(grade)
    judged = {passage for graded in grades.values() for passage in graded}
    corpus = lines(FOLDER / "corpus.jsonl")
    rest = [item for item in corpus if item["_id"] not in judged]
    random.Random(0).shuffle(rest)
    corpus = [item for item in corpus if item["_id"] in judged] + rest[:others]

    queries = {
        name: {item["_id"]: turns(item["text"]) for item in lines(FOLDER / f"queries.{name}.jsonl")}
        for name in ("lastturn", "questions", "rewrite")
    }
    variants = {
        "the last message": {key: texts[-1] for key, texts in queries["lastturn"].items()},
        "standalone question": {
            key: add_topic(texts[-1], [ChatMessage(MessageRole.USER, text) for text in texts[:-1]])
            for key, texts in queries["questions"].items()
        },
        "rewritten by a person": {key: texts[-1] for key, texts in queries["rewrite"].items()},
    }
    embedder = HuggingFaceEmbedding()
    vectors = embedder.embed_passages([item["text"] for item in corpus])
    words = [Counter(content_words(item["text"])) for item in corpus]
    for name, questions in variants.items():
        scores = []
        for key, relevant in grades.items():
            text = questions[key]
            best = fuse(bm25(set(content_words(text)), words), vectors @ embedder.embed_query(text))[:10]
            scores.append(
                ndcg(
                    [relevant.get(corpus[at]["_id"], 0) for at in best],
                    sorted(relevant.values(), reverse=True),
                )
            )
        print(f"{name:24s} {np.mean(scores):.3f}")


def turns(text: str) -> list[str]:
    return [turn.strip() for turn in text.removeprefix("|user|:").split("\n|user|:")]


def fuse(*scores: npt.NDArray[np.floating]) -> list[int]:
    """Reciprocal rank fusion with the usual 60."""
    total = np.zeros(len(scores[0]))
    for score in scores:
        total[np.argsort(-score, kind="stable")] += 1 / (60 + np.arange(1, len(score) + 1))
    return [int(row) for row in np.argsort(-total, kind="stable")]


def ndcg(gains: list[int], ideal: list[int]) -> float:
    discount = 1 / np.log2(np.arange(2, 12))
    return float((gains @ discount[: len(gains)]) / (ideal[:10] @ discount[: len(ideal[:10])]))


if __name__ == "__main__":
    main()
