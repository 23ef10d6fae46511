"""Lets a pydantic model have fields of our types."""

from __future__ import annotations

from typing import Any


class AcceptedByPydantic:
    """A pydantic model accepts an instance unchanged: events of a workflow contain passages and messages."""

    __slots__ = ()

    @classmethod
    def __get_pydantic_core_schema__(cls, source: type, handler: object) -> Any:
        from pydantic_core import core_schema

        return core_schema.is_instance_schema(source)
