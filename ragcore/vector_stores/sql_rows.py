"""Documents and passages as rows of a store in a database.

Text, metadata, hidden keys and links of a passage are NULL in its row if they follow from its document or its
position there.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ragcore.errors import DamagedTextError
from ragcore.schema import PLAIN, Document, IndexNode, Page, RelatedNodeInfo, Template, TextNode
from ragcore.sql.base import Connection
from ragcore.vector_stores.validation import metadata_json

PASSAGES_PER_STATEMENT = 500
RUNS_PER_STATEMENT = 50
# What reading a row raises that is not what was stored.
NOT_AS_STORED = (DamagedTextError, zlib.error, ValueError, LookupError, TypeError, OverflowError)
BLOCK = 4000  # characters of text compressed together: few enough to unpack for one passage
FIRST_BLOCK = 16_384  # the size in the first version, whose rows do not name it

TEXTS_AND_PASSAGES = """
CREATE TABLE IF NOT EXISTS texts (
    document INTEGER NOT NULL REFERENCES documents (seq) ON DELETE CASCADE,
    block INTEGER NOT NULL,         -- number in the document, whose layout has the size in characters
    data BLOB NOT NULL,             -- compressed
    PRIMARY KEY (document, block)
);
CREATE TABLE IF NOT EXISTS passages (
    row INTEGER PRIMARY KEY,
    document INTEGER NOT NULL REFERENCES documents (seq) ON DELETE CASCADE,
    id TEXT NOT NULL,
    first_char INTEGER,
    end_char INTEGER,
    text BLOB,                      -- NULL: the document's characters [first_char, end_char)
    metadata TEXT,                  -- NULL: the document's
    hidden TEXT,                    -- NULL: the document's hidden metadata keys and template
    links TEXT,                     -- NULL: the passages before and after it in the document
    length REAL,                    -- of its embedding before scaling; NULL: 1
    checksum INTEGER                -- CRC-32 of what is read of it; NULL in earlier versions
);
CREATE INDEX IF NOT EXISTS passages_by_id ON passages (id);
CREATE INDEX IF NOT EXISTS passages_by_document ON passages (document);
"""


def layout_of(document: Document) -> str:
    """The column `layout` of a document: everything but its text and metadata."""
    pages = [[page.label, page.start, page.end] for page in document.pages]
    layout = {
        "page_word": document.page_word,
        "pages": pages,
        "hidden": _hidden_keys(document),
        "block": BLOCK,
    }
    return json.dumps(layout, separators=(",", ":"))


def blocks_of(text: str) -> Iterator[tuple[int, bytes]]:
    """The text in numbered blocks, compressed."""
    for start in range(0, len(text), BLOCK):
        yield start // BLOCK, zlib.compress(_bytes(text[start : start + BLOCK]), 1)


def passage_fields(
    document: Document, nodes: Sequence[TextNode], lengths: Sequence[float]
) -> Iterator[tuple[object, ...]]:
    """The row of each passage from the column `id` on. `lengths` are those of the embeddings."""
    text, before = document.text, None
    document_id = document.id_
    own_metadata = metadata_json(document.metadata)
    for i, (node, length) in enumerate(zip(nodes, lengths, strict=True)):
        start, end = node.start_char_idx, node.end_char_idx
        exact = start is not None and end is not None and 0 <= start <= end and text[start:end] == node.text
        metadata = metadata_json(node.metadata)
        after = nodes[i + 1].id_ if i + 1 < len(nodes) else None
        neighbours_only = (
            node.prev_id == before and node.next_id == after and node.parent_id is None and not node.child_ids
        )
        neighbours_only = neighbours_only and node.related is None and not isinstance(node, IndexNode)
        hidden = None if _hides_the_same(node, document) else json.dumps(_hidden_keys(node))
        links = None if neighbours_only else json.dumps(_links(node))
        encoded = _bytes(node.text)
        neighbours = (node.prev_id, node.next_id) if links is None else (None, None)
        checksum = _checksum(
            document_id, node.id_, start, end, metadata, hidden, links, *neighbours, text=encoded
        )
        yield (
            node.id_,
            start,
            end,
            None if exact else encoded,
            None if metadata == own_metadata else metadata,
            hidden,
            links,
            None if length == 1.0 else length,
            checksum,
        )
        before = node.id_


def checksum_of_document(id_: str, name: str, metadata: str, layout: str, text: str) -> int:
    """CRC-32 of what is read of a document."""
    return _checksum(id_, name, metadata, layout, text=_bytes(text))


def document_at(db: Connection, row: Any) -> Document:
    """DamagedTextError."""
    try:
        layout = json.loads(row["layout"])
        text = _texts(db, {row["seq"]: layout}, [(row["seq"], 0, row["characters"])])[0]
        stored = checksum_of_document(row["id"], row["name"], row["metadata"], row["layout"], text)
        if row["content"] not in (None, stored):
            raise DamagedTextError(row["id"])
        return Document(
            text=text,
            id_=row["id"],
            metadata=json.loads(row["metadata"]),
            pages=tuple(Page(label, start, end) for label, start, end in layout["pages"]),
            page_word=layout["page_word"],
            excluded_embed_metadata_keys=tuple(layout["hidden"][0]),
            excluded_llm_metadata_keys=tuple(layout["hidden"][1]),
            template=_template(layout["hidden"]),
        )
    except NOT_AS_STORED as error:
        raise DamagedTextError(row["id"]) from error


def passages_at(db: Connection, rows: Sequence[int], damaged: set[str] | None = None) -> dict[int, TextNode]:
    """The passages of these rows, by row, without embeddings. With `damaged`, damaged passages are missing in
    the result, and the ids of their documents are added to it. DamagedTextError without."""
    nodes: dict[int, TextNode] = {}
    for start in range(0, len(rows), PASSAGES_PER_STATEMENT):
        some = rows[start : start + PASSAGES_PER_STATEMENT]
        try:
            nodes |= _some_at(db, some)
        except NOT_AS_STORED:
            for row in some:
                try:
                    nodes |= _some_at(db, [row])
                except NOT_AS_STORED as error:
                    document_id = _document_of(db, row)
                    if damaged is None:
                        raise DamagedTextError(document_id) from error
                    damaged.add(document_id)
    return nodes


def _document_of(db: Connection, row: int) -> str:
    found = db.execute(
        "SELECT d.id FROM passages p JOIN documents d ON d.seq = p.document WHERE p.row = ?", (row,)
    ).fetchone()
    return str(found["id"]) if found else ""


def _some_at(db: Connection, rows: Sequence[int]) -> dict[int, TextNode]:
    records = db.execute(
        "SELECT p.row, p.id, p.document, p.first_char, p.end_char, p.text, p.hidden, p.links,"
        " p.checksum,"
        " coalesce(p.metadata, d.metadata) AS metadata, d.id AS document_id, d.layout,"
        " CASE WHEN p.row > d.first_row THEN (SELECT id FROM passages b WHERE b.row = p.row - 1) END AS "
        "before,"
        " CASE WHEN p.row < d.first_row + d.passages - 1 THEN (SELECT id FROM passages a WHERE a.row = "
        "p.row + 1) END AS after FROM passages p JOIN documents d ON d.seq = p.document WHERE p.row IN "
        f"({', '.join('?' * len(rows))}) ORDER BY p.row",
        tuple(rows),
    ).fetchall()
    # similar documents share a layout
    parsed = {layout: json.loads(layout) for layout in {row["layout"] for row in records}}
    cut = [row for row in records if row["text"] is None]
    layouts = {row["document"]: parsed[row["layout"]] for row in cut}
    stretches = _texts(db, layouts, [(row["document"], row["first_char"], row["end_char"]) for row in cut])
    texts = {row["row"]: text for row, text in zip(cut, stretches, strict=True)}
    nodes: dict[int, TextNode] = {}
    for row in records:
        _compare(row, texts)
        hidden = json.loads(row["hidden"]) if row["hidden"] else parsed[row["layout"]]["hidden"]
        links = json.loads(row["links"]) if row["links"] else [row["before"], row["after"], None, []]
        index_id = links[4] if len(links) > 4 else None
        kind, stands_for = (TextNode, {}) if index_id is None else (IndexNode, {"index_id": index_id})
        nodes[row["row"]] = kind(
            text=texts[row["row"]] if row["text"] is None else _text(row["text"]),
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
            related={id_: RelatedNodeInfo(id_, *details) for id_, details in links[5].items()}
            if len(links) > 5
            else None,
            **stands_for,
        )
    return nodes


def _compare(row: Any, texts: Mapping[int, str]) -> None:
    """DamagedTextError for a passage with another checksum. `texts` are those of rows without text."""
    if row["checksum"] is None:
        return
    neighbours = (row["before"], row["after"]) if row["links"] is None else (None, None)
    actual = _checksum(
        row["document_id"],
        row["id"],
        row["first_char"],
        row["end_char"],
        row["metadata"],
        row["hidden"],
        row["links"],
        *neighbours,
        text=_bytes(texts[row["row"]]) if row["text"] is None else row["text"],
    )
    if actual != row["checksum"]:
        raise DamagedTextError(row["document_id"])


def _checksum(*parts: str | int | None, text: bytes) -> int:
    head = "\0".join(["" if part is None else str(part) for part in parts])
    return zlib.crc32(text, zlib.crc32(_bytes(head)))


def _texts(
    db: Connection, layouts: Mapping[int, Any], stretches: Sequence[tuple[int, int, int]]
) -> list[str]:
    """The characters [start, end) of each (document, start, end). `layouts` are those of the documents."""
    sizes = {document: layout.get("block", FIRST_BLOCK) for document, layout in layouts.items()}
    needed = [
        range(start // sizes[seq], (end + sizes[seq] - 1) // sizes[seq]) for seq, start, end in stretches
    ]
    blocks: dict[tuple[int, int], str] = {}
    runs = _runs(
        {(seq, number) for (seq, _, _), numbers in zip(stretches, needed, strict=True) for number in numbers}
    )
    for first in range(0, len(runs), RUNS_PER_STATEMENT):
        some = runs[first : first + RUNS_PER_STATEMENT]
        condition = " OR ".join(["(document = ? AND block BETWEEN ? AND ?)"] * len(some))
        rows = db.execute(
            f"SELECT document, block, data FROM texts WHERE {condition}",
            [each for run in some for each in run],
        )
        for seq, number, data in rows.fetchall():
            blocks[seq, number] = _text(zlib.decompress(data))
    texts = []
    for (seq, start, end), numbers in zip(stretches, needed, strict=True):
        offset = numbers.start * sizes[seq]
        texts.append("".join(blocks[seq, number] for number in numbers)[start - offset : end - offset])
    return texts


def _runs(blocks: Iterable[tuple[int, int]]) -> list[tuple[int, int, int]]:
    """The (document, number) of blocks as runs (document, first, last) of consecutive numbers."""
    runs: list[tuple[int, int, int]] = []
    for document, number in sorted(blocks):
        if runs and runs[-1][0] == document and runs[-1][2] == number - 1:
            runs[-1] = (document, runs[-1][1], number)
        else:
            runs.append((document, number, number))
    return runs


def _links(node: TextNode) -> list[Any]:
    """The ids of the passages around, above and below it; the id of an IndexNode; the details of links."""
    links: list[Any] = [node.prev_id, node.next_id, node.parent_id, list(node.child_ids)]
    index_id = node.index_id if isinstance(node, IndexNode) else None
    if node.related is not None:
        return [*links, index_id, {id_: info.details() for id_, info in node.related.items()}]
    return links if index_id is None else [*links, index_id]


def _hidden_keys(item: Document | TextNode) -> list[list[str]]:
    """The metadata keys hidden from the embedder and from the model, and the template if it is not the plain
    one."""
    template = item.template
    hidden = [list(item.excluded_embed_metadata_keys), list(item.excluded_llm_metadata_keys)]
    return hidden if template == PLAIN else [*hidden, [template.text, template.entry, template.separator]]


def _hides_the_same(node: TextNode, document: Document) -> bool:
    """Compares the results of `_hidden_keys` without computing them for every passage."""
    return (
        node.excluded_embed_metadata_keys == document.excluded_embed_metadata_keys
        and node.excluded_llm_metadata_keys == document.excluded_llm_metadata_keys
        and (node.template is document.template or node.template == document.template)
    )


def _template(hidden: Sequence[Sequence[str]]) -> Template:
    return Template(*hidden[2]) if len(hidden) > 2 else PLAIN


def _bytes(text: str) -> bytes:
    # a broken file may contain lone surrogates, which are stored unchanged
    return text.encode("utf-8", "surrogatepass")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")
