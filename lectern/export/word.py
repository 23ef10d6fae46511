"""Word files, from the same Markdown that is exported as text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from datetime import UTC, datetime
from io import BytesIO
from typing import TYPE_CHECKING

from markdown_it.tree import SyntaxTreeNode

from lectern.export.markdown import parser

if TYPE_CHECKING:
    from docx.document import Document
    from docx.text.paragraph import Paragraph

MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
MAX_LEVELS = 3  # of lists, for which Word has styles
CODE_FONT = "Courier New"

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # XML 1.0, section 2.2
_BEHIND_BIDI = (
    "w:adjustRightInd",
    "w:snapToGrid",
    "w:spacing",
    "w:ind",
    "w:contextualSpacing",
    "w:jc",
    "w:rPr",
    "w:sectPr",
)


def as_word(markdown: str, *, title: str, created: float) -> bytes:
    """A Word file with the properties `title` and `created`, in seconds since the epoch."""
    import docx

    document = docx.Document()
    about, day = document.core_properties, datetime.fromtimestamp(created, UTC).replace(tzinfo=None)
    about.title, about.author, about.comments = _xml(title)[:255], "", ""
    about.created = about.modified = day
    _WordWriter(document).blocks(SyntaxTreeNode(parser().parse(_xml(markdown))).children)
    out = BytesIO()
    document.save(out)
    return out.getvalue()


def _xml(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)


class _WordWriter:
    def __init__(self, document: Document) -> None:
        self._document = document

    def blocks(self, nodes: Iterable[SyntaxTreeNode], style: str = "Normal", level: int = 0) -> None:
        """`level` of the list around the nodes, from 1; 0 outside of lists."""
        for node in nodes:
            match node.type:
                case "heading":
                    self._paragraph(node.children, f"Heading {node.tag[1:]}")
                case "paragraph":
                    self._paragraph(node.children, style)
                case "blockquote":
                    self.blocks(node.children, "Quote", level)
                case "bullet_list" | "ordered_list":
                    self._list(node, level + 1)
                case "table":
                    self._table(node)
                case "fence" | "code_block":
                    code = self._document.add_paragraph(style="No Spacing")
                    code.add_run(node.content.rstrip("\n")).font.name = CODE_FONT
                case "hr":
                    self._document.add_paragraph()
                case other:  # the parser has no rule for it
                    raise NotImplementedError(other)

    def _list(self, node: SyntaxTreeNode, level: int) -> None:
        ordered, depth = node.type == "ordered_list", min(level, MAX_LEVELS)
        suffix = f" {depth}" if depth > 1 else ""
        style = f"List {'Number' if ordered else 'Bullet'}{suffix}"
        numbering = self._add_numbering(style, int(node.attrs.get("start", 1))) if ordered else None
        for item in node.children:
            first, others = next(iter(item.children), None), item.children[1:]
            if first is None or first.type != "paragraph":
                marked, others = self._document.add_paragraph(style=style), item.children
            else:
                marked = self._paragraph(first.children, style)
            if numbering is not None:
                marked._p.get_or_add_pPr().get_or_add_numPr().get_or_add_numId().val = numbering
            self.blocks(others, f"List Continue{suffix}", level)

    def _add_numbering(self, style: str, start: int) -> int:
        """A new numbering for a list. Otherwise it would continue the list before."""
        numberings = self._document.part.numbering_part.element
        style_number = self._document.styles[style].element.pPr.numPr.numId.val
        numbering = numberings.add_num(numberings.num_having_numId(style_number).abstractNumId.val)
        numbering.add_lvlOverride(ilvl=0).add_startOverride(start)
        return int(numbering.numId)

    def _table(self, node: SyntaxTreeNode) -> None:
        rows = [row for part in node.children for row in part.children]
        table = self._document.add_table(len(rows), len(rows[0].children), "Table Grid")
        for table_row, row in zip(table.rows, rows, strict=True):
            for cell, node_cell in zip(table_row.cells, row.children, strict=True):
                self._fill(
                    cell.paragraphs[0],
                    node_cell.children,
                    frozenset({"strong"} if node_cell.type == "th" else ()),
                )
        self._document.add_paragraph()  # Otherwise the next table would be part of this one.

    def _paragraph(self, nodes: Iterable[SyntaxTreeNode], style: str) -> Paragraph:
        paragraph = self._document.add_paragraph(style=style)
        self._fill(paragraph, nodes, frozenset())
        return paragraph

    def _fill(self, paragraph: Paragraph, nodes: Iterable[SyntaxTreeNode], marks: frozenset[str]) -> None:
        self._runs(paragraph, nodes, marks)
        if _is_right_to_left(paragraph.text):
            from docx.oxml import OxmlElement

            paragraph._p.get_or_add_pPr().insert_element_before(OxmlElement("w:bidi"), *_BEHIND_BIDI)
            for run in paragraph.runs:
                run.font.rtl = True

    def _runs(self, paragraph: Paragraph, nodes: Iterable[SyntaxTreeNode], marks: frozenset[str]) -> None:
        """`marks` of the nodes around: strong, em, s."""
        for node in nodes:
            if node.type == "inline":
                self._runs(paragraph, node.children, marks)
            elif node.type in ("strong", "em", "s"):
                self._runs(paragraph, node.children, marks | {node.type})
            elif node.type in ("softbreak", "hardbreak"):
                paragraph.add_run().add_break()
            else:  # text, text_special or code_inline
                run = paragraph.add_run(node.content)
                # None is the value of the style
                run.bold, run.italic = "strong" in marks or None, "em" in marks or None
                run.font.strike = "s" in marks or None
                if node.type == "code_inline":
                    run.font.name = CODE_FONT


def _is_right_to_left(text: str) -> bool:
    """Decided by the first letter with a direction (Unicode Standard Annex 9, rules P2 and P3)."""
    strong = (kind for kind in map(unicodedata.bidirectional, text) if kind in ("L", "R", "AL"))
    return next(strong, "L") != "L"
