"""JSONNodeParser: keys and value on a line."""

from __future__ import annotations

import pytest

from ragcore.errors import InputError
from ragcore.node_parser import JSONNodeParser
from ragcore.schema import Document


def texts(json: str) -> list[str]:
    return [node.text for node in JSONNodeParser.from_defaults()([Document(json, id_="rates")])]


def test_each_value_is_on_a_line_after_its_keys() -> None:
    # The same as llama-index-core 0.14.25 makes of it.
    assert texts('{"a":{"b":1,"c":[1,{"d":true}]},"e":null}') == ["a b 1\na c 1\na c d True\ne None"]


def test_a_list_gives_a_passage_for_each_item() -> None:
    nodes = JSONNodeParser()([Document('[{"a": "x"}, {"b": "y"}, 3]', metadata={"k": "v"})])
    assert [node.text for node in nodes] == ["a x", "b y", "3"]
    assert [node.next_id for node in nodes] == [nodes[1].id_, nodes[2].id_, None]
    assert nodes[0].start_char_idx is None
    assert dict(nodes[0].metadata) == {"k": "v"}


def test_numbers_stay_as_they_are_written() -> None:
    assert texts('{"price": 1.50, "big": 1e400}') == ["price 1.50\nbig 1e400"]


def test_equal_items_are_passages_of_their_own() -> None:
    nodes = JSONNodeParser()([Document('["x", "x"]')])
    assert len({node.id_ for node in nodes}) == 2


def test_nothing_in_it_gives_no_passage() -> None:
    assert [texts(empty) for empty in ("", " ", "{}", "[]", "[{}, []]")] == [[]] * 5


@pytest.mark.parametrize(
    ("json", "said"), [("{'a': 1}", "rates.*line 1, column 2"), ("[" * 100_000, "too deeply")]
)
def test_what_is_no_json_is_an_error_that_says_where(json: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        texts(json)
