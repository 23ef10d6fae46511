"""The base of indexes without a vector store: each stores its own passages."""

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
    """Stores its passages in `nodes`, in order of insertion, and data about them in `entries`.

    A subclass that computes data from its passages overrides `_prepare_entries` and `_remove_entries`.
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
        """The vectors of the texts or summaries. They are computed at the first comparison and live as long
        as the index."""
        from ragcore.retrievers.text_similarity import Nearest

        return Nearest(self.embed_model)

    def entries(self) -> dict[str, Any]:
        """The data that `put_entries` wrote, by key."""
        return self.storage_context.index_store.entries(self._record.place)

    def put_entries(self, entries: Mapping[str, Any]) -> None:
        self.storage_context.index_store.put_entries(self._record.place, entries)

    def delete_entries(self, keys: Sequence[str]) -> None:
        self.storage_context.index_store.delete_entries(self._record.place, keys)

    def _prepare_entries(self, splits: Sequence[Split]) -> Callable[[], None]:
        """As `_prepare`: compute the entries of these passages, and return a function that writes them.

        The function runs after the old passages of these documents are removed and the new ones are stored.
        """
        return lambda: None

    def _remove_entries(self, ref_doc_id: str, node_ids: Sequence[str]) -> None:
        """Remove the entries of these passages in a transaction, before the passages themselves are
        removed."""

    def _prepare(self, splits: Sequence[Split]) -> Callable[[], int]:
        owned = [replace(split, nodes=tuple(node.copy() for node in split.nodes)) for split in splits]
        for split in owned:
            for node in split.nodes:
                node.ref_doc_id = split.document.id_
        write_entries = self._prepare_entries(owned)

        def write() -> int:
            for split in owned:
                if self.nodes.has_ref_doc(split.document.id_):
                    self._remove(split.document.id_)
                self.nodes.add_documents(split.nodes)
                self.nodes.set_document_hash(split.document.id_, split.document.hash)
            write_entries()
            return sum(len(split.nodes) for split in owned)

        return write

    def _remove(self, ref_doc_id: str) -> int:
        if not self.nodes.has_ref_doc(ref_doc_id):
            raise UnknownDocumentError(ref_doc_id)
        self._remove_entries(ref_doc_id, self._passage_ids(ref_doc_id))
        return self.nodes.delete_ref_doc(ref_doc_id)

    def _read_document(self, ref_doc_id: str) -> tuple[Document | None, Sequence[TextNode]] | None:
        ids = self._passage_ids(ref_doc_id)
        return (None, self.nodes.get_nodes(ids)) if ids else None

    def _passage_ids(self, ref_doc_id: str) -> Sequence[str]:
        info = self.nodes.get_ref_doc_info(ref_doc_id)
        return info.node_ids if info else ()

    def _hashes(self) -> Mapping[str, str]:
        return self.nodes.get_all_document_hashes()
