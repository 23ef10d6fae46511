"""Converts a whole storage to JSON values and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from ragcore.schema import Document, TextNode
from ragcore.storage.index_store import IndexRecord
from ragcore.storage.memory import MemoryStorage, Storage
from ragcore.vector_stores.base import Store
from ragcore.vector_stores.node_json import Item, decode_item, encode_item

RECORDS, DOCUMENTS, VECTORS = "index_store", "doc_store", "vector_store"


def plain_storage(storage: MemoryStorage, shared: str) -> dict[str, Any]:
    """`shared` is the place that all indexes share."""
    records = storage.index_store.all()
    places = [shared, *(record.place for record in records)]
    return {
        RECORDS: [
            _of_json({**asdict(record), "entries": storage.index_store.entries(record.place)})
            for record in records
        ],
        DOCUMENTS: {place: storage.nodes(place).to_dict() for place in places},
        VECTORS: {record.place: _plain_vectors(storage.vectors(record.place)) for record in records},
    }


def storage_from_plain(data: Mapping[str, Any]) -> MemoryStorage:
    """The inverse of `plain_storage`. KeyError for other values."""
    storage = MemoryStorage()
    for record in data[RECORDS]:
        fields = {name: value for name, value in record.items() if name != "entries"}
        storage.index_store.upsert(IndexRecord(**fields))
        storage.index_store.put_entries(fields["place"], record["entries"])
    for place, nodes in data[DOCUMENTS].items():
        storage.nodes(place).restore(nodes)
    for place, documents in data[VECTORS].items():
        _put_vectors(storage, place, documents)
    return storage


def _plain_vectors(store: Store) -> list[dict[str, Any]]:
    return [
        {
            "document": _plain(store.document(stored.id_)),
            "nodes": [
                {"node": _plain(node), "embedding": _numbers(node)}
                for node in store.nodes(store.passage_ids(stored.id_))
            ],
        }
        for stored in store.documents()
    ]


def _numbers(node: TextNode) -> list[float]:
    assert node.embedding is not None  # each node of a vector store has one
    numbers: list[float] = np.asarray(node.embedding).tolist()
    return numbers


def _put_vectors(storage: Storage, place: str, documents: list[dict[str, Any]]) -> None:
    for entry in documents:
        document, nodes = _item(entry["document"]), []
        assert isinstance(document, Document)
        for each in entry["nodes"]:
            node = _item(each["node"])
            assert isinstance(node, TextNode)
            nodes.append(replace(node, embedding=np.array(each["embedding"], np.float32)))
        storage.vectors(place).upsert(document, nodes)


def _plain(item: Item) -> Any:
    return json.loads(encode_item(item))


def _of_json(value: Any) -> Any:
    """The value after a round trip through JSON, which turns tuples into lists."""
    return json.loads(json.dumps(value))


def _item(data: Mapping[str, Any]) -> Item:
    return decode_item(json.dumps(data))
