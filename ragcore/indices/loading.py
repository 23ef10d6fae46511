"""Loads indexes from a storage by their records, which name the kind of index."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Unpack

from ragcore.indices.base import BaseIndex
from ragcore.indices.options import ServiceOptions
from ragcore.storage.index_store import IndexRecord
from ragcore.storage.storage_context import StorageContext

# the module and name of the class of each kind; `ragcore.llamaindex` adds its own
KINDS = {
    "summary": "ragcore.indices.summary.index:SummaryIndex",
    "tree": "ragcore.indices.tree.index:TreeIndex",
    "vector_store": "ragcore.indices.vector:VectorStoreIndex",
}


def load_index_from_storage(
    storage_context: StorageContext,
    index_id: str | None = None,
    **services: Unpack[ServiceOptions],
) -> BaseIndex:
    """The index with this id; without an id, the only index. ValueError if there is none, or more than one
    without an id.

    Loading reads only the record and loads no model.

    >>> context = StorageContext.from_defaults()
    >>> from ragcore.indices import SummaryIndex
    >>> index = SummaryIndex([], storage_context=context)
    >>> load_index_from_storage(context).index_id == index.index_id
    True
    """
    indexes = load_indices_from_storage(storage_context, None if index_id is None else [index_id], **services)
    if not indexes:
        raise ValueError("there is no index in this storage; was it persisted?")
    if len(indexes) > 1:
        ids = ", ".join(repr(index.index_id) for index in indexes)
        raise ValueError(
            f"there are {len(indexes)} indexes in this storage; give the index_id of one of them: {ids}"
        )
    return indexes[0]


def load_indices_from_storage(
    storage_context: StorageContext,
    index_ids: Sequence[str] | None = None,
    **services: Unpack[ServiceOptions],
) -> list[BaseIndex]:
    """The indexes with these ids in that order; without ids all indexes, oldest first. ValueError for an
    unknown id.

    >>> from ragcore.indices import SummaryIndex
    >>> context = StorageContext.from_defaults()
    >>> index = SummaryIndex([], storage_context=context)
    >>> [type(each).__name__ for each in load_indices_from_storage(context)]
    ['SummaryIndex']
    """
    records = storage_context.index_store.all()
    if index_ids is not None:
        by_id = {record.index_id: record for record in records}
        for index_id in index_ids:
            if index_id not in by_id:
                there = ", ".join(map(repr, by_id)) or "none"
                raise ValueError(f"there is no index {index_id!r} in this storage; those there are: {there}")
        records = [by_id[index_id] for index_id in index_ids]
    return [
        _class_of(record)(record=record, storage_context=storage_context, **services) for record in records
    ]


def _class_of(record: IndexRecord) -> type[BaseIndex]:
    if record.kind not in KINDS:
        raise ValueError(
            f"the index {record.index_id!r} is of the kind {record.kind!r}; load it with "
            "ragcore.llamaindex.load_index_from_storage"
        )
    module, name = KINDS[record.kind].split(":")
    kind: type[BaseIndex] = getattr(import_module(module), name)
    return kind
