"""Documents and passages by id, without vectors. Indexes without vectors use it, and several indexes may
share one."""

from __future__ import annotations

import json
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, overload

from ragcore.errors import DamagedStoreError, UnknownDocumentError
from ragcore.schema import Document, Metadata, TextNode
from ragcore.storage.atomic_file import replace_file
from ragcore.vector_stores.node_json import Item, decode_item, encode_item


@dataclass(frozen=True, slots=True)
class RefDocInfo:
    """The ids of a document's passages, in order of insertion, and the document's metadata.

    If the document itself is not stored, the metadata is that of its first passage.

    >>> store = SimpleDocumentStore()
    >>> store.add_documents([TextNode("Ada wrote notes.", "n1", ref_doc_id="d1")])
    >>> store.get_ref_doc_info("d1").node_ids
    ('n1',)
    """

    node_ids: tuple[str, ...]
    metadata: Metadata


class DocumentStore(ABC):
    """Items are returned in order of insertion; a replaced item keeps its position. Several threads may use a
    store.

    The store copies items when it stores and returns them. To change a stored item, store it again.

    >>> store = SimpleDocumentStore()
    >>> store.add_documents([TextNode("Ada wrote notes.", "n1", ref_doc_id="d1")])
    >>> store.delete_ref_doc("d1"), store.document_exists("n1")
    (1, False)
    """

    def add_documents(self, nodes: Sequence[Item], allow_update: bool = True) -> None:
        """Store documents and passages, with their hashes. An item replaces the one with the same id. Without
        `allow_update` an id that is stored already is a ValueError."""
        if not allow_update:
            known = self._read([node.id_ for node in nodes])
            if known:
                raise ValueError(f"the document store already holds {next(iter(known))!r}")
        self._write(nodes)

    def get_document(self, doc_id: str, raise_error: bool = True) -> Item | None:
        """The document or passage. UnknownDocumentError, or None without `raise_error`."""
        item = self._read([doc_id]).get(doc_id)
        if item is None and raise_error:
            raise UnknownDocumentError(doc_id)
        return item

    @overload
    def get_node(self, node_id: str, raise_error: Literal[True] = True) -> TextNode: ...

    @overload
    def get_node(self, node_id: str, raise_error: bool) -> TextNode | None: ...

    def get_node(self, node_id: str, raise_error: bool = True) -> TextNode | None:
        """The passage. UnknownDocumentError, or None without `raise_error`; a whole document is not a
        passage."""
        item = self.get_document(node_id, raise_error)
        if isinstance(item, Document):
            if raise_error:
                raise UnknownDocumentError(node_id)
            return None
        return item

    def get_nodes(self, node_ids: Sequence[str], raise_error: bool = True) -> list[TextNode]:
        """The passages in the order of their ids. UnknownDocumentError; without `raise_error` unknown ids are
        skipped."""
        passages = {id_: item for id_, item in self._read(node_ids).items() if isinstance(item, TextNode)}
        if raise_error:
            for id_ in node_ids:
                if id_ not in passages:
                    raise UnknownDocumentError(id_)
        return [passages[id_] for id_ in node_ids if id_ in passages]

    def document_exists(self, doc_id: str) -> bool:
        return bool(self._read([doc_id]))

    def delete_document(self, doc_id: str, raise_error: bool = True) -> None:
        """Remove one document or passage. With the last passage of a document, the document's hash is removed
        too.

        UnknownDocumentError unless `raise_error` is False.
        """
        item = self.get_document(doc_id, raise_error)
        if item is None:
            return
        ref_doc_id = item.ref_doc_id if isinstance(item, TextNode) else None
        self._delete_items([doc_id])
        if (
            ref_doc_id is not None
            and not self._passage_ids_of(ref_doc_id)
            and not self.document_exists(ref_doc_id)
        ):
            self._delete_items([ref_doc_id])

    def delete_ref_doc(self, ref_doc_id: str, raise_error: bool = True) -> int:
        """Remove a document, all its passages, and its hash. Returns the number of passages.

        UnknownDocumentError unless `raise_error` is False.
        """
        if not self.has_ref_doc(ref_doc_id):
            if raise_error:
                raise UnknownDocumentError(ref_doc_id)
            return 0
        passage_ids = self._passage_ids_of(ref_doc_id)
        self._delete_items([*passage_ids, ref_doc_id])
        return len(passage_ids)

    def has_ref_doc(self, ref_doc_id: str) -> bool:
        """Whether the store has the document, a passage of it, or its hash."""
        if self._passage_ids_of(ref_doc_id):
            return True
        item = self.get_document(ref_doc_id, raise_error=False)
        return isinstance(item, Document) or (item is None and self.get_document_hash(ref_doc_id) is not None)

    def get_ref_doc_info(self, ref_doc_id: str) -> RefDocInfo | None:
        """None if the document has no passage."""
        passage_ids = self._passage_ids_of(ref_doc_id)
        return self._info(ref_doc_id, passage_ids) if passage_ids else None

    def get_all_ref_doc_info(self) -> dict[str, RefDocInfo]:
        return {
            id_: self._info(id_, passage_ids) for id_, passage_ids in self._passage_ids_by_document().items()
        }

    @property
    def docs(self) -> dict[str, Item]:
        """Everything, by id."""
        return {item.id_: item for item in self._all()}

    def nodes(self) -> list[TextNode]:
        """All passages."""
        return [item for item in self._all() if isinstance(item, TextNode)]

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON values."""
        return {
            "docs": [json.loads(encode_item(item)) for item in self._all()],
            "hashes": self.get_all_document_hashes(),
        }

    def restore(self, data: Mapping[str, Any]) -> None:
        """Add the items of a result of `to_dict`. KeyError for other values."""
        self.add_documents([decode_item(json.dumps(item)) for item in data["docs"]])
        for id_, hash_ in data["hashes"].items():
            self.set_document_hash(id_, hash_)

    @abstractmethod
    def set_document_hash(self, doc_id: str, doc_hash: str) -> None:
        """Store the hash of a document, which need not be stored itself."""

    @abstractmethod
    def get_document_hash(self, doc_id: str) -> str | None: ...

    @abstractmethod
    def get_all_document_hashes(self) -> dict[str, str]:
        """The hashes by document id, so that documents with equal content remain distinct."""

    @abstractmethod
    def __len__(self) -> int:
        """The number of documents and passages."""

    @abstractmethod
    def _write(self, items: Sequence[Item]) -> None: ...

    @abstractmethod
    def _read(self, ids: Sequence[str]) -> Mapping[str, Item]:
        """The stored items among `ids`, by id."""

    @abstractmethod
    def _all(self) -> Sequence[Item]: ...

    @abstractmethod
    def _passage_ids_of(self, ref_doc_id: str) -> Sequence[str]:
        """The ids of the passages of a document, in order of insertion."""

    @abstractmethod
    def _passage_ids_by_document(self) -> Mapping[str, Sequence[str]]:
        """The ids of the passages of each document, by the document's id."""

    @abstractmethod
    def _delete_items(self, ids: Sequence[str]) -> None:
        """Remove items and hashes; unknown ids are skipped."""

    def _info(self, ref_doc_id: str, passage_ids: Sequence[str]) -> RefDocInfo:
        items = self._read([ref_doc_id, passage_ids[0]])
        return RefDocInfo(tuple(passage_ids), (items.get(ref_doc_id) or items[passage_ids[0]]).metadata)


