"""How good suggested questions are before they are checked: the share whose own document is among the first three passages that
the library finds. And those that are suggested in the end.

    python -m benchmarks.suggestions LIBRARY ...    # folders of libraries, with what is to be measured read
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from lectern.ask.suggested_questions import MAX_RANK, Candidate, candidates, is_near
from lectern.library import Library

OF_EACH = 3  # questions of each document, the most telling ones


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("libraries", nargs="+", type=Path)
    for folder in parser.parse_args().libraries:
        library = Library.open(folder)
        measure(library)
        library.close()


def measure(library: Library) -> None:
    documents = [document.id_ for document in library.store.documents()]
    asked = {document: candidates(library.store, document)[:OF_EACH] for document in documents}
    first = [questions[0] for questions in asked.values() if questions]
    every = [question for questions in asked.values() for question in questions]
    print(f"{library.folder.name}: {len(documents)} documents, {len(first)} with a question")
    print(f"  first of each: {share(library, first)}; first {OF_EACH} of each: {share(library, every)}")
    sentences = [question for question in every if question.rank[0] == 0]
    print(f"  of sentences: {share(library, sentences)}")
    began = time.perf_counter()
    made = library.suggestions.generate()
    print(f"  suggested in {time.perf_counter() - began:.1f} s: {share(library, made)}")
    for suggestion in made:
        print(f"    {suggestion.question}")


def share(library: Library, asked: list[Candidate]) -> str:
    retriever = library.retriever(MAX_RANK)
    near = sum(is_near(candidate, retriever.retrieve(candidate.question)) for candidate in asked)
    return f"{near} of {len(asked)} ({near / max(len(asked), 1):.0%})"


if __name__ == "__main__":
    main()
