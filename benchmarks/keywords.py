"""Keyword search of the disk store: how long questions take, adding, replacing and deleting, and the bytes on
disk.

    python -m benchmarks.keywords [--passages 10000 100000] [--languages en de zh th]

The passages are of about 200 tokens, ten to a document. Each is a stretch of real text (`../shared/data`:
articles and abstracts in English, encyclopedia paragraphs in German and Chinese, the Declaration of Human
Rights in Thai) from a word on that is chosen by chance. So that repeating the text does not leave the
vocabulary small, one word in 25 is replaced by one of an endless list, by Zipf's law (exponent 1.3): the
vocabulary goes on growing as it does in text. Questions are 2 rare words (in fewer than 1 passage in 500), 5
ordinary words of one passage without stop words, and 10 words, of them 4 among the 50 commonest; or stretches
of text, where words are not spaced: 2 characters of Chinese and 4 of Thai count as a word. Vectors have 8
numbers, so that the file is text, words and rows. Times are CPU time, which other programs do not disturb.
"""

from __future__ import annotations

import argparse
import json
import random
import sqlite3
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ragcore.schema import Document, TextNode, new_id
from ragcore.sql.sqlite import SQLiteDatabase
from ragcore.text.keywords import content_words
from ragcore.vector_stores.disk import SCHEMA, DiskStore

DATA = Path(__file__).parents[2] / "shared" / "data"
PER_DOCUMENT = 10  # passages
WIDTH = 8  # numbers in a vector
QUESTIONS = 100  # questions of each kind
OWN = 0.04  # of the words are drawn from the endless list


@dataclass(frozen=True)
class Language:
    """Real text, cut into sentences; `words` in a passage; `letters` that count as a word where words are not
    spaced."""

    files: tuple[str, ...]
    words: int
    letters: int = 0


LANGUAGES = {
    "en": Language(("mtrag_clapnq/corpus.jsonl", "scifact/corpus.jsonl", "cranfield/corpus.jsonl"), 150),
    "de": Language(("xquad/de/corpus.jsonl",), 130),
    "zh": Language(("xquad/zh/corpus.jsonl",), 130, 2),
    "th": Language(("udhr/txt/tha.txt",), 130, 4),
}


class Text:
    """An endless supply of passages of one language."""

    def __init__(self, language: Language, seed: int = 1) -> None:
        self._language, self._chance, self._numbers = (
            language,
            random.Random(seed),
            np.random.default_rng(seed),
        )
        text = " ".join(_read(DATA / file) for file in language.files)
        self._words = _pieces(text, language.letters) if language.letters else text.split()
        self._space = "" if language.letters else " "

    def passage(self) -> str:
        size = self._language.words
        start = self._chance.randrange(len(self._words) - size)
        words = self._words[start : start + size]
        for place in np.flatnonzero(self._numbers.random(size) < OWN).tolist():
            words[place] = self._own(int(self._numbers.zipf(1.3)))
        return self._space.join(words)

    def _own(self, number: int) -> str:
        """The word of this number: the same each time, in the language's letters."""
        chance = random.Random(number)
        if self._language.letters:
            return "".join(chance.choice(chance.choice(self._words)) for _ in range(self._language.letters))
        return "".join(
            chance.choice("bcdfglmnprstvz") + chance.choice("aeiou") for _ in range(2 + chance.randrange(3))
        )


def _read(path: Path) -> str:
    if path.suffix == ".txt":
        return path.read_text(encoding="utf-8")
    return " ".join(json.loads(line)["text"] for line in path.open(encoding="utf-8"))


def _pieces(text: str, letters: int) -> list[str]:
    return [text[i : i + letters] for i in range(0, len(text), letters)]


def documents(text: Text, passages: int) -> Iterator[tuple[Document, list[TextNode]]]:
    vectors = np.random.default_rng(2)
    for _ in range(0, passages, PER_DOCUMENT):
        texts = [text.passage() for _ in range(PER_DOCUMENT)]
        document, start, nodes = Document("\n".join(texts), id_=new_id()), 0, []
        for each in texts:
            embedding = vectors.normal(size=WIDTH).astype(np.float32)
            end = start + len(each)
            nodes.append(
                TextNode(
                    each,
                    new_id(),
                    ref_doc_id=document.id_,
                    start_char_idx=start,
                    end_char_idx=end,
                    embedding=embedding,
                )
            )
            start = end + 1
        yield document, nodes


