"""What a Chroma collection holds of a passage or a document: the text as such, all else as JSON."""

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
class Found:
    """A passage's record as Chroma gave it; `row` and `distance` where they were asked for."""

    metadata: Mapping[str, Any]
    text: str = ""
    row: Vector | None = None
    distance: float = 0.0

    @property
    def order(self) -> tuple[str, int]:
        return self.metadata["_version"], self.metadata["_place"]

    @cached_property
    def node(self) -> TextNode:
        node = item_of(self.metadata["_record"], self.text)
        assert isinstance(node, TextNode)
        return node


def record_of(item: Item) -> str:
    """Everything but text and vector; the text too where Chroma cannot hold it as it is."""
    return encoded(replace(item, text="") if writable(item.text) == item.text else item)


def item_of(record: str, text: str) -> Item:
    item = decoded(record)
    return item if item.text else replace(item, text=text)


def as_put(found: Found) -> Vector:
    assert found.row is not None  # it was asked for
    return found.row * np.float32(found.metadata["_length"])


def everything(collection: Any, where: Where | None, include: list[str]) -> list[Found]:
    """All records that pass. Many are read by their ids: while others write, an offset would skip some."""
    found = founds_of(collection.get(where=where, limit=BATCH, include=include))
    if len(found) < BATCH:
        return found
    ids = collection.get(where=where, include=[])["ids"]
    parts = (collection.get(ids=ids[start : start + BATCH], include=include) for start in range(0, len(ids), BATCH))
    return [each for part in parts for each in founds_of(part)]


def founds_of(part: Mapping[str, Any]) -> list[Found]:
    count = len(part["ids"])
    texts = [""] * count if part["documents"] is None else part["documents"]
    rows = [None] * count if part["embeddings"] is None else np.asarray(part["embeddings"], np.float32)
    columns = (part["metadatas"], texts, rows, part.get("distances") or [0.0] * count)
    return [Found(told or {}, text or "", row, distance) for told, text, row, distance in zip(*columns, strict=True)]
