"""Writes into the text of a page what its tags and styles show: superscripts, subscripts, struck text, ruby,
equations and the numbers of lists. Removes what the page hides (HTML 5, section 15.3: rendering).

Style sheets are read without @-rules, pseudo-classes and specificity.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from ragcore.readers import typography
from ragcore.readers.list_numbers import list_number
from ragcore.readers.web import mathml

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

MARK = "data-list-mark"  # the attribute with the number of a list item
MAX_CSS = 500_000  # characters
MAX_TRIALS = 20_000_000  # rules times elements; rules beyond are ignored
MAX_PARTS = 50  # elements and texts within a superscript or subscript
MIN_VISIBLE = 0.05  # of a page's text; if less is visible, a script shows the rest

HIDES = re.compile(r"display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)", re.I)
_SHOWS = re.compile(r"display\s*:\s*(?!none)\w|visibility\s*:\s*visible", re.I)
_SHIFTS = re.compile(r"vertical-align\s*:\s*(super|sub)\b", re.I)
_STRIKES = re.compile(r"text-decoration(?:-line)?\s*:[^;]*line-through", re.I)
_FLOATS = re.compile(r"float\s*:\s*(?:left|inline-start)", re.I)
_LIST_STYLE = re.compile(r"list-style(?:-type)?\s*:\s*(?:(?:inside|outside)\s+)?([a-z-]+)", re.I)
_USED = re.compile(
    r"display\s*:|visibility\s*:|vertical-align\s*:\s*su|line-through|float\s*:\s*[li]|list-style"
)
_RULE = re.compile(r"([^{}]*)([{}])")
_COMMENT = re.compile(r"/\*.*?\*/", re.S)
_FRAME = frozenset(
    {"nav", "footer", "aside", "button", "select", "form", "dialog", "header", "script", "style", "noscript"}
)
_FORMS = {
    "decimal": "1",
    "decimal-leading-zero": "01",
    "lower-alpha": "a",
    "lower-latin": "a",
    "upper-alpha": "A",
    "upper-latin": "A",
    "lower-roman": "i",
    "upper-roman": "I",
}
_DROP_CAP = re.compile(
    r"(?i)(?<![^\W_])(?:drop[-_]?cap|initial)s?(?![^\W_])(?<!avatar-initial)(?<!user-initial)"
)
_OPENS = ("aria-controls", "data-target", "data-bs-target", "href")
_FOLDED = re.compile(
    r"(?i)\b(?:tab|tabs|accordion|collaps\w*|answer|faq|panel)\b|(?:tab|accordion)-?(?:pane|content"
    r"|panel|body)"
)
_NOT_COUNTED = frozenset({"none", "disc", "circle", "square"})


def write_marks(tree: LexborHTMLParser, css: str = "") -> int:
    """Change the text of a page to what it shows; `typography.plain` completes this. `css` has the style
    sheets of other files.

    Returns how many pieces of text are hidden, without those in menus, headers and footers.
    """
    media = ((style, (style.attributes.get("media") or "").strip().lower()) for style in tree.css("style"))
    sheets = "\n".join(style.text() for style, medium in media if medium in ("", "all", "screen"))
    styles = _Styles(tree, css[:MAX_CSS] + sheets[:MAX_CSS])
    _write_equations(tree)  # first, as an equation may be hidden behind its picture
    hidden = _remove_hidden(tree, styles)
    for ruby in tree.css("ruby"):
        if not any(each.tag == "ruby" for each in _ancestors(ruby)):
            _write_reading(ruby)
    for node in reversed(tree.css("sup, sub")):  # the inner ones first
        _shift(node, typography.RAISED if node.tag == "sup" else typography.LOWERED)
    for node, match in reversed(list(styles.nodes(_SHIFTS))):
        if node.tag != "img":
            _shift(node, typography.RAISED if match[1].lower() == "super" else typography.LOWERED)
    for node in _by_id([*tree.css("del, s, strike"), *(node for node, _ in styles.nodes(_STRIKES))]).values():
        if node.child is not None:
            before, after = typography.around(typography.STRUCK)
            node.child.insert_before(before)
            node.insert_child(after)
    forms = {node.mem_id: match[1].lower() for node, match in styles.nodes(_LIST_STYLE)}
    for node in tree.css("ol"):
        _number(node, forms.get(node.mem_id, ""))
    _join_first_letters(tree, styles)
    return hidden


def write_list_marks(tree: LexborHTMLParser) -> None:
    """Write the numbers of lists into the text of their items."""
    for item in tree.css(f"li[{MARK}]"):
        if item.child is not None:
            item.child.insert_before(f"{item.attributes[MARK]} ")


def _rules(css: str) -> Iterator[tuple[str, str]]:
    """(selector, declarations) of each rule that is not inside another."""
    depth, selector = 0, ""
    for text, brace in _RULE.findall(_COMMENT.sub("", css)):
        if brace == "{":
            depth += 1
            selector = text.rpartition(";")[2].strip() if depth == 1 else ""
        else:
            if depth == 1 and selector and not selector.startswith("@"):
                yield selector, text
            depth = max(depth - 1, 0)


@lru_cache(4096)  # a page of a thousand cells has a dozen styles
def _is_used(style: str) -> bool:
    return _USED.search(style.lower()) is not None


class _Styles:
    """The styles of a page that are used here, of rules and of elements."""

    def __init__(self, tree: LexborHTMLParser, css: str) -> None:
        self._tree = tree
        rules = (rule for rule in _rules(css) if _is_used(rule[1]))
        self._rules = list(islice(rules, MAX_TRIALS // max(1, len(tree.css("*")))))
        styled = ((node, node.attributes.get("style") or "") for node in tree.css("[style]"))
        self._own = [(node, style) for node, style in styled if _is_used(style)]

    def nodes(self, pattern: re.Pattern[str]) -> Iterator[tuple[LexborNode, re.Match[str]]]:
        """The elements with a style that matches, in a rule or in their attribute."""
        for selectors, declarations in self._rules:
            if match := pattern.search(declarations):
                for node in self._select(selectors):
                    yield node, match
        for node, style in self._own:
            if match := pattern.search(style):
                yield node, match

    def _select(self, selectors: str) -> list[LexborNode]:
        """The elements of a rule, without selectors that the parser does not support."""
        from selectolax.lexbor import SelectolaxError

        nodes: list[LexborNode] = []
        for selector in selectors.split(","):
            if selector.strip() and ":" not in selector:
                try:
                    nodes += self._tree.css(selector.strip())
                except SelectolaxError:
                    continue
        return nodes


def _by_id(nodes: Iterable[LexborNode]) -> dict[int, LexborNode]:
    return {node.mem_id: node for node in nodes}


def _remove_hidden(tree: LexborHTMLParser, styles: _Styles) -> int:
    marked = tree.css("[hidden]:not([hidden='until-found']), dialog:not([open]), .katex-html")
    hidden = _by_id([*(node for node, _ in styles.nodes(HIDES)), *marked])
    if not hidden:
        return 0
    for node, _ in styles.nodes(_SHOWS):
        if not HIDES.search(node.attributes.get("style") or ""):
            hidden.pop(node.mem_id, None)
    for node in _opens_by_click(tree, hidden):
        hidden.pop(node.mem_id)
    outer = [node for node in hidden.values() if not any(each.mem_id in hidden for each in _ancestors(node))]
    whole = _length(tree.root)
    if whole - sum(map(_length, outer)) < MIN_VISIBLE * whole:
        return 0
    count = 0
    for node in outer:
        is_frame = node.attributes.get("class") == "katex-html" or any(
            each.tag in _FRAME for each in (node, *_ancestors(node))
        )
        count += any(map(str.isalnum, node.text())) and not is_frame
    for node in hidden.values():
        _remove(node)
    return count


def _opens_by_click(tree: LexborHTMLParser, hidden: dict[int, LexborNode]) -> list[LexborNode]:
    """The hidden nodes that a reader can open, such as tabs and answers: a link or button names them, or
    their class does."""
    named = {
        (each.attributes.get(name) or "").lstrip("#")
        for name in _OPENS
        for each in tree.css(f"[{name}]")
        if name != "href" or (each.attributes.get(name) or "").startswith("#")
    }
    return [
        node
        for node in hidden.values()
        if node.attributes.get("role") == "tabpanel"
        or (node.attributes.get("id") or "-") in named
        or _FOLDED.search(node.attributes.get("class") or "")
    ]


def _remove(node: LexborNode) -> None:
    """Remove the node from the page but not from memory, as nodes within it may still be used."""
    if node.parent is not None:
        node.replace_with("")


def _ancestors(node: LexborNode) -> Iterator[LexborNode]:
    while (parent := node.parent) is not None:
        yield parent
        node = parent


def _length(node: LexborNode | None) -> int:
    return 0 if node is None else len("".join(node.text().split()))


def _write_equations(tree: LexborHTMLParser) -> None:
    for node in tree.css("math"):
        if any(each.tag == "math" for each in _ancestors(node)):
            continue
        text = mathml.html_equation(node.html or "")
        around = next(
            (each for each in _ancestors(node) if "mwe-math-element" in (each.attributes.get("class") or "")),
            node,
        )
        if around.parent is not None:
            around.replace_with(text or node.text())  # Wikipedia has a picture of it too


def _write_reading(node: LexborNode) -> None:
    """Write pairs of a base and its reading, without the brackets for old browsers."""
    base, out = "", ""
    for child in node.iter(include_text=True):
        if child.tag == "rt":
            out, base = out + typography.ruby(base, child.text()), ""
        elif child.tag not in ("rtc", "rp"):
            base += child.text()
    node.replace_with(out + base)


def _shift(node: LexborNode, kind: str) -> None:
    if len(list(islice(node.traverse(include_text=True), MAX_PARTS + 1))) > MAX_PARTS:
        return
    text = node.text()
    if len(text) > typography.MAX_MARKED:
        return
    link = node.css_first("a[href^='#']") or (
        node.parent if node.parent is not None and node.parent.tag == "a" else None
    )
    if link is not None and (link.attributes.get("href") or "").startswith("#") and text.strip().isalnum():
        text = f"[{text.strip()}]"  # the mark of a footnote
    if node.parent is not None and node.css_first("img, br, p, div, table") is None:
        node.replace_with(typography.mark(kind, text))


def _number(node: LexborNode, style: str) -> None:
    """Set the number of each item, in the form of the list's `type` or `style` (HTML 5, section 4.4.8)."""
    if style in _NOT_COUNTED:
        return
    kind = node.attributes.get("type") or ""
    form = _FORMS.get(style) or (kind if kind in ("a", "A", "i", "I") else "1")
    items = [child for child in node.iter() if child.tag == "li"]
    step = -1 if "reversed" in node.attributes else 1
    number = _whole(node.attributes.get("start"), len(items) if step < 0 else 1)
    for item in items:
        number = _whole(item.attributes.get("value"), number)
        mark = f"{list_number(number, form)}."
        text = _first_words(item)
        if text and not text.startswith(mark):  # the page may repeat it in its text
            item.attrs[MARK] = mark
        number += step


