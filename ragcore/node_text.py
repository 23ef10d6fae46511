"""Renders a text with its metadata, and hashes both."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache
from typing import Protocol, TypeAlias

from ragcore.braces import Field, split_template

Scalar: TypeAlias = str | int | float | bool | None
Value: TypeAlias = Scalar | Sequence[Scalar]
Metadata: TypeAlias = Mapping[str, Value]


class MetadataMode(str, Enum):
    """Which metadata is rendered above a text: that for the embedder, that for the language model, all or
    none.

    >>> from ragcore.schema import TextNode
    >>> node = TextNode("A boat is red.", metadata={"title": "Boats"})
    >>> node.get_content(MetadataMode.LLM)
    'title: Boats\\n\\nA boat is red.'
    """

    ALL = "all"
    EMBED = "embed"
    LLM = "llm"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Template:
    """Renders a text with its metadata: `text` has {metadata_str} and {content}, `entry` has {key} and
    {value}.

    >>> from ragcore.schema import MetadataMode, TextNode
    >>> node = TextNode("Ada wrote notes.", metadata={"page": 3}, template=Template(entry="({key} {value})"))
    >>> node.get_content(MetadataMode.ALL)
    '(page 3)\\n\\nAda wrote notes.'
    """

    text: str = "{metadata_str}\n\n{content}"
    entry: str = "{key}: {value}"
    separator: str = "\n"  # between entries


PLAIN = Template()


class HasMetadata(Protocol):
    """A text with metadata."""

    text: str
    metadata: dict[str, Value]
    excluded_embed_metadata_keys: list[str]
    excluded_llm_metadata_keys: list[str]
    template: Template


def with_parts(template: Template, text: str | None, entry: str | None, separator: str | None) -> Template:
    """The template with the parts that are not None replaced."""
    parts = {"text": text, "entry": entry, "separator": separator}
    replaced = {name: part for name, part in parts.items() if part is not None}
    return replace(template, **replaced) if replaced else template


def content_hash(text: str, metadata: Metadata) -> str:
    from hashlib import sha256

    canonical = json.dumps(
        dict(metadata), sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str
    )
    # The length distinguishes ("ab", "c") from ("a", "bc").
    return sha256(f"{len(text)}:{text}{canonical}".encode("utf-8", "surrogatepass")).hexdigest()


def metadata_text(item: HasMetadata, mode: MetadataMode) -> str:
    """One `key: value` line per visible metadata entry; "" in mode NONE."""
    mode = MetadataMode(mode)  # scripts may pass its text
    if mode is MetadataMode.NONE:
        return ""
    hidden: Sequence[str] = ()
    if mode is MetadataMode.EMBED:
        hidden = item.excluded_embed_metadata_keys
    elif mode is MetadataMode.LLM:
        hidden = item.excluded_llm_metadata_keys
    entries = ((key, str(value)) for key, value in item.metadata.items() if key not in hidden)
    return item.template.separator.join(
        _fill(item.template.entry, {"key": key, "value": value}) for key, value in entries
    )


def with_metadata(item: HasMetadata, mode: MetadataMode) -> str:
    head = metadata_text(item, mode)
    return (
        _fill(item.template.text, {"metadata_str": head, "content": item.text}).strip() if head else item.text
    )


def _fill(template: str, values: Mapping[str, str]) -> str:
    """Replaces each {name} in one pass, so that braces in a value are only text. {{ and }} are braces."""
    parts = _split(template, *values)
    return "".join(part if isinstance(part, str) else values[part.name] for part in parts)


@lru_cache
def _split(template: str, *names: str) -> tuple[str | Field, ...]:
    return tuple(split_template(template, names.__contains__))
