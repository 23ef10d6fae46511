"""What a Chroma collection holds of a passage or a document: the text as such, all else as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import astuple, dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ragcore.schema import Document, IndexNode, Page, Template, TextNode
from ragcore.vector_stores.chroma_where import Where, writable

if TYPE_CHECKING:
    from ragcore.schema import Vector

BATCH = 1000  # records in one request

_APART = {"text", "embedding", "obj"}  # fields that the JSON of a record does not hold


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
        return node_of(self.metadata["_record"], self.text)


def record_of(item: Document | TextNode) -> str:
    """Everything but text and vector, as JSON; the text too where Chroma cannot hold it as it is."""
    kept = {field.name: getattr(item, field.name) for field in fields(item) if field.name not in _APART}
    kept["metadata"] = dict(item.metadata)
    if writable(item.text) != item.text:
        kept["text"] = item.text
    return json.dumps(kept, separators=(",", ":"), default=astuple)


def _read(record: str, text: str) -> dict[str, Any]:
    told = {"text": text, **json.loads(record)}
    tuples = ("child_ids", "excluded_embed_metadata_keys", "excluded_llm_metadata_keys")
    told |= {name: tuple(told[name]) for name in tuples if name in told}
    return {**told, "template": Template(*told["template"])}


def node_of(record: str, text: str) -> TextNode:
    told = _read(record, text)
    return IndexNode(**told) if "index_id" in told else TextNode(**told)


def document_of(record: str, text: str) -> Document:
    told = _read(record, text)
    return Document(**{**told, "pages": tuple(Page(*page) for page in told["pages"])})


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
    return [Found(told or {}, text or "", row) for told, text, row in zip(part["metadatas"], texts, rows, strict=True)]
