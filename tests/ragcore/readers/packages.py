"""Writes small Office files, books and OpenDocument files from their XML, so that a test shows what is in
them."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
M = "http://schemas.openxmlformats.org/officeDocument/2006/math"
R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
_ODF = "".join(
    f' xmlns:{short}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for short, name in {
        **{"office": "office", "text": "text", "style": "style", "table": "table", "fo": "xsl-fo-compatible"},
        **{"draw": "drawing", "svg": "svg-compatible", "chart": "chart", "presentation": "presentation"},
    }.items()
)
ODF_SPACES = f'{_ODF} xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:dc="http://purl.org/dc/elements/1.1/"'


def pack(path: Path, parts: Mapping[str, str | bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return path


def relations(*links: tuple[str, str, str]) -> str:
    """A part that says which others belong to one: (id, kind, target)."""
    entries = "".join(
        f'<Relationship Id="{key}" Type="{R}/{kind}" Target="{target}"/>' for key, kind, target in links
    )
    return f'<Relationships xmlns="{_RELATIONS}">{entries}</Relationships>'


def make_docx(
    path: Path, body: str, *, styles: str = "", more: Mapping[str, str | bytes] | None = None
) -> Path:
    """`body` is WordprocessingML with the prefixes w, m and r; `more` are further parts."""
    spaces = f'xmlns:w="{W}" xmlns:m="{M}" xmlns:r="{R}"'
    parts = {
        "_rels/.rels": relations(("r1", "officeDocument", "word/document.xml")),
        "word/document.xml": f"<w:document {spaces}><w:body>{body}</w:body></w:document>",
        "word/_rels/document.xml.rels": relations(("s", "styles", "styles.xml")),
        "word/styles.xml": f"<w:styles {spaces}>{styles}</w:styles>",
    }
    return pack(path, {**parts, **(more or {})})


def make_odf(
    path: Path, body: str, *, styles: str = "", kind: str = "text", more: Mapping[str, str] | None = None
) -> Path:
    """`body` is the inside of `office:text` or of another `kind`; `styles` are automatic ones of
    content.xml."""
    content = (
        f"<office:document-content{ODF_SPACES}><office:automatic-styles>{styles}</office:automatic-styles>"
        f"<office:body><office:{kind}>{body}</office:{kind}></office:body></office:document-content>"
    )
    media = {"text": "text", "spreadsheet": "spreadsheet", "presentation": "presentation"}[kind]
    return pack(
        path,
        {"mimetype": f"application/vnd.oasis.opendocument.{media}", "content.xml": content, **(more or {})},
    )


def make_epub(path: Path, body: str, css: str = "") -> Path:
    chapter = (
        '<html xmlns="http://www.w3.org/1999/xhtml"><head><title>One</title><link rel="stylesheet" '
        'href="a.css"/></head>'
        f"<body>{body}</body></html>"
    )
    opf = (
        '<package xmlns="http://www.idpf.org/2007/opf"><manifest><item id="a" href="a.xhtml"/><item '
        'id="c" href="a.css"/>'
        '</manifest><spine><itemref idref="a"/></spine></package>'
    )
    container = '<container><rootfiles><rootfile full-path="o.opf"/></rootfiles></container>'
    return pack(path, {"META-INF/container.xml": container, "o.opf": opf, "a.xhtml": chapter, "a.css": css})
