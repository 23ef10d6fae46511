"""Tokens are counted as the splitter counts them; a map keeps near what is near, and passages keep their
places on it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from lectern.explain import embedding_map as surveying
from lectern.explain.embedding_map import EmbeddingMap, EmbeddingMaps, compute_map, read, version_of, write
from lectern.explain.tsne import place, project
from lectern.library import Library
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.text.tokens import count_tokens
from tests.lectern.test_indexes import take_in

THEMES = {
    "boats.txt": "The boat left the harbour at dawn. The harbour master noted the boat. ",
    "bread.txt": "The baker kneads the dough. The dough rests before the baker bakes it. ",
}


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    library = Library(tmp_path, embedder=HashEmbedding())
    for name, text in THEMES.items():
        take_in(library, "\n\n".join(f"{text * 12} Note {number} of {name}." for number in range(12)), name)
    yield library
    library.close()


def look(library: Library, before: EmbeddingMap | None = None) -> EmbeddingMap:
    return compute_map(library.store, before, lambda share: None)


def groups(count: int, seed: int) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    """`count` unit vectors around each of four directions."""
    rng = np.random.default_rng(seed)
    centres = np.eye(4, 24)
    rows = (np.repeat(centres, count, 0) + rng.normal(0, 0.08, (4 * count, 24))).astype(np.float32)
    unit: np.ndarray[tuple[int, int], np.dtype[np.float32]] = rows / np.linalg.norm(
        rows, axis=1, keepdims=True
    )
    return unit


def share_near_own_group(
    points: np.ndarray[tuple[int, int], np.dtype[np.float32]],
    group: np.ndarray[tuple[int], np.dtype[np.int64]],
) -> float:
    apart = ((points[:, None] - points[None]) ** 2).sum(2)
    np.fill_diagonal(apart, np.inf)
    return float((group[apart.argmin(1)] == group).mean())


def test_neighbours_on_the_map_are_neighbours() -> None:
    points, group = project(groups(40, 0)), np.repeat(np.arange(4), 40)
    assert points.shape == (160, 2)
    assert points.dtype == np.float32
    assert np.abs(points).max() == pytest.approx(1.0, abs=1e-6)
    assert share_near_own_group(points, group) > 0.95
    assert (project(groups(40, 0)) == points).all()


def test_vectors_beyond_the_layout_are_placed_among_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lectern.explain.tsne.SAMPLE", 60)
    assert share_near_own_group(project(groups(50, 1)), np.repeat(np.arange(4), 50)) > 0.95


@pytest.mark.parametrize("count", [0, 1, 2, 9])
def test_few_vectors_have_places_too(count: int) -> None:
    points = project(groups(3, 2)[:count])
    assert points.shape == (count, 2)
    assert len(np.unique(points, axis=0)) == count


def test_a_vector_with_a_known_position_is_placed_there() -> None:
    known = np.eye(12, 24, dtype=np.float32)
    points = np.random.default_rng(0).uniform(-1, 1, (12, 2)).astype(np.float32)
    assert place(known, known, points) == pytest.approx(points, abs=1e-6)


def test_tokens_and_owners_are_those_of_the_passages(library: Library) -> None:
    created = look(library)
    counted = {
        document.id_: sum(count_tokens(node.text) for node in library.store.passages(document.id_))
        for document in library.store.documents()
    }
    assert sorted(created.tokens.values()) == sorted(counted.values())
    for id_, owner in zip(created.ids, created.document_numbers, strict=True):
        assert library.store.nodes([id_])[0].ref_doc_id == created.documents[owner][0]
    assert len(created.ids) == len(library.store) == len(created.points)


def test_a_map_is_stored_as_it_was_drawn(library: Library, tmp_path: Path) -> None:
    created = look(library)
    write(created, tmp_path / "maps" / "a.npz")
    again = read(tmp_path / "maps" / "a.npz")
    assert again is not None
    assert (again.version, again.created, again.tokens, list(again.ids), again.documents) == (
        created.version,
        created.created,
        created.tokens,
        list(created.ids),
        created.documents,
    )
    assert (again.points == created.points).all()
    assert (again.document_numbers == created.document_numbers).all()
    assert read(tmp_path / "none.npz") is None
    (tmp_path / "broken.npz").write_bytes(b"PK no")
    assert read(tmp_path / "broken.npz") is None


def test_map_keeps_places_for_few_new_passages_and_redraws_many(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = look(library)
    take_in(library, "The boat is in the harbour, says the harbour master.", "more.txt")
    monkeypatch.setattr(surveying, "project", lambda vectors: pytest.fail("all were laid out anew"))
    after = look(library, before)
    assert after.version != before.version
    for id_, point in zip(before.ids, before.points, strict=True):
        assert (after.points[after.rows[id_]] == point).all()
    (new,) = set(after.ids) - set(before.ids)
    boats = [number for number, (_, name) in enumerate(before.documents) if name == "boats.txt"]
    among = before.points[before.document_numbers == boats[0]]
    place_of_new = after.points[after.rows[new]]
    assert (place_of_new >= among.min(0) - 1e-5).all()
    assert (place_of_new <= among.max(0) + 1e-5).all()
    monkeypatch.undo()
    take_in(
        library,
        "\n\n".join(f"{'The miller grinds the corn of the field. ' * 20} {number}" for number in range(40)),
        "mill.txt",
    )
    anew = look(library, after)
    assert any(
        (anew.points[anew.rows[id_]] != point).any()
        for id_, point in zip(after.ids, after.points, strict=True)
    )


def test_survey_runs_in_its_own_process_and_expires_on_change(library: Library) -> None:
    maps = EmbeddingMaps(library, library.folder)
    about, exact = maps.tokens()
    assert not exact
    assert maps.latest() is None
    maps.start()
    maps.start()
    deadline = time.monotonic() + 120
    while maps.share is not None:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert maps.problem is None
    created = maps.latest()
    assert created is not None
    assert maps.latest() is created
    assert maps.is_current(created)
    counted, exact = maps.tokens()
    assert exact
    assert counted == sum(count_tokens(node.text) for node in library.store.passages())
    assert about == pytest.approx(counted, rel=0.5)
    take_in(library, "Another one.", "more.txt")
    assert not maps.is_current(created)
    assert maps.tokens()[1] is False
    library.delete_file(library.files.all()[0].id)
    assert maps.is_current(created)
    assert version_of(library.store.documents()) == created.version
