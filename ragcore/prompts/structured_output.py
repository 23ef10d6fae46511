"""A reply as a pydantic model of the caller's."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from ragcore.errors import LLMProtocolError
from ragcore.text.json_replies import loose_json

if TYPE_CHECKING:
    from pydantic import BaseModel

Form = TypeVar("Form", bound="BaseModel")


def parsed(reply: str, model: type[Form]) -> Form:
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
