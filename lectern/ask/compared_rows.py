"""Answers to "Which one is larger?" about the rows of a table that the conversation spoke of."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lectern.ask.computed_answer import ENGINE, named_tables, stream_computed
from ragcore.extractive.follow_up import names_compared
from ragcore.observe import start, within
from ragcore.response_synthesizers.answer import AnswerStream
from ragcore.schema import ChatMessage, NodeWithScore
from ragcore.structure.comparison import compare, find_comparison
from ragcore.vector_stores.base import Store

MIN_COMPARED = 2  # rows


def compare_rows(
    question: str,
    history: Sequence[ChatMessage],
    retrieve: Callable[[str], Sequence[NodeWithScore]],
    store: Store,
) -> AnswerStream | None:
    """The answer from the rows of one table among those of the documents that are retrieved. None if nothing
    is compared, or if it is unclear which rows or which column."""
    comparison = find_comparison(question)
    asked, names = names_compared([message for message in history if not find_comparison(message.content)])
    if comparison is None or len(names) < MIN_COMPARED:
        return None
    step = start("query", question=question, engine=ENGINE)
    with within(step):
        hits = retrieve(f"{asked} {' '.join(names)}")
        results = [
            (compared, named.document_id)
            for named in named_tables(hits, store)
            if (compared := compare(comparison, names, asked, named.table)) is not None
        ]
        return stream_computed(question, results, hits, store, step)
