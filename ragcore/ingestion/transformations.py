"""Running transformations one after another, with a cache of their results.

A step's `works_on` declares what its result for a passage depends on. "node": only the passage, with one
result for each. "document": all passages of the document. "batch": everything passed in one call. Splitters
work on documents; a step without a declaration works on the batch, and is cached only for exactly this batch.

The cache has a result under the fingerprint of the step and its view of the passages: `sees(node)` if the
step has it, or everything but the ids. If passages keep their ids, these are no part of the key: the same
text in another document uses the same result, with its own ids.
"""

from __future__ import annotations

import base64
import hashlib
import json
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, Literal, TypeAlias, cast

from ragcore.concurrency import in_order
from ragcore.embeddings.base import Embedder
from ragcore.ingestion.cache import IngestionCache
from ragcore.ingestion.fingerprint import fingerprint
from ragcore.observe import span
from ragcore.schema import Document, IndexNode, MetadataMode, TextNode, Vector
from ragcore.settings import Transformation
from ragcore.vector_stores.node_json import decode_item, encode_item

logger = logging.getLogger(__name__)

Item: TypeAlias = Document | TextNode
Scope: TypeAlias = Literal["node", "document", "batch"]


class EmbeddingStep:
    """A transformation that adds the vector of each passage's text, with the metadata for embedders.

    >>> from ragcore.embeddings import MockEmbedding
    >>> EmbeddingStep(MockEmbedding(embed_dim=2))([TextNode("A boat.")])[0].embedding.tolist()
    [0.5, 0.5]

    Existing vectors stay. In a hierarchy only the leaves are embedded, so that no text is embedded twice.
    """

    works_on: Scope = "node"

    def __init__(self, embed_model: Embedder) -> None:
        self.embed_model = embed_model

    def sees(self, node: Item) -> str | None:
        """The text to embed, or None."""
        if isinstance(node, Document) or node.embedding is not None or node.child_ids:
            return None
        return node.get_content(MetadataMode.EMBED)

    def __call__(self, nodes: Sequence[Item]) -> list[Item]:
        texts = [self.sees(node) for node in nodes]
        bare = [text for text in texts if text is not None]
        vectors = iter(self.embed_model.embed_passages(bare) if bare else ())
        return [
            node if text is None or isinstance(node, Document) else node.with_embedding(next(vectors))
            for node, text in zip(nodes, texts, strict=True)
        ]


def as_step(transformation: Transformation | Embedder) -> Transformation:
    """The transformation itself, or an EmbeddingStep for an embedder."""
    return (
        EmbeddingStep(cast(Embedder, transformation))
        if hasattr(transformation, "embed_passages")
        else transformation
    )


def run_transformations(
    nodes: Sequence[Item],
    transformations: Sequence[Transformation | Embedder],
    cache: IngestionCache | None = None,
    num_workers: int = 1,
    show_progress: bool = False,
) -> list[Item]:
    """The result of the last step, with the passages of a document together, documents in the order of their
    first passage.

    `nodes` do not change. `num_workers` is the number of documents, or shares of the passages, that a step
    may process at once. `show_progress` logs each step.

    >>> from ragcore.node_parser import SentenceSplitter
    >>> [node.text for node in run_transformations([Document("Ada wrote notes.")], [SentenceSplitter()])]
    ['Ada wrote notes.']
    """
    if num_workers < 1:
        raise ValueError(f"num_workers is {num_workers}; it must be at least 1.")
    items = _by_document(nodes)
    for step in map(as_step, transformations):
        with span("transform", step=_title(step), given=len(items)) as trace:
            items = _run(step, items, cache, num_workers)
            trace.note(made=len(items))
        if show_progress:
            logger.info("%s: %d passages", _title(step), len(items))
    return items


