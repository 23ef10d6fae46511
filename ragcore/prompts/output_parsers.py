"""Parsers that state the format of an answer, and read it."""

from __future__ import annotations

import json
from typing import Generic

from ragcore.prompts.structured_output import Form, parse_form
from ragcore.prompts.templates import BaseOutputParser


class PydanticOutputParser(BaseOutputParser, Generic[Form]):
    """JSON in the form of a pydantic model.

    >>> from pydantic import BaseModel
    >>> class Song(BaseModel):
    ...     title: str
    >>> PydanticOutputParser(Song).parse('Here it is: {"title": "Rain"}')
    Song(title='Rain')
    """

    def __init__(self, output_cls: type[Form]) -> None:
        self.output_cls = output_cls

    def parse(self, output: str) -> Form:
        """Ignores text around the JSON. LLMProtocolError for an answer without JSON of that form."""
        return parse_form(output, self.output_cls)

    def format(self, query: str) -> str:
        schema = json.dumps(self.output_cls.model_json_schema(), ensure_ascii=False)
        return f"{query}\n\nReply with JSON and nothing else. It must be valid by this JSON schema:\n{schema}"


__all__ = ["BaseOutputParser", "PydanticOutputParser"]
