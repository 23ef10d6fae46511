from __future__ import annotations

import numpy as np

from ragcore.text.topic_groups import group_names, topic_groups


def test_texts_about_the_same_are_in_one_group_the_largest_first() -> None:
    rng = np.random.default_rng(1)
    centres = np.eye(3, 8)
    expected = [2] * 10 + [0] * 20 + [1] * 15
    rows = np.stack([centres[of] + rng.normal(0, 0.08, 8) for of in expected]).astype(np.float32)
    assert topic_groups(rows) == [{2: 2, 0: 0, 1: 1}[of] for of in expected]


def test_fewer_texts_than_groups_are_one_group() -> None:
    assert topic_groups(np.eye(2, 4, dtype=np.float32)) == [0, 0]


def test_texts_that_do_not_differ_are_one_group() -> None:
    assert topic_groups(np.ones((5, 3), dtype=np.float32)) == [0] * 5


def test_group_name_is_what_distinguishes_its_texts() -> None:
    texts = [
        "The ferry leaves the harbour.",
        "A ferry in the harbour.",
        "The oven bakes bread.",
        "Bread from the oven.",
    ]
    sea, kitchen = group_names(texts, [0, 0, 1, 1])
    assert set(sea.split(", ")[:2]) == {"ferry", "harbour"}
    assert {word.lower() for word in kitchen.split(", ")[:2]} == {"oven", "bread"}
