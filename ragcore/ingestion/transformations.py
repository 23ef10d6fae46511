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
from dataclasses import dataclass, replace
from itertools import chain, groupby
from typing import Any, Literal, TypeAlias, cast

from ragcore.concurrency import in_order
from ragcore.embeddings.base import Embedder
from ragcore.ingestion.cache import IngestionCache
from ragcore.ingestion.fingerprint import fingerprint
from ragcore.observe import span
from ragcore.schema import Document, IndexNode, Metadata, MetadataMode, TextNode, Value, Vector
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


@dataclass(slots=True)
class _Group:
    """Passages that a step receives together, and its result for them once it is known."""

    items: list[Item]
    result: list[Item] | None = None


def _run(step: Transformation, items: list[Item], cache: IngestionCache | None, workers: int) -> list[Item]:
    scope = works_on(step)
    groups = [_Group(members) for members in _groups(items, scope)]
    key = None if cache is None else fingerprint(step)
    if cache is None or key is None:
        _compute(step, groups, scope, workers)
    else:
        results = _CachedResults(step, key, cache)
        results.look_up(groups)
        # Equal groups are computed once. The others then find the result in the cache, except a result that
        # contains ids, which is computed for each.
        _compute(step, results.distinct(_missing(groups)), scope, workers, results)
        results.look_up(_missing(groups))
        _compute(step, _missing(groups), scope, workers, results)
    made: list[Item] = []
    for group in groups:
        made += group.result or []
    return made


def _missing(groups: Sequence[_Group]) -> list[_Group]:
    return [group for group in groups if group.result is None]


def _compute(
    step: Transformation,
    groups: Sequence[_Group],
    scope: Scope,
    workers: int,
    cached_results: _CachedResults | None = None,
) -> None:
    """Sets the result of each group, and adds it to the cached ones."""

    def compute_share(share: Sequence[_Group]) -> None:
        results = _call(step, [group.items for group in share], scope)
        if cached_results is not None:
            cached_results.add(share, results)
        for group, result in zip(share, results, strict=True):
            group.result = result

    shares = _shares(groups, scope, workers)
    if workers > 1:
        in_order(compute_share, shares, workers=workers)
    else:
        for share in shares:
            compute_share(share)


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
    by_document: dict[str | None, list[Item]] = {}
    for item in items:
        by_document.setdefault(document_id(item), []).append(item)
    return list(chain.from_iterable(by_document.values()))


def document_id(item: Item) -> str | None:
    """The id of the document itself or of a passage's document. All passages with None count as one
    document."""
    return item.id_ if isinstance(item, Document) else item.ref_doc_id


def _shares(groups: Sequence[_Group], scope: Scope, count: int) -> list[Sequence[_Group]]:
    """The groups of each call of a step: one, or for single passages at most `count` shares of about the same
    length."""
    size = 1
    if scope == "node" and groups:
        size = -(-len(groups) // count)  # rounded up
    return [groups[first : first + size] for first in range(0, len(groups), size)]


def _title(step: Transformation) -> str:
    named = step.embed_model if isinstance(step, EmbeddingStep) else step
    return str(getattr(named, "__name__", type(named).__name__))


class _CachedResults:
    """The cached results of one step. The key contains the ids only if the result does."""

    def __init__(self, step: Transformation, fingerprint: str, cache: IngestionCache) -> None:
        self._fingerprint = fingerprint
        self._cache = cache
        self._sees: Callable[[Item], object] = getattr(step, "sees", _all_but_ids)

    def look_up(self, groups: Sequence[_Group]) -> None:
        """Sets the result of each group that has a cached one."""
        keys = []
        for group in groups:
            keys += [self._key(group.items), self._key(group.items, with_ids=True)]
        cached = self._cache.get(keys)
        for group, edits_key, whole_key in zip(groups, keys[::2], keys[1::2], strict=True):
            if edits_key in cached:
                edits = json.loads(cached[edits_key])
                group.result = [_apply(item, edit) for item, edit in zip(group.items, edits, strict=True)]
            elif whole_key in cached:
                group.result = [_read(text) for text in json.loads(cached[whole_key])]

    def distinct(self, groups: Sequence[_Group]) -> list[_Group]:
        """The first of each set of groups that are equal without ids."""
        first: dict[str, _Group] = {}
        for group in groups:
            first.setdefault(self._key(group.items), group)
        return list(first.values())

    def add(self, groups: Sequence[_Group], results: Sequence[list[Item]]) -> None:
        entries: dict[str, str] = {}
        for group, result in zip(groups, results, strict=True):
            edits = _edits(group.items, result)
            if edits is not None:
                entries[self._key(group.items)] = json.dumps(edits)
            elif not any(isinstance(item, IndexNode) for item in result):  # its object has no JSON form
                entries[self._key(group.items, with_ids=True)] = json.dumps(
                    [_to_json(item) for item in result]
                )
        self._cache.put(entries)

    def _key(self, items: Sequence[Item], *, with_ids: bool = False) -> str:
        seen: list[object] = []
        for item in items:
            seen.append([self._sees(item), _ids(item)] if with_ids else self._sees(item))
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


def _edits(items: Sequence[Item], results: Sequence[Item]) -> list[dict[str, Any]] | None:
    """The changes of each passage; None if passages were added or removed, or contain ids."""
    if len(items) != len(results):
        return None
    edits = []
    for item, result in zip(items, results, strict=True):
        edit = _edit(item, result)
        if edit is None:
            return None
        edits.append(edit)
    return edits


def _edit(item: Item, result: Item) -> dict[str, Any] | None:
    if type(item) is not type(result) or isinstance(result, IndexNode) or _ids(item) != _ids(result):
        return None
    for name in ("template", "related", *_PLACES):
        if getattr(item, name, None) != getattr(result, name, None):
            return None
    edit: dict[str, Any] = {}
    for name in _EDITABLE:
        if getattr(result, name) != getattr(item, name):
            edit[name] = getattr(result, name)
    if result.metadata != item.metadata:
        added = _added(item.metadata, result.metadata)
        if item.id_ in added.values() or (document_id(item) or item.id_) in added.values():
            return None
        edit["metadata"] = added
        edit["without"] = [key for key in item.metadata if key not in result.metadata]
        if list(_metadata(item, edit)) != list(result.metadata):  # the order of keys is part of the text
            return None
    if isinstance(item, TextNode) and isinstance(result, TextNode):
        vector = _pack_vector(result.embedding)
        if vector != _pack_vector(item.embedding):
            edit["embedding"] = vector
    return edit


def _added(metadata: Metadata, changed: Metadata) -> dict[str, Value]:
    """The entries of `changed` that are new or have another value."""
    added = {}
    for key, value in changed.items():
        if key not in metadata or metadata[key] != value:
            added[key] = value
    return added


def _apply(item: Item, edit: dict[str, Any]) -> Item:
    changed: dict[str, Any] = {name: edit[name] for name in _EDITABLE if name in edit}
    if "metadata" in edit:
        changed["metadata"] = _metadata(item, edit)
    if "embedding" in edit:
        changed["embedding"] = _unpack_vector(edit["embedding"])
    return replace(item, **changed) if changed else item


def _metadata(item: Item, edit: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in item.metadata.items() if key not in edit["without"]}
    return {**kept, **edit["metadata"]}


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
