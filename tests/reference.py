"""Writes the reference of `ragcore` as HTML pages from its docstrings: `python -m tests.reference FOLDER`.

It ends with an error if a link on a page leads nowhere.
"""

from __future__ import annotations

import re
import sys
from importlib import import_module
from pathlib import Path

from tests.documentation import DOCS

ROW = re.compile(r"^\| `([\w.]+)\.\w+` \|", re.MULTILINE)
LINK = re.compile(r'href="([^":$]*)"')  # to these pages; "$" is in a link that a script of theirs fills in
ANCHOR = re.compile(r'\b(?:id|name)="([^"]+)"')


def public_modules() -> list[str]:
    """Modules with a name in docs/reference, each after the package that it belongs to."""
    pages = "".join(page.read_text("utf-8") for page in (DOCS / "reference").glob("*.md"))
    return sorted({"ragcore", *ROW.findall(pages)})


def write_reference(folder: Path) -> None:
    import pdoc

    pdoc.render.configure(docformat="markdown", search=True)
    modules = public_modules()
    for module in map(import_module, modules):
        # pdoc looks only at names that the module holds already, and not at those that it loads when they are
        # first used.
        vars(module).update({name: getattr(module, name) for name in getattr(module, "__all__", ())})
    pdoc.pdoc(*modules, output_directory=folder)


def broken_links(folder: Path) -> list[str]:
    """Links to a page, class or function that is not there, as "page: link".

    pdoc gives no anchors to private bases and to attributes without a docstring, although it links to them.
    """
    pages = {page: page.read_text("utf-8") for page in sorted(folder.rglob("*.html"))}
    anchors = {page.resolve(): set(ANCHOR.findall(html)) for page, html in pages.items()}
    broken = []
    for page, html in pages.items():
        for link in sorted(set(LINK.findall(html))):
            path, _, anchor = link.partition("#")
            target, name = (page.parent / path if path else page).resolve(), anchor.partition(".")[0]
            if not target.exists() or (name and name[0] != "_" and name not in anchors[target]):
                broken.append(f"{page.relative_to(folder)}: {link}")
    return broken


if __name__ == "__main__":
    write_reference(Path(sys.argv[1]))
    sys.exit("\n".join(broken_links(Path(sys.argv[1]))) or 0)
