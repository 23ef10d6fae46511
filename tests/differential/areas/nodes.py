"""What a document or passage shows in each metadata mode, and when its hash changes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from tests.differential.cases import Case

MODES = ["all", "embed", "llm", "none"]
TEMPLATES = [
    ["{metadata_str}\n\n{content}", "{key}: {value}", "\n"],
    ["Metadata: {metadata_str}\n-----\nContent: {content}", "{key}=>{value}", "; "],
]


def cases() -> Iterator[Case]:
    chance = random.Random(2)
    for number in range(24):
        keys = chance.sample(["title", "page", "author", "year"], chance.randint(0, 4))
        yield Case(
            f"content-{number}",
            {
                "text": chance.choice(["plain text", "  spaces around  ", "two\n\nparagraphs"]),
                "metadata": {key: chance.choice(["x", "two words", 7, 1.5]) for key in keys},
                "embed": chance.sample(keys, len(keys) // 2),
                "llm": chance.sample(keys, len(keys) // 3),
                "template": chance.choice(TEMPLATES),
                "mode": MODES[number % 4],
            },
        )


def theirs(given: Any) -> Any:
    from llama_index.core.schema import MetadataMode, TextNode

    text, entry, separator = given["template"]
    node = TextNode(
        text=given["text"],
        metadata=given["metadata"],
        excluded_embed_metadata_keys=given["embed"],
        excluded_llm_metadata_keys=given["llm"],
        text_template=text,
        metadata_template=entry,
        metadata_separator=separator,
    )
    changed = node.model_copy(update={"metadata": {**given["metadata"], "new": 1}})
    return [
        node.get_content(MetadataMode(given["mode"])),
        node.hash == node.model_copy().hash,
        node.hash == changed.hash,
    ]


def ours(given: Any) -> Any:
    from dataclasses import replace

    from ragcore.schema import MetadataMode, Template, TextNode

    node = TextNode(
        given["text"],
        metadata=given["metadata"],
        excluded_embed_metadata_keys=tuple(given["embed"]),
        excluded_llm_metadata_keys=tuple(given["llm"]),
        template=Template(*given["template"]),
    )
    changed = replace(node, metadata={**given["metadata"], "new": 1})
    return [
        node.get_content(MetadataMode(given["mode"])),
        node.hash == replace(node).hash,
        node.hash == changed.hash,
    ]


def explain(given: Any, theirs: Any, ours: Any) -> str:
    return ""
