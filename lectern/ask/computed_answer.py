"""Answers that are computed from the rows of a table, not read in passages.

What is computed is understood from the words of the question. Where they are not understood and there is a
language model, it proposes a SELECT, see `ragcore.structure.select`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePath

from lectern.ask.named_file import split_file_name
from ragcore.errors import UnknownDocumentError
from ragcore.extractive.quoter import Answer, record
from ragcore.llms.base import LLM
from ragcore.observe import Span, start, within
from ragcore.prompts.prompt import Origin, Prompt
from ragcore.prompts.wording import TABLE_QUERY
from ragcore.response_synthesizers.answer import AnswerStream
from ragcore.schema import Document, NodeWithScore, TextNode
from ragcore.structure.answer import Computed, compute
from ragcore.structure.cells import compute_cells, without_operation
from ragcore.structure.question import understand
from ragcore.structure.question_words import asks_over_rows, may_ask_over_rows
from ragcore.structure.tables import Table, tables_of
from ragcore.structure.two_way_tables import two_way_tables_of
from ragcore.text.keywords import content_words
from ragcore.text.quotable_sentences import Quote, join_quotes
from ragcore.text.quotable_units import is_row
from ragcore.vector_stores.base import Store, StoredDocument

CACHED_DOCUMENTS = 4  # whose tables are in memory
SMALL = 50_000  # characters of a document whose tables are looked at without a search
MAX_SMALL = 100  # such documents
MAX_CELLS_READ = 2_000_000  # characters of a document whose two-way tables are read
MAX_RESULTS = 3  # of cells, each with the name of its file
ENGINE = "computed"  # in traces
PROMPT = "text_qa"  # whose place the result takes
_SELECT_BEGINS, _SELECT_ENDS = "\n\n```sql\n", "\n```"


@dataclass(frozen=True, slots=True)
class NamedTable:
    """A table of a document, with the name of its file."""

    document_id: str
    name: str
    table: Table

    def likeness(self, question: str) -> int:
        """The number of words and values of the question that its name, columns and cells have."""
        from ragcore.structure.select import named_values  # loads sqlglot

        names = f"{self.name} {' '.join(self.table.names)}".replace("_", " ")
        shared = set(content_words(question)) & set(content_words(names))
        return len(shared) + len(named_values(question, self.table))


def compute_answer(
    question: str,
    retrieve: Callable[[str], Sequence[NodeWithScore]],
    store: Store,
    *,
    file_ids: Collection[str] | None = None,
    llm: LLM | None = None,
    prompt: Prompt = TABLE_QUERY,
) -> AnswerStream | None:
    """The answer from all rows of the one table that the question is about: among the tables of the documents
    whose rows are retrieved, else among those of small documents. None if it asks for no computation, or if
    it is unclear of which table. `file_ids`: the documents that may be read, None for all. `llm` gets
    `prompt` if the words of the question are not understood; LLMErrors."""
    if not (asks_over_rows(question) or may_ask_over_rows(question)):
        return None
    step = start("query", question=question, engine=ENGINE)
    with within(step):
        hits = retrieve(question)
        documents = [one for one in store.documents() if file_ids is None or one.id_ in file_ids]
        question, named = split_file_name(question, [one.name for one in documents])
        documents = [one for one in documents if named in ("", one.name)]
        ids = {one.id_ for one in documents}
        hits = [hit for hit in hits if hit.node.ref_doc_id in ids]
        tables = named_tables(hits, store)
        results = list(_understood(question, tables))
        if not results:  # words such as "biggest expense" are in no row
            results = list(_understood(question, _small_tables(documents, store)))
        if not results and (asked := without_operation(question)):
            # The words of the operation stand in no table, and others may have the same row.
            found = dict.fromkeys((*_ids_with_rows(hits), *_ids_with_rows(retrieve(asked))))
            of_cells = [result for id_ in found if id_ in ids for result in _of_cells(question, id_, store)]
            if of_cells:
                return stream_computed(question, of_cells, hits, store, step, at_most=MAX_RESULTS)
        if not results and llm is not None:
            results = _selected(question, tables, llm, prompt)
        return stream_computed(question, results, hits, store, step)


def stream_computed(
    question: str,
    results: Sequence[tuple[Computed, str]],
    hits: Sequence[NodeWithScore],
    store: Store,
    step: Span,
    *,
    at_most: int = 1,
) -> AnswerStream | None:
    """The answer with the rows of the `results`, each with the id of its document, and with the names of
    their files if there are several. None if there are more than `at_most`, or none."""
    if not 0 < len(results) <= at_most:
        return None
    sources: list[NodeWithScore] = []
    texts: list[str] = []
    for computed, document_id in results:
        found, marks = _sources(computed, document_id, hits, store)
        if len(marks) < len(computed.rows):  # a passage was deleted meanwhile
            return None
        text = _with_rows(computed, [len(sources) + mark for mark in marks])
        name = found[0].node.metadata.get("file_name", "")
        texts.append(text if len(results) == 1 else f"{name}:\n\n{text}")
        sources += found
    text = "\n\n".join(texts)
    rows = "\n".join(row.text for computed, _ in results for row in computed.rows)
    read = ((Origin.DOCUMENTS, rows), (Origin.QUESTION, question))
    if any(computed.select for computed, _ in results):
        step.note(outcome="answer")  # the call is in the trace
    else:
        record(PROMPT, read, lambda: Answer(text, "answer"))
    return AnswerStream((piece for piece in (text,)), sources, trace=step)


def _has_rows(node: TextNode) -> bool:
    return any(map(is_row, node.text.splitlines()))


def named_tables(hits: Sequence[NodeWithScore], store: Store) -> list[NamedTable]:
    """The tables of the documents whose rows were found."""
    return [table for document_id in _ids_with_rows(hits) for table in _tables_of(document_id, store)]


def _ids_with_rows(hits: Sequence[NodeWithScore]) -> list[str]:
    return list(dict.fromkeys(str(hit.node.ref_doc_id) for hit in hits if _has_rows(hit.node)))


def _small_tables(documents: Sequence[StoredDocument], store: Store) -> list[NamedTable]:
    """The tables of small documents; none if they are many."""
    ids = [document.id_ for document in documents if document.characters <= SMALL]
    return [table for id_ in ids for table in _tables_of(id_, store)] if len(ids) <= MAX_SMALL else []


def _tables_of(document_id: str, store: Store) -> list[NamedTable]:
    document = _document(document_id, store)
    if document is None:
        return []
    return [NamedTable(document_id, _stem(document), table) for table in read_tables(document.text)]


def _document(document_id: str, store: Store) -> Document | None:
    try:
        return store.document(document_id)
    except UnknownDocumentError:  # deleted after the retrieval
        return None


def _stem(document: Document) -> str:
    """The name of the file without its suffix."""
    return PurePath(str(document.metadata.get("file_name", ""))).stem


def table_results(question: str, document_id: str, store: Store) -> list[Computed]:
    """What the tables of a document say."""
    understood = list(_understood(question, _tables_of(document_id, store)))
    return [computed for computed, _ in understood or _of_cells(question, document_id, store)]


def _of_cells(question: str, document_id: str, store: Store) -> list[tuple[Computed, str]]:
    """What the two-way tables of a document say, the same once."""
    document = _document(document_id, store)
    if document is None or len(document.text) > MAX_CELLS_READ:
        return []
    tables = _two_way_tables_of(document.text)
    found = compute_cells(question, tables, _stem(document), document.text)
    distinct = {computed.sentence: computed for computed in found}
    return [(computed, document_id) for computed in distinct.values()]


def _understood(question: str, tables: Sequence[NamedTable]) -> Iterator[tuple[Computed, str]]:
    for named in tables:
        query = understand(question, named.table, [named.name])
        computed = compute(query) if query is not None else None
        if computed is not None:
            yield computed, named.document_id


def _selected(
    question: str, tables: Sequence[NamedTable], llm: LLM, prompt: Prompt
) -> list[tuple[Computed, str]]:
    """From the table that has the most words of the question. Nothing if another one has as many."""
    from ragcore.structure.selected import select_answer  # loads sqlglot

    complete = [named for named in tables if not named.table.is_part]
    shared = [named.likeness(question) for named in complete]
    most = max(shared, default=0)
    if shared.count(most) != 1:
        return []
    best = complete[shared.index(most)]
    computed = select_answer(question, best.table, best.name, llm, prompt)
    return [(computed, best.document_id)] if computed is not None else []


def read_tables(text: str) -> list[Table]:
    """`tables_of`, which takes seconds for a hundred thousand rows."""
    return _tables_of_small(text) if len(text) <= SMALL else _tables_of_large(text)


_two_way_tables_of = lru_cache(maxsize=MAX_SMALL)(two_way_tables_of)
_tables_of_small = lru_cache(maxsize=MAX_SMALL)(tables_of)
_tables_of_large = lru_cache(maxsize=CACHED_DOCUMENTS)(tables_of)


def _sources(
    computed: Computed, document_id: str, hits: Sequence[NodeWithScore], store: Store
) -> tuple[list[NodeWithScore], list[int]]:
    """The passages in which the rows begin, and the number of its passage for each row. Without rows, a
    passage of the table."""
    scores = {hit.node.id_: hit.score for hit in hits}
    sources: list[NodeWithScore] = []
    marks: dict[int, int] = {}
    if not computed.rows:
        found = [hit for hit in hits if hit.node.ref_doc_id == document_id]
        return found[:1] or [NodeWithScore(node) for node in list(store.passages(document_id))[:1]], []
    for node in store.passages(document_id):
        begun = [
            at
            for at, row in enumerate(computed.rows)
            if at not in marks and (node.start_char_idx or 0) <= row.start < (node.end_char_idx or 0)
        ]
        if begun:
            sources.append(NodeWithScore(node, scores.get(node.id_)))
            marks.update(dict.fromkeys(begun, len(sources)))
        if len(marks) == len(computed.rows):
            break
    return sources, [marks[at] for at in sorted(marks)]


def _with_rows(computed: Computed, marks: Sequence[int]) -> str:
    """The sentence, and below it the rows with their citations."""
    if not computed.rows:
        return f"{computed.sentence} [1]{_as_code(computed.select)}"
    quotes = [
        Quote(row.text, (mark,), 0, "", bullet="|") for row, mark in zip(computed.rows, marks, strict=True)
    ]
    text = f"{computed.sentence}\n\n{join_quotes(quotes)}"
    more = f"\n\n{computed.more}" if computed.more else ""
    return f"{text}{more}{_as_code(computed.select)}"


def _as_code(select: str) -> str:
    return f"{_SELECT_BEGINS}{select}{_SELECT_ENDS}" if select else ""


def split_select(text: str) -> tuple[str, str]:
    """The text of an answer, and the SELECT at its end that it is computed by; "" if it has none.

    >>> split_select("**3** of 6 rows. [1]\\n\\n```sql\\nSELECT\\n  COUNT(*)\\nFROM rooms\\n```")
    ('**3** of 6 rows. [1]', 'SELECT\\n  COUNT(*)\\nFROM rooms')
    """
    before, begins, select = text.partition(f"{_SELECT_BEGINS}SELECT\n")
    if not begins or not select.endswith(_SELECT_ENDS):
        return text, ""
    return before, f"SELECT\n{select.removesuffix(_SELECT_ENDS)}"
