"""Checks of what enters a store, the same for every kind of store."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from ragcore.errors import DimensionError
from ragcore.schema import Document, Metadata, TextNode, Vectors
from ragcore.vector_stores.base import StoredDocument

UNIT_ROUNDING = 1e-6
STORED_ROUNDING = 1e-3  # maximum difference of a stored row's length from 1; float32 stays far below it
_encoder = json.JSONEncoder(separators=(",", ":"))  # json.dumps would make one for every passage


def unit_rows(document: Document, nodes: Sequence[TextNode], dimension: int | None) -> Vectors:
    """The embeddings as unit rows, shape (len(nodes), d); a zero vector stays zero. `dimension` is None in an
    empty store.

    DimensionError for another width; ValueError for a node without an embedding, with one that has no numbers
    or holds NaN or infinity, cut from another document, or with the id of another node; and for an id with
    half a character.
    """
    seen: set[str] = set()
    _refuse_half_characters(document.id_)
    for node in nodes:
        _refuse_half_characters(node.id_)
        if node.embedding is None:
            raise ValueError(f"node {node.id_!r} has no embedding")
        if not np.size(node.embedding):
            raise ValueError(f"node {node.id_!r} has an embedding without numbers")
        if node.ref_doc_id not in (None, document.id_):
            raise ValueError(f"node {node.id_!r} was cut from {node.ref_doc_id!r}, not from {document.id_!r}")
        if node.id_ in seen:
            raise ValueError(f"two nodes have the id {node.id_!r}")
        seen.add(node.id_)
        if dimension is None:
            dimension = len(node.embedding)
        if np.shape(node.embedding) != (dimension,):  # a list is allowed, too
            raise DimensionError(np.size(node.embedding), dimension)
    if not nodes:
        return np.empty((0, dimension or 0), np.float32)
    return unit(np.stack([node.embedding for node in nodes if node.embedding is not None]))


def _refuse_half_characters(id_: str) -> None:
    try:
        id_.encode()
    except UnicodeEncodeError as error:  # no database could tell it from others
        raise ValueError(f"the id {id_!r} holds half a character, which cannot be stored") from error


def lengths(nodes: Sequence[TextNode]) -> list[float]:
    """The lengths of the embeddings; exactly 1.0 where float32 cannot distinguish the length from 1."""
    if not nodes:
        return []
    exact = np.linalg.norm(np.asarray([node.embedding for node in nodes], np.float64), axis=1)
    return [1.0 if abs(length - 1.0) < UNIT_ROUNDING else length for length in exact.tolist()]


def unit(vectors: np.ndarray[Any, np.dtype[Any]]) -> np.ndarray[Any, np.dtype[np.float32]]:
    """A vector, shape (d,), or each of several, shape (n, d), at length 1, float32; a zero vector as it is.

    ValueError for NaN or infinity.
    """
    exact = np.asarray(vectors, np.float64)
    if not np.isfinite(exact).all():
        raise ValueError("a vector holds NaN or infinity")
    lengths = np.linalg.norm(exact, axis=-1, keepdims=True)
    unit_length: np.ndarray[Any, np.dtype[Any]] = np.divide(
        exact, lengths, out=exact.copy(), where=lengths > 0
    )
    return unit_length.astype(np.float32)


def are_unit(rows: Vectors) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which rows, shape (n, d), are results of `unit`: of length 1, or zero vectors. Shape (n,).

    >>> are_unit(np.array([[0.6, 0.8], [0, 0], [np.nan, 0], [30, 40]], np.float32)).tolist()
    [True, True, False, False]
    """
    with np.errstate(over="ignore", invalid="ignore"):
        squares = np.einsum("nd,nd->n", rows, rows)  # (n,)
    sound: np.ndarray[Any, np.dtype[np.bool_]] = (np.abs(squares - 1) < 2 * STORED_ROUNDING) | (squares == 0)
    return sound  # False for NaN and infinity


def metadata_json(metadata: Metadata) -> str:
    """The stored form of metadata, with its keys in order. TypeError for a value that JSON does not know."""
    return _encoder.encode(dict(metadata))


def describe(document: Document, passages: int) -> StoredDocument:
    """A document that is added now."""
    name = display_name(document)
    return StoredDocument(document.id_, name, document.hash, passages, len(document.text), time.time())


def display_name(document: Document) -> str:
    """The name of a document in lists: its file name, else its title, else its id."""
    for key in ("file_name", "title"):
        name = document.metadata.get(key)
        if isinstance(name, str) and name:
            # Lone surrogates, as in file names of unknown encoding, cannot be stored or displayed.
            return name.encode("utf-8", "replace").decode()
    return document.id_
