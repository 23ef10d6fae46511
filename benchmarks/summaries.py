"""How well a summary of several documents, without a language model, covers them.

    python -m benchmarks.summaries ../shared/data

Each summary is of four articles of `clapnq_dev` and one of `azure_northwind`'s long documents. It should
quote each of the five, and the sentences of an article should have a word of its title, which is not part of
its text. No sentence should be repeated, and a requested length should be right. The halves of the articles
are measured separately; the development half has ids with an even CRC-32.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import zlib
from collections import Counter
from pathlib import Path

from lectern.jobs.worker import Worker
from lectern.library import Library
from lectern.schema import Ask, build_sources
from ragcore.text.keywords import content_words
from ragcore.text.quotable_sentences import quotes_in

ARTICLES = 4  # with each long document
WISHES = {
    "Summarise these documents.": None,
    "Summarise these documents in three sentences.": 3,
    "Give me a summary in 8 points.": 8,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("data", type=Path)
    data = parser.parse_args().data
    with tempfile.TemporaryDirectory() as folder:
        library = Library.open(Path(folder))
        articles = read(library, data)
        long = [file.id for file in library.files.all() if file.id not in articles]
        for half, rest in (("development", 0), ("validation", 1)):
            own = [id_ for id_, (number, _) in articles.items() if zlib.crc32(number.encode()) % 2 == rest]
            groups = [own[start : start + ARTICLES] for start in range(0, len(own) - ARTICLES + 1, ARTICLES)]
            measure(half, library, {id_: articles[id_][1] for id_ in own}, groups, long)
        library.close()


def read(library: Library, data: Path) -> dict[str, tuple[str, set[str]]]:
    """By the id of its file, an article's id and the words of its title that its text has."""
    articles: dict[str, tuple[str, set[str]]] = {}
    for line in (data / "clapnq_dev" / "corpus.jsonl").read_text("utf-8").splitlines():
        article = json.loads(line)
        path = library.incoming / article["_id"]
        path.write_text(article["text"], "utf-8")
        file_id = library.intake.add(path, f"{article['_id']}.txt").file.id
        if title_words := set(content_words(article["title"])) & set(content_words(article["text"])):
            articles[file_id] = (article["_id"], title_words)
    for source in sorted((data / "azure_northwind" / "data").glob("*.pdf")):
        library.intake.add(source, source.name)
    worker = Worker(library.files, library.store, library.embedder, lambda: library.settings.ingest)
    while worker.run_once():
        pass
    return articles


def measure(
    half: str, library: Library, names: dict[str, set[str]], groups: list[list[str]], long: list[str]
) -> None:
    for wish, length in WISHES.items():
        counts: Counter[str] = Counter()
        for number, group in enumerate(groups):
            files = (*group, long[number % len(long)])
            ask = Ask(
                wish, chat_mode=None, response_mode="tree_summarize", reading="everything", file_ids=files
            )
            answer = library.answer(ask)
            text = str(answer.whole())
            sources = {source.number: source.file_id for source in build_sources(answer.source_nodes)}
            quotes = quotes_in(text, number=None)
            of_file = {
                file: [quote.text for quote in quotes if any(sources[mark] == file for mark in quote.marks)]
                for file in files
            }
            counts["documents"] += len(files)
            counts["quoted"] += sum(map(bool, of_file.values()))
            counts["articles"] += len(group)
            counts["named"] += sum(
                bool(names[file] & set(content_words(" ".join(of_file[file])))) for file in group
            )
            counts["sentences"] += len(quotes)
            counts["twice"] += len(quotes) - len({quote.text for quote in quotes})
            counts["right length"] += length is None or len(quotes) == length
        print(
            f"{half}: {wish} documents quoted {counts['quoted'] / counts['documents']:.3f}, subject named"
            f" {counts['named'] / counts['articles']:.3f} of {counts['articles']} articles,"
            f" {counts['sentences'] / len(groups):.1f}"
            f" sentences, {counts['twice']} twice"
            + ("" if length is None else f", right length {counts['right length'] / len(groups):.3f}"),
            flush=True,
        )


if __name__ == "__main__":
    main()
