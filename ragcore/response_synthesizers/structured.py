"""Answers in a form: with a verdict whether the passages held the answer, or as a pydantic model of the caller's."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ragcore.errors import LLMProtocolError
from ragcore.text.loose_json import loose_json

if TYPE_CHECKING:
    from pydantic import BaseModel

_NO = ("false", "no", "0", "none")


def satisfied_answer(reply: str) -> str:
    """The "answer" of a reply to a `structured` prompt; "" where "query_satisfied" denies it.

    Many models answer in plain words all the same: those are the answer.
    """
    try:
        told = loose_json(reply)
    except ValueError:
        return reply.strip()
    if not isinstance(told, dict) or not told.keys() & {"answer", "query_satisfied"}:
        return reply.strip()
    if str(told.get("query_satisfied", True)).strip().lower() in _NO:
        return ""
    return _text(told.get("answer"))


def parsed(reply: str, model: type[BaseModel]) -> BaseModel:
    """LLMProtocolError where the reply is not JSON of the model's form."""
    from pydantic import ValidationError

    try:
        return model.model_validate(loose_json(reply))
    except ValidationError as error:
        first = error.errors()[0]
        wrong = f"{'.'.join(map(str, first['loc'])) or model.__name__}: {first['msg']}"
        raise _not_of_the_form(model, wrong) from error
    except ValueError as error:
        raise _not_of_the_form(model, "it is no JSON") from error


def _not_of_the_form(model: type[BaseModel], wrong: str) -> LLMProtocolError:
    return LLMProtocolError(
        f"The answer does not have the form {model.__name__} ({wrong}).",
        hint="Ask again, choose a larger model, or ask for fewer and simpler fields.",
    )


def _text(answer: Any) -> str:
    if answer is None:
        return ""
    return answer.strip() if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
