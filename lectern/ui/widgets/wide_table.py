"""A table as wide as its content, which scrolls with the keyboard too."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from lectern.ui.widgets.component import component

_WIDE_TABLE = component("wide_table", "<span hidden></span>")


def wide_table(headings: Sequence[str], rows: Sequence[Sequence[str]], *, key: str) -> None:
    """The cells are Markdown."""
    with st.container(key=key):
        lines = [headings, ["---"] * len(headings), *rows]
        st.markdown("\n".join(f"| {' | '.join(line)} |" for line in lines))
        _WIDE_TABLE(key=f"{key}_reached", data={"key": key, "name": ", ".join(headings)})
