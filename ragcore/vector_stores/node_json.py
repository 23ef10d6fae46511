"""Documents and passages as JSON: the only module that knows this format.

A field with its default value is omitted, and so is the embedding: vectors have their own file. The object of
an IndexNode is stored only if it is a passage.
"""

from __future__ import annotations

import json
from typing import Any, TypeAlias

from ragcore.schema import Document, IndexNode, Page, RelatedNodeInfo, Template, TextNode

Item: TypeAlias = Document | TextNode

_NODE_FIELDS = (
    "ref_doc_id",
    "start_char_idx",
    "end_char_idx",
    "prev_id",
    "next_id",
    "parent_id",
    "child_ids",
)
_COMMON_FIELDS = ("excluded_embed_metadata_keys", "excluded_llm_metadata_keys")


def encode_item(item: Item) -> str:
    """TypeError for metadata with values that JSON does not know."""
    return json.dumps(_plain(item), separators=(",", ":"))


def decode_item(text: str) -> Item:
    return _item(json.loads(text))


def _plain(item: Item) -> dict[str, Any]:
    data: dict[str, Any] = {"text": item.text, "id_": item.id_, "metadata": dict(item.metadata)}
    names: tuple[str, ...] = _COMMON_FIELDS
    if isinstance(item, Document):
        data |= {
            "kind": "document",
            "page_word": item.page_word,
            "pages": [(p.label, p.start, p.end) for p in item.pages],
        }
    else:
        names += _NODE_FIELDS
    data |= {name: value for name in names if (value := getattr(item, name)) not in (None, (), [])}
    if item.template != Template():
        data["template"] = (item.template.text, item.template.entry, item.template.separator)
    if isinstance(item, TextNode) and item.related is not None:
        data["related"] = {id_: info.details() for id_, info in item.related.items()}
    if isinstance(item, IndexNode):
        data |= {"kind": "index", "index_id": item.index_id}
        if isinstance(item.obj, TextNode):
            data["obj"] = _plain(item.obj)
    return data


def _item(data: dict[str, Any]) -> Item:
    kind = data.pop("kind", "node")
    if "template" in data:
        data["template"] = Template(*data["template"])
    if kind == "document":
        data["pages"] = tuple(Page(*page) for page in data["pages"])
        return Document(**data)
    if "related" in data:
        data["related"] = {id_: RelatedNodeInfo(id_, *details) for id_, details in data["related"].items()}
    if "obj" in data:
        data["obj"] = _item(data["obj"])
    return IndexNode(**data) if kind == "index" else TextNode(**data)
