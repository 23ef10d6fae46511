"""Any value survives being a reply's JSON; forgiven is what leaves no doubt; doubt is an error."""

import ast
import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.text.json_replies import parse_json_at, parse_json_values, parse_loose_json

SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=12
)
CONTAINERS = st.lists(VALUES) | st.dictionaries(st.text(), VALUES)
PROSE = st.text(st.characters(exclude_characters="[]{}`", exclude_categories=["Cs"]))


@given(VALUES, st.booleans(), st.sampled_from([None, 2]))
def test_a_value_alone_or_in_a_fence_reads_back(value: Any, ascii_only: bool, indent: int | None) -> None:
    written = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    assert parse_loose_json(written) == value
    assert parse_loose_json(f"  \n{written}\n") == value
    assert parse_loose_json(f"Here you are:\n```json\n{written}\n```\nAnything else?") == value
    assert parse_loose_json(f"```\r\n{written}\r\n```") == value


@given(CONTAINERS, PROSE, PROSE)
def test_an_object_or_array_among_prose_reads_back(value: Any, before: str, after: str) -> None:
    written = json.dumps(value)
    start = len(f"So {before}\n")
    reply = f"So {before}\n{written}\n{after}"
    assert parse_loose_json(reply) == value
    assert parse_json_at(reply, start) == (value, start + len(written))


@given(CONTAINERS)
def test_what_python_prints_reads_back(value: Any) -> None:
    printed = repr(value)
    if "\\x" in printed or "\\U" in printed:  # escapes that JSON does not have
        with pytest.raises(ValueError, match="scape"):
            parse_loose_json(printed)
    else:
        assert parse_loose_json(printed) == ast.literal_eval(printed)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1, }', {"a": 1}),
        ("['x', 'y',\n]", ["x", "y"]),
        ("{'say': '\"hi\" it\\'s me \\\\'}", {"say": '"hi" it\'s me \\'}),
        ('{"it": "it\\\'s"}', {"it": "it's"}),
        ('{"text": "two\r\nlines\tand a tab"}', {"text": "two\r\nlines\tand a tab"}),
        ("{a: 1, my-key: 2, 数: 3}", {"a": 1, "my-key": 2, "数": 3}),
        (
            '{"ok": True, "no": False, "none": None, "null": null}',
            {"ok": True, "no": False, "none": None, "null": None},
        ),
        (
            '{"url": "http://a#b", // why\n "n": /* one */ 1, # two\n "s": "/* text */"}',
            {"url": "http://a#b", "n": 1, "s": "/* text */"},
        ),
        ('\ufeff{"a": 1}', {"a": 1}),
        ('{"a": "```x```"}', {"a": "```x```"}),
        ('As [1] and [2, 3] say: {"choice": 2}.', {"choice": 2}),
        ('See [the manual: page 3](http://x) and {"choice": 2}', {"choice": 2}),
        ("The pages are [4, 5].", [4, 5]),
        ('{"a": 1}\nAgain: {"a": 1}', {"a": 1}),
        ("5 // five", 5),
    ],
)
def test_habits_of_other_languages_are_forgiven(text: str, value: Any) -> None:
    assert parse_loose_json(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "plain words",
        "{a: 1 b}",
        "{a: b}",
        '{"a": {"b": 1} c}',
        '["a" b, {"c": 1}]',
        '{"a": 1',
        '[{"a": 1}, {"b": 2}',
        '{"a": "he said "hi" to me"}',
        "[1,,2]",
        "{,}",
        '{"a" 1}',
        '{"a": undefined}',
        '{"a": 1} {"a": 2}',
        '{"a": "unended}',
        "(1, 2)",
        "[" * 5000 + "]" * 5000,
    ],
)
def test_what_cannot_be_read_with_certainty_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"JSON|delimiter|value|property|control|line"):
        parse_loose_json(text)


@pytest.mark.parametrize(
    "text", ["[" + "a" * 200_000, '"\\' * 100_000, "{" * 100_000, "[a] " * 10_000, "'" * 100_000]
)
def test_long_nonsense_is_refused_at_once(text: str) -> None:
    begin = time.process_time()
    with pytest.raises(ValueError, match=r"JSON|delimiter|value|property|control|line"):
        parse_loose_json(text)
    assert time.process_time() - begin < 2.0


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ('{"a": 1}', [{"a": 1}]),
        ('{"a": 1}\n{"a": 2}', [{"a": 1}, {"a": 2}]),
        ('First {"a": 1}, by [2], then {"a": 2}.', [{"a": 1}, {"a": 2}]),
        ('```json\n{"a": 1}\n```\nor\n```json\n{"a": 2}\n```', [{"a": 1}, {"a": 2}]),
        ('{"a": 1} {"a": 2', [{"a": 1}]),
        ("[1, 3]", [[1, 3]]),
        ("none", []),
    ],
)
def test_all_json_values_are_read_up_to_a_truncated_one(text: str, values: list[Any]) -> None:
    assert parse_json_values(text) == values
