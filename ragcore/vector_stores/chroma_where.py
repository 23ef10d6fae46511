"""A filter of metadata as far as Chroma can tell by itself, and the metadata that it can compare."""

from __future__ import annotations

import math
import sys
from typing import Any, TypeAlias

from ragcore.schema import TextNode
from ragcore.vector_stores.filters import FilterCondition, FilterOperator, MetadataFilter, MetadataFilters, is_list

Where: TypeAlias = dict[str, Any]

_COMPARED = {
    FilterOperator.EQ: "$eq",
    FilterOperator.GT: "$gt",
    FilterOperator.LT: "$lt",
    FilterOperator.GTE: "$gte",
    FilterOperator.LTE: "$lte",
}
# Chroma cuts off the fraction of a bound before it compares a whole number with it: it says that 2 is not below 2.5.
_OR_EQUAL = {"$gt": "$gte", "$lt": "$lte"}
LARGEST = sys.float_info.max


def where_of(wanted: MetadataFilters | MetadataFilter) -> Where | None:
    """A condition that everything passes which passes the filter, and as little else as Chroma can tell; None: no condition."""
    if isinstance(wanted, MetadataFilter):
        return _compared(wanted)
    parts = [where_of(each) for each in wanted.filters]
    told = [part for part in parts if part is not None]
    if (
        wanted.condition is FilterCondition.NOT
        or not told
        or (wanted.condition is FilterCondition.OR and len(told) < len(parts))
    ):
        return None
    return told[0] if len(told) == 1 else {f"${wanted.condition.value}": told}


def _compared(wanted: MetadataFilter) -> Where | None:
    values = list(wanted.value) if is_list(wanted.value) else [wanted.value]
    if not _is_own(wanted.key) or not values or not all(_is_native(value) for value in values):
        return None
    if wanted.operator is FilterOperator.IN:
        each = [{wanted.key: {"$eq": value}} for value in values]
        return each[0] if len(each) == 1 else {"$or": each}
    sign = _COMPARED.get(wanted.operator)
    if isinstance(values[0], float):
        sign = _OR_EQUAL.get(sign or "", sign)
    numbers_only = sign in (None, "$eq") or (isinstance(values[0], int | float) and not isinstance(values[0], bool))
    return {wanted.key: {sign: values[0]}} if sign and numbers_only and not is_list(wanted.value) else None


def native(node: TextNode) -> dict[str, Any]:
    """The metadata that Chroma can compare by itself; a number beyond those it holds as the nearest that it does."""
    told = ((key, _held(value)) for key, value in node.metadata.items() if _is_own(key))
    return {key: value for key, value in told if _is_native(value)}


def _held(value: object) -> object:
    if isinstance(value, int | float) and not _is_native(value):
        return float(min(max(value, -LARGEST), LARGEST))
    return value


def _is_own(key: str) -> bool:
    """Whether Chroma takes the key, and it is none of ours."""
    return key.isidentifier() and key.isascii() and not key.startswith("_")


def _is_native(value: object) -> bool:
    if isinstance(value, str):
        return writable(value) == value
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, bool) or (isinstance(value, int) and abs(value) < 1 << 53)


def writable(text: str) -> str:
    """Without half characters, which cannot be sent."""
    return text.encode("utf-8", "replace").decode("utf-8")
