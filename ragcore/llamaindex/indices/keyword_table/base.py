"""Retrieves passages by keywords that they share with the question."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

from ragcore.concurrency import in_order
from ragcore.indices.base import IndexStruct
from ragcore.indices.node_index import NodeIndex
from ragcore.indices.options import IndexOptions
from ragcore.ingestion.document_splits import Split
from ragcore.llamaindex.indices.keyword_table.utils import frequent_keywords, rake_keywords, terms_of
from ragcore.llms.base import LLMCall
from ragcore.observe import span
from ragcore.prompts.wording import KEYWORD_EXTRACT, QUERY_KEYWORD_EXTRACT
from ragcore.schema import Document, TextNode
from ragcore.text.keyword_replies import keywords_in

if TYPE_CHECKING:
    from ragcore.llamaindex.indices.keyword_table.retrievers import KeywordTableRetriever

TERM = "term:"  # an entry for each term: [number, id] of its passages, in order of insertion
NODE = "node:"  # an entry for each passage: its terms
NEXT = "next"  # the number of the next passage


class BaseKeywordTableIndex(NodeIndex):
    """A table from terms to passages. Subclasses define the keywords of a text.

    Keywords match regardless of case and word endings, as a whole and by their single words.
    """

    def __init__(
        self,
        nodes: Sequence[TextNode | Document] | None = None,
        *,
        max_keywords_per_chunk: int = 10,
        **options: Unpack[IndexOptions],
    ) -> None:
        if max_keywords_per_chunk < 1:
            raise ValueError(f"max_keywords_per_chunk is {max_keywords_per_chunk}; it must be at least 1.")
        record = options.get("record")
        self._most = (
            int(self._of_this_kind(record).data["max_keywords"]) if record else max_keywords_per_chunk
        )
        super().__init__(nodes, **options)

    @abstractmethod
    def keywords_of(self, text: str, most: int, *, asking: bool = False) -> list[str]:
        """At most `most` keywords, the most significant first. `asking` is True for a question. LLMErrors."""

    def as_retriever(
        self, *, max_keywords_per_query: int = 10, num_chunks_per_query: int = 10
    ) -> KeywordTableRetriever:
        """Retrieves the `num_chunks_per_query` passages that share most terms with the question."""
        from ragcore.llamaindex.indices.keyword_table.retrievers import KeywordTableRetriever

        return KeywordTableRetriever(self, max_keywords_per_query, num_chunks_per_query)

    def nodes_with(self, terms: Sequence[str]) -> dict[str, list[str]]:
        """The ids of the passages with each term. Terms without passages are omitted."""
        return {term: [id_ for _, id_ in row] for term, row in self._rows(terms).items()}

    def rank(self, terms: Sequence[str]) -> list[tuple[str, int]]:
        """(id, number of shared terms) of all passages that share any of the terms, most first, ties in order
        of insertion."""
        shared = Counter((number, id_) for row in self._rows(terms).values() for number, id_ in row)
        return [
            (id_, count)
            for (number, id_), count in sorted(shared.items(), key=lambda item: (-item[1], item[0]))
        ]

    @property
    def index_struct(self) -> IndexStruct:
        terms = (key.removeprefix(TERM) for key in self.entries() if key.startswith(TERM))
        table = {term: set(ids) for term, ids in self.nodes_with(list(terms)).items()}
        return replace(super().index_struct, table=table)

    def _new_data(self) -> dict[str, int]:
        return {"max_keywords": self._most}

    def _prepare_entries(self, splits: Sequence[Split]) -> Callable[[], None]:
        nodes = [node for split in splits for node in split.nodes]
        with span("keywords", passages=len(nodes)):
            term_lists = in_order(lambda node: terms_of(self.keywords_of(node.text, self._most)), nodes)
        terms_by_id = {node.id_: terms for node, terms in zip(nodes, term_lists, strict=True)}

        def write() -> None:
            first = int(self._entries([NEXT]).get(NEXT, 0))
            rows: dict[str, list[tuple[int, str]]] = {}
            for number, (id_, terms) in enumerate(terms_by_id.items(), first):
                for term in terms:
                    rows.setdefault(term, []).append((number, id_))
            stored = self._rows(list(rows))
            self.put_entries({TERM + term: [*stored.get(term, ()), *row] for term, row in rows.items()})
            self.put_entries(
                {NODE + id_: terms for id_, terms in terms_by_id.items()} | {NEXT: first + len(terms_by_id)}
            )

        return write

    def _remove_entries(self, ref_doc_id: str, node_ids: Sequence[str]) -> None:
        keys = [NODE + id_ for id_ in node_ids]
        gone = set(node_ids)
        terms = [term for terms in self._entries(keys).values() for term in terms]
        rows = self._rows(terms)
        remaining = {
            TERM + term: [(number, id_) for number, id_ in row if id_ not in gone]
            for term, row in rows.items()
        }
        self.put_entries({key: row for key, row in remaining.items() if row})
        self.delete_entries([*keys, *(key for key, row in remaining.items() if not row)])

    def _rows(self, terms: Sequence[str]) -> dict[str, list[tuple[int, str]]]:
        entries = self._entries([TERM + term for term in dict.fromkeys(terms)])
        return {
            key.removeprefix(TERM): [(number, id_) for number, id_ in row] for key, row in entries.items()
        }

    def _entries(self, keys: Sequence[str]) -> dict[str, Any]:
        return self.storage_context.index_store.entries(self._record.place, keys)


class KeywordTableIndex(BaseKeywordTableIndex):
    """A language model extracts the keywords: one call for each passage and each question.

    >>> from ragcore.llms import ScriptedLLM
    >>> llm = ScriptedLLM(["KEYWORDS: valve, bronze", "KEYWORDS: valve"])
    >>> index = KeywordTableIndex([TextNode("The valve is bronze.")], llm=llm)
    >>> index.as_retriever().retrieve("Which valve?")[0].score
    1.0
    """

    kind = "keyword_table"

    def keywords_of(self, text: str, most: int, *, asking: bool = False) -> list[str]:
        prompt = QUERY_KEYWORD_EXTRACT if asking else KEYWORD_EXTRACT
        return keywords_in(
            self.llm.generate(LLMCall(prompt, {"text": text, "max_keywords": str(most)})).text
        )[:most]


class SimpleKeywordTableIndex(BaseKeywordTableIndex):
    """The keywords are the most frequent words of a text; no model is called.

    >>> index = SimpleKeywordTableIndex([TextNode("The valve is bronze."), TextNode("The rope is steel.")])
    >>> index.as_retriever().retrieve("Which valve?")[0].text
    'The valve is bronze.'
    """

    kind = "simple_keyword_table"

    def keywords_of(self, text: str, most: int, *, asking: bool = False) -> list[str]:
        return frequent_keywords(text, most)


class RAKEKeywordTableIndex(BaseKeywordTableIndex):
    """The keywords are the highest-scoring phrases of a text by RAKE; no model is called.

    >>> index = RAKEKeywordTableIndex(
    ...     [TextNode("The bronze valve is old."), TextNode("The steel rope is new.")]
    ... )
    >>> index.as_retriever().retrieve("bronze valve")[0].text
    'The bronze valve is old.'
    """

    kind = "rake_keyword_table"

    def keywords_of(self, text: str, most: int, *, asking: bool = False) -> list[str]:
        return rake_keywords(text, most)