def copy_documents(source: DocumentStore, target: DocumentStore) -> None:
    """Copy everything in `source` to `target`."""
    target.add_documents(list(source.docs.values()))
    for id_, hash_ in source.get_all_document_hashes().items():
        target.set_document_hash(id_, hash_)


class SimpleDocumentStore(DocumentStore):
    """A document store in memory. `persist` writes it to a JSON file.

    >>> store = SimpleDocumentStore()
    >>> store.add_documents([TextNode("A boat is red.", "n1")])
    >>> SimpleDocumentStore.from_dict(store.to_dict()).get_node("n1").text
    'A boat is red.'
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._items: dict[str, Item] = {}
        self._passage_ids: dict[str, dict[str, None]] = {}  # by document; the inner dict is an ordered set
        self._hashes: dict[str, str] = {}

    @classmethod
    def from_dict(cls, save_dict: Mapping[str, Any]) -> SimpleDocumentStore:
        store = cls()
        store.restore(save_dict)
        return store

    def persist(self, persist_path: str | Path = "docstore.json") -> None:
        """Write everything to a file, whole or not at all. StoreError."""
        replace_file(Path(persist_path), json.dumps(self.to_dict()))

    @classmethod
    def from_persist_path(cls, persist_path: str | Path = "docstore.json") -> SimpleDocumentStore:
        """Read what `persist` wrote. DamagedStoreError for other content."""
        try:
            return cls.from_dict(json.loads(Path(persist_path).read_text("utf-8")))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DamagedStoreError(
                f"{persist_path} does not hold documents.", hint="Choose another file."
            ) from error

    def set_document_hash(self, doc_id: str, doc_hash: str) -> None:
        self._hashes[doc_id] = doc_hash

    def get_document_hash(self, doc_id: str) -> str | None:
        return self._hashes.get(doc_id)

    def get_all_document_hashes(self) -> dict[str, str]:
        with self._lock:
            return dict(self._hashes)

    def __len__(self) -> int:
        return len(self._items)

    def _write(self, items: Sequence[Item]) -> None:
        hashes = {item.id_: item.hash for item in items}
        with self._lock:
            for item in items:
                ref_doc_id = item.ref_doc_id if isinstance(item, TextNode) else None
                self._unlink(item.id_, unless=ref_doc_id)
                self._items[item.id_] = item.copy()
                if ref_doc_id is not None:
                    self._passage_ids.setdefault(ref_doc_id, {})[item.id_] = None
            self._hashes |= hashes

    def _read(self, ids: Sequence[str]) -> Mapping[str, Item]:
        with self._lock:
            return {id_: self._items[id_].copy() for id_ in ids if id_ in self._items}

    def _all(self) -> Sequence[Item]:
        with self._lock:
            return [item.copy() for item in self._items.values()]

    def _passage_ids_of(self, ref_doc_id: str) -> Sequence[str]:
        with self._lock:
            return list(self._passage_ids.get(ref_doc_id, ()))

    def _passage_ids_by_document(self) -> Mapping[str, Sequence[str]]:
        with self._lock:
            return {ref_doc_id: list(passage_ids) for ref_doc_id, passage_ids in self._passage_ids.items()}

    def _delete_items(self, ids: Sequence[str]) -> None:
        with self._lock:
            for id_ in ids:
                self._unlink(id_)
                self._items.pop(id_, None)
                self._hashes.pop(id_, None)

    def _unlink(self, id_: str, unless: str | None = None) -> None:
        """Remove a passage from its document's list, except from the list of the document `unless`."""
        item = self._items.get(id_)
        ref_doc_id = item.ref_doc_id if isinstance(item, TextNode) else None
        if ref_doc_id is not None and ref_doc_id != unless:
            self._passage_ids[ref_doc_id].pop(id_, None)
            if not self._passage_ids[ref_doc_id]:
                del self._passage_ids[ref_doc_id]
