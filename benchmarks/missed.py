"""How often "Why wasn't it found?" names the true cause of an artificial failure.

    python -m benchmarks.missed              # the share of right causes, by cause
    python -m benchmarks.missed --time       # milliseconds of an analysis in a library of 20,000 passages

From ../shared/data/squad2_500 and xquad: each failure excludes the passage that answers a question in one
way: too few passages, other documents chosen, a minimum score, a passage that repeats the question, a deleted
document, a file that is a scan, damaged or unread, an answer split between two passages, a German document, a
condensed follow-up, a chat mode without a search. "hint": the person has typed the answer into "What did you
expect to find?".
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np

from benchmarks.passages import documents, vectors
from benchmarks.reader import DATA, lines
from lectern.explain.missed_cause import Cause
from lectern.explain.missed_passages import why_missed
from lectern.library import Library
from lectern.runs.answer_runs import AnswerRuns
from lectern.schema import Ask, Message, Retrieval
from ragcore.embeddings.huggingface import HuggingFaceEmbedding
from ragcore.errors import DamagedFileError, NoTextError
from ragcore.evaluation.answer_match import plain
from ragcore.extractive.sentence_support import SentenceCheck
from ragcore.llms.scripted import ScriptedLLM
from ragcore.schema import Document, TextNode
from ragcore.text.sentences import sentence_spans

TOP_K = 6


@dataclass(frozen=True)
class Item:
    """A question, the document that answers it, and words of the answer that no other document has."""

    question: str
    id: str
    title: str
    text: str
    answer: str


class Failures:
    """`each` is the number of failures per cause."""

    def __init__(self, folder: Path, each: int) -> None:
        self.each = each
        self.embedder = HuggingFaceEmbedding()
        self.reply = "x"
        self.library = Library(folder, embedder=self.embedder, llm=ScriptedLLM(lambda call: self.reply))
        self.runs, self.check = AnswerRuns(self.library), SentenceCheck(self.embedder)
        self.lot = random.Random(0)
        corpus = {item["_id"]: item for item in lines(DATA / "squad2_500" / "corpus.jsonl")}
        texts = {id_: f" {plain(item['text'])} " for id_, item in corpus.items()}
        for id_, item in corpus.items():
            self.add_document(id_, item["title"], item["text"])
        self.items = []
        for row in lines(DATA / "squad2_500" / "qa.jsonl"):
            for answer in row["answers"][:1]:
                holding = [id_ for id_, text in texts.items() if f" {plain(answer)} " in text]
                if holding == row["doc_ids"]:
                    document = corpus[holding[0]]
                    self.items.append(
                        Item(row["question"], document["_id"], document["title"], document["text"], answer)
                    )
        self.lot.shuffle(self.items)

    def add_document(self, id_: str, title: str, text: str, cut: int = 0) -> None:
        """As one passage, or two that meet at `cut`."""
        metadata = {"file_name": f"{title}.txt", "file_id": id_}
        ends = [(0, cut), (cut, len(text))] if cut else [(0, len(text))]
        nodes = [
            TextNode(text[start:end], f"{id_}/{at}", metadata, id_, start, end,
                     f"{id_}/{at - 1}" if at else None, f"{id_}/{at + 1}" if at + 1 < len(ends) else None)
            for at, (start, end) in enumerate(ends)
        ]  # fmt: skip
        rows = self.embedder.embed_passages([node.text for node in nodes])
        embedded = [node.with_embedding(row) for node, row in zip(nodes, rows, strict=True)]
        self.library.store.upsert(Document(text, id_=id_, metadata=metadata), embedded)

    def answer(self, ask: Ask, talk: str | None = None) -> Message:
        run = self.runs.start(talk or self.library.conversations.create().id, ask)
        run.wait(60)
        message = self.library.conversations.message(run.message_id)
        assert message is not None
        return message

    def sample(self) -> list[Item]:
        return self.lot.sample(self.items, self.each)

    @contextmanager
    def without(self, item: Item) -> Iterator[None]:
        self.library.store.delete(item.id)
        yield
        self.add_document(item.id, item.title, item.text)

    def all_failures(self) -> Iterator[tuple[Cause, str, bool]]:
        """(true cause, with or without a hint, whether it was named)."""
        plain_ask = Ask("", chat_mode=None, response_mode="no_text", top_k=TOP_K)
        low = list(
            islice(((item, rank) for item in self.items if 1 < (rank := self.rank(item)) <= 100), self.each)
        )
        for item, rank in low:
            yield from self.check_both(
                Cause.TOP_K, self.answer(replace(plain_ask, question=item.question, top_k=rank - 1)), item
            )
        for item in self.sample():
            others = tuple(other.id for other in self.sample() if other.id != item.id)
            ask = replace(plain_ask, question=item.question, file_ids=others)
            yield from self.check_both(Cause.FILTERED, self.answer(ask), item)
        for item in [each for each in self.sample() if self.is_retrieved(each)]:
            ask = replace(plain_ask, question=item.question, retrieval=Retrieval(cutoff=0.999))
            yield from self.check_both(Cause.CUT_OFF, self.answer(ask), item)
        for item in self.sample():
            with self.without(item):
                message = self.answer(replace(plain_ask, question=item.question))
                yield from self.check_both(Cause.ABSENT, message, item)
                yield from self.unread_failures(message, item)
            if self.is_retrieved(item):
                yield from self.check_both(Cause.ADDED_SINCE, message, item)
        for item in self.sample():
            self.add_document("echo", "echo", f"{item.question} {item.question}")
            if not self.is_retrieved(item) and self.rank(item) <= TOP_K:
                yield from self.check_both(
                    Cause.WEAKER, self.answer(replace(plain_ask, question=item.question)), item
                )
            self.library.store.delete("echo")
        yield from self.split_failures(plain_ask)
        yield from self.condense_failures()
        for item in self.sample()[:5]:
            yield from self.check_both(Cause.NOT_LOOKED, self.answer(Ask(item.question, "simple")), item)
        yield from self.german_failures(plain_ask)

    def check_both(self, cause: Cause, message: Message, item: Item) -> Iterator[tuple[Cause, str, bool]]:
        yield self.check_cause(cause, message, "")
        yield self.check_cause(cause, message, item.answer)

    def check_cause(self, cause: Cause, message: Message, expected: str) -> tuple[Cause, str, bool]:
        missed = why_missed(self.library, message, expected, self.check)
        if missed.cause is not cause:
            print(
                f"    {cause.value} was called {missed.cause.value}: "
                f"{message.ask.question if message.ask else ''} ({expected})"
            )
        return cause, "hint" if expected else "no hint", missed.cause is cause

    def is_retrieved(self, item: Item) -> bool:
        ask = Ask(item.question, chat_mode=None, response_mode="no_text", top_k=TOP_K)
        return any(source.file_id == item.id for source in self.answer(ask).sources)

    def rank(self, item: Item) -> int:
        ask = Ask(
            item.question,
            chat_mode=None,
            response_mode="no_text",
            top_k=100,
            retrieval=Retrieval(weaker=True),
        )
        ids = [source.file_id for source in self.answer(ask).sources]
        return ids.index(item.id) + 1 if item.id in ids else 101

    def unread_failures(self, message: Message, item: Item) -> Iterator[tuple[Cause, str, bool]]:
        files, name = self.library.files, f"{item.title}.pdf"
        for cause, error in (
            (Cause.NO_TEXT, NoTextError(f"{name} has no text.")),
            (Cause.FAILED, DamagedFileError("Damaged.")),
        ):
            row = files.refuse(name, 1, error)
            yield from self.check_both(cause, message, item)
            files.remove(row.id)
        path = self.library.incoming / "unread"
        path.write_text(item.text, "utf-8")
        row = self.library.intake.add(path, name).file
        yield from self.check_both(Cause.READING, message, item)
        files.queue.stop(row.id)
        yield from self.check_both(Cause.STOPPED, message, item)
        files.remove(row.id)

    def split_failures(self, plain_ask: Ask) -> Iterator[tuple[Cause, str, bool]]:
        for item in self.sample():
            at = item.text.find(item.answer)
            start, end = next((start, end) for start, end in sentence_spans(item.text) if start <= at < end)
            middle = item.text.find(" ", (start + end) // 2)
            if not start < middle < end:
                continue
            self.add_document(item.id, item.title, item.text, cut=middle)
            message = self.answer(replace(plain_ask, question=item.question, top_k=1))
            yield self.check_cause(Cause.SPLIT, message, item.text[start:end].strip())
            self.add_document(item.id, item.title, item.text)

    def condense_failures(self) -> Iterator[tuple[Cause, str, bool]]:
        for item, other in zip(self.sample(), self.sample(), strict=True):
            if item.id == other.id or self.rank(item) > 1:
                continue
            talk = self.library.conversations.create().id
            self.answer(Ask(other.question, top_k=1), talk)
            self.reply = other.question
            message = self.answer(Ask(item.question, top_k=1), talk)
            self.reply = "x"
            yield from self.check_both(Cause.CONDENSED, message, item)

    def german_failures(self, plain_ask: Ask) -> Iterator[tuple[Cause, str, bool]]:
        """English questions to German documents about things of which the library has nothing else."""
        known = {plain(item.title) for item in self.items}
        english_questions = {
            item["id"]: item["question"] for item in lines(DATA / "xquad" / "en" / "qa.jsonl")
        }
        corpus = {item["_id"]: item for item in lines(DATA / "xquad" / "de" / "corpus.jsonl")}
        german_rows = [
            item for item in lines(DATA / "xquad" / "de" / "qa.jsonl") if len(item["answers"][0].split()) > 2
        ]
        self.lot.shuffle(german_rows)
        done = 0
        for item in german_rows:
            document = corpus[item["doc_ids"][0]]
            if plain(document["title"]) in known or item["id"] not in english_questions or done == self.each:
                continue
            self.add_document(document["_id"], f"dokument {done}", document["text"])
            message = self.answer(replace(plain_ask, question=english_questions[item["id"]]))
            if all(source.file_id != document["_id"] for source in message.sources):
                done += 1
                yield self.check_cause(Cause.LANGUAGE, message, item["answers"][0])
            self.library.store.delete(document["_id"])


def report(folder: Path, each: int) -> None:
    right: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for cause, hint, is_right in Failures(folder, each).all_failures():
        right[cause.value, hint].append(is_right)
    for (name, hint), results in right.items():
        print(f"{name:12s} {hint:9s} {sum(results):4d} of {len(results):4d}")
    everything = [result for results in right.values() for result in results]
    draws = np.random.default_rng(0).choice(everything, (1000, len(everything))).mean(axis=1)
    low, high = np.quantile(draws, [0.025, 0.975])
    print(f"right: {np.mean(everything):.3f} of {len(everything)}, 95% interval {low:.3f} - {high:.3f}")


def measure_time(folder: Path, count: int = 20_000) -> None:
    embedder = HuggingFaceEmbedding()
    library, check = Library(folder, embedder=embedder), SentenceCheck(embedder)
    for source, nodes in documents(vectors(count)):
        library.store.upsert(source, nodes)
    runs, ask = (
        AnswerRuns(library),
        Ask("Which antibodies are in the blood?", chat_mode=None, response_mode="no_text"),
    )
    run = runs.start(library.conversations.create().id, ask)
    run.wait()
    message = library.conversations.message(run.message_id)
    assert message is not None
    for expected in ("", "", "monoclonal antibodies", "monoclonal antibodies"):
        began = time.perf_counter()
        why_missed(library, message, expected, check)
        spent = time.perf_counter() - began
        began = time.perf_counter()
        embedder.embed_query(f"Which antibodies are in the blood of {began}?")
        one = time.perf_counter() - began
        print(
            f"{expected or 'no hint':24s} {1000 * spent:7.0f} ms; one question is embedded in "
            f"{1000 * one:.0f} ms"
        )
    library.close()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--time", action="store_true", help="how long a look takes")
    parser.add_argument("--each", type=int, default=20, help="how many failures of a kind")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.time:
            measure_time(Path(folder))
        else:
            report(Path(folder), options.each)


if __name__ == "__main__":
    main()
