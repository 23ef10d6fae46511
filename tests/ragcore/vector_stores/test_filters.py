"""What a filter says of metadata. The stores' contract compares whole searches with a plain predicate."""

from __future__ import annotations

from typing import Any

import pytest

from ragcore.vector_stores import (
    ExactMatchFilter,
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
)

FISH = {
    "kind": "Fish",
    "weight": 3,
    "tags": ["red", "small"],
    "note": "",
    "owner": None,
    "sold": True,
    "street": "Hafenstraße",
}


@pytest.mark.parametrize(
    ("key", "operator", "value", "passes"),
    [
        ("kind", "==", "Fish", True),
        ("kind", "==", "fish", False),
        ("weight", "==", 3.0, True),
        ("sold", "==", 1, False),
        ("weight", "!=", 4, True),
        ("weight", "!=", 3, False),
        ("weight", ">", 2, True),
        ("weight", ">", 3, False),
        ("weight", ">=", 3, True),
        ("weight", "<", 3.5, True),
        ("weight", "<=", 2, False),
        ("kind", ">", "Eel", True),
        ("kind", ">", 2, False),
        ("weight", "<", "9", False),
        ("owner", "<", 9, False),
        ("sold", ">", 0, False),
        ("kind", "in", ["Boat", "Fish"], True),
        ("kind", "in", ["Fishes"], False),
        ("kind", "nin", ["Boat"], True),
        ("kind", "nin", ["Fish"], False),
        ("tags", "any", ["blue", "red"], True),
        ("tags", "any", ["blue"], False),
        ("tags", "any", [], False),
        ("tags", "all", ["small", "red"], True),
        ("tags", "all", ["small", "blue"], False),
        ("tags", "contains", "red", True),
        ("tags", "contains", "re", False),
        ("kind", "contains", "Fi", False),
        ("kind", "text_match", "is", True),
        ("kind", "text_match", "IS", False),
        ("kind", "text_match_insensitive", "FISH", True),
        ("street", "text_match_insensitive", "STRASSE", True),
        ("weight", "text_match", "3", False),
        ("tags", "==", ("red", "small"), True),
        ("tags", "==", ["small", "red"], False),
        ("tags", "==", ["red"], False),
        ("tags", "==", "red", False),
        ("tags", "!=", ("red", "small"), False),
        ("note", "is_empty", None, True),
        ("owner", "is_empty", None, True),
        ("tags", "is_empty", None, False),
        ("sold", "is_empty", None, False),
    ],
)
def test_an_operator_compares_the_entry_with_the_value(
    key: str, operator: str, value: Any, passes: bool
) -> None:
    assert MetadataFilter(key, value, FilterOperator(operator)).match(FISH) is passes


@pytest.mark.parametrize("operator", FilterOperator)
def test_a_missing_key_passes_where_something_is_to_be_absent(operator: FilterOperator) -> None:
    value: Any = ["x"] if operator.value in ("in", "nin", "any", "all") else "x"
    assert MetadataFilter("gone", value, operator).match(FISH) is (
        operator.value in ("!=", "nin", "is_empty")
    )


def test_filters_are_joined_by_and_or_not_as_deep_as_one_likes() -> None:
    fish, heavy = ExactMatchFilter(key="kind", value="Fish"), MetadataFilter("weight", 9, FilterOperator.GT)
    for condition, passes in (
        (FilterCondition.AND, False),
        (FilterCondition.OR, True),
        (FilterCondition.NOT, False),
    ):
        assert MetadataFilters(filters=[fish, heavy], condition=condition).match(FISH) is passes
    light = MetadataFilters([heavy], FilterCondition.NOT)
    assert MetadataFilters([fish, MetadataFilters([light, heavy], FilterCondition.OR)]).match(FISH)
    for condition in FilterCondition:
        assert MetadataFilters([], condition).match({})


def test_filter_operators_may_be_text_and_wrong_ones_are_named() -> None:
    assert MetadataFilter("weight", 1, ">").operator is FilterOperator.GT  # type: ignore[arg-type]
    assert MetadataFilters([], "or").condition is FilterCondition.OR  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'=~' is not a valid FilterOperator"):
        MetadataFilter("weight", 1, "=~")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="compares with a list of values, not with 'Fish'"):
        MetadataFilter("kind", "Fish", FilterOperator.IN)


def test_filters_can_be_dicts() -> None:
    plain = [{"key": "kind", "value": "Fish"}, {"key": "weight", "value": 9, "operator": ">"}]
    filters = MetadataFilters.from_dicts(plain, FilterCondition.OR)
    assert filters == MetadataFilters(
        [MetadataFilter("kind", "Fish"), MetadataFilter("weight", 9, FilterOperator.GT)], FilterCondition.OR
    )
    assert not MetadataFilters.from_dicts(plain).match(FISH)
    with pytest.raises(ValueError, match=r"is a dict, not a filter: MetadataFilters\.from_dicts"):
        MetadataFilters(plain)  # type: ignore[arg-type]
