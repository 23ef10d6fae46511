"""Postprocessors that put passages in another order: by place, by age, by use."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ragcore.embeddings.hashing import HashEmbedding
from ragcore.llamaindex.postprocessor import (
    EmbeddingRecencyPostprocessor,
    FixedRecencyPostprocessor,
    TimeWeightedPostprocessor,
)
from ragcore.llamaindex.postprocessor.node_recency import written_at
from ragcore.postprocessor import LongContextReorder
from ragcore.schema import NodeWithScore, TextNode

if TYPE_CHECKING:
    from ragcore.schema import Vectors


def names(found: Sequence[NodeWithScore]) -> list[str]:
    return [hit.node.id_ for hit in found]


def test_the_best_passages_stand_at_both_ends() -> None:
    found = [NodeWithScore(TextNode("x", str(score)), float(score)) for score in range(1, 8)]
    for order in (found, found[::-1], [*found[3:], *found[:3]]):
        assert names(LongContextReorder().postprocess_nodes(order)) == ["7", "5", "3", "1", "2", "4", "6"]
    assert LongContextReorder().postprocess_nodes([]) == []
    unscored = [NodeWithScore(TextNode("x", name)) for name in "abcd"]  # best first, as retrievers give them
    assert names(LongContextReorder().postprocess_nodes(unscored)) == ["b", "d", "c", "a"]


def dated(*dates: object) -> list[NodeWithScore]:
    return [
        NodeWithScore(TextNode("x", str(i), {} if date is None else {"date": date}), 0.5)
        for i, date in enumerate(dates)
    ]  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2024-05-01", datetime(2024, 5, 1, tzinfo=UTC)),
        ("2024-05-01T10:00:00", datetime(2024, 5, 1, 10, tzinfo=UTC)),
        ("2024-05-01T10:00:00+02:00", datetime(2024, 5, 1, 8, tzinfo=UTC)),
        ("2024-05-01T10:00:00Z", datetime(2024, 5, 1, 10, tzinfo=UTC)),
        ("2024", datetime(2024, 1, 1, tzinfo=UTC)),
        ("2024-05", datetime(2024, 5, 1, tzinfo=UTC)),
        ("2024/05/17", datetime(2024, 5, 17, tzinfo=UTC)),
        ("17.05.2024", datetime(2024, 5, 17, tzinfo=UTC)),
        ("17 June 2024", datetime(2024, 6, 17, tzinfo=UTC)),
        ("17 Jun 2024", datetime(2024, 6, 17, tzinfo=UTC)),
        ("June 17, 2024", datetime(2024, 6, 17, tzinfo=UTC)),
        ("Jun 17, 2024", datetime(2024, 6, 17, tzinfo=UTC)),
        ("Wed, 01 May 2024 10:00:00 +0200", datetime(2024, 5, 1, 8, tzinfo=UTC)),
        (86400, datetime(1970, 1, 2, tzinfo=UTC)),
    ],
)
def test_dates_are_read_in_the_forms_that_files_and_mails_have(value: str | int, expected: datetime) -> None:
    assert written_at({"date": value}, "date") == expected.timestamp()


@pytest.mark.parametrize(
    "value",
    [
        "",
        "soon",
        None,
        True,
        "2024-13-01",
        "Mon, 01 Jan 2024 00:00:00 +9999999999999999999",
        10**400,
        float("nan"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_what_is_no_date_is_older_than_everything(value: str | float | None) -> None:
    assert written_at({"date": value}, "date") == float("-inf")
    assert written_at({}, "date") == float("-inf")


def test_the_newest_stay() -> None:
    found = dated("2020-01-01", "2024-05-01", None, "2022-01-01", "2024-05-01")
    assert names(FixedRecencyPostprocessor().postprocess_nodes(found)) == ["1"]
    assert names(FixedRecencyPostprocessor(top_k=9).postprocess_nodes(found)) == ["1", "4", "3", "0", "2"]
    assert FixedRecencyPostprocessor(top_k=0).postprocess_nodes(found) == []
    written_later = [
        NodeWithScore(TextNode("x", "a", {"at": 5})),
        NodeWithScore(TextNode("x", "b", {"at": 6})),
    ]
    assert names(FixedRecencyPostprocessor(1, date_key="at").postprocess_nodes(written_later)) == ["b"]


def test_older_passage_goes_if_a_newer_says_nearly_the_same() -> None:
    texts = {
        "2020-01-01": "the price is two coins",
        "2021-01-01": "boats sail on the lake",
        "2022-01-01": "the price is two coins now",
        "2019-01-01": "boats sail on a lake",
    }
    found = [NodeWithScore(TextNode(text, date, {"date": date}), 0.5) for date, text in texts.items()]
    # The embedder hears the text with its metadata, where the dates are; here they would only be noise.
    hidden = [
        NodeWithScore(
            TextNode(hit.text, hit.node_id, hit.metadata, excluded_embed_metadata_keys=("date",)), 0.5
        )
        for hit in found
    ]
    processor = EmbeddingRecencyPostprocessor(HashEmbedding(1024), similarity_cutoff=0.7)
    assert names(processor.postprocess_nodes(hidden)) == ["2022-01-01", "2021-01-01"]
    everything = EmbeddingRecencyPostprocessor(HashEmbedding(1024), similarity_cutoff=1.0)
    assert names(everything.postprocess_nodes(hidden)) == sorted(texts, reverse=True)
    at = [NodeWithScore(TextNode(text, text, {"at": at})) for at, text in enumerate("abc")]
    later_first = EmbeddingRecencyPostprocessor(HashEmbedding(1024), date_key="at", similarity_cutoff=1.0)
    assert names(later_first.postprocess_nodes(at)) == ["c", "b", "a"]
    assert processor.postprocess_nodes([]) == []


def test_a_passage_that_went_takes_no_other_with_it() -> None:
    class Compass(HashEmbedding):
        """Texts are angles."""

        def embed_passages(self, texts: Sequence[str]) -> Vectors:
            angles = np.deg2rad([float(text) for text in texts])
            return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)

    ages = {"0": 2022, "40": 2021, "80": 2020}  # neighbours are alike, the first and the last are not
    hidden = {"excluded_embed_metadata_keys": ("date",)}
    found = [
        NodeWithScore(TextNode(angle, angle, {"date": f"{year}-01-01"}, **hidden))
        for angle, year in ages.items()
    ]  # type: ignore[arg-type]
    assert names(
        EmbeddingRecencyPostprocessor(Compass(), similarity_cutoff=0.7).postprocess_nodes(found)
    ) == ["0", "80"]


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def test_what_was_used_lately_comes_first() -> None:
    clock = Clock()
    ago = {"a": 3600.0, "b": 0.5 * 3600, "c": 3 * 3600}
    found = [
        NodeWithScore(TextNode("x", name, {"__last_accessed__": clock.now - seconds}), 0.5)
        for name, seconds in ago.items()
    ]
    processor = TimeWeightedPostprocessor(time_decay=0.5, top_k=3, clock=clock)
    ranked = processor.postprocess_nodes(found)
    assert names(ranked) == ["b", "a", "c"]
    assert [hit.score for hit in ranked] == pytest.approx([0.5 + 0.5**0.5, 0.5 + 0.5, 0.5 + 0.5**3])
    assert TimeWeightedPostprocessor(clock=clock).postprocess_nodes(found)[0].score == pytest.approx(
        0.5 + 0.01**0.5
    )
    for share in (-0.1, 1.1):
        with pytest.raises(ValueError, match=f"from 0 to 1, not {share}"):
            TimeWeightedPostprocessor(time_decay=share)


def test_what_is_used_now_is_remembered_and_no_passage_is_edited() -> None:
    clock = Clock()
    old = clock.now - 10 * 3600
    found = [
        NodeWithScore(TextNode("x", "a", {"__last_accessed__": old}), 0.9),
        NodeWithScore(TextNode("x", "b", {"__last_accessed__": old}), 0.8),
    ]
    processor = TimeWeightedPostprocessor(time_decay=0.5, clock=clock)
    assert names(processor.postprocess_nodes(found)) == ["a"]
    assert processor.last_accessed == {"a": clock.now}
    assert found[0].metadata == {"__last_accessed__": old}
    clock.now += 3600
    assert processor.postprocess_nodes(found)[0].score == pytest.approx(0.9 + 0.5)
    still = TimeWeightedPostprocessor(time_decay=0.5, time_access_refresh=False, clock=clock)
    still.postprocess_nodes(found)
    assert still.last_accessed == {}
    new = [NodeWithScore(TextNode("x", "new"), 0.1)]
    assert still.postprocess_nodes(new)[0].score == pytest.approx(1.1)


def test_passages_can_be_sorted_from_an_event_loop() -> None:
    hits = [NodeWithScore(TextNode(id_, id_), score) for id_, score in (("a", 0.3), ("b", 0.2), ("c", 0.1))]
    found = asyncio.run(LongContextReorder().apostprocess_nodes(hits))
    assert names(found) == names(LongContextReorder().postprocess_nodes(hits)) != names(hits)