def questions(texts: Sequence[str], language: Language) -> dict[str, list[str]]:
    """Three kinds of question, from these passages."""
    chance = random.Random(3)
    if language.letters:
        cuts = {
            "2 words": 2 * language.letters,
            "5 words": 5 * language.letters,
            "10 words": 10 * language.letters,
        }
        return {
            kind: [_stretch(chance, texts, letters) for _ in range(QUESTIONS)]
            for kind, letters in cuts.items()
        }
    having = Counter(word for text in texts for word in set(content_words(text)))
    rare = [word for word, count in having.items() if 2 <= count < max(3, len(texts) / 500)]
    common = [word for word, _ in having.most_common(50)]
    ordinary = [content_words(text) for text in chance.sample(list(texts), QUESTIONS)]
    return {
        "2 rare words": [" ".join(chance.sample(rare, 2)) for _ in range(QUESTIONS)],
        "5 ordinary words": [" ".join(chance.sample(words, 5)) for words in ordinary],
        "10 words, 4 of the commonest": [
            " ".join(chance.sample(words, 6) + chance.sample(common, 4)) for words in ordinary
        ],
    }


def _stretch(chance: random.Random, texts: Sequence[str], letters: int) -> str:
    text = chance.choice(texts)
    start = chance.randrange(len(text) - letters)
    return text[start : start + letters]


def measure(name: str, passages: int, folder: Path) -> None:
    language, text = LANGUAGES[name], Text(LANGUAGES[name])
    with closing(SQLiteDatabase(folder / "library.db", SCHEMA)) as database:
        store = DiskStore(database, vectors=folder / "vectors")
        sample, characters, stored = [], 0, []
        building = 0.0
        with database.transaction():
            for document, nodes in documents(text, passages):
                sample += [node.text for node in nodes[:1]]
                characters += len(document.text.encode())
                stored.append(document.id_)
                started = time.process_time()
                store.upsert(document, nodes)
                building += time.process_time() - started
        print(f"{name}: {passages:,} passages, built in {building:.1f} s")
        by_kind = questions(sample, language)
        store = DiskStore(database, vectors=folder / "vectors")
        started = time.process_time()
        store.keyword_search(by_kind[next(iter(by_kind))][0], 10)
        print(f"    first question{1000 * (time.process_time() - started):25.1f} ms")
        for kind, each in by_kind.items():
            times = [_milliseconds(store, question) for question in each]
            print(
                f"    {kind:30} p50 {statistics.median(times):6.1f} ms  p95 "
                f"{sorted(times)[int(0.95 * len(times))]:6.1f} ms"
            )
        print_sizes(folder / "library.db", characters)
        started = time.process_time()
        for document, nodes in documents(text, 1000 * PER_DOCUMENT):
            store.upsert(document, nodes)
        print(f"    1,000 documents more, each for itself: {time.process_time() - started:.1f} s")
        started = time.process_time()
        for id_ in stored[:: max(len(stored) // 100, 1)][:100]:
            store.delete(id_)
        print(f"    100 documents deleted, each for itself: {time.process_time() - started:.1f} s")
        store.close()


def _milliseconds(store: DiskStore, question: str) -> float:
    """Milliseconds."""
    started = time.process_time()
    store.keyword_search(question, 10)
    return 1000 * (time.process_time() - started)


def print_sizes(path: Path, text: int) -> None:
    """The bytes of each table with its indexes, and as a share of the text."""
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        tables = db.execute(
            "SELECT coalesce(m.tbl_name, s.name), sum(s.pgsize) FROM dbstat s LEFT JOIN sqlite_master m "
            "ON m.name = s.name"
            " GROUP BY 1 HAVING sum(s.pgsize) > 20000 ORDER BY 2 DESC"
        ).fetchall()
        free = (
            db.execute("PRAGMA freelist_count").fetchone()[0] * db.execute("PRAGMA page_size").fetchone()[0]
        )
    size = path.stat().st_size
    parts = ", ".join(f"{name} {bytes_ / text:.2f}" for name, bytes_ in [*tables, ("unused pages", free)])
    print(f"    on disk {size / 1e6:.1f} MB, {size / text:.2f} x the {text / 1e6:.1f} MB of text: {parts}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description="How fast and how large keyword search of the disk store is."
    )
    parser.add_argument("--passages", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--languages", nargs="+", choices=LANGUAGES, default=list(LANGUAGES))
    options = parser.parse_args()
    for name in options.languages:
        for passages in options.passages:
            with tempfile.TemporaryDirectory() as folder:
                measure(name, passages, Path(folder))


if __name__ == "__main__":
    main()
