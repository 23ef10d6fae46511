"""The identity of a transformation as text: steps with equal fingerprints do the same to the same passages,
in any process.

A fingerprint contains the step's class, its `version` if it has one, and its configuration. Language models,
embedders and tokenizers are represented by their names. A step that contains anything else without a readable
state (a function that uses a global, an open connection) has no fingerprint, and is never cached.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cached_property, partial
from pathlib import PurePath
from types import BuiltinFunctionType, CodeType, FunctionType, MethodDescriptorType, MethodType
from typing import Any

from ragcore.llms.base import LLM
from ragcore.text.tokens import FunctionTokenizer

IMMATERIAL = ("num_workers", "show_progress")  # attributes without influence on the result


class _UnknownError(Exception):
    """A part of a step has no readable state."""


def fingerprint(step: object) -> str | None:
    """None if there is none, as for a step that is a function: it may use anything."""
    if inspect.isroutine(step) or isinstance(step, partial):
        return None
    try:
        return json.dumps(_state(step, ()), ensure_ascii=True, separators=(",", ":"))
    except _UnknownError:
        return None


def _state(value: object, inside: tuple[int, ...]) -> Any:
    """The value as plain lists for JSON. `inside` are the objects around it, to detect cycles."""
    if value is None or (isinstance(value, (bool, int, float, str)) and not isinstance(value, Enum)):
        return value
    if id(value) in inside:
        raise _UnknownError
    deeper = (*inside, id(value))
    for kinds, state_of in _STATE_OF:
        if isinstance(value, kinds):
            return [_name(type(value)), state_of(value, deeper)]
    if is_dataclass(value) and not isinstance(value, type):
        facts = {field.name: getattr(value, field.name) for field in fields(value)}
        return [_name(type(value)), _state_of_mapping(facts, deeper)]
    return [_name(type(value)), _state_of_object(value, deeper)]


def _state_of_mapping(value: Mapping[Any, Any], inside: tuple[int, ...]) -> Any:
    return sorted(([_state(key, inside), _state(item, inside)] for key, item in value.items()), key=repr)


def _state_of_object(value: object, inside: tuple[int, ...]) -> Any:
    name = getattr(value, "name", None)
    is_named = hasattr(value, "embed_passages") or (
        hasattr(value, "starts") and not isinstance(value, FunctionTokenizer)
    )
    if is_named and isinstance(name, str):
        return name
    if not hasattr(value, "__dict__"):
        raise _UnknownError
    # A cached property depends on the rest, and exists only after its first use.
    facts = {
        key: item
        for key, item in vars(value).items()
        if key not in IMMATERIAL
        and not isinstance(inspect.getattr_static(type(value), key, None), cached_property)
    }
    return [getattr(value, "version", None), _state_of_mapping(facts, inside)]


def _state_of_function(value: FunctionType, inside: tuple[int, ...]) -> Any:
    if "<" not in value.__qualname__:
        return _name(value)
    if any(name in value.__globals__ for code in _codes(value.__code__) for name in code.co_names):
        raise _UnknownError
    cells = [cell.cell_contents for cell in value.__closure__ or ()]
    constants = [
        [
            code.co_code.hex(),
            code.co_names,
            [item for item in code.co_consts if not isinstance(item, CodeType)],
        ]
        for code in _codes(value.__code__)
    ]
    return _state([_name(value), constants, cells, value.__defaults__, value.__kwdefaults__], inside)


def _state_of_method(value: MethodType, inside: tuple[int, ...]) -> Any:
    owner = value.__self__
    name = getattr(owner, "name", None)
    return [value.__name__, [_name(type(owner)), name] if isinstance(name, str) else _state(owner, inside)]


def _codes(code: CodeType) -> list[CodeType]:
    """The code, and the code of the functions and comprehensions in it."""
    return [code, *(one for item in code.co_consts if isinstance(item, CodeType) for one in _codes(item))]


def _name(value: Any) -> str:
    return f"{getattr(value, '__module__', '')}.{value.__qualname__}"


def _state_of_each(value: Any, inside: tuple[int, ...]) -> Any:
    return [_state(item, inside) for item in value]


_STATE_OF: tuple[tuple[type | tuple[type, ...], Callable[[Any, tuple[int, ...]], Any]], ...] = (
    (Enum, lambda value, inside: _state(value.value, inside)),
    (LLM, lambda value, inside: value.metadata.model_name),
    ((list, tuple), _state_of_each),
    ((set, frozenset), lambda value, inside: sorted(_state_of_each(value, inside), key=repr)),
    (Mapping, _state_of_mapping),
    (bytes, lambda value, inside: value.hex()),
    (PurePath, lambda value, inside: str(value)),
    (re.Pattern, lambda value, inside: _state([value.pattern, value.flags], inside)),
    (type, lambda value, inside: _name(value)),
    (FunctionType, _state_of_function),
    (MethodType, _state_of_method),
    ((BuiltinFunctionType, MethodDescriptorType), lambda value, inside: _name(value)),
)
