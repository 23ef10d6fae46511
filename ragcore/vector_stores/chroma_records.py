"""The records of a Chroma collection: the text of a passage or document, and the rest as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ragcore.schema import TextNode
from ragcore.vector_stores.chroma_where import Where, writable
from ragcore.vector_stores.node_json import Item, decoded, encoded

if TYPE_CHECKING:
    from ragcore.schema import Vector

BATCH = 1000  # records in one request


@dataclass(frozen=True)
class Record:
    """A record of a passage. `row` and `distance` have values only if they were requested."""

    metadata: Mapping[str, Any]
    text: str = ""
    row: Vector | None = None
    distance: float = 0.0

    @property
    def order(self) -> tuple[str, int]:
        return self.metadata["_version"], self.metadata["_place"]

    @property
    def original_vector(self) -> Vector:
        """The vector before it was scaled to length 1."""
        assert self.row is not None  # it was requested
        return self.row * np.float32(self.metadata["_length"])

    @cached_property
    def node(self) -> TextNode:
        node = item_from_json(self.metadata["_record"], self.text)
        assert isinstance(node, TextNode)
        return node


def item_to_json(item: Item) -> str:
    """Everything but text and vector; with the text where Chroma cannot store it unchanged."""
    return encoded(replace(item, text="") if writable(item.text) == item.text else item)


def item_from_json(record: str, text: str) -> Item:
    item = decoded(record)
    return item if item.text else replace(item, text=text)


def read_all(collection: Any, where: Where | None, include: list[str]) -> list[Record]:
    """All records that match. Many are read by their ids: an offset would skip some while others write."""
    records = records_of(collection.get(where=where, limit=BATCH, include=include))
    if len(records) < BATCH:
        return records
    ids = collection.get(where=where, include=[])["ids"]
    parts = (collection.get(ids=ids[start : start + BATCH], include=include) for start in range(0, len(ids), BATCH))
    return [record for part in parts for record in records_of(part)]


def records_of(answer: Mapping[str, Any]) -> list[Record]:
    count = len(answer["ids"])
    texts = [""] * count if answer["documents"] is None else answer["documents"]
    rows = [None] * count if answer["embeddings"] is None else np.asarray(answer["embeddings"], np.float32)
    columns = (answer["metadatas"], texts, rows, answer.get("distances") or [0.0] * count)
    return [Record(metadata or {}, text or "", row, distance) for metadata, text, row, distance in zip(*columns, strict=True)]
