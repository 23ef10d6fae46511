"""Questions that name the subject of a document which only its file name has, such as an essay that says "I".

    python -m benchmarks.named_documents ../shared/data/squad2_500

From a data set of paragraphs: a name in a question becomes "it" in the text, and the name of the file. The
halves of the questions are measured separately; the development half has ids with an even CRC-32.
"""

from __future__ import annotations

import argparse
import re
import tempfile
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.reader import lines
from lectern.jobs.worker import Worker
from lectern.library import Library
from lectern.schema import Ask
from ragcore.extractive.fixed_replies import is_refusal

NAME = re.compile(r"(?<=[a-z,] )[A-Z][\w'-]+(?: [A-Z][\w'-]+)*")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("data_set", type=Path)
    data_set = parser.parse_args().data_set
    texts = {one["_id"]: one["text"] for one in lines(data_set / "corpus.jsonl")}
    names: dict[str, str] = {}
    questions = [one for one in lines(data_set / "qa.jsonl") if _names_document(one, texts, names)]
    with tempfile.TemporaryDirectory() as folder:
        library = Library.open(Path(folder))
        read(library, texts, names)
        for half, rest in (("development", 0), ("validation", 1)):
            measure(half, library, [one for one in questions if zlib.crc32(one["id"].encode()) % 2 == rest])
        library.close()


def _names_document(row: dict[str, Any], texts: dict[str, str], names: dict[str, str]) -> bool:
    """Whether the question says the name of its document, of which the first question with one decides."""
    document = row["doc_ids"][0]
    for match in NAME.findall(row["question"]):
        name = match.removesuffix("'s")
        answers = any(name in answer or answer in name for answer in row["answers"])
        if (
            re.search(rf"\b{re.escape(name)}\b", texts[document])
            and not answers
            and names.setdefault(document, name) == name
        ):
            return True
    return False


def read(library: Library, texts: dict[str, str], names: dict[str, str]) -> None:
    for id_, text in texts.items():
        for word in names.get(id_, "").split():
            text = re.sub(rf"\b{re.escape(word)}(?:'s)?\b", "it", text)
        (library.incoming / id_).write_text(text, "utf-8")
        name = f"{names[id_]} ({id_})" if id_ in names else id_
        library.intake.add(library.incoming / id_, f"{name.replace('/', '-')}.txt")
    worker = Worker(library.files, library.store, library.embedder, lambda: library.settings.ingest)
    while worker.run_once():
        pass


def measure(half: str, library: Library, questions: list[dict[str, Any]]) -> None:
    counts: Counter[str] = Counter()
    for one in questions:
        text = str(library.answer(Ask(one["question"], chat_mode=None)).whole())
        kind = "answerable" if one["answers"] else "unanswerable"
        counts[kind] += 1
        counts[f"{kind}, refused"] += is_refusal(text)
        counts["answerable, right"] += any(answer.lower() in text.lower() for answer in one["answers"])
    for name in ("answerable, right", "answerable, refused", "unanswerable, refused"):
        of = counts[name.partition(",")[0]]
        print(f"{half}: {name} {counts[name] / max(of, 1):.3f} of {of}")


if __name__ == "__main__":
    main()
