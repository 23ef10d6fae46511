"""The options of a retrieval. Each is declared here with its range and its words, and everything that reads,
draws or describes an option takes them from here. Its effect is in `lectern.ask.pipeline`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal

from pydantic import Field

Number = Annotated[float, Field(ge=-(10**15), le=10**15)]  # neither infinite nor NaN
OptionKind = Literal["switch", "share", "number", "text"]


def say(text: str) -> str:
    """Marks a text for the catalogues. The screens translate it."""
    return text


@dataclass(frozen=True, slots=True)
class Retrieval:
    """The values of the options, in the order of the steps of a retrieval."""

    dense_share: Number | None = None  # 0 compares only words, 1 only meaning; None is the usual balance
    weaker: bool = False  # always `top_k` passages, also far weaker ones than the best
    cutoff: Number | None = None  # the minimum score, 0 to 1
    reranker: str = ""  # the folder or name of a cross-encoder on this machine
    diverse: bool = False  # prefers different passages to similar ones

    def changed(self) -> Iterator[tuple[Option, Any]]:
        """The options that do not have their default, with their values, in the order of the screens."""
        for option in OPTIONS:
            value = getattr(self, option.name)
            if value != DEFAULTS[option.name]:
                yield option, value


@dataclass(frozen=True, slots=True)
class Option:
    """An option and its words.

    A "switch" is on or off. A "share" is from 0 to 1, or None for the usual one; screens have percents. A
    "number" is from 0 to `highest`, or None. A "text" may be empty.

    `label` and `help` are those of its widget; `lab_label` and `lab_help`, if they are others, those in the
    form of a setting to measure. `field_name` is its name in a run card. `summary` and `description` say in a
    short and in a longer list that it was changed; braces stand for the value.
    """

    name: str
    kind: OptionKind
    label: str
    help: str
    field_name: str
    summary: str
    description: str
    lab_label: str = ""
    lab_help: str = ""
    highest: float = 1.0
    step: float = 0.05
    is_in_lab: bool = True


OPTIONS = (
    Option(
        "weaker",
        "switch",
        label=say("Include weaker passages"),
        help=say("Otherwise passages far weaker than the best one are left out, so fewer may remain."),
        field_name=say("weaker passages included"),
        summary=say("weaker passages included"),
        description=say("weaker passages included"),
    ),
    Option(
        "dense_share",
        "share",
        label=say("Words or meaning"),
        help=say(
            "How much the meaning of a passage counts; the rest is the words it shares with "
            "the question. The default is {usual}%. Lower it for names and numbers; raise "
            "it when the question uses other words than the text."
        ),
        field_name=say("weight of meaning"),
        summary=say("{percent}% meaning"),
        description=say("{share}% by meaning"),
    ),
    Option(
        "cutoff",
        "number",
        label=say("Minimum score"),
        help=say("Passages below this score are left out. Scores run from 0 to 1; 0 leaves none out."),
        field_name=say("minimum score"),
        summary=say("score {least} or more"),
        description=say("score at least {score}"),
        is_in_lab=False,
    ),
    Option(
        "diverse",
        "switch",
        label=say("Varied passages"),
        help=say(
            "Prefer passages that differ over several that say the same thing (maximal marginal "
            "relevance, MMR)."
        ),
        field_name=say("varied passages"),
        summary=say("varied passages"),
        description=say("varied passages"),
        lab_help=say("Prefer passages that differ over several that say the same thing (MMR)."),
    ),
    Option(
        "reranker",
        "text",
        label=say("Reranking model"),
        help=say(
            "A cross-encoder reads the question and each passage together and puts them in a better order. "
            "Give its folder or its name, such as cross-encoder/ms-marco-MiniLM-L6-v2. It must be on this "
            "computer; nothing is downloaded."
        ),
        field_name=say("reranking model"),
        summary=say("reranked"),
        description=say("reranked by {model}"),
        lab_label=say("Reranker"),
        lab_help=say("A cross-encoder on this computer that reranks the passages: its folder or name."),
    ),
)
DEFAULTS = {field.name: field.default for field in fields(Retrieval)}
