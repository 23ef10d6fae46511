"""Sends typed text in every pause, not only when the field loses the focus, so that the screen follows the
typing."""

from __future__ import annotations

from lectern.ui.widgets.component import component

_TYPED = component("live_typing", "<span hidden></span>")


def follow_typing(key: str, *, now: bool) -> None:
    """For the text area with this key. Typed text is sent later if not `now`."""
    _TYPED(key=f"{key}_typed", data={"key": key, "now": now})
