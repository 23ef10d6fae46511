"""The way of the keyboard into what a button opens, and back."""

from __future__ import annotations

from lectern.ui.widgets.component import component

_POPOVERS = component("popovers", "<span hidden></span>")


def popovers() -> None:
    """On every page."""
    _POPOVERS(key="popovers", data={})
