"""`from_defaults` where it takes what the constructor takes: another name of the class."""

from __future__ import annotations

from typing import TypeVar

Made = TypeVar("Made")


class SameAsConstructor:
    def __get__(self, instance: object, owner: type[Made]) -> type[Made]:
        return owner
