"""Passages that are embedded some at a time."""

from __future__ import annotations

import pytest

from lectern.jobs.embed_passages import PassageEmbedder, Step
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.schema import TextNode


def test_remaining_time_follows_the_pace_for_any_passage_length() -> None:
    """A short one takes longer for each of its characters: here, as much as a long one."""
    nodes = [
        TextNode(f"{number} {'lamp ' * 200}"[: 30 + number * 37 % 970], str(number)) for number in range(970)
    ]
    steps: list[Step] = []
    PassageEmbedder(HashEmbedding(8)).embed(nodes, {}, lambda work: work(), steps.append)
    characters = sum(len(node.text) for node in nodes)
    told = [
        (step.done, sum(each.characters for each in steps[: place + 1])) for place, step in enumerate(steps)
    ]
    after_a_tenth = [(done, of) for done, of in told if characters / 10 <= of]
    assert len(after_a_tenth) > 40
    for done, of in after_a_tenth:
        assert characters * done / of == pytest.approx(len(nodes), rel=0.25)
    assert told[-1] == (970, characters)


def test_passages_that_are_all_known_are_embedded_by_nobody() -> None:
    nodes, steps = [TextNode(text, text) for text in ("lamp", "harbour")], list[Step]()
    embedder = PassageEmbedder(HashEmbedding(8))
    known = dict(
        zip(embedder.contents(nodes), HashEmbedding(8).embed_passages(["lamp", "harbour"]), strict=True)
    )
    for given in (nodes, []):
        assert len(embedder.embed(given, known, lambda work: pytest.fail("embedded"), steps.append)) == len(
            given
        )
    assert [(step.done, step.characters_left) for step in steps] == [(2, 0), (0, 0)]
