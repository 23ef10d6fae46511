"""How often the library answers questions about a topic, in several everyday forms, without a language model.

    python -m benchmarks.topics LIBRARY ...    # folders of libraries whose files are read

Topics are the headings of the documents. An answer should cite the passage with the heading, or its
neighbour, and none should be refused. Questions about topics of `ELSEWHERE` for which the documents have no
word should be refused.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from lectern.library import Library
from lectern.schema import Ask
from ragcore.extractive.fixed_replies import is_refusal
from ragcore.schema import TextNode
from ragcore.text.citations import CITATION
from ragcore.text.keywords import content_words, words

FORMS = (
    "{}",
    "Tell me about {}.",
    "What does the document say about {}?",
    "What does the handbook say about {}?",
    "Does this document mention {}?",
)
ELSEWHERE = (
    "elephants", "photosynthesis", "the French Revolution", "volcanoes", "medieval castles", "chess openings",
    "jazz music", "the Ottoman Empire", "penguins", "sourdough bread", "black holes", "Japanese gardens",
    "wind turbines", "tulips", "crocodiles", "the Bronze Age", "ballet", "glaciers", "submarines",
    "opera singers", "cheese making", "earthquakes",
)  # fmt: skip
_HEADING = re.compile(r"[^\W\d_][^.:;!?\n|]{3,58}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("libraries", nargs="+", type=Path)
    for folder in parser.parse_args().libraries:
        library = Library.open(folder)
        print(folder)
        measure(library)
        library.close()


def measure(library: Library) -> None:
    store = library.store
    nodes = [node for row in store.documents() for node in store.nodes(store.passage_ids(row.id_))]
    topics = headings(nodes)
    known = {word for node in nodes for word in words(node.text)}
    absent = [topic for topic in ELSEWHERE if not known & set(content_words(topic))]
    print(f"{len(topics)} headings, {len(absent)} topics that are not there")
    for form in FORMS:
        there = [ask(library, form.format(topic)) for topic in topics]
        right = sum(
            topic in "\n".join(cited) for topic, cited in zip(topics, there, strict=True) if cited is not None
        )
        refused = sum(cited is None for cited in there)
        correct = sum(ask(library, form.format(topic)) is None for topic in absent)
        shares = (
            f"right {right / len(topics):.3f}  refused {refused / len(topics):.3f}  of absent "
            f"{correct / len(absent):.3f}"
        )
        print(f"  {form:40} {shares}")


def headings(nodes: Sequence[TextNode]) -> list[str]:
    """Short lines of several words before a long one, of one passage each."""
    counts: dict[str, int] = {}
    for node in nodes:
        lines = [line.strip() for line in node.text.splitlines() if line.strip()]
        for line, following in pairwise(lines):
            if (
                _HEADING.fullmatch(line)
                and 2 <= len(line.split()) <= 6
                and line[0].isupper()
                and len(following) > 80
            ):
                counts[line] = counts.get(line, 0) + 1
    return [heading for heading, count in counts.items() if count == 1 and content_words(heading)]


def ask(library: Library, question: str) -> list[str] | None:
    """The texts that the answer cites; None where it is refused."""
    answer = library.answer(Ask(question, chat_mode=None))
    if is_refusal(answer.response):
        return None
    numbers = {
        int(number)
        for match in CITATION.finditer(answer.response)
        for number in re.findall(r"\d+", match.group())
    }
    return [
        answer.source_nodes[number - 1].node.text
        for number in sorted(numbers)
        if number <= len(answer.source_nodes)
    ]


if __name__ == "__main__":
    main()
