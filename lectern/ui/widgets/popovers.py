"""Moves the keyboard focus into a popover, and back."""

from __future__ import annotations

from lectern.ui.widgets.component import component

_POPOVERS = component("popovers", "<span hidden></span>")


def popovers() -> None:
    _POPOVERS(key="popovers", data={})
