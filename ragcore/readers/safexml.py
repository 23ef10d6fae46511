"""XML from files that nobody vouches for: no fetching, no outside entities, and no entity that explodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragcore.errors import DamagedFileError

if TYPE_CHECKING:
    from lxml.etree import _Element


def parse(data: bytes, name: str) -> _Element:
    """The root element. DamagedFileError when it is not well formed, or defines entities that explode."""
    from lxml import etree

    # libxml2 stops entities that make a text more than a few times larger; "internal" keeps it from opening others.
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
        raise DamagedFileError(f"{name} could not be read: it holds no data.", hint="Save it again.")
    return root


def local(element: _Element) -> str:
    """The tag without its namespace; "" for what is no element."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def attribute(element: _Element, name: str) -> str | None:
    """An attribute by its name without namespace."""
    for key, value in element.attrib.items():
        if str(key).rpartition("}")[2] == name:
            return str(value)
    return None
