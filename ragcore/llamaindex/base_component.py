"""The pydantic base of a script's own parts that are saved with the name of their class."""

from __future__ import annotations

import json
from typing import Any, Self

from pydantic import BaseModel, SerializerFunctionWrapHandler, model_serializer


class BaseComponent(BaseModel):
    """A pydantic model whose dictionary and JSON have its `class_name`, which subclasses give.

    >>> class Cut(BaseComponent):
    ...     size: int = 3
    >>> Cut(size=5).to_json(), Cut.from_json('{"class_name": "base_component", "size": 5}').size
    ('{"size": 5, "class_name": "base_component"}', 5)
    """

    @classmethod
    def class_name(cls) -> str:
        return "base_component"

    @model_serializer(mode="wrap")
    def _with_class_name(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {**serialize(self), "class_name": self.class_name()}

    def to_dict(self, **options: Any) -> dict[str, Any]:
        return self.model_dump(**options)

    def to_json(self, **options: Any) -> str:
        return json.dumps(self.to_dict(**options))

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        return cls(**{name: value for name, value in data.items() if name != "class_name"})

    @classmethod
    def from_json(cls, data_str: str) -> Self:
        return cls.from_dict(json.loads(data_str))

    json = to_json  # pydantic's own takes other options
