"""What a step is, as text: two steps with the same fingerprint do the same to the same passages, in any process.

It is made of the step's class, its `version` where it has one, and everything it was set up with. A language model, an
embedder and a tokenizer count by their names. What cannot be told from outside (a function that reads a global, an open
connection) leaves the step without a fingerprint, and then nothing it does is cached.
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

IMMATERIAL = ("num_workers", "show_progress")  # how a step works, not what it makes


class _UnknownError(Exception):
    """Something that cannot be told from outside."""


def fingerprint(step: object) -> str | None:
    """None where there is none. Of a step that is itself a function there is none: it may read what it likes."""
    if inspect.isroutine(step) or isinstance(step, partial):
        return None
    try:
        return json.dumps(_told(step, ()), ensure_ascii=True, separators=(",", ":"))
    except _UnknownError:
        return None


def _told(value: object, inside: tuple[int, ...]) -> Any:
    """As plain lists, so that it can be written as JSON. `inside` are the objects that hold it, against going in circles."""
    if value is None or (isinstance(value, (bool, int, float, str)) and not isinstance(value, Enum)):
        return value
    if id(value) in inside:
        raise _UnknownError
    deeper = (*inside, id(value))
    for kinds, tell in _TELLING:
        if isinstance(value, kinds):
            return [_name(type(value)), tell(value, deeper)]
    if is_dataclass(value) and not isinstance(value, type):
        facts = {field.name: getattr(value, field.name) for field in fields(value)}
        return [_name(type(value)), _tell_mapping(facts, deeper)]
    return [_name(type(value)), _tell_object(value, deeper)]


def _tell_mapping(value: Mapping[Any, Any], inside: tuple[int, ...]) -> Any:
    return sorted(([_told(key, inside), _told(item, inside)] for key, item in value.items()), key=repr)


def _tell_object(value: object, inside: tuple[int, ...]) -> Any:
    name = getattr(value, "name", None)
    is_named = hasattr(value, "embed_passages") or (hasattr(value, "starts") and not isinstance(value, FunctionTokenizer))
    if is_named and isinstance(name, str):
        return name
    if not hasattr(value, "__dict__"):
        raise _UnknownError
    # A cached property is computed from the rest, and is there only once it was asked for.
    facts = {
        key: item
        for key, item in vars(value).items()
        if key not in IMMATERIAL and not isinstance(inspect.getattr_static(type(value), key, None), cached_property)
    }
    return [getattr(value, "version", None), _tell_mapping(facts, inside)]


def _tell_function(value: FunctionType, inside: tuple[int, ...]) -> Any:
    if "<" not in value.__qualname__:
        return _name(value)
    if any(name in value.__globals__ for code in _codes(value.__code__) for name in code.co_names):
        raise _UnknownError
    cells = [cell.cell_contents for cell in value.__closure__ or ()]
    constants = [
        [code.co_code.hex(), code.co_names, [item for item in code.co_consts if not isinstance(item, CodeType)]]
        for code in _codes(value.__code__)
    ]
    return _told([_name(value), constants, cells, value.__defaults__, value.__kwdefaults__], inside)


def _tell_method(value: MethodType, inside: tuple[int, ...]) -> Any:
    owner = value.__self__
    name = getattr(owner, "name", None)
    return [value.__name__, [_name(type(owner)), name] if isinstance(name, str) else _told(owner, inside)]


def _codes(code: CodeType) -> list[CodeType]:
    """The code, and that of the functions and comprehensions in it."""
    return [code, *(one for item in code.co_consts if isinstance(item, CodeType) for one in _codes(item))]


def _name(value: Any) -> str:
    return f"{getattr(value, '__module__', '')}.{value.__qualname__}"


def _tell_each(value: Any, inside: tuple[int, ...]) -> Any:
    return [_told(item, inside) for item in value]


_TELLING: tuple[tuple[type | tuple[type, ...], Callable[[Any, tuple[int, ...]], Any]], ...] = (
    (Enum, lambda value, inside: _told(value.value, inside)),
    (LLM, lambda value, inside: value.metadata.model_name),
    ((list, tuple), _tell_each),
    ((set, frozenset), lambda value, inside: sorted(_tell_each(value, inside), key=repr)),
    (Mapping, _tell_mapping),
    (bytes, lambda value, inside: value.hex()),
    (PurePath, lambda value, inside: str(value)),
    (re.Pattern, lambda value, inside: _told([value.pattern, value.flags], inside)),
    (type, lambda value, inside: _name(value)),
    (FunctionType, _tell_function),
    (MethodType, _tell_method),
    ((BuiltinFunctionType, MethodDescriptorType), lambda value, inside: _name(value)),
)
