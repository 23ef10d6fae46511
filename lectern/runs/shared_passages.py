"""The passages that the answers of a comparison have in common."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import replace

from lectern.library import Library
from lectern.schema import Ask, Source, build_sources
from ragcore.errors import RagError


class SharedPassages:
    """The passages that all answers of a comparison use. The first answer retrieves them."""

    def __init__(self, library: Library, conversation_id: str) -> None:
        self._library = library
        self._conversation_id = conversation_id
        self._lock = threading.Lock()
        self._sources: Future[Sequence[Source]] = Future()

    def add_to(self, ask: Ask) -> Ask:
        """The ask with exactly these passages and their scores, which weigh in an answer that quotes. A
        RagError of the retrieval is raised for each answer."""
        with self._lock:
            if not self._sources.done():
                try:
                    self._sources.set_result(self._read() or self._retrieve(ask))
                except RagError as error:
                    self._sources.set_exception(error)
        sources = self._sources.result()
        return replace(
            ask,
            node_ids=tuple(source.node_id for source in sources),
            node_scores=tuple(source.score for source in sources),
        )

    def _read(self) -> Sequence[Source]:
        question = self._library.conversations.messages(self._conversation_id)[:1]
        return [source for message in question for source in message.sources]

    def _retrieve(self, ask: Ask) -> Sequence[Source]:
        sources = build_sources(self._library.passages(ask))
        self._library.conversations.save_sources(self._conversation_id, sources)
        return sources
