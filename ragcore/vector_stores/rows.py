"""Documents and passages as rows of a store in a database.

What a passage shares with its document, or with its place there, is NULL in its row: text, metadata, hidden keys and links.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

from ragcore.database import Connection
from ragcore.schema import PLAIN, Document, IndexNode, Page, Template, TextNode
from ragcore.vector_stores.incoming import lengths, metadata_json

ASKED = 500  # passages read by one statement
BLOCK = 16_384  # characters of text compressed together: small enough to unpack for one passage


def layout_of(document: Document) -> str:
    """What a document's row holds beside its metadata."""
    pages = [[page.label, page.start, page.end] for page in document.pages]
    layout = {"page_word": document.page_word, "pages": pages, "hidden": _hidden(document)}
    return json.dumps(layout, separators=(",", ":"))


def blocks_of(text: str) -> Iterator[tuple[int, bytes]]:
    """The text in numbered blocks, compressed."""
    for start in range(0, len(text), BLOCK):
        yield start // BLOCK, zlib.compress(_bytes(text[start : start + BLOCK]))


def passage_fields(document: Document, nodes: Sequence[TextNode]) -> Iterator[tuple[object, ...]]:
    """For each passage its row from `id` on."""
    own_metadata, own_hidden = metadata_json(document.metadata), _hidden(document)
    ids = [None, *(node.id_ for node in nodes), None]
    for i, (node, length) in enumerate(zip(nodes, lengths(nodes), strict=True)):
        start, end = node.start_char_idx, node.end_char_idx
        exact = start is not None and end is not None and 0 <= start <= end and document.text[start:end] == node.text
        metadata, hidden, links = metadata_json(node.metadata), _hidden(node), _links(node)
        yield (
            node.id_,
            start,
            end,
            None if exact else _bytes(node.text),
            None if metadata == own_metadata else metadata,
            None if hidden == own_hidden else json.dumps(hidden),
            None if links == [ids[i], ids[i + 2], None, []] else json.dumps(links),
            None if length == 1.0 else length,
        )


def document_at(db: Connection, row: Any) -> Document:
    layout = json.loads(row["layout"])
    return Document(
        text=_Texts(db).span(row["seq"], 0, row["characters"]),
        id_=row["id"],
        metadata=json.loads(row["metadata"]),
        pages=tuple(Page(label, start, end) for label, start, end in layout["pages"]),
        page_word=layout["page_word"],
        excluded_embed_metadata_keys=tuple(layout["hidden"][0]),
        excluded_llm_metadata_keys=tuple(layout["hidden"][1]),
        template=_template(layout["hidden"]),
    )


def passages_at(db: Connection, rows: Sequence[int]) -> dict[int, TextNode]:
    """The passages of these rows, by row, without embeddings."""
    nodes: dict[int, TextNode] = {}
    for start in range(0, len(rows), ASKED):
        nodes |= _some_at(db, rows[start : start + ASKED])
    return nodes


def _some_at(db: Connection, rows: Sequence[int]) -> dict[int, TextNode]:
    found = db.execute(
        "SELECT p.row, p.id, p.document, p.first_char, p.end_char, p.text, p.hidden, p.links,"
        " coalesce(p.metadata, d.metadata) AS metadata, d.id AS document_id, d.layout,"
        " CASE WHEN p.row > d.first_row THEN (SELECT id FROM passages b WHERE b.row = p.row - 1) END AS before,"
        " CASE WHEN p.row < d.first_row + d.passages - 1 THEN (SELECT id FROM passages a WHERE a.row = p.row + 1) END AS after"
        f" FROM passages p JOIN documents d ON d.seq = p.document WHERE p.row IN ({', '.join('?' * len(rows))}) ORDER BY p.row",
        tuple(rows),
    ).fetchall()
    texts = _Texts(db)
    nodes: dict[int, TextNode] = {}
    for row in found:
        if row["text"] is None:
            text = texts.span(row["document"], row["first_char"], row["end_char"])
        else:
            text = row["text"].decode("utf-8", "surrogatepass")
        hidden = json.loads(row["hidden"]) if row["hidden"] else json.loads(row["layout"])["hidden"]
        links = json.loads(row["links"]) if row["links"] else [row["before"], row["after"], None, []]
        kind, stands_for = (IndexNode, {"index_id": links[4]}) if len(links) > 4 else (TextNode, {})
        nodes[row["row"]] = kind(
            text=text,
            id_=row["id"],
            metadata=json.loads(row["metadata"]),
            ref_doc_id=row["document_id"],
            start_char_idx=row["first_char"],
            end_char_idx=row["end_char"],
            prev_id=links[0],
            next_id=links[1],
            parent_id=links[2],
            child_ids=tuple(links[3]),
            excluded_embed_metadata_keys=tuple(hidden[0]),
            excluded_llm_metadata_keys=tuple(hidden[1]),
            template=_template(hidden),
            **stands_for,
        )
    return nodes


def length_of(row: Any) -> float:
    return 1.0 if row["length"] is None else float(row["length"])


class _Texts:
    """The texts of documents, unpacked block by block as far as they are needed."""

    def __init__(self, db: Connection) -> None:
        self._db = db
        self._blocks: dict[tuple[int, int], str] = {}

    def span(self, document: int, start: int, end: int) -> str:
        """The document's characters [start, end)."""
        blocks = range(start // BLOCK, (end + BLOCK - 1) // BLOCK)
        text = "".join(self._block(document, number) for number in blocks)
        offset = blocks.start * BLOCK
        return text[start - offset : end - offset]

    def _block(self, document: int, number: int) -> str:
        key = (document, number)
        if key not in self._blocks:
            (data,) = self._db.execute("SELECT data FROM texts WHERE document = ? AND block = ?", key).fetchone()
            self._blocks[key] = zlib.decompress(data).decode("utf-8", "surrogatepass")
        return self._blocks[key]


def _links(node: TextNode) -> list[Any]:
    """The passages around, above and below it; of an IndexNode also what it stands for."""
    links = [node.prev_id, node.next_id, node.parent_id, list(node.child_ids)]
    return [*links, node.index_id] if isinstance(node, IndexNode) else links


def _hidden(item: Document | TextNode) -> list[list[str]]:
    """The metadata keys hidden from the embedder and from the model, and the template where it is not the plain one."""
    template = item.template
    hidden = [list(item.excluded_embed_metadata_keys), list(item.excluded_llm_metadata_keys)]
    return hidden if template == PLAIN else [*hidden, [template.text, template.entry, template.separator]]


def _template(hidden: Sequence[Sequence[str]]) -> Template:
    return Template(*hidden[2]) if len(hidden) > 2 else PLAIN


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")  # a broken file may give half a character; it is kept as it was
