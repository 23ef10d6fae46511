import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import pytest

from ragcore.embeddings.hashing import HashEmbedding
from ragcore.extractors import KeywordExtractor, SummaryExtractor, TitleExtractor
from ragcore.ingestion.fingerprint import fingerprint
from ragcore.ingestion.transformations import EmbeddingStep
from ragcore.llms.scripted import ScriptedLLM
from ragcore.node_parser.hierarchical import HierarchicalNodeParser
from ragcore.node_parser.sentence import SentenceSplitter
from ragcore.node_parser.token import TokenTextSplitter
from ragcore.schema import Document, TextNode
from tests.word_tokenizer import WordTokenizer

Items = Sequence[Document | TextNode]
SEPARATOR = "|"


@dataclass
class Marking:
    """A step of somebody's own."""

    mark: str = "x"
    pattern: re.Pattern[str] = re.compile("a")
    more: Any = None
    names: frozenset[str] = field(default_factory=lambda: frozenset("abc"))

    def __call__(self, nodes: Items) -> Items:
        return nodes


class Upper:
    """A step that works something out when it is first asked."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self.sizes = sizes

    @cached_property
    def total(self) -> int:
        return sum(self.sizes)

    def __call__(self, nodes: Items) -> Items:
        return nodes


def words(text: str) -> list[str]:
    return text.split()


def at(separator: str) -> Callable[[str], list[str]]:
    return lambda text: text.split(separator)


DIFFERENT: list[Callable[[], object]] = [
    lambda: SentenceSplitter(100, 10),
    lambda: SentenceSplitter(100, 11),
    lambda: SentenceSplitter(100, 10, separator="_"),
    lambda: SentenceSplitter(100, 10, paragraph_separator="\n"),
    lambda: SentenceSplitter(100, 10, secondary_chunking_regex="x"),
    lambda: SentenceSplitter(100, 10, tokenizer=WordTokenizer()),
    lambda: SentenceSplitter(100, 10, tokenizer=str.split),
    lambda: SentenceSplitter(100, 10, tokenizer=words),
    lambda: SentenceSplitter(100, 10, tokenizer=lambda text: text.split()),
    lambda: SentenceSplitter(100, 10, tokenizer=lambda text: text.split("x")),
    lambda: SentenceSplitter(100, 10, tokenizer=at("y")),
    lambda: SentenceSplitter(100, 10, tokenizer=at("z")),
    lambda: SentenceSplitter(100, 10, include_metadata=False),
    lambda: TokenTextSplitter(100, 10),
    lambda: HierarchicalNodeParser([64, 32]),
    lambda: HierarchicalNodeParser([64, 48]),
    lambda: EmbeddingStep(HashEmbedding(8)),
    lambda: EmbeddingStep(HashEmbedding(16)),
    lambda: KeywordExtractor(ScriptedLLM(), keywords=5),
    lambda: KeywordExtractor(ScriptedLLM(), keywords=6),
    lambda: KeywordExtractor(ScriptedLLM(model_name="another"), keywords=5),
    lambda: TitleExtractor(ScriptedLLM(), nodes=5),
    lambda: SummaryExtractor(ScriptedLLM(), ["self"]),
    lambda: SummaryExtractor(ScriptedLLM(), ["self", "next"]),
    lambda: Marking(),
    lambda: Marking("y"),
    lambda: Marking(pattern=re.compile("a", re.IGNORECASE)),
    lambda: Marking(names=frozenset("abd")),
    lambda: Marking(more={"1": 1}),
    lambda: Marking(more={1: 1}),
    lambda: Marking(more=[1, True]),
    lambda: Marking(more=[1, 1]),
    lambda: Marking(more=Marking),
    lambda: Marking(more=Marking()),
    lambda: Upper([1, 2]),
]


def test_fingerprints_differ_by_behaviour_and_are_repeatable() -> None:
    told = [fingerprint(make()) for make in DIFFERENT]
    assert None not in told
    assert len(set(told)) == len(DIFFERENT)
    assert told == [fingerprint(make()) for make in DIFFERENT]


def test_a_newer_version_of_a_step_is_another_step() -> None:
    newer = Upper([1])
    older = fingerprint(newer)
    newer.version = 2  # type: ignore[attr-defined]
    assert fingerprint(newer) != older


def test_fingerprint_ignores_cached_values_and_workers() -> None:
    step = Upper([1, 2])
    before = fingerprint(step)
    assert step.total == 3
    assert fingerprint(step) == before
    assert fingerprint(KeywordExtractor(ScriptedLLM(), num_workers=1)) == fingerprint(
        KeywordExtractor(ScriptedLLM())
    )


def test_what_a_step_used_does_not_count_where_it_is_named() -> None:
    step = SentenceSplitter(100, 10)
    before = fingerprint(step)
    step.split_text("Some words. And some more.")
    assert fingerprint(step) == before


@pytest.mark.parametrize(
    "step",
    [
        lambda nodes: nodes,
        words,
        partial(words),
        Marking(more=threading.Lock()),
        Marking(more=lambda: SEPARATOR),
        Marking(more=object()),
    ],
)
def test_a_step_with_hidden_state_has_no_fingerprint(step: object) -> None:
    assert fingerprint(step) is None


def test_going_in_circles_ends() -> None:
    step = Marking()
    step.more = step
    assert fingerprint(step) is None
