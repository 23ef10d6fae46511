"""What a template asks of the form of an answer, and what is read out of an answer of that form."""

from __future__ import annotations

import json
from typing import Generic

from ragcore.prompts.structured_output import Form, parsed
from ragcore.prompts.templates import BaseOutputParser


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
