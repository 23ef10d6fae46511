"""A document store over the passages of a vector store, for code that follows the links of passages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ragcore.errors import StoreError
from ragcore.storage.docstore import DocumentStore
from ragcore.vector_stores.base import Store
from ragcore.vector_stores.node_json import Item


class StoredPassages(DocumentStore):
    """The passages of `store`, without their vectors, followed by the items of `shared`. New items are added
    to `shared`.

    StoreError for deleting a passage of `store`: only its index can delete it.
    """

    def __init__(self, store: Store, shared: DocumentStore) -> None:
        self._store = store
        self._shared = shared

    def set_document_hash(self, doc_id: str, doc_hash: str) -> None:
        self._shared.set_document_hash(doc_id, doc_hash)

    def get_document_hash(self, doc_id: str) -> str | None:
        return self.get_all_document_hashes().get(doc_id)

    def get_all_document_hashes(self) -> dict[str, str]:
        return {
            **{stored.id_: stored.hash for stored in self._store.documents()},
            **self._shared.get_all_document_hashes(),
        }

    def __len__(self) -> int:
        return len(self._all())

    def _write(self, items: Sequence[Item]) -> None:
        self._shared.add_documents(items)

    def _read(self, ids: Sequence[str]) -> Mapping[str, Item]:
        passages = {node.id_: replace(node, embedding=None) for node in self._store.nodes(ids)}
        return {**self._shared._read(ids), **passages}

    def _all(self) -> Sequence[Item]:
        passages = {node.id_: node for node in self._store.passages()}
        return [*passages.values(), *(item for id_, item in self._shared.docs.items() if id_ not in passages)]

    def _passage_ids_of(self, ref_doc_id: str) -> Sequence[str]:
        return list(
            dict.fromkeys([*self._store.passage_ids(ref_doc_id), *self._shared._passage_ids_of(ref_doc_id)])
        )

    def _passage_ids_by_document(self) -> Mapping[str, Sequence[str]]:
        ids = [
            *(stored.id_ for stored in self._store.documents() if stored.passages),
            *self._shared._passage_ids_by_document(),
        ]
        return {id_: self._passage_ids_of(id_) for id_ in dict.fromkeys(ids)}

    def _delete_items(self, ids: Sequence[str]) -> None:
        if passages := self._store.nodes(ids):
            raise StoreError(
                f"The passage {passages[0].id_!r} belongs to an index.",
                hint="Take its document out with index.delete_ref_doc(id).",
            )
        self._shared._delete_items(ids)
