"""TokenTextSplitter with words as tokens."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from tests.differential.cases import Case

FIXED: list[tuple[str, int, int]] = [
    ("foo bar", 1, 0),
    ("foo bar hello world", 2, 1),
    ("a b c d e f g h", 4, 1),
    ("one two\nthree four\nfive six", 2, 0),
    ("", 5, 0),
]
WORDS = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"]


def cases() -> Iterator[Case]:
    for number, (text, size, overlap) in enumerate(FIXED):
        yield Case(f"fixed-{number}", {"text": text, "size": size, "overlap": overlap})
    chance = random.Random(11)
    for number in range(30):
        text = " ".join(chance.choice(WORDS) for _ in range(chance.randint(1, 40)))
        size = chance.randint(2, 12)
        yield Case(f"words-{number}", {"text": text, "size": size, "overlap": chance.randint(0, size - 1)})


def theirs(given: Any) -> Any:
    from llama_index.core.node_parser import TokenTextSplitter

    splitter = TokenTextSplitter(
        chunk_size=given["size"], chunk_overlap=given["overlap"], tokenizer=str.split
    )
    return splitter.split_text(given["text"])


def ours(given: Any) -> Any:
    from ragcore.node_parser.token import TokenTextSplitter

    splitter = TokenTextSplitter(
        chunk_size=given["size"], chunk_overlap=given["overlap"], tokenizer=str.split
    )
    return splitter.split_text(given["text"])


def explain(given: Any, theirs: Any, ours: Any) -> str:
    return ""
