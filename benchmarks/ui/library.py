"""The library for the measurements: the sample documents, and a conversation of many messages about them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from lectern.explain.embedding_map import EmbeddingMap, version_of, write
from lectern.library import Library
from lectern.runs.answer_runs import AnswerRuns
from lectern.schema import Ask
from lectern.settings import LLMSettings
from ragcore.schema import new_id

QUESTIONS = (
    "In what wind does the railway stop?",
    "May I bring a large dog?",
    "What caused the stoppage, according to Dr Greaves?",
    "How many steps has the Herring Stair?",
    "What did the committee resolve about the works and the wind?",
)
LIMIT = 300.0  # seconds


def prepare(home: Path, messages: int) -> str:
    """Read the sample into a new library, and add a conversation of so many messages; returns its id. Its
    questions are answered once, and then repeated."""
    library = Library(home)
    try:
        library.intake.add_sample()
        library.worker.start()
        _until_read(library)
        runs, conversation = AnswerRuns(library), library.conversations.create()
        for question in QUESTIONS:
            runs.start(conversation.id, Ask(question)).wait(LIMIT)
        dumped = next(one for one in library.conversations.dump() if one["id"] == conversation.id)
        turns = sorted(dumped["messages"], key=lambda message: message["place"])
        long = new_id()[:16]
        repeated = [
            turns[place % len(turns)] | {"id": new_id()[:16], "conversation_id": long, "place": place + 1}
            for place in range(messages)
        ]
        library.conversations.restore(dumped | {"id": long, "title": "A long talk", "messages": repeated}, {})
    finally:
        library.close()
    return long


def lay_out(home: Path, passages: int) -> None:
    """Writes a map of so many passages: a cluster of points for each document."""
    random = np.random.default_rng(0)
    library = Library(home)
    try:
        index, documents = library.store.versions.current().name, library.store.documents()
        numbers = random.integers(0, len(documents), passages).astype(np.uint32)
        middles = random.uniform(-0.8, 0.8, (len(documents), 2))
        points = (middles[numbers] + random.normal(0, 0.08, (passages, 2))).clip(-1, 1).astype(np.float32)
        names = tuple((document.id_, document.name) for document in documents)
        ids = [f"{number:032x}" for number in range(passages)]
        embedding_map = EmbeddingMap(version_of(documents), time.time(), {}, ids, points, numbers, names)
        write(embedding_map, home / "maps" / f"{index}.npz")
    finally:
        library.close()


@contextmanager
def answering_by(home: Path, address: str) -> Iterator[None]:
    """Inside, the model server at this address answers the questions of the library."""
    library = Library(home)
    try:
        before = library.settings
        library.update_settings(
            before.model_copy(
                update={
                    "llm": LLMSettings(provider="openai_compatible", base_url=f"{address}/v1", model="tiny")
                }
            )
        )
        yield
        library.update_settings(before)
    finally:
        library.close()


def _until_read(library: Library) -> None:
    deadline = time.monotonic() + LIMIT
    while any(file.active for file in library.files.all()):
        if time.monotonic() > deadline:
            raise TimeoutError("the sample was not read")
        time.sleep(0.1)