def _first_words(node: LexborNode) -> str:
    """The first words of an item, "" for none."""
    texts = (
        child.text(deep=False) or "" for child in node.traverse(include_text=True) if child.tag == "-text"
    )
    return next(filter(None, map(str.strip, texts)), "")


def _only_text(node: LexborNode) -> str:
    """The text of an element that has nothing else in it, or only one element with text."""
    child = node.child
    if child is not None and child.next is None and child.tag != "-text":
        child = child.child
    return (
        (child.text(deep=False) or "").strip()
        if child is not None and child.next is None and child.tag == "-text"
        else ""
    )


def _whole(text: str | None, default: int) -> int:
    return int(text) if text and re.fullmatch(r"\s*-?\d{1,9}\s*", text) else default


def _join_first_letters(tree: LexborHTMLParser, styles: _Styles) -> None:
    """Join a drop cap, which is a floating element of its own, with the rest of its word."""
    named = (node for node in tree.css("[class]") if _DROP_CAP.search(node.attributes["class"] or ""))
    for node in _by_id([*(node for node, _ in styles.nodes(_FLOATS)), *named]).values():
        letter, following = _only_text(node), node.next
        while following is not None and following.tag == "-text" and not following.text().strip():
            following = following.next
        if node.tag not in ("div", "p") or not letter.isalpha() or len(letter) > 1 or following is None:
            continue
        rest = _first_words(following)
        if rest[:1].islower() and following.child is not None:
            following.child.insert_before(letter)
            _remove(node)
