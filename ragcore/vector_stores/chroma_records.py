"""The records of a Chroma collection: the text of a passage or document, the metadata that Chroma can compare
in filters, and the rest as JSON.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from ragcore.schema import TextNode, Vector
from ragcore.vector_stores.filters import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
    is_list,
)
from ragcore.vector_stores.node_json import Item, decode_item, encode_item

Where: TypeAlias = dict[str, Any]

BATCH = 1000  # records in one request

_COMPARED = {
    FilterOperator.EQ: "$eq",
    FilterOperator.GT: "$gt",
    FilterOperator.LT: "$lt",
    FilterOperator.GTE: "$gte",
    FilterOperator.LTE: "$lte",
}
# Chroma drops the fraction of a bound before it compares a whole number with it: for Chroma 2 is not below
# 2.5.
_OR_EQUAL = {"$gt": "$gte", "$lt": "$lte"}
LARGEST = sys.float_info.max


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
    return encode_item(replace(item, text="") if writable(item.text) == item.text else item)


def item_from_json(record: str, text: str) -> Item:
    item = decode_item(record)
    return item if item.text else replace(item, text=text)


def read_all(collection: Any, where: Where | None, include: list[str]) -> list[Record]:
    """All records that match. Many are read by their ids: an offset would skip some while others write."""
    records = records_of(collection.get(where=where, limit=BATCH, include=include))
    if len(records) < BATCH:
        return records
    ids = collection.get(where=where, include=[])["ids"]
    parts = (
        collection.get(ids=ids[start : start + BATCH], include=include) for start in range(0, len(ids), BATCH)
    )
    return [record for part in parts for record in records_of(part)]


def records_of(answer: Mapping[str, Any]) -> list[Record]:
    count = len(answer["ids"])
    texts = [""] * count if answer["documents"] is None else answer["documents"]
    rows = [None] * count if answer["embeddings"] is None else np.asarray(answer["embeddings"], np.float32)
    columns = (answer["metadatas"], texts, rows, answer.get("distances") or [0.0] * count)
    return [
        Record(metadata or {}, text or "", row, distance)
        for metadata, text, row, distance in zip(*columns, strict=True)
    ]


def where_of(filters: MetadataFilters | MetadataFilter) -> Where | None:
    """A condition that everything passes which passes the filter, and little else. None: no condition."""
    if isinstance(filters, MetadataFilter):
        return _comparison(filters)
    parts = [where_of(each) for each in filters.filters]
    conditions = [part for part in parts if part is not None]
    incomplete = filters.condition is FilterCondition.OR and len(conditions) < len(parts)
    if filters.condition is FilterCondition.NOT or not conditions or incomplete:
        return None
    return conditions[0] if len(conditions) == 1 else {f"${filters.condition.value}": conditions}


def _comparison(condition: MetadataFilter) -> Where | None:
    key, operator = condition.key, condition.operator
    values = list(condition.value) if is_list(condition.value) else [condition.value]
    if not _is_own(key) or not values or not all(_is_native(value) for value in values):
        return None
    if operator is FilterOperator.IN:
        each = [{key: {"$eq": value}} for value in values]
        return each[0] if len(each) == 1 else {"$or": each}
    sign = _COMPARED.get(operator)
    if isinstance(values[0], float):
        sign = _OR_EQUAL.get(sign or "", sign)
    numbers_only = sign in (None, "$eq") or (
        isinstance(values[0], int | float) and not isinstance(values[0], bool)
    )
    return {key: {sign: values[0]}} if sign and numbers_only and not is_list(condition.value) else None


def native_metadata(node: TextNode) -> dict[str, Any]:
    """The metadata that Chroma can compare. A number outside its range becomes the nearest in it."""
    values = ((key, _clip(value)) for key, value in node.metadata.items() if _is_own(key))
    return {key: value for key, value in values if _is_native(value)}


def _clip(value: object) -> object:
    if isinstance(value, int | float) and not _is_native(value):
        return float(min(max(value, -LARGEST), LARGEST))
    return value


def _is_own(key: str) -> bool:
    """Whether Chroma accepts the key, and it is not one that this store uses itself."""
    return key.isidentifier() and key.isascii() and not key.startswith("_")


def _is_native(value: object) -> bool:
    if isinstance(value, str):
        return writable(value) == value
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, bool) or (isinstance(value, int) and abs(value) < 1 << 53)


def writable(text: str) -> str:
    """The text with lone surrogates replaced, which cannot be sent."""
    return text.encode("utf-8", "replace").decode("utf-8")
