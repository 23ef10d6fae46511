"""A `from_defaults` with the arguments of the constructor."""

from __future__ import annotations

from typing import TypeVar

Class = TypeVar("Class")


class SameAsConstructor:
    def __get__(self, instance: object, owner: type[Class]) -> type[Class]:
        return owner
