"""How good suggested questions are before they are checked: the share whose own document is among the first
three passages of a search. Also prints the final suggestions.

    python -m benchmarks.suggestions LIBRARY ...    # folders of libraries whose files are read
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from lectern.ask.suggested_questions import MAX_RANK, Candidate, candidates, is_near
from lectern.library import Library

MAX_PER_DOCUMENT = 3  # questions, the best ones


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("libraries", nargs="+", type=Path)
    for folder in parser.parse_args().libraries:
        library = Library.open(folder)
        measure(library)
        library.close()


def measure(library: Library) -> None:
    documents = [document.id_ for document in library.store.documents()]
    by_document = [
        [Candidate(question, document) for question in candidates(library.store, document)[:MAX_PER_DOCUMENT]]
        for document in documents
    ]
    first = [questions[0] for questions in by_document if questions]
    every = [question for questions in by_document for question in questions]
    print(f"{library.folder.name}: {len(documents)} documents, {len(first)} with a question")
    print(
        f"  first of each: {share(library, first)}; first {MAX_PER_DOCUMENT} of each: {share(library, every)}"
    )
    began = time.perf_counter()
    suggestions = library.suggestions.generate()
    print(f"  suggested in {time.perf_counter() - began:.1f} s: {share(library, suggestions)}")
    for suggestion in suggestions:
        print(f"    {suggestion.question}")


def share(library: Library, questions: list[Candidate]) -> str:
    retriever = library.retriever(MAX_RANK)
    near = sum(is_near(candidate, retriever.retrieve(candidate.question)) for candidate in questions)
    return f"{near} of {len(questions)} ({near / max(len(questions), 1):.0%})"


if __name__ == "__main__":
    main()
