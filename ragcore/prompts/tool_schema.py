"""Turns the parameters of a Python function into the arguments of a tool: schema, descriptions, and the call
itself."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.fields import FieldInfo


def context_parameter(function: Callable[..., Any] | None) -> str | None:
    """The name of the parameter for a workflow's Context; None if there is none."""
    for parameter in signature_of(function).parameters.values() if function else ():
        kind = getattr(parameter.annotation, "__origin__", parameter.annotation)
        if getattr(kind, "__name__", "") == "Context" and str(kind.__module__).startswith("workflows"):
            return parameter.name
    return None


def signature_without(function: Callable[..., Any], hidden: Collection[str]) -> inspect.Signature:
    signature = signature_of(function)
    return signature.replace(
        parameters=[each for name, each in signature.parameters.items() if name not in hidden]
    )


def create_schema_from_function(
    name: str,
    func: Callable[..., Any],
    additional_fields: Sequence[tuple[str, Any] | tuple[str, Any, Any]] = (),
    ignore_fields: Collection[str] = (),
) -> type[BaseModel]:
    """A model of the function's parameters, without `*args` and `ignore_fields`. With `**kwargs` the model
    allows any name.

    `additional_fields` are names and types, optionally with a default.

    >>> create_schema_from_function("Add", lambda a, b=2: a + b).model_json_schema()["required"]
    ['a']
    """
    signature = signature_of(func)
    described = _descriptions(inspect.getdoc(func) or "", signature.parameters)
    fields: dict[str, Any] = {
        field: (kind, default[0] if default else ...) for field, kind, *default in additional_fields
    }
    further = False
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            further = True
        elif parameter.kind is not parameter.VAR_POSITIONAL and parameter.name not in ignore_fields:
            # Names of BaseModel and names with an underscore cannot be fields; these parameters get an alias.
            clashes = parameter.name.startswith("_") or hasattr(BaseModel, parameter.name)
            default = ... if parameter.default is parameter.empty else parameter.default
            field_name = f"{parameter.name.strip('_')}_" if clashes else parameter.name
            kind = _kind(parameter, described.get(parameter.name))
            is_field = isinstance(default, FieldInfo)
            fields[field_name] = (
                kind,
                default if is_field else Field(default, alias=parameter.name if clashes else None),
            )
    config = ConfigDict(
        extra="allow" if further else "forbid", arbitrary_types_allowed=True, protected_namespaces=()
    )
    model: type[BaseModel] = create_model(name, __config__=config, **fields)
    return model


def _kind(parameter: inspect.Parameter, described: str | None) -> Any:
    """The annotation with a description: the text in `Annotated`, else that of the docstring."""
    unknown = parameter.annotation is parameter.empty or isinstance(parameter.annotation, str)
    kind = Any if unknown else parameter.annotation
    description = next(
        (note for note in getattr(kind, "__metadata__", ()) if isinstance(note, str)), described
    )
    return Annotated[kind, Field(description=description)] if description else kind


def _descriptions(docstring: str, parameters: Mapping[str, Any]) -> dict[str, str]:
    """The docstring's descriptions of parameters, in the style of Google, Sphinx or Javadoc."""
    pairs = (
        (match["sphinx"] or match["google"] or match["java"], match["text"].strip())
        for match in _DESCRIBED.finditer(docstring)
    )
    return {name: text for name, text in pairs if name in parameters}


_DESCRIBED = re.compile(
    r"^\s*(?:@param\s+(?P<java>\w+)|(?::param\s+(?:[^:\s]+\s+)?(?P<sphinx>\w+)|"
    r"\*{0,2}(?P<google>\w+)(?:\s*\([^)\n]*\))?):)[ \t]+(?P<text>\S.*)$",
    re.MULTILINE,
)


def signature_of(function: Callable[..., Any]) -> inspect.Signature:
    try:
        return inspect.signature(function, eval_str=True)
    except NameError:  # an annotation that only a type checker can resolve
        return inspect.signature(function)


def call_with(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """The function's result. Positional-only parameters may be passed by name."""
    parameters = inspect.signature(function).parameters.values()
    named = dict(kwargs)
    placed = list(args)
    for parameter in [p for p in parameters if p.kind is p.POSITIONAL_ONLY][len(args) :]:
        if parameter.name in named:
            placed.append(named.pop(parameter.name))
        elif parameter.default is not parameter.empty:
            placed.append(parameter.default)
    return function(*placed, **named)
