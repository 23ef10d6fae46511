"""What the classes of `ragcore.nodes` are built with: properties, copies of values, and equality."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar

from ragcore.node_links import NodeRelationship
from ragcore.node_text import Metadata, Value

Kind = TypeVar("Kind")
_PLAIN_VALUES = frozenset({str, int, float, bool, type(None)})


def template_part(name: str) -> property:
    """A property for one part of the template."""
    return property(
        lambda node: getattr(node.template, name),
        lambda node, part: setattr(node, "template", replace(node.template, **{name: part})),
    )


def other_name(name: str) -> property:
    """A property that is another name of an attribute."""
    return property(attrgetter(name), lambda node, value: setattr(node, name, value))


def link(kind: NodeRelationship) -> property:
    return property(lambda node: node.relationships.get(kind))


def same_value(one: Any, other: Any) -> bool:
    if one is None or other is None:
        return one is other
    if hasattr(one, "tolist") or hasattr(other, "tolist"):  # vectors
        return [float(number) for number in one] == [float(number) for number in other]
    return bool(one == other)


def own_copy(metadata: Metadata) -> dict[str, Value]:
    """A copy of the metadata, with copies of its lists."""
    owned = dict(metadata)
    for key, value in owned.items():
        if type(value) not in _PLAIN_VALUES:
            owned[key] = (
                [*value]
                if type(value) is list and _PLAIN_VALUES.issuperset(map(type, value))
                else deepcopy(value)
            )
    return owned


def copy_on_assignment(kind: type[Kind]) -> type[Kind]:
    """A class decorator: objects copy metadata and lists of keys that are passed or assigned to them."""

    def copy_property(slot: Any, own: Callable[[Any], Any]) -> property:
        write = slot.__set__
        return property(slot.__get__, lambda node, value: write(node, own(value)))

    for name, own in (
        ("metadata", own_copy),
        ("excluded_embed_metadata_keys", list),
        ("excluded_llm_metadata_keys", list),
    ):
        setattr(kind, name, copy_property(vars(kind)[name], own))
    return kind


@cache
def slots_of(kind: type) -> tuple[str, ...]:
    return tuple(
        name for each in kind.__mro__ for name in getattr(each, "__slots__", ()) if not name.startswith("__")
    )
