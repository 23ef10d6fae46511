from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given

from ragcore.schema import Document, IndexNode, TextNode
from ragcore.vector_stores.node_json import Item, decode_item, encode_item
from tests.ragcore.storage.making import fields, items


@given(items)
def test_whatever_is_written_down_is_read_back_with_every_field(item: Item) -> None:
    assert fields(decode_item(encode_item(item))) == fields(item)


def test_plain_passage_costs_little_more_than_text_and_id() -> None:
    assert json.loads(encode_item(TextNode("words", "n1"))) == {"text": "words", "id_": "n1", "metadata": {}}


def test_vectors_and_what_is_no_passage_are_not_written_down() -> None:
    node = IndexNode(
        "stands for an engine", "n1", embedding=np.ones(3, np.float32), index_id="engine", obj=print
    )
    read = decode_item(encode_item(node))
    assert isinstance(read, IndexNode)
    assert (read.index_id, read.obj, read.embedding) == ("engine", None, None)


def test_metadata_that_is_not_plain_is_refused() -> None:
    with pytest.raises(TypeError):
        encode_item(Document("text", metadata={"when": object()}))  # type: ignore[dict-item]
