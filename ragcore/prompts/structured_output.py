"""Parses a reply as a pydantic model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, get_origin

from ragcore.errors import LLMProtocolError
from ragcore.text.json_replies import parse_json_values

if TYPE_CHECKING:
    from pydantic import BaseModel

Form = TypeVar("Form", bound="BaseModel")


def object_schema(properties: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON schema of an object that has all of these properties."""
    return {"type": "object", "properties": dict(properties), "required": list(properties)}


def list_schema(name: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON schema of {name: [objects with these properties]}. OpenAI's servers accept no bare list."""
    return object_schema({name: {"type": "array", "items": object_schema(properties)}})


RANKING = list_schema("passages", {"doc": {"type": "integer"}, "relevance": {"type": "integer"}})


def parse_form(reply: str, model: type[Form]) -> Form:
    """The object in the reply that is valid for `model`. If its only field is a list, the reply may also be
    the list or its items. LLMProtocolError if no object is valid, or several different ones are."""
    from pydantic import ValidationError

    values = parse_json_values(reply)
    if not values:
        raise _form_error(model, "it is no JSON")
    problem: ValidationError | None = None
    forms: list[Form] = []
    for value in [*values, *_as_list(values, model)]:
        try:
            form = model.model_validate(value)
        except ValidationError as error:
            problem = problem or error
        else:
            forms += [form] if form not in forms else []
    if len(forms) > 1:
        raise _form_error(model, f"there are {len(forms)} different ones")
    if forms:
        return forms[0]
    assert problem is not None  # each value is valid or raised an error
    first = problem.errors()[0]
    wrong = f"{'.'.join(map(str, first['loc'])) or model.__name__}: {first['msg']}"
    raise _form_error(model, wrong) from problem


def _as_list(values: Sequence[Any], model: type[BaseModel]) -> list[dict[str, Any]]:
    """[{field: values}] if the only field is a list; [] for other models, or if a value has the field."""
    (name, *others) = model.model_fields
    is_list = get_origin(model.model_fields[name].annotation) is list
    if others or not is_list or any(isinstance(value, Mapping) and name in value for value in values):
        return []
    items = [item for value in values for item in (value if isinstance(value, list) else [value])]
    return [{name: items}]


def _form_error(model: type[BaseModel], wrong: str) -> LLMProtocolError:
    return LLMProtocolError(
        f"The answer does not have the form {model.__name__} ({wrong}).",
        hint="Ask again, choose a larger model, or ask for fewer and simpler fields.",
    )
