"""What a template asks of the form of an answer, and what is read out of an answer of that form."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from typing import Any, Generic

from ragcore.llms.form import Form, parsed


class BaseOutputParser(ABC):
    """Subclasses give `parse`, and `format` where a prompt must say something of the form."""

    @abstractmethod
    def parse(self, output: str) -> Any:
        """What a model's answer says."""

    def format(self, query: str) -> str:
        """The text of a prompt with what is to be said of the form."""
        return query


class PydanticOutputParser(BaseOutputParser, Generic[Form]):
    """JSON of a pydantic model's form."""

    def __init__(self, output_cls: type[Form]) -> None:
        self.output_cls = output_cls

    def parse(self, output: str) -> Form:
        """LLMProtocolError where the answer is not JSON of that form; what stands around the JSON is passed over."""
        return parsed(output, self.output_cls)

    def format(self, query: str) -> str:
        schema = json.dumps(self.output_cls.model_json_schema(), ensure_ascii=False)
        return f"{query}\n\nReply with JSON and nothing else. It must be valid by this JSON schema:\n{schema}"


__all__ = ["BaseOutputParser", "PydanticOutputParser"]
