"""What is typed is taken up in every pause, not only once its field is left: what the screen says of it follows the typing."""

from __future__ import annotations

from lectern.ui.widgets.component import component

_TYPED = component("typed", "<span hidden></span>")


def follow_typing(key: str, *, now: bool) -> None:
    """Of the text area with this key; while not `now`, what is typed waits."""
    _TYPED(key=f"{key}_typed", data={"key": key, "now": now})
