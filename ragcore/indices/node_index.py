"""What the indexes that are no vector indexes share: each keeps its own passages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ragcore.errors import UnknownDocumentError
from ragcore.indices.base import BaseIndex
from ragcore.ingestion.document_splits import Split
from ragcore.schema import Document, TextNode
from ragcore.storage.docstore import DocumentStore, RefDocInfo

if TYPE_CHECKING:
    from ragcore.retrievers.text_similarity import Nearest


class NodeIndex(BaseIndex):
    """An index that keeps its passages itself: `nodes`, in order of insertion, and what it knows about them in `entries`.

    A subclass that works something out of its passages gives `_learned` and `_forgotten`.
    """

    @property
    def nodes(self) -> DocumentStore:
        return self.storage_context.node_store(self._record.place)

    @property
    def docstore(self) -> DocumentStore:
        return self.nodes

    @property
    def ref_doc_info(self) -> dict[str, RefDocInfo]:
        return self.nodes.get_all_ref_doc_info()

    @cached_property
    def nearest(self) -> Nearest:
        """The vectors of its texts or summaries, made when they are first compared, kept while the index is."""
        from ragcore.retrievers.text_similarity import Nearest

        return Nearest(self.embed_model)

    def entries(self) -> dict[str, Any]:
        """What `_learned` wrote with `put_entries`."""
        return self.storage_context.index_store.entries(self._record.place)

    def put_entries(self, entries: Mapping[str, Any]) -> None:
        self.storage_context.index_store.put_entries(self._record.place, entries)

    def delete_entries(self, keys: Sequence[str]) -> None:
        self.storage_context.index_store.delete_entries(self._record.place, keys)

    def _learned(self, splits: Sequence[Split]) -> Callable[[], None]:
        """As `_prepared`: work out what there is to know about these passages, and give what then writes it.

        That runs after the old passages of these documents were forgotten and the new ones are stored.
        """
        return lambda: None

    def _forgotten(self, ref_doc_id: str, node_ids: Sequence[str]) -> None:
        """Take out what is known about these passages, which are still stored, in a transaction."""

    def _prepared(self, splits: Sequence[Split]) -> Callable[[], int]:
        owned = [replace(split, nodes=tuple(node.copy() for node in split.nodes)) for split in splits]
        for split in owned:
            for node in split.nodes:
                node.ref_doc_id = split.document.id_
        learned = self._learned(owned)

        def write() -> int:
            for split in owned:
                if self.nodes.has_ref_doc(split.document.id_):
                    self._removed(split.document.id_)
                self.nodes.add_documents(split.nodes)
                self.nodes.set_document_hash(split.document.id_, split.document.hash)
            learned()
            return sum(len(split.nodes) for split in owned)

        return write

    def _removed(self, ref_doc_id: str) -> int:
        if not self.nodes.has_ref_doc(ref_doc_id):
            raise UnknownDocumentError(ref_doc_id)
        self._forgotten(ref_doc_id, self._passage_ids(ref_doc_id))
        return self.nodes.delete_ref_doc(ref_doc_id)

    def _held(self, ref_doc_id: str) -> tuple[Document | None, Sequence[TextNode]] | None:
        ids = self._passage_ids(ref_doc_id)
        return (None, self.nodes.get_nodes(ids)) if ids else None

    def _passage_ids(self, ref_doc_id: str) -> Sequence[str]:
        info = self.nodes.get_ref_doc_info(ref_doc_id)
        return info.node_ids if info else ()

    def _hashes(self) -> Mapping[str, str]:
        return self.nodes.get_all_document_hashes()
