"""SentenceSplitter with words as tokens: the chunks of texts with sentences, paragraphs, phrases, and several scripts."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from tests.differential.cases import Case

FIXED: list[tuple[str, int, int]] = [
    ("One two three. Four five. Six seven eight nine. Ten.", 6, 2),
    ("One two three. Four five. Six seven eight nine. Ten.", 100, 20),
    ("", 10, 0),
    ("   \n ", 10, 0),
    ("first paragraph of words\n\n\nsecond paragraph of words", 5, 0),
    ("a b c d e f g h i j k l m n o p q r s t", 6, 2),
    ("Wait... what? Yes! No, never; perhaps. Well then.", 4, 1),
    ("no end of sentence in a long run of words that goes on and on without any stop at all", 5, 0),
]
WORDS = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa"]


def cases() -> Iterator[Case]:
    for number, (text, size, overlap) in enumerate(FIXED):
        yield Case(f"fixed-{number}", {"text": text, "size": size, "overlap": overlap})
    chance = random.Random(7)
    for number in range(40):
        sentences = []
        for _ in range(chance.randint(1, 12)):
            words = [chance.choice(WORDS) for _ in range(chance.randint(1, 7))]
            sentences.append(" ".join(words).capitalize() + chance.choice([".", "!", "?"]))
        text = " ".join(sentences)
        size = chance.randint(7, 20)
        yield Case(f"sentences-{number}", {"text": text, "size": size, "overlap": chance.randint(0, size // 3)})


def theirs(given: Any) -> Any:
    from llama_index.core.node_parser import SentenceSplitter

    splitter = SentenceSplitter(chunk_size=given["size"], chunk_overlap=given["overlap"], tokenizer=str.split)
    return splitter.split_text(given["text"])


def ours(given: Any) -> Any:
    from ragcore.node_parser.sentence import SentenceSplitter

    splitter = SentenceSplitter(chunk_size=given["size"], chunk_overlap=given["overlap"], tokenizer=str.split)
    return splitter.split_text(given["text"])


def explain(given: Any, theirs: Any, ours: Any) -> str:
    """Ours must be right by itself; theirs then has chunks that are too long or are no part of the text."""
    text, size = given["text"], given["size"]
    right = not isinstance(ours, dict) and all(chunk in text and len(chunk.split()) <= size for chunk in ours)
    if not right or isinstance(theirs, dict):
        return ""
    return "D32" if any(chunk not in text or len(chunk.split()) > size for chunk in theirs) else ""
