"""The text field of a search."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import streamlit as st


def search_field(
    label: str,
    key: str,
    *,
    placeholder: str = "",
    live: bool = False,
    width: int | Literal["stretch"] = "stretch",
    on_change: Callable[..., None] | None = None,
    args: tuple[int, ...] = (),
) -> None:
    """A field with a hidden label, which is also its placeholder. If `live`, the page follows the typing."""
    st.text_input(
        label, key=key, placeholder=placeholder or label, label_visibility="collapsed",
        icon=":material/search:", type="search" if live else "default", live=live, width=width,
        on_change=on_change, args=args,
    )  # fmt: skip
