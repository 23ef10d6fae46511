"""What a question over rows may mean if it is unclear, and the result that an answer says."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from lectern.ask.computed_answer import read_tables, table_results
from lectern.ask.named_file import split_file_name
from ragcore.schema import Document
from ragcore.structure.answer import Computed
from ragcore.text.keywords import words
from ragcore.text.language import language_of
from ragcore.vector_stores.base import Store

MAX_READINGS = 4
_WORD = re.compile(r"[^\W\d_]{3,}")
_END = re.compile(r"[\s?？.。]*$")
_OF_FILE: Mapping[str, str] = {
    "en": "{question} in {name}?",
    "de": "{question} in {name}?",
    "es": "{question} en {name}?",
    "fr": "{question} dans {name} ?",
    "zh": "在 {name} 中，{question}？",
}


def find_readings(question: str, documents: Sequence[Document], store: Store) -> list[str]:
    """The questions that an unclear question may mean, if there are several: of the table of one file, or of
    one of the columns that a word fits. Each of them can be computed."""
    readings: list[str] = []
    for document in documents:
        for reading in (question, *_with_columns(question, document)):
            if len(table_results(reading, document.doc_id, store)) == 1:
                several = len(documents) > 1
                readings.append(_of_file(reading, file_name(document)) if several else reading)
    distinct = list(dict.fromkeys(readings))
    return distinct[:MAX_READINGS] if len(distinct) > 1 else []


def find_computed(question: str, document: Document, store: Store, answer: str) -> Computed | None:
    """The result that a computed answer says, with all rows that it comes from. None if it was computed from
    another document, or read in passages."""
    question, _name = split_file_name(question, [file_name(document)])
    results = table_results(question, document.doc_id, store)
    return next((result for result in results if result.sentence in answer), None)


def file_name(document: Document) -> str:
    return str(document.metadata.get("file_name", ""))


def _of_file(question: str, name: str) -> str:
    pattern = _OF_FILE.get(language_of(question), _OF_FILE["en"])
    return pattern.format(question=_END.sub("", question), name=name)


def _with_columns(question: str, document: Document) -> Iterator[str]:
    """The question with the whole name of a column for a word that is in the names of several."""
    for table in read_tables(document.text):
        for word in dict.fromkeys(_WORD.findall(question)):
            fitting = [name for name in table.names if set(words(word)) & set(words(name))]
            if len(fitting) > 1 and word not in fitting:
                for name in fitting:
                    yield question.replace(word, name, 1)
