"""The base classes of components that a script defines. Their annotated names are the arguments of their
constructors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from copy import copy
from inspect import get_annotations
from typing import Any

from ragcore.schema.nodes import BaseNode

_MISSING: Any = object()


class Fields:
    """The annotated names of a subclass are keyword arguments of its constructor, with their values as
    defaults.

    A name that begins with an underscore gets its default and is no argument. A default may be pydantic's
    Field or PrivateAttr; a list, dictionary or set is copied for each object. Values are not validated.
    TypeError for missing or unknown arguments.

    >>> class Cut(Fields):
    ...     words: list[str]
    ...     least: float = 0.5
    >>> Cut(words=["boat"]).least
    0.5
    >>> Cut(words=["boat"], last=0.7)
    Traceback (most recent call last):
    TypeError: Cut() has no argument 'last'; it has words, least
    """

    def __init__(self, **values: Any) -> None:
        kind, names = type(self), dict.fromkeys(_names(type(self)))
        public = [name for name in names if not name.startswith("_")]
        for name in values:
            if name not in public:
                raise TypeError(
                    f"{kind.__name__}() has no argument {name!r}; it has {', '.join(public) or 'none'}"
                )
        for name in names:
            value = values[name] if name in values else _default(getattr(kind, name, _MISSING))
            if value is not _MISSING:
                setattr(self, name, value)
            elif name in public:
                raise TypeError(f"{kind.__name__}() needs the argument {name!r}")

    @classmethod
    def class_name(cls) -> str:
        return cls.__name__


def _names(kind: type) -> Iterator[str]:
    """The annotated names, those of the bases first."""
    for each in reversed(kind.__mro__):
        if issubclass(each, Fields):
            for name, annotation in get_annotations(each).items():
                if not (str(annotation).removeprefix("typing.").startswith("ClassVar")):
                    yield name


def _default(value: Any) -> Any:
    """The default for a new object. _MISSING for a Field or a PrivateAttr without a default."""
    if type(value).__module__.startswith("pydantic."):
        factory = getattr(value, "default_factory", None)
        value = factory() if factory else value.default
        if type(value).__name__ == "PydanticUndefinedType":
            return _MISSING
    return copy(value) if isinstance(value, list | dict | set) else value


class TransformComponent(Fields, ABC):
    """The base of transformations. Subclasses define `__call__`, which may edit the nodes because it receives
    copies.

    >>> from ragcore.ingestion import IngestionPipeline
    >>> from ragcore.schema import Document
    >>> class Shorten(TransformComponent):
    ...     length: int = 10
    ...
    ...     def __call__(self, nodes, **kwargs):
    ...         for node in nodes:
    ...             node.text = node.text[: self.length]
    ...         return nodes
    >>> pipeline = IngestionPipeline(transformations=[Shorten(length=6)])
    >>> pipeline.run(documents=[Document("A boat is red.")])[0].text
    'A boat'
    """

    @abstractmethod
    def __call__(self, nodes: Sequence[Any], **kwargs: Any) -> Sequence[BaseNode]:
        """The nodes after this step."""

    async def acall(self, nodes: Sequence[Any], **kwargs: Any) -> Sequence[BaseNode]:
        """Calls it in a thread."""
        import asyncio

        return await asyncio.to_thread(self, nodes, **kwargs)
