"""How a text is shown with its metadata, and the hash of both."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Protocol, TypeAlias

Scalar: TypeAlias = str | int | float | bool | None
Value: TypeAlias = Scalar | Sequence[Scalar]
Metadata: TypeAlias = Mapping[str, Value]


class MetadataMode(str, Enum):
    """Which metadata is written above a text: for the embedder, for the language model, all of it or none."""

    ALL = "all"
    EMBED = "embed"
    LLM = "llm"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Template:
    """How a text is shown with its metadata: `text` names {metadata_str} and {content}, `entry` names {key} and {value}."""

    text: str = "{metadata_str}\n\n{content}"
    entry: str = "{key}: {value}"
    separator: str = "\n"  # between entries


PLAIN = Template()


class Described(Protocol):
    """A text with metadata."""

    text: str
    metadata: dict[str, Value]
    excluded_embed_metadata_keys: list[str]
    excluded_llm_metadata_keys: list[str]
    template: Template


def in_parts(template: Template, text: str | None, entry: str | None, separator: str | None) -> Template:
    """The template with those of its parts that are given by themselves."""
    parts = {"text": text, "entry": entry, "separator": separator}
    given = {name: part for name, part in parts.items() if part is not None}
    return replace(template, **given) if given else template


def content_hash(text: str, metadata: Metadata) -> str:
    from hashlib import sha256

    canonical = json.dumps(dict(metadata), sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str)
    # The length keeps ("ab", "c") and ("a", "bc") apart.
    return sha256(f"{len(text)}:{text}{canonical}".encode("utf-8", "surrogatepass")).hexdigest()


def metadata_text(item: Described, mode: MetadataMode) -> str:
    """One `key: value` line per visible metadata entry; "" in mode NONE."""
    mode = MetadataMode(mode)  # may be given as its text
    if mode is MetadataMode.NONE:
        return ""
    hidden: Sequence[str] = ()
    if mode is MetadataMode.EMBED:
        hidden = item.excluded_embed_metadata_keys
    elif mode is MetadataMode.LLM:
        hidden = item.excluded_llm_metadata_keys
    entries = ((key, str(value)) for key, value in item.metadata.items() if key not in hidden)
    return item.template.separator.join(_filled(item.template.entry, {"key": key, "value": value}) for key, value in entries)


def with_metadata(item: Described, mode: MetadataMode) -> str:
    head = metadata_text(item, mode)
    return _filled(item.template.text, {"metadata_str": head, "content": item.text}).strip() if head else item.text


def _filled(template: str, values: Mapping[str, str]) -> str:
    """Each {name} once, in one pass: braces in a value are only text."""
    return re.sub("|".join(rf"\{{{name}\}}" for name in values), lambda match: values[match.group()[1:-1]], template)
