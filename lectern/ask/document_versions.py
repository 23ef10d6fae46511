"""Versions of one document and near copies among the passages of a question.

The newest version leads. The same passage of other versions is read after everything else, with its date.
What only repeats a better passage of another document does not take the place of one that says something
else. The versions of the documents with passages for the question are found by names, and then by texts, so
that nothing needs to be stored.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property, lru_cache
from itertools import islice

from ragcore.errors import UnknownDocumentError
from ragcore.extractive.summary_requests import is_summary_request
from ragcore.postprocessor.base import BaseNodePostprocessor
from ragcore.response_synthesizers.base import LEADER_KEY, VERSION_KEY
from ragcore.schema import NodeWithScore, QueryBundle, Scalar, TextNode
from ragcore.text.document_versions import (
    READ_CHARS,
    Version,
    are_versions,
    likeness,
    may_be_version,
    newest_first,
    read_version,
    stem_of,
)
from ragcore.text.keywords import content_words
from ragcore.text.sentences import sentences
from ragcore.vector_stores.base import Scope, Store, StoredDocument

MAX_VERSIONS = 12  # other documents that are compared with a document
CONSIDERED = 4  # times top_k: the best passages whose documents may have other versions
MAX_FOLDED = 3  # passages of other versions that an answer reads
MIN_SAME_PASSAGE = 0.3  # likeness of a passage to that of another version
MIN_REPEATED = 0.5  # share of the characters of a near copy that another passage has too
CACHED_VERSIONS = 256

_NUMBER = re.compile(r"\d+")
# A year, "v2", or a word that may be a month; not the verb "may".
_NAMED_VERSION = re.compile(r"(?<![^\W_])(?:(?:19|20)\d\d|v\d+)(?![^\W_])|(?!may\b|^May\b)[^\W\d_]{3,}")


@dataclass(frozen=True, slots=True)
class Family:
    """The versions of a document by their ids, newest first."""

    versions: Mapping[str, Version]

    def leader(self, question: str) -> str:
        """The id of the version that the question names, by a year, a month or "v2", else of the newest."""
        asked = {word.casefold() for word in _NAMED_VERSION.findall(question)}
        ids = list(self.versions)
        named = [len(asked & _words_of_version(self.versions[id_])) for id_ in ids]
        return ids[named.index(max(named))]


class DocumentVersions(BaseNodePostprocessor):
    """Finds the versions of the documents of an index; `file_ids` are those that may be read, None for all.

    As a postprocessor, it puts the version that leads in the place of the others, and up to MAX_FOLDED
    passages of the others last. Passages of documents without versions, or for a summary, stay as they are.
    """

    def __init__(self, index: Store, file_ids: Collection[str] | None, top_k: int) -> None:
        self._index = index
        self._file_ids = file_ids
        self._top_k = top_k

    def find_repeated(self, question: str, nodes: Sequence[TextNode]) -> set[str]:
        """The ids of passages that should come after all others: those of versions that do not lead, if the
        leader has the same passage here, and those that only repeat a better one. `nodes`: best first."""
        repeated = self._same_in_leader(question, nodes)
        asked = {*content_words(question)}
        best: list[tuple[str | None, frozenset[str], frozenset[str]]] = []
        for node in nodes:
            if len(best) == self._top_k:
                break
            if node.id_ in repeated:
                continue
            parts = sentences(node.text)
            exact, masked = frozenset(parts), frozenset(map(_mask, parts))
            others = [passage for passage in best if passage[0] != node.ref_doc_id]
            if any(_repeats(parts, other[1], other[2], asked) for other in others):
                repeated.add(node.id_)
            else:
                best.append((node.ref_doc_id, exact, masked))
        return repeated

    def _same_in_leader(self, question: str, nodes: Sequence[TextNode]) -> set[str]:
        families = self._families(nodes[: CONSIDERED * self._top_k])
        same: set[str] = set()
        for node in nodes:
            family = families.get(str(node.ref_doc_id))
            if family is None or (leader := family.leader(question)) == node.ref_doc_id:
                continue
            of_leader = [other.text for other in nodes if other.ref_doc_id == leader]
            if any(likeness(node.text, text) >= MIN_SAME_PASSAGE for text in of_leader):
                same.add(node.id_)
        return same

    def _postprocess_nodes(
        self, nodes: Sequence[NodeWithScore], query_bundle: QueryBundle | None
    ) -> list[NodeWithScore]:
        question = query_bundle.query_str if query_bundle else ""
        families = {} if is_summary_request(question) else self._families([hit.node for hit in nodes])
        if not families:
            return list(nodes)
        leading: dict[str, NodeWithScore] = {}
        folded: dict[str, NodeWithScore] = {}
        for hit in nodes:
            family = families.get(str(hit.node.ref_doc_id))
            if family is None:
                leading.setdefault(hit.node.id_, hit)
                continue
            leader = family.leader(question)
            if hit.node.ref_doc_id != leader:
                folded[hit.node.id_] = _annotate(hit, family, leader)
            if in_leader := self._same_passage(hit, leader):
                leading.setdefault(in_leader.node.id_, _annotate(in_leader, family, leader))
        for hit in list(leading.values()):
            if family := families.get(str(hit.node.ref_doc_id)):
                for document_id in family.versions:
                    other = self._same_passage(hit, document_id)
                    if other is not None and other.node.id_ not in leading:
                        folded.setdefault(other.node.id_, _annotate(other, family, str(hit.node.ref_doc_id)))
        return [*leading.values(), *list(folded.values())[:MAX_FOLDED]]

    def _same_passage(self, hit: NodeWithScore, document_id: str) -> NodeWithScore | None:
        """The passage of this document that is nearest to `hit`, with its score."""
        if hit.node.ref_doc_id == document_id:
            return hit
        stored = self._index.nodes([hit.node.id_])
        if not stored or stored[0].embedding is None:  # deleted meanwhile, or damaged
            return None
        nearest = self._index.search(stored[0].embedding, 1, Scope([document_id]))
        return replace(nearest[0], score=hit.score) if nearest else None

    def _families(self, nodes: Sequence[TextNode]) -> dict[str, Family]:
        """The family of each document of these passages that has other versions, and of those."""
        families: dict[str, Family] = {}
        for document_id in dict.fromkeys(str(node.ref_doc_id) for node in nodes):
            document = self._documents.get(document_id)
            if document is None or document_id in families:
                continue
            family = self._family_of(document)
            if len(family.versions) > 1:
                families |= dict.fromkeys(family.versions, family)
        return families

    def _family_of(self, document: StoredDocument) -> Family:
        others = [other for other in self._by_stem[stem_of(document.name)] if other is not document]
        if not others:
            return Family({})
        version = self._read(document)
        versions = {document.id_: version}
        candidates = (other for other in others if may_be_version(version, other.name))
        for other in islice(candidates, MAX_VERSIONS):
            candidate = self._read(other)
            if are_versions(version, candidate):
                versions[other.id_] = candidate
        order = newest_first(list(versions.values()))
        return Family(dict(sorted(versions.items(), key=lambda item: order.index(item[1]))))

    def _read(self, document: StoredDocument) -> Version:
        try:
            text = self._index.document(document.id_).text[:READ_CHARS]
        except UnknownDocumentError:  # deleted meanwhile
            text = ""
        return _read_version(document.name, text, document.added)

    @cached_property
    def _documents(self) -> dict[str, StoredDocument]:
        """The documents that may be read, by id."""
        ids = self._file_ids
        return {
            document.id_: document
            for document in self._index.documents()
            if ids is None or document.id_ in ids
        }

    @cached_property
    def _by_stem(self) -> Mapping[str, Sequence[StoredDocument]]:
        """The documents by the stems of their names, added last first."""
        by_stem: dict[str, list[StoredDocument]] = {}
        for document in reversed(self._documents.values()):
            by_stem.setdefault(stem_of(document.name), []).append(document)
        return by_stem


_read_version = lru_cache(maxsize=CACHED_VERSIONS)(read_version)


def _annotate(hit: NodeWithScore, family: Family, leader: str) -> NodeWithScore:
    """The passage with the date of its version, and the name of the leader if it is of another version."""
    document_id = str(hit.node.ref_doc_id)
    version = family.versions[document_id]
    date = version.date.text if version.date else f"{datetime.fromtimestamp(version.added):%Y-%m-%d}"
    added: dict[str, Scalar] = {VERSION_KEY: date}
    if document_id != leader:
        added[LEADER_KEY] = family.versions[leader].name
    return replace(hit, node=replace(hit.node, metadata={**hit.node.metadata, **added}))


def _words_of_version(version: Version) -> set[str]:
    """The words by which a question can name it."""
    date = version.date.text if version.date else ""
    in_name = _NAMED_VERSION.findall(version.name)
    stem = version.stem.split()
    return {word.casefold() for word in [*_NAMED_VERSION.findall(date), *in_name]} - {*stem}


def _mask(sentence: str) -> str:
    return _NUMBER.sub("#", sentence)


def _repeats(parts: Sequence[str], exact: Collection[str], masked: Collection[str], asked: set[str]) -> bool:
    """Whether most of the sentences are those of another passage but for numbers, and no other sentence has a
    word of the question. `exact` and `masked`: the sentences of that passage, and without numbers."""
    repeated = sum(len(part) for part in parts if _mask(part) in masked)
    if not parts or repeated < MIN_REPEATED * sum(map(len, parts)):
        return False
    return not any(asked.intersection(content_words(part)) for part in parts if part not in exact)
