"""SentenceSplitter with words as tokens: the chunks of texts with sentences, paragraphs, phrases, and several
scripts."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
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
SCRIPTS: list[tuple[str, int, int]] = [
    ("今日は雨です。明日は晴れます！本当ですか？はい、本当です。", 12, 0),
    ("我们去公园。公园很大，里面有湖。湖水很清。", 10, 3),
    ("🚀🚀🚀 go! 🎉 done.", 5, 0),
    ("यह पहला वाक्य है। यह दूसरा वाक्य है।", 20, 4),
    ("هل تسمعني؟ نعم، أسمعك. حسنا.", 15, 0),
    ("wait... what... no...", 6, 2),
]
PARTS = [
    "Alpha beta.",
    "gamma, delta; epsilon",
    "Wait...",
    "你好。世界很大！",
    "🚀🎉",
    "一二三四五六",
    "Dr. Who came",
    "3.14 is pi",
    "x" * 9,
    "Yes?",
]
GLUE = [" ", "\n", "\n\n", "\n\n\n", "  ", ""]
WORDS = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa"]


def cases() -> Iterator[Case]:
    for number, (text, size, overlap) in enumerate(FIXED):
        yield Case(f"fixed-{number}", {"text": text, "size": size, "overlap": overlap})
    for number, (text, size, overlap) in enumerate(SCRIPTS):
        yield Case(
            f"script-{number}", {"text": text, "size": size, "overlap": overlap, "tokens": "characters"}
        )
    chance = random.Random(32)
    for number in range(40):
        parts = [chance.choice(PARTS) + chance.choice(GLUE) for _ in range(chance.randint(1, 14))]
        tokens = chance.choice(["words", "characters"])
        size = chance.randint(3, 12) if tokens == "words" else chance.randint(6, 60)
        given = {
            "text": "".join(parts),
            "size": size,
            "overlap": chance.randint(0, size // 3),
            "tokens": tokens,
        }
        yield Case(f"mixed-{number}", given)
    for number in range(12):
        text = "".join(chance.choice(PARTS) + chance.choice(GLUE) for _ in range(6))
        yield Case(
            f"tiny-{number}", {"text": text, "size": chance.randint(1, 3), "overlap": 0, "tokens": "words"}
        )
    for path in sorted((Path(__file__).parents[4] / "shared/data/udhr/txt").glob("*.txt"))[:12]:
        text = path.read_text(encoding="utf-8")[:6000]
        yield Case(f"udhr-{path.stem}", {"text": text, "size": 60, "overlap": 10, "tokens": "words"})
    chance = random.Random(7)
    for number in range(40):
        sentences = []
        for _ in range(chance.randint(1, 12)):
            words = [chance.choice(WORDS) for _ in range(chance.randint(1, 7))]
            sentences.append(" ".join(words).capitalize() + chance.choice([".", "!", "?"]))
        text = " ".join(sentences)
        size = chance.randint(7, 20)
        yield Case(
            f"sentences-{number}", {"text": text, "size": size, "overlap": chance.randint(0, size // 3)}
        )


def theirs(given: Any) -> Any:
    from llama_index.core.node_parser import SentenceSplitter

    tokenizer = list if given.get("tokens") == "characters" else str.split
    splitter = SentenceSplitter(chunk_size=given["size"], chunk_overlap=given["overlap"], tokenizer=tokenizer)
    return splitter.split_text(given["text"])


def ours(given: Any) -> Any:
    from ragcore.node_parser.sentence import SentenceSplitter

    tokenizer = list if given.get("tokens") == "characters" else str.split
    splitter = SentenceSplitter(chunk_size=given["size"], chunk_overlap=given["overlap"], tokenizer=tokenizer)
    return splitter.split_text(given["text"])


def explain(given: Any, theirs: Any, ours: Any) -> str:
    """Ours must be right by itself. Then theirs has chunks that are too long or are no part of the text, or
    knows less of where a sentence ends: it knows the stops of Latin script alone, and of blank lines only two
    in a row."""
    if isinstance(ours, dict):
        both_refuse = isinstance(theirs, dict) and any(
            _count(given, word) > given["size"] for word in given["text"]
        )
        return "error's name" if both_refuse else ""
    shared = _shared(given, ours)
    if shared is None:
        return ""
    if isinstance(theirs, dict) or any(
        chunk not in given["text"] or _count(given, chunk) > given["size"] for chunk in theirs
    ):
        return "D32"
    if _broken(given, ours) <= _broken(given, theirs):
        return "sentences"
    # theirs drops it where the next piece is long
    return "overlap" if shared > (_shared(given, theirs) or 0) else ""


def _count(given: Any, text: str) -> int:
    return len(text) if given.get("tokens") == "characters" else len(text.split())


def _shared(given: Any, chunks: list[str]) -> int | None:
    """How many tokens stand in two chunks. None unless every chunk is a stretch of the text of the right
    size, shares no more than it should with the one before, and between them they leave out nothing but white
    space."""
    text, before, end, shared = given["text"], 0, 0, 0
    for chunk in chunks:
        # The last place where it can stand without leaving anything out.
        places = [
            place
            for place in range(before, len(text))
            if text.startswith(chunk, place) and not text[end:place].strip()
        ]
        if not places or _count(given, chunk) > given["size"]:
            return None
        before = max((place for place in places if place + len(chunk) > end), default=places[-1])
        again = _count(given, text[before:end].strip())
        if again > given["overlap"]:
            return None
        shared += again
        end = max(end, before + len(chunk))
    return None if text[end:].strip() else shared


def _broken(given: Any, chunks: list[str]) -> int:
    """How many chunks end inside a sentence."""
    text, begin, broken = given["text"], 0, 0
    for chunk in chunks:
        begin = max(text.find(chunk, begin), begin)
        end = begin + len(chunk)
        begin += 1
        after = text[end : end + 2]
        whole = chunk[-1:] in ".!?…。！？؟।" and not text[end : end + 1].strip(" \n")
        broken += not (whole or chunk[-1:] in "。！？" or after.startswith("\n") or not text[end:].strip())
    return broken
