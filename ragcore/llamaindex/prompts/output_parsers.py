"""Parsers that state the format of an answer, and read it."""

from __future__ import annotations

import json
from typing import Any, Generic

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


class LangchainOutputParser(BaseOutputParser):
    """A parser of LangChain, or any object with `parse(text)` and `get_format_instructions()`.

    >>> class Words:
    ...     def parse(self, text):
    ...         return text.split(", ")
    ...
    ...     def get_format_instructions(self):
    ...         return "Separate the words with commas."
    >>> LangchainOutputParser(Words()).parse("red, green")
    ['red', 'green']
    """

    def __init__(self, output_parser: Any) -> None:
        self.output_parser = output_parser

    def parse(self, output: str) -> Any:
        """Raises what the parser raises."""
        return self.output_parser.parse(output)

    def format(self, query: str) -> str:
        return f"{query}\n\n{self.output_parser.get_format_instructions()}"


__all__ = ["BaseOutputParser", "LangchainOutputParser", "PydanticOutputParser"]