def _run(step: Transformation, items: list[Item], cache: IngestionCache | None, workers: int) -> list[Item]:
    scope = works_on(step)
    key = None if cache is None else fingerprint(step)
    known = _Known(step, key, cache) if cache is not None and key is not None else None
    groups = list(_groups(items, scope))
    results: dict[int, list[Item]] = {}

    def missing_places() -> list[int]:
        return [place for place in range(len(groups)) if place not in results]

    def compute(places: Sequence[int]) -> None:
        share = [groups[place] for place in places]
        computed = _call(step, share, scope)
        if known:
            known.add(share, computed)
        results.update(zip(places, computed, strict=True))

    def compute_all(places: Sequence[int]) -> None:
        shares = _shares(places, workers) if scope == "node" else [[place] for place in places]
        if workers > 1:
            in_order(compute, shares, workers=workers)
        else:
            for share in shares:
                compute(share)

    if known:
        results.update(known.results(missing_places(), groups))
        compute_all(known.distinct(missing_places(), groups))  # equal groups are computed once,
        results.update(known.results(missing_places(), groups))  # and then looked up
    compute_all(missing_places())
    return [item for place in range(len(groups)) for item in results[place]]


def works_on(step: Transformation) -> Scope:
    default: Scope = "document" if hasattr(step, "get_nodes_from_documents") else "batch"
    return cast(Scope, getattr(step, "works_on", default))


def _call(step: Transformation, groups: Sequence[list[Item]], scope: Scope) -> list[list[Item]]:
    """The results of a step for each group. It gets copies, which it may edit."""
    if scope != "node":
        return [list(step([item.copy() for item in group])) for group in groups]
    results = list(step([item.copy() for group in groups for item in group]))
    if len(results) != len(groups):
        raise ValueError(
            f"{_title(step)} works on each passage alone, but made {len(results)} passages of {len(groups)}"
        )
    return [[item] for item in results]


def _groups(items: Sequence[Item], scope: Scope) -> Iterator[list[Item]]:
    if scope == "node":
        return ([item] for item in items)
    if scope == "batch":
        return iter([list(items)] if items else [])
    return (list(group) for _, group in groupby(items, key=document_id))


def _by_document(items: Sequence[Item]) -> list[Item]:
    place: dict[str | None, int] = {}
    for item in items:
        place.setdefault(document_id(item), len(place))
    return sorted(items, key=lambda item: place[document_id(item)])  # stable


def document_id(item: Item) -> str | None:
    """The id of the document itself or of a passage's document. All passages with None count as one
    document."""
    return item.id_ if isinstance(item, Document) else item.ref_doc_id


