"""A way of reading, finding and answering in a line of text: "default", or
"top_k=10,diverse=yes,chunk_size=400"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from lectern.retrieval import DEFAULTS, OPTIONS, Retrieval
from lectern.schema import Ask
from lectern.settings import RESPONSE_MODES, AnswerSettings, IngestSettings, ResponseModeName, SplitterName
from ragcore.errors import InputError

DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class TrialSetting:
    """`embed_model`: "" is the one that a new library of these documents chooses, else as for Rebuilds.start;
    the built-in one for English is "all-MiniLM-L6-v2"."""

    name: str
    ask: Ask
    ingest: IngestSettings
    embed_model: str = ""


class _Answers(BaseModel):
    model_config = ConfigDict(extra="forbid")

    top_k: int = Field(default=AnswerSettings().top_k, ge=1, le=100)
    response_mode: ResponseModeName = AnswerSettings().response_mode


def _retrieval_fields() -> dict[str, Any]:
    """The type, the default and the range of each option of a retrieval."""
    types = {"switch": bool, "text": str, "share": float | None, "number": float | None}
    found = {}
    for name, default in DEFAULTS.items():
        option = next(option for option in OPTIONS if option.name == name)
        limits: dict[str, Any] = {"ge": 0, "le": option.highest} if option.kind in ("share", "number") else {}
        found[name] = (types[option.kind], Field(default=default, **limits))
    return found


class _Values(create_model("_Found", __base__=_Answers, **_retrieval_fields())):  # type: ignore[misc]
    chunk_size: int = Field(default=IngestSettings().chunk_size, ge=16)
    chunk_overlap: int = Field(default=IngestSettings().chunk_overlap, ge=0)
    splitter: SplitterName = IngestSettings().splitter
    embed_model: str = ""


def setting_of(text: str) -> TrialSetting:
    """InputError for a name or a value that cannot be."""
    values = _Values() if text.strip() == DEFAULT else _parse_values(text)
    how = Retrieval(**values.model_dump(include=set(DEFAULTS)))
    ingest = IngestSettings(
        chunk_size=values.chunk_size, chunk_overlap=values.chunk_overlap, splitter=values.splitter
    )
    if ingest.chunk_overlap >= ingest.chunk_size:
        raise InputError(
            f"{text}: chunk_overlap must be smaller than chunk_size.", hint="Give a smaller one."
        )
    ask = Ask("", None, values.response_mode, values.top_k, retrieval=how)
    return TrialSetting(text.strip(), ask, ingest, values.embed_model)


def _parse_values(text: str) -> _Values:
    pairs = [part.partition("=") for part in text.split(",")]
    values: Mapping[str, Any] = {name.strip(): value.strip() for name, _, value in pairs}
    try:
        return cast("_Values", _Values.model_validate(values))
    except ValidationError as error:
        first = error.errors()[0]
        names = ", ".join(_Values.model_fields)
        raise InputError(
            f"The setting “{text}” cannot be used: {'.'.join(map(str, first['loc']))}: {first['msg']}.",
            hint=f"Write “{DEFAULT}”, or name=value with commas between them. Names: {names}. "
            f"response_mode is one of {', '.join(RESPONSE_MODES)}.",
        ) from error
