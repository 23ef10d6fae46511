"""Parses untrusted XML: without network access, external entities or entities that expand to fill the
memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ragcore.errors import DamagedFileError, UnsupportedFileError

HEAD = 1_000_000  # bytes in which entities are searched; they are defined before the text

if TYPE_CHECKING:
    from lxml.etree import _Element


def parse(data: bytes, name: str) -> _Element:
    """The root element. DamagedFileError if it is not well-formed, UnsupportedFileError if it defines
    entities."""
    from lxml import etree

    head = data[:HEAD].replace(b"\0", b"")  # for UTF-16
    if b"<!DOCTYPE" in head and b"<!ENTITY" in head:
        raise UnsupportedFileError(
            f"{name} defines XML entities, which can be misused to fill the memory or to fetch files.",
            hint="If you trust it, open it in a browser and save what you see as text, and add that.",
        )
    # If there are entities after HEAD, libxml2 limits how much they expand, and "internal" prevents it from
    # opening files.
    parser = etree.XMLParser(
        resolve_entities="internal", no_network=True, load_dtd=False, huge_tree=False, remove_comments=True
    )
    try:
        root = etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise DamagedFileError(
            f"{name} could not be read: it seems to be damaged.",
            hint="Open it in the program it comes from and save it again.",
        ) from error
    if root is None:
        raise DamagedFileError(f"{name} could not be read: it contains no data.", hint="Save it again.")
    return root


def local(element: _Element) -> str:
    """The tag without its namespace; "" for a comment or a processing instruction."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def children(element: _Element | None, *kinds: str) -> Iterator[_Element]:
    """The child elements with one of these names, in order. None have no children."""
    return (each for each in (() if element is None else element) if local(each) in kinds)


def child(element: _Element | None, kind: str) -> _Element | None:
    """The first child element with this name."""
    return next(children(element, kind), None)


def properties(element: _Element | None, kind: str) -> _Element | None:
    """The first child if it has this name. In Office files the properties of an element are its first
    child."""
    first = next(iter(() if element is None else element), None)
    return first if first is not None and local(first) == kind else None


def whole(text: str | None, default: int) -> int:
    """The number in an attribute; `default` if it is no number or too long to be meaningful."""
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 8 else default


def attribute(element: _Element | None, name: str) -> str | None:
    """An attribute by its name without namespace. None if there is none, or no element."""
    for key, value in () if element is None else element.attrib.items():
        if str(key).rpartition("}")[2] == name:
            return str(value)
    return None
