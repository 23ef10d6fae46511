"""How often "Why wasn't it found?" names the true cause, on failures made on purpose.

    python -m benchmarks.missed              # the share that is right, by cause
    python -m benchmarks.missed --time       # milliseconds a look in a library of 20,000 passages

Made from ../shared/data/squad2_500 and xquad: each failure takes a question, knows the passage that answers it, and keeps it
out in one way: too few passages, other documents chosen, a least score, a passage that is nothing but the question, the
document gone, its file a scan, broken or not read yet, the answer's sentence split between two passages, the document in
German, a follow-up made into another question, a way of answering that does not look. "told": the person has written the
answer into "What did you expect to find?".
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
    """`each`: how many of a kind."""

    def __init__(self, folder: Path, each: int) -> None:
        self.each = each
        self.embedder = HuggingFaceEmbedding()
        self.said = "x"
        self.library = Library(folder, embedder=self.embedder, llm=ScriptedLLM(lambda call: self.said))
        self.runs, self.check = AnswerRuns(self.library), SentenceCheck(self.embedder)
        self.lot = random.Random(0)
        corpus = {item["_id"]: item for item in lines(DATA / "squad2_500" / "corpus.jsonl")}
        texts = {id_: f" {plain(item['text'])} " for id_, item in corpus.items()}
        for id_, item in corpus.items():
            self.put(id_, item["title"], item["text"])
        self.items = []
        for asked in lines(DATA / "squad2_500" / "qa.jsonl"):
            for answer in asked["answers"][:1]:
                holding = [id_ for id_, text in texts.items() if f" {plain(answer)} " in text]
                if holding == asked["doc_ids"]:
                    one = corpus[holding[0]]
                    self.items.append(Item(asked["question"], one["_id"], one["title"], one["text"], answer))
        self.lot.shuffle(self.items)

    def put(self, id_: str, title: str, text: str, cut: int = 0) -> None:
        """As one passage, or two that meet at `cut`."""
        metadata = {"file_name": f"{title}.txt", "file_id": id_}
        ends = [(0, cut), (cut, len(text))] if cut else [(0, len(text))]
        nodes = [
            TextNode(text[start:end], f"{id_}/{at}", metadata, id_, start, end,
                     f"{id_}/{at - 1}" if at else None, f"{id_}/{at + 1}" if at + 1 < len(ends) else None)
            for at, (start, end) in enumerate(ends)
        ]  # fmt: skip
        rows = self.embedder.embed_passages([node.text for node in nodes])
        made = [node.with_embedding(row) for node, row in zip(nodes, rows, strict=True)]
        self.library.store.upsert(Document(text, id_=id_, metadata=metadata), made)

    def answered(self, ask: Ask, talk: str | None = None) -> Message:
        run = self.runs.start(talk or self.library.conversations.create().id, ask)
        run.wait(60)
        message = self.library.conversations.message(run.message_id)
        assert message is not None
        return message

    def some(self) -> list[Item]:
        return self.lot.sample(self.items, self.each)

    @contextmanager
    def without(self, item: Item) -> Iterator[None]:
        self.library.store.delete(item.id)
        yield
        self.put(item.id, item.title, item.text)

    def all(self) -> Iterator[tuple[Cause, str, bool]]:
        """(the true cause, told or not, whether it was named)."""
        plainly = Ask("", chat_mode=None, response_mode="no_text", top_k=TOP_K)
        low = list(islice(((item, rank) for item in self.items if 1 < (rank := self.rank(item)) <= 100), self.each))
        for item, rank in low:
            yield from self.both(Cause.TOP_K, self.answered(replace(plainly, question=item.question, top_k=rank - 1)), item)
        for item in self.some():
            others = tuple(other.id for other in self.some() if other.id != item.id)
            ask = replace(plainly, question=item.question, file_ids=others)
            yield from self.both(Cause.FILTERED, self.answered(ask), item)
        for item in [each for each in self.some() if self.finds(each)]:
            ask = replace(plainly, question=item.question, retrieval=Retrieval(cutoff=0.999))
            yield from self.both(Cause.CUT_OFF, self.answered(ask), item)
        for item in self.some():
            with self.without(item):
                message = self.answered(replace(plainly, question=item.question))
                yield from self.both(Cause.ABSENT, message, item)
                yield from self.unread(message, item)
            if self.finds(item):
                yield from self.both(Cause.ADDED_SINCE, message, item)
        for item in self.some():
            self.put("echo", "echo", f"{item.question} {item.question}")
            if not self.finds(item) and self.rank(item) <= TOP_K:
                yield from self.both(Cause.WEAKER, self.answered(replace(plainly, question=item.question)), item)
            self.library.store.delete("echo")
        yield from self.split(plainly)
        yield from self.condensed()
        for item in self.some()[:5]:
            yield from self.both(Cause.NOT_LOOKED, self.answered(Ask(item.question, "simple")), item)
        yield from self.german(plainly)

    def both(self, cause: Cause, message: Message, item: Item) -> Iterator[tuple[Cause, str, bool]]:
        yield self.named(cause, message, "")
        yield self.named(cause, message, item.answer)

    def named(self, cause: Cause, message: Message, expected: str) -> tuple[Cause, str, bool]:
        found = why_missed(self.library, message, expected, self.check)
        if found.cause is not cause:
            print(
                f"    {cause.value} was called {found.cause.value}: {message.ask.question if message.ask else ''} ({expected})"
            )
        return cause, "told" if expected else "not told", found.cause is cause

    def finds(self, item: Item) -> bool:
        ask = Ask(item.question, chat_mode=None, response_mode="no_text", top_k=TOP_K)
        return any(source.file_id == item.id for source in self.answered(ask).sources)

    def rank(self, item: Item) -> int:
        ask = Ask(item.question, chat_mode=None, response_mode="no_text", top_k=100, retrieval=Retrieval(weaker=True))
        ids = [source.file_id for source in self.answered(ask).sources]
        return ids.index(item.id) + 1 if item.id in ids else 101

    def unread(self, message: Message, item: Item) -> Iterator[tuple[Cause, str, bool]]:
        files, name = self.library.files, f"{item.title}.pdf"
        for cause, error in (
            (Cause.NO_TEXT, NoTextError(f"{name} has no text.")),
            (Cause.FAILED, DamagedFileError("Damaged.")),
        ):
            row = files.refuse(name, 1, error)
            yield from self.both(cause, message, item)
            files.remove(row.id)
        path = self.library.incoming / "given"
        path.write_text(item.text, "utf-8")
        row = self.library.intake.add(path, name).file
        yield from self.both(Cause.READING, message, item)
        files.queue.stop(row.id)
        yield from self.both(Cause.STOPPED, message, item)
        files.remove(row.id)

    def split(self, plainly: Ask) -> Iterator[tuple[Cause, str, bool]]:
        for item in self.some():
            at = item.text.find(item.answer)
            start, end = next((start, end) for start, end in sentence_spans(item.text) if start <= at < end)
            middle = item.text.find(" ", (start + end) // 2)
            if not start < middle < end:
                continue
            self.put(item.id, item.title, item.text, cut=middle)
            message = self.answered(replace(plainly, question=item.question, top_k=1))
            yield self.named(Cause.SPLIT, message, item.text[start:end].strip())
            self.put(item.id, item.title, item.text)

    def condensed(self) -> Iterator[tuple[Cause, str, bool]]:
        for item, other in zip(self.some(), self.some(), strict=True):
            if item.id == other.id or self.rank(item) > 1:
                continue
            talk = self.library.conversations.create().id
            self.answered(Ask(other.question, top_k=1), talk)
            self.said = other.question
            message = self.answered(Ask(item.question, top_k=1), talk)
            self.said = "x"
            yield from self.both(Cause.CONDENSED, message, item)

    def german(self, plainly: Ask) -> Iterator[tuple[Cause, str, bool]]:
        """English questions to German documents about things of which the library has nothing else."""
        known = {plain(item.title) for item in self.items}
        asked = {item["id"]: item["question"] for item in lines(DATA / "xquad" / "en" / "qa.jsonl")}
        corpus = {item["_id"]: item for item in lines(DATA / "xquad" / "de" / "corpus.jsonl")}
        told = [item for item in lines(DATA / "xquad" / "de" / "qa.jsonl") if len(item["answers"][0].split()) > 2]
        self.lot.shuffle(told)
        done = 0
        for item in told:
            one = corpus[item["doc_ids"][0]]
            if plain(one["title"]) in known or item["id"] not in asked or done == self.each:
                continue
            self.put(one["_id"], f"dokument {done}", one["text"])
            message = self.answered(replace(plainly, question=asked[item["id"]]))
            if all(source.file_id != one["_id"] for source in message.sources):
                done += 1
                yield self.named(Cause.LANGUAGE, message, item["answers"][0])
            self.library.store.delete(one["_id"])


def report(folder: Path, each: int) -> None:
    right: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for cause, told, named in Failures(folder, each).all():
        right[cause.value, told].append(named)
    for (cause, told), named in right.items():
        print(f"{cause:12s} {told:9s} {sum(named):4d} of {len(named):4d}")
    everything = [named for each in right.values() for named in each]
    draws = np.random.default_rng(0).choice(everything, (1000, len(everything))).mean(axis=1)
    low, high = np.quantile(draws, [0.025, 0.975])
    print(f"right: {np.mean(everything):.3f} of {len(everything)}, 95% interval {low:.3f} - {high:.3f}")


def timed(folder: Path, count: int = 20_000) -> None:
    embedder = HuggingFaceEmbedding()
    library, check = Library(folder, embedder=embedder), SentenceCheck(embedder)
    for source, nodes in documents(vectors(count)):
        library.store.upsert(source, nodes)
    runs, ask = AnswerRuns(library), Ask("Which antibodies were found in the blood?", chat_mode=None, response_mode="no_text")
    run = runs.start(library.conversations.create().id, ask)
    run.wait()
    message = library.conversations.message(run.message_id)
    assert message is not None
    for expected in ("", "", "monoclonal antibodies", "monoclonal antibodies"):
        began = time.perf_counter()
        why_missed(library, message, expected, check)
        spent = time.perf_counter() - began
        began = time.perf_counter()
        embedder.embed_query(f"Which antibodies were found in the blood of {began}?")
        one = time.perf_counter() - began
        print(f"{expected or 'not told':24s} {1000 * spent:7.0f} ms; one question is embedded in {1000 * one:.0f} ms")
    library.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--time", action="store_true", help="how long a look takes")
    parser.add_argument("--each", type=int, default=20, help="how many failures of a kind")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if given.time:
            timed(Path(folder))
        else:
            report(Path(folder), given.each)


if __name__ == "__main__":
    main()
