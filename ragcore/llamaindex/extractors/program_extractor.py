"""Metadata of passages that a program makes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ragcore.concurrency import in_order
from ragcore.extractors import BaseExtractor, Entries, Item


class PydanticProgramExtractor(BaseExtractor):
    """The fields of the object that a program makes of each passage. The text of a passage is its argument
    `input_key`.

    >>> from pydantic import BaseModel
    >>> from ragcore.schema import TextNode
    >>> class Topic(BaseModel):
    ...     topic: str
    >>> extractor = PydanticProgramExtractor(program=lambda input: Topic(topic=input.split()[-1]))
    >>> extractor.extract([TextNode("A letter about boats")])
    [{'topic': 'boats'}]
    """

    works_on = "node"
    program: Any
    input_key: str = "input"

    def extract(self, nodes: Sequence[Item]) -> list[Entries]:
        def fields(text: str) -> Entries:
            return self.program(**{self.input_key: text}).model_dump(mode="json") if text else {}

        return in_order(fields, [self.sees(node) for node in nodes], workers=self.num_workers)