def _shares(places: Sequence[int], count: int) -> list[Sequence[int]]:
    """At most `count` shares of about the same length, in order."""
    size = -(-len(places) // count)
    return [places[first : first + size] for first in range(0, len(places), size)] if places else []


def _title(step: Transformation) -> str:
    named = step.embed_model if isinstance(step, EmbeddingStep) else step
    return str(getattr(named, "__name__", type(named).__name__))


class _Known:
    """The cached results of one step. The key contains the ids only if the result does."""

    def __init__(self, step: Transformation, fingerprint: str, cache: IngestionCache) -> None:
        self._fingerprint = fingerprint
        self._cache = cache
        self._sees: Callable[[Item], object] = getattr(step, "sees", _all_but_ids)

    def results(self, places: Sequence[int], groups: Sequence[list[Item]]) -> dict[int, list[Item]]:
        keys = [(self._key(groups[place]), self._key(groups[place], with_ids=True)) for place in places]
        cached = self._cache.get([key for pair in keys for key in pair])
        results: dict[int, list[Item]] = {}
        for place, (edits, whole) in zip(places, keys, strict=True):
            if edits in cached:
                pairs = zip(groups[place], json.loads(cached[edits]), strict=True)
                results[place] = [_apply(item, edit) for item, edit in pairs]
            elif whole in cached:
                results[place] = [_read(text) for text in json.loads(cached[whole])]
        return results

    def distinct(self, places: Sequence[int], groups: Sequence[list[Item]]) -> list[int]:
        """The first place of each group among those that are equal without ids."""
        first = {self._key(groups[place]): place for place in reversed(places)}
        return sorted(first.values())

    def add(self, groups: Sequence[list[Item]], results: Sequence[list[Item]]) -> None:
        entries: dict[str, str] = {}
        for group, result in zip(groups, results, strict=True):
            edits = _edits(group, result)
            if edits is not None:
                entries[self._key(group)] = json.dumps(edits)
            elif not any(isinstance(item, IndexNode) for item in result):  # its object has no JSON form
                entries[self._key(group, with_ids=True)] = json.dumps([_to_json(item) for item in result])
        self._cache.put(entries)

    def _key(self, group: Sequence[Item], *, with_ids: bool = False) -> str:
        seen = [[self._sees(item), _ids(item)] if with_ids else self._sees(item) for item in group]
        text = json.dumps([self._fingerprint, with_ids, seen], ensure_ascii=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()


_ID_FIELDS = ("id_", "ref_doc_id", "prev_id", "next_id", "parent_id", "child_ids")
_EDITABLE = ("text", "excluded_embed_metadata_keys", "excluded_llm_metadata_keys")
_PLACES = ("start_char_idx", "end_char_idx")


def _all_but_ids(item: Item) -> list[object]:
    vector = item.embedding if isinstance(item, TextNode) else None
    state: list[object] = [
        type(item).__name__,
        *(getattr(item, name) for name in _EDITABLE),
        list(item.metadata.items()),
    ]
    state += [item.template.text, item.template.entry, item.template.separator]
    if isinstance(item, Document):
        return [*state, item.page_word, [[page.label, page.start, page.end] for page in item.pages]]
    return [*state, *(getattr(item, name) for name in _PLACES), _pack_vector(vector)]


def _ids(item: Item) -> list[object]:
    return [getattr(item, name, None) for name in _ID_FIELDS]


def _edits(before: Sequence[Item], after: Sequence[Item]) -> list[dict[str, Any]] | None:
    """The changes of each passage; None if passages were added or removed, or contain ids."""
    if len(before) != len(after):
        return None
    edits: list[dict[str, Any]] = []
    for old, new in zip(before, after, strict=True):
        fixed = ("template", "related", *_PLACES)
        if type(old) is not type(new) or isinstance(new, IndexNode) or _ids(old) != _ids(new):
            return None
        if any(getattr(old, name, None) != getattr(new, name, None) for name in fixed):
            return None
        edit = {name: getattr(new, name) for name in _EDITABLE if getattr(new, name) != getattr(old, name)}
        if new.metadata != old.metadata:
            added = {
                key: value
                for key, value in new.metadata.items()
                if key not in old.metadata or old.metadata[key] != value
            }
            if any(value in (old.id_, document_id(old)) for value in added.values() if value is not None):
                return None
            edit |= {"metadata": added, "without": [key for key in old.metadata if key not in new.metadata]}
            if [*_metadata(old, edit)] != [*new.metadata]:  # the order of keys is part of the text
                return None
        if isinstance(new, TextNode) and isinstance(old, TextNode):
            vector = _pack_vector(new.embedding)
            if vector != _pack_vector(old.embedding):
                edit["embedding"] = vector
        edits.append(edit)
    return edits


def _apply(item: Item, edit: dict[str, Any]) -> Item:
    changed: dict[str, Any] = {name: edit[name] for name in _EDITABLE if name in edit}
    if "metadata" in edit:
        changed["metadata"] = _metadata(item, edit)
    if "embedding" in edit:
        changed["embedding"] = _unpack_vector(edit["embedding"])
    return replace(item, **changed) if changed else item


def _metadata(item: Item, edit: dict[str, Any]) -> dict[str, Any]:
    return {
        **{key: value for key, value in item.metadata.items() if key not in edit["without"]},
        **edit["metadata"],
    }


def _to_json(item: Item) -> list[str | None]:
    return [encode_item(item), _pack_vector(item.embedding if isinstance(item, TextNode) else None)]


def _read(written: list[str]) -> Item:
    item = decode_item(written[0])
    return item if isinstance(item, Document) else replace(item, embedding=_unpack_vector(written[1]))


def _pack_vector(vector: Vector | None) -> str | None:
    import numpy as np

    return None if vector is None else base64.b64encode(np.asarray(vector, "<f4").tobytes()).decode("ascii")


def _unpack_vector(text: str | None) -> Vector | None:
    import numpy as np

    return None if text is None else np.frombuffer(base64.b64decode(text), "<f4").astype(np.float32)
